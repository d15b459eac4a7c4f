//! Large files that are kept for later visits, by name: in the browser's private file system, or in
//! its file cache where that has none.

use super::error::{BrowserError, tried};
use super::page;
use js_sys::{AsyncIterator, IteratorNext, Object, Promise, Reflect, Uint8Array};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Cache, CacheStorage, File, Request, Response};

/// Folder, or cache, of the files.
const NAME: &str = "iba-lab-models-1";
/// Before the name of a file in the cache; the host exists nowhere (RFC 2606).
const PREFIX: &str = "https://files.invalid/models/";

// The private file system by the few calls that are used.
#[wasm_bindgen]
extern "C" {
    pub(super) type Folder;
    #[wasm_bindgen(method, catch, js_name = getDirectoryHandle)]
    fn folder(this: &Folder, name: &str, options: &JsValue) -> Result<Promise, JsValue>;
    #[wasm_bindgen(method, catch, js_name = getFileHandle)]
    fn file(this: &Folder, name: &str, options: &JsValue) -> Result<Promise, JsValue>;
    #[wasm_bindgen(method, catch, js_name = removeEntry)]
    fn remove(this: &Folder, name: &str, options: &JsValue) -> Result<Promise, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn keys(this: &Folder) -> Result<AsyncIterator, JsValue>;

    type Storage;
    #[wasm_bindgen(method, catch, js_name = getDirectory)]
    fn root(this: &Storage) -> Result<Promise, JsValue>;

    type Handle;
    #[wasm_bindgen(method, catch, js_name = getFile)]
    fn read(this: &Handle) -> Result<Promise, JsValue>;
    #[wasm_bindgen(method, catch, js_name = createWritable)]
    fn writable(this: &Handle) -> Result<Promise, JsValue>;

    type Writable;
    #[wasm_bindgen(method, catch)]
    fn write(this: &Writable, bytes: &Uint8Array) -> Result<Promise, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn close(this: &Writable) -> Result<Promise, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn abort(this: &Writable) -> Result<Promise, JsValue>;
}

/// Where the files lie.
pub(super) enum Shelf {
    Folder(Folder),
    Cache(Cache),
}

impl Shelf {
    /// The private file system if it can be written to from here, else the cache.
    pub async fn open() -> Result<Self, BrowserError> {
        if writes_files()
            && let Ok(folder) = open_folder().await
        {
            return Ok(Self::Folder(folder));
        }
        let missing = || {
            BrowserError::new(
                "keeping files",
                "this browser keeps none for this page, as in private windows or on pages without https",
            )
        };
        let storage: JsValue = page::window().caches().map_err(|_| missing())?.into();
        if !storage.is_object() {
            return Err(missing());
        }
        let storage: CacheStorage = storage.unchecked_into();
        let cache = wait(Ok(storage.open(NAME))).await?;
        Ok(Self::Cache(cache.unchecked_into()))
    }

    /// What people call the place.
    pub fn place(&self) -> &'static str {
        match self {
            Self::Folder(_) => "the private file system of this browser",
            Self::Cache(_) => "the file cache of this browser",
        }
    }

    /// Keeps `bytes`; a file of that name is replaced once all of them are written.
    pub async fn put(&self, name: &str, bytes: &Uint8Array) -> Result<(), BrowserError> {
        match self {
            Self::Folder(folder) => {
                let options = Object::new();
                set(&options, "create")?;
                let file: Handle = wait(folder.file(name, &options)).await?.unchecked_into();
                let writable: Writable = wait(file.writable()).await?.unchecked_into();
                let written = match wait(writable.write(bytes)).await {
                    Ok(_) => wait(writable.close()).await.map(drop),
                    Err(error) => Err(error),
                };
                if written.is_err() {
                    let _ = wait(writable.abort()).await; // what was there before stays
                }
                written
            }
            Self::Cache(cache) => {
                let response = Response::new_with_opt_js_u8_array(Some(bytes));
                let response = response.map_err(tried("keeping a file"))?;
                wait(Ok(cache.put_with_str(&address(name), &response)))
                    .await
                    .map(drop)
            }
        }
    }

    /// The file of that name.
    pub async fn get(&self, name: &str) -> Option<Uint8Array> {
        let buffer = match self {
            Self::Folder(folder) => {
                let file = wait(folder.file(name, &JsValue::UNDEFINED)).await.ok()?;
                let file: Handle = file.unchecked_into();
                let file: File = wait(file.read()).await.ok()?.unchecked_into();
                wait(Ok(file.array_buffer())).await.ok()?
            }
            Self::Cache(cache) => {
                let found = wait(Ok(cache.match_with_str(&address(name)))).await.ok()?;
                let response: Response = found.dyn_into().ok()?;
                wait(response.array_buffer()).await.ok()?
            }
        };
        Some(Uint8Array::new(&buffer))
    }

    pub async fn delete(&self, name: &str) {
        // What is not there is as good as deleted.
        let _ = match self {
            Self::Folder(folder) => wait(folder.remove(name, &JsValue::UNDEFINED)).await,
            Self::Cache(cache) => wait(Ok(cache.delete_with_str(&address(name)))).await,
        };
    }

    /// Names of all files.
    pub async fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        match self {
            Self::Folder(folder) => {
                let Ok(keys) = folder.keys() else {
                    return names;
                };
                while let Ok(next) = wait(keys.next()).await {
                    let next: IteratorNext = next.unchecked_into();
                    if next.done() {
                        break;
                    }
                    names.extend(next.value().as_string());
                }
            }
            Self::Cache(cache) => {
                let keys = wait(Ok(cache.keys())).await.unwrap_or_default();
                let keys: js_sys::Array = keys.dyn_into().unwrap_or_default();
                let urls = keys.iter().filter_map(|key| {
                    let request: Request = key.dyn_into().ok()?;
                    request.url().strip_prefix(PREFIX).map(str::to_owned)
                });
                names.extend(urls);
            }
        }
        names
    }
}

/// Whether files of the private file system can be written from a page.
fn writes_files() -> bool {
    let get = |of: &JsValue, name: &str| Reflect::get(of, &name.into()).unwrap_or_default();
    let handle = get(&page::window(), "FileSystemFileHandle");
    get(&get(&handle, "prototype"), "createWritable").is_function()
}

async fn open_folder() -> Result<Folder, BrowserError> {
    let storage: JsValue = page::window().navigator().storage().into();
    let storage: Storage = storage.unchecked_into();
    let root: Folder = wait(storage.root()).await?.unchecked_into();
    let options = Object::new();
    set(&options, "create")?;
    let folder = wait(root.folder(NAME, &options)).await?;
    Ok(folder.unchecked_into())
}

fn set(options: &Object, name: &str) -> Result<(), BrowserError> {
    let done = Reflect::set(options, &name.into(), &JsValue::TRUE);
    done.map(drop).map_err(tried("keeping a file"))
}

fn address(name: &str) -> String {
    format!("{PREFIX}{name}")
}

async fn wait(promise: Result<Promise, JsValue>) -> Result<JsValue, BrowserError> {
    let promise = promise.map_err(tried("keeping a file"))?;
    JsFuture::from(promise)
        .await
        .map_err(tried("keeping a file"))
}
