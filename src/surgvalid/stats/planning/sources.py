"""What a plan rests on: the value or difference of a pilot with its spread, or what was stated."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from surgvalid.errors import InputInvalid, Misuse, TooFewVideos, UnknownName
from surgvalid.schema.findings import Finding
from surgvalid.schema.metric_facts import MetricFacts
from surgvalid.schema.statistic_rules import remark
from surgvalid.schema.tables.score_table import Missing, ScoreTable
from surgvalid.stats.comparing.comparison import ComparisonResult, compare, pair_matrix
from surgvalid.stats.intervals.interval import interval
from surgvalid.stats.intervals.pooled import verb_matrix
from surgvalid.stats.planning.settings import SMALL_PILOT, PlanSettings, small_pilot
from surgvalid.stats.planning.spread import Spread
from surgvalid.stats.verdict.sentences import sentences_of


@dataclass(frozen=True)
class Source:
    """What is planned with."""

    spread: Spread
    value: float
    """The true value or difference that is planned for."""
    models: tuple[str, ...] = ()
    metric: MetricFacts | None = None
    zero_one: bool = False
    low: float = -math.inf
    high: float = math.inf
    tested: bool = True
    """Whether the study will be judged by means of videos, which can be simulated here."""
    videos: int | None = None
    """Of the pilot."""
    unit: str = "video"
    """What is independent, in a word."""
    parts: str = ""
    """The column of what a unit is scored for (organs, classes), of which a study cannot have more."""
    holding: tuple[int, int] | None = None
    """Of the pilot's videos, how many hold the subgroup, and how many there are."""
    share: float = 1.0
    findings: tuple[Finding, ...] = ()


def stated(settings: PlanSettings) -> Source:
    """What was said on the command line."""
    assert settings.sd is not None
    assert settings.icc is not None
    spread = Spread.stated(settings.sd, settings.icc, float(settings.questions[0]))
    bounded = settings.goal == "width" and settings.value is not None and 0 < settings.value < 1
    value = settings.value if settings.goal == "width" else settings.effect
    share = 0.0 if value is None else value * (1 - value)
    binary = bounded and abs(settings.sd**2 - share) < 0.005
    note = remark("spread-stated", "The spread was stated and not measured: the plan is as good as that statement.")
    return Source(
        spread,
        value or 0.0,
        zero_one=binary,
        low=0.0 if bounded else -math.inf,
        high=1.0 if bounded else math.inf,
        share=settings.share or 1.0,
        findings=(note,),
    )


def in_shares(
    settings: PlanSettings, scores: ScoreTable | None, metric: str | None
) -> tuple[PlanSettings, list[Finding]]:
    """The settings with a goal in percent points as a share, where the scores of the pilot are percentages."""
    name = None if scores is None else scores.chosen_metric(metric)
    given = {goal: getattr(settings, goal) for goal in ("width", "difference", "margin")}
    if scores is None or name not in scores.read_as.percent:
        return settings, []
    shares = {goal: scores.as_share(name, number) for goal, number in given.items()}
    each = ", ".join(f"{number:g} is {shares[goal]:g}" for goal, number in given.items() if number is not None)
    text = f"The scores were written as percentages, so the goal is read in percent points: {each}."
    width, difference, margin = (shares[goal] for goal in given)
    read = replace(settings, width=width, difference=difference, margin=margin)
    return read, [remark("percent-points", text)] if each else []


def of_pilot(
    scores: ScoreTable, settings: PlanSettings, *, metric: str | None, missing: Missing, estimand: str
) -> Source:
    """What a pilot shows of one model, or of two.

    Raises:
        UnknownName: A model that the pilot does not have.
        InputInvalid: With every problem of the choice of models.
        TooFewVideos: The pilot shows no spread.
    """
    _check_models(scores, settings)
    asked: dict[str, Any] = {"metric": metric, "missing": missing, "estimand": estimand, "level": settings.level}
    matrix = _matrix(scores, asked)
    _check_scale(matrix.metric, settings)
    for question in matrix.unsaid:
        raise Misuse(f"{question.message} Without a pilot, state the spread: --assume sd=...,icc=...")
    scores, holding = _subgroup(scores, settings.subgroup)
    parts = next((line.column for line in scores.read_as.interpreted if line.code == "parts"), "")
    make = _one_value if settings.goal == "width" else _pair
    source = make(scores, settings, asked)
    if parts:
        undivided = replace(source.spread, between=source.spread.variance(), within=np.zeros(1), divisible=False)
        source = replace(source, spread=undivided, parts=parts)
    findings = [*source.findings, *_about(source)]
    share = 1.0 if holding is None else holding[0] / holding[1]
    return replace(source, holding=holding, share=share, unit=scores.unit.word, findings=tuple(findings))


def _check_scale(facts: MetricFacts, settings: PlanSettings) -> None:
    """A goal as wide as the scale is meant in percent points, or of another metric; nobody divides it unasked."""
    for name in ("width", "difference", "margin"):
        given = getattr(settings, name)
        if given is not None and given >= facts.high - facts.low:
            raise Misuse(
                f"--{name} {given:g}: {facts.name!r} lies between {facts.low:g} and {facts.high:g}; percent points are "
                f"hundredths there (--{name} {given / 100:g})"
            )


def _check_models(scores: ScoreTable, settings: PlanSettings) -> None:
    for name in settings.models:
        if name not in scores.models:
            raise UnknownName("model", name, scores.models)
    wanted = 1 if settings.goal == "width" else 2
    if settings.goal == "difference" and len(settings.models) != 2 and len(scores.models) != 2:
        raise InputInvalid("plan", [f"--models: name the two models of the pilot, which has {len(scores.models)}"])
    if len(settings.models) > wanted:
        raise InputInvalid("plan", [f"--models: {settings.goal} takes {wanted}, got {len(settings.models)}"])


def _subgroup(scores: ScoreTable, subgroup: str | None) -> tuple[ScoreTable, tuple[int, int] | None]:
    if subgroup is None:
        return scores, None
    column, _, value = subgroup.partition("=")
    if column not in scores.strata:
        raise UnknownName("column of a subgroup", column, scores.strata)
    texts = scores.frame[column].cast(pl.String)
    if value not in (known := texts.drop_nulls().unique().sort().to_list()):
        raise UnknownName(f"value of {column!r}", value, known)
    rows = scores.frame.filter(texts == value)
    held, every = rows["video"].n_unique(), scores.frame["video"].n_unique()
    return replace(scores, frame=rows, statistics=None), (held, every)


def _one_value(scores: ScoreTable, settings: PlanSettings, asked: Mapping[str, Any]) -> Source:
    result = interval(scores, **asked)
    rows = result.table.filter(pl.col("model").is_in(settings.models)) if settings.models else result.table
    row = rows.sort("sd", descending=True, nulls_last=True).row(0, named=True)
    matrix = _matrix(scores, asked)
    place = matrix.models.index(row["model"])
    findings = list(result.findings)
    if not settings.models and result.table.height > 1:
        findings.append(remark("widest-model", f"Planned for {row['model']!r}, whose value varies most."))
    value = row["value"] if settings.value is None else settings.value
    spread, zero_one = _spread(row, matrix, matrix.values[:, place], asked["estimand"])
    facts = matrix.metric
    return Source(
        spread,
        float(value),
        (row["model"],),
        facts,
        zero_one,
        facts.low,
        facts.high,
        tested=matrix.statistics is None,
        videos=row["videos"],
        findings=tuple(findings),
    )


def _pair(scores: ScoreTable, settings: PlanSettings, asked: Mapping[str, Any]) -> Source:
    first, second = settings.models or scores.models
    result = compare(scores, first, second, **asked)
    row = result.table.row(0, named=True)
    matrix = pair_matrix(_matrix(scores, asked), first, second)
    assert settings.effect is not None
    spread, zero_one = _spread(row, matrix, matrix.values[:, 0] - matrix.values[:, 1], asked["estimand"])
    return Source(
        spread,
        settings.effect,
        (first, second),
        matrix.metric,
        zero_one,
        tested=matrix.statistics is None,
        videos=row["videos"],
        findings=(*result.findings, *_told_by(result, scores)),
    )


_OF_PILOTS = ("depends_on_stratum", "amount_depends", "elsewhere", "depends_on_missing")
"""What the verdict on a pilot says that a plan from it rests on."""


def _told_by(result: ComparisonResult, scores: ScoreTable) -> list[Finding]:
    """What the verdict on the pilot says of centres and missing scores, which the plan takes as they are."""
    judged = result.judged
    if judged is None:
        return []
    spoken = dict(zip((one.code for one in judged.statements), sentences_of(judged), strict=True))
    findings = [remark("pilot-varies", f"Of the pilot: {spoken[code]}") for code in _OF_PILOTS if code in spoken]
    every, word = scores.frame["video"].n_unique(), scores.unit.word
    if judged.n < every:
        text = (
            f"{judged.n} of the {every} {word}s of the pilot have scores of both models, and such {word}s are planned: "
            f"if as many lack some again, it takes {every / judged.n:.2g} times as many."
        )
        findings.append(remark("pilot-lacks-scores", text))
    return findings


def _matrix(scores: ScoreTable, asked: Mapping[str, Any]) -> Any:
    return verb_matrix(scores, asked["metric"], missing=asked["missing"], estimand=asked["estimand"])


def _spread(row: Mapping[str, Any], matrix: Any, values: np.ndarray, estimand: str) -> tuple[Spread, bool]:
    """The spread of a pilot's row, and whether single scores are 0 or 1."""
    if row["sd"] is None:
        raise TooFewVideos("from a pilot of one video nobody knows how far videos lie apart; state --assume sd=...")
    df = row["df"] if row["df"] is not None else row["videos"] - 1
    if matrix.statistics is not None:
        cases = float(row["cases"]) / row["videos"] if row["cases"] else 1.0
        return Spread.measured(row["sd"], df, row["videos"], within=math.nan, questions=cases), False
    known = np.isfinite(values)
    values, owners = values[known], matrix.videos[known]
    _, owners, sizes = np.unique(owners, return_inverse=True, return_counts=True)
    means = np.bincount(owners, weights=values) / sizes
    rows, videos = len(values), len(sizes)
    within = float(((values - means[owners]) ** 2).sum() / (rows - videos)) if rows > videos else math.nan
    scored = matrix.values[np.isfinite(matrix.values)]
    zero_one = bool(np.isin(scored, (0.0, 1.0)).all())
    equal = estimand == "videos"
    questions = videos / float((1 / sizes).sum()) if equal else rows / videos
    spread = Spread.measured(
        row["sd"], df, videos, within=within, questions=questions, sizes=None if equal else sizes.astype(np.float64)
    )
    return (replace(spread, df_within=float(rows - videos)) if spread.divisible else spread), zero_one


def _about(source: Source) -> list[Finding]:
    """What must be known of a pilot before its plan is used."""
    findings = []
    videos = source.videos or 0
    if videos < SMALL_PILOT:
        findings.append(small_pilot(videos))
    if not source.spread.divisible:
        why = "it has one question per video" if source.tested else "its value is no mean over questions"
        why = f"its rows are parts ({source.parts!r}), of which a case has no more" if source.parts else why
        text = f"The pilot does not show what more questions per video would buy: {why}. Only videos are planned."
        findings.append(remark("questions-unplanned", text))
    if not source.tested and source.metric is not None:
        text = (
            f"{source.metric.name!r} is no mean over videos: its plan is that of the t-test, in closed form, and not "
            "simulated."
        )
        findings.append(remark("closed-form-alone", text))
    return findings
