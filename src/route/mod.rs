//! Views and their addresses: everything after `#`, so that any static host under any subpath works.
//!
//! An address is `#/view/…?name=value`; both directions are pure. What a view keeps in its query
//! it reads itself ([`Query`]), so that old links with unknown names still open.

pub mod listing;
mod query;
pub mod results_view;

pub use query::Query;
use query::{decode, encode};

use crate::agent::trace::System;
use crate::bench::ids::InstanceId;

/// Name of the dataset that ships with the site, in addresses.
pub const BUNDLED: &str = "iba-mini";

/// Name of a run in the address of an instance.
pub const RUN: &str = "run";

/// A view and what it shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Route {
    #[default]
    Start,
    /// The list; the query holds the filter.
    Instances {
        dataset: DatasetKey,
        query: Query,
    },
    /// One instance under one system; the query holds what is in focus.
    Instance {
        dataset: DatasetKey,
        id: InstanceId,
        system: System,
        query: Query,
    },
    /// All histories of a dataset, searched as one; the query holds what is looked for, and how.
    Search {
        dataset: DatasetKey,
        query: Query,
    },
    /// Tables and figures; the query holds their choices.
    Results {
        query: Query,
    },
    Settings,
    About,
}

/// Which dataset an address means.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum DatasetKey {
    /// The one that ships with the site.
    #[default]
    Bundled,
    /// Address of a manifest: a link that works anywhere.
    Url(String),
    /// Opened from files of this device under this name: a link that needs the same files again.
    Files(String),
}

impl Route {
    /// The list of a dataset, nothing filtered.
    pub fn instances(dataset: DatasetKey) -> Self {
        Self::Instances {
            dataset,
            query: Query::default(),
        }
    }

    /// One instance under IBA-Agent.
    pub fn instance(dataset: DatasetKey, id: InstanceId) -> Self {
        Self::Instance {
            dataset,
            id,
            system: System::IbaAgent,
            query: Query::default(),
        }
    }

    /// The run an instance's address names.
    pub fn named_run(&self) -> Option<&str> {
        match self {
            Self::Instance { query, .. } => query.get(RUN),
            _ => None,
        }
    }

    /// The dataset this view needs, for those that need one.
    pub fn dataset(&self) -> Option<&DatasetKey> {
        match self {
            Self::Instances { dataset, .. }
            | Self::Instance { dataset, .. }
            | Self::Search { dataset, .. } => Some(dataset),
            _ => None,
        }
    }

    /// The fragment, with its `#`.
    pub fn address(&self) -> String {
        let (path, query) = match self {
            Self::Start => ("/".to_owned(), Query::default()),
            Self::Instances { dataset, query } => {
                ("/instances".to_owned(), join(dataset, None, query))
            }
            Self::Instance {
                dataset,
                id,
                system,
                query,
            } => (
                format!("/instance/{}", encode(id.as_str())),
                join(dataset, Some(*system), query),
            ),
            Self::Search { dataset, query } => ("/search".to_owned(), join(dataset, None, query)),
            Self::Results { query } => ("/results".to_owned(), query.clone()),
            Self::Settings => ("/settings".to_owned(), Query::default()),
            Self::About => ("/about".to_owned(), Query::default()),
        };
        match query.write() {
            query if query.is_empty() => format!("#{path}"),
            query => format!("#{path}?{query}"),
        }
    }

    /// Reads a fragment, with or without its `#`. `None` for an address no view has.
    pub fn parse(fragment: &str) -> Option<Self> {
        let fragment = fragment.strip_prefix('#').unwrap_or(fragment);
        let (path, query) = fragment.split_once('?').unwrap_or((fragment, ""));
        let mut query = Query::parse(query);
        let steps: Vec<String> = path
            .split('/')
            .filter(|step| !step.is_empty())
            .map(decode)
            .collect();
        let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
        Some(match steps.as_slice() {
            [] => Self::Start,
            ["instances"] => Self::Instances {
                dataset: take_dataset(&mut query),
                query,
            },
            ["instance", id] => Self::Instance {
                dataset: take_dataset(&mut query),
                id: InstanceId::from(*id),
                system: take_system(&mut query),
                query,
            },
            ["search"] => Self::Search {
                dataset: take_dataset(&mut query),
                query,
            },
            ["results"] => Self::Results { query },
            ["settings"] => Self::Settings,
            ["about"] => Self::About,
            _ => return None,
        })
    }

    /// What the window's title says.
    pub fn title(&self) -> String {
        match self {
            Self::Start => "IBA Lab".to_owned(),
            Self::Instances { .. } => "Instances · IBA Lab".to_owned(),
            Self::Instance { id, .. } => format!("{id} · IBA Lab"),
            Self::Search { .. } => "Search all histories · IBA Lab".to_owned(),
            Self::Results { .. } => "Results · IBA Lab".to_owned(),
            Self::Settings => "Settings · IBA Lab".to_owned(),
            Self::About => "About · IBA Lab".to_owned(),
        }
    }
}

/// Puts dataset and system in front of the view's own query; defaults stay out of the address.
fn join(dataset: &DatasetKey, with: Option<System>, query: &Query) -> Query {
    let mut pairs = Vec::new();
    match dataset {
        DatasetKey::Bundled => {}
        DatasetKey::Url(url) => pairs.push(("data".to_owned(), url.clone())),
        DatasetKey::Files(name) => pairs.push(("files".to_owned(), name.clone())),
    }
    if let Some(system) = with.filter(|system| *system != System::IbaAgent) {
        pairs.push(("system".to_owned(), system.word()));
    }
    pairs.extend(query.0.iter().cloned());
    Query(pairs)
}

/// A word that names no system stays in the query, so that the view can say so.
fn take_system(query: &mut Query) -> System {
    let system = query.get("system").and_then(|word| word.parse().ok());
    if system.is_some() {
        query.take("system");
    }
    system.unwrap_or(System::IbaAgent)
}

fn take_dataset(query: &mut Query) -> DatasetKey {
    let (url, files) = (query.take("data"), query.take("files"));
    match (url, files) {
        (Some(url), _) if url != BUNDLED => DatasetKey::Url(url),
        (None, Some(name)) => DatasetKey::Files(name),
        _ => DatasetKey::Bundled,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instance(dataset: DatasetKey, id: &str, system: System, query: &[(&str, &str)]) -> Route {
        Route::Instance {
            dataset,
            id: id.into(),
            system,
            query: query.iter().copied().collect(),
        }
    }

    #[test]
    fn addresses_are_short_and_come_back() {
        let url = DatasetKey::Url("https://host.example/a b/manifest.json?x=1&y=2".to_owned());
        let table = [
            (Route::Start, "#/"),
            (Route::instances(DatasetKey::Bundled), "#/instances"),
            (
                Route::Instances {
                    dataset: DatasetKey::Bundled,
                    query: [("q", "e-mail & more"), ("domain", "work")]
                        .into_iter()
                        .collect(),
                },
                "#/instances?q=e-mail%20%26%20more&domain=work",
            ),
            (
                instance(
                    DatasetKey::Bundled,
                    "mini-p01/food",
                    System::StandardRag,
                    &[("tab", "outcome")],
                ),
                "#/instance/mini-p01%2Ffood?system=standard_rag&tab=outcome",
            ),
            (
                instance(url, "i1", System::IbaAgent, &[]),
                "#/instance/i1?data=https:%2F%2Fhost.example%2Fa%20b%2Fmanifest.json%3Fx%3D1%26y%3D2",
            ),
            (
                Route::instances(DatasetKey::Files("häuser".to_owned())),
                "#/instances?files=h%C3%A4user",
            ),
            (
                Route::Search {
                    dataset: DatasetKey::Bundled,
                    query: [("q", "spicy food"), ("by", "graph")].into_iter().collect(),
                },
                "#/search?q=spicy%20food&by=graph",
            ),
            (
                Route::Results {
                    query: [("row", "a=b")].into_iter().collect(),
                },
                "#/results?row=a%3Db",
            ),
            (Route::Settings, "#/settings"),
            (Route::About, "#/about"),
        ];
        for (route, address) in table {
            assert_eq!(route.address(), address);
            assert_eq!(Route::parse(address), Some(route), "{address}");
        }
    }

    #[test]
    fn links_written_by_hand_open() {
        for address in ["", "#", "#/", "/"] {
            assert_eq!(Route::parse(address), Some(Route::Start), "{address}");
        }
        let plain = Route::instance(DatasetKey::Bundled, "i1".into());
        for address in [
            "#/instance/i1?",
            "#instance/i1/",
            "#/instance/i1?data=iba-mini",
            "#/instance/i1?system=iba_agent",
        ] {
            assert_eq!(Route::parse(address), Some(plain.clone()), "{address}");
        }
        let unknown = instance(
            DatasetKey::Bundled,
            "i1",
            System::IbaAgent,
            &[("system", "moon")],
        );
        assert_eq!(Route::parse("#/instance/i1?system=moon"), Some(unknown));
    }

    #[test]
    fn an_address_no_view_has_is_refused() {
        for address in ["#/moon", "#/instance", "#/instances/one", "#/settings/deep"] {
            assert_eq!(Route::parse(address), None, "{address}");
        }
    }
}
