"""Laws between the columns of a row: what no data, or no single-label data, can give.

- `range`: shares lie between 0 and 1, or between 0 and 100 %.
- `accuracy-between`: accuracy of one class against the rest is the mean of sensitivity and specificity, weighted by the
  prevalence, and lies between them.
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

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from surgvalid.audit.tables.cells import PrintedCell
from surgvalid.audit.tables.metric_names import METRICS
from surgvalid.audit.tables.rows import Array, Bounds, Mask, PrintedRows, entries_where
from surgvalid.audit.tables.rules.possible_counts import p_columns
from surgvalid.audit.tables.vocabulary import Grade, TableFinding

_A, _R = "accuracy", "weighted_recall"
Side = Callable[[Bounds], Array]
_ROOM = 1e-9
"""Room for the arithmetic of floating point."""


def value_range(rows: PrintedRows) -> Iterator[TableFinding]:
    """Metrics and p-values that are printed outside their range."""
    for metric in METRICS:
        for entry in entries_where((rows.value[metric] < 0) | (rows.value[metric] > 1)):
            most = "100" if rows.of(entry).percent[rows.column[metric][entry]] else "1"
            mixed = " and not in percent beside shares" if rows.value[metric][entry] > 2 else ""
            meaning = f"no data give this, if the column is {metric}{mixed}"
            text = f"0 ≤ {metric} ≤ {most} does not hold"
            yield rows.finding(entry, Grade.IMPOSSIBLE, "range", [metric], text, meaning)
    for read in rows.tables:
        for index in p_columns(read):
            for row, cell in enumerate(read.table.values(index)):
                if cell.value is not None and not 0 <= cell.value <= 1:
                    meaning = "no test gives this, if the column is a p-value"
                    yield read.finding(Grade.IMPOSSIBLE, "range", [row], [index], "0 ≤ p ≤ 1 does not hold", meaning)


def least_jaccard(f1: Array) -> Array:
    """The Jaccard index of a class with this F1, and the least average one of classes with this average."""
    return f1 / (2 - f1)


def harmonic(precision: Array, recall: Array) -> Array:
    """The harmonic mean; NaN where both are 0."""
    return 2 * precision * recall / (precision + recall)


class Law(NamedTuple):
    """What some metrics of a row leave for another one."""

    rule: str
    metric: str
    given: tuple[str, ...]
    words: str
    most: Side
    meaning: str | Callable[[int], str]
    least: Side = lambda b: np.zeros(b.low[_A].size)
    where: Mask | bool = True
    grade: Grade = Grade.IMPOSSIBLE


def laws(rows: PrintedRows) -> Iterator[TableFinding]:
    """The rows with a metric outside of what others leave for it, whether digits were rounded or cut off."""
    every = [*_laws_of_accuracy(rows)]
    for weight in ("", "weighted_"):
        every += _laws_of_overlap(rows, weight)
    for law in every:
        yield from _held_to(rows, law)


def _held_to(rows: PrintedRows, law: Law) -> Iterator[TableFinding]:
    def outside(b: Bounds) -> Mask:
        high, low = b.high[law.metric], b.low[law.metric]
        broken: Mask = law.where & ((high < law.least(b) - _ROOM) | (low > law.most(b) + _ROOM))
        return broken

    with np.errstate(invalid="ignore", divide="ignore"):
        least, most = law.least(rows.bounds["rounded"]), law.most(rows.bounds["rounded"])
    for entry in rows.broken(outside):
        reach = f"{rows.shown(entry, law.metric, least[entry])} to {rows.shown(entry, law.metric, most[entry])}"
        given = [(name.replace("_", " "), rows.span(entry, name)) for name in law.given]
        spans = "; ".join(f"{name} is {span}" for name, span in given if span != reach)
        text = f"{law.words}{f' ({spans})' * bool(spans)}; {rows.span(entry, law.metric)} and {reach} do not meet"
        meaning = law.meaning if isinstance(law.meaning, str) else law.meaning(entry)
        yield rows.finding(entry, law.grade, law.rule, [law.metric, *law.given], text, meaning)


def _laws_of_accuracy(rows: PrintedRows) -> Iterator[Law]:
    yield Law(
        "accuracy-recall",
        _A,
        (_R,),
        "accuracy = Σ support × recall / Σ support = weighted recall",
        lambda b: b.high[_R],
        "the two columns were not computed from the same predictions, cases or classes",
        lambda b: b.low[_R],
        rows.is_kind("multi-class"),
        Grade.INCONSISTENT,
    )
    for kind, grade, meaning in (
        ("binary", Grade.IMPOSSIBLE, "the columns are not of the same cases or threshold, or one of them is wrong"),
        ("", Grade.SUSPICIOUS, "impossible of one class; averages over several classes may do so (--kind decides)"),
    ):
        yield Law(
            "accuracy-between",
            _A,
            ("recall", "specificity"),
            "accuracy = p × sensitivity + (1 - p) × specificity",
            lambda b: np.maximum(b.high["recall"], b.high["specificity"]),
            meaning,
            lambda b: np.minimum(b.low["recall"], b.low["specificity"]),
            rows.is_kind(kind),
            grade,
        )
    means = np.array([mean_prevalence(read.facts.prevalence) for read in rows.tables]).reshape(-1, 2)[rows.table]
    low, high = means.T
    yield Law(
        "labelwise-accuracy",
        _A,
        (_R,),
        "p × R ≤ accuracy ≤ 1 - p × (1 - R), p the mean prevalence",
        lambda b: 1 - low * (1 - b.high[_R]),
        lambda entry: (
            f"no label-wise accuracy of data with p of {low[entry]:.4f} to {high[entry]:.4f}; an exact-match accuracy "
            "or other cases would explain it"
        ),
        lambda b: low * b.low[_R],
        rows.is_kind("multi-label", "binary"),
        Grade.INCONSISTENT,
    )


def _laws_of_overlap(rows: PrintedRows, weight: str) -> Iterator[Law]:
    """Of F1 and the Jaccard index, which are averages but where there is one class."""
    exact = rows.is_kind("binary")
    f1, jaccard, precision, recall = (f"{weight}{name}" for name in ("f1", "jaccard", "precision", "recall"))
    yield Law(
        "jaccard-f1",
        jaccard,
        (f1,),
        "J = F1/(2 - F1) of one class, so F1/(2 - F1) ≤ J ≤ F1 on average",
        lambda b: np.where(exact, least_jaccard(b.high[f1]), b.high[f1]),
        lambda entry: _why_f1_is_large(rows, entry, weight),
        lambda b: least_jaccard(b.low[f1]),
    )
    yield Law(
        "f1-harmonic",
        f1,
        (precision, recall),
        "F1 = 2PR/(P + R) of one class, and at most that on average",
        lambda b: harmonic(b.high[precision], b.high[recall]),
        _OTHER_CLASSES,
        lambda b: np.where(exact, harmonic(b.low[precision], b.low[recall]), 0.0),
    )
    yield Law(
        "jaccard-bound",
        jaccard,
        (precision,),
        "J = TP/(TP + FP + FN) ≤ precision",
        lambda b: b.high[precision],
        _OTHER_CLASSES,
    )
    yield Law(
        "jaccard-bound",
        jaccard,
        (recall,),
        "J = TP/(TP + FP + FN) ≤ recall",
        lambda b: b.high[recall],
        _OTHER_CLASSES,
    )


_OTHER_CLASSES = "the columns do not average the same classes, or one of them is wrong"


def _why_f1_is_large(rows: PrintedRows, entry: int, weight: str) -> str:
    """What follows; averages that were combined afterwards explain an F1 that is too large for its J."""
    f1 = f"{weight}f1"
    with np.errstate(invalid="ignore", divide="ignore"):
        combined = harmonic(*(rows.value[f"{weight}{name}"] for name in ("precision", "recall")))[entry]
    if rows.bounds["rounded"].low[f1][entry] <= combined <= rows.bounds["rounded"].high[f1][entry]:
        return "F1 is the harmonic mean of the averaged precision and recall, and no average of the F1 of classes"
    return "the two columns do not average the same classes"


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


def single_label(rows: PrintedRows) -> Iterator[TableFinding]:
    """Multi-label rows whose accuracy is their weighted recall."""
    same = rows.is_kind("multi-label") & (rows.value[_A] == rows.value[_R])
    for entry in entries_where(same & (rows.value[_A] > 0) & (rows.value[_A] < 1)):
        yield rows.finding(
            entry,
            Grade.SUSPICIOUS,
            "single-label-scoring",
            [_A, _R],
            "accuracy = weighted recall holds of every single-label scoring, and of label-wise accuracy by chance only",
            "the row may have been scored as single-label, unlike the rest of the table",
        )
