"""Do plans hold, and are alarms as rare as promised? Brute force with other code and other seeds.

`python -m docs.validate_plans` rewrites the tables between the markers of `validation-plans.md` (about a minute of CPU
time; `--processes` spreads it, `--repetitions` chooses how many studies are drawn). Studies are drawn question by
question and judged here by 999 random sign flips; nothing of `surgvalid.stats.planning` takes part in that.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtri

from docs.studies import asked, mapped, markdown, put_table
from surgvalid.stats.planning.closed_forms import difference_chance, videos_for_difference
from surgvalid.stats.planning.monitoring import capital
from surgvalid.stats.planning.orders import made_up_leaderboard, order_chances
from surgvalid.stats.planning.spread import Spread
from surgvalid.stats.ranking import RankOptions
from surgvalid.stats.ranking._focus.merge import copeland, gather, preferred, relation

PAGE = Path(__file__).parent / "validation-plans.md"
FLIPS = 999
Draw = Callable[[np.random.Generator, int], np.ndarray]


def _normal(difference: float, between: float, within: float, questions: int) -> Draw:
    def draw(rng: np.random.Generator, videos: int) -> np.ndarray:
        means = difference + rng.normal(0, between, videos)
        return np.array([(mean + rng.normal(0, within, questions)).sum() for mean in means])

    return draw


def _unequal(difference: float, between: float, within: float, questions: int) -> Draw:
    def draw(rng: np.random.Generator, videos: int) -> np.ndarray:
        sizes = np.maximum(2, rng.lognormal(np.log(questions) - 0.32, 0.8, videos).astype(int))
        means = difference + rng.normal(0, between, videos)
        return np.array([(mean + rng.normal(0, within, n)).sum() for mean, n in zip(means, sizes, strict=True)])

    return draw


def _skewed(difference: float, between: float, within: float, questions: int) -> Draw:
    def draw(rng: np.random.Generator, videos: int) -> np.ndarray:
        means = difference + between * (rng.gamma(1.0, 1.0, videos) - 1.0)
        return np.array([(mean + rng.normal(0, within, questions)).sum() for mean in means])

    return draw


SCENARIOS: dict[str, tuple[Callable[..., Draw], float, float, float, int]] = {
    "12 questions, many videos": (_normal, 0.05, 0.10, 0.40, 12),
    "12 questions, few videos": (_normal, 0.20, 0.15, 0.40, 12),
    "one question": (_normal, 0.20, 0.20, 0.30, 1),
    "videos of unequal length": (_unequal, 0.10, 0.12, 0.40, 20),
    "skewed differences": (_skewed, 0.10, 0.15, 0.30, 12),
}


def power_line(name: str, repetitions: int) -> tuple[object, ...]:
    """Videos planned for, the chance in closed form, and the share of drawn studies that find the difference."""
    make, difference, between, within, questions = SCENARIOS[name]
    unevenness = float(np.exp(0.8**2)) if make is _unequal else 1.0
    variance = between**2 * unevenness + within**2 / questions
    freedom = 1 / unevenness
    videos = videos_for_difference(difference, variance, freedom=freedom) or 0
    rng, hits = np.random.default_rng([77, len(name)]), 0
    draw = make(difference, between, within, questions)
    for _ in range(repetitions):
        sums = draw(rng, videos)
        signs = 1.0 - 2.0 * rng.integers(0, 2, (FLIPS, videos))
        p = (1 + (np.abs(signs @ sums) >= abs(sums.sum()) - 1e-9).sum()) / (FLIPS + 1)
        hits += bool(p <= 0.05 and sums.sum() > 0)
    closed = float(difference_chance(difference, variance, videos, freedom=freedom))
    return name, videos, f"{closed:.3f}", f"{hits / repetitions:.3f}"


def range_line(videos: int, repetitions: int) -> tuple[object, ...]:
    """How often the 80 % range of a pilot holds the number of videos that is truly needed."""
    rng, held = np.random.default_rng([78, videos]), np.zeros(2)
    truth = {n: videos_for_difference(0.1, 0.15**2 + 0.4**2 / n) or 0 for n in (10, 40)}
    for _ in range(repetitions):
        rows = rng.normal(0, 0.15, (videos, 1)) + rng.normal(0, 0.4, (videos, 10))
        error = float(rows.mean(axis=1).std(ddof=1) / np.sqrt(videos))
        within = float(rows.var(axis=1, ddof=1).mean())
        spread = Spread.measured(
            error, videos - 1.0, videos, within=within, questions=10.0, sizes=np.full(videos, 10.0)
        )
        drawn = spread.drawn(rng, 400)
        assert drawn is not None
        for at, (n, needed) in enumerate(truth.items()):
            ends = [videos_for_difference(0.1, float(end)) or 0 for end in np.quantile(drawn.variance(n), (0.1, 0.9))]
            held[at] += ends[0] <= needed <= ends[1]
    return videos, *(f"{share:.3f}" for share in held / repetitions)


def order_line(videos: int, repetitions: int) -> tuple[object, ...]:
    """The chance of a firm order as planned, and its share in studies drawn anew and ranked by the exact test."""
    spread, options = Spread.stated(0.5, 0.1, 5.0), RankOptions()
    board = made_up_leaderboard(4, 6, 0.08, 0.8, spread, np.random.default_rng(1))
    planned = order_chances(board, [videos], options, np.random.default_rng(2), studies=1000)
    rng, firm = np.random.default_rng([79, videos]), np.zeros(2)
    for _ in range(repetitions):
        drawn = _drawn_board(videos, rng)
        evidence = gather(drawn, options)
        beats = relation(evidence, np.arange(4), correction="holm", alpha=0.05).beats
        place = copeland(preferred(beats, evidence.accuracy, "pairwise")).place
        firm += place[0] == 1 and (place[1:] > 1).all(), (place == np.arange(1, 5)).all()
    shares = firm / repetitions
    return videos, f"{planned['first'][0]:.2f}", f"{shares[0]:.2f}", f"{planned['order'][0]:.2f}", f"{shares[1]:.2f}"


def _drawn_board(videos: int, rng: np.random.Generator) -> Any:
    from surgvalid.stats.comparing.paired_tests import PairedScores
    from surgvalid.stats.ranking._focus.buckets import Bucket, FocusLeaderboard

    owners = np.repeat(np.arange(videos), 5)
    buckets = []
    for number in range(6):
        means = 0.8 - 0.08 * np.arange(4) + rng.normal(0, np.sqrt(0.25 * 0.1 / 2), (videos, 4))
        values = means[owners] + rng.normal(0, np.sqrt(0.25 * 0.9 / 2), (len(owners), 4))
        buckets.append(Bucket(f"group {number}", False, PairedScores(values, owners), np.arange(videos)))
    return FocusLeaderboard("drawn", [f"m{i}" for i in range(4)], tuple(buckets), videos, -np.inf, np.inf)


ALARMS = {
    "40 old, 10 new": (40, 10, False), "40 old, 10 new, skewed": (40, 10, True), "35 old, 15 new": (35, 15, False),
    "100 old, 30 new": (100, 30, False), "12 old, 60 new, skewed": (12, 60, True),
}  # fmt: skip
HORIZON = 60
"""New videos that alpha spending is planned for."""


def alarm_line(name: str, repetitions: int) -> tuple[object, ...]:
    """False alarms of a value and fourteen other checks over twenty looks; and how often one SD is found."""
    before, after, skewed = ALARMS[name]
    rng = np.random.default_rng([80, len(name)])
    needed = [40.0, *[20 * 14 / 0.5] * 14]
    looks = np.unique(np.linspace(0, after - 1, 20).astype(int))
    alarms = np.zeros(4)
    for _ in range(repetitions):
        stakes = (0.9, *[0.5] * 14)
        capitals = [capital(_videos(before + after, skewed, rng), before, fall=stake) for stake in stakes]
        alarms[0] += any((one[looks] >= need).any() for one, need in zip(capitals, needed, strict=True))
        fallen = _videos(before + after, skewed, rng) - (np.arange(before + after) >= before)
        alarms[1] += capital(fallen, before, fall=0.9)[looks].max() >= needed[0]
        sums = np.cumsum(_scores(fallen, before))
        steps = np.arange(1, after + 1)
        alarms[2] += (-sums >= 2.24 * np.sqrt(HORIZON))[looks].any()
        alarms[3] += (-sums >= 2.80 * np.sqrt(steps))[looks].any()
    return name, *(f"{share:.3f}" for share in alarms / repetitions)


def _scores(numbers: np.ndarray, before: int) -> np.ndarray:
    """Normal scores of sequential ranks, for the boundaries of alpha spending."""
    ranks = [(numbers[: n + 1] < numbers[n]).sum() + 0.5 for n in range(before, len(numbers))]
    return ndtri(np.array(ranks) / np.arange(before + 1, len(numbers) + 1))


def _videos(count: int, skewed: bool, rng: np.random.Generator) -> np.ndarray:
    return rng.gamma(1.0, 1.0, count) if skewed else rng.normal(0, 1.0, count)


def main() -> None:
    """Write the tables."""
    options = asked(__doc__ or "", repetitions=1000)
    count, processes = options.repetitions, options.processes
    tables: dict[str, tuple[list[str], Any, list[Any], int]] = {
        "power": (["study", "videos planned", "closed form", "brute force"], power_line, list(SCENARIOS), count),
        "range": (["pilot videos", "10 questions, as in the pilot", "40 questions"], range_line, [6, 10, 20],
                  count // 2),
        "order": (["videos", "first, planned", "first, drawn", "order, planned", "order, drawn"], order_line,
                  [15, 30, 60], count // 5),
        "alarms": (["videos", "false alarms, 15 checks, 20 looks", "a fall by one SD found: bets (used)",
                    "O'Brien-Fleming, planned to 60", "Pocock, planned to 60"], alarm_line, list(ALARMS), count),
    }  # fmt: skip
    for name, (head, line, cells, repetitions) in tables.items():
        rows = mapped(line, [(cell, repetitions) for cell in cells], processes=processes)
        put_table(PAGE, name, markdown(head, rows))


if __name__ == "__main__":
    main()
