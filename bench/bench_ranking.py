"""The whole FOCUS ranking, the exact tests alone, and challengeR's test-then-rank bootstrap.

challengeR is an R package and is not run here: its time is a stored figure, 238 CPU seconds for 10
algorithms x 200 cases x 3 tasks x 1,000 resamples (challengeR 1.0.5, extrapolated from 79 CPU seconds
for one task). No other implementation of the FOCUS ranking is public: the peer of 100 models is a loop over replicates
and buckets in plain numpy (`looped_places`), as challengeR loops; most other rows have none.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
from scipy import special, stats

from bench.harness import Row, cpu_seconds
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.stats.comparing.paired_tests import exact_p, flip_p, pair_indices
from surgvalid.stats.draws import stream, video_counts
from surgvalid.stats.ranking import rank
from surgvalid.stats.ranking._focus.buckets import FocusLeaderboard, prepare
from surgvalid.stats.ranking._focus.stability import broken_places, replicate, video_lists
from surgvalid.stats.ranking._options import RankOptions
from surgvalid.studies.study import study

CHALLENGER_STORED_S = 238.0
OPTIONS = RankOptions(board="technical")
LOOPED = 10
"""Replicates that the loop does; its time is scaled to 1,000."""
GROUPS = ("object_recognition", "temporal_grounding", "aggregation", "event_understanding", "complex_reasoning")


def rows() -> list[Row]:
    twenty, hundred = focus_table(20), focus_table(100)
    tests = exact_test_differences()
    algorithms, real = task_table(), real_differences()
    board = prepare(hundred, OPTIONS).boards[0]
    patients = wide_table()
    return [
        Row(
            "FOCUS ranking, one leaderboard: 20 models, 10 buckets, 190 pairs, 20,000 questions, 200 videos, "
            "1,000 resamples",
            cpu_seconds(lambda: rank(twenty, replicates=1000, board="technical")),
            "the goal itself: 1 s of CPU",
            1.0,
            goal=1.0,
            note="no public peer exists; all threads counted",
        ),
        Row(
            "20 models ranked by their mean with the verdict, 190 pairs held together: 40 patients, 1,000 resamples",
            cpu_seconds(lambda: rank(patients, metric="dice")),
            "scipy.stats.permutation_test of each pair, 9,999 sign flips, no intervals",
            cpu_seconds(lambda: permuted(patients), repeat=1),
            goal=1.0,
        ),
        Row(
            "a study of 2 models x 14 patients from rows in memory, without its page",
            cpu_seconds(
                lambda: study({name: values[:14] for name, values in list(patients.items())[:3]}, metric="dice")
            ),
            "the goal itself: 0.03 s of CPU",
            0.03,
            goal=1.0,
            note="the audit of the same table included, which takes a third of it",
        ),
        Row(
            "the same ranking, both leaderboards (20 buckets)",
            cpu_seconds(lambda: rank(twenty, replicates=1000)),
            "-",
            None,
            note="reported only",
        ),
        Row(
            "the same, technical leaderboard, 100 models (4,950 pairs)",
            cpu_seconds(lambda: rank(hundred, replicates=1000, board="technical"), repeat=1),
            "-",
            None,
            note="reported only: tests, final ranks, tie-breaks, influence, rank sets and 1,000 resamples",
        ),
        Row(
            "stability replicates of it alone: 1,000 final ranks of 100 models in 10 buckets",
            cpu_seconds(lambda: places_in_replicates(board, 1000), repeat=1),
            f"a loop over replicates in plain numpy ({LOOPED} replicates, scaled)",
            cpu_seconds(lambda: looped_places(board, LOOPED), repeat=1) * 1000 / LOOPED,
            goal=5.0,
            note="the same tests, correction and final ranks; no tie-break",
        ),
        Row(
            "exact sign-flip tests, 190 pairs x 10 buckets x 200 videos",
            cpu_seconds(lambda: [exact_p(bucket) for bucket in tests]),
            "-",
            None,
            note="no seed, no draws",
        ),
        Row(
            "sign-flip p-values of real scores, 780 pairs x 200 videos",
            cpu_seconds(lambda: flip_p(real), repeat=1),
            "the goal itself: 2 s of CPU",
            2.0,
            goal=1.0,
            note="no draws; within 1 % of the exact p-value",
        ),
        Row(
            "tie-break inside 1,000 replicates: 20 models, 10 buckets, 200 videos, 100 inner resamples",
            cpu_seconds(ties_in_replicates(twenty)),
            "the goal itself: 0.5 s of CPU",
            0.5,
            goal=1.0,
            note="what it adds to the replicates themselves",
        ),
        Row(
            "test-then-rank bootstrap, 10 algorithms x 200 cases x 3 tasks x 1,000",
            cpu_seconds(lambda: rank(algorithms, "test-then-rank", better="larger", replicates=1000)),
            "challengeR 1.0.5 (stored figure, not run here)",
            CHALLENGER_STORED_S,
            goal=238.0,
            note="goal: under 1 s of CPU",
        ),
    ]


def focus_table(models: int, *, questions: int = 20_000, videos: int = 200, seed: int = 0) -> ScoreTable:
    """A challenge of the size of FOCUS: ten buckets, half of the questions clinical."""
    rng = np.random.default_rng(seed)
    video, group = rng.integers(0, videos, questions), rng.integers(0, len(GROUPS), questions)
    flags = rng.random((2, questions)) < 0.5
    logit = np.linspace(-0.6, 0.6, models) + rng.normal(0, 0.8, (videos, 1)) + rng.normal(0, 0.5, (videos, models))
    values = (rng.random((questions, models)) < 1 / (1 + np.exp(-logit[video]))).astype(float)
    return ScoreTable.of(
        pl.DataFrame(
            {
                "model": np.repeat([f"model {m:03d}" for m in range(models)], questions),
                "case": np.tile([f"q{q}" for q in range(questions)], models),
                "video": np.tile([f"v{v:03d}" for v in video], models),
                "metric": "correct",
                "value": values.T.ravel(),
                "capability": np.tile(np.array(GROUPS)[group], models),
                "ood": np.tile(flags[0], models),
                "clinical": np.tile(flags[1], models),
            }
        )
    )


def exact_test_differences(*, models: int = 20, videos: int = 200, buckets: int = 10) -> list[np.ndarray]:
    """Differences by video of all pairs, ten questions per video and bucket."""
    rng = np.random.default_rng(1)
    first, second = pair_indices(models)
    sums = [rng.binomial(10, np.linspace(0.35, 0.65, models), (videos, models)) for _ in range(buckets)]
    return [np.asarray(s[:, first] - s[:, second]) for s in sums]


def real_differences(*, models: int = 40, videos: int = 200) -> np.ndarray:
    """Differences by video of all pairs of models with real-valued scores."""
    rng = np.random.default_rng(3)
    scores = rng.normal(0, 1, (videos, 1)) + 0.02 * np.arange(models) + rng.normal(0, 1, (videos, models))
    first, second = pair_indices(models)
    return np.asarray(scores[:, first] - scores[:, second])


def ties_in_replicates(table: ScoreTable) -> Callable[[], object]:
    """The tie-break of one leaderboard's replicates, ready to run."""
    board = prepare(table, OPTIONS).boards[0]
    members, weights = np.arange(len(board.models)), np.ones(len(board.buckets))
    lists = video_lists(board.videos, 1000, stream(1, "bench"))
    counts = video_counts(board.videos, 1000, stream(1, "bench"))
    drawn = replicate(board, members, weights, OPTIONS, counts)
    return lambda: broken_places(board, members, weights, lists, drawn.place, drawn.macro, seed=1)


def places_in_replicates(board: FocusLeaderboard, replicates: int) -> np.ndarray:
    """The final ranks of one leaderboard under resampled videos."""
    counts = video_counts(board.videos, replicates, stream(1, "bench"))
    members, weights = np.arange(len(board.models)), np.ones(len(board.buckets))
    return replicate(board, members, weights, OPTIONS, counts).place


def looped_places(board: FocusLeaderboard, replicates: int) -> np.ndarray:
    """The same final ranks, one replicate and one bucket after the other, each test on the videos that were drawn."""
    models, rng, out = len(board.models), stream(1, "bench"), []
    first, second = np.triu_indices(models, k=1)
    levels = OPTIONS.alpha / np.arange(len(first), 0, -1)
    for counts in video_counts(board.videos, replicates, rng):
        lead = np.zeros(len(first))
        for bucket in board.buckets:
            drawn = np.repeat(bucket.scores.sums, counts[bucket.videos], axis=0)
            gap = drawn[:, first] - drawn[:, second]
            total, squares = gap.sum(axis=0), (gap**2).sum(axis=0)
            z = np.divide(np.abs(total), np.sqrt(squares), out=np.zeros_like(total), where=squares > 0)
            p = special.erfc(z / np.sqrt(2))
            order = np.argsort(p)
            passed = np.zeros(len(p), dtype=bool)
            passed[order] = np.logical_and.accumulate(p[order] <= levels)
            lead += np.where(passed, np.sign(total), 0.0)
        score = np.bincount(first, np.sign(lead), models) - np.bincount(second, np.sign(lead), models)
        out.append(1 + (score[None, :] > score[:, None]).sum(axis=1))
    return np.array(out)


def task_table(*, algorithms: int = 10, cases: int = 200, tasks: int = 3) -> ScoreTable:
    """Real-valued scores of a challenge with several tasks."""
    rng = np.random.default_rng(2)
    frames = []
    for task in range(tasks):
        values = rng.normal(0, 1, (cases, 1)) + np.linspace(0, 0.5, algorithms) + rng.normal(0, 1, (cases, algorithms))
        for a in range(algorithms):
            ids = [f"c{c}" for c in range(cases)]
            frames.append(
                pl.DataFrame({"task": f"T{task}", "model": f"A{a}", "case": ids, "value": values[:, a], "metric": "s"})
            )
    return ScoreTable.of(pl.concat(frames), better="larger")


def wide_table(models: int = 20, patients: int = 40) -> dict[str, list[object]]:
    """A column per model, each a little better than the one before."""
    rng = np.random.default_rng(0)
    level = rng.uniform(0.6, 0.8, patients)
    scores = {f"m{number:02}": level + rng.normal(0.005 * number, 0.03, patients) for number in range(models)}
    return {
        "patient": [f"p{number}" for number in range(patients)],
        **{name: list(one) for name, one in scores.items()},
    }


def permuted(table: dict[str, list[object]]) -> list[float]:
    """The p-value of every pair, each by itself."""
    scores = np.array([values for name, values in table.items() if name != "patient"], dtype=np.float64)
    return [
        float(
            stats.permutation_test(
                (scores[first], scores[second]),
                _mean_gap,
                permutation_type="samples",
                vectorized=True,
                n_resamples=9_999,
            ).pvalue
        )
        for first, second in zip(*pair_indices(len(scores)), strict=True)
    ]


def _mean_gap(first: np.ndarray, second: np.ndarray, axis: int) -> np.ndarray:
    return np.asarray((first - second).mean(axis=axis))
