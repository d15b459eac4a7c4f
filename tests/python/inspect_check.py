"""Has Inspect's own package read the logs that IBA Lab wrote, and write logs for IBA Lab to read.

    inspect_check.py read DIR    DIR holds *.json, *.json.gz and expected.json, all written by the
                                 Rust test; every number is compared with Inspect's view of it
    inspect_check.py open DIR    DIR holds *.json and opened.json: tools, scorers and repeats that Inspect
                                 has to find in each
    inspect_check.py write DIR   writes logs and foreign.json, which says what is in them

Prints one line for each file and exits with 1 at the first difference.
"""

import gzip
import json
import math
import sys
from pathlib import Path

from inspect_ai import Epochs, Task, eval, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import EvalLog, read_eval_log, write_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import (
    SampleScore,
    Score,
    Target,
    mean,
    mean_score,
    scorer,
    stderr,
)
from inspect_ai.solver import TaskState, generate, solver


def check(what: str, found, expected) -> None:
    if not same(found, expected):
        sys.exit(f"{what}: Inspect has {found!r}, IBA Lab wrote {expected!r}")


def same(a, b) -> bool:
    """Equal, where a missing number (None) is NaN."""
    if isinstance(a, float) and math.isnan(a):
        return b is None
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-12)
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    return a == b


def open_log(path: Path) -> EvalLog:
    """Inspect opens .json by its name; a .json.gz it reads from an open file only."""
    if path.suffix == ".gz":
        with gzip.open(path) as unpacked:
            return read_eval_log(unpacked, format="json")
    return read_eval_log(str(path))


def read(folder: Path) -> None:
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    for name, want in expected.items():
        compare(name, open_log(folder / name), want)
        print(f"{name}: {len(want['samples'])} samples agree")


def compare(name: str, log: EvalLog, want: dict) -> None:
    check(f"{name} version", log.version, 2)
    for field in ("task", "model", "solver"):
        check(f"{name} {field}", getattr(log.eval, field), want[field])
    check(f"{name} status", log.status, want["status"])
    check(f"{name} epochs", log.eval.config.epochs, want["epochs"])
    check(f"{name} dataset hash", log.eval.metadata["iba"]["dataset"]["sha256"], want["sha256"])
    check(f"{name} samples", len(log.samples), len(want["samples"]))
    for sample, wanted in zip(log.samples, want["samples"]):
        compare_sample(f"{name} {sample.id}/{sample.epoch}", sample, wanted)
    compare_metrics(name, log, want["metrics"])
    for kind in ("model_usage", "role_usage"):
        usage = {k: u.total_tokens for k, u in getattr(log.stats, kind).items()}
        check(f"{name} {kind}", usage, want[kind])


def compare_sample(place: str, sample, want: dict) -> None:
    check(f"{place} id", [sample.id, sample.epoch], [want["id"], want["epoch"]])
    check(f"{place} target", sample.target, want["target"])
    check(f"{place} completion", sample.output.completion, want["completion"])
    check(f"{place} error", sample.error.message if sample.error else None, want["error"])
    values = {scorer: score.value for scorer, score in sample.scores.items()}
    check(f"{place} scores", values, want["scores"])
    check(f"{place} events", [kind(event) for event in sample.events], want["events"])
    tree(place, sample.events)
    for name, score in sample.scores.items():
        history = [
            [edit.provenance and edit.provenance.author, edit.provenance and edit.provenance.reason, edit.value]
            for edit in score.history
        ]
        wanted = want.get("history", {}).get(name, [])
        check(f"{place} {name} history", len(history), len(wanted))
        for found, expected in zip(history, wanted):
            for part, other in zip(found, expected):
                check(f"{place} {name} history", part, other)
        for requirement in (score.metadata or {}).get("requirements", []):
            verdict = score.value[requirement["id"]]
            word = {"C": "met", "I": "not met"}.get(verdict, "unscored")
            check(f"{place} {name} verdict", word, requirement["verdict"])


def kind(event) -> str:
    return f"info {event.source}" if event.event == "info" else event.event


def tree(place: str, events) -> None:
    """Every span that begins ends, innermost first, and events lie in the open span."""
    open_spans: list[str] = []
    for event in events:
        if event.event == "span_begin":
            check(f"{place} parent", event.parent_id, open_spans[-1] if open_spans else None)
            open_spans.append(event.id)
        check(f"{place} span of {event.event}", event.span_id, open_spans[-1])
        if event.event == "span_end":
            check(f"{place} end of span", event.id, open_spans.pop())
    check(f"{place} open spans", open_spans, [])


def compare_metrics(name: str, log: EvalLog, want: dict) -> None:
    """Our metrics as written, and as Inspect's own reducer and mean compute them anew."""
    check(f"{name} scorers", [score.name for score in log.results.scores], list(want))
    for score in log.results.scores:
        expected = want[score.name]
        check(f"{name} {score.name}", {k: m.value for k, m in score.metrics.items()}, expected)
        for metric, value in expected.items():
            domain = None if metric == "mean" else metric
            check(f"{name} {score.name} {metric} anew", recompute(log, score.name, domain), value)


def recompute(log: EvalLog, scorer: str, domain: str | None) -> float:
    by_sample: dict = {}
    for sample in log.samples:
        if scorer in sample.scores and domain in (None, sample.metadata["domain"]):
            by_sample.setdefault(sample.id, []).append(sample.scores[scorer])
    reduce = mean_score()
    reduced = [reduce(scores) for scores in by_sample.values()]
    scored = [SampleScore(score=s) for s in reduced if not math.isnan(s.as_float())]
    return mean()(scored) if scored else math.nan


def look(folder: Path) -> None:
    wanted = json.loads((folder / "opened.json").read_text(encoding="utf-8"))
    for name, want in wanted.items():
        log = open_log(folder / name)
        found = {
            "solver": log.eval.solver,
            "mode": log.eval.metadata["iba"]["mode"],
            "samples": [[sample.id, sample.epoch] for sample in log.samples],
            "scorers": list(log.samples[0].scores),
            "tools": [[e.function, e.error is not None] for e in log.samples[0].events if e.event == "tool"],
            "prompts": [(s.metadata or {}).get("prompt", {}).get("sha256", "")[:8] for n, s in log.samples[0].scores.items() if not n.endswith("_mean") and (s.metadata or {}).get("prompt")],
        }
        for key, value in want.items():
            check(f"{name} {key}", found[key], value)
        # What its viewer and its commands need: a round trip loses nothing.
        again = EvalLog.model_validate_json(log.model_dump_json(exclude_none=True))
        check(f"{name} samples after a round trip", len(again.samples), len(log.samples))
        print(f"{name}: opens")


# Logs of another program, with all that IBA Lab has to bear.


@scorer(metrics={"*": [mean()]})
def by_requirement():
    async def score(state: TaskState, target: Target) -> Score:
        return Score(value={"r1": "C", "r2": "I", "r3": math.nan}, explanation="NaN within")

    return score


@scorer(metrics=[mean(), stderr()])
def length():
    async def score(state: TaskState, target: Target) -> Score:
        if state.sample_id == 2:
            return Score.unscored(reason="grader_failed", explanation="nobody could say")
        return Score(value=len(state.output.completion) / 1000)

    return score


@solver
def fails_on_third():
    async def solve(state: TaskState, generate) -> TaskState:
        if state.sample_id == 3:
            raise ValueError("the third sample fails")
        return state

    return solve


@task
def foreign() -> Task:
    samples = [
        Sample(id=1, input="Say NaN, please: NaN", target="NaN"),
        Sample(id=2, input="x" * 300, target=["a", "b"]),
        Sample(id=3, input="Fail", target="nothing"),
    ]
    return Task(
        dataset=MemoryDataset(samples, name="foreign"),
        solver=[generate(), fails_on_third()],
        scorer=[by_requirement(), length()],
        epochs=Epochs(2, "mean"),
        fail_on_error=False,
    )


def answer(messages, tools, tool_choice, config) -> ModelOutput:
    """Usage is given, since the mock would count tokens with a table from the network."""
    output = ModelOutput.from_content("mockllm/model", f"Answer to: {messages[-1].text}")
    output.usage = ModelUsage(input_tokens=7, output_tokens=5, total_tokens=12)
    return output


def without_places(log: EvalLog) -> EvalLog:
    """Tracebacks and paths would name the machine on which the fixture was made."""
    log.eval.task_file = log.eval.revision = None
    for sample in log.samples:
        errors = [sample.error, *(e.error for e in sample.events if e.event == "error")]
        for error in filter(None, errors):
            error.traceback = error.traceback_ansi = ""
    return log


def write(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    log = eval(
        foreign(),
        model=get_model("mockllm/model", custom_outputs=answer),
        log_dir=str(folder / "logs"),
        log_format="json",
        display="none",
    )[0]
    log = without_places(read_eval_log(log.location))
    path = folder / "foreign.json"
    write_eval_log(log, str(path), format="json")
    (folder / "foreign.json.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    write_eval_log(log, str(folder / "foreign.eval"), format="eval")
    summary = {
        "task": log.eval.task,
        "model": log.eval.model,
        "status": log.status,
        "samples": [summarise(sample) for sample in log.samples],
    }
    text = json.dumps(summary, indent=1, ensure_ascii=False)
    (folder / "summary.json").write_text(text + "\n", encoding="utf-8")
    print(f"{len(log.samples)} samples written to {path}")


def summarise(sample) -> dict:
    return {
        "id": str(sample.id),
        "epoch": sample.epoch,
        "input": sample.input,
        "output": sample.output.completion,
        "error": sample.error.message if sample.error else None,
        "messages": len(sample.messages),
        "scores": {name: plain(score.value) for name, score in (sample.scores or {}).items()},
    }


def plain(value):
    """NaN as null: the summary is strict JSON."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    return None if isinstance(value, float) and math.isnan(value) else value


if __name__ == "__main__":
    command, folder = sys.argv[1], Path(sys.argv[2])
    {"read": read, "open": look, "write": write}[command](folder)
