//! Files the visitor drops, picks or takes home.

use super::error::BrowserError;
use super::fetch::OnProgress;

/// Largest file read whole; more is refused before reading.
pub const MAX_FILE: u64 = 512 * 1024 * 1024;

/// A file with its place in the dropped or picked folder.
#[derive(Clone, Debug)]
pub struct PickedFile {
    /// `folder/sub/name`; only the name for a single file.
    pub path: String,
    pub file: web_sys::File,
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FileError {
    #[error("{name} has {bytes} bytes; files over {limit} bytes are not opened")]
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

/// Files of a drop, folders included.
pub async fn dropped(_transfer: &web_sys::DataTransfer) -> Result<Vec<PickedFile>, FileError> {
    todo!()
}

/// Files of an `<input type="file">`, with `webkitdirectory` or without.
pub fn picked(_input: &web_sys::HtmlInputElement) -> Vec<PickedFile> {
    todo!()
}

/// Reads a file in slices.
pub async fn read(
    _file: &PickedFile,
    _limit: u64,
    _progress: &OnProgress,
    _abort: &super::abort::Abort,
) -> Result<Vec<u8>, FileError> {
    todo!()
}

/// Offers `parts`, one after the other, as a download called `name`.
pub fn download(_name: &str, _mime: &str, _parts: &[&[u8]]) -> Result<(), BrowserError> {
    todo!()
}
