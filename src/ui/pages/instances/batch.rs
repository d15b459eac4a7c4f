//! Runs a system on every instance of the list as it is filtered.

use super::View;
use crate::agent::system::{SYSTEMS, System};
use crate::bench::ids::InstanceId;
use crate::ui::runner::{Item, Kind};
use crate::words::grouped;
use leptos::prelude::*;

/// Choice of the system, and a button that says how many runs it would start.
#[component]
pub(super) fn RunAll(view: View) -> impl IntoView {
    let lab = view.lab;
    let system = RwSignal::new(System::IbaAgent);
    let ids = Memo::new(move |_| {
        view.open.with_value(|open| {
            let index = &open.dataset.index;
            view.filtered.with(|filtered| {
                filtered
                    .rows
                    .iter()
                    .map(|row| index[*row].id.clone())
                    .collect::<Vec<InstanceId>>()
            })
        })
    });
    let left = Memo::new(move |_| {
        let open = view.open.get_value();
        ids.with(|ids| lab.runner.left(lab, &open, system.get(), ids))
    });
    let blocked = move || {
        let refused = lab
            .settings
            .with(|settings| system.get().refuses(&settings.agent_ref()));
        if let Some(why) = refused {
            return Some(why.to_owned());
        }
        lab.settings
            .with(|settings| settings.blocked().or_else(|| lab.keys.missing(settings)))
    };
    let model = move || lab.settings.with(|settings| settings.agent_ref().label());
    let words = move || match (ids.with(Vec::len), left.with(Vec::len)) {
        (0, _) => "Nothing to run".to_owned(),
        (_, 0) => "All of these are done".to_owned(),
        (all, n) if all == n => format!("Run all {}", grouped(n as u64)),
        (_, n) => format!("Run the {} not done yet", grouped(n as u64)),
    };
    let start = move |_| {
        let chosen = system.get_untracked();
        let items = left.get_untracked().into_iter().map(|instance| Item {
            instance,
            kind: Kind::Run { system: chosen },
        });
        let items: Vec<Item> = items.collect();
        let title = format!("{} on {} instances", chosen.name(), items.len());
        lab.batch.start(lab, view.open.get_value(), title, items);
    };
    let options = SYSTEMS.into_iter().map(|own| {
        view! { <option value=own.word() selected=move || system.get() == own>{own.name()}</option> }
    });
    let choose = move |ev| {
        let typed = event_target_value(&ev);
        if let Some(chosen) = SYSTEMS.into_iter().find(|system| system.word() == typed) {
            system.set(chosen);
        }
    };
    view! {
        <div class="run-all" role="group" aria-label="Run many">
            <label class="sr-only" for="run-all-system">"System"</label>
            <select id="run-all-system" on:change=choose>{options.collect_view()}</select>
            <button
                type="button"
                class="button"
                disabled=move || left.with(Vec::is_empty) || lab.batch.busy() || blocked().is_some()
                on:click=start
            >
                {words}
            </button>
            <span class="muted small">{move || blocked().unwrap_or_else(|| format!("with {}", model()))}</span>
        </div>
    }
}
