"""Coverage of intervals on simulated nested data: `python -m docs.validate_intervals` rewrites the table.

`--processes` spreads the work.

Questions lie in videos, videos differ in how hard they are, and the true value is known. An interval
should contain it in 95 % of repetitions. All repetitions of a scenario are columns of one matrix, so that
one pass resamples them all; they share the draws, which only adds the same small Monte-Carlo error to
each.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from docs.studies import asked, mapped, markdown, put_table
from surgvalid.schema.metric_facts import CORRECT, MetricFacts
from surgvalid.schema.tables.score_table import ScoreMatrix
from surgvalid.stats.draws import stream
from surgvalid.stats.intervals.interval import spread
from surgvalid.stats.intervals.interval_settings import IntervalSettings

PAGE = Path(__file__).parent / "validation-intervals.md"
REPETITIONS, REPLICATES = 2_000, 1_000


class Scenario(NamedTuple):
    """One kind of nested data."""

    videos: int
    rows: int
    spread_logit: float
    """SD between videos on the logit scale; 0 for rows that are truly independent."""


SCENARIOS = (
    Scenario(200, 10, 0.8),
    Scenario(100, 40, 0.8),
    Scenario(40, 20, 0.8),
    Scenario(20, 20, 0.8),
    Scenario(10, 20, 0.8),
    Scenario(40, 20, 0.0),
)
METHODS: dict[str, IntervalSettings] = {
    "naive": IntervalSettings(method="bootstrap", resample="naive", replicates=REPLICATES),
    "cluster": IntervalSettings(method="bootstrap", resample="cluster", replicates=REPLICATES),
    "two-stage": IntervalSettings(method="bootstrap", resample="two-stage", replicates=REPLICATES),
    "two-stage, videos": IntervalSettings(
        method="bootstrap", resample="two-stage", estimand="videos", replicates=REPLICATES
    ),
}


def coverage(scenario: Scenario, settings: IntervalSettings, *, repetitions: int = REPETITIONS, seed: int = 1) -> float:
    """The share of repetitions whose interval contains the true value."""
    matrix, truth = simulated(scenario, repetitions, seed)
    found = spread(matrix, settings, "coverage")
    return float(((found.low <= truth) & (truth <= found.high)).mean())


def simulated(scenario: Scenario, repetitions: int, seed: int) -> tuple[ScoreMatrix, float]:
    """Scores of many repetitions as columns, and the true mean; lengths do not depend on difficulty."""
    rng = stream(seed, "coverage", *map(str, scenario))
    sizes = scenario.rows + rng.integers(-scenario.rows // 4, scenario.rows // 4 + 1, scenario.videos)
    video = np.repeat(np.arange(scenario.videos), sizes)
    effect = rng.normal(0.5, scenario.spread_logit, (scenario.videos, repetitions))
    values = (rng.random((len(video), repetitions)) < 1 / (1 + np.exp(-effect[video]))).astype(np.float64)
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    truth = float(weights @ (1 / (1 + np.exp(-(0.5 + scenario.spread_logit * nodes)))) / weights.sum())
    names = [f"v{i:04d}" for i in range(scenario.videos)]
    cases = pl.DataFrame({"case": [f"q{i:06d}" for i in range(len(video))], "video": [names[i] for i in video]})
    return ScoreMatrix(values, [f"r{i}" for i in range(repetitions)], video, names, cases, CORRECT), truth


def table(repetitions: int, processes: int) -> str:
    """The coverage of every method in every scenario, as Markdown."""
    jobs = [(scenario, settings, repetitions) for scenario in SCENARIOS for settings in METHODS.values()]
    found = np.reshape(mapped(_cell, jobs, processes=processes), (len(SCENARIOS), -1)).tolist()
    rows = [
        (f"{scenario.videos} x ~{scenario.rows}", f"{scenario.spread_logit:g}", *shares)
        for scenario, shares in zip(SCENARIOS, found, strict=True)
    ]
    return markdown(["videos x questions", "SD between videos (logit)", *METHODS], rows)


def _cell(scenario: Scenario, settings: IntervalSettings, repetitions: int) -> float:
    return coverage(scenario, settings, repetitions=repetitions)


DISTANCE = MetricFacts("distance", low=0.0, high=math.inf, better="smaller")
SKEWED: dict[str, tuple[Callable[[np.random.Generator, tuple[int, int]], np.ndarray], float]] = {
    "gamma(1.2)": (lambda rng, size: rng.gamma(1.2, 1.0, size), 1.2),
    "log-normal, SD of log .7": (lambda rng, size: rng.lognormal(0.0, 0.7, size), float(np.exp(0.245))),
    "inverse Gauss (shape = mean)": (lambda rng, size: rng.wald(1.0, 1.0, size), 1.0),
    "half-normal": (lambda rng, size: np.abs(rng.normal(size=size)), float(np.sqrt(2 / np.pi))),
    "chi-squared(1)": (lambda rng, size: rng.chisquare(1.0, size), 1.0),
    "Lomax(5)": (lambda rng, size: rng.pareto(5.0, size), 0.25),
    "F(6, 10)": (lambda rng, size: rng.f(6.0, 10.0, size), 1.25),
}
"""What the values of videos are drawn from, and its mean; the last four had no part in choosing the method."""
SKEWED_COUNTS = (5, 8, 10, 20, 40)


def skewed_coverage(kind: str, videos: int, *, unequal: bool, repetitions: int) -> float:
    """The share of repetitions whose interval contains the true mean of a metric without an upper bound."""
    rng = stream(3, "skewed", kind, str(videos), str(unequal))
    draw, truth = SKEWED[kind]
    sizes = np.maximum(3, np.rint(np.exp(rng.normal(2.5, 0.8, videos)))) if unequal else np.full(videos, 15)
    video = np.repeat(np.arange(videos), sizes.astype(np.int64))
    values = draw(rng, (videos, repetitions))[video] * rng.gamma(2.0, 0.5, (len(video), repetitions))
    names = [f"v{i:04d}" for i in range(videos)]
    cases = pl.DataFrame({"case": [f"q{i:06d}" for i in range(len(video))], "video": [names[i] for i in video]})
    matrix = ScoreMatrix(values, [f"r{i}" for i in range(repetitions)], video, names, cases, DISTANCE)
    found = spread(matrix, IntervalSettings(), "skewed")
    return float(((found.low <= truth) & (truth <= found.high)).mean())


def skewed_table(repetitions: int) -> str:
    """The coverage of means of skewed metrics, as Markdown."""
    rows = [
        (
            f"{kind}, {'unequal' if unequal else 'equal'}",
            *(skewed_coverage(kind, videos, unequal=unequal, repetitions=repetitions) for videos in SKEWED_COUNTS),
        )
        for kind in SKEWED
        for unequal in (False, True)
    ]
    return markdown(["", *(f"V = {videos}" for videos in SKEWED_COUNTS)], rows)


def main() -> None:
    """Put new tables between the markers of the page."""
    options = asked(__doc__ or "", repetitions=REPETITIONS)
    put_table(PAGE, "skewed", skewed_table(options.repetitions))
    put_table(PAGE, "coverage", table(options.repetitions, options.processes))


if __name__ == "__main__":
    main()
