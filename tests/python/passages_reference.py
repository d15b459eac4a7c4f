"""The vectors that onnxruntime gives passages of a history, with the prefixes of their models, for
tests/engine/twin.rs.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install onnxruntime tokenizers numpy
    /tmp/venv/bin/python tests/python/passages_reference.py tests/data/models tests/data/passages_reference.json

Passages are sessions as they are rendered, one paragraph a turn. Pooling is that of the folder's
1_Pooling/config.json; the prefix is put before the text, as sentence-transformers does with prompts.
"""

import json
import pathlib
import sys

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

SESSIONS = [
    [["user", "dinner at seven"], ["assistant", "the meeting was moved to friday"]],
    [["user", "a walk in the rain"], ["assistant", "tea at seven"]],
    [["user", "music on friday"]],
]
MODELS = [("bert", ""), ("xlmr-int8", ""), ("xlmr-int8", "tea at seven: "), ("ext", "")]


def rendered(session):
    return "\n".join(f"{role.capitalize()}: {text}" for role, text in session)


def vector(folder, text):
    ids = Tokenizer.from_file(str(folder / "tokenizer.json")).encode(text).ids
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
    feeds = {"input_ids": ids, "attention_mask": [1] * len(ids), "token_type_ids": [0] * len(ids)}
    wanted = {entry.name for entry in session.get_inputs()}
    tokens = session.run(None, {name: np.array([row], np.int64) for name, row in feeds.items() if name in wanted})[0][0]
    pooling = json.loads((folder / "1_Pooling/config.json").read_text())
    pooled = tokens[0] if pooling.get("pooling_mode_cls_token") else tokens.mean(0)
    return [round(float(x), 6) for x in pooled / np.linalg.norm(pooled)]


def main():
    models, out = map(pathlib.Path, sys.argv[1:])
    sets = []
    for name, prefix in MODELS:
        vectors = [vector(models / name, prefix + rendered(session)) for session in SESSIONS]
        sets.append({"model": name, "prefix": prefix, "vectors": vectors})
    out.write_text(json.dumps({"sessions": SESSIONS, "sets": sets}) + "\n")


if __name__ == "__main__":
    main()
