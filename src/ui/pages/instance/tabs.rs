//! On a narrow screen one zone shows at a time; the tab bar chooses it.

use super::page::Page;
use super::scroll;
use crate::run::focus::Tab;
use crate::run::outcome::Tally;
use leptos::prelude::*;

const TABS: [(Tab, &str); 4] = [
    (Tab::History, "History"),
    (Tab::Trace, "Stages"),
    (Tab::Outcome, "Outcome"),
    (Tab::Compare, "Compare"),
];

/// Name of a zone in ids and attributes.
pub(super) fn word(tab: Tab) -> &'static str {
    match tab {
        Tab::History => "history",
        Tab::Trace => "trace",
        Tab::Outcome => "outcome",
        Tab::Compare => "compare",
    }
}

/// The tab bar; the style sheet hides it where all zones fit.
#[component]
pub(super) fn Tabs(page: Page) -> impl IntoView {
    let tabs = TABS.map(|(tab, label)| {
        let chosen = move || page.focus.with(|focus| focus.tab) == tab;
        view! {
            <button
                type="button"
                class="inst-tab"
                aria-pressed=move || chosen().to_string()
                aria-controls=format!("zone-{}", word(tab))
                on:click=move |_| {
                    page.show_tab(tab);
                    scroll::to_start(&format!("zone-{}", word(tab)));
                }
            >
                {label}
                <span class="inst-tab-note">{move || note(page, tab)}</span>
            </button>
        }
    });
    view! { <nav class="inst-tabs" aria-label="Zones">{tabs.collect_view()}</nav> }
}

/// What a zone holds, in a word or two.
fn note(page: Page, tab: Tab) -> String {
    match tab {
        Tab::History => page
            .timeline
            .with_value(|timeline| timeline.rows.len().to_string()),
        Tab::Trace => page.stages.with(|stages| stages.len().to_string()),
        Tab::Compare => String::new(),
        Tab::Outcome => {
            let tally = page.rows.with(|rows| Tally::of(rows));
            let judged = tally.judged();
            if judged == 0 {
                String::new()
            } else {
                format!("{}/{judged}", tally.met)
            }
        }
    }
}
