"""`prevalence`: prevalences printed elsewhere fix what a predictor that always says the same must score.

All-positive: A = P = J = mean p, F1 = mean of 2p/(1 + p), weighted P and J = Σp²/Σp. All-negative: A = 1 - mean p. One
constant class: A is one of the p. Rows only read as such predictors, up to rounding: what does not fit is suspicious.
Within one table the accuracies of an all-positive and an all-negative row sum to 1.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from surgeval.audit.tables.rows import Rows
from surgeval.audit.tables.rules.degenerate import Degenerate, degenerate_rows
from surgeval.audit.tables.rules.labelwise import prevalence_bounds
from surgeval.audit.tables.vocabulary import Grade, TableFinding

_RULE = "prevalence"


def check(rows: Rows) -> Iterator[TableFinding]:
    """Degenerate rows that do not fit the prevalences, or each other."""
    degenerate = degenerate_rows(rows)
    for row in degenerate:
        yield from _against_prevalence(rows, row)
    yield from _against_each_other(rows, degenerate)


def _against_prevalence(rows: Rows, row: Degenerate) -> Iterator[TableFinding]:
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
            row.entry, Grade.SUSPICIOUS, _RULE, [metric], f"{law} = {wanted}; printed {rows.span(row.entry, metric)}",
            f"the row reads as {row.what}, but not on data with these prevalences",
        )  # fmt: skip


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


def _against_each_other(rows: Rows, degenerate: list[Degenerate]) -> Iterator[TableFinding]:
    """All-positive and all-negative rows of one table whose accuracies do not sum to 1."""
    lows, highs = rows.bounds["rounded"].low["accuracy"], rows.bounds["truncated"].high["accuracy"]
    positive = [row.entry for row in degenerate if row.what == "all-positive"]
    for negative in (row.entry for row in degenerate if row.what == "all-negative"):
        for other in (entry for entry in positive if rows.table[entry] == rows.table[negative]):
            low, high = (side[other] + side[negative] for side in (lows, highs))
            if low > 1 or high < 1:
                name = rows.of(other).table.rows[rows.row[other]]
                text = f"{rows.cell(other, 'accuracy').text} ({name}) + {rows.cell(negative, 'accuracy').text}"
                whole = "100" if rows.of(other).percent[int(rows.column["accuracy"][other])] else "1"
                yield rows.finding(
                    negative, Grade.SUSPICIOUS, _RULE, ["accuracy"], f"{text} = {whole} does not hold",
                    "on the same data, saying yes always is right where saying no always is wrong",
                )  # fmt: skip
