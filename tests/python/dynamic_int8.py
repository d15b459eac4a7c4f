"""Makes of a model with int8 weights one whose activations onnxruntime quantises dynamically, one
scale a tensor, as its own quantize_dynamic does: the rival that ./dev bench compares with.

    pip install onnx
    python dynamic_int8.py public/models/all-minilm-l6-v2/model_int8.onnx dynamic.onnx
"""

import sys

import onnx
from onnx import helper


def convert(model):
    graph = model.graph
    weights = {node.output[0]: node for node in graph.node if node.op_type == "DequantizeLinear"}
    nodes, quantised = [], set()
    for node in graph.node:
        if node.op_type == "DequantizeLinear":
            continue
        if node.op_type != "MatMul" or node.input[1] not in weights:
            nodes.append(node)
            continue
        values, scales, zeros = weights[node.input[1]].input
        source, out = node.input[0], node.output[0]
        parts = [f"{source}_{part}" for part in ("quantised", "scale", "zero")]
        if source not in quantised:
            quantised.add(source)
            nodes.append(helper.make_node("DynamicQuantizeLinear", [source], parts))
        nodes += [
            helper.make_node("MatMulInteger", [parts[0], values, parts[2], zeros], [f"{out}_sums"]),
            helper.make_node("Cast", [f"{out}_sums"], [f"{out}_floats"], to=onnx.TensorProto.FLOAT),
            helper.make_node("Mul", [parts[1], scales], [f"{out}_scales"]),
            helper.make_node("Mul", [f"{out}_floats", f"{out}_scales"], [out]),
        ]
    del graph.node[:]
    graph.node.extend(nodes)
    del graph.value_info[:]
    return model


if __name__ == "__main__":
    onnx.save(convert(onnx.load(sys.argv[1])), sys.argv[2])
