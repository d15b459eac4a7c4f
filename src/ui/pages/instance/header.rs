//! Where the visitor is: scenario, domain, action, and the way to the neighbours.

use super::page::Page;
use crate::bench::taxonomy::Action;
use leptos::prelude::*;

/// Title line of the view.
#[component]
pub(super) fn Header(page: Page) -> impl IntoView {
    let given = page.given.get_value();
    let neighbours = given.neighbours;
    let position = neighbours
        .position
        .map(|text| view! { <span class="muted">{text}</span> });
    view! {
        <header class="inst-head">
            <div class="inst-where">
                <a href=neighbours.list>"Instances"</a>
                <span class="muted" aria-hidden="true">"/"</span>
                <code class="muted">{given.instance.id.0.clone()}</code>
            </div>
            <h1>{given.instance.scenario_name.clone()}</h1>
            <p class="inst-chips">
                <span class="inst-chip">{given.domain.name.clone()}</span>
                <span class="inst-chip">{action_name(given.instance.action)}</span>
            </p>
            <nav class="inst-neighbours" aria-label="Neighbouring instances">
                {neighbour(neighbours.previous, "Previous instance", "←")} {position}
                {neighbour(neighbours.next, "Next instance", "→")}
            </nav>
        </header>
    }
}

fn action_name(action: Action) -> &'static str {
    match action {
        Action::GenerateText => "writes a text",
        Action::CallApi => "calls an API",
    }
}

fn neighbour(address: Option<String>, label: &'static str, sign: &'static str) -> AnyView {
    match address {
        Some(address) => view! {
            <a class="button small" href=address aria-label=label title=format!("{label} ({sign})")>
                {sign}
            </a>
        }
        .into_any(),
        None => view! { <span class="button small" aria-hidden="true" data-off>{sign}</span> }
            .into_any(),
    }
}
