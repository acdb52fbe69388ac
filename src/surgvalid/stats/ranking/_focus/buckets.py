"""Buckets and leaderboards: all questions of one capability group that are in, or out of, distribution.

Source: FOCUS challenge document, ranking scheme; a leaderboard is split into up to ten buckets (five
groups, each in and out of distribution). The technical leaderboard takes all questions, the clinical leaderboard
the clinically relevant ones. Scores are means over the questions of a bucket.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from surgvalid.errors import Misuse, TableInvalid, TooFewVideos, UnknownName
from surgvalid.results.registered_data import note_cases
from surgvalid.schema.findings import Finding
from surgvalid.schema.questions.taxonomy import Capability
from surgvalid.schema.statistic_rules import remark
from surgvalid.schema.tables.score_table import ScoreMatrix, ScoreTable
from surgvalid.stats.comparing.paired_tests import PairedScores
from surgvalid.stats.intervals.few_videos import no_videos
from surgvalid.stats.ranking._options import RankOptions

_YES = {"true": True, "yes": True, "1": True, "1.0": True, "false": False, "no": False, "0": False, "0.0": False}
_WORDS = {"ood": {"ood": True, "id": False}, "clinical": {"clinical": True, "technical": False}}


@dataclass(frozen=True)
class Bucket:
    """The questions of one capability group, in or out of distribution."""

    capability: str
    ood: bool
    scores: PairedScores
    videos: np.ndarray
    """For each video of the bucket its index among all videos of the table."""

    @property
    def name(self) -> str:
        """Such as `aggregation, OOD`."""
        return f"{self.capability}, {'OOD' if self.ood else 'ID'}"

    @cached_property
    def accuracy(self) -> np.ndarray:
        """The mean score of each model over the questions."""
        return np.asarray(self.scores.sums.sum(axis=0) / len(self.scores.values))


@dataclass(frozen=True)
class FocusLeaderboard:
    """The populated buckets of one leaderboard, and the models in them."""

    name: str
    models: list[str]
    """All entries, sorted by name so that nothing depends on the order of rows."""
    buckets: tuple[Bucket, ...]
    videos: int
    """Videos of the whole table, over which one joint resample is drawn."""
    low: float = 0.0
    """Smallest score there can be."""
    high: float = 1.0
    """Largest score there can be."""

    @cached_property
    def accuracy(self) -> np.ndarray:
        """Mean scores `[bucket, model]`."""
        return np.stack([bucket.accuracy for bucket in self.buckets])

    @property
    def macro(self) -> np.ndarray:
        """The mean over buckets, for each model."""
        return np.asarray(self.accuracy.mean(axis=0))


@dataclass(frozen=True)
class Prepared:
    """The leaderboards of a table, and what had to be said on the way."""

    boards: tuple[FocusLeaderboard, ...]
    video_names: list[str]
    findings: tuple[Finding, ...]
    treatment: str
    """What became of scores that were not given, in words."""


def prepare(table: ScoreTable, options: RankOptions) -> Prepared:
    """The leaderboards asked for.

    Raises:
        TableInvalid: A column is missing or unreadable, with every problem found.
        TooFewVideos: There is only one video.
    """
    metric = table.chosen_metric(options.metric)
    if table.facts_of(metric).sign < 0:
        raise Misuse("rule 'focus' ranks accuracies, where larger is better; use a generic rule for this metric")
    _check_columns(table, options.board)
    matrix, about, treatment = _complete(table, metric, options)
    group, ood = _groups(matrix.cases), _flags(matrix.cases, "ood")
    clinical = _flags(matrix.cases, "clinical") if "clinical" in matrix.cases.columns else None
    problems = [*group[1], *ood[1], *(clinical[1] if clinical else ())]
    if problems:
        raise TableInvalid("score table", problems)
    if len(matrix.models) < 2:
        raise TableInvalid("score table", [f"a ranking needs at least two models, got only {matrix.models[0]!r}"])
    if len(matrix.video_names) < 2:
        raise TooFewVideos("all questions come from one video; differences between models cannot be judged")
    boards, notes = _boards(matrix, group[0], ood[0], None if clinical is None else clinical[0], options.board)
    if not table.has_videos:
        notes.append(no_videos("question"))
    return Prepared(tuple(boards), matrix.video_names, (*about, *notes), treatment)


def _check_columns(table: ScoreTable, board: str) -> None:
    problems = []
    names = ", ".join(map(repr, table.frame.columns))
    if not {"group", "capability"} & set(table.strata):
        problems.append(f"rule 'focus' needs a column 'capability' (or 'group'); the table has {names}")
    if "ood" not in table.strata:
        problems.append(f"rule 'focus' needs a column 'ood' (true, false); the table has {names}")
    if board == "clinical" and "clinical" not in table.strata:
        problems.append(f"the clinical leaderboard needs a column 'clinical' (true, false); the table has {names}")
    if problems and not {"group", "capability", "ood"} & set(table.strata):
        problems[-1] += "; a table without buckets fits rule 'mean-then-rank' or another generic rule"
    problems += _contradictions(table)
    if problems:
        raise TableInvalid("score table", problems)


def _contradictions(table: ScoreTable) -> list[str]:
    """Questions whose description differs from model to model."""
    key = [name for name in ("task", "case") if name in table.frame.columns]
    problems = []
    for column in ("group", "capability", "ood", "clinical"):
        if column not in table.strata:
            continue
        seen = table.frame.select([*key, column]).unique()
        repeated = seen.filter(seen.select(key).is_duplicated())["case"].unique().sort()
        if len(repeated):
            problems.append(f"column {column!r} differs within {len(repeated)} cases (first: {repeated[0]!r})")
    return problems


def _complete(table: ScoreTable, metric: str, options: RankOptions) -> tuple[ScoreMatrix, list[Finding], str]:
    """The matrix with sorted models; what became of scores that are not there is said.

    Raises:
        Misuse: Scores would be left out for one model and not for another, which buckets cannot be compared under.
    """
    matrix = table.matrix(metric, missing=options.missing)
    if matrix.absent.elsewhere and np.isnan(matrix.values).any():
        raise Misuse(
            f"{', '.join(map(repr, matrix.absent.elsewhere))} took part in some tracks only, and rule 'focus' "
            "compares models on the same questions; rank each track by itself, or use missing='drop-case' "
            "(--missing drop-case)"
        )
    if np.isnan(matrix.values).any():
        raise Misuse(
            "rule 'focus' compares models on the same questions; use missing='drop-case' (--missing drop-case), "
            "not 'drop-score'"
        )
    note_cases(matrix.cases, metric=matrix.metric.name)
    sentences = matrix.absent.sentences
    whole = matrix.columns(sorted(matrix.models))
    return (
        whole,
        [*matrix.borrowed, *matrix.findings()],
        " ".join(sentences) or "every model had a score for every question.",
    )


def _groups(cases: pl.DataFrame) -> tuple[np.ndarray, list[str]]:
    """The capability group of each case. A `group` column may name groups outside the taxonomy."""
    column = "group" if "group" in cases.columns else "capability"
    text = cases[column].cast(pl.String)
    named, problems = {}, []
    for value in text.unique().sort().to_list():
        if value is None or value == "":
            problems.append(f"column {column!r} is empty in {text.is_null().sum() or (text == '').sum()} cases")
            continue
        try:
            named[value] = Capability.read(value).group.value
        except UnknownName as error:
            named[value] = value
            if column == "capability":
                problems.append(str(error))
    return text.replace(named).to_numpy().astype(str), problems


def _flags(cases: pl.DataFrame, column: str) -> tuple[np.ndarray, list[str]]:
    """A yes-or-no column as booleans, and what could not be read."""
    text = cases[column].cast(pl.String).str.strip_chars().str.to_lowercase()
    known = {**_YES, **_WORDS[column]}
    values = text.unique().sort().to_list()
    problems = [
        f"column {column!r} holds {value!r} in {int((text == value).sum())} cases; expected true or false"
        if value
        else f"column {column!r} is empty in {int((text.is_null() | (text == '')).sum())} cases"
        for value in values
        if value not in known
    ]
    return np.array([known.get(value or "", False) for value in text.to_list()], dtype=bool), problems


def _boards(
    matrix: ScoreMatrix, group: np.ndarray, ood: np.ndarray, clinical: np.ndarray | None, wanted: str
) -> tuple[list[FocusLeaderboard], list[Finding]]:
    boards: list[FocusLeaderboard] = []
    notes: list[Finding] = []
    for name in ("technical", "clinical"):
        if wanted not in (name, "both"):
            continue
        if name == "clinical" and (clinical is None or not clinical.any()):
            reason = "no column 'clinical'" if clinical is None else "no clinically relevant question"
            if wanted == "clinical":
                raise TableInvalid("score table", [f"the clinical leaderboard is empty: {reason}"])
            notes.append(remark("board-left-out", f"the clinical leaderboard is left out: {reason}"))
            continue
        rows = np.ones(len(group), dtype=bool) if name == "technical" or clinical is None else clinical
        board = FocusLeaderboard(
            name,
            matrix.models,
            _split(matrix, group, ood, rows),
            len(matrix.video_names),
            matrix.metric.low,
            matrix.metric.high,
        )
        notes += _empty(board, group)
        boards.append(board)
    return boards, notes


def _split(matrix: ScoreMatrix, group: np.ndarray, ood: np.ndarray, rows: np.ndarray) -> tuple[Bucket, ...]:
    buckets = []
    for capability in _ordered(np.unique(group).tolist()):
        for flag in (False, True):
            chosen = np.flatnonzero(rows & (group == capability) & (ood == flag))
            if len(chosen):
                videos, code = np.unique(matrix.videos[chosen], return_inverse=True)
                buckets.append(Bucket(capability, flag, PairedScores(matrix.values[chosen], code), videos))
    return tuple(buckets)


def _ordered(groups: Sequence[str]) -> list[str]:
    taxonomy = [capability.value for capability in Capability.groups()]
    return [g for g in taxonomy if g in groups] + sorted(g for g in groups if g not in taxonomy)


def _empty(board: FocusLeaderboard, group: np.ndarray) -> list[Finding]:
    taxonomy = [capability.value for capability in Capability.groups()]
    present = np.unique(group).tolist()
    expected = taxonomy if set(present) <= set(taxonomy) else present
    populated = {(bucket.capability, bucket.ood) for bucket in board.buckets}
    empty = [f"{g}, {'OOD' if o else 'ID'}" for g in expected for o in (False, True) if (g, o) not in populated]
    subject = f"{board.name} leaderboard ({'; '.join(empty)})"
    return [remark("empty-buckets", "empty buckets are skipped", subject=subject)] if empty else []
