//! Words in the place of meaning: a run waits for the embedding model, unless the visitor would
//! rather go on without.

use super::live::{Choice, Offer};
use super::retrieve::Searchable;
use super::task::Task;
use crate::bench::visible::History;
use crate::browser::abort::Abort;
use crate::browser::clock::sleep;
use crate::browser::engine::{Engine, EngineError, ModelInfo, OnEngineProgress};
use crate::embed::windows::word_windows;
use crate::embed::{ChunkSpan, VectorFile};
use crate::run::record::{BY_WORDS, ModelRef, RetrieverRef};
use crate::words::sentence;
use futures::StreamExt;
use futures::channel::mpsc::UnboundedReceiver;
use futures::future::{Either, select};
use leptos::prelude::*;
use leptos::task::spawn_local;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;

/// Work of a moment is not worth an offer.
const MOMENT_MS: u32 = 400;

impl Task {
    /// The embedding model of an engine, or none when the visitor chose words. A failure is offered,
    /// not final, where somebody is there to choose; one of a model of the visitor's own is given
    /// back, since there is another model.
    pub(super) async fn model_or_words(
        &self,
        engine: &Engine,
        shown: &OnEngineProgress,
    ) -> Result<Option<ModelInfo>, EngineError> {
        let nobody = !self.asks.get() || engine.is_ready();
        let choices = match nobody {
            true => None,
            false => self.choices.take(),
        };
        let Some(mut choices) = choices else {
            return engine.ensure_model(shown, &self.abort).await.map(Some);
        };
        let found = self.wait_or_words(engine, &mut choices, shown).await;
        self.choices.replace(Some(choices));
        self.live.offer.set(None);
        found
    }

    async fn wait_or_words(
        &self,
        engine: &Engine,
        choices: &mut UnboundedReceiver<Choice>,
        shown: &OnEngineProgress,
    ) -> Result<Option<ModelInfo>, EngineError> {
        loop {
            self.live.offer.set(Some(Offer { failed: None }));
            let loading = pin!(engine.ensure_model(shown, &self.abort));
            let failed = match select(loading, choices.next()).await {
                Either::Left((Ok(model), _)) => return Ok(Some(model)),
                Either::Left((Err(error), _)) => error,
                Either::Right((Some(Choice::ByWords), _)) => {
                    self.load_for_later(engine);
                    return Ok(None);
                }
                Either::Right(_) => continue,
            };
            self.live.progress.set(None);
            let cancelled = self.abort.is_aborted() || failed == EngineError::Cancelled;
            if cancelled || (engine.is_own() && failed.is_of_model()) {
                return Err(failed);
            }
            self.live.offer.set(Some(Offer {
                failed: Some(why(&failed)),
            }));
            match select(choices.next(), pin!(self.abort.aborted())).await {
                Either::Left((Some(Choice::TryAgain), _)) => {}
                Either::Left((Some(Choice::ByWords), _)) => return Ok(None),
                _ => return Err(failed),
            }
        }
    }

    /// Does what a run waits for, for example the embedding of its history. None when the visitor
    /// would rather go on by words; the work is dropped then.
    pub(super) async fn or_words<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let choices = match self.asks.get() {
            true => self.choices.take(),
            false => None,
        };
        let mut work = pin!(work);
        let Some(mut choices) = choices else {
            return Some(work.await);
        };
        let early = match select(work.as_mut(), pin!(sleep(MOMENT_MS))).await {
            Either::Left((done, _)) => Some(done),
            Either::Right(_) => None,
        };
        let done = match early {
            Some(done) => Some(done),
            None => {
                self.live.offer.set(Some(Offer { failed: None }));
                loop {
                    let choice = match select(work.as_mut(), choices.next()).await {
                        Either::Left((done, _)) => break Some(done),
                        Either::Right((choice, _)) => choice,
                    };
                    match choice {
                        Some(Choice::ByWords) => break None,
                        Some(Choice::TryAgain) => {}
                        None => break Some(work.await),
                    }
                }
            }
        };
        self.choices.replace(Some(choices));
        self.live.offer.set(None);
        done
    }

    /// The model goes on loading, for the next run.
    fn load_for_later(&self, engine: &Engine) {
        let engine = engine.clone();
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
        let shipped = self.shipped_spans(shard_id).await;
        // Without a tokenizer there are neither chunks of tokens nor sentences that fit a model.
        let method = match shipped {
            Some(_) => "bm25",
            None => "bm25 over windows of words",
        };
        let spans = shipped.unwrap_or_else(|| word_windows(&history.sessions, self.chunking()));
        let retriever = RetrieverRef {
            method: method.to_owned(),
            ..self.retriever_of(&ModelInfo::none(BY_WORDS))
        };
        let found = self.open_words(shard_id, history, spans, retriever).await?;
        Ok(Searchable {
            by_words: true,
            ..found
        })
    }

    /// The history open for words because they were chosen in Settings: whichever embedding model is
    /// chosen as well, it embeds nothing. Texts that are no passages are compared by the shipped one.
    pub(super) async fn by_bm25(
        &self,
        shard_id: &str,
        history: &History,
    ) -> Result<Searchable, String> {
        let engine = &self.edge.engine;
        engine.set_arithmetic(self.retriever.arithmetic);
        let said = |error: EngineError| why(&error);
        let shipped = self.shipped_spans(shard_id).await;
        // The embedded baseline compares other texts by meaning.
        let needs_model = shipped.is_none() || self.plan.agent == ModelRef::Embedded;
        let shown = self.engine_progress();
        let model = match needs_model {
            true => self.model_or_words(engine, &shown).await.map_err(said)?,
            false => Some(engine.info(&self.abort).await.map_err(said)?),
        };
        let Some(model) = model else {
            return self.prepare_words(shard_id, history).await;
        };
        let spans = match shipped {
            Some(spans) => spans,
            None => {
                let cut = engine.cut(history, self.chunking(), &shown, &self.abort);
                cut.await.map_err(said)?.0
            }
        };
        self.live.progress.set(None);
        let retriever = self.retriever_of(&model);
        self.open_words(shard_id, history, spans, retriever).await
    }

    /// Under a name of this run's: another run on the same history closes its own.
    async fn open_words(
        &self,
        shard_id: &str,
        history: &History,
        spans: Vec<ChunkSpan>,
        retriever: RetrieverRef,
    ) -> Result<Searchable, String> {
        let dataset = &self.work.open.dataset;
        let name = dataset.history_key(shard_id, self.chunking());
        let key = format!("words/{}/{name}", self.plan.id);
        let engine = &self.edge.engine;
        let opened = engine.open_for_words(&key, history, spans, &self.abort);
        opened.await.map_err(|error| why(&error))?;
        Ok(Searchable {
            engine: engine.clone(),
            history: key,
            remote: None,
            retriever,
            by_words: false,
            is_own: true,
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

pub(super) fn why(error: &EngineError) -> String {
    let hint = error.hint().unwrap_or_default();
    let text = format!("{} {hint}", sentence(&error.to_string()));
    text.trim_end().to_owned()
}
