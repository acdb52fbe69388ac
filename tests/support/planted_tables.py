"""Printed tables with one error of a known kind in them: one table per rule, made from an honest one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from printed_confusions import (
    COLUMNS,
    Counts,
    Honest,
    cells_of,
    class_cases,
    honest_class_table,
    label_cases,
    metrics,
    multi_class,
    multi_label,
)

Values = list[dict[str, float]]
Change = Callable[[np.random.Generator, dict[str, float]], dict[str, float]]
Plant = Callable[[np.random.Generator, str], Honest]
DECIMALS = (2, 3)


def _values(generator: np.random.Generator, kind: str, cases: int) -> tuple[Values, list[Counts]]:
    """Three rows that are neither constant nor perfect."""
    classes = int(generator.integers(3, 9))
    counts: list[Counts] = []
    labels, reference = label_cases(generator, classes, cases), class_cases(generator, classes, cases)
    while len(counts) < 3:
        labelled = kind == "multi-label"
        one = multi_label(generator, labels, cases) if labelled else multi_class(generator, reference, classes)
        if not one.constant:
            counts.append(one)
    return [metrics(one, 0.0) for one in counts], counts


def _changed(change: Change, kind: str = "multi-class", *, classes: bool = False) -> Plant:
    """A table whose second row had some numbers changed after it was computed."""

    def plant(generator: np.random.Generator, name: str) -> Honest:
        cases = int(generator.choice([36, 68, 140]))
        values, counts = _values(generator, kind, cases)
        values[1] = values[1] | change(generator, values[1])
        facts = {"table": name, "kind": kind, "cases": str(cases)}
        if kind == "multi-label":
            facts["prevalence"] = ";".join(f"{share:.3f}" for share in counts[0].prevalence)
        if classes:
            facts["classes"] = str(counts[0].classes)
        return Honest(cells_of(name, values, int(generator.choice(DECIMALS))), facts)

    return plant


def _moved_bold(generator: np.random.Generator, name: str) -> Honest:
    values, _ = _values(generator, "multi-class", 140)
    cells = cells_of(name, values, 2)
    column = str(generator.choice(COLUMNS))
    marks = [cell for cell in cells if cell["column"] == column]
    low, high = (min(marks, key=_number), max(marks, key=_number))
    low["bold"], high["bold"] = True, False
    return Honest(cells, {})


def _number(cell: dict[str, Any]) -> float:
    return float(cell["value"].replace(",", ""))


def _class_table(column: str, change: Callable[[np.random.Generator, float], str]) -> Plant:
    def plant(generator: np.random.Generator, name: str) -> Honest:
        honest = honest_class_table(generator, name)
        cell = [one for one in honest.cells if one["column"] == column][1]
        cell["value"] = change(generator, _number(cell))
        return honest

    return plant


def _constant(generator: np.random.Generator, name: str) -> Honest:
    values, counts = _values(generator, "multi-class", 140)
    support = counts[0].hits + counts[0].misses
    named = int(support.argmax())
    hits = np.zeros_like(support)
    hits[named] = support[named]
    alarms = np.zeros_like(support)
    alarms[named] = 140 - support[named]
    values[1] = metrics(Counts(hits, alarms, support - hits, 140, "multi-class", True), 0.0)
    return Honest(cells_of(name, values, 2), {"table": name, "kind": "multi-class"})


def _all_positive(generator: np.random.Generator, name: str, *, shift: float = 0.1) -> Honest:
    """A table in which one row says yes always, with prevalences of other data."""
    values, counts = _values(generator, "multi-label", 140)
    positives = counts[0].hits + counts[0].misses
    values[1] = metrics(Counts(positives, 140 - positives, 0 * positives, 140, "multi-label", True), 0.0)
    shares = np.clip(positives / 140 + shift, 0, 1)
    facts = {"table": name, "kind": "multi-label", "prevalence": ";".join(f"{share:.3f}" for share in shares)}
    return Honest(cells_of(name, values, 2), facts)


def _copied_row(generator: np.random.Generator, name: str) -> Honest:
    values, _ = _values(generator, "multi-class", 140)
    values[2] = values[0]
    return Honest(cells_of(name, values, 2), {})


def _share_of_fewer(generator: np.random.Generator, row: dict[str, float]) -> dict[str, float]:
    """Accuracy over another number of cases than is said."""
    other = int(generator.choice([23, 29, 31, 37]))
    share = int(generator.integers(1, other)) / other
    return {"A": share, "wR": share}


PLANTED: dict[str, Plant] = {
    "range": _changed(lambda g, row: {"A": 1 + g.uniform(0.02, 0.2)}),
    "accuracy-recall": _changed(lambda g, row: {"wR": abs(row["wR"] - g.uniform(0.03, 0.3))}),
    "jaccard-f1": _changed(lambda g, row: {"F1": row["J"], "J": row["F1"]}),
    "f1-harmonic": _changed(lambda g, row: {"F1": min(1.0, row["F1"] + g.uniform(0.05, 0.3))}),
    "jaccard-bound": _changed(lambda g, row: {"J": min(1.0, min(row["P"], row["R"]) + g.uniform(0.03, 0.2))}),
    "labelwise-accuracy": _changed(lambda g, row: {"A": g.uniform(0, 1)}, "multi-label"),
    "no-solution": _changed(lambda g, row: {"A": g.uniform(0, 1)}, "multi-label", classes=True),
    "single-label-scoring": _changed(lambda g, row: {"A": row["wR"]}, "multi-label"),
    "whole-counts": _changed(_share_of_fewer),
    "degenerate": _constant,
    "prevalence": _all_positive,
    "bold-not-best": _moved_bold,
    "average": _class_table("F1 / Avg", lambda g, value: f"{value + g.uniform(0.05, 0.3):.3f}"),
    "total": _class_table("# / Total", lambda g, value: f"{value + g.integers(1, 100):,.0f}"),
    "repeated-row": _copied_row,
}
"""A maker of tables with the error that each rule is for."""


def planted_tables(rule: str, count: int, seed: int) -> Iterator[Honest]:
    """So many tables with the error of a rule."""
    generator = np.random.default_rng(seed)
    for number in range(count):
        yield PLANTED[rule](generator, f"{rule} {number}")
