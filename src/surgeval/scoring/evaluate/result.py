"""The result of evaluating one model: tables, conventions, prose and the files that hold them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from surgeval.results.manifest import Manifest
from surgeval.schema.documents import json_text
from surgeval.schema.score_table import ScoreTable
from surgeval.schema.shown_tables import notebook_table

FILES = ("metrics.csv", "manifest.json", "scores.parquet")
"""Any of these in a folder means that it holds a result."""


@dataclass(frozen=True, repr=False)
class EvaluationResult:
    """One model on one set of references."""

    kind: str
    model: str
    metrics: pl.DataFrame
    """One row per metric: value, interval over videos, estimand and conventions, as in every table here."""
    per_video: pl.DataFrame
    per_class: pl.DataFrame
    per_stratum: pl.DataFrame
    scores: ScoreTable
    """One row per case and metric; per video and metric where a single case has no score."""
    conventions: Mapping[str, Mapping[str, Any]]
    prose: str
    manifest: Manifest
    notes: tuple[str, ...] = ()
    extra_tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    boards: tuple[str, ...] = ()
    """Those of the extra tables that set this run beside published ones."""

    @property
    def table(self) -> pl.DataFrame:
        """The metrics."""
        return self.metrics

    @property
    def shown(self) -> pl.DataFrame:
        """The metrics without the long columns."""
        return self.metrics.select("metric", "value", "low", "high", "videos", "note")

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Every table by the name of its file; empty ones are left out."""
        named = {
            "metrics": self.metrics,
            "per_video": self.per_video,
            "per_class": self.per_class,
            "per_stratum": self.per_stratum,
            **self.extra_tables,
        }
        return {name: frame for name, frame in named.items() if not frame.is_empty()}

    def value(self, metric: str) -> float:
        """The value of one metric; NaN where it is undefined."""
        found = self.metrics.filter(pl.col("metric") == metric)["value"].item()
        return float("nan") if found is None else float(found)

    def to_dir(self, path: str | Path) -> None:
        """Write every table, the conventions, the prose and the manifest into the folder."""
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        for name, frame in self.tables.items():
            frame.write_csv(folder / f"{name}.csv")
        self.scores.to_dir(folder)
        (folder / "conventions.json").write_text(json_text(self.conventions, indent=2) + "\n", encoding="utf-8")
        (folder / "methods.txt").write_text("\n\n".join([self.prose, *self.notes]) + "\n", encoding="utf-8")
        self.manifest.to_dir(folder)

    def as_dict(self) -> dict[str, Any]:
        """The result as plain data, without the scores of single cases."""
        return {
            "kind": self.kind,
            "model": self.model,
            **{name: frame.to_dicts() for name, frame in self.tables.items()},
            "conventions": dict(self.conventions),
            "prose": self.prose,
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        with pl.Config(tbl_rows=40, tbl_cols=20, tbl_width_chars=160, tbl_hide_column_data_types=True):
            return "\n".join(
                [f"EvaluationResult({self.kind}, {self.model!r})", self.prose, *self.notes, str(self.shown)]
            )

    def _repr_html_(self) -> str:
        title = f"{self.kind}: {self.model}"
        return notebook_table(self.shown, title=title, prose=self.prose, warnings=self.notes)
