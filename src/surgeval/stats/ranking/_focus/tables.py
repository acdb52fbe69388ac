"""The tables of a board, with the columns that the public contract names."""

from __future__ import annotations

import numpy as np
import polars as pl

from surgeval.results.tables import Table, ranking
from surgeval.stats.few_videos import PERCENTILE_VIDEOS
from surgeval.stats.paired_tests import pair_indices
from surgeval.stats.rank_sets import RankSets
from surgeval.stats.ranking._distance import kendall_tau_b, tau_frequencies
from surgeval.stats.ranking._focus.buckets import Bucket
from surgeval.stats.ranking._focus.confidence_set import confidence_set_p
from surgeval.stats.ranking._focus.intervals import LEVEL, accuracy_ends, difference_ends, gap_ends, macro_ends
from surgeval.stats.ranking._focus.letters import compact_letters
from surgeval.stats.ranking._focus.merge import bucket_rank
from surgeval.stats.ranking._focus.nested_ties import place_shares
from surgeval.stats.ranking._focus.relation import DEFAULT_TEST
from surgeval.stats.ranking._focus.stability import Replicates
from surgeval.stats.ranking._focus.standing import Standing
from surgeval.stats.ranking._focus.tie_break import LAST_PLACE


def places_table(standing: Standing, baselines: set[str]) -> pl.DataFrame:
    """Final places; entries outside the competition carry the place they would have."""
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
    parts = [(standing.members[first], standing.members[second], standing.relation.p_adjusted[:, first, second],
              standing.relation.beats[:, first, second] | standing.relation.beats[:, second, first])]  # fmt: skip
    for other in standing.outsiders:
        beats = other.relation.beats
        parts.append((standing.members, np.full(len(standing.members), other.model),
                      other.relation.p_adjusted[:, :-1, -1], beats[:, :-1, -1] | beats[:, -1, :-1]))  # fmt: skip
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
    """How far the first of a board is ahead of each other competitor in macro accuracy, with 95 % intervals."""
    board, order = standing.board, standing.members[np.argsort(standing.place, kind="stable")].tolist()
    rows = []
    for other in order[1:]:
        low, high = gap_ends(board, order[0], other)
        gap = float(np.round(board.macro[order[0]] - board.macro[other], 12))
        names = {"board": board.name, "model": board.models[order[0]], "other": board.models[other]}
        rows.append({**names, "gap": gap, "low": low, "high": high})
    return ranking.LEADS.frame(rows)


def stability_table(standing: Standing, drawn: Replicates) -> pl.DataFrame:
    """Mean, spread and interval of every competitor's place, and its shares of the top; a shared place is split."""
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
    """The share of replicates in which each competitor took each place; places never taken are left out."""
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
    """How often each tau-b between the replicated and the published places came about."""
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
