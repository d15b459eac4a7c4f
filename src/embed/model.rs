//! The embedding model: text in, unit vector out. The same code runs natively and in the browser.

use super::EmbedError;
use super::tokens::TextTokenizer;
use std::sync::Arc;
use tract_onnx::prelude::*;

/// Tokenizer and ONNX graph of one embedding model. Pooling and normalising are in the graph.
pub struct Embedder {
    tokenizer: TextTokenizer,
    plan: Arc<TypedRunnableModel>,
    max_tokens: u32,
    dim: u32,
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

impl Embedder {
    /// Reads the ONNX file and its `tokenizer.json`. `max_tokens` is the longest input, special
    /// tokens included.
    pub fn load(onnx: &[u8], tokenizer: &[u8], max_tokens: u32) -> Result<Self, EmbedError> {
        let tokenizer = TextTokenizer::load(tokenizer)?;
        let plan = plan(onnx).map_err(|e| EmbedError::Model {
            why: format!("{e:#}"),
        })?;
        let mut embedder = Self {
            tokenizer,
            plan,
            max_tokens,
            dim: 0,
        };
        // The graph says its dimension only by running; the empty text is the shortest run.
        embedder.dim = embedder.embed("")?.vector.len() as u32;
        Ok(embedder)
    }

    /// Embeds one text, alone: a vector never depends on its neighbours.
    pub fn embed(&self, text: &str) -> Result<Embedding, EmbedError> {
        let encoded = self.tokenizer.encode(text, self.max_tokens)?;
        let tokens = encoded.ids.len();
        let vector = self.run(&encoded.ids).map_err(|e| EmbedError::Run {
            tokens,
            why: format!("{e:#}"),
        })?;
        Ok(Embedding {
            vector,
            tokens: tokens as u32,
            truncated: encoded.truncated,
        })
    }

    /// Components of a vector.
    pub fn dim(&self) -> u32 {
        self.dim
    }

    pub fn tokenizer(&self) -> &TextTokenizer {
        &self.tokenizer
    }

    fn run(&self, ids: &[u32]) -> TractResult<Vec<f32>> {
        let ids: Vec<i64> = ids.iter().map(|id| i64::from(*id)).collect();
        let shape = [1, ids.len()];
        let mask = vec![1i64; ids.len()];
        let inputs = tvec!(
            Tensor::from_shape(&shape, &ids)?.into_tvalue(),
            Tensor::from_shape(&shape, &mask)?.into_tvalue(),
        );
        let outputs = self.plan.run(inputs)?;
        Ok(outputs[0]
            .to_plain_array_view::<f32>()?
            .iter()
            .copied()
            .collect())
    }
}

/// Reads and optimises the graph once for inputs of any length.
fn plan(onnx: &[u8]) -> TractResult<Arc<TypedRunnableModel>> {
    let model = tract_onnx::onnx().model_for_read(&mut &*onnx)?;
    let length = model.symbols.sym("sequence");
    let input = InferenceFact::dt_shape(i64::datum_type(), tvec!(1.to_dim(), length.to_dim()));
    model
        .with_input_names(["input_ids", "attention_mask"])?
        .with_outputs_by_name(["sentence_embedding"])?
        .with_input_fact(0, input.clone())?
        .with_input_fact(1, input)?
        .into_optimized()?
        .into_runnable()
}
