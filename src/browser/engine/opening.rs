//! Histories made searchable: by vectors that came with their dataset or were kept, by vectors made
//! here, by those of another model, or by words alone.

use super::{Engine, EngineError, OnEngineProgress, locked, steps};
use crate::bench::visible::History;
use crate::browser::abort::Abort;
use crate::browser::clock::sleep;
use crate::browser::worker_client::{WorkerClient, WorkerError};
use crate::embed::{ChunkSpan, Chunking, VectorFile};
use crate::worker::protocol::{Answer, Request};
use futures::future::{Either, select};
use js_sys::Uint8Array;
use std::pin::pin;
use std::rc::Rc;

/// Histories open at once; one is some two megabytes.
const HISTORIES_KEPT: usize = 8;

/// Between two looks whether the worker has started.
const WAIT_MS: u32 = 50;

/// What is known of an open history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opened {
    /// Passages that are longer than the model reads; not known where vectors came with the
    /// dataset.
    pub too_long: Option<u32>,
    /// Why the vectors that came with the dataset are not used.
    pub refused: Option<String>,
}

/// A history, its name in the engine, and how it is cut.
#[derive(Clone, Copy)]
struct Named<'a> {
    key: &'a str,
    history: &'a History,
    chunking: Chunking,
}

impl Engine {
    /// Makes a history searchable under `key`, once; `vectors` is the dataset's vector file for
    /// the loaded model and this chunking, if it ships one. Without it, or where it cannot be used,
    /// the engine embeds the history and the vectors are kept for the next visit. `key` has to name
    /// dataset, persona and chunking, since equal keys are taken for equal histories.
    pub async fn open_history(
        &self,
        key: &str,
        history: &History,
        vectors: Option<Vec<u8>>,
        chunking: Chunking,
        progress: &OnEngineProgress,
        abort: &Abort,
    ) -> Result<Opened, EngineError> {
        let worker = self.any_worker(abort).await?;
        if let Some(opened) = self.opened(key) {
            return Ok(opened);
        }
        let named = Named {
            key,
            history,
            chunking,
        };
        let mut refused = None;
        if let Some(file) = vectors {
            let file = Uint8Array::from(file.as_slice());
            match hand_over(&worker, named, &file, false, progress, abort).await {
                Ok(()) => {
                    let opened = Opened::default();
                    return self.note_open(&worker, key, opened, abort).await;
                }
                Err(WorkerError::Failed(why)) => refused = Some(why),
                Err(error) => return Err(error.into()),
            }
        }
        let known = self.open_kept(&worker, named, progress, abort).await?;
        let opened = match known {
            Some(opened) => opened,
            None => self.open_made(&worker, named, progress, abort).await?,
        };
        let opened = Opened { refused, ..opened };
        self.note_open(&worker, key, opened, abort).await
    }

    /// By vectors that an earlier visit made, if they are kept and sound.
    async fn open_kept(
        &self,
        worker: &Rc<WorkerClient>,
        named: Named<'_>,
        progress: &OnEngineProgress,
        abort: &Abort,
    ) -> Result<Option<Opened>, EngineError> {
        let place = self.vectors_key(named.key);
        let Some(file) = self.0.cache.made(&place).await else {
            return Ok(None);
        };
        let too_long = self.0.cache.too_long(&place).await;
        match hand_over(worker, named, &file, false, progress, abort).await {
            Ok(()) => Ok(Some(Opened {
                too_long,
                refused: None,
            })),
            // A damaged copy: it is made again.
            Err(WorkerError::Failed(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// By vectors that are made now.
    async fn open_made(
        &self,
        worker: &Rc<WorkerClient>,
        named: Named<'_>,
        progress: &OnEngineProgress,
        abort: &Abort,
    ) -> Result<Opened, EngineError> {
        let _making = locked(&self.0.making, abort).await?;
        // Somebody else may have made them while this call waited.
        if let Some(opened) = self.opened(named.key) {
            return Ok(opened);
        }
        if let Some(opened) = self.open_kept(worker, named, progress, abort).await? {
            return Ok(opened);
        }
        let place = self.vectors_key(named.key);
        let source = (named.history, named.chunking);
        let made = self.make_and_keep(worker, &place, source, progress, abort);
        let (file, too_long) = made.await?;
        hand_over(worker, named, &file, false, progress, abort).await?;
        Ok(Opened {
            too_long: Some(too_long),
            refused: None,
        })
    }

    /// Makes a history searchable by vectors of another model.
    pub async fn open_foreign(
        &self,
        key: &str,
        history: &History,
        vectors: &VectorFile,
        chunking: Chunking,
        abort: &Abort,
    ) -> Result<(), EngineError> {
        let worker = self.any_worker(abort).await?;
        let named = Named {
            key,
            history,
            chunking,
        };
        let file = Uint8Array::from(vectors.encode().as_slice());
        let quiet: OnEngineProgress = Rc::new(|_| {});
        hand_over(&worker, named, &file, true, &quiet, abort).await?;
        let opened = self.note_open(&worker, key, Opened::default(), abort);
        opened.await.map(drop)
    }

    /// Makes a history searchable by words while the model is still on its way: nobody is waited for
    /// but the worker. `spans` marks its passages.
    pub async fn open_for_words(
        &self,
        key: &str,
        history: &History,
        spans: Vec<ChunkSpan>,
        abort: &Abort,
    ) -> Result<(), EngineError> {
        let worker = loop {
            if let Some(worker) = self.alive() {
                break worker;
            }
            match select(self.0.turn.lock(), pin!(sleep(WAIT_MS))).await {
                Either::Left((_turn, _)) => break self.worker().await?,
                Either::Right(_) if abort.is_aborted() => return Err(EngineError::Cancelled),
                Either::Right(_) => {}
            }
        };
        let request = Request::OpenForWords {
            key: key.to_owned(),
            sessions: history.sessions.clone(),
            spans,
        };
        worker.ask(request, &[], None, abort).await?;
        Ok(())
    }

    /// Frees a history that was opened for words.
    pub async fn close(&self, key: &str) {
        if let Some(worker) = self.alive() {
            let request = Request::CloseHistory {
                key: key.to_owned(),
            };
            // A worker that died has freed it already.
            let _ = worker.ask(request, &[], None, &Abort::new()).await;
        }
    }

    /// Whether a history is open under that key.
    pub fn has_open(&self, key: &str) -> bool {
        self.opened(key).is_some()
    }

    fn opened(&self, key: &str) -> Option<Opened> {
        self.alive()?;
        let loaded = self.0.loaded.borrow();
        let found = loaded.histories.iter().find(|(open, _)| open == key);
        found.map(|(_, opened)| opened.clone())
    }

    /// Remembers that a history is open, and closes the one that was opened longest ago.
    async fn note_open(
        &self,
        worker: &Rc<WorkerClient>,
        key: &str,
        opened: Opened,
        abort: &Abort,
    ) -> Result<Opened, EngineError> {
        if !self.is_current(worker) {
            return Ok(opened);
        }
        let surplus = {
            let histories = &mut self.0.loaded.borrow_mut().histories;
            histories.retain(|(open, _)| open != key);
            // Why vectors were refused is said once.
            let known = Opened {
                refused: None,
                ..opened
            };
            histories.push((key.to_owned(), known));
            (histories.len() > HISTORIES_KEPT).then(|| histories.remove(0))
        };
        if let Some((key, _)) = surplus {
            let request = Request::CloseHistory { key };
            worker.ask(request, &[], None, abort).await?;
        }
        Ok(opened)
    }
}

/// Gives a history with its vectors to the worker.
async fn hand_over(
    worker: &WorkerClient,
    named: Named<'_>,
    file: &Uint8Array,
    foreign: bool,
    progress: &OnEngineProgress,
    abort: &Abort,
) -> Result<(), WorkerError> {
    let request = Request::OpenHistory {
        key: named.key.to_owned(),
        sessions: named.history.sessions.clone(),
        chunking: named.chunking,
        shipped_vectors: true,
        foreign,
    };
    let buffers = [file.buffer()];
    let asked = worker.ask(request, &buffers, steps(progress), abort);
    match asked.await?.0 {
        Answer::HistoryOpen { .. } => Ok(()),
        _ => Err(WorkerError::Confused),
    }
}
