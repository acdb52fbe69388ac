"""Rows of a plain table that are no scores: empty ones, headings once more, and those that sum up others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import polars as pl

from surgvalid.schema.metric_facts import known_as
from surgvalid.schema.tables.column_words import without_accents

_SUMMARIES = frozenset(
    """
    mean average avg median sd std stdev total sum overall mittelwert mittel durchschnitt summe gesamt
    gesamtmittelwert standardabweichung moyenne mediane ecart media promedio minimum maximum iqr sem ø
    gesamtergebnis stabw stdabw abw deviation varianz variance
    """.split()
)
"""Words that say of a row below a table what it sums up."""
_PERHAPS = re.compile(r"min|max|mw|range|q[13]|(95\W*)?ci|p(\W?(value|wert))?|alle?", re.IGNORECASE)
"""What may also be the name of a patient, unless no other is like it."""
_BESIDE = frozenset("type grand standard dev of over all patients cases videos images models".split())
"""Words that may stand beside one of those."""


def without_empty_end(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """The table without the rows of empty cells at its end, as spreadsheets add them, and a sentence if there are any.

    Example:
        >>> without_empty_end(pl.DataFrame({"patient": ["p1", None], "dice": ["0.5", ""]}))[1]
        ['1 empty row at the end is left out']
    """
    if frame.height and any(str(cell).strip() for cell in frame.row(-1) if cell is not None):
        return frame, []
    texts = pl.all().cast(pl.String).str.strip_chars().fill_null("") != ""
    held = frame.select(pl.any_horizontal(texts)).to_series().arg_true()
    count = frame.height - (int(held[-1]) + 1 if len(held) else 0)
    if not count or not len(held):
        return frame, []
    start = "1 empty row at the end is" if count == 1 else f"{count:,} empty rows at the end are"
    return frame.head(frame.height - count), [f"{start} left out"]


def without_spaces(frame: pl.DataFrame, columns: Iterable[str]) -> tuple[pl.DataFrame, list[str]]:
    """The table without spaces around the names in these columns, and a sentence for each that has some.

    Example:
        >>> without_spaces(pl.DataFrame({"patient": ["p1", "p1 "]}), ["patient"])[0]["patient"].n_unique()
        1
    """
    stripped = {c: frame[c].str.strip_chars() for c in columns if frame[c].dtype == pl.String}
    changed = [column for column, cells in stripped.items() if (cells != frame[column]).any()]
    sentences = [f"spaces around the names in {column!r} are left out" for column in changed]
    return frame.with_columns(stripped[column] for column in changed), sentences


def unnamed(frame: pl.DataFrame, columns: Iterable[str]) -> list[str]:
    """Columns that leave out whose row it is."""
    problems = []
    for column in columns:
        text = pl.col(column).cast(pl.String).str.strip_chars()
        rows = frame.select((text.is_null() | (text == "")).arg_true()).to_series()
        if len(rows):
            many = "1 row" if len(rows) == 1 else f"{len(rows):,} rows"
            problems.append(
                f"column {column!r} is empty in {many} (first: row {rows[0] + 1}); fill in every row, also where cells "
                "were merged"
            )
    return problems


def without_summaries(frame: pl.DataFrame, columns: Sequence[str]) -> tuple[pl.DataFrame, list[str]]:
    """The table without rows that repeat its headings, or sum up others by what they call their patient or case.

    Example:
        >>> rows = pl.DataFrame({"patient": ["p1", "patient", "Mean"], "dice": ["0.5", "dice", "0.5"]})
        >>> without_summaries(rows, ["patient"])[1]
        ['row 2 repeats the headings and is left out', "row 3 ('Mean' in 'patient') sums up others and is left out"]
    """
    keep = pl.Series([True] * frame.height, dtype=pl.Boolean)
    if frame.height and all(kind == pl.String for kind in frame.dtypes):  # else one column holds no heading
        headings = pl.all_horizontal(pl.col(name).str.strip_chars() == name for name in frame.columns)
        keep = frame.select(~headings.fill_null(False)).to_series()
    sentences = [f"row {place + 1} repeats the headings and is left out" for place in (~keep).arg_true()]
    for column in (column for column in columns if frame[column].dtype == pl.String):
        for cell in summing(frame[column].filter(keep).drop_nulls().unique(maintain_order=True).to_list()):
            rows = (frame[column] == cell).fill_null(False)
            keep = keep & ~rows
            first, count = int(rows.arg_true()[0]) + 1, int(rows.sum())
            which = f"row {first} ({cell!r} in {column!r}) sums up others and is"
            several = f"{count} rows ({cell!r} in {column!r}; first: row {first}) sum up others and are"
            sentences.append(f"{which if count == 1 else several} left out")
    return frame.filter(keep), sentences


def summing(names: Sequence[str]) -> list[str]:
    """Those of some names that sum up the others; what may be a patient's is one where the others are unlike it.

    Example:
        >>> summing(["P1", "P2", "Max", "Mean"]), summing(["Anna", "Max"]), summing(["Q1", "Q2", "Q3"]), summing(["p"])
        (['Max', 'Mean'], [], [], [])
    """
    perhaps = [name for name in names if _PERHAPS.fullmatch(name.strip())]
    rest = [name for name in names if name not in perhaps and not sums_up(name)]
    shapes = {re.sub(r"\d+|^\w$", "0", name) for name in rest}
    perhaps = [name for name in perhaps if re.sub(r"\d+|^\w$", "0", name) not in shapes]
    if len(names) == 1:
        perhaps = []
    elif len(names) - len(rest) < 2:
        perhaps = [one for one in perhaps if one.casefold() != "all" and all(re.search(r"\d", name) for name in rest)]
    return [name for name in names if sums_up(name) or name in perhaps]


def sums_up(name: str) -> bool:
    """Whether a name says that something sums up others.

    Example:
        >>> sums_up("Mean ± SD (n=9)"), sums_up("Mean-Teacher"), sums_up("Media 12")
        (True, False, False)
    """
    text, counts = re.subn(r"\bn\s*=\s*\d+", "", without_accents(name).casefold())
    words = re.findall(r"\w+", text)
    if not counts and _SUMMARIES.isdisjoint(words):
        return False
    telling = [word for word in words if word not in _BESIDE and not known_as(word)]
    return _SUMMARIES.issuperset(telling) and bool(telling or (counts and not words))
