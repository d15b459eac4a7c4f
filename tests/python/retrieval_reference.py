"""What another implementation retrieves on a compiled dataset: the oracle of tests/engine/retrieval.rs.

Reads the dataset's shards, cuts the sessions into chunks, embeds chunks and task texts with
onnxruntime and the same ONNX file, and writes for every instance the ten nearest passages and
which evidence sessions are among the nearest 3 and 10. Shares no code with the Rust engine.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install onnxruntime tokenizers numpy
    /tmp/venv/bin/python tests/python/retrieval_reference.py

Run it again after the dataset was compiled anew. Takes some minutes; vectors are kept under the
folder that --cache names.
"""

import argparse
import gzip
import hashlib
import json
from pathlib import Path

import numpy
import onnxruntime
from tokenizers import Tokenizer

ROOT = Path(__file__).resolve().parents[2]
CHUNK, OVERLAP = 256, 50
MAX_TOKENS = 256  # of the model, special tokens included
CLS, SEP = 101, 102


class Model:
    """The tokenizer without the limits of its file, and the ONNX graph; one text at a time."""

    def __init__(self, folder, cache):
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        # Left alone, onnxruntime quantises activations as well, and vectors move by a cosine of
        # 0.999; this computes what the file says, in float32.
        options = onnxruntime.SessionOptions()
        options.add_session_config_entry("session.disable_quant_qdq", "1")
        self.session = onnxruntime.InferenceSession(str(folder / "model_int8.onnx"), options)
        self.cache = cache
        cache.mkdir(parents=True, exist_ok=True)

    def tokens(self, text):
        """Without special tokens; offsets count characters."""
        return self.tokenizer.encode(text, add_special_tokens=False)

    def embed(self, text):
        file = self.cache / (hashlib.sha256(text.encode()).hexdigest() + ".npy")
        if file.exists():
            return numpy.load(file)
        ids = [CLS] + self.tokens(text).ids[: MAX_TOKENS - 2] + [SEP]
        feed = {
            "input_ids": numpy.array([ids], dtype=numpy.int64),
            "attention_mask": numpy.ones((1, len(ids)), dtype=numpy.int64),
        }
        vector = self.session.run(["sentence_embedding"], feed)[0][0]
        numpy.save(file, vector)
        return vector


def render(session):
    names = {"user": "User", "assistant": "Assistant"}
    return "\n".join(f"{names[turn['role']]}: {turn['text']}" for turn in session["turns"])


def chunks(model, session):
    """Passage id and text of each chunk of a session."""
    text = render(session)
    offsets = model.tokens(text).offsets
    start, number = 0, 0
    while start < len(offsets):
        window = offsets[start : start + CHUNK]
        yield f"{session['id']}#{number}", text[window[0][0] : window[-1][1]]
        if start + CHUNK >= len(offsets):
            break
        start, number = start + CHUNK - OVERLAP, number + 1


def read_shard(path):
    """Sessions, visible instances and hidden instances of a shard."""
    parts = {"session": [], "instance": [], "hidden": []}
    for line in gzip.decompress(path.read_bytes()).decode().splitlines():
        for kind, record in json.loads(line).items():
            parts.setdefault(kind, []).append(record)
    return parts["session"], parts["instance"], parts["hidden"]


def task_text(instance):
    task = instance["task"]
    content = task.get("content", "")
    return f"{task['instruction']}\n\n{content}" if content.strip() else task["instruction"]


def retrieve(model, instance, hidden, ids, vectors):
    scores = vectors @ model.embed(task_text(instance))
    best = sorted(range(len(ids)), key=lambda row: (-scores[row], row))[:10]
    evidence = sorted({item["session"] for item in hidden["evidence"]})
    found = lambda k: [s for s in evidence if any(ids[row].split("#")[0] == s for row in best[:k])]
    return {
        "instance": instance["id"],
        "evidence": evidence,
        "found_at_3": found(3),
        "found_at_10": found(10),
        "passages": [[ids[row], round(float(scores[row]), 5)] for row in best],
    }


def reference(model, dataset, say):
    manifest = json.loads((dataset / "manifest.json").read_text())
    entries, chunk_count = [], 0
    for shard in manifest["shards"]:
        sessions, instances, hidden = read_shard(dataset / shard["file"]["path"])
        passages = [chunk for session in sessions for chunk in chunks(model, session)]
        vectors = numpy.stack([model.embed(text) for _, text in passages])
        ids = [id for id, _ in passages]
        halves = {half["id"]: half for half in hidden}
        entries += [retrieve(model, one, halves[one["id"]], ids, vectors) for one in instances]
        chunk_count += len(passages)
        say(f"{shard['id']}: {len(passages)} chunks, {len(instances)} instances")
    return entries, chunk_count


def recall(entries, k):
    """Share of evidence sessions found, over all instances together."""
    return sum(len(e[f"found_at_{k}"]) for e in entries) / sum(len(e["evidence"]) for e in entries)


def hash_of_shards(dataset):
    """Changes when, and only when, the content of a shard does."""
    manifest = json.loads((dataset / "manifest.json").read_text())
    hashes = "".join(shard["file"]["sha256"] for shard in manifest["shards"])
    return hashlib.sha256(hashes.encode()).hexdigest()


def write(path, shards_sha256, entries, chunk_count):
    head = {
        "about": "Made by tests/python/retrieval_reference.py; do not edit.",
        "shards_sha256": shards_sha256,
        "chunks": chunk_count,
        "recall_at_3": round(recall(entries, 3), 4),
        "recall_at_10": round(recall(entries, 10), 4),
    }
    lines = [json.dumps(entry) for entry in entries]
    opening = json.dumps(head, indent=1)[:-2]
    path.write_text(opening + ',\n "instances": [\n' + ",\n".join(lines) + "\n]}\n")
    return head


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", type=Path, default=ROOT / "public/datasets/iba-mini")
    parser.add_argument("--model", type=Path, default=ROOT / "public/models/all-minilm-l6-v2")
    parser.add_argument("--out", type=Path, default=ROOT / "tests/data/retrieval_reference.json")
    parser.add_argument("--cache", type=Path, default=Path("/tmp/retrieval-reference-cache"))
    args = parser.parse_args()
    model = Model(args.model, args.cache)
    entries, chunk_count = reference(model, args.dataset, lambda line: print(line, flush=True))
    print(write(args.out, hash_of_shards(args.dataset), entries, chunk_count))


if __name__ == "__main__":
    main()
