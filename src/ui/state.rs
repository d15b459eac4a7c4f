//! What all pages share: one bundle of handles, made by the root and passed on by context at page
//! level only.

use super::data::Data;
use super::desk::Desk;
use super::files::Opened;
use super::histories::Histories;
use super::import::Imports;
use super::keyboard::focus;
use super::keys::Keys;
use super::late::{self, Errand};
use super::models::Shelf;
use super::parts::{Notices, Problem};
use super::runner::{Batch, Runner};
use crate::bench::ids::InstanceId;
use crate::browser::cache::FileCache;
use crate::browser::dataset::Library;
use crate::browser::engine::Engine;
use crate::browser::engines::Engines;
use crate::browser::files;
use crate::browser::models::Models;
use crate::browser::persist::Runs;
use crate::browser::signin;
use crate::browser::store::{Drawer, Store};
use crate::browser::tabs::Tabs;
use crate::browser::texts::TextStore;
use crate::browser::transport::Transport;
use crate::llm::openrouter::{self, Returned};
use crate::route::{DatasetKey, Route};
use crate::settings::{Choice, Endpoint, Settings, Theme};
use leptos::prelude::*;
use leptos::task::spawn_local;
use std::rc::Rc;
use std::sync::Arc;
use wasm_bindgen::JsValue;

/// Where settings are kept; `boot.js` reads the theme from there before the first paint.
const SETTINGS: &str = "iba-lab.settings";

/// The browser's side of the application, there once the store is open.
#[derive(Clone)]
pub struct Edge {
    pub cache: FileCache,
    pub store: Store,
    /// Vectors that were paid for.
    pub texts: TextStore,
    pub library: Library,
    /// Of the shipped embedding model.
    pub engine: Engine,
    /// Of any.
    pub engines: Engines,
    pub models: Models,
    pub transport: Transport,
    pub runs: Runs,
}

impl Edge {
    fn new(store: Store, texts: TextStore) -> Self {
        let cache = FileCache::new();
        let (engine, models) = (Engine::new(cache.clone()), Models::default());
        Self {
            library: Library::new(cache.clone(), store.clone()),
            engines: Engines::new(cache.clone(), models.clone(), engine.clone()),
            engine,
            models,
            transport: Transport::new(),
            runs: Runs::new(store.clone()),
            cache,
            store,
            texts,
        }
    }
}

/// The bundle. Handles only, so it is `Copy`.
#[derive(Clone, Copy)]
pub struct Lab {
    pub route: RwSignal<Route>,
    /// An address no view has, for the page that says so.
    pub lost: RwSignal<Option<String>>,
    /// The address came from outside the view (a link, "back", a reload), and the visitor changed
    /// nothing since.
    pub followed: RwSignal<bool>,
    pub settings: RwSignal<Settings>,
    pub keys: Keys,
    pub data: Data,
    /// All histories of the open dataset, searched as one.
    pub histories: Histories,
    pub runner: Runner,
    /// Many runs one after another.
    pub batch: Batch,
    pub opened: Opened,
    /// Outputs of other programs, before they are judged.
    pub imports: Imports,
    pub notices: Notices,
    /// Prompts that wait for answers by hand.
    pub desk: Desk,
    /// The instances whose hidden half the visitor asked to see.
    pub revealed: RwSignal<Vec<String>>,
    /// The list the visitor came from, for "next" and "previous".
    pub trail: RwSignal<Trail>,
    pub help: RwSignal<bool>,
    /// The visitor's own embedding models.
    pub shelf: Shelf,
    pub edge: RwSignal<Option<Edge>, LocalStorage>,
    /// The line to other tabs, once the store is open.
    tabs: StoredValue<Option<Tabs>, LocalStorage>,
    /// What a sign-in brought back, until it is used.
    arrived: StoredValue<Option<Returned>, LocalStorage>,
}

/// The list as it was last shown: its address and the instances in its order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trail {
    pub address: String,
    pub ids: Arc<Vec<InstanceId>>,
    /// How far it was scrolled, in pixels.
    pub scrolled: f64,
}

impl Lab {
    /// All handles, nothing loaded.
    pub fn new() -> Self {
        let notices = Notices::new();
        Self {
            route: RwSignal::new(Route::Start),
            lost: RwSignal::new(None),
            followed: RwSignal::new(true),
            settings: RwSignal::new(kept_settings()),
            keys: Keys::new(),
            data: Data::new(),
            histories: Histories::new(),
            runner: Runner::new(),
            batch: Batch::new(),
            opened: Opened::new(),
            imports: Imports::new(),
            notices,
            desk: Desk::new(),
            revealed: RwSignal::new(Vec::new()),
            trail: RwSignal::new(Trail::default()),
            help: RwSignal::new(false),
            shelf: Shelf::new(),
            edge: RwSignal::new_local(None),
            tabs: StoredValue::new_local(None),
            arrived: StoredValue::new_local(None),
        }
    }

    /// Opens store and dataset, then warms the engine up. The page works meanwhile.
    pub fn start(self) {
        // The code of a sign-in leaves the address before anything else happens.
        self.arrived.set_value(signin::arrived());
        self.visit_address();
        late::run(self, Errand::StartUp);
    }

    pub(super) async fn start_up(self) {
        self.guard_exports();
        let notices = self.notices;
        let store = Store::open(move |text| notices.info(text)).await;
        let texts = TextStore::new(move |text| notices.info(text));
        let edge = Edge::new(store, texts);
        self.price(&edge);
        self.edge.set(Some(edge.clone()));
        if let Some(returned) = self.arrived.try_update_value(Option::take).flatten() {
            self.sign_in(&edge, returned).await;
        }
        self.data.ensure(self, self.wanted());
        self.listen_to_tabs(&edge);
        self.runner.restore(edge.runs.all().await);
        // Whatever is wrong with the engine is said when a run needs it.
        let _ = edge.engine.start().await;
        self.shelf.refresh(&edge.models).await;
        late::fetch_all().await;
    }

    /// Runs that other tabs save appear here as well.
    fn listen_to_tabs(self, edge: &Edge) {
        let runs = edge.runs.clone();
        let tabs = Tabs::open(move |id| {
            let runs = runs.clone();
            spawn_local(async move {
                if let Some(record) = runs.load(&id).await {
                    self.runner.take(record);
                }
            });
        });
        self.tabs.set_value(Some(tabs));
    }

    /// Tells other tabs that a run was saved.
    pub fn tell_tabs(self, run: &str) {
        self.tabs.with_value(|tabs| {
            if let Some(tabs) = tabs {
                tabs.tell(run);
            }
        });
    }

    /// Takes the key of a sign-in, and the provider it is for.
    async fn sign_in(self, edge: &Edge, returned: Returned) {
        match signin::finish(&edge.transport, returned).await {
            Ok((_, key)) => {
                self.keys.set(openrouter::BASE_URL, &key);
                self.set(|settings| {
                    settings.agent = Choice::Endpoint;
                    if settings.endpoint.base_url != openrouter::BASE_URL {
                        settings.endpoint = Endpoint {
                            preset: "openrouter".to_owned(),
                            base_url: openrouter::BASE_URL.to_owned(),
                            model: String::new(),
                        };
                    }
                });
                self.notices
                    .good("Signed in with OpenRouter; the key is held in this tab");
            }
            Err(error) => {
                let hint = "Begin again with “Sign in” in Settings.";
                self.notices.bad(Problem::new(&error, Some(hint)));
            }
        }
    }

    /// No key leaves the page in a file or a copied text.
    fn guard_exports(self) {
        let (keys, notices) = (self.keys, self.notices);
        files::set_guard(Rc::new(move |name, bytes| {
            let clean = keys.cleaned(bytes)?;
            notices.info(format!(
                "A key in use stood in {name}; it was replaced by [key] before it left the page."
            ));
            Some(clean)
        }));
    }

    /// Tells the meter of the calls what the visitor set.
    fn price(self, edge: &Edge) {
        let (cap, prices) = self
            .settings
            .with_untracked(|settings| (settings.cap_usd, settings.prices.clone()));
        edge.transport.meter.configure(cap, prices);
    }

    /// The dataset the address asks for; the bundled one for views that need none.
    fn wanted(&self) -> DatasetKey {
        self.route
            .with_untracked(|route| route.dataset().cloned())
            .unwrap_or_else(|| self.data.key())
    }

    /// Shows what the address bar says.
    pub fn visit_address(self) {
        let fragment = window().location().hash().unwrap_or_default();
        self.followed.set(true);
        match Route::parse(&fragment) {
            Some(route) => self.visit(route),
            None => self.lost.set(Some(fragment)),
        }
    }

    fn visit(self, route: Route) {
        // Setting it in any case would draw the page anew at every keystroke of a filter.
        if self.lost.with_untracked(Option::is_some) {
            self.lost.set(None);
        }
        document().set_title(&route.title());
        let (changed, other_page) = self
            .route
            .with_untracked(|old| (*old != route, page_of(old) != page_of(&route)));
        if changed {
            self.route.set(route);
        }
        if other_page {
            window().scroll_to_with_x_and_y(0.0, 0.0);
            // Whoever reads by ear or goes by keyboard begins with the new page.
            focus("#main");
        }
        self.data.ensure(self, self.wanted());
    }

    /// Opens a view as a link would: the browser's "back" returns from it.
    pub fn go(self, route: &Route) {
        self.go_to(&route.address());
    }

    /// The same for a written address.
    pub fn go_to(self, address: &str) {
        // Setting a fragment never fails; the listener shows the view.
        let _ = window().location().set_hash(address);
    }

    /// Puts a changed state of the same view into the address; "back" leaves the view.
    pub fn replace(self, route: Route) {
        self.followed.set(false);
        self.restate(route);
    }

    /// The same where the visitor changed nothing: another address of what is shown.
    pub fn restate(self, route: Route) {
        if let Ok(history) = window().history() {
            // Fails only when called hundreds of times a second; the view follows all the same.
            let _ = history.replace_state_with_url(&JsValue::NULL, "", Some(&route.address()));
        }
        self.visit(route);
    }

    /// Goes to another place of the same view; "back" returns from it.
    pub fn push(self, route: Route) {
        let address = route.address();
        if self.route.with_untracked(Route::address) == address {
            return;
        }
        self.followed.set(false);
        if let Ok(history) = window().history() {
            // As above.
            let _ = history.push_state_with_url(&JsValue::NULL, "", Some(&address));
        }
        self.visit(route);
    }

    /// Changes settings and keeps them.
    pub fn set(self, change: impl FnOnce(&mut Settings)) {
        let retriever = self
            .settings
            .with_untracked(|settings| settings.retriever.clone());
        self.settings.update(change);
        let settings = self.settings.get_untracked();
        if settings.retriever != retriever {
            self.histories.take_chosen();
        }
        show_theme(&settings);
        if let Some(edge) = self.edge.get_untracked() {
            self.price(&edge);
        }
        if let Ok(Some(storage)) = window().local_storage() {
            // A full or forbidden storage: the choice holds until the tab is closed.
            let _ = storage.set_item(SETTINGS, &settings.write());
        }
    }

    /// Forgets everything kept in this browser, settings included.
    pub async fn clear_local_data(self) {
        if let Some(edge) = self.edge.get_untracked() {
            edge.runs.clear().await;
            edge.cache.clear().await;
            edge.texts.clear().await;
            edge.models.clear().await;
            edge.engines.let_go();
            self.shelf.refresh(&edge.models).await;
            for drawer in [Drawer::Journal, Drawer::Settings, Drawer::Datasets] {
                edge.store.clear(drawer).await;
            }
        }
        if let Ok(Some(storage)) = window().local_storage() {
            // Nothing to remove is as good.
            let _ = storage.remove_item(SETTINGS);
        }
        self.runner.records.set(Vec::new());
        self.settings.set(Settings::default());
        show_theme(&Settings::default());
    }
}

impl Default for Lab {
    fn default() -> Self {
        Self::new()
    }
}

/// The bundle, for pages.
pub fn lab() -> Lab {
    expect_context()
}

/// What of a route makes it another page to the reader.
fn page_of(route: &Route) -> (std::mem::Discriminant<Route>, Option<&InstanceId>) {
    let id = match route {
        Route::Instance { id, .. } => Some(id),
        _ => None,
    };
    (std::mem::discriminant(route), id)
}

fn kept_settings() -> Settings {
    let storage = window().local_storage().ok().flatten();
    let text = storage.and_then(|storage| storage.get_item(SETTINGS).ok().flatten());
    text.map_or_else(Settings::default, |text: String| Settings::read(&text))
}

/// Theme and type size are attributes of the root, where the style sheets look.
fn show_theme(settings: &Settings) {
    let Some(root) = document().document_element() else {
        return;
    };
    let theme = match settings.theme {
        Theme::System => None,
        Theme::Light => Some("light"),
        Theme::Dark => Some("dark"),
    };
    let size = settings.large_type.then_some("large");
    for (name, value) in [("data-theme", theme), ("data-type", size)] {
        // The names are valid, so neither call can fail.
        let _ = match value {
            Some(value) => root.set_attribute(name, value),
            None => root.remove_attribute(name),
        };
    }
}
