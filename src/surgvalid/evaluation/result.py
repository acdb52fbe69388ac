"""The result of evaluating one model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from surgvalid.evaluation.shards import Gathered, write_shard
from surgvalid.evaluation.sharing import Shareable
from surgvalid.results.result import Result
from surgvalid.schema.tables.score_table import ScoreTable


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class AlignmentResult(Result):
    """What the checks of predictions and references saw: the table `sanity`, and no number."""

    kind: str
    model: str

    @property
    def title(self) -> str:
        """Kind and model."""
        return f"AlignmentResult({self.kind}, {self.model!r})"

    def screen(self) -> Mapping[str, pl.DataFrame]:
        """Every check, what it saw and what mends it."""
        return {"": self.tables["sanity"].drop("conventions")}

    def facts(self) -> dict[str, Any]:
        """Kind and model."""
        return {"kind": self.kind, "model": self.model}


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class EvaluationResult(Result):
    """One model on one set of references: tables `metrics`, `per_video`, `per_class`, `per_stratum`, and more."""

    kind: str
    model: str
    scores: ScoreTable
    """One row per case and metric; per video and metric where a single case has no score."""
    boards: tuple[str, ...] = ()
    """Those of the tables that set this run beside published ones."""
    gathered: Gathered | None = None
    """What a shard leaves for `combine`."""
    head: Mapping[str, Any] = field(default_factory=dict)
    shareable: Shareable | None = None
    """What `share` may give to others, where it was asked for."""

    @property
    def metrics(self) -> pl.DataFrame:
        """One row per metric: value, interval over videos, estimand and conventions, as in every table here."""
        return self.tables["metrics"]

    @property
    def per_video(self) -> pl.DataFrame:
        """The metrics of every video."""
        return self._table("per_video")

    @property
    def per_class(self) -> pl.DataFrame:
        """The metrics of every class."""
        return self._table("per_class")

    @property
    def per_stratum(self) -> pl.DataFrame:
        """The metrics of every stratum."""
        return self._table("per_stratum")

    @property
    def conventions(self) -> Mapping[str, Mapping[str, Any]]:
        """Estimand and conventions of every metric."""
        stored: Mapping[str, Mapping[str, Any]] = self.records["conventions"]
        return stored

    @property
    def shown(self) -> pl.DataFrame:
        """The metrics without the long columns."""
        return self.metrics.select("metric", "value", "low", "high", "floor", "videos", "note")

    @property
    def title(self) -> str:
        """Kind and model."""
        return f"EvaluationResult({self.kind}, {self.model!r})"

    def screen(self) -> Mapping[str, pl.DataFrame]:
        """The metrics, and the leaderboards that set them beside published ones."""
        return {"": self.shown, **{name: self.tables[name].drop("conventions") for name in self.boards}}

    def digits(self) -> Mapping[str, int]:
        """One on leaderboards, which set this run beside values published to one decimal."""
        return dict.fromkeys(self.boards, 1)

    def facts(self) -> dict[str, Any]:
        """Kind and model."""
        return {"kind": self.kind, "model": self.model}

    def value(self, metric: str) -> float:
        """The value of one metric; NaN where it is undefined."""
        number = self.metrics.filter(pl.col("metric") == metric)["value"].item()
        return float("nan") if number is None else float(number)

    def write(self, folder: Path) -> None:
        """Write the tables, the conventions, the prose and the scores of every case."""
        super().write(folder)
        self.scores.to_dir(folder)
        if self.gathered is not None:
            write_shard(folder, self.head, self.gathered)

    def _table(self, name: str) -> pl.DataFrame:
        return self.tables.get(name, pl.DataFrame())
