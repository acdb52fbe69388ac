"""Results whose answer is one table, as the statistics of a score table are."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import polars as pl

from surgeval.results.result import Result
from surgeval.schema.findings import Finding, as_findings
from surgeval.schema.score_table import ScoreTable, read_score_table
from surgeval.schema.table_facts import Directions
from surgeval.schema.table_files import ROLES, read_frames, renamed
from surgeval.schema.tabular import as_frame


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class TableResult(Result):
    """A table with the paragraph that says what was done."""

    stem: ClassVar[str] = "result"
    """The name of the table and of the text beside it."""
    hidden: ClassVar[tuple[str, ...]] = ("resample", "method", "level", "replicates", "seed")
    """Columns that the paragraph says and a screen need not show."""

    @classmethod
    def of(
        cls, table: pl.DataFrame, prose: str, notes: Iterable[Finding | str] = (), **more: pl.DataFrame | None
    ) -> Self:
        """The result of a table, a paragraph, what to know, and further tables by name."""
        tables = {cls.stem: table, **{name: frame for name, frame in more.items() if frame is not None}}
        return cls(tables=tables, main=cls.stem, prose=prose, findings=as_findings(notes))

    @property
    def text_stem(self) -> str:
        """The name of the text file, without its ending."""
        return self.stem

    @property
    def shown(self) -> pl.DataFrame:
        """The table without the columns that the paragraph says."""
        return self.table.drop([name for name in self.hidden if name in self.table.columns])

    def as_dict(self) -> dict[str, Any]:
        """The result as plain data; the main table is called `rows`."""
        data = super().as_dict()
        return {"rows": data.pop(self.stem), **data}


def as_table(
    table: Any,
    columns: Mapping[str, str] | None = None,
    *,
    better: Directions = None,
    metric: str | None = None,
) -> ScoreTable:
    """A score table from one, from anything tabular, or from files and folders.

    Args:
        table: What it is made of.
        columns: Our column names to theirs; a `ScoreTable` has ours already.
        better: The direction of metrics where it is unknown, as `ScoreTable.directed` takes it.
        metric: The metric that is looked at.
    """
    return _read(table, columns).directed(better, metric)


def rows_of(
    table: Any, columns: Mapping[str, str] | None = None, *, where: str = "table", roles: Collection[str] = ()
) -> pl.DataFrame:
    """The rows of a table in memory or of files, their columns renamed to ours; nothing else is checked.

    Args:
        table: What it is made of.
        columns: Our column names to theirs.
        where: What to call the table in error messages.
        roles: Names that columns may be given beside those of score tables.
    """
    roles = (*ROLES, *roles)
    if _are_paths(table):
        return read_frames(table, columns=columns, roles=roles)
    if isinstance(table, ScoreTable):
        return table.frame
    return renamed(as_frame(table), columns or {}, where, roles)


def _are_paths(table: Any) -> bool:
    several = table if isinstance(table, list | tuple) else [table]
    return bool(several) and all(isinstance(one, str | Path) for one in several)


def _read(table: Any, columns: Mapping[str, str] | None) -> ScoreTable:
    if isinstance(table, ScoreTable):
        return table
    if _are_paths(table):
        return read_score_table(table, columns=columns)
    return ScoreTable.of(table, columns=columns)
