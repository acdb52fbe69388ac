"""Small score tables for tests of paired tests and rankings."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl

from surgvalid.schema.tables.score_table import ScoreTable

GROUPS = ("object_recognition", "temporal_grounding", "aggregation", "event_understanding", "complex_reasoning")


def nested_scores(
    videos: int, per_video: int, models: int, *, seed: int, spread: float = 0.8, gap: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """0/1 scores `[case, model]` with a model-by-video interaction, and the video of each case."""
    rng = np.random.default_rng(seed)
    sizes = 1 + rng.poisson(per_video - 1, videos)
    video = np.repeat(np.arange(videos), sizes)
    skill = np.linspace(gap, -gap, models) / 2
    logit = skill + rng.normal(0, 1, (videos, 1)) + rng.normal(0, spread, (videos, models))
    return (rng.random((len(video), models)) < 1 / (1 + np.exp(-logit[video]))).astype(float), video


def long_table(
    values: np.ndarray, video: np.ndarray, *, names: list[str] | None = None, **strata: np.ndarray
) -> pl.DataFrame:
    """The long form of a matrix of scores."""
    cases, models = values.shape
    names = names or [chr(65 + m) for m in range(models)]
    frame = pl.DataFrame(
        {
            "model": np.repeat(np.array(names, dtype=object), cases).tolist(),
            "case": [f"q{c:05d}" for c in range(cases)] * models,
            "video": [f"v{int(v):03d}" for v in video] * models,
            "value": values.T.ravel(),
            "metric": ["correct"] * values.size,
        }
    )
    return frame.with_columns([pl.Series(name, np.tile(column, models)) for name, column in strata.items()])


def focus_frame(
    models: int = 4, *, videos: int = 20, per_video: int = 30, seed: int = 0, gap: float = 1.5, groups: int = 2
) -> pl.DataFrame:
    """A table the FOCUS rule can rank: `groups` capability groups, in and out of distribution, half clinical."""
    values, video = nested_scores(videos, per_video, models, seed=seed, gap=gap, spread=0.4)
    rng = np.random.default_rng(seed + 1)
    group = np.array(GROUPS[:groups])[rng.integers(0, groups, len(video))]
    flags = rng.random((2, len(video))) < 0.5
    return long_table(values, video, capability=group, ood=flags[0], clinical=flags[1])


def focus_table(models: int = 4, **options: object) -> ScoreTable:
    """The same as a validated score table."""
    return ScoreTable.of(focus_frame(models, **options))  # type: ignore[arg-type]


def from_bucket_scores(buckets: list[list[list[int]]], names: list[str]) -> ScoreTable:
    """A technical leaderboard built by hand: `buckets[b][video][model]`, one question per video and bucket."""
    rows = []
    cells = list(itertools.product(GROUPS, (False, True)))
    for b, bucket in enumerate(buckets):
        for v, scores in enumerate(bucket):
            for name, score in zip(names, scores, strict=True):
                rows.append((name, f"b{b}v{v}", f"v{v:03d}", float(score), cells[b][0], cells[b][1]))
    columns = ["model", "case", "video", "correct", "capability", "ood"]
    return ScoreTable.of(pl.DataFrame(rows, schema=columns, orient="row"), columns={"value": "correct"})
