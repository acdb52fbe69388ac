"""Coverage of intervals on simulated nested data: `python -m docs.validate_intervals` rewrites the table.

`--processes` spreads the work.

Questions lie in videos, videos differ in how hard they are, and the true value is known. An interval
should contain it in 95 % of repetitions. All repetitions of a scenario are columns of one matrix, so that
one pass resamples them all; they share the draws, which only adds the same small Monte-Carlo error to
each.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from docs.studies import asked, mapped, markdown, put_table
from surgeval.schema.metric_facts import CORRECT
from surgeval.schema.score_table import ScoreMatrix
from surgeval.stats.draws import stream
from surgeval.stats.interval import Settings, spread

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
METHODS: dict[str, Settings] = {
    "naive": Settings(method="percentile", resample="naive", replicates=REPLICATES),
    "cluster": Settings(method="percentile", resample="cluster", replicates=REPLICATES),
    "cluster, BCa": Settings(method="bca", resample="cluster", replicates=REPLICATES),
    "two-stage": Settings(method="percentile", resample="two-stage", replicates=REPLICATES),
    "two-stage, videos": Settings(method="percentile", resample="two-stage", estimand="videos", replicates=REPLICATES),
}


def coverage(scenario: Scenario, settings: Settings, *, repetitions: int = REPETITIONS, seed: int = 1) -> float:
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


def _cell(scenario: Scenario, settings: Settings, repetitions: int) -> float:
    return coverage(scenario, settings, repetitions=repetitions)


def main() -> None:
    """Put a new table between the markers of the page."""
    options = asked(__doc__ or "", repetitions=REPETITIONS)
    put_table(PAGE, "coverage", table(options.repetitions, options.processes))


if __name__ == "__main__":
    main()
