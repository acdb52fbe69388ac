"""A plan for an order of models by the FOCUS rule: how often studies of each size order them firmly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from surgeval.results.tables import planning as tables
from surgeval.schema.findings import Finding
from surgeval.schema.score_table import ScoreTable
from surgeval.schema.statistic_rules import remark
from surgeval.stats.draws import stream
from surgeval.stats.planning.focus_order import ORDERS, made_up_board, order_chances, order_range
from surgeval.stats.planning.planned import SMALL_PILOT, Planned, out_of_reach, small_pilot, variances_row
from surgeval.stats.planning.settings import PlanSettings
from surgeval.stats.planning.spread import Spread
from surgeval.stats.ranking._focus.buckets import Board, prepare
from surgeval.stats.ranking._options import RankOptions

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
            {"goal": name, "videos": videos, "questions": None, "chance": float(chances[name][at]),
             "low": None if low is None else float(low[at]), "high": None if high is None else float(high[at]),
             "simulated": float(chances[name][at])}
            for at, videos in enumerate(numbers)
        ]  # fmt: skip
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
    return Planned(frames, tuple(verdict), _order_prose(board, settings, pilot=table is not None), tuple(findings))


def _chances(
    board: Board, settings: PlanSettings, options: RankOptions, rng: np.random.Generator
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
) -> tuple[Board, list[Finding], Spread | None]:
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
    board = made_up_board(settings.entries, settings.buckets, settings.step, settings.value or 0.8, spread, rng)
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
        "goal": name, "questions": None, **enough, "subgroup_videos": None, "total_questions": None,
        "design_effect": None, "cost": cost, "simulated": share, "simulated_error": error,
    }  # fmt: skip


_ORDER_WORDS = {
    "first": "the best model is alone in first place",
    "podium": "the first three places are held by the right models, each alone",
    "order": "all {} models are in the right order without a tie",
}


def _order_words(
    name: str, enough: dict[str, int | None], settings: PlanSettings, board: Board, most: int | None
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


def _order_prose(board: Board, settings: PlanSettings, *, pilot: bool) -> str:
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


def _order_components(board: Board, settings: PlanSettings, spread: Spread | None, *, pilot: bool) -> dict[str, Any]:
    blank = dict.fromkeys(tables.COMPONENTS.columns)
    if pilot:
        return {**blank, "source": "pilot", "models": ", ".join(board.models), "videos": board.videos}
    assert spread is not None
    return {**blank, "source": "stated", "models": "", "value": settings.step, **variances_row(spread)}
