"""Ensembles of stored responses: what the submissions could reach together, without running anything.

* `majority`: the response given most often; each model has one vote.
* `weighted`: the same with weighted votes; by default a model's weight in a video is its mean score on
  all other videos, so that no case helps to weigh its own vote.
* `oracle`: the best model of every case; no rule for choosing among stored responses can beat it.

Where votes tie, the score is the mean over the tied responses: what choosing among them at random would
give on average. Responses are equal when their keys are equal; build keys from answer formats with
`response_keys`, so that "3" and "03" are one vote.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl

from surgvalid.errors import Misuse, UnknownName
from surgvalid.results.request import requested
from surgvalid.results.result import TableResult, as_table
from surgvalid.results.tables.statistics import ENSEMBLES
from surgvalid.schema.findings import Finding
from surgvalid.schema.questions.formats import Unreadable, build_format
from surgvalid.schema.questions.question_files import load_references
from surgvalid.schema.questions.questions import Reference
from surgvalid.schema.tables.score_table import Missing, ScoreMatrix, ScoreTable
from surgvalid.schema.tables.table_facts import Directions
from surgvalid.stats.comparing.comparison import pair_row
from surgvalid.stats.intervals.few_videos import gathered
from surgvalid.stats.intervals.interval import (
    interval_prose,
    known,
    matrix_notes,
    of_slice,
    slice_spread,
    why_none,
)
from surgvalid.stats.intervals.interval_settings import AUTO, IntervalSettings, check_settings, unused
from surgvalid.stats.intervals.nesting import Resample
from surgvalid.stats.intervals.slices import SEPARATOR, Slice, labelled, slices, split_notes

KINDS = ("majority", "weighted", "oracle")
Key = Callable[[str, str], Hashable | None]
"""From a case and a response to what makes responses equal; None for a response that is no vote."""


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class EnsembleResult(TableResult):
    """Value of each ensemble and its gain over the best single model; one row per bucket and ensemble."""

    stem: ClassVar[str] = "ensembles"


@requested("ensembles", files=("table", "references"))
def ensembles(
    table: Any,
    *,
    response: str = "response",
    by: Sequence[str] = (),
    separator: str = SEPARATOR,
    kinds: Sequence[str] = KINDS,
    weights: Mapping[str, float] | None = None,
    key: Key | None = None,
    references: Any = None,
    resample: Resample | None = None,
    level: float = 0.95,
    replicates: int = 1000,
    method: str = AUTO,
    seed: int = 42,
    metric: str | None = None,
    better: Directions = None,
    missing: Missing = None,
    columns: Mapping[str, str] | None = None,
) -> EnsembleResult:
    """How well ensembles of the models in a table would do, per bucket, against the best single model.

    Args:
        table: A score table with a column of responses.
        response: Its name; `oracle` alone needs none.
        by: Columns whose combinations are the buckets; one with several labels per case is split.
        separator: What stands between the labels of a case, where a column of text holds several.
        kinds: Which of `majority`, `weighted`, `oracle`.
        weights: Weight of each model's vote, by name; from the other videos when left out.
        key: When two responses are the same vote; equal texts without surrounding space when left out.
        references: Instead of `key`: reference answers (or their files), by whose formats responses are equal, as
            `response_keys` says.
        resample: As for `interval`.
        level: Coverage asked for.
        replicates: How many resamples, where a method draws.
        method: As for `interval`; gains have the interval and p-value that `compare` gives.
        seed: Seed of the streams, where a method draws.
        metric: Which metric of the table.
        better: `larger` or `smaller`, where neither the table nor the name of the metric says it.
        missing: What a score that is not there counts as: `worst`, `drop-case`, `drop-score`, `error` or a number, for
            all or by status; by default the worst value for what the model is to blame for, else an error.
        columns: Our column names to theirs, where files are read.

    Raises:
        Misuse: Fewer than two models, weights that do not fit the models, or both a key and references.
    """
    settings = IntervalSettings("mean", resample or "cluster", "rows", level, replicates, method, seed)
    check_settings(settings)
    if key is not None and references is not None:
        raise Misuse("key and references both say when responses are equal; give one of them")
    if references is not None:
        key = response_keys(load_references(references))
    scores = as_table(table, columns, better=better, metric=metric)
    matrix = scores.matrix(metric, missing=missing)
    for kind in kinds:
        if kind not in KINDS:
            raise UnknownName("kind of ensemble", kind, KINDS)
    if len(matrix.models) < 2:
        raise Misuse(f"an ensemble needs at least two models, got {len(matrix.models)}")
    votes = None if set(kinds) == {"oracle"} else vote_codes(scores, matrix, response, key)
    scored = [_column(kind, matrix, votes, weights) for kind in kinds]
    wide = _widened(matrix, list(kinds), np.column_stack(scored))
    rows: list[dict[str, Any]] = []
    spoken: list[Finding] = []
    for slice_ in slices(wide, by, separator=separator):
        bucket, findings = _bucket_rows(slice_, matrix.models, list(kinds), settings)
        rows += bucket
        spoken += findings
    prose = (
        f"Ensembles of {len(matrix.models)} models' stored responses ({', '.join(kinds)}); the oracle bounds "
        "every choice among them from above. "
        f"{interval_prose(settings, matrix, what='values')} The gain is over the best single model of the bucket, "
        "which is itself chosen on these data, so gains are if anything too small; its interval and p-value are those "
        "of `compare`."
    )
    about = matrix_notes(matrix, has_videos=scores.has_videos)
    split = split_notes(matrix.cases, by, separator=separator)
    notes = [*about, *split, *unused(settings), *gathered(spoken)]
    return EnsembleResult.of(ENSEMBLES.frame(rows), prose, tuple(notes))


def response_keys(references: Sequence[Reference]) -> Key:
    """When two responses are the same vote, by the answer format of their question.

    Closed answers are equal when they stand for the same value; unreadable ones are no vote. Answers
    that need a judge are compared as text in lower case.
    """
    formats = {one.case: build_format(one.format, one.parameters) for one in references}

    def key(case: str, text: str) -> Hashable | None:
        known = formats.get(case)
        if known is None:
            return text.strip()
        try:
            value = known.parse(text)
        except Unreadable:
            return None
        return text.strip().casefold() if known.judged else repr(value)

    return key


def vote_codes(scores: ScoreTable, matrix: ScoreMatrix, response: str, key: Key | None) -> np.ndarray:
    """`[case, model]`: which of a case's responses each model gave, -1 for none."""
    if response not in scores.frame.columns:
        raise UnknownName("response column", response, scores.frame.columns)
    name = [column for column in ("task", "case") if column in matrix.cases.columns]
    place = {row: i for i, row in enumerate(matrix.cases.select(name).rows())}
    column = {model: i for i, model in enumerate(matrix.models)}
    votes = np.full(matrix.values.shape, -1)
    seen: list[dict[Hashable, int]] = [{} for _ in range(len(matrix.values))]
    frame = scores.frame.filter(pl.col("metric") == matrix.metric.name)
    texts = frame[response].cast(pl.String).to_list()
    for case, model, text in zip(frame.select(name).rows(), frame["model"].to_list(), texts, strict=True):
        row = place.get(case)
        if row is None or text is None:
            continue
        vote = text.strip() if key is None else key(str(case[-1]), text)
        if vote is not None:
            votes[row, column[model]] = seen[row].setdefault(vote, len(seen[row]))
    return votes


def vote_scores(values: np.ndarray, votes: np.ndarray, weights: np.ndarray, *, worst: float) -> np.ndarray:
    """The score of the response with the most weight, per case; the mean over tied ones.

    Args:
        values: `[case, model]` scores.
        votes: `[case, model]` codes of responses, -1 for none.
        weights: `[case, model]` weight of each vote.
        worst: The score of a case nobody answered.
    """
    size = int(votes.max(initial=0)) + 1
    rows = np.arange(len(votes))[:, None]
    cast = (votes >= 0) & np.isfinite(values)
    code = np.where(cast, votes, 0)
    support, total, number = (np.zeros((len(votes), size)) for _ in range(3))
    np.add.at(support, (rows, code), np.where(cast, weights, 0.0))
    np.add.at(total, (rows, code), np.where(cast, values, 0.0))
    np.add.at(number, (rows, code), cast.astype(np.float64))
    given = number > 0
    best = np.where(given, support, -np.inf).max(axis=1, keepdims=True)
    chosen = given & (support >= best - 1e-12)
    mean = np.divide(total, number, out=np.zeros_like(total), where=given)
    picked = chosen.sum(axis=1)
    return np.where(picked > 0, (mean * chosen).sum(axis=1) / np.maximum(picked, 1), worst)


def _column(
    kind: str, matrix: ScoreMatrix, votes: np.ndarray | None, weights: Mapping[str, float] | None
) -> np.ndarray:
    values, facts = matrix.values, matrix.metric
    if kind == "oracle" or votes is None:
        filled = np.where(np.isfinite(values), facts.sign * values, -np.inf)
        best = filled.max(axis=1)
        return np.where(np.isfinite(best), facts.sign * best, np.nan)
    worst = facts.worst if np.isfinite(facts.worst) else np.nan
    equal = np.ones(values.shape)
    return vote_scores(values, votes, equal if kind == "majority" else _weights(matrix, weights), worst=worst)


def _weights(matrix: ScoreMatrix, weights: Mapping[str, float] | None) -> np.ndarray:
    if weights is not None:
        problems = [f"weight for unknown model {name!r}" for name in weights if name not in matrix.models]
        problems += [f"no weight for model {name!r}" for name in matrix.models if name not in weights]
        if problems:
            raise Misuse(f"weights: {'; '.join(problems)}")
        return np.tile([float(weights[name]) for name in matrix.models], (len(matrix.values), 1))
    known = np.isfinite(matrix.values)
    sums = np.zeros((2, len(matrix.video_names), len(matrix.models)))
    np.add.at(sums[0], matrix.videos, np.where(known, matrix.values, 0.0))
    np.add.at(sums[1], matrix.videos, known.astype(np.float64))
    others = sums.sum(axis=1, keepdims=True) - sums
    mean = np.divide(others[0], others[1], out=np.zeros_like(others[0]), where=others[1] > 0)
    if matrix.metric.sign < 0:
        mean = mean.max() - mean
    return np.asarray(mean[matrix.videos])


def _widened(matrix: ScoreMatrix, kinds: list[str], columns: np.ndarray) -> ScoreMatrix:
    values = np.column_stack([matrix.values, columns])
    return replace(matrix, values=values, models=[*matrix.models, *kinds])


def _bucket_rows(
    slice_: Slice, models: list[str], kinds: list[str], settings: IntervalSettings
) -> tuple[list[dict[str, Any]], list[Finding]]:
    """The rows of one bucket, and what must be said about them."""
    values, sign = slice_.matrix.values, slice_.matrix.metric.sign
    every = slice_spread(slice_, settings._replace(method=AUTO))[0].value
    best = int(np.argmax(np.where(np.isfinite(every), sign * every, -np.inf)[: len(models)]))
    estimates, note = slice_spread(
        Slice(slice_.labels, _columns(slice_.matrix, range(len(models), len(every)))), settings
    )
    rows, spoken = [], list(of_slice(slice_, estimates.findings, kinds))
    for i, kind in enumerate(kinds):
        both = np.isfinite(values[:, [len(models) + i, best]]).all(axis=1)
        pair = _columns(slice_.matrix, [len(models) + i, best]).where(both)
        gain, findings = pair_row(Slice({}, pair), settings)
        subject = f"{slice_.name}, gain of {kind}" if slice_.labels else f"gain of {kind}"
        spoken += [replace(one, subject=subject) for one in findings]
        low, high = (gain["low"], gain["high"]) if sign > 0 else (gain["high"], gain["low"])
        rows.append(
            labelled(
                slice_.labels,
                {
                    "ensemble": kind,
                    "value": known(estimates.value[i]),
                    "low": known(estimates.low[i]),
                    "high": known(estimates.high[i]),
                    "sd": known(estimates.sd[i]),
                    "best_model": models[best],
                    "best_value": known(every[best]),
                    "gain": _turned(gain["difference"], sign),
                    "gain_low": _turned(low, sign),
                    "gain_high": _turned(high, sign),
                    "gain_p": None if kind == "oracle" else gain["p_value"],  # the oracle cannot lose
                    "cases": len(values),
                    "videos": len(slice_.matrix.video_names),
                    "method": settings.method if note else estimates.method[i],
                    "gain_method": gain["method"],
                    "note": note or why_none(estimates, i, kind, slice_.matrix.unit) or gain["note"],
                },
            )
        )
    return rows, spoken


def _columns(matrix: ScoreMatrix, places: Sequence[int]) -> ScoreMatrix:
    """Columns by number: an ensemble may share its name with a model."""
    chosen = list(places)
    return replace(matrix, values=matrix.values[:, chosen], models=[matrix.models[place] for place in chosen])


def _turned(number: float | None, sign: float) -> float | None:
    return None if number is None else sign * number
