"""Interquartile means, profiles and probabilities of improvement contain the truth as often as they say.

Each video shifts both models by effects of its own, and videos have unequal lengths; the truth is known in closed
form: scores are logistic functions of normal variables.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import polars as pl
import pytest
from scipy.special import expit, logit
from scipy.stats import norm

from surgvalid.schema.metric_facts import MetricFacts
from surgvalid.schema.tables.score_table import ScoreMatrix
from surgvalid.stats.comparing.profiles import reached, video_shares, wins
from surgvalid.stats.intervals.engine import auto_difference, auto_spread
from surgvalid.stats.intervals.replicates import Sample

pytestmark = pytest.mark.slow
BETWEEN, WITHIN, MEANS = 0.7, 1.0, (0.9, 0.5)
SPREAD = math.hypot(BETWEEN, WITHIN)
REPETITIONS, THRESHOLD = 1500, 0.6
FACTS = MetricFacts("score", better="larger", low=0.0, high=1.0)


def simulated(videos: int, rng: np.random.Generator) -> ScoreMatrix:
    codes = np.repeat(np.arange(videos), rng.integers(10, 41, videos))
    shift = rng.normal(0, BETWEEN, (videos, 2))[codes]
    values = expit(np.array(MEANS) + shift + rng.normal(0, WITHIN, shift.shape))
    names = [f"v{video:02d}" for video in range(videos)]
    cases = pl.DataFrame({"case": [str(case) for case in range(len(codes))], "video": [names[code] for code in codes]})
    return ScoreMatrix(values, ["A", "B"], codes, names, cases, FACTS)


def truth() -> dict[str, float]:
    """What the intervals are for, over all videos there could be."""
    middle = np.linspace(0.25, 0.75, 200_001)
    iqm = [float(expit(mean + SPREAD * norm.ppf(middle)).mean()) for mean in MEANS]
    return {
        "iqm": iqm[0],
        "iqm difference": iqm[0] - iqm[1],
        "profile": float(norm.sf((logit(THRESHOLD) - MEANS[0]) / SPREAD)),
        "improvement": float(norm.cdf((MEANS[0] - MEANS[1]) / (SPREAD * math.sqrt(2)))),
    }


def ends(matrix: ScoreMatrix) -> dict[str, tuple[float, float]]:
    sample = Sample.of(matrix, statistic="iqm", resample="cluster", estimand="rows")
    both, gap = auto_spread(sample, FACTS, level=0.95, names=["A", "B"]), auto_difference(sample, FACTS, level=0.95)
    good = reached(matrix.values, np.array([THRESHOLD]), 1.0)[:, 0]
    won = wins(matrix.values[:, 0], matrix.values[:, 1], 1.0)[:, None]
    shares, _ = video_shares(matrix, np.column_stack([good, won]), "rows", 0.95)
    return {
        "iqm": (both.low[0], both.high[0]),
        "iqm difference": (gap.low, gap.high),
        "profile": (shares.low[0], shares.high[0]),
        "improvement": (shares.low[1], shares.high[1]),
    }


@cache
def coverage(videos: int) -> dict[str, float]:
    rng, known = np.random.default_rng(videos), truth()
    held = dict.fromkeys(known, 0)
    for _ in range(REPETITIONS):
        for name, (low, high) in ends(simulated(videos, rng)).items():
            held[name] += low <= known[name] <= high
    return {name: number / REPETITIONS for name, number in held.items()}


@pytest.mark.parametrize("videos", [10, 20])
@pytest.mark.parametrize("name", list(truth()))
def test_intervals_keep_their_level_with_few_videos(name: str, videos: int) -> None:
    assert 0.93 <= coverage(videos)[name] <= 0.98, coverage(videos)
