"""The result of scoring one model: tables, files and a text that says what was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from surgeval.results.manifest import Manifest
from surgeval.schema.documents import json_text
from surgeval.schema.findings import Finding
from surgeval.schema.score_table import ScoreTable
from surgeval.schema.shown_tables import notebook_table
from surgeval.scoring.lint_report import LintReport

FILES = (
    "results.csv",
    "summary.csv",
    "scores.parquet",
    "lint.json",
    "manifest.json",
    "leverage_questions.csv",
    "leverage_videos.csv",
    "targeted.csv",
    "counts.csv",
    "judges.csv",
    "verdicts.jsonl",
)
"""Everything that a scoring may write; official profiles write the first five and what the judges did."""


@dataclass(frozen=True)
class ScoreResult:
    """One model, scored under one profile."""

    model: str
    profile: str
    results: pl.DataFrame
    """One row per question; the official columns come first."""
    summary: pl.DataFrame
    """One row per slice (and estimand, in the native profile)."""
    scores: ScoreTable
    lint: LintReport
    manifest: Manifest
    warnings: tuple[Finding, ...] = ()
    extra_tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    """Further tables by name: `leverage_questions`, `leverage_videos`, `targeted`, `counts`, `judges`."""
    verdicts: tuple[Mapping[str, Any], ...] = ()
    """Every vote of every judge, in the form of a cached-verdicts file."""
    exact_files: Mapping[str, str] = field(default_factory=dict)
    """Text of files whose bytes are promised (the official profiles)."""

    @property
    def table(self) -> pl.DataFrame:
        """The summary."""
        return self.summary

    @property
    def headline(self) -> dict[str, float]:
        """The headline value with its interval (NaN ends where the profile gives none)."""
        level = "headline" if "estimand" in self.summary.columns else "pre_evaluation"
        row = self.summary.filter(pl.col("level") == level).row(0, named=True)
        return {key: row[key] if row[key] is not None else float("nan") for key in ("accuracy", "ci_low", "ci_high")}

    def to_dir(self, path: str | Path) -> None:
        """Write every file of the result into the folder."""
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        for name, frame in (("results", self.results), ("summary", self.summary), *self.extra_tables.items()):
            if f"{name}.csv" in self.exact_files:
                (folder / f"{name}.csv").write_bytes(self.exact_files[f"{name}.csv"].encode("utf-8"))
            else:
                frame.write_csv(folder / f"{name}.csv")
        self.scores.to_dir(folder)
        lines = [json_text(verdict) + "\n" for verdict in self.verdicts]
        if lines:
            (folder / "verdicts.jsonl").write_text("".join(lines), encoding="utf-8")
        (folder / "lint.json").write_text(json_text(self.lint.as_dict(), indent=2) + "\n", encoding="utf-8")
        self.manifest.to_dir(folder)

    def __repr__(self) -> str:
        value = self.headline
        interval = "" if value["ci_low"] != value["ci_low"] else f" [{value['ci_low']:.3f}, {value['ci_high']:.3f}]"
        return (
            f"ScoreResult({self.model!r}, profile {self.profile}: headline {value['accuracy']:.4f}{interval}, "
            f"{len(self.results)} questions, {len(self.warnings)} warnings)"
        )

    def _repr_html_(self) -> str:
        levels = ("headline", "bound", "overall", "bucket", "pre_evaluation")
        shown = self.summary.filter(pl.col("level").is_in(levels))
        return notebook_table(shown, title=f"{self.model} (profile {self.profile})", warnings=map(str, self.warnings))
