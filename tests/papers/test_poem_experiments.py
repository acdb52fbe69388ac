"""The three experiments of the seed study on real annotators: 14 procedures, three people, five phases."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from surgeval.stats.aggregation import aggregate
from surgeval.stats.agreement.ratings import segment_ratings
from surgeval.stats.dependence import width_ratio
from surgeval.stats.strata import strata

PLACES = [
    folder / "shared" / "data" / "poem" / "segments.csv" for folder in Path(__file__).resolve().parents[2].parents
]
POEM = next((path for path in PLACES if path.is_file()), None)
pytestmark = pytest.mark.skipif(POEM is None, reason="no shared/data/poem/segments.csv beside the repository")


@pytest.fixture(scope="module")
def scores() -> pl.DataFrame:
    """Each annotator as a model: every 10 s, the share of the other two who say the same."""
    found = segment_ratings(
        pl.read_csv(POEM),
        video="video",
        rater="annotator",
        label="phase",
        start="start_s",
        end="end_s",
        overlaps="last",
    )
    parts = []
    for video, name in enumerate(found.video_names):
        mine = found.videos == video
        edges = np.concatenate([[0.0], np.cumsum(found.weights[mine])])
        at = np.searchsorted(edges, np.arange(5.0, edges[-1], 10.0), side="right") - 1
        codes = found.codes[mine][at]
        same = (codes[:, :, None] == codes[:, None, :]).sum(axis=2)
        phase = np.take_along_axis(codes, same.argmax(axis=1)[:, None], axis=1)[:, 0]
        for place, rater in enumerate(found.raters):
            columns = {
                "model": [rater] * len(codes),
                "case": [f"{name}/{i:05d}" for i in range(len(codes))],
                "video": [name] * len(codes),
                "value": (same[:, place] - 1) / 2,
                "phase": [found.categories[code] for code in phase],
            }
            parts.append(pl.DataFrame(columns))
    return pl.concat(parts)


def test_intervals_of_real_annotators_widen_when_videos_are_respected(scores: pl.DataFrame) -> None:
    result = width_ratio(scores, method="percentile", resample="two-stage", replicates=500)
    assert result.table["width_ratio"].null_count() == 0
    assert (result.table["width_ratio"] > 1.5).all()


def test_some_phases_are_harder_for_people_too(scores: pl.DataFrame) -> None:
    table = strata(scores, ["phase"], method="percentile", replicates=300).table
    deltas = table.filter(pl.col("model") == "(median of models)")["delta"]
    assert deltas.min() < 0 < deltas.max()


def test_annotators_are_ranked_under_every_strategy(scores: pl.DataFrame) -> None:
    weights = dict.fromkeys(scores["phase"].unique().to_list(), 1) | {"myotomy": 3}
    result = aggregate(scores, weights=weights)
    assert result.table.height == 6 * 3
    assert result.agreement is not None
    assert result.agreement["tau_b"].is_between(-1, 1).all()
