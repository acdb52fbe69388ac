"""What happens to the places when one video, one bucket or one model is left out.

Videos are left out with the studentised test (as in the bootstrap), and compared with the studentised
ranking of all videos. Buckets and models are left out with the exact tests; leaving out a model also
shrinks the family of the correction. Leaving out a model is the check for independence of irrelevant
alternatives, which Copeland does not promise.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from surgeval.results.tables import ranking
from surgeval.stats.ranking._distance import kendall_tau_b
from surgeval.stats.ranking._focus.copeland import places_of
from surgeval.stats.ranking._focus.stability import replicate
from surgeval.stats.ranking._focus.standing import Standing, merged_among, without_bucket
from surgeval.stats.ranking._options import RankOptions


def influence(found: Standing, options: RankOptions, video_names: list[str]) -> pl.DataFrame:
    """One row per video, bucket and model left out; places are Copeland places before ties are broken."""
    rows = [*_videos(found, options, video_names), *_buckets(found, options), *_models(found, options)]
    return ranking.INFLUENCE.frame(rows)


def _videos(found: Standing, options: RankOptions, names: list[str]) -> list[dict[str, object]]:
    counts = 1 - np.eye(len(names), dtype=np.int64)
    counts = np.concatenate([np.ones((1, len(names)), dtype=np.int64), counts])
    place = replicate(found.board, found.members, found.weights, options, counts).place
    return [_row(found, "video", name, place[0], after) for name, after in zip(names, place[1:], strict=True)]


def _buckets(found: Standing, options: RankOptions) -> list[dict[str, object]]:
    if len(found.board.buckets) < 2:
        return []
    return [
        _row(found, "bucket", bucket.name, found.merged.place, without_bucket(found, b, options).place)
        for b, bucket in enumerate(found.board.buckets)
    ]


def _models(found: Standing, options: RankOptions) -> list[dict[str, object]]:
    rows = []
    for position, name in enumerate(found.names):
        kept = np.arange(len(found.members)) != position
        if kept.sum() > 1:
            after = merged_among(found, found.members[kept], options).place
            before = places_of(found.merged.score[kept])
            rows.append(_row(found, "model", name, before, after))
    return rows


def _row(found: Standing, kind: str, name: str, before: np.ndarray, after: np.ndarray) -> dict[str, object]:
    swapped = np.sign(np.subtract.outer(before, before)) * np.sign(np.subtract.outer(after, after)) < 0
    tau = float(kendall_tau_b(before, after))
    moved = int((before != after).sum())
    first = bool(((before == 1) != (after == 1)).any())
    return {
        "board": found.board.name,
        "left_out": kind,
        "name": name,
        "tau_b": None if np.isnan(tau) else tau,
        "models_moved": moved,
        "first_changes": first,
        "order_swapped": bool(swapped.any()),
    }
