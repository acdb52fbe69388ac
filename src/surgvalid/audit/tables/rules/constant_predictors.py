"""Rows that read as predictors which always say the same, and what prevalences say about such rows.

`degenerate` and `degenerate-best`. All-positive: recall 1, and accuracy, precision and Jaccard index are all the mean
prevalence (a class without cases has recall 0, so weighted recall decides where it is printed). All-negative:
everything 0 but accuracy. One class of K always: recall 1/K, precision and Jaccard index A/K, F1 2A/((1 + A)K),
weighted precision and Jaccard index A², weighted F1 2A²/(1 + A).

`prevalence`: prevalences printed elsewhere fix what such a predictor must score. All-positive: A = P = J = mean p, F1 =
mean of 2p/(1 + p), weighted P and J = Σp²/Σp. All-negative: A = 1 - mean p. One constant class: A is one of the p. Rows
only read as such predictors, up to rounding: what does not fit is suspicious. Within one table the accuracies of an
all-positive and an all-negative row sum to 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from surgvalid.audit.tables.cells import READINGS
from surgvalid.audit.tables.metric_names import METRICS
from surgvalid.audit.tables.rows import SLACK, Array, Bounds, Mask, PrintedRows
from surgvalid.audit.tables.rules.laws import prevalence_bounds
from surgvalid.audit.tables.vocabulary import Grade, TableFinding

_MOST_CLASSES = 60
_SCORES = ("f1", "jaccard", "recall", "weighted_f1", "weighted_jaccard", "weighted_recall")


class Degenerate(NamedTuple):
    """What a row reads as."""

    entry: int
    what: str
    """`all-positive`, `all-negative` or `constant class`."""
    classes: int = 0
    """Of a constant class: among how many."""


def degenerate_rows(rows: PrintedRows) -> list[Degenerate]:
    """The rows that read as predictors which always say the same."""
    labels = rows.is_kind("multi-label", "binary", "")
    with np.errstate(invalid="ignore"):
        positive = np.flatnonzero(labels & _all_positive(rows))
        negative = np.flatnonzero(labels & _all_negative(rows))
        classes = _constant(rows)
    constant = np.flatnonzero(rows.is_kind("multi-class", "") & (classes > 0))
    taken = {*positive.tolist(), *negative.tolist()}
    return [
        *(Degenerate(int(entry), "all-positive") for entry in positive),
        *(Degenerate(int(entry), "all-negative") for entry in negative),
        *(Degenerate(int(entry), "constant class", int(classes[entry])) for entry in constant if entry not in taken),
    ]


def degenerate(rows: PrintedRows) -> Iterator[TableFinding]:
    """Rows that read as degenerate, and those of them that are best in a column."""
    for row in degenerate_rows(rows):
        yield _described(rows, row)
        yield from _best(rows, row)


def _meet(low: Array, high: Array, other_low: Array, other_high: Array) -> Mask:
    """Where two ranges share more than an end, or one of them is not there."""
    return ~((high < other_low + 3 * SLACK) | (low > other_high - 3 * SLACK))


def _all_positive(rows: PrintedRows) -> Mask:
    value, bounds = rows.value, rows.bounds["rounded"]
    recall = np.where(np.isnan(value["weighted_recall"]), value["recall"], value["weighted_recall"])
    equal = ~np.isnan(value["accuracy"]) & ~np.isnan(value["precision"])
    for name in ("precision", "jaccard"):
        equal &= _meet(bounds.low["accuracy"], bounds.high["accuracy"], bounds.low[name], bounds.high[name])
    weighted = _meet(
        *(side[f"weighted_{name}"] for name in ("precision", "jaccard") for side in (bounds.low, bounds.high))
    )
    return np.asarray((recall == 1) & (value["accuracy"] < 1) & (value["accuracy"] > 0) & equal & weighted)


def _all_negative(rows: PrintedRows) -> Mask:
    printed = [rows.value[name] for name in (*_SCORES, "precision", "weighted_precision")]
    zero = np.logical_and.reduce([np.isnan(value) | (value == 0) for value in printed])
    enough = (rows.value["recall"] == 0) & (rows.value["f1"] == 0)
    return np.asarray(zero & enough & (rows.value["accuracy"] > 0))


def _constant(rows: PrintedRows) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The one number of classes with which a row reads as a constant class; 0 where there is none, or several."""
    count, classes = np.zeros(rows.table.size, dtype=np.int64), np.zeros(rows.table.size, dtype=np.int64)
    known = np.logical_and.reduce([~np.isnan(rows.value[name]) for name in ("accuracy", "f1", "precision", "recall")])
    known &= (rows.value["accuracy"] > 0) & (rows.value["accuracy"] < 1)
    for number in range(2, _MOST_CLASSES + 1):
        fits = known & np.logical_or.reduce([_fits_constant(rows.bounds[reading], number) for reading in READINGS])
        count += fits
        classes[fits] = number
    return np.where(count == 1, classes, 0)


def _fits_constant(b: Bounds, classes: int) -> Mask:
    def law(name: str, least: Array, most: Array) -> Mask:
        return _meet(b.low[name], b.high[name], least, most)

    low, high = b.low["accuracy"], b.high["accuracy"]
    share = np.full(low.shape, 1 / classes)
    return np.asarray(
        law("recall", share, share)
        & law("weighted_recall", low, high)
        & law("precision", low / classes, high / classes)
        & law("jaccard", low / classes, high / classes)
        & law("f1", 2 * low / ((1 + low) * classes), 2 * high / ((1 + high) * classes))
        & law("weighted_precision", low**2, high**2)
        & law("weighted_jaccard", low**2, high**2)
        & law("weighted_f1", 2 * low**2 / (1 + low), 2 * high**2 / (1 + high))
    )


def _described(rows: PrintedRows, row: Degenerate) -> TableFinding:
    entry = row.entry
    accuracy = rows.value["accuracy"][entry]
    if row.what == "constant class":
        metrics, k = ["accuracy", "f1", "precision", "recall"], row.classes
        f1 = rows.shown(entry, "f1", 2 * accuracy / ((1 + accuracy) * k))
        precision = rows.shown(entry, "precision", accuracy / k)
        text = (
            f"K = {k}: R = 1/K = {rows.shown(entry, 'recall', 1 / k)}, P = A/K = {precision}, F1 = 2A/((1 + A)K) = {f1}"
        )
        meaning = f"reads as a predictor that always names one class of {k}"
    elif row.what == "all-positive":
        recall = "weighted_recall" if rows.value["recall"][entry] != 1 else "recall"
        metrics = [name for name in ("accuracy", "precision", "jaccard", recall) if rows.column[name][entry] >= 0]
        text, meaning = "A = P = J = mean prevalence and R = 1", "reads as a predictor that says yes to every label"
    else:
        metrics = [name for name in ("accuracy", "f1", "recall") if rows.column[name][entry] >= 0]
        text = "F1 = R = 0, so no label is found; where none is named, A = 1 - mean prevalence"
        meaning = "reads as a predictor that says no to every label, or is wrong wherever it says yes"
    return rows.finding(entry, Grade.SUSPICIOUS, "degenerate", metrics, text, meaning)


def _best(rows: PrintedRows, row: Degenerate) -> Iterator[TableFinding]:
    """The columns in which a degenerate row is best; full recall is what saying yes gives, and is no news."""
    entry = row.entry
    read = rows.of(entry)
    spared = ("recall", "weighted_recall") if row.what == "all-positive" else ()
    best = []
    for metric in (name for name in METRICS if rows.column[name][entry] >= 0 and name not in spared):
        others = [cell.value for cell in read.table.values(rows.column[metric][entry]) if cell.value is not None]
        value = rows.cell(entry, metric).value
        if len(others) > 1 and value and value >= max(others):
            best.append(metric)
    if best:
        yield rows.finding(
            entry,
            Grade.SUSPICIOUS,
            "degenerate-best",
            best,
            "no row has a larger value there" if len(best) > 1 else "no row has a larger value",
            f"a row that reads as {row.what.replace('constant class', 'one constant class')} is best or tied for best",
        )


_PREVALENCE = "prevalence"


def prevalence(rows: PrintedRows) -> Iterator[TableFinding]:
    """Degenerate rows that do not fit the prevalences, or each other."""
    always_same = degenerate_rows(rows)
    for row in always_same:
        yield from _against_prevalence(rows, row)
    yield from _against_each_other(rows, always_same)


def _against_prevalence(rows: PrintedRows, row: Degenerate) -> Iterator[TableFinding]:
    prevalence = rows.of(row.entry).facts.prevalence
    if not prevalence:
        return
    ends = np.array([prevalence_bounds(cell, prevalence) for cell in prevalence])
    for metric, law, spans in _expected(row.what, ends[:, 0], ends[:, 1]):
        if rows.column[metric][row.entry] < 0:
            continue
        low, high = rows.bounds["rounded"].low[metric][row.entry], rows.bounds["truncated"].high[metric][row.entry]
        if any(low <= most and high >= least for least, most in spans):
            continue
        wanted = " or ".join(
            f"{rows.shown(row.entry, metric, least)} to {rows.shown(row.entry, metric, most)}" for least, most in spans
        )
        yield rows.finding(
            row.entry,
            Grade.SUSPICIOUS,
            _PREVALENCE,
            [metric],
            f"{law} = {wanted}; printed {rows.span(row.entry, metric)}",
            f"the row reads as {row.what}, but not on data with these prevalences",
        )


def _expected(
    what: str, low: np.ndarray[tuple[int], np.dtype[np.float64]], high: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> Iterator[tuple[str, str, list[tuple[float, float]]]]:
    """Metric, law and the ranges it allows."""
    least, most = float(low.mean()), float(high.mean())
    if what == "all-negative":
        yield "accuracy", "1 - mean p", [(1 - most, 1 - least)]
    elif what == "constant class":
        yield "accuracy", "A = p of the class", [(float(a), float(b)) for a, b in zip(low, high, strict=True)]
    else:
        for metric in ("accuracy", "precision", "jaccard"):
            yield metric, "mean p", [(least, most)]
        f1 = [(float((2 * low / (1 + low)).mean()), float((2 * high / (1 + high)).mean()))]
        yield "f1", "mean of 2p/(1 + p)", f1
        if low.sum() > 0:
            squares = [(float((low**2).sum() / high.sum()), float((high**2).sum() / low.sum()))]
            yield "weighted_precision", "Σp²/Σp", squares
            yield "weighted_jaccard", "Σp²/Σp", squares


def _against_each_other(rows: PrintedRows, always_same: list[Degenerate]) -> Iterator[TableFinding]:
    """All-positive and all-negative rows of one table whose accuracies do not sum to 1."""
    lows, highs = rows.bounds["rounded"].low["accuracy"], rows.bounds["truncated"].high["accuracy"]
    positive = [row.entry for row in always_same if row.what == "all-positive"]
    for negative in (row.entry for row in always_same if row.what == "all-negative"):
        for other in (entry for entry in positive if rows.table[entry] == rows.table[negative]):
            low, high = (side[other] + side[negative] for side in (lows, highs))
            if low > 1 or high < 1:
                name = rows.of(other).table.rows[rows.row[other]]
                text = f"{rows.cell(other, 'accuracy').text} ({name}) + {rows.cell(negative, 'accuracy').text}"
                whole = "100" if rows.of(other).percent[int(rows.column["accuracy"][other])] else "1"
                yield rows.finding(
                    negative,
                    Grade.SUSPICIOUS,
                    _PREVALENCE,
                    ["accuracy"],
                    f"{text} = {whole} does not hold",
                    "on the same data, saying yes always is right where saying no always is wrong",
                )
