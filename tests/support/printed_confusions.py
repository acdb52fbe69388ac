"""Printed tables of metrics, computed from random predictions: what an honest table looks like at a few digits.

Metrics are computed from counts of hits, false alarms and misses per class, under one of three conventions for what is
undefined (0, 1 or left out of the average), and printed rounded or cut off, as shares or percentages.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

SCORES = ("P", "R", "F1", "J")
COLUMNS = ("A", *SCORES, *(f"w{name}" for name in SCORES))


@dataclass(frozen=True)
class Counts:
    """Per class: hits, false alarms, misses; and how many cases there are."""

    hits: np.ndarray
    alarms: np.ndarray
    misses: np.ndarray
    cases: int
    kind: str
    constant: bool = False
    """Whether the predictor always says the same."""

    @property
    def classes(self) -> int:
        return len(self.hits)

    @property
    def prevalence(self) -> np.ndarray:
        return (self.hits + self.misses) / self.cases


def class_cases(generator: np.random.Generator, classes: int, cases: int) -> np.ndarray:
    """The class of every case; sometimes one of the classes has none."""
    weights = generator.dirichlet(np.full(classes, generator.choice([0.3, 1.0, 5.0])))
    if generator.random() < 0.2:
        weights[generator.integers(classes)] = 0
        weights /= weights.sum()
    return generator.choice(classes, size=cases, p=weights)


def multi_class(generator: np.random.Generator, reference: np.ndarray, classes: int) -> Counts:
    """Counts of predictions of one class per case; some predictors always name the same."""
    constant = generator.random() < 0.1
    if constant:
        prediction = np.full(reference.size, generator.choice(reference))
    else:
        other = generator.choice(classes, size=reference.size, p=generator.dirichlet(np.full(classes, 0.5)))
        prediction = np.where(generator.random(reference.size) < generator.random(), reference, other)
    hits = np.bincount(reference[reference == prediction], minlength=classes)
    named, true = np.bincount(prediction, minlength=classes), np.bincount(reference, minlength=classes)
    return Counts(hits, named - hits, true - hits, reference.size, "multi-class", constant)


def multi_label(generator: np.random.Generator, positives: np.ndarray, cases: int) -> Counts:
    """Counts of predictions of labels that are there or not; some predictors always say yes, or no."""
    style, classes = generator.random(), positives.size
    if style < 0.14:
        recall = alarm = np.full(classes, float(style < 0.07))
    else:
        recall, alarm = generator.beta(0.7, 0.7, classes), generator.beta(0.5, 2.0, classes)
    hits = generator.binomial(positives, recall)
    alarms = generator.binomial(cases - positives, alarm)
    return Counts(hits, alarms, positives - hits, cases, "multi-label", style < 0.14)


def label_cases(generator: np.random.Generator, classes: int, cases: int) -> np.ndarray:
    """How many cases have each label."""
    return generator.binomial(cases, generator.beta(0.5, 1.5, classes))


def metrics(counts: Counts, undefined: float) -> dict[str, float]:
    """Every column of an honest row; `undefined` is 0, 1, or NaN to leave classes out."""
    hits, alarms, misses = (side.astype(float) for side in (counts.hits, counts.alarms, counts.misses))
    support = hits + misses
    scores = {
        "P": _ratio(hits, hits + alarms, undefined),
        "R": _ratio(hits, support, undefined),
        "F1": _ratio(2 * hits, 2 * hits + alarms + misses, undefined),
        "J": _ratio(hits, hits + alarms + misses, undefined),
    }
    if counts.kind == "multi-class":
        accuracy = hits.sum() / counts.cases
    else:
        accuracy = 1 - (alarms + misses).sum() / (counts.cases * counts.classes)
    row = {"A": float(accuracy)}
    for name, score in scores.items():
        defined = ~np.isnan(score)
        weights = support[defined]
        row[name] = float(score[defined].mean()) if defined.any() else math.nan
        row[f"w{name}"] = float((score[defined] * weights).sum() / weights.sum()) if weights.sum() else math.nan
    return row


def _ratio(above: np.ndarray, below: np.ndarray, undefined: float) -> np.ndarray:
    return np.divide(above, below, out=np.full(above.shape, undefined), where=below > 0)


def printed(value: float, decimals: int, *, cut: bool, percent: bool) -> str:
    """A number as a program prints it: rounded, or cut off."""
    if math.isnan(value):
        return "-"
    number = value * 100 if percent else value
    if cut:
        number = math.floor(number * 10**decimals) / 10**decimals
    return f"{number:.{decimals}f}"


class Honest(NamedTuple):
    """A table that nobody can object to."""

    cells: list[dict[str, Any]]
    facts: dict[str, Any]
    constant: tuple[bool, ...] = ()
    """Of each row, whether its predictor always says the same."""
    decimals: int = 0
    """Of shares."""


def honest_table(generator: np.random.Generator, name: str, rows: int = 3, *, classes_known: bool = False) -> Honest:
    """A table of predictors on the same cases, with one kind, convention and way to print."""
    kind = str(generator.choice(["multi-label", "multi-class", "binary"], p=[0.5, 0.45, 0.05]))
    classes, cases = int(generator.integers(2, 13)), int(generator.choice([17, 36, 68, 140, 292, 2000]))
    decimals, percent, cut = int(generator.integers(1, 5)), generator.random() < 0.4, generator.random() < 0.3
    undefined = float(generator.choice([0.0, 1.0, math.nan], p=[0.6, 0.2, 0.2]))
    if kind != "multi-class":
        positives = label_cases(generator, 1 if kind == "binary" else classes, cases)
        counts = [multi_label(generator, positives, cases) for _ in range(rows)]
    else:
        reference = class_cases(generator, classes, cases)
        counts = [multi_class(generator, reference, classes) for _ in range(rows)]
    values = [metrics(one, undefined) for one in counts]
    printed_decimals = max(decimals - 2, 0) if percent else decimals
    facts = {
        "table": name, "kind": kind, "classes": str(classes) if classes_known else "", "cases": str(cases),
    }  # fmt: skip
    cells = cells_of(name, values, printed_decimals, cut=cut, percent=percent)
    return Honest(cells, facts, tuple(one.constant for one in counts), decimals)


def cells_of(
    name: str, values: list[dict[str, float]], decimals: int, *, cut: bool = False, percent: bool = False
) -> list[dict[str, Any]]:
    """The rows of metrics as printed cells; the best of a column is bold, before anything was rounded."""
    best = {
        column: max((row[column] for row in values if not math.isnan(row[column])), default=0.0) for column in COLUMNS
    }
    return [
        {
            "table": name, "row": f"model {number}", "column": column,
            "value": printed(row[column], decimals, cut=cut, percent=percent), "bold": row[column] == best[column],
        }
        for number, row in enumerate(values)
        for column in COLUMNS
    ]  # fmt: skip


def honest_class_table(generator: np.random.Generator, name: str) -> Honest:
    """The F1 of each class with their average, and the cases of each class with their total, as printed."""
    decimals, cut, classes = int(generator.integers(1, 4)), generator.random() < 0.3, int(generator.integers(2, 9))
    cells = []
    for number in range(3):
        scores, support = generator.beta(2, 2, classes), generator.integers(1, 4000, size=classes)
        line = {f"F1 / class {k}": printed(score, decimals, cut=cut, percent=False) for k, score in enumerate(scores)}
        line["F1 / Avg"] = printed(float(scores.mean()), decimals, cut=cut, percent=False)
        line |= {f"# / class {k}": f"{count:,}" for k, count in enumerate(support)}
        line["# / Total"] = f"{support.sum():,}"
        cells += [
            {"table": name, "row": f"model {number}", "column": c, "value": v, "bold": False} for c, v in line.items()
        ]
    return Honest(cells, {})


def honest_tables(count: int, seed: int) -> Iterator[Honest]:
    """So many honest tables; every tenth lists classes with averages and totals."""
    generator = np.random.default_rng(seed)
    for number in range(count):
        make = honest_class_table if number % 10 == 9 else honest_table
        yield make(generator, f"t{number}")
