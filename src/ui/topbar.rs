//! The head of the page: navigation, runs under way, dark or light.

use super::keyboard::focus;
use super::parts::{Icon, Shape};
use super::state::{Lab, lab};
use crate::route::{Query, Route};
use crate::settings::Theme;
use leptos::ev;
use leptos::prelude::*;

/// Name, views, and what is always at hand.
#[component]
pub fn Topbar() -> impl IntoView {
    let lab = lab();
    let link = move |name: &'static str, shape: Shape, to: Signal<Route>| {
        let here = move || lab.route.with(|route| section(route) == section(&to.get()));
        view! {
            <a href=move || to.get().address() aria-current=move || here().then_some("page")>
                <Icon shape=shape />
                <span>{name}</span>
            </a>
        }
    };
    let list = Signal::derive(move || {
        Route::instances(lab.data.current().map(|open| open.key).unwrap_or_default())
    });
    let dark = move || {
        if lab.settings.with(|s| s.theme) == Theme::Dark {
            Shape::Sun
        } else {
            Shape::Moon
        }
    };
    view! {
        <header class="topbar">
            <a class="skip" href="#main" on:click=skip_to_main>"Skip to the content"</a>
            <a class="wordmark" href=Route::Start.address()>
                <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
                    <path class="lines" d="M5 9.5h14M5 16h8M5 22.5h10"></path>
                    <path class="tick" d="m17.5 20.5 3.6 3.6L28 14.5"></path>
                </svg>
                "IBA Lab"
            </a>
            <nav aria-label="Views">
                {link("Start", Shape::Start, Route::Start.into())}
                {link("Instances", Shape::List, list)}
                {link("Results", Shape::Chart, Route::Results { query: Query::default() }.into())}
                {link("Settings", Shape::Sliders, Route::Settings.into())}
                {link("About", Shape::Info, Route::About.into())}
            </nav>
            <div class="topbar-end">
                <Working />
                <button type="button" class="button quiet square wide-only" title="Keyboard (?)" aria-label="Keyboard" on:click=move |_| lab.help.set(true)>
                    <Icon shape=Shape::Keyboard />
                </button>
                <button type="button" class="button quiet square" title="Dark or light" aria-label="Dark or light" on:click=move |_| switch_theme(lab)>
                    {move || view! { <Icon shape=dark() /> }}
                </button>
            </div>
        </header>
    }
}

/// The fragment is the address of a view, so the link must not change it.
fn skip_to_main(ev: ev::MouseEvent) {
    ev.prevent_default();
    focus("#main");
}

/// One link of the navigation covers a list and what is opened from it.
fn section(route: &Route) -> u8 {
    match route {
        Route::Start => 0,
        Route::Instances { .. } | Route::Instance { .. } | Route::Search { .. } => 1,
        Route::Results { .. } => 2,
        Route::Settings => 3,
        Route::About => 4,
    }
}

fn switch_theme(lab: Lab) {
    let dark_device = || {
        let query = window()
            .match_media("(prefers-color-scheme: dark)")
            .ok()
            .flatten();
        query.is_some_and(|query| query.matches())
    };
    lab.set(|settings| {
        let dark = match settings.theme {
            Theme::Dark => true,
            Theme::Light => false,
            Theme::System => dark_device(),
        };
        settings.theme = if dark { Theme::Light } else { Theme::Dark };
    });
}

/// Runs under way, with a way back to them.
#[component]
fn Working() -> impl IntoView {
    let lab = lab();
    move || {
        let runs = lab.runner.live.get();
        let first = runs.first()?.clone();
        let to = Route::Instance {
            dataset: first.dataset,
            id: first.subject.instance,
            system: first.system,
            query: Query::default(),
        };
        let words = if runs.len() == 1 {
            "1 run".to_owned()
        } else {
            format!("{} runs", runs.len())
        };
        Some(
            view! { <a class="working" href=to.address() title="Go to the run"><span class="spinner"></span>{words}</a> },
        )
    }
}
