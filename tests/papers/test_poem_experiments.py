"""The three experiments of Reinke et al. (2025) on real annotators: 14 procedures, three people, five phases."""

import numpy as np
import polars as pl
import pytest

from shared_data import needs_shared, shared
from surgvalid.stats.agreement.ratings import segment_ratings
from surgvalid.stats.comparing.aggregation import aggregate
from surgvalid.stats.comparing.strata import strata
from surgvalid.stats.intervals.dependence import dependence

POEM = ("data", "poem", "segments.csv")
pytestmark = needs_shared(*POEM)


@pytest.fixture(scope="module")
def scores() -> pl.DataFrame:
    """Each annotator as a model: every 10 s, the share of the other two who say the same."""
    found = segment_ratings(
        pl.read_csv(shared(*POEM)),
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
    result = dependence(scores, method="bootstrap", resample="two-stage", replicates=500)
    assert result.widths["width_ratio"].null_count() == 0
    assert (result.widths["width_ratio"] > 1.5).all()


def test_some_phases_are_harder_for_people_too(scores: pl.DataFrame) -> None:
    table = strata(scores, ["phase"], method="bootstrap", replicates=300).table
    deltas = table.filter(pl.col("model") == "(median of models)")["delta"]
    assert deltas.min() < 0 < deltas.max()


def test_annotators_are_ranked_under_every_strategy(scores: pl.DataFrame) -> None:
    weights = dict.fromkeys(scores["phase"].unique().to_list(), 1) | {"myotomy": 3}
    result = aggregate(scores, weights=weights, better="larger")
    assert result.table.height == 6 * 3
    assert result.agreement is not None
    assert result.agreement["tau_b"].is_between(-1, 1).all()
