//! The embedding model: text in, unit vector out. The same code runs natively and in the browser.

use super::EmbedError;
use super::file::ModelFile;
use super::general::General;
use super::spec::{Arithmetic, ModelSpec, Pooling};
use super::tokens::TextTokenizer;
use crate::encoder::{Encoder, Run, outline};

/// Tokenizer and encoder of one embedding model.
pub struct Embedder {
    tokenizer: TextTokenizer,
    engine: Engine,
    spec: ModelSpec,
    /// What of that the graph decides by itself.
    graph: Graph,
    dim: u32,
    /// Why a graph runs on the general engine although int8 was asked for.
    fallback: Option<String>,
}

/// What a graph does, whatever the card says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Graph {
    pools: bool,
    normalises: bool,
}

enum Engine {
    Fused(Box<Encoder>, Pooling),
    General(General),
}

/// A unit vector and what it cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedding {
    pub vector: Vec<f32>,
    /// Tokens the model read, special tokens included.
    pub tokens: u32,
    /// Whether text was cut to fit the model.
    pub truncated: bool,
}

/// Texts on their way to vectors, piece by piece.
pub struct Batch {
    ids: Vec<Vec<u32>>,
    truncated: Vec<bool>,
    state: State,
}

enum State {
    Fused(Box<Run>),
    /// Vectors of the first texts.
    General(Vec<Vec<f32>>),
}

impl Embedder {
    /// Reads the model's files and its `tokenizer.json`.
    pub fn load(
        file: impl Into<ModelFile>,
        tokenizer: &[u8],
        spec: ModelSpec,
    ) -> Result<Self, EmbedError> {
        let file = file.into();
        let tokenizer = TextTokenizer::load(tokenizer)?;
        check(&file, &tokenizer)?;
        let (engine, fallback) = engine(file, &spec)?;
        let mut embedder = Self {
            tokenizer,
            engine,
            spec,
            graph: Graph::default(),
            dim: 0,
            fallback,
        };
        (embedder.dim, embedder.graph) = embedder.look()?;
        Ok(embedder)
    }

    /// Components of a vector, and what the graph does.
    fn look(&self) -> Result<(u32, Graph), EmbedError> {
        match &self.engine {
            Engine::Fused(encoder, _) => Ok((
                encoder.dim() as u32,
                Graph {
                    pools: encoder.pooling().is_some(),
                    normalises: encoder.normalises(),
                },
            )),
            // The graph says it only by running; the empty text is the shortest run.
            Engine::General(general) => {
                let ids = self.tokenizer.encode("", self.max_tokens())?.ids;
                let (vector, pools) = general.run(&ids, self.spec.pooling)?;
                let squares = vector.iter().map(|x| x * x).sum::<f32>();
                let graph = Graph {
                    pools,
                    normalises: (squares - 1.0).abs() < 1e-3,
                };
                Ok((vector.len() as u32, graph))
            }
        }
    }

    /// Embeds a query, with what the model wants before it.
    pub fn embed_query(&self, text: &str) -> Result<Embedding, EmbedError> {
        self.embed(&format!("{}{text}", self.spec.query_prefix))
    }

    /// Embeds a passage, with what the model wants before it.
    pub fn embed_passage(&self, text: &str) -> Result<Embedding, EmbedError> {
        self.embed(&format!("{}{text}", self.spec.passage_prefix))
    }

    /// Embeds one text as it is, whole.
    pub fn embed(&self, text: &str) -> Result<Embedding, EmbedError> {
        let mut embeddings = self.embed_all(&[text])?;
        Ok(embeddings.pop().expect("one text gives one vector"))
    }

    /// Whether a passage, with what is put before it, is longer than the model reads.
    pub fn cuts(&self, passage: &str) -> Result<bool, EmbedError> {
        let text = format!("{}{passage}", self.spec.passage_prefix);
        // A token has at least one byte.
        if text.len() < self.max_tokens() as usize / 2 {
            return Ok(false);
        }
        Ok(self.tokenizer.encode(&text, self.max_tokens())?.truncated)
    }

    /// Embeds texts together; no vector depends on its neighbours.
    pub fn embed_all(&self, texts: &[&str]) -> Result<Vec<Embedding>, EmbedError> {
        let mut batch = self.start(texts)?;
        while !self.advance(&mut batch)? {}
        Ok(self.finish(batch))
    }

    /// Begins to embed texts. Call [`Embedder::advance`] until it is done, then
    /// [`Embedder::finish`]; between two calls there is room for something more urgent.
    pub fn start(&self, texts: &[&str]) -> Result<Batch, EmbedError> {
        let (mut ids, mut truncated) = (Vec::new(), Vec::new());
        for text in texts {
            let encoded = self.tokenizer.encode(text, self.max_tokens())?;
            ids.push(encoded.ids);
            truncated.push(encoded.truncated);
        }
        let state = match &self.engine {
            Engine::Fused(encoder, _) => {
                let ids: Vec<&[u32]> = ids.iter().map(Vec::as_slice).collect();
                let tokens = ids.iter().map(|ids| ids.len()).sum();
                let run = encoder.start(&ids);
                State::Fused(Box::new(
                    run.map_err(|why| EmbedError::Run { tokens, why: why.0 })?,
                ))
            }
            Engine::General(_) => State::General(Vec::new()),
        };
        Ok(Batch {
            ids,
            truncated,
            state,
        })
    }

    /// Does a piece: half a layer or a part of it, or one text on the general engine. `true` when all is done.
    pub fn advance(&self, batch: &mut Batch) -> Result<bool, EmbedError> {
        match (&self.engine, &mut batch.state) {
            (Engine::Fused(encoder, _), State::Fused(run)) => Ok(encoder.advance(run)),
            (Engine::General(general), State::General(vectors)) => {
                if let Some(ids) = batch.ids.get(vectors.len()) {
                    vectors.push(general.run(ids, self.spec.pooling)?.0);
                }
                Ok(vectors.len() == batch.ids.len())
            }
            _ => unreachable!("a batch is advanced by the embedder that started it"),
        }
    }

    /// The vectors of a batch that is done, in the order of its texts.
    pub fn finish(&self, batch: Batch) -> Vec<Embedding> {
        let vectors = match (&self.engine, batch.state) {
            (Engine::Fused(encoder, pooling), State::Fused(run)) => encoder.finish(*run, *pooling),
            (Engine::General(_), State::General(vectors)) => vectors,
            _ => unreachable!("a batch is finished by the embedder that started it"),
        };
        let graph_does = self.graph.normalises;
        let parts = vectors.into_iter().zip(batch.ids).zip(batch.truncated);
        parts
            .map(|((vector, ids), truncated)| Embedding {
                vector: match self.spec.normalise || graph_does {
                    true => unit(vector),
                    false => vector,
                },
                tokens: ids.len() as u32,
                truncated,
            })
            .collect()
    }

    /// Components of a vector.
    pub fn dim(&self) -> u32 {
        self.dim
    }

    pub fn tokenizer(&self) -> &TextTokenizer {
        &self.tokenizer
    }

    /// What the model's card says.
    pub fn spec(&self) -> &ModelSpec {
        &self.spec
    }

    /// How texts are really read: as the card says, but for what the graph decides by itself. A model
    /// loaded to be read so gives the same vectors.
    pub fn reading(&self) -> ModelSpec {
        ModelSpec {
            max_tokens: self.max_tokens(),
            pooling: self.spec.pooling.filter(|_| !self.graph.pools),
            normalise: self.spec.normalise || self.graph.normalises,
            arithmetic: self.arithmetic(),
            ..self.spec.clone()
        }
    }

    /// What this embedder computes with.
    pub fn arithmetic(&self) -> Arithmetic {
        match self.engine {
            Engine::Fused(..) => Arithmetic::Int8,
            Engine::General(_) => Arithmetic::Float32,
        }
    }

    /// Why it is not int8 although that was asked for.
    pub fn fallback(&self) -> Option<&str> {
        self.fallback.as_deref()
    }

    fn max_tokens(&self) -> u32 {
        match &self.engine {
            Engine::Fused(encoder, _) => self.spec.max_tokens.min(encoder.max_tokens() as u32),
            Engine::General(_) => self.spec.max_tokens,
        }
    }
}

/// Whether the graph can be an embedding model and the tokenizer its own, before anything is loaded.
fn check(file: &ModelFile, tokenizer: &TextTokenizer) -> Result<(), EmbedError> {
    let refuse = |why: String| Err(EmbedError::Model { why });
    let outline = match outline(file) {
        Ok(outline) => outline,
        Err(why) => return refuse(format!("it is no ONNX file, or a damaged one: {}", why.0)),
    };
    if let Some(name) = outline.missing {
        return refuse(format!(
            "its weights are in the file {name}, which is missing: it has to lie beside the ONNX file"
        ));
    }
    if outline
        .inputs
        .iter()
        .any(|name| name.starts_with("past_key_value"))
    {
        return refuse(
            "it is a decoder, a model that writes text and gives no vector of a text".to_owned(),
        );
    }
    let has = |names: &[String], part: &str| names.iter().any(|name| name.contains(part));
    let gives_vectors = ["embedding", "hidden", "pooler"];
    if has(&outline.outputs, "logits")
        && !gives_vectors.iter().any(|part| has(&outline.outputs, part))
    {
        return refuse(
            "it gives scores (logits) and no vectors: it is made to sort, to rank or to write"
                .to_owned(),
        );
    }
    if let Some(known) = outline.vocabulary
        && let Some(largest) = tokenizer.id_beyond(known)
    {
        return refuse(format!(
            "its vocabulary has {known} tokens and tokenizer.json gives numbers up to {largest}: they do not belong together"
        ));
    }
    Ok(())
}

/// The encoder of this crate if it may and can, else the general engine and the reason.
fn engine(file: ModelFile, spec: &ModelSpec) -> Result<(Engine, Option<String>), EmbedError> {
    if spec.arithmetic == Arithmetic::Float32 {
        return Ok((Engine::General(General::load(&file)?), None));
    }
    let (why, file) = match Encoder::read(file) {
        Ok(encoder) => match encoder.pooling().or(spec.pooling) {
            Some(pooling) => return Ok((Engine::Fused(Box::new(encoder), pooling), None)),
            None => {
                return Err(EmbedError::Model {
                    why: "its graph gives one vector a token, and nothing says how to make one of them: say mean or cls".to_owned(),
                });
            }
        },
        Err((why, file)) => (why.0, file),
    };
    match General::load(&file) {
        Ok(general) => Ok((Engine::General(general), Some(why))),
        Err(EmbedError::General { .. }) => Err(EmbedError::General { why }),
        Err(error) => Err(error),
    }
}

/// Of length 1, unless it is all zeros.
fn unit(mut vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|x| *x /= length);
    }
    vector
}
