"""The result of scoring one model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from surgvalid.results.result import Result
from surgvalid.schema.documents import json_text
from surgvalid.schema.findings import Finding
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.scoring.lint_report import LintReport

FURTHER_LEVELS = ("secondary", "context")
BOARD_LEVELS = ("headline", "bound", "overall", "bucket", "latency", "pre_evaluation")


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class ScoreResult(Result):
    """One model, scored under one profile: tables `results`, `summary`, and in the native profile more."""

    model: str
    profile: str
    scores: ScoreTable
    lint: LintReport
    verdicts: tuple[Mapping[str, Any], ...] = ()
    """Every vote of every judge, in the form of a cached-verdicts file."""
    exact: Mapping[str, str] = field(default_factory=dict)
    """Text of the tables whose bytes are promised (the official profiles)."""

    @property
    def results(self) -> pl.DataFrame:
        """One row per question; the official columns come first."""
        return self.tables["results"]

    @property
    def summary(self) -> pl.DataFrame:
        """One row per slice (and estimand, in the native profile)."""
        return self.tables["summary"]

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """What a reader must know before trusting the numbers."""
        return self.findings

    @property
    def headline(self) -> dict[str, float]:
        """The primary result with its interval (NaN ends where the profile gives none)."""
        level = "headline" if "estimand" in self.summary.columns else "pre_evaluation"
        row = self.summary.filter(pl.col("level") == level).row(0, named=True)
        return {key: row[key] if row[key] is not None else float("nan") for key in ("accuracy", "low", "high")}

    @property
    def title(self) -> str:
        """Model, profile and primary result."""
        value = self.headline
        interval = "" if value["low"] != value["low"] else f" [{value['low']:.3f}, {value['high']:.3f}]"
        headline = (
            "no primary result"
            if math.isnan(value["accuracy"])
            else f"primary result {value['accuracy']:.4f}{interval}"
        )
        return (
            f"ScoreResult({self.model!r}, profile {self.profile}: {headline}, "
            f"{len(self.results)} questions, {len(self.findings)} warnings)"
        )

    @property
    def shown(self) -> pl.DataFrame:
        """Primary result and buckets."""
        board = self.summary.filter(pl.col("level").is_in(BOARD_LEVELS))
        if "estimand" not in board.columns:
            return board
        return board.filter((pl.col("estimand") == "rows") | (pl.col("level") == "overall"))

    def screen(self) -> Mapping[str, pl.DataFrame]:
        """Primary results and buckets under the name of the model, the gap, further slices, and what the judges did."""
        judges = {name: self.tables[name] for name in ("judges", "judge_agreement") if name in self.tables}
        return {f"{self.model} (profile {self.profile})": self.shown, **self._further(), **judges}

    def _further(self) -> dict[str, pl.DataFrame]:
        """The tables of the native profile beside the leaderboard, those that have rows."""
        if "ood_gap" not in self.tables:
            return {}
        by_rows = self.summary.filter(estimand="rows")
        slices = by_rows.filter(pl.col("level").is_in(FURTHER_LEVELS))
        pairs = by_rows.filter(level="pair").drop("level", "estimand", "df", "method")
        targeted = self.tables["targeted"].filter(pl.col("estimand") == "rows")
        wanted = ("format", "metric", "value", "low", "high", "n", "n_missing", "videos", "better")
        tables = {
            "out of distribution against in distribution": self.tables["ood_gap"].drop("df", "method"),
            "pairs that differ in the image alone": pairs,
            "by secondary capability and context length": slices.drop("estimand", "df", "not_scored", "method"),
            "targeted metrics": targeted.select(wanted),
        }
        return {title: frame for title, frame in tables.items() if not frame.is_empty()}

    def facts(self) -> dict[str, Any]:
        """Model and profile."""
        return {"model": self.model, "profile": self.profile}

    def write(self, folder: Path) -> None:
        """Write the tables, the scores of every case, verdicts and what lint found."""
        super().write(folder)
        for name, text in self.exact.items():
            (folder / f"{name}.csv").write_bytes(text.encode("utf-8"))
        self.scores.to_dir(folder)
        lines = [json_text(verdict) + "\n" for verdict in self.verdicts]
        if lines:
            (folder / "verdicts.jsonl").write_text("".join(lines), encoding="utf-8")
