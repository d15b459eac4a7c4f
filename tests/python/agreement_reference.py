"""Agreement of random raters by other people's packages: irrCAC (Fleiss' kappa, Gwet's AC1, raw
agreement, gaps allowed), scikit-learn (Cohen's kappa) and numpy (sample standard deviation).

    pip install irrCAC scikit-learn
    agreement_reference.py > ../data/agreement_reference.json

`null` is a missing rating, or a number that is not defined.

Raters that were asked several times: the same packages over all combinations of one label of each
rater, since every time of one is compared with every time of another.
"""

import itertools
import json
import math
import random

import numpy
import pandas
from irrCAC.raw import CAC
from sklearn.metrics import cohen_kappa_score

CASES = [
    # raters, items, share met, share of labels a rater flips, share missing
    (2, 40, 0.5, 0.1, 0.0),
    (2, 120, 0.9, 0.05, 0.0),
    (2, 60, 0.3, 0.3, 0.2),
    (3, 80, 0.6, 0.15, 0.0),
    (3, 80, 0.95, 0.03, 0.15),
    (5, 50, 0.4, 0.25, 0.1),
    (7, 200, 0.7, 0.4, 0.3),
]


def number(value):
    return None if value is None or math.isnan(value) else float(value)


def one(random_, raters, items, met, flip, missing):
    rows = []
    for _ in range(items):
        truth = random_.random() < met
        rows.append([
            None if random_.random() < missing else int(truth != (random_.random() < flip))
            for _ in range(raters)
        ])
    frame = pandas.DataFrame(rows, dtype="float")
    # irrCAC keeps five digits unless it is told otherwise.
    cac = CAC(frame.dropna(how="all"), digits=12)
    ac1 = cac.gwet()["est"]
    case = {"rows": rows, "raw": number(ac1["pa"]), "ac1": number(ac1["coefficient_value"])}
    if raters == 2:
        both = [(a, b) for a, b in rows if a is not None and b is not None]
        case["kappa"] = number(cohen_kappa_score(*zip(*both)))
    else:
        case["kappa"] = number(cac.fleiss()["est"]["coefficient_value"])
    return case


REPEATS = [
    # times each rater was asked, items, share met, share of labels a rater flips
    ((2, 2), 40, 0.6, 0.25),
    ((5, 1), 60, 0.8, 0.2),
    ((4, 2, 1), 50, 0.5, 0.3),
]


def repeated(random_, times, items, met, flip):
    rows, combined = [], []
    for _ in range(items):
        truth = random_.random() < met
        labels = [[int(truth != (random_.random() < flip)) for _ in range(n)] for n in times]
        rows.append(labels)
        combined += itertools.product(*labels)
    cac = CAC(pandas.DataFrame(combined, dtype="float"), digits=12)
    ac1 = cac.gwet()["est"]
    two = len(times) == 2
    kappa = cohen_kappa_score(*zip(*combined)) if two else cac.fleiss()["est"]["coefficient_value"]
    return {"rows": rows, "raw": number(ac1["pa"]), "ac1": number(ac1["coefficient_value"]), "kappa": number(kappa)}


def main():
    random_ = random.Random(20260803)
    spreads = []
    for n in (2, 5, 9):
        values = [random_.uniform(20, 90) for _ in range(n)]
        spreads.append({"values": values, "mean": float(numpy.mean(values)), "sd": float(numpy.std(values, ddof=1))})
    cases = [one(random_, *case) for case in CASES]
    other = random.Random(20261130)
    repeats = [repeated(other, *case) for case in REPEATS]
    print(json.dumps({"agreement": cases, "spread": spreads, "repeats": repeats}))


main()
