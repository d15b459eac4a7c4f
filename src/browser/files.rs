//! Files the visitor drops, picks or takes home.

use super::abort::Abort;
use super::clock::sleep;
use super::error::{BrowserError, tried};
use super::fetch::{OnProgress, Progress, join};
use super::page;
use js_sys::{Array, Reflect, Uint8Array};
use std::cell::RefCell;
use std::rc::Rc;
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{Blob, BlobPropertyBag, File, FileList, HtmlAnchorElement, HtmlInputElement, Url};

/// Largest file read whole; more is refused before reading.
pub const MAX_FILE: u64 = 512 * 1024 * 1024;

/// Read at once: small enough to show progress and to cancel.
const SLICE: u64 = 4 * 1024 * 1024;

/// Firefox and Safari read a download only after the click was handled; a large one takes a while.
const REVOKE_MS: u32 = 120_000;

/// A file with its place in the dropped or picked folder.
#[derive(Clone, Debug)]
pub struct PickedFile {
    /// `folder/sub/name`; only the name for a single file.
    pub path: String,
    pub file: File,
}

impl PickedFile {
    /// In bytes.
    pub fn size(&self) -> u64 {
        self.file.size() as u64
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    #[error("{name} has {bytes} bytes; here files may have at most {limit}")]
    TooLarge {
        name: String,
        bytes: u64,
        limit: u64,
    },
    #[error("{name} could not be read: {source}")]
    Read { name: String, source: BrowserError },
    #[error("cancelled")]
    Cancelled,
}

impl FileError {
    /// What the visitor can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::TooLarge { .. } => Some(
                "Check that it is the right file; a dataset is opened by its folder, not as one large file.",
            ),
            Self::Read { .. } => {
                Some("It may have been moved or changed since it was chosen; choose it again.")
            }
            Self::Cancelled => None,
        }
    }
}

/// Files of an `<input type="file">`, with `webkitdirectory` or without.
pub fn picked(input: &HtmlInputElement) -> Vec<PickedFile> {
    input.files().map(|list| listed(&list)).unwrap_or_default()
}

/// Reads a file in slices.
pub async fn read(
    picked: &PickedFile,
    limit: u64,
    progress: &OnProgress,
    abort: &Abort,
) -> Result<Uint8Array, FileError> {
    let (name, total) = (picked.path.clone(), picked.size());
    if total > limit {
        return Err(FileError::TooLarge {
            name,
            bytes: total,
            limit,
        });
    }
    let failed = |source| FileError::Read {
        name: name.clone(),
        source,
    };
    let (mut pieces, mut done) = (Vec::new(), 0);
    while done < total {
        if abort.is_aborted() {
            return Err(FileError::Cancelled);
        }
        let end = total.min(done + SLICE);
        pieces.push(slice(&picked.file, done, end).await.map_err(failed)?);
        done = end;
        progress(Progress {
            done,
            total: Some(total),
        });
    }
    Ok(join(&pieces, total))
}

/// Bytes of a file from `start` to `end`.
pub(super) async fn slice(file: &File, start: u64, end: u64) -> Result<Uint8Array, BrowserError> {
    let part = file
        .slice_with_f64_and_f64(start as f64, end as f64)
        .map_err(tried("reading a file"))?;
    let buffer = JsFuture::from(part.array_buffer())
        .await
        .map_err(tried("reading a file"))?;
    Ok(Uint8Array::new(&buffer))
}

pub(super) fn listed(list: &FileList) -> Vec<PickedFile> {
    let files = (0..list.length()).filter_map(|index| list.get(index));
    files
        .map(|file| PickedFile {
            path: relative_path(&file),
            file,
        })
        .collect()
}

/// `webkitRelativePath`, which is empty for a file picked by itself.
fn relative_path(file: &File) -> String {
    let path = Reflect::get(file, &"webkitRelativePath".into()).ok();
    let path = path
        .and_then(|path| path.as_string())
        .filter(|path| !path.is_empty());
    path.unwrap_or_else(|| file.name())
}

/// Looks at everything that leaves the page: name and bytes in, clean bytes out when something had
/// to be taken out.
pub type Guard = Rc<dyn Fn(&str, &[u8]) -> Option<Vec<u8>>>;

thread_local! {
    static GUARD: RefCell<Option<Guard>> = const { RefCell::new(None) };
}

/// Sets the one guard of all downloads and copies; the page does it before anything else.
pub fn set_guard(guard: Guard) {
    GUARD.set(Some(guard));
}

/// The text as it may leave the page, for example to the clipboard.
pub fn guarded(name: &str, text: String) -> String {
    let guard = GUARD.with_borrow(Clone::clone);
    let clean = guard.and_then(|guard| guard(name, text.as_bytes()));
    clean.map_or(text, |bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Offers `parts`, one after the other, as a download called `name`. Each part is looked at by the
/// guard first.
pub fn download(name: &str, mime: &str, parts: &[&[u8]]) -> Result<(), BrowserError> {
    let saving = || tried(format!("saving {name}"));
    let guard = GUARD.with_borrow(Clone::clone);
    let clean = |part: &[u8]| guard.as_ref().and_then(|guard| guard(name, part));
    let array = |part: &&[u8]| match clean(part) {
        Some(clean) => Uint8Array::from(clean.as_slice()),
        None => Uint8Array::from(*part),
    };
    let arrays: Array = parts.iter().map(array).collect();
    let options = BlobPropertyBag::new();
    options.set_type(mime);
    let blob =
        Blob::new_with_buffer_source_sequence_and_options(&arrays, &options).map_err(saving())?;
    let url = Url::create_object_url_with_blob(&blob).map_err(saving())?;
    let clicked = click_link(name, &url);
    spawn_local(async move {
        sleep(REVOKE_MS).await;
        let _ = Url::revoke_object_url(&url);
    });
    clicked.map_err(saving())
}

/// Some browsers follow only links that stand in the document.
fn click_link(name: &str, url: &str) -> Result<(), wasm_bindgen::JsValue> {
    let document = page::document();
    let link: HtmlAnchorElement = document.create_element("a")?.unchecked_into();
    link.set_href(url);
    link.set_download(name);
    link.set_hidden(true);
    if let Some(body) = document.body() {
        body.append_child(&link)?;
    }
    link.click();
    link.remove();
    Ok(())
}
