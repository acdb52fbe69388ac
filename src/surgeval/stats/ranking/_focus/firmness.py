"""How firm the order of a board is: which ranks are possible, and what a reader of the places must be told.

The places follow Copeland over significant differences in buckets, the sets of ranks follow macro accuracy over all
buckets together; the two may disagree, and where they do a finding says which buckets or which other models decide.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from surgeval.schema.findings import Finding
from surgeval.schema.statistic_rules import remark
from surgeval.stats.few_videos import correction_unreachable, first_open
from surgeval.stats.rank_sets import RankSets, rank_sets
from surgeval.stats.ranking._focus.buckets import Board
from surgeval.stats.ranking._focus.merge import preferred
from surgeval.stats.ranking._focus.relation import DEFAULT_TEST
from surgeval.stats.ranking._focus.standing import Standing
from surgeval.stats.ranking._focus.tie_break import LAST_PLACE
from surgeval.stats.ranking._options import RankOptions
from surgeval.stats.ranking.result import BUCKET_TOO_SMALL, NOTHING_SIGNIFICANT, UNREACHABLE

SMALL_BUCKET = 13
"""Fewer videos than this cannot show any difference among twenty models."""
MOST_NAMED = 3
"""Contradictions spelled out per board."""
_PRINTED = 3
"""Digits of a macro accuracy; what prints alike contradicts nothing."""


def possible_ranks(board: Board, members: np.ndarray, options: RankOptions) -> RankSets:
    """The ranks by macro accuracy that each member can have, all sets right together."""
    level = 1 - options.alpha
    return rank_sets(contributions(board)[:, members], level=level, seed=options.seed, name=board.name)


def contributions(board: Board) -> np.ndarray:
    """What each video adds to the macro accuracy of each model, `[video, model]`; videos without questions left out."""
    added = np.zeros((board.videos, len(board.models)))
    held = np.zeros(board.videos, dtype=bool)
    for bucket in board.buckets:
        added[bucket.videos] += bucket.scores.sums / bucket.scores.sizes.sum() / len(board.buckets)
        held[bucket.videos] = True
    return added[held]


def firmness_findings(standing: Standing, sets: RankSets, options: RankOptions) -> list[Finding]:
    """What the places rest on, where that is less than they seem to say."""
    able = first_open(standing.names, sets.low == 1, where=f"{standing.board.name} board, by macro accuracy")
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
        videos, subject = len(bucket.videos), f"{standing.board.name} board, {bucket.name}"
        finding = correction_unreachable(videos, family, alpha=options.alpha) if floor else None
        if finding is not None:
            out.append(replace(finding, code=UNREACHABLE, subject=subject))
        elif videos < SMALL_BUCKET:
            out.append(remark(BUCKET_TOO_SMALL, f"only {videos} videos", subject=subject))
    return out


def _tie_breaks(standing: Standing, options: RankOptions) -> list[Finding]:
    board, names = f"{standing.board.name} board", standing.names
    what = "places and prizes" if options.prize_pool is not None else "places"
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
    text = "places and macro accuracies disagree: " + "; ".join(sentences)
    return [remark("order-against-accuracy", text, subject=f"{standing.board.name} board")]


def _contradiction(standing: Standing, sets: RankSets, ahead: np.ndarray, upper: int, lower: int) -> str:
    macro, names = standing.board.macro[standing.members], standing.names
    text = (
        f"{names[upper]} (place {standing.place[upper]}, {macro[upper]:.3f}) stands above {names[lower]}"
        f" (place {standing.place[lower]}, {macro[lower]:.3f})"
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
