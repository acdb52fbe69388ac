"""What is known about each case: strata of the score table, and the tables of properties that analyses were given."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from surgeval.errors import SurgevalError
from surgeval.report.cases.originals import originals
from surgeval.report.inputs import Inputs
from surgeval.schema.table_files import read_frame

_LEVELS = ("yes", "true", "1", "1.0")
_NUMBERED = "above the median"


def properties_of(inputs: Inputs) -> pl.DataFrame:
    """One row per case: `case` and a column of text per property."""
    rows = inputs.rows
    columns = inputs.live.strata_columns if inputs.live is not None else []
    frame = rows.select("case", *columns).unique("case", keep="first", maintain_order=True)
    for table in _given(inputs):
        new = [name for name in table.columns if name == "case" or name not in frame.columns]
        frame = frame.join(table.select(new).unique("case", keep="first"), on="case", how="left", maintain_order="left")
    return frame.with_columns(_as_text(frame[name]) for name in frame.columns)


def _given(inputs: Inputs) -> list[pl.DataFrame]:
    tables = []
    for result in inputs.of("failures"):
        for path in originals(result, "properties", inputs.source):
            try:
                table = read_frame(Path(path.partition("=")[2] or path))
            except (SurgevalError, pl.exceptions.PolarsError, OSError):
                continue
            if "case" in table.columns:
                tables.append(table.with_columns(pl.col("case").cast(pl.String)))
    return tables


def _as_text(column: pl.Series) -> pl.Series:
    """Levels as text; numbers as whether they are above the median, as an effect of a number is felt there."""
    if column.dtype == pl.Boolean:
        return column.replace_strict({True: "yes", False: "no"}, return_dtype=pl.String)
    if column.dtype.is_float():
        middle = column.median()
        above = (column > middle).replace_strict({True: _NUMBERED, False: "below it"}, return_dtype=pl.String)
        return above.alias(column.name)
    return column.cast(pl.String)


def has_term(term: str, columns: list[str]) -> pl.Expr | None:
    """Whether a case has what a term of a mixed model stands for; None where no column tells.

    Example:
        >>> frame = pl.DataFrame({"smoke": ["yes", "no"]})
        >>> frame.select(has_term("smoke[yes]", frame.columns))["smoke"].to_list()
        [True, False]
    """
    name, bracket, level = term.partition("[")
    if name not in columns:
        return None
    wanted = [level.rstrip("]")] if bracket else [*_LEVELS, _NUMBERED]
    return pl.col(name).is_in(wanted).fill_null(False)
