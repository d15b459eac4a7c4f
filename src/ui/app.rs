//! The frame of the page: start-up, head, navigation, the page of the moment, and what lies over
//! all of them (help, notices, dropped files).

use super::pages::{
    AboutPage, InstanceHost, InstancesPage, LostPage, ResultsHost, SettingsPage, StartPage,
};
use super::parts::{Dialog, Icon, Shape, Toasts};
use super::state::{Lab, lab};
use crate::browser::drop::Dropped;
use crate::route::{Query, Route};
use crate::settings::Theme;
use leptos::ev;
use leptos::prelude::*;
use leptos::task::spawn_local;
use std::time::Duration;
use wasm_bindgen::JsCast;

/// Time after which a page just gone to has drawn itself.
const PAGE_DRAWN: Duration = Duration::from_millis(60);

/// Takes over from the static skeleton.
pub fn start() {
    std::panic::set_hook(Box::new(|info| {
        console_error_panic_hook::hook(info);
        show_crash(&info.to_string());
    }));
    if let Some(skeleton) = document().get_element_by_id("skeleton") {
        skeleton.remove();
    }
    leptos::mount::mount_to_body(App);
}

/// A panic ends the program; what is left is the box that was in the page from the start.
fn show_crash(text: &str) {
    let document = document();
    if let Some(words) = document.get_element_by_id("crashed-text") {
        let first = text.lines().last().unwrap_or_default();
        words.set_text_content(Some(&format!(
            "The program met a state it cannot go on from: {first}"
        )));
    }
    if let Some(shown) = document.get_element_by_id("crashed") {
        // The attribute's name is valid, so this cannot fail.
        let _ = shown.remove_attribute("hidden");
    }
}

/// The whole page.
#[component]
pub fn App() -> impl IntoView {
    let lab = Lab::new();
    provide_context(lab);
    lab.start();
    let listeners = [
        window_event_listener_untyped("hashchange", move |_| lab.visit_address()),
        window_event_listener_untyped("keydown", move |ev| {
            if let Some(ev) = ev.dyn_ref::<web_sys::KeyboardEvent>() {
                on_key(lab, ev);
            }
        }),
    ];
    on_cleanup(move || listeners.into_iter().for_each(|listener| listener.remove()));
    // The kind of page alone decides what is drawn anew: a page follows its own query, so that
    // typing in a filter does not build it again.
    let kind = Memo::new(move |_| {
        let known = lab.lost.with(Option::is_none);
        known.then(|| lab.route.with(std::mem::discriminant))
    });
    view! {
        <a class="skip" href="#main" on:click=skip_to_main>"Skip to the content"</a>
        <Topbar />
        <DropAnywhere />
        <main id="main" tabindex="-1">{move || kind.get().map_or_else(|| view! { <LostPage /> }.into_any(), |_| page(lab))}</main>
        <Help />
        <Toasts notices=lab.notices />
    }
}

/// The page of the moment.
fn page(lab: Lab) -> AnyView {
    match lab.route.get_untracked() {
        Route::Start => view! { <StartPage /> }.into_any(),
        Route::Instances { .. } => view! { <InstancesPage /> }.into_any(),
        Route::Instance { .. } => view! { <InstanceHost /> }.into_any(),
        Route::Results { .. } => view! { <ResultsHost /> }.into_any(),
        Route::Settings => view! { <SettingsPage /> }.into_any(),
        Route::About => view! { <AboutPage /> }.into_any(),
    }
}

/// The fragment is the address of a view, so the link must not change it.
fn skip_to_main(ev: ev::MouseEvent) {
    ev.prevent_default();
    if let Some(main) = document()
        .get_element_by_id("main")
        .and_then(|main| main.dyn_into::<web_sys::HtmlElement>().ok())
    {
        // Focusing an element with a tabindex does not fail.
        let _ = main.focus();
    }
}

#[component]
fn Topbar() -> impl IntoView {
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

/// One link of the navigation covers a list and what is opened from it.
fn section(route: &Route) -> u8 {
    match route {
        Route::Start => 0,
        Route::Instances { .. } | Route::Instance { .. } => 1,
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

/// Takes files dropped anywhere, and shows that it will while they hover.
#[component]
fn DropAnywhere() -> impl IntoView {
    let lab = lab();
    let over = RwSignal::new(false);
    let has_files = |ev: &web_sys::DragEvent| {
        ev.data_transfer()
            .is_some_and(|transfer| transfer.types().includes(&"Files".into(), 0))
    };
    let on = move |name: &'static str, handle: fn(&web_sys::DragEvent, RwSignal<bool>, Lab)| {
        window_event_listener_untyped(name, move |ev| {
            if let Some(ev) = ev
                .dyn_ref::<web_sys::DragEvent>()
                .filter(|ev| has_files(ev))
            {
                ev.prevent_default();
                handle(ev, over, lab);
            }
        })
    };
    let listeners = [
        on("dragover", |_, over, _| over.set(true)),
        on("dragleave", |ev, over, _| {
            if ev.related_target().is_none() {
                over.set(false);
            }
        }),
        on("drop", |ev, over, lab| {
            over.set(false);
            if let Some(transfer) = ev.data_transfer() {
                take(lab, Dropped::take(&transfer));
            }
        }),
    ];
    on_cleanup(move || listeners.into_iter().for_each(|listener| listener.remove()));
    view! {
        <div class="drop-over" hidden=move || !over.get() aria-hidden="true">
            <p>"Drop a result file or the folder of a dataset"</p>
        </div>
    }
}

fn take(lab: Lab, dropped: Dropped) {
    spawn_local(async move {
        match dropped.files().await {
            Ok(files) => lab.opened.open(lab, files),
            Err(error) => lab
                .notices
                .bad(super::parts::Problem::new(&error, error.hint())),
        }
    });
}

/// Keys that work on every page. Typing and dialogs come first.
fn on_key(lab: Lab, ev: &web_sys::KeyboardEvent) {
    if busy(ev) {
        return;
    }
    match ev.key().as_str() {
        "?" => lab.help.set(true),
        // The instance view has a search of its own.
        "/" if lab
            .route
            .with_untracked(|route| !matches!(route, Route::Instance { .. })) =>
        {
            ev.prevent_default();
            if !focus("[data-search]") {
                lab.go(&Route::instances(lab.data.key()));
                set_timeout(|| drop(focus("[data-search]")), PAGE_DRAWN);
            }
        }
        _ => {}
    }
}

/// Whether a key press belongs to a control, a dialog or the browser.
pub fn busy(ev: &web_sys::KeyboardEvent) -> bool {
    let typing = |element: web_sys::Element| {
        element
            .closest("input, textarea, select, [contenteditable], dialog")
            .ok()
            .flatten()
            .is_some()
    };
    let target = ev
        .target()
        .and_then(|target| target.dyn_into::<web_sys::Element>().ok());
    ev.default_prevented()
        || ev.ctrl_key()
        || ev.meta_key()
        || ev.alt_key()
        || target.is_some_and(typing)
}

/// Focuses the first element a selector finds; whether there was one.
pub fn focus(selector: &str) -> bool {
    let found = document().query_selector(selector).ok().flatten();
    found
        .and_then(|element| element.dyn_into::<web_sys::HtmlElement>().ok())
        .is_some_and(|element| element.focus().is_ok())
}

/// Every key there is.
#[component]
fn Help() -> impl IntoView {
    let lab = lab();
    let keys = [
        (
            "Everywhere",
            &[
                ("?", "This list"),
                ("/", "Search instances"),
                ("Esc", "Close a dialog, clear the search"),
            ][..],
        ),
        (
            "Instances",
            &[
                ("j  k", "Next, previous row"),
                ("Enter", "Open the row"),
                ("g  G", "First, last row"),
            ][..],
        ),
        ("One instance", super::pages::INSTANCE_KEYS),
    ];
    let table = move || {
        keys.iter()
            .map(|(title, rows)| {
                let rows = rows.iter().map(|(key, what)| {
                    let keys = key.split_whitespace().map(|key| view! { <kbd>{key.to_owned()}</kbd>" " }).collect_view();
                    view! { <tr><th scope="row">{keys}</th><td>{*what}</td></tr> }
                });
                view! { <h3>{*title}</h3><table class="keys"><tbody>{rows.collect_view()}</tbody></table> }
            })
            .collect_view()
    };
    view! { <Dialog title="Keyboard" open=lab.help>{table()}</Dialog> }
}
