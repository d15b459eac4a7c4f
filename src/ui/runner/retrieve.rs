//! What a run searches in: a history opened by the engine of the chosen model, or by vectors of an
//! embedding endpoint.

use super::task::Task;
use crate::bench::shard::Shard;
use crate::browser::engine::{Engine, EngineError, ModelInfo};
use crate::browser::remote::{Remote, RemoteParts};
use crate::browser::transport::Heard;
use crate::embed::VectorFile;
use crate::run::record::{Reading, RetrieverRef};
use crate::settings::retriever::ModelChoice;
use crate::ui::parts::Problem;
use crate::words::sentence;
use crate::worker::protocol::SearchMethod;
use leptos::prelude::Set;
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
}

impl Task {
    /// Model loaded and history open. A model of the visitor's that fails gives way to the shipped
    /// one, and that is said.
    pub(super) async fn searchable(&self) -> Result<Searchable, String> {
        let (shard_id, read) = self.read_history().await?;
        if self.began_by_words {
            return self.prepare_words(&shard_id, &read.history).await;
        }
        match &self.retriever.model {
            // Words need no vectors, so nobody is asked for any.
            ModelChoice::Endpoint if self.retriever.method != SearchMethod::Lexical => {
                self.by_endpoint(&shard_id, &read).await
            }
            ModelChoice::Kept { id } => {
                let why = match self.edge.engines.kept(id).await {
                    Ok(engine) => match self.by_engine(engine, &shard_id, &read).await {
                        Ok(found) => return Ok(found),
                        Err(EngineError::Cancelled) => return Err("cancelled".to_owned()),
                        Err(error) => {
                            let why = error.to_string();
                            self.edge.models.note_fault(id, why.clone()).await;
                            why
                        }
                    },
                    Err(error) => error.to_string(),
                };
                self.fall_back(&why).await;
                self.by_shipped(&shard_id, &read).await
            }
            _ => self.by_shipped(&shard_id, &read).await,
        }
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
        engine.set_arithmetic(self.retriever.arithmetic);
        let shown = self.engine_progress();
        let Some(model) = self.model_or_words(&shown).await? else {
            return self.prepare_words(shard_id, &read.history).await;
        };
        let opened = self.open_in(engine, model, shard_id, read).await;
        opened.map_err(|error| said(&error, error.hint()))
    }

    async fn by_engine(
        &self,
        engine: Engine,
        shard_id: &str,
        read: &Shard,
    ) -> Result<Searchable, EngineError> {
        engine.set_arithmetic(self.retriever.arithmetic);
        let shown = self.engine_progress();
        let model = engine.ensure_model(&shown, &self.abort).await?;
        self.open_in(engine, model, shard_id, read).await
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
        let vectors = match dataset.set_of(&model, chunking) {
            Some(set) => dataset
                .vectors(shard_id, set, &loaded, abort)
                .await
                .map_err(|error| match abort.is_aborted() {
                    true => EngineError::Cancelled,
                    false => EngineError::Vectors(said(&error, error.hint())),
                })?,
            None => None,
        };
        let key = dataset.history_key(shard_id, chunking);
        let opened = engine
            .open_history(&key, &read.history, vectors, chunking, &shown, abort)
            .await?;
        self.live.progress.set(None);
        Ok(Searchable {
            engine,
            history: key,
            remote: None,
            retriever: RetrieverRef {
                cut_passages: opened.too_long,
                ..self.retriever_of(&model)
            },
            by_words: false,
        })
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
        let engine_said = |error: EngineError| said(&error, error.hint());
        engine.set_arithmetic(self.retriever.arithmetic);
        engine
            .ensure_model(&shown, abort)
            .await
            .map_err(engine_said)?;
        let cut = engine.cut(&read.history, chunking, &shown, abort).await;
        let (spans, texts, _) = cut.map_err(engine_said)?;
        let embedded = remote.passages(&texts, &shown, abort).await;
        let (known, hashes) = embedded.map_err(|error| said(&error, error.hint().as_deref()))?;
        let file = VectorFile::of_texts(spans, &known, &hashes);
        let key = format!(
            "{}@{}",
            self.work.open.dataset.history_key(shard_id, chunking),
            remote.key()
        );
        if !engine.has_open(&key) {
            let opened = engine.open_foreign(&key, &read.history, &file, chunking, abort);
            opened.await.map_err(engine_said)?;
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
                    dim: known.dim(),
                    pooling: "by the provider".to_owned(),
                    normalised: true,
                    query_prefix: chosen.query_prefix.clone(),
                    passage_prefix: chosen.passage_prefix.clone(),
                    max_tokens: None,
                }),
                base_url: Some(target.base_url),
                cut_passages: Some(remote.cut()),
            },
            remote: Some(remote),
            by_words: false,
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
