"""Writes embedding models of a given shape with random weights, as exporters write them.

    python shaped_model.py DIR --family xlm-roberta --preset tiny        # for tests, below 1 MB
    python shaped_model.py DIR --family xlm-roberta --preset bge-m3      # 568 million parameters
    python shaped_model.py DIR --layers 2 --style dynamic                # other weights, other layers

Styles of weights: `float` (float32), `int8` (weight-only, one scale a column, embedding rows gathered
before they are dequantised), `dynamic` (as onnxruntime's dynamic quantisation writes them:
DynamicQuantizeLinear, MatMulInteger), with --unsigned for its uint8 weights. `--external` puts the
weights into model.onnx_data. `--heads-output` names token vectors or pools in the graph.

The tokenizer is a small Unigram (or WordPiece) one: its words fit the model, whatever its vocabulary.
Needs onnx and numpy; `--reference FILE` also needs onnxruntime and tokenizers, and writes the token ids
and the vectors that onnxruntime gives for a few texts.
"""

import argparse
import json
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

PRESETS = {
    "tiny": dict(vocabulary=320, hidden=32, layers=2, heads=4, inner=64, positions=130),
    "e5-small": dict(vocabulary=250037, hidden=384, layers=12, heads=12, inner=1536, positions=514),
    "bge-m3": dict(vocabulary=250002, hidden=1024, layers=24, heads=16, inner=4096, positions=8194),
}
TEXTS = ["dinner at seven", "the meeting was moved to friday", "a", "", "xyzzy plugh 42", "dinner dinner dinner at the meeting on friday at seven"]
WORDS = ["dinner", "at", "seven", "the", "meeting", "was", "moved", "to", "friday", "on", "a", "walk", "in", "rain", "tea", "music"]


class Graph:
    """Nodes and weights of a graph, with names given on the way."""

    def __init__(self, style, unsigned, seed):
        self.nodes, self.weights, self.count = [], [], 0
        self.style, self.unsigned = style, unsigned
        self.random = np.random.default_rng(seed)
        self.quantised = {}

    def name(self, kind):
        self.count += 1
        return f"{kind}_{self.count}"

    def node(self, op, inputs, outputs=1, **attributes):
        names = [self.name(op) for _ in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, value, name=None):
        name = name or self.name("const")
        self.weights.append(numpy_helper.from_array(value if value.ndim == 0 else np.ascontiguousarray(value), name))
        return name

    def normal(self, *shape, scale=0.05):
        return (self.random.standard_normal(shape, dtype=np.float32) * scale).astype(np.float32)

    def int8(self, *shape):
        return self.random.integers(-127, 128, shape, dtype=np.int8)

    def linear(self, x, inputs, outputs):
        bias = self.constant(self.normal(outputs, scale=0.02))
        if self.style == "float":
            product = self.node("MatMul", [x, self.constant(self.normal(inputs, outputs, scale=inputs ** -0.5))])
        elif self.style == "int8":
            scales = (np.abs(self.normal(outputs, scale=0.1)) + 1) * (inputs ** -0.5 / 73)
            zero = self.constant(np.zeros(outputs, np.int8))
            weight = self.node("DequantizeLinear", [self.constant(self.int8(inputs, outputs)), self.constant(scales.astype(np.float32)), zero], axis=1)
            product = self.node("MatMul", [x, weight])
        else:
            if x not in self.quantised:
                self.quantised[x] = self.node("DynamicQuantizeLinear", [x], 3)
            ints, scale, zero = self.quantised[x]
            weight = self.int8(inputs, outputs)
            weight_zero = np.zeros((), np.int8)
            if self.unsigned:
                weight, weight_zero = (weight.astype(np.int16) + 128).astype(np.uint8), np.array(121, np.uint8)
            product = self.node("MatMulInteger", [ints, self.constant(weight), zero, self.constant(weight_zero)])
            both = self.node("Mul", [scale, self.constant(np.array(inputs ** -0.5 / 73, np.float32))])
            product = self.node("Mul", [self.node("Cast", [product], to=TensorProto.FLOAT), both])
        return self.node("Add", [bias, product])

    def lookup(self, rows, width, index):
        if self.style == "float":
            return self.node("Gather", [self.constant(self.normal(rows, width)), index])
        table = self.constant(self.int8(rows, width))
        if self.style == "int8":
            scales = self.constant((np.abs(self.normal(rows, 1, scale=0.0002)) + 0.0005).astype(np.float32))
            row = self.node("Cast", [self.node("Gather", [table, index])], to=TensorProto.FLOAT)
            return self.node("Mul", [row, self.node("Gather", [scales, index])])
        row = self.node("Gather", [table, index])
        return self.node("DequantizeLinear", [row, self.constant(np.array(0.0006, np.float32)), self.constant(np.zeros((), np.int8))])

    def norm(self, x, width):
        gain, shift = self.constant(1 + self.normal(width)), self.constant(self.normal(width))
        return self.node("LayerNormalization", [x, gain, shift], axis=-1, epsilon=1e-5)

    def gelu(self, x):
        error = self.node("Erf", [self.node("Div", [x, self.constant(np.array(2 ** 0.5, np.float32))])])
        whole = self.node("Mul", [x, self.node("Add", [error, self.constant(np.array(1, np.float32))])])
        return self.node("Mul", [whole, self.constant(np.array(0.5, np.float32))])

    def heads(self, x, heads, width, order):
        shape = self.node("Shape", [x])
        at = [self.node("Gather", [shape, self.constant(np.array(n, np.int64))], axis=0) for n in (0, 1)]
        at = [self.node("Unsqueeze", [n, self.constant(np.array([0], np.int64))]) for n in at]
        sizes = [self.constant(np.array([heads], np.int64)), self.constant(np.array([width], np.int64))]
        shaped = self.node("Reshape", [x, self.node("Concat", at + sizes, axis=0)])
        return self.node("Transpose", [shaped], perm=order)

    def layer(self, x, mask, hidden, heads, inner):
        width = hidden // heads
        query, key, value = (self.linear(x, hidden, hidden) for _ in range(3))
        query = self.heads(query, heads, width, [0, 2, 1, 3])
        key = self.heads(key, heads, width, [0, 2, 3, 1])
        value = self.heads(value, heads, width, [0, 2, 1, 3])
        scores = self.node("Div", [self.node("MatMul", [query, key]), self.constant(np.array(width ** 0.5, np.float32))])
        shares = self.node("Softmax", [self.node("Add", [scores, mask])], axis=-1)
        context = self.node("Transpose", [self.node("MatMul", [shares, value])], perm=[0, 2, 1, 3])
        context = self.node("Reshape", [context, self.constant(np.array([0, 0, hidden], np.int64))])
        x = self.norm(self.node("Add", [self.linear(context, hidden, hidden), x]), hidden)
        up = self.gelu(self.linear(x, hidden, inner))
        return self.norm(self.node("Add", [self.linear(up, inner, hidden), x]), hidden)


def positions(graph, family, tokens):
    """XLM-RoBERTa counts tokens that are no padding, and begins behind the padding's own number."""
    if family == "xlm-roberta":
        pad = graph.constant(np.array(1, np.int64))
        real = graph.node("Cast", [graph.node("Not", [graph.node("Equal", ["input_ids", pad])])], to=TensorProto.INT32)
        counted = graph.node("CumSum", [real, graph.constant(np.array(1, np.int64))])
        counted = graph.node("Mul", [counted, real])
        return graph.node("Add", [graph.node("Cast", [counted], to=TensorProto.INT64), pad])
    shape = graph.node("Shape", ["input_ids"])
    length = graph.node("Gather", [shape, graph.constant(np.array([1], np.int64))], axis=0)
    row = graph.constant(np.arange(tokens, dtype=np.int64)[None])
    zero, one = graph.constant(np.array([0], np.int64)), graph.constant(np.array([1], np.int64))
    return graph.node("Slice", [row, zero, length, one])


def build(args, shape):
    graph = Graph(args.style, args.unsigned, args.seed)
    hidden, heads, inner = shape["hidden"], shape["heads"], shape["inner"]
    words = graph.lookup(shape["vocabulary"], hidden, "input_ids")
    place = graph.lookup(shape["positions"], hidden, positions(graph, args.family, shape["positions"]))
    x = graph.node("Add", [words, place])
    if args.family == "bert":
        zeros = graph.node("Sub", ["input_ids", "input_ids"])
        x = graph.node("Add", [x, graph.lookup(2, hidden, "token_type_ids" if args.segments else zeros)])
    x = graph.norm(x, hidden)
    mask = graph.node("Cast", [graph.node("Unsqueeze", ["attention_mask", graph.constant(np.array([1, 2], np.int64))])], to=TensorProto.FLOAT)
    mask = graph.node("Sub", [graph.constant(np.array(1, np.float32)), mask])
    mask = graph.node("Mul", [mask, graph.constant(np.array(-1e9, np.float32))])
    for number in range(shape["layers"]):
        x = graph.layer(x, mask, hidden, heads, inner)
        print(f"layer {number + 1} of {shape['layers']}", end="\r", flush=True)
    output = "last_hidden_state"
    dims = ["batch", "sequence", hidden]
    if args.pool:
        output, dims = "sentence_embedding", ["batch", hidden]
        x = graph.node("Gather", [x, graph.constant(np.array(0, np.int64))], axis=1)
        x = graph.node("LpNormalization", [x], axis=-1, p=2)
    graph.nodes.append(helper.make_node("Identity", [x], [output]))
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "sequence"])
    inputs = [value("input_ids"), value("attention_mask")] + ([value("token_type_ids")] if args.segments else [])
    made = helper.make_graph(graph.nodes, "encoder", inputs, [helper.make_tensor_value_info(output, TensorProto.FLOAT, dims)], graph.weights)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return model


def tokenizer(family):
    """Unigram with SentencePiece's mark, or WordPiece; <s> 0, <pad> 1, </s> 2, <unk> 3."""
    special = ["<s>", "<pad>", "</s>", "<unk>"] if family == "xlm-roberta" else ["[CLS]", "[PAD]", "[SEP]", "[UNK]"]
    added = [{"id": n, "content": word, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True} for n, word in enumerate(special)]
    ends = [{"SpecialToken": {"id": special[0], "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": special[2], "type_id": 0}}]
    after = {"type": "TemplateProcessing", "single": ends, "pair": ends,
             "special_tokens": {word: {"id": word, "ids": [special.index(word)], "tokens": [word]} for word in (special[0], special[2])}}
    letters = [chr(n) for n in range(33, 127)]
    if family == "xlm-roberta":
        mark = "\u2581"
        entries = [[word, 0.0] for word in special] + [[mark, -2.0]] + [[mark + word, -3.0 - n / 10] for n, word in enumerate(WORDS)]
        entries += [[letter, -8.0] for letter in letters]
        model = {"type": "Unigram", "unk_id": 3, "vocab": entries, "byte_fallback": False}
        before = {"type": "Metaspace", "replacement": mark, "prepend_scheme": "always", "split": True}
        normaliser = {"type": "NFKC"}
    else:
        words = special + WORDS + letters + ["##" + letter for letter in letters]
        words = list(dict.fromkeys(words))
        model = {"type": "WordPiece", "unk_token": special[3], "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
                 "vocab": {word: n for n, word in enumerate(words)}}
        before, normaliser = {"type": "BertPreTokenizer"}, {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": normaliser,
            "pre_tokenizer": before, "post_processor": after, "decoder": None, "model": model}


def reference(folder, name, args, out):
    import onnxruntime
    from tokenizers import Tokenizer

    reader = Tokenizer.from_file(str(folder / "tokenizer.json"))
    session = onnxruntime.InferenceSession(str(folder / name), providers=["CPUExecutionProvider"])
    rows = []
    for text in TEXTS:
        ids = reader.encode(text).ids
        feeds = {"input_ids": np.array([ids], np.int64), "attention_mask": np.ones((1, len(ids)), np.int64)}
        if args.segments:
            feeds["token_type_ids"] = np.zeros((1, len(ids)), np.int64)
        out_ = session.run(None, feeds)[0][0]
        vector = out_ if out_.ndim == 1 else (out_[0] if args.family == "xlm-roberta" else out_.mean(0))
        vector = vector / np.linalg.norm(vector)
        rows.append({"text": text, "ids": ids, "vector": [round(float(x), 6) for x in vector]})
    out.write_text(json.dumps({"pooling": "cls" if args.family == "xlm-roberta" else "mean", "rows": rows}) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--family", choices=["xlm-roberta", "bert"], default="xlm-roberta")
    parser.add_argument("--preset", choices=PRESETS, default="tiny")
    parser.add_argument("--layers", type=int)
    parser.add_argument("--style", choices=["float", "int8", "dynamic"], default="int8")
    parser.add_argument("--unsigned", action="store_true")
    parser.add_argument("--segments", action="store_true", help="an input token_type_ids")
    parser.add_argument("--pool", action="store_true", help="CLS pooling and unit length in the graph")
    parser.add_argument("--external", action="store_true")
    parser.add_argument("--name", default="model.onnx")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--reference", type=pathlib.Path)
    args = parser.parse_args()
    shape = dict(PRESETS[args.preset])
    shape["layers"] = args.layers or shape["layers"]
    args.folder.mkdir(parents=True, exist_ok=True)
    model = build(args, shape)
    path = args.folder / args.name
    path.parent.mkdir(parents=True, exist_ok=True)
    if args.external:
        onnx.save_model(model, str(path), save_as_external_data=True, all_tensors_to_one_file=True, location=path.name + "_data", size_threshold=1024)
    else:
        onnx.save_model(model, str(path))
    (args.folder / "tokenizer.json").write_text(json.dumps(tokenizer(args.family), ensure_ascii=False))
    config = {"model_type": args.family, "hidden_size": shape["hidden"], "vocab_size": shape["vocabulary"], "max_position_embeddings": shape["positions"],
              "architectures": ["XLMRobertaModel" if args.family == "xlm-roberta" else "BertModel"]}
    (args.folder / "config.json").write_text(json.dumps(config))
    pooling = args.folder / "1_Pooling"
    pooling.mkdir(exist_ok=True)
    mode = "cls" if args.family == "xlm-roberta" else "mean"
    (pooling / "config.json").write_text(json.dumps({"word_embedding_dimension": shape["hidden"], f"pooling_mode_{mode}_token{'s' if mode == 'mean' else ''}": True}))
    if args.reference:
        reference(args.folder, args.name, args, args.reference)
    parameters = sum(int(np.prod(weight.dims)) for weight in model.graph.initializer)
    print(f"{path}: {parameters / 1e6:.1f} million parameters")


if __name__ == "__main__":
    main()
