"""How firm the order of a leaderboard is: which ranks are possible, what decides it, what moves with something left
out.

The final ranks follow Copeland over significant differences in buckets, the sets of ranks follow macro accuracy over
all buckets together; the two may disagree, and where they do a finding says which buckets or which other models decide.

Final ranks with one video, bucket or model left out are those of the whole rule, tie-break included. Videos are left
out with the studentised test (as in the bootstrap), and compared with the studentised ranking of all videos; buckets
and models with the exact tests. Leaving out a model also shrinks the family of the correction; it is the check for
independence of irrelevant alternatives, which Copeland does not promise.

The decision a reader would question: the tie-breaks before and after share their draws. A video is left out of a draw
by taking its share away, so what moves is due to the video and not to new luck. `RESAMPLES` draws decide (the published
order has ten times as many), and what they leave undecided goes by macro accuracy.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from surgvalid.results.tables import ranking
from surgvalid.results.tables.ranking import BUCKET_TOO_SMALL, NOTHING_SIGNIFICANT, UNREACHABLE
from surgvalid.schema.findings import Finding
from surgvalid.schema.statistic_rules import remark
from surgvalid.stats.comparing.rank_sets import RankSets, rank_sets
from surgvalid.stats.draws import stream, video_counts
from surgvalid.stats.intervals.few_videos import correction_unreachable
from surgvalid.stats.ranking._focus.buckets import FocusLeaderboard
from surgvalid.stats.ranking._focus.merge import DEFAULT_TEST, places_of, preferred
from surgvalid.stats.ranking._focus.stability import ordered_places, points_of, replicate
from surgvalid.stats.ranking._focus.standing import (
    LAST_PLACE,
    Standing,
    break_ties,
    merged_among,
    with_ties_broken,
    without_bucket,
)
from surgvalid.stats.ranking._options import RankOptions
from surgvalid.stats.ranking._ranks import kendall_tau_b
from surgvalid.stats.verdict.sentences import order_open

RESAMPLES = 1000


def influence(standing: Standing, options: RankOptions, video_names: list[str]) -> pl.DataFrame:
    """One row per video, bucket and model left out; final ranks are those of the whole rule."""
    rows = [
        *_without_videos(standing, options, video_names),
        *_without_buckets(standing, options),
        *_without_models(standing, options),
    ]
    return ranking.INFLUENCE.frame(rows)


def _without_videos(standing: Standing, options: RankOptions, names: list[str]) -> list[dict[str, object]]:
    kept = np.concatenate([np.ones((1, len(names)), dtype=np.int64), 1 - np.eye(len(names), dtype=np.int64)])
    drawn = replicate(standing.board, standing.members, standing.weights, options, kept)
    rates = _win_rates(standing, drawn.place, options.seed)
    place = ordered_places(drawn.place, rates, drawn.macro[:, standing.members])
    return [
        _influence_row(standing, "video", name, place[0], after) for name, after in zip(names, place[1:], strict=True)
    ]


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
    """Every set of members that shares a final rank to be broken, and the rows in which it does."""
    rows_of: dict[bytes, list[int]] = {}
    for p in range(1, LAST_PLACE + 1):
        sharing = place == p
        for row in np.flatnonzero(sharing.sum(axis=1) > 1).tolist():
            rows_of.setdefault(sharing[row].tobytes(), []).append(row)
    return [(np.flatnonzero(np.frombuffer(key, dtype=bool)), np.array(rows)) for key, rows in rows_of.items()]


def _without_buckets(standing: Standing, options: RankOptions) -> list[dict[str, object]]:
    accuracy, rows = standing.board.accuracy[:, standing.members], []
    before = _broken(standing, standing.merged.place, standing.weights, accuracy)
    for number, bucket in enumerate(standing.board.buckets):
        kept = np.arange(len(accuracy)) != number
        if (weights := np.where(kept, standing.weights, 0.0)).any():
            after = _broken(standing, without_bucket(standing, number, options).place, weights, accuracy[kept])
            rows.append(_influence_row(standing, "bucket", bucket.name, before, after))
    return rows


def _without_models(standing: Standing, options: RankOptions) -> list[dict[str, object]]:
    accuracy, rows = standing.board.accuracy[:, standing.members], []
    before = _broken(standing, standing.merged.place, standing.weights, accuracy)
    for position, name in enumerate(standing.names):
        kept = np.arange(len(standing.members)) != position
        if kept.sum() > 1:
            place = np.zeros(len(kept), dtype=np.int64)
            place[kept] = merged_among(standing, standing.members[kept], options).place
            after = _broken(standing, place, standing.weights, accuracy)[kept]
            rows.append(_influence_row(standing, "model", name, places_of(-before[kept]), after))
    return rows


def _broken(standing: Standing, place: np.ndarray, weights: np.ndarray, accuracy: np.ndarray) -> np.ndarray:
    """Final ranks with ties broken; undecided ones fall to macro accuracy at once."""
    number, macro = min(RESAMPLES, standing.draws.replicates), accuracy.mean(axis=0)
    return with_ties_broken(
        place, break_ties(place, weights, standing.draws, grow=False, macro=macro, replicates=number)
    )


def _influence_row(
    standing: Standing, kind: str, name: str, before: np.ndarray, after: np.ndarray
) -> dict[str, object]:
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


SMALL_BUCKET = 13
"""Fewer videos than this cannot show any difference among twenty models."""
MOST_NAMED = 3
"""Contradictions spelled out per leaderboard."""
_PRINTED = 3
"""Digits of a macro accuracy; what prints alike contradicts nothing."""


def possible_ranks(board: FocusLeaderboard, members: np.ndarray, options: RankOptions) -> RankSets:
    """The ranks by macro accuracy that each member can have, all sets right together."""
    level = 1 - options.alpha
    return rank_sets(contributions(board)[:, members], level=level)


def contributions(board: FocusLeaderboard) -> np.ndarray:
    """What each video adds to the macro accuracy of each model, `[video, model]`; videos without questions left out."""
    added = np.zeros((board.videos, len(board.models)))
    held = np.zeros(board.videos, dtype=bool)
    for bucket in board.buckets:
        added[bucket.videos] += bucket.scores.sums / bucket.scores.sizes.sum() / len(board.buckets)
        held[bucket.videos] = True
    return added[held]


def firmness_findings(standing: Standing, sets: RankSets, options: RankOptions) -> list[Finding]:
    """What the final ranks rest on, where that is less than they seem to say."""
    where = f"{standing.board.name} leaderboard, by macro accuracy"
    able = order_open(standing.names, sets, standing.board.videos, "video", where=where)
    return [
        *_thin_buckets(standing, options),
        *_tie_breaks(standing, options),
        *_contradictions(standing, sets, options),
        *([] if able is None else [able]),
    ]


def _thin_buckets(standing: Standing, options: RankOptions) -> list[Finding]:
    """Buckets in which not even a model that wins every video could be significantly better, and other small ones."""
    pairs = len(standing.members) * (len(standing.members) - 1) // 2
    floor = (options.test or DEFAULT_TEST) == DEFAULT_TEST and pairs > 0
    family = pairs if (options.correction or "holm") == "holm" else 1
    out = []
    for bucket in standing.board.buckets:
        videos, subject = len(bucket.videos), f"{standing.board.name} leaderboard, {bucket.name}"
        finding = correction_unreachable(videos, family, alpha=options.alpha) if floor else None
        if finding is not None:
            out.append(replace(finding, code=UNREACHABLE, subject=subject))
        elif videos < SMALL_BUCKET:
            out.append(remark(BUCKET_TOO_SMALL, f"only {videos} videos", subject=subject))
    return out


def _tie_breaks(standing: Standing, options: RankOptions) -> list[Finding]:
    board, names = f"{standing.board.name} leaderboard", standing.names
    what = "final ranks and prizes" if options.prize_pool is not None else "final ranks"
    if len(names) > 1 and not standing.relation.beats.any():
        rest = "accuracies alone" if options.merge == "accuracy" else "the tie-break alone"
        text = f"no difference between two models is significant in any bucket; {what} rest on {rest}"
        return [remark(NOTHING_SIGNIFICANT, text, subject=board)]
    out = []
    for tie in standing.ties:
        first = int(standing.merged.place[tie.models[0]])
        listed = ", ".join(names[i] for i in sorted(tie.models, key=lambda i: int(standing.place[i])))
        text = (
            f"{what} {first} to {first + len(tie.models) - 1} rest on the tie-break: {listed} have the same Copeland"
            " score"
        )
        out.append(remark("places-by-tie-break", text, subject=board))
    return out


def _contradictions(standing: Standing, sets: RankSets, options: RankOptions) -> list[Finding]:
    """Models that stand above others with a clearly printed higher macro accuracy, widest gap first."""
    macro, place = standing.board.macro[standing.members], standing.place
    printed = np.round(macro, _PRINTED)
    gap = macro[None, :] - macro[:, None]
    upper, lower = np.nonzero((place[:, None] < place[None, :]) & (printed[:, None] < printed[None, :]))
    if not len(upper):
        return []
    order = np.lexsort((lower, upper, -np.round(gap[upper, lower], 12)))
    ahead = preferred(standing.relation.beats, standing.evidence.accuracy[:, standing.members], options.merge)
    sentences = [_contradiction(standing, sets, ahead, int(upper[k]), int(lower[k])) for k in order[:MOST_NAMED]]
    if len(upper) > MOST_NAMED:
        sentences.append(f"and {len(upper) - MOST_NAMED} more such pairs")
    text = "final ranks and macro accuracies disagree: " + "; ".join(sentences)
    return [remark("order-against-accuracy", text, subject=f"{standing.board.name} leaderboard")]


def _contradiction(standing: Standing, sets: RankSets, ahead: np.ndarray, upper: int, lower: int) -> str:
    macro, names = standing.board.macro[standing.members], standing.names
    text = (
        f"{names[upper]} (final rank {standing.place[upper]}, {macro[upper]:.3f}) stands above {names[lower]}"
        f" (final rank {standing.place[lower]}, {macro[lower]:.3f})"
    )
    if sets.better[lower, upper]:
        text += ", which is significantly better over all buckets together,"
    return f"{text} because {_reason(standing, ahead, upper, lower)}"


def _reason(standing: Standing, ahead: np.ndarray, upper: int, lower: int) -> str:
    """Why one model stands above another: buckets between the two, other models, or the tie-break."""
    merged, names = standing.merged, standing.names
    if merged.score[upper] == merged.score[lower]:
        rate = standing.win_rate
        if np.isnan(rate[[upper, lower]]).any() or merged.place[upper] > LAST_PLACE:
            return "their Copeland scores are equal"
        return f"their Copeland scores are equal and its win rate is {rate[upper]:.3f} against {rate[lower]:.3f}"
    if merged.dominates[upper, lower]:
        won, lost = (_buckets(standing, ahead[:, a, b]) for a, b in ((upper, lower), (lower, upper)))
        return f"it is ahead in {won}" + (f", behind in {lost}" if lost else " and behind in none")
    scores = f"its Copeland score is {merged.score[upper]} against {merged.score[lower]}"
    others = [k for k in range(len(names)) if k not in (upper, lower)]
    side = merged.dominates.astype(int) - merged.dominates.T.astype(int)
    helping = [names[k] for k in others if side[upper, k] > side[lower, k]]
    return f"{scores}: it does better against {', '.join(helping[:5])}{' and others' if len(helping) > 5 else ''}"


def _buckets(standing: Standing, ahead: np.ndarray) -> str:
    return "; ".join(bucket.name for bucket, here in zip(standing.board.buckets, ahead.tolist(), strict=True) if here)
