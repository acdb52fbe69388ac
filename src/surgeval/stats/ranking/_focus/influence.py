"""What happens to the published places when one video, one bucket or one model is left out.

Every place here is one of the whole rule, tie-break included. Videos are left out with the studentised test (as in the
bootstrap), and compared with the studentised ranking of all videos. Buckets and models are left out with the exact
tests; leaving out a model also shrinks the family of the correction. Leaving out a model is the check for independence
of irrelevant alternatives, which Copeland does not promise.

The decision a reader would question: the tie-breaks before and after share their draws. A video is left out of a draw
by taking its share away, so what moves is due to the video and not to new luck. `RESAMPLES` draws decide (the published
order has ten times as many), and what they leave undecided goes by macro accuracy.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from surgeval.results.tables import ranking
from surgeval.stats.draws import stream, video_counts
from surgeval.stats.ranking._distance import kendall_tau_b
from surgeval.stats.ranking._focus.copeland import places_of
from surgeval.stats.ranking._focus.nested_ties import ordered_places, points_of
from surgeval.stats.ranking._focus.stability import replicate
from surgeval.stats.ranking._focus.standing import Standing, merged_among, with_ties_broken, without_bucket
from surgeval.stats.ranking._focus.tie_break import LAST_PLACE, break_ties
from surgeval.stats.ranking._options import RankOptions

RESAMPLES = 1000


def influence(found: Standing, options: RankOptions, video_names: list[str]) -> pl.DataFrame:
    """One row per video, bucket and model left out; places are those of the whole rule."""
    rows = [*_videos(found, options, video_names), *_buckets(found, options), *_models(found, options)]
    return ranking.INFLUENCE.frame(rows)


def _videos(found: Standing, options: RankOptions, names: list[str]) -> list[dict[str, object]]:
    kept = np.concatenate([np.ones((1, len(names)), dtype=np.int64), 1 - np.eye(len(names), dtype=np.int64)])
    drawn = replicate(found.board, found.members, found.weights, options, kept)
    rates = _win_rates(found, drawn.place, options.seed)
    place = ordered_places(drawn.place, rates, drawn.macro[:, found.members])
    return [_row(found, "video", name, place[0], after) for name, after in zip(names, place[1:], strict=True)]


def _win_rates(found: Standing, place: np.ndarray, seed: int) -> np.ndarray:
    """The win rate of each member in its tie group: first with all videos, then without each, `[1 + video, member]`."""
    rates, share = np.zeros(place.shape), found.weights / found.weights.sum()
    groups = [(place == p) & ((place == p).sum(axis=1, keepdims=True) > 1) for p in range(1, LAST_PLACE + 1)]
    for bucket, weight in zip(found.board.buckets, share.tolist(), strict=True):
        if not weight:
            continue
        sums = bucket.scores.sums[:, found.members]
        rng = stream(seed, "influence", found.board.name, bucket.name)
        counts = video_counts(len(sums), RESAMPLES, rng).astype(np.float64)
        totals = counts @ sums
        without = np.full(len(place), -1)
        without[1 + bucket.videos] = np.arange(len(sums))
        for sharing in groups:
            for row in np.flatnonzero(sharing.any(axis=1)).tolist():
                own = np.flatnonzero(sharing[row])
                left = totals[:, own]
                if (video := without[row]) >= 0:
                    left = left - counts[:, video, None] * sums[video, own]
                rates[row, own] += weight * points_of(left[:, None], np.ones((1, len(own)), dtype=bool))[0]
    return rates


def _buckets(found: Standing, options: RankOptions) -> list[dict[str, object]]:
    accuracy, rows = found.board.accuracy[:, found.members], []
    before = _broken(found, found.merged.place, found.weights, accuracy)
    for number, bucket in enumerate(found.board.buckets):
        kept = np.arange(len(accuracy)) != number
        if (weights := np.where(kept, found.weights, 0.0)).any():
            after = _broken(found, without_bucket(found, number, options).place, weights, accuracy[kept])
            rows.append(_row(found, "bucket", bucket.name, before, after))
    return rows


def _models(found: Standing, options: RankOptions) -> list[dict[str, object]]:
    accuracy, rows = found.board.accuracy[:, found.members], []
    before = _broken(found, found.merged.place, found.weights, accuracy)
    for position, name in enumerate(found.names):
        kept = np.arange(len(found.members)) != position
        if kept.sum() > 1:
            place = np.zeros(len(kept), dtype=np.int64)
            place[kept] = merged_among(found, found.members[kept], options).place
            after = _broken(found, place, found.weights, accuracy)[kept]
            rows.append(_row(found, "model", name, places_of(-before[kept]), after))
    return rows


def _broken(found: Standing, place: np.ndarray, weights: np.ndarray, accuracy: np.ndarray) -> np.ndarray:
    """Places with ties broken; undecided ones fall to macro accuracy at once."""
    number, macro = min(RESAMPLES, found.draws.replicates), accuracy.mean(axis=0)
    return with_ties_broken(place, break_ties(place, weights, found.draws, grow=False, macro=macro, replicates=number))


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
