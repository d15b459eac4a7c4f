//! All instances of a dataset: search, facets, and a list of which only the rows in sight exist.

mod batch;
mod batch_file;
mod facets;
mod list;
mod row;

use crate::bench::filter;
use crate::route::listing::{filter_of, query_of};
use crate::route::{DatasetKey, Query, Route};
use crate::ui::data::Open;
use crate::ui::files::OpenAgain;
use crate::ui::parts::{Empty, Icon, ProblemBox, ProgressLine, Shape};
use crate::ui::state::{Lab, Trail, lab};
use crate::words::grouped;
use batch::RunAll;
use batch_file::BatchButton;
use facets::Facets;
use leptos::prelude::*;
use list::InstanceList;
use std::sync::Arc;

/// The view; its filter is in the address.
#[component]
pub fn InstancesPage() -> impl IntoView {
    let lab = lab();
    let key = Memo::new(move |_| {
        lab.route
            .with(|route| route.dataset().cloned())
            .unwrap_or_default()
    });
    view! {
        <div class="page wide">
            {move || match lab.data.of(&key.get()) {
                Some(open) => view! { <Listing open=open /> }.into_any(),
                None => view! { <Waiting key=key.get() /> }.into_any(),
            }}
        </div>
    }
}

/// Stands where a dataset will, or says why it will not.
#[component]
pub fn Waiting(key: DatasetKey) -> impl IntoView {
    let lab = lab();
    let own = key.clone();
    let failed = move || {
        lab.data
            .failed
            .get()
            .filter(|(failed, _)| *failed == own)
            .map(|(_, problem)| problem)
    };
    let of = move |read: fn(&crate::ui::data::Opening) -> u64| {
        lab.data
            .opening
            .with(|opening| opening.as_ref().map(read).unwrap_or_default())
    };
    move || match failed() {
        Some(problem) => {
            let again = key.clone();
            view! {
                <ProblemBox problem=problem>
                    <OpenAgain key=again />
                    <a class="button" href=Route::Start.address()>"Go to the start"</a>
                </ProblemBox>
            }
            .into_any()
        }
        None => view! {
            <div class="waiting">
                <ProgressLine
                    what="Opening the dataset"
                    done=Signal::derive(move || of(|opening| opening.done))
                    total=Signal::derive(move || Some(of(|opening| opening.total.unwrap_or(0))))
                    bytes=true
                />
            </div>
        }
        .into_any(),
    }
}

/// Handles of the list that its parts share.
#[derive(Clone, Copy)]
struct View {
    lab: Lab,
    open: StoredValue<Open, LocalStorage>,
    query: Memo<filter::Query>,
    filtered: Memo<filter::Filtered>,
}

impl View {
    /// Puts a changed filter into the address.
    fn change(self, change: impl FnOnce(&mut filter::Query)) {
        let mut query = self.query.get_untracked();
        change(&mut query);
        let dataset = self.open.with_value(|open| open.key.clone());
        self.lab.replace(Route::Instances {
            dataset,
            query: query_of(&query),
        });
        if scrolled() > 0.0 {
            window().scroll_to_with_x_and_y(0.0, 0.0);
        }
    }

    fn clear(self) {
        self.change(|query| *query = filter::Query::default());
    }

    /// Remembers the list for "next" and "previous" of the instance view.
    fn leave_trail(self) {
        let ids = self.open.with_value(|open| {
            let index = &open.dataset.index;
            self.filtered.with_untracked(|filtered| {
                filtered
                    .rows
                    .iter()
                    .map(|row| index[*row].id.clone())
                    .collect()
            })
        });
        let address = self.lab.route.with_untracked(Route::address);
        self.lab.trail.set(Trail {
            address,
            ids: Arc::new(ids),
            scrolled: scrolled(),
        });
    }

    /// Where the list was when an instance was opened from it.
    fn return_to_place(self) {
        let here = self.lab.route.with_untracked(Route::address);
        let place = self
            .lab
            .trail
            .with_untracked(|trail| (trail.address == here).then_some(trail.scrolled));
        if let Some(place) = place {
            request_animation_frame(move || window().scroll_to_with_x_and_y(0.0, place));
        }
    }
}

/// How far the page is scrolled, in pixels.
fn scrolled() -> f64 {
    window().scroll_y().unwrap_or_default()
}

#[component]
fn Listing(open: Open) -> impl IntoView {
    let lab = lab();
    let total = open.dataset.index.len();
    let title = open.dataset.manifest.title.clone();
    let open = StoredValue::new_local(open);
    let query = Memo::new(move |_| {
        lab.route.with(|route| match route {
            Route::Instances { query, .. } => filter_of(query),
            _ => filter_of(&Query::default()),
        })
    });
    let filtered =
        Memo::new(move |_| open.with_value(|open| query.with(|query| open.filter.apply(query))));
    let view = View {
        lab,
        open,
        query,
        filtered,
    };
    view.return_to_place();
    let shown = move || filtered.with(|filtered| filtered.rows.len());
    let facets_open = RwSignal::new(false);
    let count = move || match shown() {
        all if all == total => format!("{} instances", grouped(total as u64)),
        some => format!(
            "{} of {} instances",
            grouped(some as u64),
            grouped(total as u64)
        ),
    };
    let all = open.with_value(|open| Route::Search {
        dataset: open.key.clone(),
        query: Query::default(),
    });
    let filtering = move || query.with(|query| *query != filter::Query::default());
    view! {
        <header class="page-head">
            <h1>"Instances"</h1>
            <p class="muted">{title}" · "<a href=all.address()>"Search all histories"</a></p>
        </header>
        <div class="search-bar">
            <SearchBox view=view />
            <button type="button" class="button narrow-only" aria-expanded=move || facets_open.get().to_string() on:click=move |_| facets_open.update(|open| *open = !*open)>
                <Icon shape=Shape::Sliders />"Filter"
            </button>
            <p class="count" aria-live="polite">{count}</p>
            <button type="button" class="button quiet" hidden=move || !filtering() on:click=move |_| view.clear()>"Clear filters"</button>
            <BatchButton view=view />
        </div>
        <div class="listing">
            <aside class="facets" class:open=move || facets_open.get() aria-label="Filters"><Facets view=view /></aside>
            <div class="list-side">
                <RunAll view=view />
                <InstanceList view=view />
                {move || (shown() == 0).then(|| view! {
                    <Empty title="No instance fits" text="The dataset has instances, but none that all of these filters let through.">
                        <button type="button" class="button primary" on:click=move |_| view.clear()>"Clear filters"</button>
                    </Empty>
                })}
            </div>
        </div>
    }
}

#[component]
fn SearchBox(view: View) -> impl IntoView {
    let on_key = move |ev: web_sys::KeyboardEvent| match ev.key().as_str() {
        "Escape" => view.change(|query| query.text.clear()),
        "ArrowDown" | "Enter" => {
            ev.prevent_default();
            list::focus_row(0);
        }
        _ => {}
    };
    view! {
        <div class="search">
            <Icon shape=Shape::Search />
            <input
                type="search"
                data-search="instances"
                placeholder="Search tasks, scenarios, users"
                title="Search (/)"
                aria-label="Search instances"
                autocomplete="off"
                spellcheck="false"
                prop:value=move || view.query.with(|query| query.text.clone())
                on:input=move |ev| {
                    let text = event_target_value(&ev);
                    view.change(|query| query.text = text);
                }
                on:keydown=on_key
            />
            <kbd aria-hidden="true">"/"</kbd>
        </div>
    }
}
