"""P3.2: one number hides where a model fails, or another way to average would have another winner."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import numpy as np
import polars as pl

from surgvalid.audit.evidence import (
    AuditEvidence,
    AuditNumber,
    Look,
    NamedNotThere,
    NotThere,
    Weight,
    failed,
    judged,
    passed,
    quoted,
)
from surgvalid.audit.measures import ALPHA, FEWEST_TESTED, Jackknife, end, jackknifed, listed, number_of, usual_values
from surgvalid.audit.pitfall import Category, Pitfall, Seldom
from surgvalid.audit.study import AuditedStudy
from surgvalid.schema.tables.score_table import ScoreMatrix
from surgvalid.stats.comparing.aggregation import FRAME_WISE, rank_of, strategy_values
from surgvalid.stats.comparing.corrections import adjusted
from surgvalid.stats.comparing.strata import strata
from surgvalid.stats.intervals.statistic import Statistic

ABOUT = Pitfall(
    "P3.2",
    "Averages that hide what matters",
    Category.REPORTING,
    "A mean over all frames is decided by long videos and routine phases. Failures in a short critical phase or in "
    "smoke vanish in it, and another way to average can have another winner.",
    ("undetected",),
    (
        Seldom(69.6, "did not stratify results by relevant aspects", 46),
        Seldom(65.2, "left it unclear whether relevance was considered in aggregation", 46),
    ),
    "Six ways to aggregate, with the rank of every model under each; values in declared critical phases. Fails where "
    "under another way another model is better than the winner by more than chance (leaving out one video at a time, "
    "Holm), where one video has half of the cases or more and they are averaged over, and where a model is worse in "
    "critical phases by more than chance (Bonferroni) and none is reported by phase.",
    "State how scores were aggregated, report values by phase and condition, and weigh phases by what they mean for "
    "the patient.",
)
PHASES = ("phase", "step", "task_phase")
MOST_OF_ONE = 0.5
"""Share of the cases in one video from which on it decides a mean over cases."""
FEWEST_SPREAD = 3
"""Videos from which on one with half of the cases stands out."""
_OF_VIDEOS = re.compile(r"\b(over|per|by|of) (the )?(videos?|patients?|procedures?|operations?)\b", re.IGNORECASE)


def phase_column(study: AuditedStudy) -> str | None:
    """The column of phases, where the scores have one that is filled everywhere."""
    cases = study.matrix.cases
    named = [name for name in PHASES if name in cases.columns]
    return next((name for name in named if cases[name].null_count() == 0 and cases[name].n_unique() > 1), None)


def stated(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """Whether the study says how it aggregated."""
    rules = [str(result.options.get("rule")) for result in study.of("rank", "rank-tasks") if result.options.get("rule")]
    estimands = [row for result in study.of("evaluate", "combine") for row in _estimands(result.frame("metrics"))]
    if study.has_answer("aggregation"):
        yield passed(quoted(study.answer("aggregation")))
    elif rules or estimands:
        yield passed(f"Recorded: {listed(list(dict.fromkeys([*(f'rule {rule}' for rule in rules), *estimands])))}.")
    elif study.of("score"):
        yield passed("Recorded: the scoring gives means over questions, over videos and by slice.")
    elif study.answer("aggregation") is False:
        yield failed("By the study's own word nobody wrote down how scores were aggregated.")


def _estimands(frame: pl.DataFrame) -> list[str]:
    return [str(one) for one in frame["estimand"].drop_nulls()] if "estimand" in frame.columns else []


def six_ways(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """The rank of every model under each way to aggregate, and whether another one wins by more than chance."""
    matrix, phase = study.rivals(), phase_column(study)
    weights = study.answer("phase_weights") if study.has_answer("phase_weights") and phase else None
    values = strategy_values(matrix, Statistic.read("mean"), phase, "scores", weights)
    better = "larger" if matrix.metric.sign > 0 else "smaller"
    numbers = [
        AuditNumber("rank", float(rank), subject=model, setting=name, n=len(matrix.video_names))
        for name, column in values.items()
        for model, rank in zip(matrix.models, rank_of(column, better=better), strict=True)  # type: ignore[arg-type]
        if np.isfinite(rank)
    ]
    winner = int(np.nanargmax(values[FRAME_WISE] * matrix.metric.sign))
    rivals = {name: int(np.nanargmax(column * matrix.metric.sign)) for name, column in values.items()}
    flips = {name: rival for name, rival in rivals.items() if rival != winner}
    text = f"{matrix.models[winner]} is best frame by frame"
    if not flips:
        yield passed(f"{text} and under all {len(values)} ways to aggregate.", *numbers)
        return
    named = listed([f"{matrix.models[rival]} ({name})" for name, rival in flips.items()])
    if len(matrix.video_names) < FEWEST_TESTED:
        raise NotThere(f"{FEWEST_TESTED} videos to tell from chance that others win: {named}")
    leads = _leads(matrix, phase, weights, winner, flips)
    p_values = adjusted(np.array([lead.p_value for lead in leads.values()]), "holm")
    firm = [
        f"{name} (lead {lead.value:.3g} [{lead.low:.3g}, {lead.high:.3g}])"
        for (name, lead), p in zip(leads.items(), p_values, strict=True)
        if lead.value > 0 and p < ALPHA
    ]
    numbers += [
        AuditNumber(
            "lead over the frame-wise winner",
            lead.value,
            end(lead.low),
            end(lead.high),
            subject=matrix.models[flips[name]],
            setting=f"lead, {name}",
            n=len(matrix.video_names),
        )
        for name, lead in leads.items()
    ]
    yield judged(
        firm,
        f"{text}; elsewhere others win: {named}, by more than chance under {listed(firm)}.",
        f"{text}; elsewhere others win ({named}), by no more than chance.",
        *numbers,
        weight=Weight.HIGH,
    )


def _leads(
    matrix: ScoreMatrix, phase: str | None, weights: Mapping[str, float] | None, winner: int, flips: Mapping[str, int]
) -> dict[str, Jackknife]:
    """How far each other winner is ahead under its own way, leaving out one video at a time."""
    mean, sign = Statistic.read("mean"), matrix.metric.sign

    def lead(some: ScoreMatrix) -> dict[str, float]:
        there = set(some.cases[phase].cast(pl.String)) if phase else set()
        kept = weights and {name: weight for name, weight in weights.items() if name in there}
        values = strategy_values(some, mean, phase, "scores", kept)
        return {name: float(sign * (values[name][rival] - values[name][winner])) for name, rival in flips.items()}

    whole = lead(matrix)
    without = [lead(matrix.where(matrix.videos != video)) for video in range(len(matrix.video_names))]
    return {name: jackknifed(whole[name], np.array([one[name] for one in without])) for name in flips}


def one_video_decides(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """Whether most cases come from one video, so that a mean over cases is a mean over that video."""
    matrix = study.clustered
    sizes = np.bincount(matrix.videos, minlength=len(matrix.video_names))
    most = int(sizes.argmax())
    share = float(sizes[most] / sizes.sum())
    name = matrix.video_names[most]
    numbers = (
        AuditNumber("share of the cases in the largest video", share, subject=name, n=len(sizes)),
        AuditNumber(
            "videos of equal size that would weigh as much", float(sizes.sum() ** 2 / (sizes**2).sum()), n=len(sizes)
        ),
    )
    text = f"{name} has {share:.0%} of the cases, the most of {len(sizes)} videos"
    if share < MOST_OF_ONE or len(sizes) < FEWEST_SPREAD:
        yield passed(f"No video has more than {share:.0%} of the cases.", *numbers)
    elif by_video := next((words for words in _stated_ways(study) if _OF_VIDEOS.search(words)), None):
        yield passed(f"{text}; videos weigh alike by what is stated ({by_video}).", *numbers)
    else:
        yield failed(f"{text}: a mean over cases is mostly that of one video. {_both_means(matrix)}", *numbers)


def _stated_ways(study: AuditedStudy) -> Iterator[str]:
    if study.has_answer("aggregation"):
        yield str(study.answer("aggregation"))
    for result in study.of("evaluate", "combine"):
        yield from _estimands(result.frame("metrics"))


def _both_means(matrix: ScoreMatrix) -> str:
    """The mean over cases beside the mean over videos, of the first models."""
    ways = usual_values(matrix)
    both = zip(matrix.models, ways["mean over cases"], ways["mean over videos"], strict=True)
    named = [f"{model} {case:.3g} and {video:.3g}" for model, case, video in both]
    return f"Mean over cases and over videos: {listed(named)}."


def critical_phases(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """Values in critical phases against those outside, and whether they are reported."""
    phase = phase_column(study)
    if phase is None:
        raise NotThere("a column of phases beside the scores")
    critical = study.answer("critical_phases")
    if critical is False:
        yield passed("By the study's own word no phase is more critical than another.")
        return
    matrix = study.directed
    known = set(matrix.cases[phase].cast(pl.String))
    if unknown_names := [name for name in critical if name not in known]:
        raise NamedNotThere(f"the phases {listed(unknown_names)} among those of the scores ({listed(sorted(known))})")
    level = 1 - ALPHA / (len(critical) * len(matrix.models))
    rows = strata(study.scores, [phase], baseline="rest", level=level, **study.options).table
    rows = rows.filter(pl.col("stratum").is_in(critical) & pl.col("model").is_in(matrix.models)).drop_nulls("delta")
    numbers = [
        number_of(f"value in the phase minus elsewhere, {level:.2%} interval", row, "delta", setting=row["stratum"])
        for row in rows.to_dicts()
    ]
    tests = max(1, len(numbers))
    worse = [one for one in numbers if _worse(one, matrix.metric.sign)]
    reported = study.of("strata", "aggregate", "failures") or _by_condition(study)
    text = listed([f"{one.subject} in {one.setting} by {abs(one.value):.2g}" for one in worse])
    done = "values by phase or condition are reported" if reported else "no model is worse there by more than chance"
    yield judged(
        worse and not reported,
        f"Worse in critical phases by more than chance, and no value by phase is reported: {text}.",
        f"{tests} values in critical phases: {done}.",
        *numbers,
        weight=Weight.HIGH,
    )


def _worse(number: AuditNumber, sign: float) -> bool:
    """Whether the whole interval is on the bad side."""
    worst_end = number.high if sign > 0 else number.low
    return worst_end is not None and sign * worst_end < 0


def _by_condition(study: AuditedStudy) -> bool:
    """Whether a result has values by condition."""
    tables = [result.frame("per_stratum") for result in study.of("evaluate", "combine")]
    return any(not table.is_empty() for table in tables) or bool(study.of("score"))


LOOKS = (
    Look("how scores were aggregated", stated),
    Look("winners under other aggregations", six_ways, needed=False, scored=True),
    Look("weight of single videos", one_video_decides, needed=False, scored=True),
    Look("critical phases", critical_phases, needed=False, scored=True),
)
