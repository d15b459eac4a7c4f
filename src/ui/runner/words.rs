//! Words in the place of meaning: a run waits for the embedding model, unless the visitor would
//! rather go on without.

use super::live::{Choice, Offer};
use super::retrieve::Searchable;
use super::task::Task;
use crate::bench::visible::History;
use crate::browser::abort::Abort;
use crate::browser::engine::{EngineError, ModelInfo, OnEngineProgress};
use crate::embed::windows::word_windows;
use crate::embed::{ChunkSpan, VectorFile};
use crate::run::record::{BY_WORDS, RetrieverRef};
use crate::words::sentence;
use futures::StreamExt;
use futures::future::{Either, select};
use leptos::prelude::*;
use leptos::task::spawn_local;
use std::pin::pin;
use std::rc::Rc;

impl Task {
    /// The embedding model, or none when the visitor chose words. A failure is offered, not final,
    /// where somebody is there to choose.
    pub(super) async fn model_or_words(
        &self,
        shown: &OnEngineProgress,
    ) -> Result<Option<ModelInfo>, String> {
        let engine = &self.edge.engine;
        let nobody = !self.asks.get() || engine.is_ready();
        let choices = self.choices.take().filter(|_| !nobody);
        let Some(mut choices) = choices else {
            let model = engine.ensure_model(shown, &self.abort).await;
            return model.map(Some).map_err(|error| why(&error));
        };
        loop {
            self.live.offer.set(Some(Offer { failed: None }));
            let loading = pin!(engine.ensure_model(shown, &self.abort));
            let failed = match select(loading, choices.next()).await {
                Either::Left((Ok(model), _)) => {
                    self.live.offer.set(None);
                    return Ok(Some(model));
                }
                Either::Left((Err(error), _)) => error,
                Either::Right((Some(Choice::ByWords), _)) => {
                    self.load_for_later();
                    return Ok(None);
                }
                Either::Right(_) => continue,
            };
            self.live.progress.set(None);
            if self.abort.is_aborted() || failed == EngineError::Cancelled {
                self.live.offer.set(None);
                return Err(why(&failed));
            }
            self.live.offer.set(Some(Offer {
                failed: Some(why(&failed)),
            }));
            match select(choices.next(), pin!(self.abort.aborted())).await {
                Either::Left((Some(Choice::TryAgain), _)) => {}
                Either::Left((Some(Choice::ByWords), _)) => return Ok(None),
                _ => {
                    self.live.offer.set(None);
                    return Err(why(&failed));
                }
            }
        }
    }

    /// The model goes on loading, for the next run.
    fn load_for_later(&self) {
        let engine = self.edge.engine.clone();
        spawn_local(async move {
            let quiet: OnEngineProgress = Rc::new(|_| {});
            // The run that needs it says what is wrong with it.
            let _ = engine.ensure_model(&quiet, &Abort::new()).await;
        });
    }

    /// The history open for words.
    pub(super) async fn prepare_words(
        &self,
        shard_id: &str,
        history: &History,
    ) -> Result<Searchable, String> {
        self.live.offer.set(None);
        self.live.progress.set(None);
        let dataset = &self.work.open.dataset;
        let chunking = self.chunking();
        let key = format!("words/{}", dataset.history_key(shard_id, chunking));
        let shipped = self.shipped_spans(shard_id).await;
        // Without a tokenizer there are neither chunks of tokens nor sentences that fit a model.
        let method = match shipped {
            Some(_) => "bm25",
            None => "bm25 over windows of words",
        };
        let spans = shipped.unwrap_or_else(|| word_windows(&history.sessions, chunking));
        let engine = &self.edge.engine;
        let opened = engine.open_for_words(&key, history, spans, &self.abort);
        opened.await.map_err(|error| why(&error))?;
        Ok(Searchable {
            engine: engine.clone(),
            history: key,
            remote: None,
            retriever: RetrieverRef {
                method: method.to_owned(),
                ..self.retriever_of(&ModelInfo::none(BY_WORDS))
            },
            by_words: true,
        })
    }

    /// The same passages that vectors would be searched for, where the dataset marks them.
    async fn shipped_spans(&self, shard_id: &str) -> Option<Vec<ChunkSpan>> {
        let dataset = &self.work.open.dataset;
        let chunking = self.chunking();
        let sets = dataset.manifest.embeddings.iter();
        let mut sets = sets.filter(|set| chunking.fits(set));
        let set = sets.next()?;
        let shown = self.byte_progress("loading the history's passages");
        let file = dataset.vectors(shard_id, set, &shown, &self.abort);
        let file = file.await.ok()??;
        Some(VectorFile::decode(&file).ok()?.spans)
    }
}

fn why(error: &EngineError) -> String {
    let hint = error.hint().unwrap_or_default();
    let text = format!("{} {hint}", sentence(&error.to_string()));
    text.trim_end().to_owned()
}
