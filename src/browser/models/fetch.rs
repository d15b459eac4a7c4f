//! Brings one file of a model onto the shelf: from an address, going on where it was cut, or from
//! the visitor's disk.

use super::ModelError;
use super::pieces::Growing;
use crate::browser::abort::Abort;
use crate::browser::body::Body;
use crate::browser::clock::{Pace, sleep};
use crate::browser::engine::{EngineProgress, OnEngineProgress};
use crate::browser::fetch::{self, FetchError, Part};
use crate::browser::files::{FileError, PickedFile, slice};
use crate::browser::shelf::Shelf;
use crate::embed::registry::fetching::{self, Length, Take};
use crate::embed::registry::{KeptModel, Role};
use std::rc::Rc;

/// How often a cut download goes on by itself without having got anything.
const PATIENCE: u32 = 3;
/// Before it does.
const WAIT_MS: u32 = 1_000;
/// Read at once from disk.
const SLICE: u64 = 4 << 20;

/// Completes file `at` of a model. What has come is kept whatever happens.
pub async fn complete(
    shelf: &Shelf,
    model: &mut KeptModel,
    at: usize,
    source: Option<PickedFile>,
    progress: &OnEngineProgress,
    abort: &Abort,
) -> Result<(), ModelError> {
    let (name, url) = (model.files[at].name.clone(), model.files[at].url.clone());
    let mut growing = Growing::take_up(shelf, model, at).await;
    let done = match source {
        Some(file) => from_disk(&mut growing, &file, at, progress, abort).await,
        None if url.is_empty() => Err(ModelError::Refused(format!(
            "{name} came from this device and was not read to its end: delete the model and drop its folder again"
        ))),
        None => from_web(&mut growing, &url, at, progress, abort).await,
    };
    let kept = growing.write().await;
    done?;
    kept?;
    growing.finish().await
}

async fn from_disk(
    growing: &mut Growing<'_>,
    file: &PickedFile,
    at: usize,
    progress: &OnEngineProgress,
    abort: &Abort,
) -> Result<(), ModelError> {
    growing.start_over().await;
    let total = file.size();
    let mut done = 0;
    while done < total {
        if abort.is_aborted() {
            return Err(ModelError::Cancelled);
        }
        let end = total.min(done + SLICE);
        let bytes = slice(&file.file, done, end).await;
        let bytes = bytes.map_err(|source| FileError::Read {
            name: file.path.clone(),
            source,
        })?;
        let bytes = bytes.to_vec();
        if done == 0 {
            refuse_strangers(growing, at, &bytes)?;
        }
        growing.push(&bytes).await?;
        done = end;
        tell(growing, at, progress);
    }
    Ok(())
}

async fn from_web(
    growing: &mut Growing<'_>,
    url: &str,
    at: usize,
    progress: &OnEngineProgress,
    abort: &Abort,
) -> Result<(), ModelError> {
    let mut idle = 0;
    loop {
        let before = growing.len();
        let error = match attempt(growing, url, at, progress, abort).await {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        growing.write().await?;
        let cut = matches!(&error, ModelError::Fetch(FetchError::Cut { .. }))
            || before > 0 && matches!(&error, ModelError::Fetch(FetchError::Unreachable { .. }));
        idle = if growing.len() > before { 0 } else { idle + 1 };
        if !cut || idle >= PATIENCE || abort.is_aborted() {
            return Err(error);
        }
        sleep(WAIT_MS).await;
    }
}

/// One request, to the end of the file or of the connection.
async fn attempt(
    growing: &mut Growing<'_>,
    url: &str,
    at: usize,
    progress: &OnEngineProgress,
    abort: &Abort,
) -> Result<(), ModelError> {
    let kept = growing.len();
    let seen = growing.model().files[at].version.clone();
    if kept > 0 && seen.bytes == Some(kept) {
        return Ok(());
    }
    let part = (kept > 0).then(|| Part {
        from: fetching::from(kept),
        if_range: seen.if_range().map(str::to_owned),
    });
    let (response, head) = fetch::open(url, part.as_ref(), abort).await?;
    let (mut known, version) = match fetching::take(kept, &seen, &head) {
        Take::GoOn { known, version } => (growing.last(known).to_vec(), version),
        Take::StartOver { version } => {
            growing.start_over().await;
            (Vec::new(), version)
        }
        Take::AskAgain => {
            growing.start_over().await;
            return match kept {
                0 => Err(strange(url)),
                _ => Box::pin(attempt(growing, url, at, progress, abort)).await,
            };
        }
    };
    // A part counts from where it begins, and is never packed.
    let length = match known.is_empty() {
        true => head.length,
        false => version.bytes.map(|bytes| Length {
            bytes,
            is_exact: true,
        }),
    };
    let file = &mut growing.model().files[at];
    file.bytes = version.bytes.or(file.bytes);
    if known.is_empty() {
        file.version = version;
    }
    let mut body = Body::of(&response).map_err(|error| cut(url, kept, error.cause, abort))?;
    let mut pace = Pace::new();
    loop {
        let next = body.next().await;
        let next = next.map_err(|error| cut(url, growing.len(), error.cause, abort))?;
        let Some(piece) = next else {
            break;
        };
        let mut bytes = piece.to_vec();
        if !known.is_empty() {
            let same = known.len().min(bytes.len());
            if bytes[..same] != known[..same] {
                drop(body);
                growing.start_over().await;
                return Box::pin(attempt(growing, url, at, progress, abort)).await;
            }
            known.drain(..same);
            bytes.drain(..same);
        }
        if growing.len() == 0 && !bytes.is_empty() {
            refuse_strangers(growing, at, &bytes)?;
        }
        growing.push(&bytes).await?;
        if length.is_some_and(|length| !length.is_exact && growing.len() > length.bytes) {
            // The host packs on the way: what it told is no size of the file.
            let came = growing.len();
            let file = &mut growing.model().files[at];
            (file.bytes, file.version.bytes) = (Some(came), None);
        }
        tell(growing, at, progress);
        pace.breathe().await;
        if abort.is_aborted() {
            return Err(ModelError::Cancelled);
        }
    }
    if length.is_some_and(|length| growing.len() < length.bytes) {
        return Err(cut(
            url,
            growing.len(),
            "the connection closed early".to_owned(),
            abort,
        ));
    }
    if length.is_some_and(|length| length.is_passed_by(growing.len())) {
        growing.start_over().await;
        return Err(strange(url));
    }
    Ok(())
}

/// First bytes that belong to something else: a page of text, a pointer to a large file.
fn refuse_strangers(growing: &mut Growing<'_>, at: usize, bytes: &[u8]) -> Result<(), ModelError> {
    let file = &growing.model().files[at];
    let start = bytes.trim_ascii_start();
    let why = if start.starts_with(b"version https://git-lfs") {
        "is only a pointer to a large file, which the host keeps elsewhere: use the address under which it gives the file itself"
    } else if start.starts_with(b"<") {
        "is a web page and not a file of a model: use the address of the file itself, not of the page that shows it"
    } else if file.role == Role::Tokenizer && !start.starts_with(b"{") {
        "is no JSON: use the tokenizer.json that came with the model"
    } else {
        return Ok(());
    };
    Err(ModelError::Refused(format!("{} {why}", file.name)))
}

fn strange(url: &str) -> ModelError {
    ModelError::Refused(format!(
        "{url} was answered with other bytes than were asked for: try again later, or download the files and drop them here"
    ))
}

fn cut(url: &str, done: u64, cause: String, abort: &Abort) -> ModelError {
    if abort.is_aborted() {
        return ModelError::Cancelled;
    }
    let url = url.to_owned();
    ModelError::Fetch(FetchError::Cut { url, done, cause })
}

/// All of the model's bytes, not only this file's.
fn tell(growing: &mut Growing<'_>, at: usize, progress: &OnEngineProgress) {
    let open = growing.len();
    let model = growing.model();
    let kept = model.files[at].kept();
    let what = format!("fetching {}", model.files[at].name);
    let (done, total) = (model.kept() - kept + open, model.bytes());
    let progress = Rc::clone(progress);
    progress(EngineProgress { what, done, total });
}
