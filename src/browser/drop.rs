//! What lies in a drop: files, and folders with everything below them.

use super::error::{BrowserError, tried};
use super::files::{FileError, PickedFile, listed};
use js_sys::{Array, Function, Promise};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{DataTransfer, File, FileSystemDirectoryEntry, FileSystemEntry, FileSystemFileEntry};

/// Files taken from one drop; a dropped home folder must not hang the page.
const MOST: usize = 5_000;

/// Entries still to be looked at. Take it within the drop event: the browser empties the transfer
/// as soon as the handler returns.
pub struct Dropped {
    entries: Vec<FileSystemEntry>,
    files: Vec<PickedFile>,
}

impl Dropped {
    /// Notes what was dropped.
    pub fn take(transfer: &DataTransfer) -> Self {
        let items = transfer.items();
        let items = (0..items.length()).filter_map(|index| items.get(index));
        let entries: Vec<_> = items
            .filter_map(|item| item.webkit_get_as_entry().ok().flatten())
            .collect();
        let files = transfer.files().filter(|_| entries.is_empty());
        Self {
            entries,
            files: files.map(|list| listed(&list)).unwrap_or_default(),
        }
    }

    /// All files, those in folders included.
    pub async fn files(mut self) -> Result<Vec<PickedFile>, FileError> {
        while let Some(entry) = self.entries.pop() {
            let name = path(&entry);
            let read = |source| FileError::Read {
                name: name.clone(),
                source,
            };
            if entry.is_directory() {
                self.entries
                    .extend(children(entry.unchecked_ref()).await.map_err(read)?);
            } else {
                let file = file(entry.unchecked_ref()).await.map_err(read)?;
                self.files.push(PickedFile { path: name, file });
            }
            if self.files.len() > MOST {
                let cause = BrowserError::new(
                    "looking through it",
                    format!("it has more than {MOST} files"),
                );
                return Err(FileError::Read {
                    name: "the dropped folder".to_owned(),
                    source: cause,
                });
            }
        }
        Ok(self.files)
    }
}

/// Without the leading slash, so that it looks like `webkitRelativePath`.
fn path(entry: &FileSystemEntry) -> String {
    let path = entry.full_path();
    path.strip_prefix('/').map_or(path.clone(), str::to_owned)
}

async fn file(entry: &FileSystemFileEntry) -> Result<File, BrowserError> {
    let found = promise(|done, failed| entry.file_with_callback_and_callback(done, failed)).await;
    found
        .map(JsCast::unchecked_into)
        .map_err(tried("opening a dropped file"))
}

/// Browsers hand out at most 100 entries at a time and end with an empty list.
async fn children(folder: &FileSystemDirectoryEntry) -> Result<Vec<FileSystemEntry>, BrowserError> {
    let reader = folder.create_reader();
    let mut all = Vec::new();
    loop {
        let batch = promise(|done, failed| {
            if let Err(thrown) = reader.read_entries_with_callback_and_callback(done, failed) {
                let _ = failed.call1(&JsValue::NULL, &thrown);
            }
        });
        let batch: Array = batch
            .await
            .map_err(tried("opening a dropped folder"))?
            .unchecked_into();
        if batch.length() == 0 {
            return Ok(all);
        }
        all.extend(batch.iter().map(JsCast::unchecked_into::<FileSystemEntry>));
    }
}

/// A pair of callbacks as a future.
async fn promise(start: impl Fn(&Function, &Function)) -> Result<JsValue, JsValue> {
    JsFuture::from(Promise::new(&mut |done, failed| start(&done, &failed))).await
}
