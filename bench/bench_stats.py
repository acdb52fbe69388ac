"""Cluster-aware intervals against the official toolkit's own bootstrap, at FOCUS size and beyond.

The peer is `Evaluator._hierarchical_summary` of the official package. It resamples every slice with a
Python loop, so its time is linear in replicates: it is measured with a few of them and scaled up, which
the notes say. Ours is measured whole: ordering, draws, quantiles.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from functools import cache
from typing import Any

import numpy as np
import polars as pl

from bench.harness import Row, cpu_seconds, peak_memory_mb
from surgvalid.schema.metric_facts import CORRECT
from surgvalid.schema.questions.taxonomy import Capability
from surgvalid.schema.tables.score_table import ScoreMatrix
from surgvalid.stats.intervals.interval import interval, spread
from surgvalid.stats.intervals.interval_settings import IntervalSettings
from surgvalid.stats.intervals.slices import slices

QUESTIONS, VIDEOS, MODELS, REPLICATES = 20_000, 200, 20, 1_000
PEER = "orena-focus 0.4.0"
TWO_STAGE = IntervalSettings(resample="two-stage", estimand="videos", method="bootstrap", replicates=REPLICATES)
FORMATS = ("binary", "number", "percentage", "fo_class", "time")


def rows() -> list[Row]:
    matrix = simulated(QUESTIONS, VIDEOS, MODELS)
    one, all_slices = official_seconds(matrix)
    ours_s = cpu_seconds(lambda: spread(matrix, TWO_STAGE, "overall"))
    work = f"two-stage bootstrap, one slice, {MODELS} models, {REPLICATES:,} replicates"
    size = f"{QUESTIONS:,} questions, {VIDEOS} videos; peer timed on one model with 40 replicates, scaled linearly"
    return [
        Row(work, ours_s, PEER, one, 150, size),
        Row(f"26 slices x {MODELS} models", cpu_seconds(lambda: every_slice(matrix)), PEER, all_slices, 400, size),
        *growth_rows(),
    ]  # fmt: skip


@cache
def simulated(questions: int, videos: int, models: int) -> ScoreMatrix:
    """Right and wrong answers to questions of unevenly long videos, with capabilities and formats."""
    rng = np.random.default_rng(1)
    share = rng.gamma(8, size=videos)
    video = np.sort(rng.choice(videos, size=questions, p=share / share.sum()))
    video[:videos] = np.arange(videos)
    easy = rng.normal(0.6, 0.8, videos)[video]
    skill = rng.normal(0, 0.4, models)
    values = (rng.random((questions, models)) < 1 / (1 + np.exp(-(easy[:, None] + skill)))).astype(np.float64)
    leaves = [leaf.value for group in Capability.groups() for leaf in group.leaves]
    primary = rng.integers(0, len(leaves), questions)
    cases = pl.DataFrame(
        {
            "case": [f"q{i:08d}" for i in range(questions)],
            "video": [f"v{i:05d}" for i in video],
            "leaf": [leaves[i] for i in primary],
            "group": [Capability(leaves[i]).group.value for i in primary],
            "format": [FORMATS[i] for i in rng.integers(0, len(FORMATS), questions)],
        }
    )
    names, codes = np.unique(cases["video"].to_numpy().astype(str), return_inverse=True)
    return ScoreMatrix(values, [f"model {i}" for i in range(models)], codes, names.tolist(), cases, CORRECT)


def every_slice(matrix: ScoreMatrix) -> int:
    """Intervals for 15 leaves, 5 groups, 5 formats and the whole."""
    parts = [part for by in ("leaf", "group", "format") for part in slices(matrix, [by])] + list(slices(matrix))
    for part in parts:
        spread(part.matrix, TWO_STAGE, part.name)
    return len(parts)


def official_seconds(matrix: ScoreMatrix) -> tuple[float, float]:
    """CPU seconds of the official summary for all models and replicates: one slice, and all 26."""
    import pandas as pd

    from bench.official_toolkit import import_focus

    focus = import_focus()
    frame = pd.DataFrame(
        {
            "video": matrix.cases["video"].to_list(),
            "primary": matrix.cases["leaf"].to_list(),
            "answer_format": matrix.cases["format"].to_list(),
            "correctness": matrix.values[:, 0].astype(bool),
        }
    )
    alone = frame.assign(primary=frame["primary"].iloc[0], answer_format=FORMATS[0])
    per_replicate = [_per_replicate(focus, table) for table in (alone, frame)]
    scale = MODELS * REPLICATES
    return per_replicate[0] / 4 * scale, per_replicate[1] * scale


def _per_replicate(focus: Any, frame: Any, few: int = 10, many: int = 50) -> float:
    """Slope between a few and many replicates, so that what happens once per call does not count."""
    times = []
    for number in (few, many):
        evaluator = focus.Evaluator(judges=[], n_boot=number, seed=42)
        start = time.process_time()
        evaluator._hierarchical_summary(frame)
        times.append(time.process_time() - start)
    return (times[1] - times[0]) / (many - few)


def growth_rows() -> list[Row]:
    """Time and peak memory as questions grow, each in a process of its own."""
    found = []
    for questions, videos in ((10_000, 20), (100_000, 200), (1_000_000, 2_000)):
        got = _apart("kernel", questions, videos)
        work = f"growth: {questions:,} questions, {videos:,} videos, {MODELS} models"
        note = f"{REPLICATES:,} replicates; peak memory {got['peak_mb']:,.0f} MB"
        found.append(Row(work, got["cpu_s"], "-", None, note=note))
    got = _apart("table", 500_000, 1_000)
    note = f"whole call from the table on, 100 replicates; peak memory {got['peak_mb']:,.0f} MB"
    return [*found, Row("growth: interval() on a table of 10,000,000 rows", got["cpu_s"], "-", None, note=note)]


def _apart(what: str, questions: int, videos: int) -> dict[str, float]:
    call = [sys.executable, "-m", "bench.bench_stats", what, str(questions), str(videos)]
    paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
    done = subprocess.run(call, check=True, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths})
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure(what: str, questions: int, videos: int) -> dict[str, float]:
    """CPU seconds and peak memory of one run in this process."""
    if what == "kernel":
        small, matrix = simulated(5_000, 10, MODELS), simulated(questions, videos, MODELS)
        spread(small, TWO_STAGE, "overall")
        start = time.process_time()
        spread(matrix, TWO_STAGE, "overall")
        return {"cpu_s": time.process_time() - start, "peak_mb": peak_memory_mb()}
    frame = _table(questions, videos)
    start = time.process_time()
    interval(frame, method="bootstrap", resample="two-stage", replicates=100)
    return {"cpu_s": time.process_time() - start, "peak_mb": peak_memory_mb()}


def _table(questions: int, videos: int) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    number = pl.Series(np.arange(questions))
    cases = pl.select(case=number.cast(pl.String), video=(number % videos).cast(pl.String))
    parts = [
        cases.with_columns(
            model=pl.lit(f"model {i}"), value=pl.Series(rng.integers(0, 2, questions).astype(np.float64))
        )
        for i in range(MODELS)
    ]
    return pl.concat(parts)


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
