"""What every result of the statistics room offers: a table, a paragraph, files and a readable form."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from surgeval.errors import Misuse
from surgeval.schema.score_table import ScoreTable, read_score_table
from surgeval.schema.shown_tables import notebook_table
from surgeval.schema.table_facts import Directions


@dataclass(frozen=True)
class TableResult:
    """A table with the paragraph that says what was done."""

    table: pl.DataFrame
    prose: str
    """What was done, fit for a paper: test or interval, level, unit, replicates, seed, estimand."""
    notes: tuple[str, ...] = field(default=())
    """What a reader must know before using the numbers."""

    stem: ClassVar[str] = "result"
    hidden: ClassVar[tuple[str, ...]] = ("resample", "method", "level", "replicates", "seed")
    """Columns that the paragraph says and a screen need not show."""

    @property
    def shown(self) -> pl.DataFrame:
        """The table without the columns that the paragraph says."""
        return self.table.drop([name for name in self.hidden if name in self.table.columns])

    def to_file(self, path: str | Path) -> Path:
        """Write the table as CSV or Parquet, decided by the file's ending.

        Raises:
            Misuse: Another ending.
        """
        return write_table(self.table, path)

    def to_dir(self, path: str | Path) -> Path:
        """Write the table and its paragraph into the folder."""
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        target = write_table(self.table, folder / f"{self.stem}.csv")
        text = "\n\n".join([self.prose, *self.notes])
        (folder / f"{self.stem}.txt").write_text(text + "\n", encoding="utf-8")
        return target

    def as_dict(self) -> dict[str, Any]:
        """The result as plain data."""
        return {"rows": self.table.to_dicts(), "prose": self.prose, "notes": list(self.notes)}

    def __repr__(self) -> str:
        with pl.Config(tbl_rows=40, tbl_cols=20, tbl_width_chars=160, tbl_hide_column_data_types=True):
            return "\n".join([type(self).__name__, self.prose, *self.notes, str(self.shown)])

    def _repr_html_(self) -> str:
        return notebook_table(self.shown, title=type(self).__name__, prose=self.prose, warnings=self.notes)


def write_table(frame: pl.DataFrame, path: str | Path) -> Path:
    """Write a table as CSV or Parquet, decided by the file's ending.

    Raises:
        Misuse: Another ending.
    """
    path = Path(path)
    if path.suffix.lower() == ".parquet":
        frame.write_parquet(path)
    elif path.suffix.lower() == ".csv":
        frame.write_csv(path)
    else:
        raise Misuse(f"{path}: unknown kind of file {path.suffix!r}; expected .csv or .parquet")
    return path


def as_table(table: Any, better: Directions = None, metric: str | None = None) -> ScoreTable:
    """A score table from one, from anything tabular, or from the path of a file or folder.

    Args:
        table: What it is made of.
        better: The direction of metrics where it is unknown, as `ScoreTable.directed` takes it.
        metric: The metric that is looked at.
    """
    if isinstance(table, str | Path):
        table = read_score_table(table)
    whole = table if isinstance(table, ScoreTable) else ScoreTable.of(table)
    return whole.directed(better, metric)
