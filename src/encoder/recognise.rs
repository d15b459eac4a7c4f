//! Finds an encoder of the BERT family in a graph, by what depends on what and never by names:
//! exporters name things differently, and agree on the operators.
//!
//! The search goes from the output backwards. Additive masks are left out: texts are computed one
//! by one without padding, where a mask adds nothing.

use super::gemm::{Linear, PANEL};
use super::onnx::{FLOAT, Graph, INT8, Node, UINT8, Unfit, unfit};
use super::tables::{Embeddings, Kind, RelativeBias, Table};
use super::{Layer, Norm, Parts};
use crate::embed::ModelFile;
use crate::embed::Pooling;

type Found<T> = Result<T, Unfit>;

/// A graph with its file.
pub(super) struct Search<'a> {
    pub(super) file: &'a [u8],
    pub(super) graph: Graph<'a>,
}

/// The encoder in a model file.
pub(super) fn parts(file: &ModelFile) -> Found<Parts> {
    let graph = super::read(file)?;
    if let Some(name) = graph.missing_data() {
        return unfit(format!(
            "its weights are in the file {name}, which is missing"
        ));
    }
    let file = file.bytes();
    Search { file, graph }.parts()
}

impl Search<'_> {
    fn parts(&self) -> Found<Parts> {
        let outputs = &self.graph.outputs;
        let named = outputs.iter().find(|name| **name == "sentence_embedding");
        let Some(output) = named.or(outputs.first()) else {
            return unfit("the graph has no output");
        };
        let pooled = self.before_length(output);
        let normalises = self.graph.origin(pooled) != self.graph.origin(output);
        let (mut last, pooling) = self.pooled(pooled);
        let (mut layers, mut biases) = (Vec::new(), Vec::new());
        let (norm, sum) = loop {
            let Some((norm, sum)) = self.norm(last) else {
                return unfit("a layer does not end in a layer normalisation");
            };
            match self.layer(norm, sum)? {
                Step::Layer(layer, bias, before) => {
                    layers.push(*layer);
                    biases.push(bias);
                    last = before;
                }
                Step::Embeddings(norm) => break (norm, sum),
            }
        };
        layers.reverse();
        let hidden = norm.gain.len();
        let fits = |layer: &Layer| {
            hidden == layer.query.inputs
                && hidden == layer.down.outputs
                && hidden % layer.head_width == 0
        };
        if layers.is_empty() || !layers.iter().all(fits) {
            return unfit("the layers do not fit together");
        }
        Ok(Parts {
            hidden,
            embeddings: self.embeddings(sum, hidden)?,
            norm,
            bias: self.relative(biases, hidden / layers[0].head_width)?,
            layers,
            pooling,
            normalises,
        })
    }

    /// What lies before a division by the Euclidean length, if there is one: vectors are made
    /// unit vectors anyway.
    fn before_length<'s>(&'s self, name: &'s str) -> &'s str {
        if let Some(node) = self.graph.made_by(name, "LpNormalization") {
            return node.inputs[0];
        }
        let root = |node: &Node| matches!(node.op, "Sqrt" | "ReduceL2");
        match self.pair(name, "Div") {
            Some((top, length))
                if self.graph.depends_on(length, &root) && self.graph.reaches(length, top) =>
            {
                top
            }
            _ => name,
        }
    }

    /// What lies before the pooling, and which one it is.
    fn pooled<'s>(&'s self, name: &'s str) -> (&'s str, Option<Pooling>) {
        if let Some((top, _)) = self.pair(name, "Div")
            && let Some(sum) = self.graph.made_by(top, "ReduceSum")
            && let Some((a, b)) = self.pair(sum.inputs[0], "Mul")
        {
            let hidden = if self.norm(a).is_some() { a } else { b };
            return (hidden, Some(Pooling::Mean));
        }
        if let Some(node) = self.graph.made_by(name, "Gather")
            && node.int("axis") == Some(1)
            && self.integers(node.inputs[1]).is_some_and(|at| at == [0])
        {
            return (node.inputs[0], Some(Pooling::Cls));
        }
        (name, None)
    }

    /// The layer that ends in `norm` of `sum`, or that these are the embeddings'.
    fn layer<'s>(&'s self, norm: Norm, sum: &'s str) -> Found<Step<'s>> {
        let Some((down, inner, middle)) = self.residual(sum) else {
            return Ok(Step::Embeddings(norm));
        };
        let Some((up, before_up)) = self.gelu(inner).and_then(|x| self.linear(x)) else {
            return unfit("a feed-forward layer is not linear, GELU, linear");
        };
        if !self.same(before_up, middle) {
            return unfit("a feed-forward layer does not add its own input");
        }
        let attention = self.norm(middle);
        let Some((attention_norm, sum)) = attention else {
            return unfit("an attention does not end in a layer normalisation");
        };
        let Some((output, context, before)) = self.residual(sum) else {
            return unfit("an attention does not add its own input");
        };
        let heads = self.attention(context, before)?;
        let layer = Layer {
            query: heads.query,
            key: heads.key,
            value: heads.value,
            output,
            head_width: heads.width,
            scale: heads.scale,
            attention_norm,
            up,
            down,
            norm,
        };
        Ok(Step::Layer(Box::new(layer), heads.bias, before))
    }

    /// `linear(x) + residual`: the linear, x, and the residual.
    fn residual<'s>(&'s self, name: &'s str) -> Option<(Linear, &'s str, &'s str)> {
        let (a, b) = self.pair(name, "Add")?;
        if let Some((linear, input)) = self.linear(a) {
            return Some((linear, input, b));
        }
        let (linear, input) = self.linear(b)?;
        Some((linear, input, a))
    }

    fn attention<'s>(&'s self, context: &'s str, before: &str) -> Found<Heads<'s>> {
        let strange = |what: &str| Unfit(format!("an attention has no {what} that is known"));
        let joined = self.graph.made_by(context, "Reshape");
        let joined = joined.and_then(|node| self.graph.made_by(node.inputs[0], "Transpose"));
        let (shares, values) = joined
            .and_then(|node| self.pair(node.inputs[0], "MatMul"))
            .ok_or_else(|| strange("weighted sum"))?;
        let softmax = self.graph.made_by(shares, "Softmax");
        let softmax = softmax.ok_or_else(|| strange("softmax"))?;
        let mut terms = Vec::new();
        self.terms(softmax.inputs[0], &mut terms);
        let (mut scores, mut bias) = (None, None);
        for term in terms {
            if let Some(found) = self.scores(term) {
                scores = Some(found);
            } else if self.graph.reaches(term, "attention_mask")
                && !self
                    .graph
                    .depends_on(term, &|node| node.op.starts_with("MatMul"))
            {
                continue; // nothing is masked
            } else if bias.replace(term).is_some() {
                return Err(strange("sum of scores"));
            }
        }
        let (queries, keys, scale) = scores.ok_or_else(|| strange("scores"))?;
        let part = |name, what| self.split(name, before).ok_or_else(|| strange(what));
        let (query, width) = part(queries, "queries")?;
        let (key, key_width) = part(keys, "keys")?;
        let (value, value_width) = part(values, "values")?;
        if (key_width, value_width) != (width, width) || width % PANEL != 0 {
            return Err(strange("width of its heads"));
        }
        Ok(Heads {
            query,
            key,
            value,
            width,
            scale,
            bias,
        })
    }

    /// The terms of a sum.
    fn terms<'s>(&'s self, name: &'s str, out: &mut Vec<&'s str>) {
        match self.pair(name, "Add") {
            Some((a, b)) => {
                self.terms(a, out);
                self.terms(b, out);
            }
            None => out.push(name),
        }
    }

    /// Queries times keys, times a factor.
    fn scores<'s>(&'s self, name: &'s str) -> Option<(&'s str, &'s str, f32)> {
        let (product, outer) = self.factor(name);
        let (queries, keys) = self.pair(product, "MatMul")?;
        let (queries, left) = self.factor(queries);
        let (keys, right) = self.factor(keys);
        Some((queries, keys, outer * left * right))
    }

    /// `name` without the constant it is multiplied with or divided by.
    fn factor<'s>(&'s self, name: &'s str) -> (&'s str, f32) {
        if let Some((a, b)) = self.pair(name, "Mul") {
            if let Some(c) = self.scalar(b) {
                return (a, c);
            }
            if let Some(c) = self.scalar(a) {
                return (b, c);
            }
        }
        if let Some((a, b)) = self.pair(name, "Div")
            && let Some(c) = self.scalar(b)
        {
            return (a, 1.0 / c);
        }
        (name, 1.0)
    }

    /// A linear layer of `before`, cut into heads: the layer and the width of a head.
    fn split(&self, name: &str, before: &str) -> Option<(Linear, usize)> {
        let mut name = name;
        while let Some(node) = self.graph.made_by(name, "Transpose") {
            name = node.inputs[0];
        }
        let node = self.graph.made_by(name, "Reshape")?;
        let width = self.last_of_shape(node.inputs[1])?;
        let (linear, input) = self.linear(node.inputs[0])?;
        self.same(input, before).then_some((linear, width))
    }

    /// The last number of a shape, which is known even where the others depend on the input.
    fn last_of_shape(&self, name: &str) -> Option<usize> {
        let name = match self.graph.made_by(name, "Concat") {
            Some(node) => node.inputs.last()?,
            None => name,
        };
        let last = *self.integers(name)?.last()?;
        usize::try_from(last).ok().filter(|last| *last > 0)
    }

    /// `x W + b`: the layer and x.
    fn linear<'s>(&'s self, name: &'s str) -> Option<(Linear, &'s str)> {
        let (a, b) = self.pair(name, "Add")?;
        let (product, bias) = match (self.vector(a), self.vector(b)) {
            (Some(bias), None) => (b, bias),
            (None, Some(bias)) => (a, bias),
            _ => return None,
        };
        let (input, mut linear) = match self.pair(product, "MatMul") {
            Some((input, weight)) => (input, self.weight(weight)?),
            None => self.dynamic(product)?,
        };
        let fits = linear.outputs == bias.len()
            && linear.outputs.is_multiple_of(PANEL)
            && linear.inputs.is_multiple_of(4);
        linear.bias = bias;
        fits.then_some((linear, input))
    }

    /// Layer normalisation: its numbers and its input.
    fn norm<'s>(&'s self, name: &'s str) -> Option<(Norm, &'s str)> {
        if let Some(node) = self.graph.made_by(name, "LayerNormalization") {
            let norm = Norm {
                gain: self.vector(node.inputs[1])?,
                shift: self.vector(node.inputs.get(2)?)?,
                epsilon: node.float("epsilon").unwrap_or(1e-5),
            };
            return Some((norm, node.inputs[0]));
        }
        let (scaled, shift) = self.with_vector(name, "Add")?;
        let (centred, gain) = self.with_vector(scaled, "Mul")?;
        let (off, deviation) = self.pair(centred, "Div")?;
        let (input, mean) = self.pair(off, "Sub")?;
        let mean = self.graph.made_by(mean, "ReduceMean")?;
        let root = self.graph.made_by(deviation, "Sqrt")?;
        let (a, b) = self.pair(root.inputs[0], "Add")?;
        let (variance, epsilon) = match self.scalar(b) {
            Some(epsilon) => (a, epsilon),
            None => (b, self.scalar(a)?),
        };
        let variance = self.graph.made_by(variance, "ReduceMean")?;
        let fits = self.same(mean.inputs[0], input)
            && self.graph.reaches(variance.inputs[0], off)
            && gain.len() == shift.len();
        let norm = Norm {
            gain,
            shift,
            epsilon,
        };
        fits.then_some((norm, input))
    }

    /// The input of a Gaussian error linear unit: x · ½ · (1 + erf(x / √2)).
    fn gelu<'s>(&'s self, name: &'s str) -> Option<&'s str> {
        if let Some(node) = self.graph.made_by(name, "Gelu") {
            return Some(node.inputs[0]);
        }
        let mut factors = Vec::new();
        self.factors(name, &mut factors);
        let constant: f32 = factors.iter().filter_map(|f| self.scalar(f)).product();
        let others: Vec<&str> = factors
            .into_iter()
            .filter(|f| self.scalar(f).is_none())
            .collect();
        let [a, b] = others[..] else {
            return None;
        };
        let (input, error) = if self.one_plus_erf(a).is_some() {
            (b, self.one_plus_erf(a)?)
        } else {
            (a, self.one_plus_erf(b)?)
        };
        let (inner, factor) = self.factor(error);
        let fits = (constant - 0.5).abs() < 1e-4
            && (factor - std::f32::consts::FRAC_1_SQRT_2).abs() < 1e-4
            && self.same(inner, input);
        fits.then_some(input)
    }

    /// The factors of a product.
    fn factors<'s>(&'s self, name: &'s str, out: &mut Vec<&'s str>) {
        match self.pair(name, "Mul") {
            Some((a, b)) => {
                self.factors(a, out);
                self.factors(b, out);
            }
            None => out.push(name),
        }
    }

    /// What the error function is taken of.
    fn one_plus_erf<'s>(&'s self, name: &'s str) -> Option<&'s str> {
        let (a, b) = self.pair(name, "Add")?;
        let erf = match (self.scalar(a), self.scalar(b)) {
            (Some(1.0), None) => b,
            (None, Some(1.0)) => a,
            _ => return None,
        };
        Some(self.graph.made_by(erf, "Erf")?.inputs[0])
    }

    /// The tables whose rows are summed.
    fn embeddings(&self, sum: &str, hidden: usize) -> Found<Embeddings> {
        let mut terms = Vec::new();
        self.terms(sum, &mut terms);
        let (mut words, mut positions, mut segments) = (None, None, None);
        for term in terms {
            let Some((table, index)) = self.lookup(term) else {
                return unfit("an embedding is not a lookup");
            };
            if table.width != hidden {
                return unfit("the embeddings do not fit the layers");
            }
            if self.same(index, "input_ids") {
                words = Some(table);
            } else if let Some(first) = self.first_position(index) {
                positions = Some((table, first));
            } else if self.all_zero(index) {
                segments = Some(table);
            } else {
                return unfit("an embedding is looked up by something unknown");
            }
        }
        let (Some(words), Some((positions, first_position))) = (words, positions) else {
            return unfit("there are no embeddings of tokens and positions");
        };
        Ok(Embeddings {
            words,
            positions,
            first_position,
            segments,
        })
    }

    /// A table and what its rows are chosen by.
    fn lookup<'s>(&'s self, name: &'s str) -> Option<(Table, &'s str)> {
        if let Some(node) = self.graph.made_by(name, "DequantizeLinear") {
            // Bytes are looked up, and then given one scale for all rows.
            let gather = self.graph.made_by(node.inputs[0], "Gather")?;
            return Some((self.table_of(gather.inputs[0], node)?, gather.inputs[1]));
        }
        let (gathered, scales) = match self.pair(name, "Mul") {
            Some((a, b)) => match self.graph.made_by(a, "Cast") {
                Some(cast) => (cast.inputs[0], Some(b)),
                None => (self.graph.made_by(b, "Cast")?.inputs[0], Some(a)),
            },
            None => (name, None),
        };
        let gather = self.graph.made_by(gathered, "Gather")?;
        let index = gather.inputs[1];
        if let Some(node) = self.graph.made_by(gather.inputs[0], "DequantizeLinear") {
            return Some((self.table_of(node.inputs[0], node)?, index));
        }
        let tensor = self.graph.constant(gather.inputs[0])?;
        let [rows, width] = tensor.dims[..] else {
            return None;
        };
        let kind = match scales {
            None => Kind::Floats {
                range: tensor.float_bytes()?,
            },
            Some(scales) => {
                let scales = self.graph.made_by(scales, "Gather")?;
                if !self.same(scales.inputs[1], index) {
                    return None;
                }
                let scales = self.graph.constant(scales.inputs[0])?;
                Kind::Bytes {
                    range: tensor.bytes().filter(|_| tensor.kind == INT8)?,
                    scales: scales.floats(self.file).filter(|s| s.len() == rows)?,
                    zero: 0,
                    unsigned: false,
                }
            }
        };
        let table = Table { rows, width, kind };
        Some((table, index))
    }

    /// A table of bytes with the scale and the zero of `node`.
    fn table_of(&self, name: &str, node: &Node) -> Option<Table> {
        let tensor = self.graph.constant(name)?;
        let [rows, width] = tensor.dims[..] else {
            return None;
        };
        let scale = self.scalar(node.inputs[1])?;
        let zero = match node.inputs.get(2).filter(|name| !name.is_empty()) {
            Some(name) => self.graph.constant(name)?.byte(self.file)?,
            None => 0,
        };
        let kind = Kind::Bytes {
            range: tensor.bytes()?,
            scales: vec![scale],
            zero,
            unsigned: tensor.kind == UINT8,
        };
        Some(Table { rows, width, kind })
    }

    /// The first number of a row of positions that goes up by one.
    fn first_position(&self, index: &str) -> Option<usize> {
        // RoBERTa's: tokens are counted, and the padding token's number comes before the first.
        if self
            .graph
            .depends_on(index, &|node: &Node| node.op == "CumSum")
        {
            let (_, pad) = self.pair(index, "Add")?;
            return Some(usize::try_from(*self.integers(pad)?.first()?).ok()? + 1);
        }
        let slice = self.graph.made_by(index, "Slice")?;
        let numbers = self.integers(slice.inputs[0])?;
        let start = self.integers(slice.inputs[1])?;
        let counts = numbers.iter().enumerate().all(|(n, x)| n as i64 == *x);
        (counts && start == [0]).then_some(0)
    }

    fn all_zero(&self, index: &str) -> bool {
        let zero_fill = |node: &Node| node.op == "ConstantOfShape";
        let constant = self
            .integers(index)
            .is_some_and(|n| n.iter().all(|n| *n == 0));
        constant || self.same(index, "token_type_ids") || self.graph.depends_on(index, &zero_fill)
    }

    /// The table of relative positions, the same in every layer.
    fn relative(&self, biases: Vec<Option<&str>>, heads: usize) -> Found<Option<RelativeBias>> {
        let first = biases[0];
        if biases.iter().any(|bias| *bias != first) {
            return unfit("the layers have different position biases");
        }
        let Some(mut name) = first else {
            return Ok(None);
        };
        while let Some(node) = self.graph.maker(name)
            && matches!(node.op, "Expand" | "Unsqueeze" | "Transpose")
        {
            name = node.inputs[0];
        }
        let logarithmic = |node: &Node| node.op == "Log";
        match self.lookup(name) {
            Some((table, index))
                if table.width == heads
                    && table.rows == 32
                    && self.graph.depends_on(index, &logarithmic) =>
            {
                Ok(Some(RelativeBias {
                    heads,
                    buckets: table.rows,
                    values: table.floats(self.file),
                }))
            }
            _ => unfit("something unknown is added to the scores of an attention"),
        }
    }

    /// The two inputs of the `op` that makes `name`.
    pub(super) fn pair<'s>(&'s self, name: &'s str, op: &str) -> Option<(&'s str, &'s str)> {
        match self.graph.made_by(name, op)?.inputs[..] {
            [a, b] => Some((a, b)),
            _ => None,
        }
    }

    /// The inputs of the `op` that makes `name`: anything and a constant vector.
    fn with_vector<'s>(&'s self, name: &'s str, op: &str) -> Option<(&'s str, Vec<f32>)> {
        let (a, b) = self.pair(name, op)?;
        match self.vector(b) {
            Some(vector) => Some((a, vector)),
            None => Some((b, self.vector(a)?)),
        }
    }

    fn vector(&self, name: &str) -> Option<Vec<f32>> {
        let tensor = self.graph.constant(name)?;
        let fits = tensor.dims.len() == 1 && tensor.kind == FLOAT;
        fits.then(|| tensor.floats(self.file)).flatten()
    }

    fn scalar(&self, name: &str) -> Option<f32> {
        let tensor = self.graph.constant(name)?;
        let fits = tensor.len() == 1 && tensor.kind == FLOAT;
        fits.then(|| tensor.floats(self.file)).flatten()?.pop()
    }

    fn integers(&self, name: &str) -> Option<Vec<i64>> {
        self.graph.constant(name)?.ints(self.file)
    }

    fn same(&self, a: &str, b: &str) -> bool {
        self.graph.origin(a) == self.graph.origin(b)
    }
}

enum Step<'s> {
    /// A layer, what is added to its scores, and its input.
    Layer(Box<Layer>, Option<&'s str>, &'s str),
    Embeddings(Norm),
}

struct Heads<'s> {
    query: Linear,
    key: Linear,
    value: Linear,
    width: usize,
    scale: f32,
    bias: Option<&'s str>,
}
