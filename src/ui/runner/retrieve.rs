//! What a run searches in: a history opened by the engine of the chosen model, or by vectors of an
//! embedding endpoint.

use super::task::Task;
use super::words::why;
use crate::bench::shard::Shard;
use crate::browser::collection::CollectionError;
use crate::browser::engine::{Engine, EngineError, ModelInfo};
use crate::browser::remote::{Embedded, Remote, RemoteParts};
use crate::browser::transport::Heard;
use crate::run::record::{Reading, RetrieverRef};
use crate::settings::retriever::ModelChoice;
use crate::ui::parts::Problem;
use crate::words::sentence;
use crate::worker::protocol::SearchMethod;
use leptos::prelude::Set;
use std::mem::take;
use std::rc::Rc;

/// A history that can be searched.
pub struct Searchable {
    pub engine: Engine,
    /// Name of the history in the engine.
    pub history: String,
    /// Where queries get their vectors, if not in the engine.
    pub remote: Option<Rc<Remote>>,
    pub retriever: RetrieverRef,
    /// The visitor went on without a model.
    pub by_words: bool,
    /// No other run searches in it, so it is closed at the end.
    pub is_own: bool,
}

impl Task {
    /// Model loaded and history open.
    pub(super) async fn searchable(&self) -> Result<Searchable, String> {
        let (shard_id, read) = self.read_history().await?;
        if self.began_by_words {
            return self.prepare_words(&shard_id, &read.history).await;
        }
        match &self.retriever.model {
            // Words need no vectors, so nobody is asked for any.
            _ if self.retriever.method == SearchMethod::Lexical => {
                self.by_bm25(&shard_id, &read.history).await
            }
            ModelChoice::Shipped => self.by_shipped(&shard_id, &read).await,
            ModelChoice::Kept { id } => self.by_kept(id, &shard_id, &read).await,
            ModelChoice::Endpoint => self.by_endpoint(&shard_id, &read).await,
        }
    }

    /// A model of the visitor's that is faulty gives way to the shipped one where somebody is there
    /// who reads it. Many runs in a row do not change their retriever on the way.
    async fn by_kept(&self, id: &str, shard_id: &str, read: &Shard) -> Result<Searchable, String> {
        let fault = match self.edge.engines.kept(id).await {
            Ok(engine) => match self.by_engine(engine, shard_id, read).await {
                Ok(Some(found)) => return Ok(found),
                Ok(None) => return self.prepare_words(shard_id, &read.history).await,
                Err(error) if error.is_of_model() => {
                    let fault = error.to_string();
                    self.edge.models.note_fault(id, fault.clone()).await;
                    fault
                }
                Err(error) => return Err(why(&error)),
            },
            Err(error) => error.to_string(),
        };
        if !self.asks.get() {
            return Err(format!(
                "The chosen embedding model failed: {fault}. Choose another one in Settings, or see there what can be done about it; then go on."
            ));
        }
        self.fall_back(&fault).await;
        self.by_shipped(shard_id, read).await
    }

    /// Runs use the shipped model from now on.
    async fn fall_back(&self, why: &str) {
        self.edge.engines.let_go();
        self.lab
            .set(|settings| settings.retriever.model = ModelChoice::Shipped);
        self.lab.shelf.refresh(&self.edge.models).await;
        let text = format!("the chosen embedding model failed: {why}");
        let hint = "This run and those to come use the shipped model. Settings says what can be done about the other one.";
        self.lab.notices.bad(Problem::new(text, Some(hint)));
    }

    async fn by_shipped(&self, shard_id: &str, read: &Shard) -> Result<Searchable, String> {
        let engine = self.edge.engine.clone();
        match self.by_engine(engine, shard_id, read).await {
            Ok(Some(found)) => Ok(found),
            Ok(None) => self.prepare_words(shard_id, &read.history).await,
            Err(error) => Err(why(&error)),
        }
    }

    /// Model loaded and history open; none when the visitor would rather go on by words. A worker
    /// that died on the way is replaced once.
    async fn by_engine(
        &self,
        engine: Engine,
        shard_id: &str,
        read: &Shard,
    ) -> Result<Option<Searchable>, EngineError> {
        engine.set_arithmetic(self.retriever.arithmetic);
        let shown = self.engine_progress();
        let mut again = true;
        loop {
            let Some(model) = self.model_or_words(&engine, &shown).await? else {
                return Ok(None);
            };
            let opening = self.open_in(engine.clone(), model, shard_id, read);
            match self.or_words(opening).await {
                Some(Err(error)) if error.is_of_worker() && take(&mut again) => {}
                Some(opened) => return opened.map(Some),
                None => return Ok(None),
            }
        }
    }

    /// The history, open in the engine of that model.
    async fn open_in(
        &self,
        engine: Engine,
        model: ModelInfo,
        shard_id: &str,
        read: &Shard,
    ) -> Result<Searchable, EngineError> {
        let dataset = &self.work.open.dataset;
        let (shown, chunking, abort) = (self.engine_progress(), self.chunking(), &self.abort);
        let loaded = self.byte_progress("loading the history's vectors");
        let key = dataset.history_key(shard_id, chunking);
        let shipped = match dataset.set_of(&model, chunking) {
            Some(set) if !engine.has_open(&key) => {
                dataset.vectors(shard_id, set, &loaded, abort).await
            }
            _ => Ok(None),
        };
        let vectors = match shipped {
            Ok(vectors) => vectors,
            Err(_) if abort.is_aborted() => return Err(EngineError::Cancelled),
            Err(error) => {
                self.embeds_itself(&error.to_string());
                None
            }
        };
        let opened = engine
            .open_history(&key, &read.history, vectors, chunking, &shown, abort)
            .await?;
        self.live.progress.set(None);
        if let Some(why) = &opened.refused {
            self.embeds_itself(why);
        }
        Ok(Searchable {
            engine,
            history: key,
            remote: None,
            retriever: RetrieverRef {
                cut_passages: opened.too_long,
                ..self.retriever_of(&model)
            },
            by_words: false,
            is_own: false,
        })
    }

    /// Says that the dataset's vectors of a history are of no use.
    fn embeds_itself(&self, why: &str) {
        let text = format!(
            "{} ships vectors that cannot be used: {why}",
            self.work.open.dataset.manifest.name
        );
        let hint =
            "This history is embedded here instead, which takes longer; what is made is kept.";
        self.lab.notices.odd(Problem::new(text, Some(hint)));
    }

    /// The shipped model's tokenizer cuts; the endpoint makes the vectors.
    async fn by_endpoint(&self, shard_id: &str, read: &Shard) -> Result<Searchable, String> {
        let chosen = &self.retriever.endpoint;
        let engine = self.edge.engine.clone();
        let (shown, chunking, abort) = (self.engine_progress(), self.chunking(), &self.abort);
        let live = self.live.clone();
        let remote = Rc::new(Remote::new(RemoteParts {
            transport: self.edge.transport.clone(),
            cache: self.edge.cache.clone(),
            texts: self.edge.texts.clone(),
            store: self.edge.store.clone(),
            endpoint: self.lab.keys.target(&chosen.endpoint),
            model: chosen.endpoint.model.trim().to_owned(),
            dimensions: chosen.dimensions,
            query_prefix: chosen.query_prefix.clone(),
            passage_prefix: chosen.passage_prefix.clone(),
            heard: Rc::new(move |heard| {
                if let Heard::Again {
                    reason,
                    wait_seconds,
                } = heard
                {
                    live.hear(crate::run::RunEvent::Retrying {
                        reason,
                        wait_seconds,
                    });
                }
            }),
        }));
        self.remote.replace(Some(Rc::clone(&remote)));
        engine.set_arithmetic(self.retriever.arithmetic);
        let loaded = self.model_or_words(&engine, &shown).await;
        if loaded.map_err(|error| why(&error))?.is_none() {
            return self.prepare_words(shard_id, &read.history).await;
        }
        let key = self.work.open.dataset.history_key(shard_id, chunking);
        let source = (&read.history, chunking);
        let making = remote.history(&engine, &key, source, true, &shown, abort);
        let Some(made) = self.or_words(making).await else {
            return self.prepare_words(shard_id, &read.history).await;
        };
        let made = made.and_then(|made| made.ok_or(CollectionError::NotMade));
        let Embedded { file, cut } = made.map_err(|error| said(&error, error.hint()))?;
        let key = format!("{key}@{}", remote.identity().await);
        if !engine.has_open(&key) {
            let opened = engine.open_foreign(&key, &read.history, &file, chunking, abort);
            opened.await.map_err(|error| said(&error, error.hint()))?;
        }
        self.live.progress.set(None);
        let target = self.lab.keys.target(&chosen.endpoint);
        Ok(Searchable {
            engine,
            history: key,
            retriever: RetrieverRef {
                model: chosen.endpoint.model.trim().to_owned(),
                model_sha256: String::new(),
                method: self.retriever.name(),
                reading: Some(Reading {
                    dim: file.dim,
                    pooling: "by the provider".to_owned(),
                    normalised: true,
                    query_prefix: chosen.query_prefix.clone(),
                    passage_prefix: chosen.passage_prefix.clone(),
                    max_tokens: None,
                }),
                base_url: Some(target.base_url),
                cut_passages: cut,
            },
            remote: Some(remote),
            by_words: false,
            is_own: false,
        })
    }

    /// The retriever with a model, as results name it.
    pub(super) fn retriever_of(&self, model: &ModelInfo) -> RetrieverRef {
        RetrieverRef {
            model: model.name.clone(),
            model_sha256: model.sha256.clone(),
            method: self.retriever.name_by(model.spec.arithmetic),
            reading: (model.dim > 0).then(|| Reading::of(&model.spec, model.dim)),
            base_url: None,
            cut_passages: None,
        }
    }
}

/// What happened, and what to do next.
fn said(error: &dyn std::error::Error, hint: Option<&str>) -> String {
    let text = sentence(&error.to_string());
    format!("{text} {}", hint.unwrap_or_default())
        .trim_end()
        .to_owned()
}
