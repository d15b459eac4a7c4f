//! Any ONNX graph in float32, by tract: the exact reference, and what runs graphs that the fused
//! encoder does not know.

use super::EmbedError;
use super::file::ModelFile;
use super::spec::Pooling;
use crate::encoder::pool;
use std::sync::Arc;
use tract_onnx::pb;
use tract_onnx::prelude::*;

/// Names of the inputs that are fed; a graph has the first and any of the others.
const INPUTS: [&str; 3] = ["input_ids", "attention_mask", "token_type_ids"];

/// An optimised graph.
pub(super) struct General {
    plan: Arc<TypedRunnableModel>,
    /// Which of [`INPUTS`] it has, in its own order.
    inputs: Vec<&'static str>,
}

impl General {
    /// Reads and optimises the graph once for inputs of any length.
    pub fn load(file: &ModelFile) -> Result<Self, EmbedError> {
        load(file).map_err(|e| EmbedError::Model {
            why: format!("{e:#}"),
        })
    }

    /// The vector of one text, and whether the graph itself pooled. `pooling` serves graphs that give
    /// one vector a token.
    pub fn run(
        &self,
        ids: &[u32],
        pooling: Option<Pooling>,
    ) -> Result<(Vec<f32>, bool), EmbedError> {
        let failed = |why: String| EmbedError::Run {
            tokens: ids.len(),
            why,
        };
        let (shape, values) = self.compute(ids).map_err(|e| failed(format!("{e:#}")))?;
        match (shape[..].as_ref(), pooling) {
            ([1, _], _) => Ok((values, true)),
            ([1, _, width], Some(pooling)) => Ok((pool(&values, *width, pooling), false)),
            (shape, _) => Err(failed(format!(
                "its output has the shape {shape:?}: say mean or cls for one vector a token"
            ))),
        }
    }

    fn compute(&self, ids: &[u32]) -> TractResult<(Vec<usize>, Vec<f32>)> {
        let shape = [1, ids.len()];
        let inputs = self.inputs.iter().map(|name| {
            let values: Vec<i64> = match *name {
                "input_ids" => ids.iter().map(|id| i64::from(*id)).collect(),
                "attention_mask" => vec![1; ids.len()],
                _ => vec![0; ids.len()],
            };
            Ok(Tensor::from_shape(&shape, &values)?.into_tvalue())
        });
        let outputs = self.plan.run(inputs.collect::<TractResult<_>>()?)?;
        let values = outputs[0].to_plain_array_view::<f32>()?;
        Ok((
            outputs[0].shape().to_vec(),
            values.iter().copied().collect(),
        ))
    }
}

/// Names that only models which write text have: what they said so far.
const PAST: &str = "past_key_values";

/// The graph with its weights, wherever they lay.
fn proto(file: &ModelFile) -> TractResult<pb::ModelProto> {
    let mut proto = tract_onnx::onnx().proto_model_for_read(&mut file.graph())?;
    for tensor in proto
        .graph
        .iter_mut()
        .flat_map(|graph| &mut graph.initializer)
    {
        if tensor.external_data.is_empty() {
            continue;
        }
        let entry = |key: &str| {
            let entries = tensor.external_data.iter();
            let found = entries.rev().find(|entry| entry.key == key);
            found.map(|entry| entry.value.clone())
        };
        let number = |key: &str| entry(key).map(|text| text.parse::<usize>()).transpose();
        let name = entry("location").unwrap_or_default();
        let Some(data) = file.data(&name) else {
            return Err(TractError::msg(format!(
                "its weights are in the file {name}, which is missing"
            )));
        };
        let start = number("offset")?.unwrap_or(0);
        let end = number("length")?.map_or(data.len(), |length| start.saturating_add(length));
        let Some(bytes) = data.get(start..end) else {
            return Err(TractError::msg(format!(
                "{name} has {} bytes, and the weights '{}' end at {end}: it is cut or of another model",
                data.len(),
                tensor.name
            )));
        };
        tensor.raw_data = bytes.to_vec();
        tensor.external_data.clear();
        tensor.data_location = None;
    }
    Ok(proto)
}

fn load(file: &ModelFile) -> TractResult<General> {
    let onnx = tract_onnx::onnx().with_ignore_value_info(true);
    let mut model = onnx.model_for_proto_model(&proto(file)?)?;
    let names: Vec<String> = model
        .input_outlets()?
        .iter()
        .map(|outlet| model.node(outlet.node).name.clone())
        .collect();
    let known = |name: &String| INPUTS.into_iter().find(|known| known == name);
    let Some(inputs) = names.iter().map(known).collect::<Option<Vec<_>>>() else {
        if names.iter().any(|name| name.contains(PAST)) {
            return Err(TractError::msg(
                "it is a decoder, a model that writes text and gives no vector of a text",
            ));
        }
        return Err(TractError::msg(format!(
            "its inputs are {}, and only {} can be given",
            names.join(", "),
            INPUTS.join(", ")
        )));
    };
    let length = model.symbols.sym("sequence");
    let input = InferenceFact::dt_shape(i64::datum_type(), tvec!(1.to_dim(), length.to_dim()));
    for at in 0..inputs.len() {
        model.set_input_fact(at, input.clone())?;
    }
    match model.find_outlet_label("sentence_embedding") {
        Some(output) => model.select_output_outlets(&[output])?,
        None => {
            let first = model.output_outlets()?[0];
            model.select_output_outlets(&[first])?;
        }
    }
    let plan = model.into_optimized()?.into_runnable()?;
    Ok(General { plan, inputs })
}
