//! A file of a model in pieces on the shelf. Each piece is written whole or not at all, so a
//! download that is cut loses nothing of what was written.

use super::{ModelError, RECORD};
use crate::browser::shelf::Shelf;
use crate::embed::registry::apart::Apart;
use crate::embed::registry::fetching::OVERLAP;
use crate::embed::registry::{KeptModel, Role};
use js_sys::Uint8Array;
use sha2::{Digest, Sha256};

/// Bytes of a piece: few enough to lose, enough to be quick.
pub const PIECE: usize = 8 << 20;

/// Name of a piece on the shelf.
pub fn piece_name(model: &KeptModel, file: usize, number: usize) -> String {
    format!("{}.{file}.{number}", model.id)
}

/// Keeps what is known of a model.
pub async fn keep_record(shelf: &Shelf, model: &KeptModel) -> Result<(), ModelError> {
    let text = serde_json::to_vec(model).expect("a model's record has string keys only");
    let name = format!("{}{RECORD}", model.id);
    let kept = shelf.put(&name, &Uint8Array::from(text.as_slice())).await;
    kept.map_err(ModelError::keeping)
}

/// One file of a model while it grows.
pub struct Growing<'a> {
    shelf: &'a Shelf,
    model: &'a mut KeptModel,
    at: usize,
    hash: Sha256,
    /// The last bytes, for the comparison when a download goes on.
    tail: Vec<u8>,
    /// Of a graph, which other files it needs.
    apart: Option<Apart>,
    /// Bytes that are not written yet.
    open: Vec<u8>,
}

impl<'a> Growing<'a> {
    /// Takes up what is on the shelf; what is damaged there and all behind it is forgotten.
    pub async fn take_up(shelf: &'a Shelf, model: &'a mut KeptModel, at: usize) -> Self {
        let mut growing = Self {
            shelf,
            at,
            hash: Sha256::new(),
            tail: Vec::new(),
            apart: reader(model, at),
            open: Vec::new(),
            model,
        };
        let sizes = growing.model.files[at].pieces.clone();
        for (number, size) in sizes.into_iter().enumerate() {
            let bytes = shelf.get(&piece_name(growing.model, at, number)).await;
            let Some(bytes) = bytes.filter(|bytes| u64::from(bytes.length()) == size) else {
                growing.model.files[at].pieces.truncate(number);
                break;
            };
            growing.count(&bytes.to_vec());
        }
        growing
    }

    pub fn model(&mut self) -> &mut KeptModel {
        self.model
    }

    /// Bytes there are, written or not.
    pub fn len(&self) -> u64 {
        self.model.files[self.at].kept() + self.open.len() as u64
    }

    /// The last `bytes` bytes, at most [`OVERLAP`].
    pub fn last(&self, bytes: u64) -> &[u8] {
        &self.tail[self.tail.len().saturating_sub(bytes as usize)..]
    }

    /// Forgets everything.
    pub async fn start_over(&mut self) {
        let count = self.model.files[self.at].pieces.len();
        for number in 0..count {
            self.shelf
                .delete(&piece_name(self.model, self.at, number))
                .await;
        }
        self.model.files[self.at].pieces.clear();
        self.hash = Sha256::new();
        self.tail.clear();
        self.apart = reader(self.model, self.at);
        self.open.clear();
    }

    pub async fn push(&mut self, mut bytes: &[u8]) -> Result<(), ModelError> {
        self.count(bytes);
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(PIECE - self.open.len()));
            self.open.extend_from_slice(now);
            bytes = later;
            if self.open.len() == PIECE {
                self.write().await?;
            }
        }
        Ok(())
    }

    /// Writes what is open, however little it is.
    pub async fn write(&mut self) -> Result<(), ModelError> {
        if self.open.is_empty() {
            return Ok(());
        }
        let number = self.model.files[self.at].pieces.len();
        let name = piece_name(self.model, self.at, number);
        let bytes = Uint8Array::from(self.open.as_slice());
        let put = self.shelf.put(&name, &bytes).await;
        put.map_err(ModelError::keeping)?;
        self.model.files[self.at]
            .pieces
            .push(self.open.len() as u64);
        self.open.clear();
        keep_record(self.shelf, self.model).await
    }

    /// All bytes have come.
    pub async fn finish(mut self) -> Result<(), ModelError> {
        self.write().await?;
        let hash = self.sha256();
        let file = &mut self.model.files[self.at];
        file.sha256 = Some(hash);
        file.bytes = Some(file.kept());
        file.apart = self.apart.map(Apart::finish);
        keep_record(self.shelf, self.model).await
    }

    /// Forgets what is not as it was when the file was whole, so that it comes anew.
    pub async fn forget_damage(mut self) {
        let file = &self.model.files[self.at];
        let (wanted, all) = (file.sha256.clone(), file.bytes);
        if wanted.as_ref() == Some(&self.sha256()) {
            return;
        }
        if all.is_none_or(|all| all <= self.len()) {
            // Every piece is there, and one is another than it was.
            self.start_over().await;
        }
        self.model.files[self.at].sha256 = None;
    }

    /// Of what has come.
    fn sha256(&self) -> String {
        crate::browser::hash::hex(&self.hash.clone().finalize())
    }

    fn count(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
        if let Some(apart) = &mut self.apart {
            apart.push(bytes);
        }
        let keep = OVERLAP as usize;
        let last = &bytes[bytes.len().saturating_sub(keep)..];
        let old = self.tail.len().min(keep - last.len());
        self.tail.drain(..self.tail.len() - old);
        self.tail.extend_from_slice(last);
    }
}

/// Reads the names of other files out of a graph.
fn reader(model: &KeptModel, at: usize) -> Option<Apart> {
    (model.files[at].role == Role::Graph).then(Apart::default)
}
