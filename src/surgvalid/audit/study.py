"""A study as checks see it: scores, tables, results of verbs and answers, each there or not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from surgvalid.audit.answers import QUESTIONS, is_answered
from surgvalid.audit.evidence import NotThere, Unanswered
from surgvalid.errors import SurgvalidError
from surgvalid.results.reading import StoredResult
from surgvalid.schema.metric_facts import MetricFacts
from surgvalid.schema.tables.missing import Missing
from surgvalid.schema.tables.score_table import ScoreMatrix, ScoreTable


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

    @cached_property
    def matrix(self) -> ScoreMatrix:
        """The scores of the main metric.

        Raises:
            NotThere: There are none, or nobody said what counts for those that are missing.
        """
        if self.scores is None:
            raise NotThere("scores (a score table with model, case, video and value)")
        try:
            return self.scores.matrix(self.metric, missing=self.missing)
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
        reported = self.tables["reported"]["metric"].to_list() if "reported" in self.tables else []
        return list(dict.fromkeys([*self.metrics, *self.conventions, *reported]))

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
