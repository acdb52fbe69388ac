"""Whether any counts or classes give the printed numbers: `no-solution` of a row, `whole-counts` of a share.

`no-solution`: whether any prevalences, precisions and recalls of K classes give all numbers of a multi-label row.

A class is its prevalence p, its recall r and the share f of its negatives that are wrongly named; K such classes give
every average and label-wise accuracy. Searches from many places (Levenberg-Marquardt on the logits, all at once) look
for values that print as the row does. Finding none proves nothing impossible, and is said as such. With r and f near 0
precision can be anything, and with p near 0 recall can; classes without cases may also be left out of the averages. So
no convention for undefined values is excluded.

`whole-counts`: a share out of n cases is k/n for a whole k (the GRIM test of Brown and Heathers 2017).

`counts-beside`: a share printed with its counts, as `0.87 (45/52)`, is that quotient; so is `12 (5.7%)` in a column of
n = 212, where most of its cells are.

Looked at: accuracy where the number of cases is known (in multi-label tables out of cases times classes), and columns
whose number of cases was named.

`interval`: a printed interval holds its number, and one of a share out of n cases has the width that n independent
cases give, or more. Expected is that of the normal approximation at the stated level, else at 95 %; least, that of
Wilson's interval, which is narrower by at most the square root of 1 + z²/n, at the share of the printed digits that
gives least. Dependent cases only widen it, and so do fewer: sensitivity, specificity and precision of one class are
shares of some of the cases.

`p-value`: an interval of a difference leaves out 0, and one of a ratio 1, where the p-value beside it is below 1 less
the level. How far both are apart is told in standard errors, from the end of the interval that is nearer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from surgvalid.audit.tables.cells import PrintedCell
from surgvalid.audit.tables.layout import INTERVALS, counted_in
from surgvalid.audit.tables.metric_names import CHANGES, ColumnReading
from surgvalid.audit.tables.rows import SLACK, PrintedRows, ReadTable, entries_where, number_text
from surgvalid.audit.tables.vocabulary import Grade, TableFinding

Array = npt.NDArray[np.float64]
_SCORES = ("precision", "recall", "f1", "jaccard")
METRICS = ("accuracy", *_SCORES, *(f"weighted_{name}" for name in _SCORES))
_FEWEST = 4
"""Metrics that a row must print, accuracy among them, before a search can say anything."""
_STARTS = 128
_STEPS = 200
_STALLED = 30
"""Steps after which a search must have come nearer to go on."""
_WIDEST = 25.0
"""Largest logit: a share of 1e-11."""
_EXTREME = 8.0
"""Logit of a share next to 0 or 1."""
_CLOSE = 1e-4
"""Misses below this are those of the search."""
_ABSENT = (0, 1, 2, 0)
"""Classes without cases that are left out of the averages, search by search."""
_MOST_CLASSES = 40


def no_solution(rows: PrintedRows) -> Iterator[TableFinding]:
    """Multi-label rows for which no classes were found."""
    values = np.stack([rows.value[name] for name in METRICS], axis=1)
    printed = ~np.isnan(values)
    asked = rows.is_kind("multi-label") & printed[:, 0] & (printed.sum(axis=1) >= _FEWEST)
    for entry in entries_where(asked):
        if not 0 < (classes := rows.of(entry).facts.classes) <= _MOST_CLASSES:
            continue
        names = [name for name, there in zip(METRICS, printed[entry], strict=True) if there]
        low = np.array([rows.bounds["rounded"].low[name][entry] for name in names])
        high = np.array([rows.bounds["truncated"].high[name][entry] for name in names])
        if (distance := nearest(names, low, high, classes)) > 0:
            yield rows.finding(
                entry,
                Grade.SUSPICIOUS,
                "no-solution",
                names,
                f"no solution found for K = {classes} in {len(_ABSENT) * _STARTS} searches: the nearest "
                f"leaves a metric {distance:.4f} (as a share) outside of what is printed",
                "numbers of one row that seem not to come from the same predictions; accuracy is interpreted as "
                "label-wise",
            )


def nearest(names: list[str], low: Array, high: Array, classes: int) -> float:
    """How far from the ranges the best classes leave the worst metric; 0 where some give all of them.

    Args:
        names: Metrics of `METRICS`.
        low: The least value of each.
        high: The greatest value of each.
        classes: How many there are; one or two of them may be left out of the averages.
    """
    chosen = [METRICS.index(name) for name in names]
    best = np.inf
    for seed, absent in enumerate(_ABSENT):
        if classes > absent and best > 0:
            starts = _starts(np.random.default_rng(seed), classes - absent)
            best = min(best, _search(starts, chosen, low, high, classes))
    return float(best)


def _search(logits: Array, chosen: list[int], low: Array, high: Array, labels: int) -> float:
    """How far the best of many searches ends from the ranges."""
    damping = np.full(_STARTS, 1e-2)
    misses, slopes = _misses(logits, chosen, low, high, labels)
    earlier = np.inf
    for step in range(_STEPS):
        nearest_yet = float(np.abs(misses).max(axis=1).min())
        if nearest_yet <= _CLOSE:
            return 0.0
        if step % _STALLED == 0:
            if nearest_yet > 0.999 * earlier:
                break
            earlier = nearest_yet
        moved = np.clip(logits + _step(misses, slopes, damping), -_WIDEST, _WIDEST)
        new_misses, new_slopes = _misses(moved, chosen, low, high, labels)
        better = (new_misses**2).sum(axis=1) < (misses**2).sum(axis=1)
        logits[better], misses[better], slopes[better] = moved[better], new_misses[better], new_slopes[better]
        damping = np.clip(np.where(better, damping / 3, damping * 4), 1e-9, 1e3)
    return float(np.abs(misses).max(axis=1).min())


def _starts(generator: np.random.Generator, classes: int) -> Array:
    """Where searches begin: classes that are alike, classes that are not, and classes with shares next to 0 and 1."""
    centre = generator.normal(0.0, 2.0, size=(_STARTS, 3, 1))
    spread = generator.uniform(0.2, 4.0, size=(_STARTS, 1, 1))
    draws = centre + spread * generator.normal(size=(_STARTS, 3, classes))
    extreme = generator.random(draws.shape) < generator.choice([0.0, 0.2, 0.5], size=(_STARTS, 1, 1))
    ends = generator.choice([-_EXTREME, _EXTREME], size=draws.shape)
    return np.where(extreme, ends + generator.normal(size=draws.shape), draws)


def _step(misses: Array, slopes: Array, damping: Array) -> Array:
    """The damped step of least length that would undo the misses, were the slopes constant."""
    flat = slopes.reshape(*slopes.shape[:2], -1)
    normal = flat @ flat.transpose(0, 2, 1) + damping[:, None, None] * np.eye(flat.shape[1])
    step = -(flat.transpose(0, 2, 1) @ np.linalg.solve(normal, misses[..., None]))[..., 0]
    return step.reshape(slopes.shape[0], *slopes.shape[2:])


def _misses(logits: Array, chosen: list[int], low: Array, high: Array, labels: int) -> tuple[Array, Array]:
    """How far each metric lies outside of its range, and the slopes of that by start, metric, quantity and class."""
    values, slopes = _metrics(1 / (1 + np.exp(-logits)), labels)
    values, slopes = values[:, chosen], slopes[:, chosen]
    outside = np.minimum(values - low, 0) + np.maximum(values - high, 0)
    return outside, np.where((outside != 0)[:, :, None, None], slopes, 0.0)


def _metrics(shares: Array, labels: int) -> tuple[Array, Array]:
    """Each of `METRICS` for every set of classes, and its slopes in the logits of p, r and f.

    Accuracy is over all labels; those without a class here have no case, and nobody names them.
    """
    p, r, f = (shares[:, None, place] for place in range(3))
    zero, one = np.zeros_like(p), np.ones_like(p)
    p_slope = np.concatenate([one, zero, zero], axis=1)
    hits, hits_slope = p * r, np.concatenate([r, p, zero], axis=1)
    wrong, wrong_slope = f * (1 - p), np.concatenate([-f, zero, 1 - p], axis=1)
    scores = [
        _ratio(hits, hits_slope, hits + wrong, hits_slope + wrong_slope),
        (r, np.concatenate([zero, one, zero], axis=1)),
        _ratio(2 * hits, 2 * hits_slope, p + hits + wrong, p_slope + hits_slope + wrong_slope),
        _ratio(hits, hits_slope, p + wrong, p_slope + wrong_slope),
    ]
    count, total = p.shape[2], p.sum(axis=2, keepdims=True)
    values = [1 - (p - hits + wrong).sum(axis=2) / labels]
    slopes = [-(p_slope - hits_slope + wrong_slope) / labels]
    for value, slope in scores:
        values.append(value.mean(axis=2))
        slopes.append(slope / count)
    for value, slope in scores:
        mean = (p * value).sum(axis=2, keepdims=True) / total
        values.append(mean[..., 0])
        slopes.append((p_slope * (value - mean) + p * slope) / total)
    return np.concatenate(values, axis=1), np.stack(slopes, axis=1) * (shares * (1 - shares))[:, None]


def _ratio(above: Array, above_slope: Array, below: Array, below_slope: Array) -> tuple[Array, Array]:
    value = above / below
    return value, (above_slope - value * below_slope) / below


def prints_so(cell: PrintedCell, cases: int, *, percent: bool, truncated: bool) -> bool:
    """Whether some whole number out of the cases is printed so.

    Example:
        >>> prints_so(PrintedCell("0.37", 0.37, 2), 36, percent=False, truncated=False)
        False
        >>> prints_so(PrintedCell("0.27", 0.27, 2), 36, percent=False, truncated=True)
        True
    """
    unit = (0.01 if percent else 1.0) * cases
    half = 0.5 * 10.0**-cell.decimals
    value = cell.value or 0.0
    low, high = (value, value + 2 * half) if truncated else (value - half, value + half)
    return math.floor(high * unit + SLACK) >= math.ceil(low * unit - SLACK)


def whole_counts(rows: PrintedRows) -> Iterator[TableFinding]:
    """Shares that no whole number of cases gives."""
    for read in rows.tables:
        for share in _shares(read):
            yield from _shares_in(read, share)


class CountedShares(NamedTuple):
    """A column of shares, and what they are out of."""

    column: int
    cases: int
    what: str = "cases"
    grade: Grade = Grade.INCONSISTENT
    """Of what contradicts it: what a caption counts may be something else."""


def _shares(read: ReadTable) -> Iterator[CountedShares]:
    facts = read.facts
    for column in read.columns:
        heading, leaf = read.table.column_name(column.place), read.table.columns[column.place][-1]
        counted = counted_in(heading) or read.table.counted
        if cases := facts.column_cases.get(heading) or facts.column_cases.get(leaf):
            yield CountedShares(column.place, cases)
        elif column.metric not in ("share", "accuracy"):
            continue
        elif column.metric == "share" or facts.kind in ("multi-class", "binary"):
            if facts.cases:
                yield CountedShares(column.place, facts.cases)
            elif counted:
                yield CountedShares(column.place, counted, "cases that the table names", Grade.SUSPICIOUS)
        elif facts.cases and facts.kind == "multi-label" and facts.classes:
            yield CountedShares(column.place, facts.cases * facts.classes, "cases times classes")


def _shares_in(read: ReadTable, share: CountedShares) -> Iterator[TableFinding]:
    percent, cases, what = read.percent[share.column], share.cases, share.what
    for row, cell in enumerate(read.table.values(share.column)):
        if cell.value is None or any(prints_so(cell, cases, percent=percent, truncated=cut) for cut in (False, True)):
            continue
        unit, decimals = 100 if percent else 1, cell.decimals + 2
        below = int(np.floor(cell.value / unit * cases + SLACK))
        near = " and ".join(f"{k}/{cases} = {number_text(unit * k / cases, decimals)}" for k in (below, below + 1))
        text = f"nearest shares out of {cases} {what}: {near}; neither is printed so, rounded or cut off"
        meaning = (
            f"no plain share of {cases} {what}: another number of cases, an average over folds or tasks, or an error"
        )
        yield read.finding(share.grade, "whole-counts", [row], [share.column], text, meaning)


def beside(rows: PrintedRows) -> Iterator[TableFinding]:
    """Shares that are not the counts printed beside them, or not those of the cases that their column names."""
    for read in rows.tables:
        for place in range(len(read.table.columns)):
            cells = {row: cell for row, cell in enumerate(read.table.values(place)) if cell.counts}
            named = {row: cell for row in range(len(read.table.rows)) if (cell := _of_column(read, row, place))}
            if 2 * sum(map(_is_quotient, named.values())) > len(named):  # no shares of rows, or of other cases
                cells |= named
            for row, cell in cells.items():
                count, cases = cell.counts or (0, 0)
                if _is_quotient(cell):
                    continue
                fewer = (cell._replace(counts=(count, less)) for less in range(count, cases) if row in named)
                grade = Grade.SUSPICIOUS if any(map(_is_quotient, fewer)) else Grade.INCONSISTENT
                share = number_text((100 if _is_percent(cell) else 1) * count / cases, cell.decimals + 2)
                text = f"{count}/{cases} = {share}, printed {cell.text}"
                meaning = "a count, its number or the share is wrong, if the share is of these counts"
                also = " and not of fewer cases" * (grade is Grade.SUSPICIOUS)
                yield read.finding(grade, "counts-beside", [row], [place], text, meaning + also)


_OF_COLUMN = re.compile(r"(\d[\d,]*)\s*[(\[](\d+(?:\.\d+)?)\s*(%?)[)\]]", re.ASCII)
"""A count and its percentage."""
_MEANS = re.compile(r"\bSD\b|\bmean|\bmedian|\bIQR\b|\bage\b", re.IGNORECASE)


def _of_column(read: ReadTable, row: int, place: int) -> PrintedCell | None:
    """The share of a cell with its count, out of the cases that its column or caption names."""
    text, heading = read.table.cells[row][place].text, read.table.column_name(place)
    words, match = f"{read.table.rows[row]} {heading} {read.table.title}", _OF_COLUMN.fullmatch(text)
    if match is None or not (match[3] or "%" in words) or _MEANS.search(words):
        return None
    count, cases = int(match[1].replace(",", "")), counted_in(heading) or read.table.counted
    share = PrintedCell(text, float(match[2]), len(match[2].partition(".")[2]), percent=True, counts=(count, cases))
    return share if 0 < count <= cases else None


def _is_quotient(cell: PrintedCell) -> bool:
    """Whether a share is that of its counts, rounded or cut off; where it is none, nothing contradicts it."""
    (count, cases), value = cell.counts or (0, 0), cell.value
    if not 0 < cases >= count or value is None or not (cell.decimals or cell.percent):
        return True
    half = 0.5 * 10.0**-cell.decimals + SLACK
    return -half <= (100 if _is_percent(cell) else 1) * count / cases - value <= 2 * half


def _is_percent(cell: PrintedCell) -> bool:
    return cell.percent or (cell.value or 0) > 1


_END = r"([-+]?\d*\.?\d+)\s*%?"
_INTERVAL = re.compile(rf"[\s(\[:]{_END}\s*(?:,|;|-|to)\s*{_END}\s*[)\]]?$")
_HALF = re.compile(r"(?:±|\+/-|\+-)\s*(\d*\.?\d+)\s*%?\s*[)\]]?$")
_LEVEL = re.compile(r"(\d\d)\s*%\s*(?:CI|confidence)", re.IGNORECASE)
_SPREADS = re.compile(r"\bIQR\b|quartile|\brange\b|\bSD\b|\bmax", re.IGNORECASE)
_NARROW = 0.8
"""Share of the least expected width below which a printed interval is too narrow."""


class PrintedInterval(NamedTuple):
    """A number with its interval, as texts."""

    row: int
    cell: PrintedCell
    low: str
    high: str
    level: int

    @property
    def normal(self) -> float:
        """The quantile of the level."""
        return NormalDist().inv_cdf(0.5 + self.level / 200)

    @property
    def digit(self) -> float:
        """One unit of the last digit that all three numbers have."""
        return float(10.0 ** -min(self.cell.decimals, *(len(end.partition(".")[2]) for end in (self.low, self.high))))


def intervals(rows: PrintedRows) -> Iterator[TableFinding]:
    """Intervals that do not hold their number, are too narrow for their cases, or are at odds with a p-value."""
    for read in rows.tables:
        counts = {share.column: share for share in _shares(read)}
        for column in read.columns:
            printed = list(_intervals_in(read, column))
            share = counts.get(column.place) or CountedShares(column.place, read.facts.cases * _is_share(read, column))
            unit = 100.0 if read.percent[column.place] else 1.0
            for one in printed:
                for grade, texts in _about_interval(one, unit, share):
                    yield read.finding(grade, "interval", [one.row], [column.place], *texts)
            yield from _against_p(read, column.place, printed)


def _intervals_in(read: ReadTable, column: ColumnReading) -> Iterator[PrintedInterval]:
    """The intervals of a column, where the words beside them leave no other meaning.

    Two whole numbers may be citations or counts, and what stands behind ± is a half width only where that is said; so
    is an interval of what is no share.
    """
    for row, cell in enumerate(read.table.values(column.place)):
        words = f"{cell.text} {read.table.column_name(column.place)} {read.table.title}"
        called, both = INTERVALS.search(words), _INTERVAL.search(cell.text)
        if cell.value is None or not (called or column.metric):
            continue
        level = int(stated[1]) if (stated := _LEVEL.search(words)) else 95
        if both and not _SPREADS.search(words) and (called or "." in both[0]):
            yield PrintedInterval(row, cell, both[1], both[2], level)
        elif called and (half := _HALF.search(cell.text)):
            low, high = (f"{cell.value + side * float(half[1]):.{cell.decimals}f}" for side in (-1, 1))
            yield PrintedInterval(row, cell, low, high, level)


def _is_share(read: ReadTable, column: ColumnReading) -> bool:
    """Whether a metric is a share of some of the cases, of which fewer only widen an interval."""
    return read.facts.kind == "binary" and column.metric in ("recall", "specificity", "precision", "jaccard")


def _about_interval(one: PrintedInterval, unit: float, share: CountedShares) -> Iterator[tuple[Grade, tuple[str, str]]]:
    """What is wrong with an interval: the arithmetic, and what follows."""
    value, least, most, cases = one.cell.value or 0.0, float(one.low), float(one.high), share.cases
    if not least - one.digit <= value <= most + one.digit:
        text = f"{one.cell.text}: {value:g} does not lie between {one.low} and {one.high}"
        yield Grade.INCONSISTENT, (text, "no interval of this number")
    shares = np.clip(np.array([value, value - one.digit, value + one.digit]) / unit, 0.0, 1.0)
    widths = 2 * one.normal * unit * np.sqrt(shares * (1 - shares) / max(cases, 1))
    narrowest = widths.min() / math.sqrt(1 + one.normal**2 / max(cases, 1))
    if cases and narrowest > 0 and (ratio := (most - least + one.digit) / narrowest) < _NARROW:
        yield (
            share.grade,
            (
                f"{most - least:.4g} wide; {cases} independent {share.what} give {widths[0]:.4g} at {one.level} %: "
                f"{(most - least) / widths[0]:.2f} times (at most {ratio:.2f} by rounding and method)",
                "too narrow for so many cases, and dependent ones would only widen it",
            ),
        )


P_VALUE = re.compile(r"(?:adj\w*\.?|corrected)?\s*p(?:[ -]?val(?:ue)?s?\b.*)?", re.IGNORECASE)
"""Headings of p-values; precision has the letter where it is a metric."""
_PRINTED_P = re.compile(r"(?:p\s*)?([<>=≤≥]?)\s*(\d?\.\d+)", re.IGNORECASE)
_RATIO = re.compile(r"\b(?:OR|HR|RR|IRR)\b|odds|\bratio", re.IGNORECASE)
_CHANGE = re.compile(rf"{CHANGES.pattern}|\bcoeff|\bβ|\bbeta\b|\beffect", re.IGNORECASE)
_OTHER_QUESTION = re.compile(r"adj|corr|holm|bonf|fdr|inferior|equiv|interact|trend", re.IGNORECASE)
"""Of p-values that are not those of the interval beside them."""
_APART = 1.0
"""Standard errors by which a p-value and an interval must differ: tests of one question are rarely as far apart."""


def p_columns(read: ReadTable) -> list[int]:
    """The columns of p-values."""
    heads = [(column.place, read.table.columns[column.place][-1]) for column in read.columns if not column.metric]
    compared = any(_CHANGE.search(head) or _RATIO.search(head) for _, head in heads)
    return [place for place, head in heads if P_VALUE.fullmatch(head) and (compared or len(head) > 1)]


def _against_p(read: ReadTable, place: int, printed: Sequence[PrintedInterval]) -> Iterator[TableFinding]:
    """Intervals of differences and ratios beside a p-value that says the opposite."""
    columns, name = p_columns(read), read.table.column_name(place)
    heads = " ".join((read.table.title, *(read.table.column_name(column) for column in columns)))
    ratio = _RATIO.search(name) is not None
    if len(columns) != 1 or not (ratio or _CHANGE.search(name)) or _OTHER_QUESTION.search(heads):
        return
    for one in printed:
        value, stated = one.cell.value or 0.0, _PRINTED_P.fullmatch(read.table.cells[one.row][columns[0]].text)
        near, scale = float(one.low if value > ratio else one.high), math.log if ratio else float
        if stated is None or (ratio and min(value, near) <= one.digit):
            continue
        ends = [scale(near + side * one.digit) for side in (-1, 0, 1)]
        low, z, high = sorted(abs(scale(value)) * one.normal / max(abs(scale(value) - end), 1e-9) for end in ends)
        p, half = float(stated[2]), 0.5 * 10.0 ** -len(stated[2].partition(".")[2])
        span = {"<": (0.0, p), "≤": (0.0, p), ">": (p, 1.0), "≥": (p, 1.0)}.get(stated[1], (p - half, p + half))
        most, least = (NormalDist().inv_cdf(1 - min(max(end, 1e-15), 1.0) / 2) for end in span)
        apart = (low - most) * (low > one.normal > most) + (least - high) * (high < one.normal < least)
        if apart > _APART:
            meant = 2 * NormalDist().cdf(-z)
            text = f"{one.low} to {one.high} at {one.level} % is p = {meant:.2g} or so, printed {stated[0]}"
            meaning = (
                "one says that there is a difference and the other does not; a test of ranks and an interval of means "
                "may differ so, two of one model do not"
            )
            grade = Grade.INCONSISTENT if ratio else Grade.SUSPICIOUS
            yield read.finding(grade, "p-value", [one.row], [place, columns[0]], text, meaning)
