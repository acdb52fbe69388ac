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


def influence(standing: Standing, options: RankOptions, video_names: list[str]) -> pl.DataFrame:
    """One row per video, bucket and model left out; places are those of the whole rule."""
    rows = [*_videos(standing, options, video_names), *_buckets(standing, options), *_models(standing, options)]
    return ranking.INFLUENCE.frame(rows)


def _videos(standing: Standing, options: RankOptions, names: list[str]) -> list[dict[str, object]]:
    kept = np.concatenate([np.ones((1, len(names)), dtype=np.int64), 1 - np.eye(len(names), dtype=np.int64)])
    drawn = replicate(standing.board, standing.members, standing.weights, options, kept)
    rates = _win_rates(standing, drawn.place, options.seed)
    place = ordered_places(drawn.place, rates, drawn.macro[:, standing.members])
    return [_row(standing, "video", name, place[0], after) for name, after in zip(names, place[1:], strict=True)]


def _win_rates(standing: Standing, place: np.ndarray, seed: int) -> np.ndarray:
    """The win rate of each member in its tie group: first with all videos, then without each, `[1 + video, member]`."""
    rates, share = np.zeros(place.shape), standing.weights / standing.weights.sum()
    groups = _tie_groups(place)
    for bucket, weight in zip(standing.board.buckets, share.tolist(), strict=True):
        if not weight:
            continue
        sums = bucket.scores.sums[:, standing.members]
        rng = stream(seed, "influence", standing.board.name, bucket.name)
        counts = video_counts(len(sums), RESAMPLES, rng).astype(np.float64)
        totals = counts @ sums
        without = np.full(len(place), -1)
        without[1 + bucket.videos] = np.arange(len(sums))
        for tied, rows in groups:
            missing = without[rows]
            touched, video = rows[missing >= 0], missing[missing >= 0]
            left = totals[:, tied, None] - counts[:, None, video] * sums[np.ix_(video, tied)].T
            for chosen, among in ((rows[missing < 0], totals[:, tied, None]), (touched, left)):
                if len(chosen):
                    rates[np.ix_(chosen, tied)] += weight * points_of(among, np.ones((len(tied), 1), dtype=bool)).T
    return rates


def _tie_groups(place: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Every set of members that shares a place to be broken, and the rows in which it does."""
    rows_of: dict[bytes, list[int]] = {}
    for p in range(1, LAST_PLACE + 1):
        sharing = place == p
        for row in np.flatnonzero(sharing.sum(axis=1) > 1).tolist():
            rows_of.setdefault(sharing[row].tobytes(), []).append(row)
    return [(np.flatnonzero(np.frombuffer(key, dtype=bool)), np.array(rows)) for key, rows in rows_of.items()]


def _buckets(standing: Standing, options: RankOptions) -> list[dict[str, object]]:
    accuracy, rows = standing.board.accuracy[:, standing.members], []
    before = _broken(standing, standing.merged.place, standing.weights, accuracy)
    for number, bucket in enumerate(standing.board.buckets):
        kept = np.arange(len(accuracy)) != number
        if (weights := np.where(kept, standing.weights, 0.0)).any():
            after = _broken(standing, without_bucket(standing, number, options).place, weights, accuracy[kept])
            rows.append(_row(standing, "bucket", bucket.name, before, after))
    return rows


def _models(standing: Standing, options: RankOptions) -> list[dict[str, object]]:
    accuracy, rows = standing.board.accuracy[:, standing.members], []
    before = _broken(standing, standing.merged.place, standing.weights, accuracy)
    for position, name in enumerate(standing.names):
        kept = np.arange(len(standing.members)) != position
        if kept.sum() > 1:
            place = np.zeros(len(kept), dtype=np.int64)
            place[kept] = merged_among(standing, standing.members[kept], options).place
            after = _broken(standing, place, standing.weights, accuracy)[kept]
            rows.append(_row(standing, "model", name, places_of(-before[kept]), after))
    return rows


def _broken(standing: Standing, place: np.ndarray, weights: np.ndarray, accuracy: np.ndarray) -> np.ndarray:
    """Places with ties broken; undecided ones fall to macro accuracy at once."""
    number, macro = min(RESAMPLES, standing.draws.replicates), accuracy.mean(axis=0)
    return with_ties_broken(
        place, break_ties(place, weights, standing.draws, grow=False, macro=macro, replicates=number)
    )


def _row(standing: Standing, kind: str, name: str, before: np.ndarray, after: np.ndarray) -> dict[str, object]:
    swapped = np.sign(np.subtract.outer(before, before)) * np.sign(np.subtract.outer(after, after)) < 0
    tau = float(kendall_tau_b(before, after))
    moved = int((before != after).sum())
    first = bool(((before == 1) != (after == 1)).any())
    return {
        "board": standing.board.name,
        "left_out": kind,
        "name": name,
        "tau_b": None if np.isnan(tau) else tau,
        "models_moved": moved,
        "first_changes": first,
        "order_swapped": bool(swapped.any()),
    }
