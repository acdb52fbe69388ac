"""What a ranking gives back: tables, one paragraph of prose, warnings, and the files it can write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from surgeval.errors import UnknownName, WouldOverwrite
from surgeval.results.manifest import Manifest, remove_outputs
from surgeval.schema.documents import json_text
from surgeval.schema.shown_tables import notebook_table


@dataclass(frozen=True, repr=False)
class RankResult:
    """A ranking. Each table is also an attribute: `result.places`, `result.pairs`, ..."""

    rule: str
    main: str
    """The name of the table that answers the question."""
    tables: Mapping[str, pl.DataFrame]
    prose: str
    """What was done, in one paragraph fit for a paper."""
    warnings: tuple[str, ...] = ()
    """What a reader must know before trusting the tables."""
    records: Mapping[str, Any] = field(default_factory=dict)
    """Results that are no tables: the gate decision, winners, cycles."""
    options: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None

    @property
    def table(self) -> pl.DataFrame:
        """The table that answers the question: places, or the consensus over tasks."""
        return self.tables[self.main]

    def __getattr__(self, name: str) -> pl.DataFrame:
        if name.startswith("_") or name == "tables":
            raise AttributeError(name)
        if name not in self.tables:
            raise AttributeError(str(UnknownName(f"table of a {self.rule} ranking", name, self.tables)))
        return self.tables[name]

    @property
    def files(self) -> list[str]:
        """The names of the files that `to_dir` writes."""
        tables, records = [f"{name}.csv" for name in self.tables], [f"{name}.json" for name in self.records]
        return ["manifest.json", *tables, *records, "methods.txt"]

    def to_dir(self, path: str | Path, *, inputs: Iterable[str | Path] = (), force: bool = False) -> None:
        """Write every table as CSV, records as JSON, the prose, and `manifest.json` into the folder.

        An earlier ranking there is taken away whole if `force` is on, also what this one does not write.

        Raises:
            WouldOverwrite: The folder holds a file of one of these names and `force` is off.
        """
        folder = Path(path)
        taken = [folder / name for name in self.files if (folder / name).exists()]
        if taken and not force:
            raise WouldOverwrite(taken[0])
        folder.mkdir(parents=True, exist_ok=True)
        remove_outputs(folder)
        for name, frame in self.tables.items():
            frame.write_csv(folder / f"{name}.csv")
        for name, record in self.records.items():
            _write_json(folder / f"{name}.json", record)
        notes = "".join(f"\nWarning: {warning}\n" for warning in self.warnings)
        (folder / "methods.txt").write_text(self.prose + "\n" + notes, encoding="utf-8")
        seeds = {} if self.seed is None else {"rank": self.seed}
        options = {"rule": self.rule, **self.options}
        Manifest("rank", options, inputs, seeds, self.warnings, self.files).to_dir(folder)

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain data, for JSON."""
        tables = {name: frame.to_dicts() for name, frame in self.tables.items()}
        return {"rule": self.rule, **tables, **self.records, "prose": self.prose, "warnings": list(self.warnings)}

    def __repr__(self) -> str:
        with pl.Config(tbl_rows=40, tbl_cols=20, tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True):
            body = str(self.table)
        others = ", ".join(name for name in self.tables if name != self.main)
        lines = [f"Ranking by {self.rule!r}", body, *(f"Warning: {warning}" for warning in self.warnings)]
        return "\n".join([*lines, f"Further tables: {others}"])

    def _repr_html_(self) -> str:
        return notebook_table(self.table, title=f"Ranking by {self.rule}", prose=self.prose, warnings=self.warnings)


def _write_json(path: Path, record: Any) -> None:
    path.write_text(json_text(record, indent=2) + "\n", encoding="utf-8")
