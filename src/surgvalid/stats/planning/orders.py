"""A plan for an order of models by the FOCUS rule: how often studies of each size order them firmly.

Firmly means: by Copeland final ranks alone, before any tie is broken. Three things are counted over drawn studies: the
best model is alone in final rank 1 (`first`), the first three are alone in theirs and in the right order (`podium`),
all models are (`order`). What is right is the order of the macro accuracies of the population that is drawn from.

The population is the pilot, whose videos are drawn with all their questions in all their buckets; deviations from the
means are stretched by `sqrt(V / (V - 1))`, since a sample varies less around its own means than around the true ones.
Or it is made up of models that are equal steps apart in every bucket. Each drawn study goes through the rule in the
studentised form of its test that the stability of final ranks uses, which differs little from the exact one; with so
few videos that the exact test could show nothing, nothing is counted.

The pilot is a sample too: the same is done for pilots redrawn from it, and the range of the answers is given.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from surgvalid.results.tables import planning as tables
from surgvalid.schema.findings import Finding
from surgvalid.schema.statistic_rules import remark
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.stats.comparing.paired_tests import PairedScores
from surgvalid.stats.draws import stream
from surgvalid.stats.intervals.sign_flip_interval import videos_needed
from surgvalid.stats.planning.settings import (
    SMALL_PILOT,
    Planned,
    PlanSettings,
    out_of_reach,
    small_pilot,
    variances_row,
)
from surgvalid.stats.planning.spread import Spread
from surgvalid.stats.ranking._focus.buckets import Bucket, FocusLeaderboard, prepare
from surgvalid.stats.ranking._focus.stability import replicate
from surgvalid.stats.ranking._options import RankOptions

ORDERS = ("first", "podium", "order")
MADE_UP_VIDEOS = 200
REDRAWN = 40
"""Pilots redrawn for the range."""


def order_chances(
    board: FocusLeaderboard, videos: Sequence[int], options: RankOptions, rng: np.random.Generator, *, studies: int
) -> dict[str, np.ndarray]:
    """The chance of each of `ORDERS` for every number of videos."""
    population = _stretched(board)
    truth = np.argsort(-population.macro, kind="stable")
    members = np.arange(len(board.models))
    weights = np.ones(len(board.buckets))
    tests = len(members) * (len(members) - 1) // 2
    least = videos_needed(tests if (options.correction or "holm") == "holm" else 1, alpha=options.alpha)
    chances = {name: np.zeros(len(videos)) for name in ORDERS}
    for number, count in enumerate(videos):
        share = max(len(bucket.videos) for bucket in board.buckets) / board.videos
        if count * share < least:
            continue
        counts = rng.multinomial(count, np.full(board.videos, 1 / board.videos), size=studies)
        places = replicate(population, members, weights, options, counts).place[:, truth]
        for name, hits in _reached(places).items():
            chances[name][number] = hits
    return chances


def order_range(
    board: FocusLeaderboard,
    videos: Sequence[int],
    options: RankOptions,
    rng: np.random.Generator,
    *,
    studies: int,
    certainty: float,
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The range of the same chances over pilots redrawn from this one."""
    drawn: dict[str, list[np.ndarray]] = {name: [] for name in ORDERS}
    for _ in range(REDRAWN):
        counts = rng.multinomial(board.videos, np.full(board.videos, 1 / board.videos))
        for name, chances in order_chances(_redrawn(board, counts), videos, options, rng, studies=studies).items():
            drawn[name].append(chances)
    low, high = (1 - certainty) / 2, (1 + certainty) / 2
    return {name: (np.quantile(rows, low, axis=0), np.quantile(rows, high, axis=0)) for name, rows in drawn.items()}


def made_up_leaderboard(
    models: int, buckets: int, step: float, value: float, spread: Spread, rng: np.random.Generator
) -> FocusLeaderboard:
    """A population of models that are `step` apart in every bucket, the best one at `value`.

    The spread is that of the difference of two models; half of it is each model's own.
    """
    names = [f"model {number + 1}" for number in range(models)]
    means = value - step * np.arange(models)
    count = max(1, round(spread.questions))
    owners = np.repeat(np.arange(MADE_UP_VIDEOS), count)
    made = []
    for number in range(buckets):
        own_video = _centred(rng.standard_normal((MADE_UP_VIDEOS, models))) * np.sqrt(spread.between[0] / 2)
        own_case = _centred(rng.standard_normal((len(owners), models))) * np.sqrt(spread.within[0] / 2)
        scores = PairedScores(means + own_video[owners] + own_case, owners)
        made.append(Bucket(f"bucket {number + 1}", False, scores, np.arange(MADE_UP_VIDEOS)))
    return FocusLeaderboard("stated", names, tuple(made), MADE_UP_VIDEOS, -np.inf, np.inf)


def _reached(places: np.ndarray) -> Mapping[str, float]:
    """The share of studies that reach each goal; columns are models, the truly best first."""
    right = places == np.arange(1, places.shape[1] + 1)
    alone = [(places == place + 1).sum(axis=1) == 1 for place in range(places.shape[1])]
    firm = right & np.stack(alone, axis=1)
    podium = firm[:, : min(3, places.shape[1])].all(axis=1)
    return {"first": float(firm[:, 0].mean()), "podium": float(podium.mean()), "order": float(firm.all(axis=1).mean())}


def _stretched(board: FocusLeaderboard) -> FocusLeaderboard:
    buckets = []
    for bucket in board.buckets:
        values, videos = bucket.scores.values, len(bucket.videos)
        mean = values.mean(axis=0)
        factor = np.sqrt(videos / (videos - 1)) if videos > 1 else 1.0
        buckets.append(replace(bucket, scores=PairedScores(mean + factor * (values - mean), bucket.scores.videos)))
    return replace(board, buckets=tuple(buckets))


def _redrawn(board: FocusLeaderboard, counts: np.ndarray) -> FocusLeaderboard:
    """The leaderboard of a pilot in which each video is there as often as it was drawn;
    buckets that lost all are gone.
    """
    copies = np.repeat(np.arange(board.videos), counts)
    buckets = []
    for bucket in board.buckets:
        order = np.argsort(bucket.scores.videos, kind="stable")
        edges = np.searchsorted(bucket.scores.videos[order], np.arange(len(bucket.videos) + 1))
        rows = {int(video): order[edges[at] : edges[at + 1]] for at, video in enumerate(bucket.videos)}
        held = [(copy, rows[video]) for copy, video in enumerate(copies.tolist()) if video in rows]
        if not held:
            continue
        values = np.concatenate([bucket.scores.values[places] for _, places in held])
        owners = np.repeat(np.arange(len(held)), [len(places) for _, places in held])
        kept = np.array([copy for copy, _ in held])
        buckets.append(replace(bucket, scores=PairedScores(values, owners), videos=kept))
    return replace(board, buckets=tuple(buckets), videos=len(copies))


def _centred(values: np.ndarray) -> np.ndarray:
    return np.asarray((values - values.mean(axis=0)) / values.std(axis=0))


ORDER_VIDEOS = (10, 15, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 1000)
NEARLY_ALWAYS = 0.99


def order_plan(table: ScoreTable | None, settings: PlanSettings, options: RankOptions) -> Planned:
    """The plan for an order of models by the FOCUS rule."""
    rng = stream(settings.seed, "plan", "order")
    board, findings, spread = _board(table, settings, options, rng)
    numbers, chances = _chances(board, settings, options, rng)
    inner = max(100, settings.simulations // 10)
    ranges = (
        {} if table is None else order_range(board, numbers, options, rng, studies=inner, certainty=settings.certainty)
    )
    curve, rows, verdict = [], [], []
    for name in ORDERS:
        if name == "podium" and len(board.models) <= 3:
            continue
        low, high = ranges.get(name, (None, None))
        curve += [
            {
                "goal": name,
                "videos": videos,
                "questions": None,
                "chance": float(chances[name][at]),
                "low": None if low is None else float(low[at]),
                "high": None if high is None else float(high[at]),
                "simulated": float(chances[name][at]),
            }
            for at, videos in enumerate(numbers)
        ]
        enough = {
            end: _first_enough(numbers, given, settings.power)
            for end, given in (("videos", chances[name]), ("low", high), ("high", low))
        }
        rows.append(_order_row(name, enough, chances[name], numbers, settings))
        verdict.append(_order_words(name, enough, settings, board, numbers[-1] if table is not None else None))
    if all(row["videos"] is None for row in rows):
        findings.append(out_of_reach(numbers[-1]))
    frames = {
        "sizes": tables.SIZES.frame(rows),
        "curve": tables.CURVE.frame(curve),
        "components": tables.COMPONENTS.frame([_order_components(board, settings, spread, pilot=table is not None)]),
    }
    prose = _order_prose(board, settings, pilot=table is not None)
    rule = "the first number of videos from which on the share of simulated studies stays at the power asked for"
    grounds = tuple(
        (rule, f"power = {settings.power:g}; simulations = {settings.simulations}", "the FOCUS rule, studies redrawn")
        for _ in verdict
    )
    return Planned(frames, tuple(verdict), prose, tuple(findings), grounds)


def _chances(
    board: FocusLeaderboard, settings: PlanSettings, options: RankOptions, rng: np.random.Generator
) -> tuple[list[int], dict[str, np.ndarray]]:
    """The numbers of videos looked at, until every goal is reached nearly always, and the chances of each."""
    numbers: list[int] = []
    chances: dict[str, np.ndarray] = {name: np.empty(0) for name in ORDERS}
    for videos in settings.videos or ORDER_VIDEOS:
        more = order_chances(board, [videos], options, rng, studies=settings.simulations)
        numbers.append(videos)
        chances = {name: np.append(chances[name], more[name]) for name in ORDERS}
        if not settings.videos and all(one[-1] >= NEARLY_ALWAYS for one in chances.values()):
            break
    return numbers, chances


def _board(
    table: ScoreTable | None, settings: PlanSettings, options: RankOptions, rng: np.random.Generator
) -> tuple[FocusLeaderboard, list[Finding], Spread | None]:
    if table is not None:
        ready = prepare(table, options)
        findings = list(ready.findings)
        if ready.boards[0].videos < SMALL_PILOT:
            findings.append(small_pilot(ready.boards[0].videos))
        return ready.boards[0], findings, None
    assert settings.sd is not None
    assert settings.icc is not None
    assert settings.entries is not None
    assert settings.step is not None
    spread = Spread.stated(settings.sd, settings.icc, float(settings.questions[0]))
    board = made_up_leaderboard(settings.entries, settings.buckets, settings.step, settings.value or 0.8, spread, rng)
    note = remark("spread-stated", "The spread was stated and not measured: the plan is as good as that statement.")
    return board, [note], spread


def _first_enough(numbers: Sequence[int], chances: np.ndarray | None, power: float) -> int | None:
    """The first number from which on the chance stays at least the wanted one."""
    if chances is None:
        return None
    short = [at for at, chance in enumerate(chances) if chance < power]
    after = short[-1] + 1 if short else 0
    return numbers[after] if after < len(numbers) else None


def _order_row(
    name: str, enough: dict[str, int | None], chances: np.ndarray, numbers: Sequence[int], settings: PlanSettings
) -> dict[str, Any]:
    videos = enough["videos"]
    share = None if videos is None else float(chances[list(numbers).index(videos)])
    error = None if share is None else math.sqrt(share * (1 - share) / settings.simulations)
    cost = None if videos is None or settings.cost_video is None else videos * settings.cost_video
    return {
        "goal": name,
        "questions": None,
        **enough,
        "subgroup_videos": None,
        "total_questions": None,
        "design_effect": None,
        "cost": cost,
        "simulated": share,
        "simulated_error": error,
    }


_ORDER_WORDS = {
    "first": "the best model is alone in final rank 1",
    "podium": "the first three final ranks belong to the right models, each alone",
    "order": "all {} models are in the right order without a tie",
}


def _order_words(
    name: str, enough: dict[str, int | None], settings: PlanSettings, board: FocusLeaderboard, most: int | None
) -> str:
    """What it takes for one goal; `most` is the largest number looked at where there is a pilot."""
    goal = _ORDER_WORDS[name].format(len(board.models))
    often = f"in {settings.power:.0%} of such studies"
    if enough["videos"] is None:
        return f"No number of videos looked at is enough that {often} {goal}."
    between = ""
    if most is not None:
        ends = [f"more than {most:,}" if end is None else f"{end:,}" for end in (enough["low"], enough["high"])]
        between = f" ({settings.certainty:.0%} range given the pilot: {ends[0]} to {ends[1]})"
    return f"{enough['videos']:,} videos{between} are enough that {often} {goal}."


def _order_prose(board: FocusLeaderboard, settings: PlanSettings, *, pilot: bool) -> str:
    where = (
        f"the {board.videos} videos of the pilot, drawn with all their questions"
        if pilot
        else f"{len(board.models)} models that are {settings.step:g} apart in each of {len(board.buckets)} buckets"
    )
    return (
        f"{settings.simulations:,} studies of each size were drawn from {where} and ranked by the FOCUS rule before "
        f"its tie-break, with the studentised form of its test (seed {settings.seed}). Right is the order of the macro "
        "accuracies that were drawn from."
    )


def _order_components(
    board: FocusLeaderboard, settings: PlanSettings, spread: Spread | None, *, pilot: bool
) -> dict[str, Any]:
    blank = dict.fromkeys(tables.COMPONENTS.columns)
    if pilot:
        return {**blank, "source": "pilot", "models": ", ".join(board.models), "videos": board.videos}
    assert spread is not None
    return {**blank, "source": "stated", "models": "", "value": settings.step, **variances_row(spread)}
