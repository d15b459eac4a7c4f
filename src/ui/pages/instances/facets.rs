//! The facets, each value with the number of instances it would show.

use super::View;
use crate::bench::filter::{Counts, MANY, Query};
use crate::bench::taxonomy::Action;
use leptos::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// One value as drawn.
#[derive(Clone, Debug, PartialEq)]
struct Value<T> {
    value: T,
    name: String,
}

#[component]
pub fn Facets(view: View) -> impl IntoView {
    let (domains, scenarios) = view.open.with_value(|open| {
        let manifest = &open.dataset.manifest;
        let domains = manifest
            .domains
            .iter()
            .map(|d| Value {
                value: d.id.clone(),
                name: d.name.clone(),
            })
            .collect();
        let scenarios = manifest
            .scenarios
            .iter()
            .map(|s| Value {
                value: s.id.clone(),
                name: s.name.clone(),
            })
            .collect();
        (domains, scenarios)
    });
    let actions = vec![
        Value {
            value: Action::GenerateText,
            name: "Write a text".to_owned(),
        },
        Value {
            value: Action::CallApi,
            name: "Call an API".to_owned(),
        },
    ];
    let changes = vec![
        Value {
            value: true,
            name: "A preference changed".to_owned(),
        },
        Value {
            value: false,
            name: "Nothing changed".to_owned(),
        },
    ];
    view! {
        {facet(view, "Domain", domains, |query| &mut query.domains, |counts| &counts.domains, true)}
        {facet(view, "Action", actions, |query| &mut query.actions, |counts| &counts.actions, true)}
        {facet(view, "Change", changes, |query| &mut query.dynamic, |counts| &counts.dynamic, true)}
        {facet(view, "Evidence sessions", numbers(), |query| &mut query.evidence, |counts| &counts.evidence, true)}
        {facet(view, "Requirements", numbers(), |query| &mut query.constraints, |counts| &counts.constraints, true)}
        {facet(view, "Scenario", scenarios, |query| &mut query.scenarios, |counts| &counts.scenarios, false)}
    }
}

fn numbers() -> Vec<Value<u32>> {
    let name = |count: u32| {
        if count == MANY {
            format!("{count} or more")
        } else {
            count.to_string()
        }
    };
    (0..=MANY)
        .map(|count| Value {
            value: count,
            name: name(count),
        })
        .collect()
}

fn facet<T: Ord + Clone + Send + Sync + 'static>(
    view: View,
    title: &'static str,
    values: Vec<Value<T>>,
    chosen: fn(&mut Query) -> &mut BTreeSet<T>,
    counts: fn(&Counts) -> &BTreeMap<T, usize>,
    open: bool,
) -> AnyView {
    let rows = values.into_iter().map(|Value { value, name }| {
        let (id, counted) = (value.clone(), value.clone());
        // Values that occur nowhere in the dataset are no choice.
        let count = Memo::new(move |_| view.filtered.with(|filtered| counts(&filtered.counts).get(&counted).copied()));
        let checked = move || chosen(&mut view.query.get()).contains(&id);
        let switch = move |_| {
            view.change(|query| {
                let set = chosen(query);
                if !set.remove(&value) {
                    set.insert(value.clone());
                }
            });
        };
        view! {
            <label class="facet-value" class:none=move || count.get() == Some(0) hidden=move || count.get().is_none()>
                <input type="checkbox" prop:checked=checked on:change=switch />
                <span>{name}</span>
                <span class="muted">{move || count.get().unwrap_or(0)}</span>
            </label>
        }
    });
    view! {
        <details class="facet" open=open>
            <summary>{title}</summary>
            <div role="group" aria-label=title>{rows.collect_view()}</div>
        </details>
    }
    .into_any()
}
