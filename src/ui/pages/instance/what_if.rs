//! Other thresholds on what the run recorded: filter and cut answer at once, without a model.

use super::page::Page;
use super::stage_body::passage_link;
use crate::agent::preview::{self, Preview};
use crate::agent::trace_view::{count, name, session_of};
use crate::embed::PassageId;
use crate::run::record::Params;
use crate::settings::params::{PARAMS, ParamInfo, param_value, with_param};
use leptos::prelude::*;

/// The parameters whose effect is local.
const LOCAL: [&str; 3] = ["near_duplicate", "min_salience", "max_passages"];

/// Folded away; nothing for runs without filter and cut.
#[component]
pub(super) fn WhatIf(page: Page) -> impl IntoView {
    let there = Memo::new(move |_| {
        let stages = page.stages.get();
        !page.running() && preview::local(&stages, &Params::default()).is_some()
    });
    view! {
        <Show when=move || there.get()>
            <details class="inst-fold what-if">
                <summary>"What if the thresholds were others?"</summary>
                <Sliders page />
            </details>
        </Show>
    }
}

#[component]
fn Sliders(page: Page) -> impl IntoView {
    let of_run = Memo::new(move |_| {
        page.run
            .record
            .with(|record| record.as_ref().map(|record| record.params.clone()))
            .unwrap_or_default()
    });
    let params = RwSignal::new(of_run.get_untracked());
    Effect::new(move |_| params.set(of_run.get()));
    let preview = Memo::new(move |_| preview::local(&page.stages.get(), &params.get()));
    let infos = PARAMS.iter().filter(|info| LOCAL.contains(&info.name));
    let sliders = infos
        .map(|info| view! { <Slider info params of_run /> })
        .collect_view();
    let changed = move || params.get() != of_run.get();
    let take = move |_| {
        let mut next = page.given.with_value(|given| given.params).get_untracked();
        let chosen = params.get_untracked();
        next.near_duplicate = chosen.near_duplicate;
        next.min_salience = chosen.min_salience;
        next.max_passages = chosen.max_passages;
        page.on.set_params.run(next);
        page.on.run.run(untrack(|| page.chosen()));
    };
    view! {
        <div class="what-if-sliders">{sliders}</div>
        {move || preview.get().map(|preview| effect(page, preview))}
        <div class="inst-row">
            <button
                type="button"
                class="button small"
                prop:disabled=move || !changed() || page.running()
                on:click=take
            >
                "Run with these"
            </button>
            <button
                type="button"
                class="button small quiet"
                prop:disabled=move || !changed()
                on:click=move |_| params.set(of_run.get_untracked())
            >
                "Back to the run's"
            </button>
        </div>
    }
}

#[component]
fn Slider(
    info: &'static ParamInfo,
    params: RwSignal<Params>,
    of_run: Memo<Params>,
) -> impl IntoView {
    let written = |params: &Params| {
        param_value(params, info.name).map_or_else(String::new, |value| value.to_string())
    };
    let change = move |event| {
        // A slider gives nothing out of its range.
        if let Ok(changed) = with_param(&params.get_untracked(), info, &event_target_value(&event))
        {
            params.set(changed);
        }
    };
    let id = format!("what-if-{}", info.name);
    view! {
        <div>
            <label for=id.clone()>
                {info.label} " " <strong>{move || params.with(written)}</strong>
                <span class="muted small">{move || format!(" (run: {})", of_run.with(written))}</span>
            </label>
            <input
                id=id
                type="range"
                min=info.min
                max=info.max
                step=info.step
                prop:value=move || params.with(written)
                on:input=change
            />
        </div>
    }
}

fn effect(page: Page, preview: Preview) -> impl IntoView {
    let evidence = {
        let wanted = page.wanted.get();
        let reached = wanted.iter().filter(|session| {
            preview
                .cut
                .kept
                .iter()
                .any(|id| session_of(id) == **session)
        });
        let n = reached.count();
        (!wanted.is_empty()).then(|| format!(", {n} of {} evidence sessions", wanted.len()))
    };
    let kept = format!(
        "{} go on{}",
        count(preview.cut.kept.len(), "passage", "passages"),
        evidence.unwrap_or_default()
    );
    let stale: Vec<&str> = preview.stale().into_iter().map(name).collect();
    let stale = match stale.is_empty() {
        true => "No later stage would change.".to_owned(),
        false => format!(
            "A run with these would do again: {} and the head; what came before is shared.",
            stale.join(", ")
        ),
    };
    let unscored = (preview.unscored > 0).then(|| {
        format!(
            "{} would have to be scored first and rank last here.",
            count(preview.unscored, "passage", "passages")
        )
    });
    view! {
        <p role="status">{kept}</p>
        {links(page, "Would come in", &preview.gained)}
        {links(page, "Would drop out", &preview.lost)}
        <p class="muted small">{stale} " " {unscored}</p>
    }
}

fn links(page: Page, label: &'static str, ids: &[PassageId]) -> Option<impl IntoView + use<>> {
    let items: Vec<AnyView> = ids.iter().map(|id| passage_link(page, id)).collect();
    (!items.is_empty()).then(|| {
        view! {
            <p class="links">
                <span class="muted">{label}</span>
                {items}
            </p>
        }
    })
}
