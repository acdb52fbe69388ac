"""Matrices of pairs: how well raters agree, how alike tasks rank, or how often properties occur together."""

from __future__ import annotations

import polars as pl

from surgvalid.report.chart import Chart, nothing_to_show
from surgvalid.report.charts.tables import counted, number, typed
from surgvalid.report.drawing.grid import GridCell, GridImage
from surgvalid.report.words import count_of, plain, short_names

MOST_ROWS = 40


def agreement_matrix(
    frame: pl.DataFrame,
    *,
    first: str = "rater_a",
    second: str = "rater_b",
    value: str = "value",
    measure: str = "Cohen's kappa",
    symmetric: bool = True,
    name: str = "agreement-matrix",
    title: str = "Agreement of raters",
) -> Chart:
    """A cell per pair with its coefficient, on both sides of the diagonal where pairs have no direction.

    Args:
        frame: One row per pair, as `agreement` gives it: the columns named here, and `low`, `high`, `units`, `videos`
            where known. Rows without a pair (coefficients of all raters) are left out.
        first: Column of one side.
        second: Column of the other side.
        value: Column of the coefficient.
        measure: What the coefficient is.
        symmetric: Whether a pair says the same in both directions. Turn it off for what one rater said (across the
            rows) against what another said (across the columns), class by class.
        name: Of the chart.
        title: Of the chart.
    """
    if frame.is_empty():
        return nothing_to_show(name, title, "there is no pair")
    frame = typed(frame, name, kept=(first, second), numbers=(value,))
    pairs = frame.filter(pl.col(first).is_not_null() & pl.col(second).is_not_null())
    if pairs.is_empty():
        return nothing_to_show(name, title, "there is no pair")
    names = list(dict.fromkeys([*pairs[first], *pairs[second]]))
    labels = short_names(names[:MOST_ROWS], limit=24)
    note = f" The first {MOST_ROWS} of {len(names)} are shown; the saved CSV has all." if len(names) > MOST_ROWS else ""
    ways = "a pair stands on both sides of the diagonal."
    if not symmetric:
        ways = f"rows: {plain(first, limit=30)}, columns: {plain(second, limit=30)}."
    units = ""
    if "units" in pairs.columns and pairs["units"].null_count() < pairs.height:
        units = f" n = {counted(pairs['units'], 'units per pair')}."
    return Chart(
        name,
        title,
        _spoken(pairs, first, second, value, measure) + note,
        f"Shade and number: {measure} of each of {count_of(pairs.height, 'pair')}, orange below zero; {ways}"
        f"{units}{note}",
        pairs,
        GridImage(
            tuple(labels.values()), tuple(labels.values()), _cells(pairs, (first, second, value), labels, symmetric)
        ),
    )


def _cells(
    pairs: pl.DataFrame, names: tuple[str, str, str], labels: dict[str, str], symmetric: bool
) -> tuple[GridCell, ...]:
    place = {name: at for at, name in enumerate(labels)}
    rows = pairs.select(names).iter_rows()
    cells: dict[tuple[int, int], float | None] = {}
    for a, b, value in rows:
        if a in place and b in place:
            cells.setdefault((place[a], place[b]), value)
            if symmetric:
                cells.setdefault((place[b], place[a]), value)
    known = [value for value in cells.values() if value is not None]
    edge, whole = max([1.0, *(abs(value) for value in known)]), all(value == int(value) for value in known)
    shown = list(labels.values())
    made = []
    for (row, column), value in cells.items():
        text = "–" if value is None else f"{value:.0f}" if whole else f"{value:.2f}"
        made.append(GridCell(row, column, text, (value or 0.0) / edge, f"{shown[row]}, {shown[column]}: {text}"))
    return tuple(made)


def _spoken(pairs: pl.DataFrame, first: str, second: str, value: str, measure: str) -> str:
    known = pairs.filter(pl.col(value).is_not_null()).sort(value, maintain_order=True)
    if known.is_empty():
        return f"{measure} of {count_of(pairs.height, 'pair')}; none is defined."
    ends = [
        f"{plain(row[first], limit=24)} and {plain(row[second], limit=24)} {number(row[value], 2)}"
        for row in (known.row(0, named=True), known.row(-1, named=True))
    ]
    if known.height == 1:
        return f"{measure} of one pair: {ends[0]}."
    return f"{measure} of {count_of(pairs.height, 'pair')}: lowest {ends[0]}, highest {ends[1]}."
