//! The filter of the list of instances, as an address carries it.

use super::Query;
use crate::bench::filter;
use crate::bench::ids::{DomainId, ScenarioId};
use crate::bench::taxonomy::Action;
use std::collections::BTreeSet;

/// Reads a filter; what it does not know it passes over, so that an old link still filters by the
/// rest.
pub fn filter_of(query: &Query) -> filter::Query {
    filter::Query {
        text: query.get("q").unwrap_or_default().to_owned(),
        domains: query.all("domain").map(DomainId::from).collect(),
        scenarios: query.all("scenario").map(ScenarioId::from).collect(),
        actions: query.all("action").filter_map(action).collect(),
        evidence: numbers(query, "evidence"),
        constraints: numbers(query, "requirements"),
        dynamic: query.all("change").filter_map(change).collect(),
    }
}

/// Writes a filter; what lets everything through is left out.
pub fn query_of(filter: &filter::Query) -> Query {
    let mut pairs: Vec<(&str, String)> = Vec::new();
    if !filter.text.is_empty() {
        pairs.push(("q", filter.text.clone()));
    }
    pairs.extend(filter.domains.iter().map(|id| ("domain", id.to_string())));
    pairs.extend(
        filter
            .scenarios
            .iter()
            .map(|id| ("scenario", id.to_string())),
    );
    pairs.extend(
        filter
            .actions
            .iter()
            .map(|action| ("action", action_word(*action).to_owned())),
    );
    pairs.extend(
        filter
            .evidence
            .iter()
            .map(|count| ("evidence", count.to_string())),
    );
    pairs.extend(
        filter
            .constraints
            .iter()
            .map(|count| ("requirements", count.to_string())),
    );
    pairs.extend(
        filter
            .dynamic
            .iter()
            .map(|dynamic| ("change", change_word(*dynamic).to_owned())),
    );
    pairs.into_iter().collect()
}

fn numbers(query: &Query, name: &str) -> BTreeSet<u32> {
    query
        .all(name)
        .filter_map(|value| value.parse().ok())
        .map(|count: u32| count.min(filter::MANY))
        .collect()
}

fn action(word: &str) -> Option<Action> {
    [Action::GenerateText, Action::CallApi]
        .into_iter()
        .find(|action| action_word(*action) == word)
}

fn action_word(action: Action) -> &'static str {
    match action {
        Action::GenerateText => "text",
        Action::CallApi => "call",
    }
}

fn change(word: &str) -> Option<bool> {
    [true, false]
        .into_iter()
        .find(|dynamic| change_word(*dynamic) == word)
}

fn change_word(dynamic: bool) -> &'static str {
    if dynamic { "dynamic" } else { "static" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::ids::InstanceId;
    use crate::route::{DatasetKey, Route};

    #[test]
    fn a_filter_comes_back_from_its_address() {
        let filter = filter::Query {
            text: "late dinner".to_owned(),
            domains: BTreeSet::from(["work".into(), "travel".into()]),
            scenarios: BTreeSet::from(["food_ordering".into()]),
            actions: BTreeSet::from([Action::CallApi]),
            evidence: BTreeSet::from([1, 5]),
            constraints: BTreeSet::from([3]),
            dynamic: BTreeSet::from([true]),
        };
        let route = Route::Instances {
            dataset: DatasetKey::Bundled,
            query: query_of(&filter),
        };
        let address = "#/instances?q=late%20dinner&domain=travel&domain=work&scenario=food_ordering&action=call&evidence=1&evidence=5&requirements=3&change=dynamic";
        assert_eq!(route.address(), address);
        let Some(Route::Instances { query, .. }) = Route::parse(address) else {
            panic!("no list")
        };
        assert_eq!(filter_of(&query), filter);
    }

    #[test]
    fn what_is_unknown_is_passed_over() {
        let query = [
            ("evidence", "many"),
            ("evidence", "12"),
            ("action", "moon"),
            ("sort", "id"),
        ]
        .into_iter()
        .collect();
        let filter = filter_of(&query);
        assert_eq!(
            filter,
            filter::Query {
                evidence: BTreeSet::from([5]),
                ..filter::Query::default()
            }
        );
        assert_eq!(query_of(&filter::Query::default()), Query::default());
        assert_eq!(
            Route::instance(DatasetKey::Bundled, InstanceId::from("i")).address(),
            "#/instance/i"
        );
    }
}
