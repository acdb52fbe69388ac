"""A study as checks see it: scores, tables, results of verbs and answers, each there or not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from surgvalid.audit.answers import QUESTIONS, is_answered
from surgvalid.audit.evidence import NotThere, Unanswered
from surgvalid.errors import SurgvalidError
from surgvalid.results.reading import StoredResult
from surgvalid.schema.metric_facts import MetricFacts, known_as
from surgvalid.schema.tables.missing import Missing
from surgvalid.schema.tables.score_table import ScoreMatrix, ScoreTable
from surgvalid.schema.tables.spellings import PLACEHOLDERS, plain_signs


class TableKind(NamedTuple):
    """A table that a study can name."""

    what: str
    needed: tuple[str, ...]
    numbers: tuple[str, ...] = ()
    """Columns that hold numbers; the other known ones are text."""
    texts: tuple[str, ...] = ()
    """Further columns that are read as text."""


TABLES: Mapping[str, TableKind] = {
    "cases": TableKind(
        "one row per test case: its video, reference label and properties", ("case", "video"), texts=("reference",)
    ),
    "splits": TableKind(
        "one row per video (or case) and split, with patient, content and reference where known",
        ("split", "video"),
        texts=("patient", "case", "content", "reference", "data_set"),
    ),
    "ratings": TableKind("one row per unit and rater", ("unit", "rater", "label"), texts=("video",)),
    "segments": TableKind(
        "one row per segment and rater", ("video", "rater", "label", "start_s", "end_s"), ("start_s", "end_s")
    ),
    "frames": TableKind(
        "one row per model and moment of a video, with reference and prediction",
        ("model", "video", "time_s", "reference", "prediction"),
        ("time_s",),
    ),
    "tracks": TableKind(
        "one row per object and frame",
        ("video", "frame", "track", "label", "x", "y", "width", "height"),
        ("frame", "x", "y", "width", "height"),
    ),
    "responses": TableKind(
        "one row per model and case, with reference and prediction",
        ("model", "case", "reference", "prediction"),
        texts=("video",),
    ),
    "reported": TableKind(
        "one row per number that the study reports", ("model", "metric", "value"), ("value", "low", "high")
    ),
}
"""Every table that a study can name beside its scores."""


@dataclass(frozen=True)
class AuditedStudy:
    """Everything that is known of a study."""

    name: str
    scores: ScoreTable | None = None
    missing: Missing = None
    metric: str | None = None
    """The main metric, where it was named."""
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    stored: tuple[StoredResult, ...] = ()
    """What verbs of surgvalid left."""
    conventions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What the study file says of its metrics."""
    answers: Mapping[str, Any] = field(default_factory=dict)
    files: tuple[Path, ...] = ()
    """What it was read from."""

    def question(self, key: str) -> str:
        """The question of that key."""
        return QUESTIONS[key].text

    def answer(self, key: str) -> Any:
        """The answer to a question; `False` where it was not done.

        Raises:
            Unanswered: There is none.
        """
        value = self.answers.get(key)
        if not is_answered(value):
            raise Unanswered(key)
        return value

    def has_answer(self, key: str) -> bool:
        """Whether somebody answered with more than that it was not done."""
        return is_answered(self.answers.get(key)) and self.answers.get(key) is not False

    def table(self, name: str, *columns: str) -> pl.DataFrame:
        """A table of the study.

        Raises:
            NotThere: There is none, or it lacks one of the columns.
        """
        if name not in self.tables:
            raise NotThere(f"a table of {name} ({TABLES[name].what})")
        lacking = [column for column in columns if column not in self.tables[name].columns]
        if lacking:
            raise NotThere(f"column {', '.join(lacking)} in the table of {name}")
        return self.tables[name]

    @property
    def scored(self) -> ScoreTable:
        """The scores.

        Raises:
            NotThere: There are none.
        """
        if self.scores is None:
            raise NotThere("scores (a score table with model, case, video and value)")
        return self.scores

    @property
    def printed(self) -> pl.DataFrame:
        """What the study reports, with models and metrics as the scores call them where only one can be meant.

        Raises:
            NotThere: There is no table of reported numbers, or there are no scores.
        """
        frame, scores = self.table("reported"), self.scored
        return frame.with_columns(
            model=_as_called(frame["model"], scores.models, lambda name: "".join(name.split()).casefold()),
            metric=_as_called(frame["metric"], scores.metrics, _one_metric),
        )

    @cached_property
    def matrix(self) -> ScoreMatrix:
        """The scores of the main metric.

        Raises:
            NotThere: There are none, or nobody said what counts for those that are missing.
        """
        try:
            return self.scored.matrix(self.metric, missing=self.missing)
        except SurgvalidError as error:
            raise NotThere(f"usable scores ({error})") from None

    @property
    def clustered(self) -> ScoreMatrix:
        """The scores, where it is known which cases belong to one video.

        Raises:
            NotThere: Videos are not named, or there is one only.
        """
        matrix = self.matrix
        if self.scores is None or not self.scores.has_videos:
            raise NotThere("a column `video`: which cases come from one patient is not known")
        if len(matrix.video_names) < 2:
            raise NotThere("a second video: with one, nothing is known of the spread between videos")
        return matrix

    @property
    def directed(self) -> ScoreMatrix:
        """The scores with a known direction.

        Raises:
            NotThere: Nobody said which values are better.
        """
        matrix = self.clustered
        if matrix.metric.better is None:
            name = matrix.metric.name
            raise NotThere(f"which values of {name!r} are better (better.{name} in the study file, or --better)")
        return matrix

    def rivals(self) -> ScoreMatrix:
        """The scores of two models or more that took part in every track, with a known direction.

        Raises:
            NotThere: There is one such model only.
        """
        matrix = self.directed
        if matrix.absent.elsewhere:
            matrix = matrix.columns([model for model in matrix.models if model not in matrix.absent.elsewhere])
        if len(matrix.models) < 2:
            raise NotThere("a second model to compare with")
        return matrix

    @property
    def options(self) -> dict[str, Any]:
        """What statistics of the main metric are to be given beside the scores."""
        return {"metric": self.matrix.metric.name, "missing": self.missing}

    @cached_property
    def patients(self) -> dict[str, str]:
        """The patient of every video, where scores, cases or splits name both."""
        named = [self.tables[name] for name in ("splits", "cases") if name in self.tables]
        if self.scores is not None and self.scores.unit.word == "patient" and "video_id" in self.scores.frame.columns:
            named.append(self.scores.frame.select(patient="video", video="video_id"))
        pairs = [
            frame.select(pl.col("video", "patient").cast(pl.String)) for frame in named if "patient" in frame.columns
        ]
        known = pl.concat(pairs).drop_nulls().unique(maintain_order=True).rows() if pairs else []
        return {video: patient for video, patient in known if plain_signs(patient) not in PLACEHOLDERS}

    def units(self, videos: pl.Series) -> pl.Series:
        """What is independent of these videos: their patients, where they are named."""
        return videos.cast(pl.String).replace(self.patients)

    @property
    def metrics(self) -> dict[str, MetricFacts]:
        """Every metric of the study that has scores, or a value in a result, with what is known of it."""
        facts = {name: self.scores.facts_of(name) for name in self.scores.metrics} if self.scores is not None else {}
        for result in self.of("evaluate", "combine"):
            frame = result.frame("metrics")
            names = frame["metric"].to_list() if "metric" in frame.columns else []
            facts |= {name: MetricFacts.unknown(name) for name in names if name not in facts}
        return facts

    @property
    def metric_names(self) -> list[str]:
        """The metrics of the scores, of results, of what was reported and of what the study file declares."""
        return list(dict.fromkeys(map(self.called, self._named_metrics)))

    @property
    def _named_metrics(self) -> list[str]:
        reported = self.tables["reported"]["metric"].to_list() if "reported" in self.tables else []
        return [*self.metrics, *self.conventions, *reported]

    def called(self, metric: str) -> str:
        """A metric as the study first calls it, its scores before its file, where it is spelled otherwise."""
        alike = (name for name in self._named_metrics if _one_metric(name) == _one_metric(metric))
        return metric if metric in self.metrics else next(alike, metric)

    @property
    def stated(self) -> dict[str, Mapping[str, Any]]:
        """What the study file says of its metrics, as the study calls them."""
        return {self.called(name): words for name, words in self.conventions.items()}

    def of(self, *verbs: str) -> list[StoredResult]:
        """The results that one of the verbs left."""
        return [result for result in self.stored if result.kind in verbs]

    @property
    def properties(self) -> pl.DataFrame:
        """One row per test case with its video and everything known of it: the table of cases, or strata of scores.

        Raises:
            NotThere: Neither is there.
        """
        if "cases" in self.tables:
            return self.tables["cases"]
        return self.matrix.cases


def _one_metric(name: str) -> str:
    """The same for all spellings of a metric."""
    return known_as(name) or name.casefold()


def _as_called(names: pl.Series, known: Sequence[str], folded: Callable[[str], str]) -> pl.Series:
    """Names as they are known, where by their folded form exactly one can be meant."""
    meant = {
        name: [one for one in known if folded(one) == folded(name)] for name in names.unique() if name not in known
    }
    return names.replace({name: alike[0] for name, alike in meant.items() if len(alike) == 1})
