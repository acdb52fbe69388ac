"""The scores of one metric as an array of cases by models: the form that statistics work on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from surgvalid.schema.findings import Finding
from surgvalid.schema.metric_facts import MetricFacts
from surgvalid.schema.outcomes import Status
from surgvalid.schema.statistic_rules import remark
from surgvalid.schema.tables.missing import Absences, Missing, Rule, resolve, scored_without_answer, usual_rules
from surgvalid.schema.tables.statistics_table import StatisticsTable
from surgvalid.schema.tables.table_facts import taken_over
from surgvalid.schema.tables.units import Unit

TRACK = "track"
"""The column of the competition that a case belongs to; a model may take part in some of them only."""


@dataclass(frozen=True)
class ScoreMatrix:
    """Scores of one metric: `values[case, model]`, NaN where a score is left out by the rule for missing ones."""

    values: np.ndarray
    models: list[str]
    videos: np.ndarray
    """For each case, the index of its video in `video_names`."""
    video_names: list[str]
    cases: pl.DataFrame
    """One row per case: `case`, `video`, `task` where present, and the strata."""
    metric: MetricFacts
    absent: Absences = field(default_factory=Absences)
    """Scores that were not there, and what became of them."""
    statistics: StatisticsTable | None = None
    """Of a pooled metric: every row is then a video, `values` are the videos' own, and the value of all is not their
    mean but what the statistics combine to."""
    unit: Unit = field(default_factory=Unit)
    """What a video stands for."""

    @property
    def unpooled(self) -> str | None:
        """What to say where the mean of the rows stands for a value that is something else."""
        if not self.metric.pooled or self.statistics is not None:
            return None
        name = self.metric.name
        return f"{name!r}: per-video values; the pooled value of {name} is not their mean."

    @property
    def borrowed(self) -> list[Finding]:
        """Whose facts were taken over, where the metric has a name of its own."""
        text = taken_over(self.metric)
        return [remark("facts-by-name", text)] if text else []

    @property
    def notes(self) -> list[str]:
        """What a reader must know about the scores: whose facts were taken over, what stands for missing ones."""
        return [finding.text for finding in (*self.borrowed, *self.findings())]

    def findings(self, *, paired: bool = False) -> list[Finding]:
        """Whether anything says what is independent, rows stand for a pooled value, and what became of absent scores.

        Args:
            paired: Whether a case counts for every model or none.
        """
        unpooled = [remark("not-pooled", self.unpooled)] if self.unpooled else []
        return [*self.unsaid, *unpooled, *self.absent.findings(paired=paired)]

    @property
    def unsaid(self) -> list[Finding]:
        """The question how many patients there are, where nothing says it; all rows are one unit then."""
        if self.unit.is_known:
            return []
        text = (
            f"Nothing says how many patients these {len(self.values):,} {self.unit.word}s come from, so no interval, "
            "p-value or winner is given: name the column of patients with --unit COLUMN, say which part of the names "
            "is the patient with --unit prefix:N, or --unit case if every one is another patient."
        )
        return [remark("no-unit", text)]

    def where(self, rows: np.ndarray) -> ScoreMatrix:
        """The matrix of the cases selected by a mask or by indices; videos without cases vanish."""
        old, videos = np.unique(self.videos[rows], return_inverse=True)
        names = [self.video_names[i] for i in old]
        cases = self.cases[np.flatnonzero(rows) if rows.dtype == bool else rows]
        return replace(self, values=self.values[rows], videos=videos, video_names=names, cases=cases)

    def columns(self, models: Sequence[str]) -> ScoreMatrix:
        """The matrix of some of the models, in that order."""
        places = [self.models.index(model) for model in models]
        return replace(self, values=self.values[:, places], models=list(models), absent=self.absent.of(models))


def score_matrix(
    frame: pl.DataFrame,
    facts: MetricFacts,
    strata: Sequence[str],
    missing: Missing,
    *,
    unit: Unit | None = None,
    says_why: bool = True,
) -> ScoreMatrix:
    """The rows of one metric as a matrix, scores that are not there as the rules say.

    Args:
        frame: The rows.
        facts: Of the metric.
        strata: Columns that describe cases.
        missing: The rules as somebody gave them.
        unit: What a video stands for.
        says_why: Whether rows without a score say why; see `missing.usual_rules`.

    Raises:
        TableInvalid: A rule for missing scores says so, or cannot be followed.
    """
    key = [name for name in ("task", "case") if name in frame.columns]
    cases = frame.unique(subset=key, keep="first", maintain_order=True)
    cases = cases.select([*key, "video", *strata]).with_row_index("__case__")
    models = frame["model"].unique(maintain_order=True).to_list()
    numbered = frame.join(cases.select([*key, "__case__"]), on=key, how="left", nulls_equal=True)
    rows = numbered["__case__"].to_numpy()
    code = {model: index for index, model in enumerate(models)}
    columns = frame["model"].replace_strict(code, return_dtype=pl.Int64).to_numpy()
    values = np.full((cases.height, len(models)), np.nan)
    values[rows, columns] = numbered["value"].to_numpy()
    status = np.full(values.shape, list(Status).index(Status.MISSING), dtype=np.int8)
    if np.isnan(values).any():
        places = {one.value: place for place, one in enumerate(Status)}
        status[rows, columns] = numbered["status"].replace_strict(places, return_dtype=pl.Int8).to_numpy()
    elsewhere = took_no_part(frame)
    usual = _usual(status, values, cases, models, elsewhere, usual_rules(facts, says_why=says_why))
    values, keep, absent = resolve(values, status, models, facts, missing, usual)
    absent = replace(absent, scored=scored_without_answer(frame, facts, missing), elsewhere=elsewhere)
    names, videos = np.unique(cases["video"].to_numpy().astype(str)[keep], return_inverse=True)
    kept = cases.drop("__case__").filter(pl.Series(keep))
    return ScoreMatrix(values[keep], models, videos, names.tolist(), kept, facts, absent, unit=unit or Unit())


def took_no_part(frame: pl.DataFrame) -> dict[str, tuple[str, ...]]:
    """For each model that took part in some tracks only, those of which it has no row."""
    if TRACK not in frame.columns:
        return {}
    tracks = frame[TRACK].drop_nulls().cast(pl.String).unique().sort().to_list()
    present = frame.group_by("model", maintain_order=True).agg(pl.col(TRACK).drop_nulls().cast(pl.String).unique())
    lacking = {str(model): tuple(name for name in tracks if name not in some) for model, some in present.iter_rows()}
    return {model: some for model, some in lacking.items() if some and len(some) < len(tracks)}


def _usual(
    status: np.ndarray,
    values: np.ndarray,
    cases: pl.DataFrame,
    models: Sequence[str],
    elsewhere: Mapping[str, tuple[str, ...]],
    rules: Mapping[Status, Rule],
) -> Mapping[Status, Rule]:
    """The rules where none is given; marks cases of tracks in which a model did not take part as never asked.

    They are left out of that model's values, unless other cases were not asked either: then somebody has to decide.
    """
    asked = list(Status).index(Status.NOT_ASKED)
    others = bool((np.isnan(values) & (status == asked)).any())
    for model, tracks in elsewhere.items():
        rows = cases[TRACK].cast(pl.String).is_in(tracks).fill_null(False).to_numpy()
        status[rows, models.index(model)] = asked
    return rules if others or not elsewhere else {**rules, Status.NOT_ASKED: "drop-score"}
