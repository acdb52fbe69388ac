"""Laws between the columns of a row: what no data, or no single-label data, can give.

- `range`: shares lie between 0 and 1, or between 0 and 100 %.
- `accuracy-recall`: in multi-class tables accuracy is the recall of the classes, weighted by their sizes: the right
  answers of class k are its recall times its cases, so their sum over all cases is both.
- `jaccard-f1`: J = F/(2 - F) for each class, which is convex, so that averages keep F/(2 - F) <= J <= F. Jensen's
  inequality gives the lower bound for every set of weights; the upper one holds class by class.
- `f1-harmonic`: averaged F1 is at most the harmonic mean of averaged precision and recall, which is concave in both
  (Jensen). It does not hold where the columns average different classes.
- `jaccard-bound`: J is at most precision and at most recall, class by class and so on average.
- `labelwise-accuracy`: with mean prevalence p and recall R weighted by it, a share pR of all labels is found and
  a share p(1 - R) is missed, so label-wise accuracy of multi-label tables lies between pR and 1 - p(1 - R).
- `single-label-scoring`: accuracy that equals weighted recall is what single-label scoring gives, always.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import numpy as np

from surgvalid.audit.tables.cells import PrintedCell
from surgvalid.audit.tables.metric_names import METRICS
from surgvalid.audit.tables.rows import Array, Bounds, Mask, PrintedRows, entries_where
from surgvalid.audit.tables.vocabulary import Grade, TableFinding

Number = TypeVar("Number", float, Array)
_A, _R = "accuracy", "weighted_recall"


def value_range(rows: PrintedRows) -> Iterator[TableFinding]:
    """Metrics that are printed outside their range."""
    for metric in METRICS:
        for entry in entries_where((rows.value[metric] < 0) | (rows.value[metric] > 1)):
            most = "100" if rows.of(entry).percent[rows.column[metric][entry]] else "1"
            yield rows.finding(
                entry,
                Grade.IMPOSSIBLE,
                "range",
                [metric],
                f"0 ≤ {metric} ≤ {most} does not hold",
                f"no data give this, if the column is {metric}",
            )


def accuracy_recall(rows: PrintedRows) -> Iterator[TableFinding]:
    """Multi-class rows whose accuracy is not their weighted recall."""
    broken = rows.broken(lambda b: ((b.high[_A] < b.low[_R]) | (b.low[_A] > b.high[_R])) & rows.is_kind("multi-class"))
    for entry in broken:
        yield rows.finding(
            entry,
            Grade.INCONSISTENT,
            "accuracy-recall",
            [_A, _R],
            f"accuracy = Σ support × recall / Σ support = weighted recall; {rows.span(entry, _A)} and "
            f"{rows.span(entry, _R)} do not meet",
            "the two columns were not computed from the same predictions, cases or classes",
        )


def least_jaccard(f1: Number) -> Number:
    """The Jaccard index of a class with this F1, and the least average one of classes with this average."""
    return f1 / (2 - f1)


def jaccard_f1(rows: PrintedRows) -> Iterator[TableFinding]:
    """Rows whose Jaccard index and F1 cannot belong together."""
    for weight in ("", "weighted_"):
        yield from _jaccard_and_f1(rows, f"{weight}f1", f"{weight}jaccard")


def _jaccard_and_f1(rows: PrintedRows, f1: str, jaccard: str) -> Iterator[TableFinding]:
    exact = rows.is_kind("binary")

    def outside(b: Bounds) -> Mask:
        most = b.high[f1].copy()
        most[exact] = least_jaccard(most[exact])
        return (b.high[jaccard] < least_jaccard(b.low[f1]) - 1e-9) | (b.low[jaccard] > most + 1e-9)

    for entry in rows.broken(outside):
        low, high = rows.bounds["rounded"].low[f1][entry], rows.bounds["rounded"].high[f1][entry]
        most = least_jaccard(high) if exact[entry] else high
        span = f"{rows.shown(entry, jaccard, least_jaccard(low))} to {rows.shown(entry, jaccard, most)}"
        law = "J = F1/(2 - F1)" if exact[entry] else "F1/(2 - F1) ≤ J ≤ F1"
        yield rows.finding(
            entry,
            Grade.IMPOSSIBLE,
            "jaccard-f1",
            [f1, jaccard],
            f"{law}: F1 of {rows.span(entry, f1)} gives J of {span}; J is {rows.span(entry, jaccard)}",
            _why_f1_is_large(rows, entry, f1),
        )


def _why_f1_is_large(rows: PrintedRows, entry: int, f1: str) -> str:
    """What follows; averages that were combined afterwards explain an F1 that is too large for its J."""
    weight = f1.removesuffix("f1")
    precision, recall = (rows.value[f"{weight}{name}"][entry] for name in ("precision", "recall"))
    combined = 2 * precision * recall / (precision + recall) if precision + recall > 0 else float("nan")
    if rows.bounds["rounded"].low[f1][entry] <= combined <= rows.bounds["rounded"].high[f1][entry]:
        return "F1 is the harmonic mean of the averaged precision and recall, and no average of the F1 of classes"
    return "the two columns do not average the same classes"


def harmonic(precision: Number, recall: Number) -> Number:
    """The harmonic mean; NaN where both are 0."""
    return 2 * precision * recall / (precision + recall)


def f1_harmonic(rows: PrintedRows) -> Iterator[TableFinding]:
    """Rows whose F1 is above what precision and recall allow; where there is one class, below it too."""
    for weight in ("", "weighted_"):
        yield from _f1_and_harmonic(rows, *(f"{weight}{name}" for name in ("f1", "precision", "recall")))


def _f1_and_harmonic(rows: PrintedRows, f1: str, precision: str, recall: str) -> Iterator[TableFinding]:
    exact = rows.is_kind("binary")

    def outside(b: Bounds) -> Mask:
        above = b.low[f1] > harmonic(b.high[precision], b.high[recall]) + 1e-9
        return above | (exact & (b.high[f1] < harmonic(b.low[precision], b.low[recall]) - 1e-9))

    for entry in rows.broken(outside):
        most = harmonic(*(rows.bounds["rounded"].high[name][entry] for name in (precision, recall)))
        least = harmonic(*(rows.bounds["rounded"].low[name][entry] for name in (precision, recall)))
        law = "F1 = 2PR/(P + R)" if exact[entry] else "F1 ≤ 2PR/(P + R)"
        reach = f"{rows.shown(entry, f1, least)} to " if exact[entry] else "at most "
        yield rows.finding(
            entry,
            Grade.IMPOSSIBLE,
            "f1-harmonic",
            [f1, precision, recall],
            f"{law}: {reach}{rows.shown(entry, f1, most)} from P of {rows.span(entry, precision)} and R of "
            f"{rows.span(entry, recall)}; F1 is {rows.span(entry, f1)}",
            "the columns do not average the same classes, or one of them is wrong",
        )


def jaccard_bound(rows: PrintedRows) -> Iterator[TableFinding]:
    """Rows whose Jaccard index is above precision or recall."""
    for weight in ("", "weighted_"):
        for bound in (f"{weight}precision", f"{weight}recall"):
            yield from _jaccard_below(rows, f"{weight}jaccard", bound)


def _jaccard_below(rows: PrintedRows, jaccard: str, bound: str) -> Iterator[TableFinding]:
    for entry in rows.broken(lambda b: b.low[jaccard] > b.high[bound]):
        name = bound.replace("_", " ")
        yield rows.finding(
            entry,
            Grade.IMPOSSIBLE,
            "jaccard-bound",
            [jaccard, bound],
            f"J = TP/(TP + FP + FN) ≤ {name}; J is {rows.span(entry, jaccard)}, {name} {rows.span(entry, bound)}",
            "the two columns do not average the same classes, or one of them is wrong",
        )


def mean_prevalence(prevalence: tuple[PrintedCell, ...]) -> tuple[float, float]:
    """The least and the greatest mean of prevalences printed so; NaN where there are none."""
    ends = [prevalence_bounds(cell, prevalence) for cell in prevalence]
    if not ends:
        return float("nan"), float("nan")
    return sum(low for low, _ in ends) / len(ends), sum(high for _, high in ends) / len(ends)


def prevalence_bounds(cell: PrintedCell, others: tuple[PrintedCell, ...]) -> tuple[float, float]:
    """The least and the greatest prevalence printed so, rounded or cut off, as shares."""
    percent = any(other.percent or (other.value or 0) > 1 for other in others)
    unit, half, value = 0.01 if percent else 1.0, 0.5 * 10.0**-cell.decimals, cell.value or 0.0
    return max(0.0, (value - half) * unit), min(1.0, (value + 2 * half) * unit)


def labelwise(rows: PrintedRows) -> Iterator[TableFinding]:
    """Multi-label rows whose accuracy is out of reach, or is their weighted recall."""
    yield from _out_of_reach(rows)
    same = rows.is_kind("multi-label") & (rows.value[_A] == rows.value[_R])
    inside = (rows.value[_A] > 0) & (rows.value[_A] < 1)
    for entry in entries_where(same & inside):
        yield rows.finding(
            entry,
            Grade.SUSPICIOUS,
            "single-label-scoring",
            [_A, _R],
            "accuracy = weighted recall holds of every single-label scoring, and of label-wise accuracy by chance only",
            "the row may have been scored as single-label, unlike the rest of the table",
        )


def _out_of_reach(rows: PrintedRows) -> Iterator[TableFinding]:
    means = [mean_prevalence(read.facts.prevalence) for read in rows.tables]
    low, high = (np.array([pair[side] for pair in means])[rows.table] for side in (0, 1)) if means else (None, None)
    if low is None or high is None or np.isnan(low).all():
        return

    def outside(b: Bounds) -> Mask:
        least, most = low * b.low[_R], 1 - low * (1 - b.high[_R])
        return ((b.high[_A] < least) | (b.low[_A] > most)) & rows.is_kind("multi-label", "binary")

    for entry in rows.broken(outside):
        bounds = rows.bounds["rounded"]
        least = low[entry] * bounds.low[_R][entry]
        most = 1 - low[entry] * (1 - bounds.high[_R][entry])
        yield rows.finding(
            entry,
            Grade.INCONSISTENT,
            "labelwise-accuracy",
            [_A, _R],
            f"p × R ≤ accuracy ≤ 1 - p × (1 - R): mean prevalence p of {low[entry]:.4f} to {high[entry]:.4f} gives "
            f"{rows.shown(entry, _A, least)} to {rows.shown(entry, _A, most)}; accuracy is {rows.span(entry, _A)}",
            "no label-wise accuracy of these data; an exact-match accuracy or other cases would explain it",
        )
