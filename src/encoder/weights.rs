//! Weights of linear layers as bytes: as stored where they are, else made of what is stored.

use super::gemm::{Bytes, Linear, scale_of};
use super::onnx::{INT8, Node, Tensor, UINT8};
use super::recognise::Search;

impl Search<'_> {
    /// A product of integers as dynamic quantisation writes it: activations as bytes with a scale
    /// found at run time, weights as bytes with theirs. Here activations keep more bits than that.
    pub(super) fn dynamic<'s>(&'s self, product: &'s str) -> Option<(&'s str, Linear)> {
        let (a, b) = self.pair(product, "Mul")?;
        let (sums, factors) = match (self.graph.made_by(a, "Cast"), self.graph.made_by(b, "Cast")) {
            (Some(cast), _) => (cast.inputs[0], b),
            (None, Some(cast)) => (cast.inputs[0], a),
            _ => return None,
        };
        let sums = self.graph.made_by(sums, "MatMulInteger")?;
        let bytes = self
            .graph
            .made_by(sums.inputs[0], "DynamicQuantizeLinear")?;
        let (a, b) = self.pair(factors, "Mul")?;
        let scales = self.graph.constant(a).or_else(|| self.graph.constant(b))?;
        let scales = scales.floats(self.file)?;
        let weight = self.graph.constant(sums.inputs[1])?;
        let [inputs, outputs] = weight.dims[..] else {
            return None;
        };
        let scales = match scales.len() {
            1 => vec![scales[0]; outputs],
            n if n == outputs => scales,
            _ => return None,
        };
        let zeros = match sums.inputs.get(3).filter(|name| !name.is_empty()) {
            Some(name) => self.graph.constant(name)?.ints(self.file)?,
            None => vec![0],
        };
        if !matches!(zeros.len(), 1) && zeros.len() != outputs {
            return None;
        }
        let range = weight.bytes()?;
        let plain = weight.kind == INT8 && zeros.iter().all(|zero| *zero == 0);
        let (weights, scales) = match plain {
            true => (Bytes::File(range), scales),
            false => {
                let unsigned = weight.kind == UINT8;
                let stored = &self.file[range];
                let (bytes, scales) = signed(stored, unsigned, &zeros, scales);
                (Bytes::Own(bytes), scales)
            }
        };
        let linear = Linear {
            inputs,
            outputs,
            weights,
            scales,
            bias: Vec::new(),
        };
        Some((bytes.inputs[0], linear))
    }

    /// A weight as bytes: as stored, or made of floats.
    pub(super) fn weight(&self, name: &str) -> Option<Linear> {
        let (tensor, bytes, scales) = match self.graph.made_by(name, "DequantizeLinear") {
            Some(node) => {
                let tensor = self.graph.constant(node.inputs[0])?;
                let columns = *tensor.dims.get(1)?;
                let bytes = Bytes::File(tensor.bytes().filter(|_| tensor.kind == INT8)?);
                (tensor, bytes, self.column_scales(node, columns)?)
            }
            None => {
                let tensor = self.graph.constant(name)?;
                let (bytes, scales) = quantise(tensor, &tensor.floats(self.file)?)?;
                (tensor, Bytes::Own(bytes), scales)
            }
        };
        let [inputs, outputs] = tensor.dims[..] else {
            return None;
        };
        Some(Linear {
            inputs,
            outputs,
            weights: bytes,
            scales,
            bias: Vec::new(),
        })
    }

    /// One scale for each column, when the zero is 0.
    fn column_scales(&self, node: &Node, columns: usize) -> Option<Vec<f32>> {
        let scales = self.graph.constant(node.inputs[1])?.floats(self.file)?;
        if let Some(zero) = node.inputs.get(2).filter(|name| !name.is_empty()) {
            let zeros = self.graph.constant(zero)?.ints(self.file)?;
            zeros.iter().all(|zero| *zero == 0).then_some(())?;
        }
        match scales.len() {
            1 => Some(vec![scales[0]; columns]),
            n if n == columns && matches!(node.int("axis"), None | Some(1 | -1)) => Some(scales),
            _ => None,
        }
    }
}

/// Bytes whose zero is not 0 as bytes whose zero is, with one scale a column. What does not fit is
/// made a little coarser.
fn signed(
    stored: &[u8],
    unsigned: bool,
    zeros: &[i64],
    mut scales: Vec<f32>,
) -> (Vec<u8>, Vec<f32>) {
    let outputs = scales.len();
    let number = |at: usize| {
        let byte = stored[at];
        let number = if unsigned {
            i64::from(byte)
        } else {
            i64::from(byte as i8)
        };
        (number - zeros[at % outputs % zeros.len()]) as f32
    };
    let mut most = vec![0f32; outputs];
    for at in 0..stored.len() {
        let column = &mut most[at % outputs];
        *column = column.max(number(at).abs());
    }
    let factors: Vec<f32> = most
        .iter()
        .map(|most| if *most > 127.0 { 127.0 / most } else { 1.0 })
        .collect();
    for (scale, factor) in scales.iter_mut().zip(&factors) {
        *scale /= factor;
    }
    let byte = |at: usize| (number(at) * factors[at % outputs]).round() as i8 as u8;
    ((0..stored.len()).map(byte).collect(), scales)
}

/// Float weights as bytes with one scale a column.
fn quantise(tensor: &Tensor, values: &[f32]) -> Option<(Vec<u8>, Vec<f32>)> {
    let [inputs, outputs] = tensor.dims[..] else {
        return None;
    };
    let mut bytes = vec![0u8; inputs * outputs];
    let mut scales = vec![0.0; outputs];
    let mut column = vec![0.0; inputs.next_multiple_of(4)];
    for at in 0..outputs {
        for (row, value) in column[..inputs].iter_mut().enumerate() {
            *value = values[row * outputs + at];
        }
        let (factor, scale) = scale_of(&column, 127.0);
        scales[at] = scale;
        for (row, value) in column[..inputs].iter().enumerate() {
            bytes[row * outputs + at] = (value * factor).round() as i8 as u8;
        }
    }
    Some((bytes, scales))
}
