"""The tables of a leaderboard, with the columns that the public contract names.

Compact letters are the honest display of a relation that is no ranking: two models share a letter exactly when they are
not significantly different (Piepho 2004; found greedily, which keeps that property for any number of models but may use
other letters than an exhaustive search). The model confidence set holds the models that the data cannot tell from the
best by macro accuracy: starting with all, while equality is rejected by the largest studentised gap below the set's
mean, the worst leaves; a model's p-value is the largest met up to its leaving (Hansen, Lunde and Nason 2011, T_max,
here with whole videos as the bootstrap unit).
"""

from __future__ import annotations

import string

import numpy as np
import polars as pl

from surgvalid.results.tables import Table, ranking
from surgvalid.stats.comparing.paired_tests import pair_indices
from surgvalid.stats.comparing.rank_sets import RankSets
from surgvalid.stats.intervals.few_videos import PERCENTILE_VIDEOS
from surgvalid.stats.ranking._focus.buckets import Bucket
from surgvalid.stats.ranking._focus.intervals import LEVEL, accuracy_ends, difference_ends, gap_ends, macro_ends
from surgvalid.stats.ranking._focus.merge import DEFAULT_TEST, bucket_rank
from surgvalid.stats.ranking._focus.stability import Replicates, place_shares
from surgvalid.stats.ranking._focus.standing import LAST_PLACE, Standing
from surgvalid.stats.ranking._ranks import kendall_tau_b, tau_frequencies

_LETTERS = string.ascii_lowercase + string.ascii_uppercase


def compact_letters(different: np.ndarray, order: np.ndarray) -> list[str]:
    """The letters of each model.

    Args:
        different: Symmetric booleans `[model, model]`.
        order: Models from best to worst; letters are given out in that order.

    Example:
        >>> apart = np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]], dtype=bool)
        >>> compact_letters(apart, np.arange(3))
        ['a', 'ab', 'b']
    """
    alike = ~different[np.ix_(order, order)]
    np.fill_diagonal(alike, True)
    groups = _cover(alike)
    letters = [""] * len(order)
    for number, group in enumerate(sorted(groups)):
        symbol = _LETTERS[number] if number < len(_LETTERS) else f"({number + 1})"
        for position in group:
            letters[int(order[position])] += symbol
    return letters


def _cover(alike: np.ndarray) -> list[tuple[int, ...]]:
    """Sets of mutually alike positions that cannot grow and together hold every alike pair."""
    models = len(alike)
    open_pairs = np.triu(alike, k=1)
    groups: list[tuple[int, ...]] = []
    for i in range(models):
        while (partners := np.flatnonzero(open_pairs[i])).size:
            group = _grown([i, int(partners[0])], alike)
            open_pairs[np.ix_(group, group)] = False
            groups.append(tuple(group))
    alone = [(i,) for i in range(models) if not any(i in group for group in groups)]
    return groups + alone


def _grown(group: list[int], alike: np.ndarray) -> list[int]:
    fits = alike[group].all(axis=0)
    for candidate in np.flatnonzero(fits):
        if candidate not in group and alike[candidate][group].all():
            group = [*group, int(candidate)]
    return sorted(group)


def confidence_set_p(value: np.ndarray, replicates: np.ndarray) -> np.ndarray:
    """The p-value of each model for belonging to the set.

    Args:
        value: Macro accuracies.
        replicates: The same under resampled videos, `[replicate, model]`.

    Example:
        >>> noise = np.random.default_rng(0).normal(0, 0.01, (500, 3))
        >>> p = confidence_set_p(np.array([0.9, 0.895, 0.5]), noise + np.array([0.9, 0.895, 0.5]))
        >>> (p > 0.05).tolist()
        [True, True, False]
    """
    p, highest = np.ones(len(value)), 0.0
    inside = list(range(len(value)))
    while len(inside) > 1:
        gap = value[inside].mean() - value[inside]
        drawn = replicates[:, inside].mean(axis=1, keepdims=True) - replicates[:, inside]
        spread = drawn.std(axis=0)
        if not (spread > 1e-12).all() and np.abs(gap).max() < 1e-12:
            break
        safe = np.maximum(spread, 1e-12)
        observed = gap / safe
        null = ((drawn - gap) / safe).max(axis=1)
        worst = int(observed.argmax())
        highest = max(highest, float((null >= observed[worst]).mean()))
        p[inside[worst]] = highest
        inside.pop(worst)
    return p


def places_table(standing: Standing, baselines: set[str]) -> pl.DataFrame:
    """Final ranks; entries outside the competition carry the final rank they would have."""
    board, merged = standing.board, standing.merged
    outside = standing.outsiders
    frame = ranking.PLACES.frame(
        {
            "board": [board.name] * (len(standing.members) + len(outside)),
            "model": [*standing.names, *(board.models[o.model] for o in outside)],
            "place": [*standing.place.tolist(), *(o.place for o in outside)],
            "copeland": [*merged.score.tolist(), *(o.score for o in outside)],
            "dominated": [*merged.dominated.tolist(), *(o.dominated for o in outside)],
            "dominated_by": [*merged.dominated_by.tolist(), *(o.dominated_by for o in outside)],
            "macro_accuracy": board.macro[[*standing.members.tolist(), *(o.model for o in outside)]],
            "win_rate": [*standing.win_rate.tolist(), *(None for _ in outside)],
            "baseline": [False] * len(standing.members) + [board.models[o.model] in baselines for o in outside],
        }
    )
    return frame.with_columns(pl.col("win_rate").fill_nan(None)).sort(
        "place", "baseline", "macro_accuracy", "model", descending=[False, False, True, False]
    )


def buckets_table(standing: Standing) -> pl.DataFrame:
    """Accuracy, interval, display rank and letters of every model in every bucket."""
    board, frames = standing.board, []
    entries = np.array([*standing.members.tolist(), *(o.model for o in standing.outsiders)])
    display = bucket_rank(standing.relation.beats, standing.evidence.accuracy[:, standing.members], "losses") + 1
    for b, bucket in enumerate(board.buckets):
        beats, accuracy = standing.relation.beats[b], bucket.accuracy
        order = np.lexsort((np.array(standing.names), -np.round(accuracy[standing.members], 12)))
        letters = compact_letters(beats | beats.T, order)
        ends = accuracy_ends(board, bucket)
        would_be = [int(o.relation.beats[b][:, -1].sum()) + 1 for o in standing.outsiders]
        frame = ranking.BUCKETS.frame(
            {
                "board": board.name,
                "capability": bucket.capability,
                "ood": bucket.ood,
                "model": [board.models[i] for i in entries],
                "accuracy": accuracy[entries],
                "low": ends.low[entries],
                "high": ends.high[entries],
                "questions": len(bucket.scores.values),
                "videos": len(bucket.videos),
                "rank": [*display[b].tolist(), *would_be],
                "letters": [*letters, *("" for _ in standing.outsiders)],
            }
        )
        frames.append(frame.sort("rank", "accuracy", "model", descending=[False, True, False]))
    return pl.concat(frames).with_columns(pl.col("low", "high").fill_nan(None))


def pairs_table(standing: Standing) -> pl.DataFrame:
    """Every test of every pair; a pair with an outsider is corrected as if that one alone had been added."""
    board = standing.board
    first, second = pair_indices(len(standing.members))
    names = np.array(board.models, dtype=object)
    parts = [
        (
            standing.members[first],
            standing.members[second],
            standing.relation.p_adjusted[:, first, second],
            standing.relation.beats[:, first, second] | standing.relation.beats[:, second, first],
        )
    ]
    for other in standing.outsiders:
        beats = other.relation.beats
        parts.append(
            (
                standing.members,
                np.full(len(standing.members), other.model),
                other.relation.p_adjusted[:, :-1, -1],
                beats[:, :-1, -1] | beats[:, -1, :-1],
            )
        )
    frames = [
        _pair_frame(
            ranking.PAIRS,
            standing,
            bucket,
            names[first],
            names[second],
            difference=standing.evidence.difference[b, first, second],
            p_value=standing.evidence.p[b, first, second],
            p_adjusted=p_adjusted[b],
            significant=significant[b],
        )
        for b, bucket in enumerate(board.buckets)
        for first, second, p_adjusted, significant in parts
    ]
    return pl.concat(frames)


def _pair_frame(
    table: Table, standing: Standing, bucket: Bucket, first: np.ndarray, second: np.ndarray, **columns: np.ndarray
) -> pl.DataFrame:
    """One row per pair of models in a bucket."""
    pairs = len(first)
    return table.frame(
        {
            "board": [standing.board.name] * pairs,
            "capability": [bucket.capability] * pairs,
            "ood": [bucket.ood] * pairs,
            "model_a": first.tolist(),
            "model_b": second.tolist(),
            **columns,
        }
    )


def differences_table(standing: Standing) -> pl.DataFrame:
    """95 % intervals of all differences in accuracy; one holds 0 exactly when the sign-flip p-value is above 5 %."""
    board, frames = standing.board, []
    first, second = pair_indices(len(board.models))
    names = np.array(board.models, dtype=object)
    for bucket, run in zip(board.buckets, standing.evidence.tests, strict=True):
        ends = difference_ends(bucket, run.p if run.test.name == DEFAULT_TEST else None)
        frame = _pair_frame(
            ranking.DIFFERENCES,
            standing,
            bucket,
            names[first],
            names[second],
            difference=bucket.accuracy[first] - bucket.accuracy[second],
            low=ends.low,
            high=ends.high,
            method=np.where(np.isnan(ends.low), "none", ends.method),
        )
        frames.append(frame)
    return pl.concat(frames).with_columns(pl.col("low", "high").fill_nan(None))


def leads_table(standing: Standing) -> pl.DataFrame:
    """How far the first of a leaderboard is ahead of each other competitor in macro accuracy, with 95 % intervals."""
    board, order = standing.board, standing.members[np.argsort(standing.place, kind="stable")].tolist()
    rows = []
    for other in order[1:]:
        low, high = gap_ends(board, order[0], other)
        gap = float(np.round(board.macro[order[0]] - board.macro[other], 12))
        names = {"board": board.name, "model": board.models[order[0]], "other": board.models[other]}
        rows.append({**names, "gap": gap, "low": low, "high": high})
    return ranking.LEADS.frame(rows)


def stability_table(standing: Standing, drawn: Replicates) -> pl.DataFrame:
    """Mean, spread and interval of every competitor's final rank, and its shares of the top; a shared final rank is
    split.
    """
    place = drawn.place.astype(float)
    low, high = np.quantile(place, [0.025, 0.975], axis=0)
    frame = ranking.STABILITY.frame(
        {
            "board": [standing.board.name] * len(standing.names),
            "model": standing.names,
            "mean_place": place.mean(axis=0),
            "sd_place": place.std(axis=0, ddof=1) if len(place) > 1 else np.zeros(place.shape[1]),
            "place_low": low,
            "place_high": high,
            "p_first": place_shares(drawn.place, 1),
            "p_top3": place_shares(drawn.place, LAST_PLACE),
        }
    )
    return frame.sort("mean_place", "model")


def frequencies_table(standing: Standing, drawn: Replicates) -> pl.DataFrame:
    """The share of replicates in which each competitor took each final rank; final ranks never taken are left out."""
    rows = []
    for position, name in enumerate(standing.names):
        place, count = np.unique(drawn.place[:, position], return_counts=True)
        shares = (count / len(drawn.place)).tolist()
        rows += [
            {"board": standing.board.name, "model": name, "place": p, "share": s}
            for p, s in zip(place.tolist(), shares, strict=True)
        ]
    return ranking.PLACE_FREQUENCIES.frame(rows)


def tau_table(standing: Standing, drawn: Replicates) -> pl.DataFrame:
    """How often each tau-b between the replicated and the published final ranks came about."""
    tau = kendall_tau_b(standing.place[None, :], drawn.place)
    return ranking.TAU_FREQUENCIES.frame(tau_frequencies("board", standing.board.name, tau))


def summary_table(standing: Standing, drawn: Replicates | None, sets: RankSets, *, alpha: float) -> pl.DataFrame:
    """The critical-difference style summary: who cannot be told apart over all buckets together.

    `rank_low` to `rank_high` are the ranks by macro accuracy that a model can have, all models together; letters show
    the same decisions pair by pair. `mean_rank` is the mean display rank over buckets. The model confidence set rests
    on bootstrap standard deviations and is given from 100 videos on.
    """
    members, macro = standing.members, standing.board.macro[standing.members]
    ends, order = macro_ends(standing.board), np.lexsort((np.array(standing.names), -np.round(macro, 12)))
    display = bucket_rank(standing.relation.beats, standing.evidence.accuracy[:, members], "losses") + 1
    inside = width = np.full(len(members), np.nan)
    if drawn is not None:
        low, high = np.quantile(drawn.place.astype(float), [0.025, 0.975], axis=0)
        width = high - low
        if standing.board.videos >= PERCENTILE_VIDEOS:
            inside = confidence_set_p(macro, drawn.macro[:, members])
    frame = ranking.SUMMARY.frame(
        {
            "board": [standing.board.name] * len(standing.names),
            "model": standing.names,
            "place": standing.place,
            "macro_accuracy": macro,
            "macro_low": ends.low[members],
            "macro_high": ends.high[members],
            "rank_low": sets.low,
            "rank_high": sets.high,
            "mean_rank": display.mean(axis=0),
            "letters": compact_letters(sets.better | sets.better.T, order),
            "confidence_set_p": inside,
            "in_confidence_set": [None if np.isnan(p) else bool(p > alpha) for p in inside],
            "rank_width": width,
        }
    )
    empty = pl.col("macro_low", "macro_high", "confidence_set_p", "rank_width").fill_nan(None)
    return frame.with_columns(empty).sort("place", "macro_accuracy", "model", descending=[False, True, False])


def spread_record(standing: Standing, drawn: Replicates) -> dict[str, float | None]:
    """How firm the whole order is: tau-b with the original, rank width, share of neighbours decided."""
    tau = kendall_tau_b(standing.place[None, :], drawn.place)
    given = tau[np.isfinite(tau)]
    low, high = np.quantile(drawn.place.astype(float), [0.025, 0.975], axis=0)
    order = np.lexsort((np.array(standing.names), standing.place))
    upper, lower = order[:-1], order[1:]
    decided = (drawn.place[:, upper] < drawn.place[:, lower]).mean(axis=0) >= LEVEL
    return {
        "replicates": len(drawn.place),
        "tau_b_mean": float(given.mean()) if len(given) else None,
        "tau_b_low": float(np.quantile(given, 0.025)) if len(given) else None,
        "tau_b_high": float(np.quantile(given, 0.975)) if len(given) else None,
        "mean_rank_width": float((high - low).mean()),
        "adjacent_pairs_decided": float(decided.mean()) if len(decided) else None,
    }


def dominance_table(standing: Standing) -> pl.DataFrame:
    """For every ordered pair of competitors: buckets won, buckets lost, and who dominates."""
    counts, names = standing.merged.counts, np.array(standing.names, dtype=object)
    row, column = np.nonzero(~np.eye(len(names), dtype=bool))
    return ranking.DOMINANCE.frame(
        {
            "board": [standing.board.name] * len(row),
            "model_a": names[row].tolist(),
            "model_b": names[column].tolist(),
            "buckets_a_ahead": counts[row, column],
            "buckets_b_ahead": counts[column, row],
            "a_dominates_b": standing.merged.dominates[row, column],
        }
    )


def challenger_table(standing: Standing, video_names: list[str]) -> pl.DataFrame:
    """Video means as the long table challengeR reads: task is the bucket, case the video."""
    frames = []
    names, models = np.array(video_names, dtype=object), np.array(standing.board.models, dtype=object)
    for bucket in standing.board.buckets:
        means = bucket.scores.sums / bucket.scores.sizes[:, None]
        frames.append(
            ranking.CHALLENGER.frame(
                {
                    "task": bucket.name,
                    "case": np.tile(names[bucket.videos], len(models)).tolist(),
                    "algorithm": np.repeat(models, len(means)).tolist(),
                    "value": means.T.ravel(),
                }
            )
        )
    return pl.concat(frames)
