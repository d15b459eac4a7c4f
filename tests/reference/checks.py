#!/usr/bin/env python3
"""Every text check of IBA-Mini on every sample text, decided by Python.

    python3 tests/reference/checks.py > tests/data/checks_python.json

Not run by the test suite; `tests/it/judge.rs` compares our checks with the file it wrote.
"""
import glob, json, os, re

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../public/sources/iba-mini/instances")


def count(text, of):
    lines = text.split("\n")
    if of == "bullets":
        return sum(bool(re.match(r"\s*[-*•]\s+\S", l)) for l in lines)
    if of == "numbered":
        return sum(bool(re.match(r"\s*\d+[.)]\s+\S", l)) for l in lines)
    if of == "headings":
        return sum(bool(re.match(r"#{1,6}\s+\S", l)) for l in lines)
    if of == "paragraphs":
        return len([b for b in re.split(r"\n\s*\n", text.strip()) if b.strip()])
    if of == "sentences":
        return len(re.findall(r"[.!?]+(?:\s|$)", text))
    if of == "tables":
        return len(re.findall(r"(?m)^\s*\|?\s*:?-{3,}.*\|", text))
    if of == "code_blocks":
        return text.count("```") // 2


def passes(text, c):
    low, kind = text.lower(), c["kind"]
    if kind in ("word_count", "count"):
        n = len(text.split()) if kind == "word_count" else count(text, c["of"])
        return c.get("min", 0) <= n <= c.get("max", 10**9)
    if kind == "contains_any":
        return any(a.lower() in low for a in c["any"])
    if kind == "contains_all":
        return all(a.lower() in low for a in c["all"])
    if kind == "excludes":
        return not any(a.lower() in low for a in c["none"])
    if kind == "regex":
        return bool(re.search(c["pattern"], text, re.I | re.M))
    if kind == "starts_with_any":
        return any(low.lstrip("#* \n").startswith(a.lower()) for a in c["any"])
    if kind == "first_person":
        return bool(re.search(r"\b(I|I'm|I've|my|me)\b", text)) == c["expect"]


# Kinds that IBA-Mini's requirements use little or not at all.
EXTRA = (
    [{"kind": "count", "of": of, "min": n, "max": n + 1}
     for of in ("bullets", "numbered", "headings", "paragraphs", "sentences", "tables", "code_blocks")
     for n in (0, 1, 2, 4, 8)]
    + [{"kind": "word_count", "min": 120, "max": 180}, {"kind": "word_count", "max": 150}]
    + [{"kind": "first_person", "expect": e} for e in (True, False)]
    + [{"kind": "starts_with_any", "any": ["the ", "dear", "|", "- ", "1."]}]
    + [{"kind": "contains_all", "all": ["The", "and"]}, {"kind": "excludes", "none": ["Ä", "—", "é"]}]
    + [{"kind": "regex", "pattern": p} for p in (r"^\W*\d", r"[.!?]\s*\Z", r"\bÉ\w*", r"$\n^\s*$", r"\A\S+\s[[(]?")]
)

texts, checks = {}, []
for path in sorted(glob.glob(ROOT + "/*.json")):
    x = json.load(open(path, encoding="utf-8"))
    if isinstance(x["sample"]["output"], str):
        texts[x["id"]] = x["sample"]["output"]
    checks += [r["check"] for r in x["requirements"] if r.get("check") and r["check"]["kind"] != "slot"]
checks += EXTRA
rows = ["".join("01"[passes(t, c)] for t in texts.values()) for c in checks]
out = {
    "outputs": list(texts),
    "checks": [{"check": c, "passed": row} for c, row in zip(checks, rows)],
}
print(json.dumps(out, ensure_ascii=False, indent=1))
