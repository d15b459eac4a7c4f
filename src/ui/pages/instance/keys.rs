//! Keys of the view: `r` runs, `j` `k` go through requirements or stages, digits to the zones,
//! arrows to the neighbours, `/` to the search, `Esc` back out. None acts while the visitor types or a modifier is held.

use super::page::Page;
use super::stages;
use crate::agent::trace_view::StepKey;
use crate::run::focus::Tab;
use leptos::ev;
use leptos::prelude::*;
use leptos::wasm_bindgen::JsCast;
use leptos::web_sys::{Element, HtmlElement, KeyboardEvent};

/// Keys and what they do, for the help.
pub const KEYS: &[(&str, &str)] = &[
    ("r", "Run, or cancel the run"),
    ("j k", "Next and previous requirement or stage"),
    ("1 2 3 4", "History, stages, outcome, side by side"),
    ("↑ ↓ Home End", "In the history: from session to session"),
    ("← →", "Previous and next instance"),
    ("/", "Search the history"),
    ("Esc", "Leave the field, unmark, fold all"),
];

/// Listens until the view is left.
pub(super) fn listen(page: Page) {
    let handle = window_event_listener(ev::keydown, move |event| act(page, &event));
    on_cleanup(move || handle.remove());
}

fn act(page: Page, event: &KeyboardEvent) {
    if event.ctrl_key() || event.alt_key() || event.meta_key() || event.default_prevented() {
        return;
    }
    // A dialog closes by itself and has keys of its own.
    if within(event, "dialog") {
        return;
    }
    let typing = typing(event);
    match event.key().as_str() {
        "Escape" => back(page, typing),
        _ if typing => return,
        "r" if event.repeat() => {}
        "r" => run(page),
        "1" => zone(page, Tab::History),
        "2" => zone(page, Tab::Trace),
        "3" => zone(page, Tab::Outcome),
        "4" => zone(page, Tab::Compare),
        "j" => step(page, 1),
        "k" => step(page, -1),
        "ArrowLeft" if !in_widget(event) => go(page, false),
        "ArrowRight" if !in_widget(event) => go(page, true),
        "/" => focus_search(page),
        _ => return,
    }
    event.prevent_default();
}

/// Leaves the field, else unmarks the quote, else takes requirement, stage and session out of
/// focus.
fn back(page: Page, typing: bool) {
    if typing {
        blur();
    } else if page.quote.get_untracked().is_some() {
        page.quote.set(None);
    } else {
        page.fold_all();
    }
}

fn run(page: Page) {
    if untrack(|| page.running() || page.can_run()) {
        page.run_or_cancel();
    }
}

/// Goes to a zone with the eyes and the keyboard.
fn zone(page: Page, tab: Tab) {
    page.show_tab(tab);
    focus_on(format!("zone-{}", super::tabs::word(tab)));
}

fn blur() {
    let active = document()
        .active_element()
        .and_then(|e| e.dyn_into::<HtmlElement>().ok());
    if let Some(element) = active {
        let _ = element.blur();
    }
}

fn typing(event: &KeyboardEvent) -> bool {
    target(event).is_some_and(|element| {
        element
            .matches(
                "input:not([type=radio]):not([type=checkbox]):not([type=range]), textarea, select, [role=dialog] *",
            )
            .unwrap_or(false)
    })
}

/// Arrow keys belong to radio groups, tab lists and scrollable boxes first.
fn in_widget(event: &KeyboardEvent) -> bool {
    within(
        event,
        "[role=tablist], [role=radiogroup], fieldset, pre, .table-scroll, select, [type=range]",
    )
}

fn within(event: &KeyboardEvent, selector: &str) -> bool {
    target(event)
        .is_some_and(|element| element.closest(selector).is_ok_and(|found| found.is_some()))
}

fn target(event: &KeyboardEvent) -> Option<Element> {
    event
        .target()
        .and_then(|target| target.dyn_into::<Element>().ok())
}

/// Through the stages where the trace has the word, else through the requirements.
fn step(page: Page, by: isize) {
    let focus = page.focus.get_untracked();
    if focus.tab == Tab::Outcome || (focus.stage.is_none() && page.shown.get_untracked()) {
        let ids: Vec<_> = page
            .rows
            .get_untracked()
            .iter()
            .map(|row| row.id.clone())
            .collect();
        let now = focus
            .requirement
            .and_then(|id| ids.iter().position(|other| *other == id));
        if let Some(next) = moved(now, by, ids.len()) {
            let id = ids[next].clone();
            focus_on(format!("requirement-{id}-link"));
            page.change(|focus| {
                focus.tab = Tab::Outcome;
                focus.requirement = Some(id);
            });
        }
    } else {
        let steps = stages::of_run(page);
        let here = |step: &StepKey| Some(step.stage) == focus.stage && step.nth == focus.nth;
        let now = steps.iter().position(here);
        if let Some(next) = moved(now, by, steps.len()) {
            let StepKey { stage, nth, .. } = steps[next];
            focus_on(format!("{}-line", stages::anchor(stage, nth)));
            page.change(|focus| focus.step_to(stage, nth));
        }
    }
}

fn moved(now: Option<usize>, by: isize, len: usize) -> Option<usize> {
    let last = len.checked_sub(1)?;
    Some(match now {
        Some(now) => now.saturating_add_signed(by).min(last),
        None if by < 0 => last,
        None => 0,
    })
}

fn go(page: Page, forward: bool) {
    let neighbours = page.given.with_value(|given| given.neighbours.clone());
    let address = if forward {
        neighbours.next
    } else {
        neighbours.previous
    };
    if let Some(address) = address {
        page.on.go.run(address);
    }
}

fn focus_search(page: Page) {
    page.show_tab(Tab::History);
    focus_on("history-search".to_owned());
}

/// Focuses the element with this id after the next frame, when it is rendered.
pub(super) fn focus_on(id: String) {
    request_animation_frame(move || {
        let element = document().get_element_by_id(&id);
        if let Some(element) = element.and_then(|e| e.dyn_into::<HtmlElement>().ok()) {
            let _ = element.focus();
        }
    });
}
