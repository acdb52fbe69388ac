"""Tiny nested score tables for the tests of the statistics room."""

from __future__ import annotations

import numpy as np
import polars as pl

from surgvalid.schema.tables.score_table import ScoreMatrix, ScoreTable
from surgvalid.stats.intervals.nesting import Nest


def nested_frame(
    *, models: int = 3, videos: int = 8, rows: int = 6, seed: int = 0, uneven: bool = True, binary: bool = True
) -> pl.DataFrame:
    """Scores of questions nested in videos nested in two centres, with a stratum `view`."""
    rng = np.random.default_rng(seed)
    easy = rng.normal(0, 0.2, videos)
    lines = []
    for video in range(videos):
        size = rows + (video % 3 if uneven else 0)
        for row in range(size):
            for model in range(models):
                share = float(np.clip(0.5 + 0.08 * model + easy[video], 0.02, 0.98))
                noise = rng.random()
                value = float(noise < share) if binary else round(0.5 * share + 0.5 * noise, 6)
                view = "smoke" if row % 2 else "clear"
                lines.append((f"M{model}", f"v{video:02d}q{row:02d}", f"v{video:02d}", value, view, f"c{video % 2}"))
    frame = pl.DataFrame(lines, schema=["model", "case", "video", "value", "view", "center"], orient="row")
    return frame.with_columns(metric=pl.lit("correct"))


def nested_matrix(**options: int | bool) -> ScoreMatrix:
    """The score matrix of `nested_frame`."""
    return ScoreTable.of(nested_frame(**options)).matrix()  # type: ignore[arg-type]


def two_stage_nest(sizes: list[int]) -> Nest:
    """A two-stage nest over videos of these sizes, in ascending order."""
    starts = np.concatenate([[0], np.cumsum(sorted(sizes))])
    return Nest(("video", "rows"), np.arange(starts[-1]), (np.array([0, len(sizes)]), starts), starts)
