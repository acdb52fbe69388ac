"""The interval of the balanced gap covers at its level on simulated nested data, with few videos on a side too."""

from __future__ import annotations

import numpy as np
import pytest

from surgvalid.stats.comparing.class_contrasts import balanced_gap

pytestmark = pytest.mark.slow
RUNS = 1500


@pytest.mark.parametrize("videos", [(10, 10), (30, 5), (40, 20)])
def test_the_interval_of_the_gap_covers(videos: tuple[int, int]) -> None:
    rng = np.random.default_rng(sum(videos))
    number, rows, classes = sum(videos), 20, 4
    video = np.repeat(np.arange(number), rows)
    kind = np.tile(np.arange(rows) % classes, number)
    second = video >= videos[0]
    level = np.array([0.35, 0.5, 0.6, 0.75])[kind] - 0.1 * second
    covered, given = 0, 0
    for _ in range(RUNS):
        chance = np.clip(level + 0.15 * rng.standard_normal(number)[video], 0.02, 0.98)
        gap = balanced_gap((rng.random(len(video)) < chance).astype(float), video, kind, second)
        given += np.isfinite(gap.low)
        covered += gap.low <= -0.1 <= gap.high
    assert given == RUNS
    assert 0.935 <= covered / given <= 0.985, covered / given
