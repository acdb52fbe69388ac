"""The final ranks of a leaderboard: relation, Copeland, tie-break; and where those outside the competition would stand.

Ties that touch the first three final ranks are broken by the bootstrap win rate. Among the tied models only: in each
bucket draw whole videos with replacement, the same draw for all; a replicate's point goes to the model with the highest
accuracy, split among equals. A win rate is the mean share of points over replicates, then over buckets. A tie group
that reaches beyond final rank three is ordered as a whole.
Source: FOCUS challenge document, ranking scheme; the unit and the split are our resolutions.

The decision a reader would question: a win rate is random through its draws. Where two neighbours differ by less than
two Monte Carlo standard errors the replicates are quadrupled, up to sixteen times as many; what is still undecided is
ordered by macro accuracy, and stays tied when that is equal too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from surgvalid.stats.draws import stream, video_counts
from surgvalid.stats.ranking._focus.buckets import FocusLeaderboard
from surgvalid.stats.ranking._focus.merge import Copeland, Evidence, Relation, copeland, gather, preferred, relation
from surgvalid.stats.ranking._options import MERGES, RankOptions

GROWTH = 4
LARGEST_FACTOR = 16
LAST_PLACE = 3
_BLOCK = 10_000


@dataclass(frozen=True)
class TieBreak:
    """The order of one group of tied models."""

    models: tuple[int, ...]
    win_rate: np.ndarray
    place: np.ndarray
    """Final ranks, in the order of `models`."""
    replicates: int
    by_macro: bool
    """Whether some neighbours could only be ordered by macro accuracy."""
    unresolved: bool
    """Whether some models stay tied."""


class Draws:
    """The resampled sums of every bucket of a leaderboard, drawn once and kept for every tie that needs them."""

    def __init__(self, board: FocusLeaderboard, members: np.ndarray, *, replicates: int, seed: int) -> None:
        self.board, self.members, self.replicates, self.seed = board, members, replicates, seed
        self._kept: dict[int, np.ndarray] = {}

    def totals(self, bucket: int, replicates: int) -> Iterator[np.ndarray]:
        """Sums of scores `[replicate, member]`, in blocks; more replicates begin with the same ones."""
        if bucket not in self._kept:
            self._kept[bucket] = next(self._drawn(bucket, self.replicates, self.replicates))
        if replicates <= self.replicates:
            return iter([self._kept[bucket][:replicates]])
        return self._drawn(bucket, replicates, _BLOCK)

    def _drawn(self, number: int, replicates: int, block: int) -> Iterator[np.ndarray]:
        bucket = self.board.buckets[number]
        sums = bucket.scores.sums[:, self.members]
        rng = stream(self.seed, "tie-break", self.board.name, bucket.name)
        for start in range(0, replicates, block):
            counts = video_counts(len(sums), min(block, replicates - start), rng)
            yield counts.astype(float) @ sums


def break_ties(
    place: np.ndarray,
    weights: np.ndarray,
    draws: Draws,
    *,
    grow: bool = True,
    macro: np.ndarray | None = None,
    replicates: int | None = None,
) -> list[TieBreak]:
    """The order of every tie group that touches final ranks 1 to 3.

    Args:
        place: Copeland final ranks of the members; 0 for one that takes no part.
        weights: Weights of the buckets.
        draws: The resamples of the leaderboard.
        grow: Whether undecided neighbours get more replicates.
        macro: Macro accuracies of the members, where they are not those of the leaderboard.
        replicates: How many resamples to begin with; those of `draws` where not given.
    """
    macro = draws.board.macro[draws.members] if macro is None else macro
    first = replicates or draws.replicates
    groups = [np.flatnonzero(place == p) for p in range(1, LAST_PLACE + 1)]
    return [
        _group_broken(group, int(place[group[0]]), weights, draws, np.round(macro[group], 12), first, grow)
        for group in groups
        if len(group) > 1
    ]


def _group_broken(
    group: np.ndarray, start: int, weights: np.ndarray, draws: Draws, macro: np.ndarray, used: int, grow: bool
) -> TieBreak:
    rate, error = win_rates(group, weights, draws, replicates=used)
    while grow and used < LARGEST_FACTOR * draws.replicates and _undecided(rate, error):
        used *= GROWTH
        rate, error = win_rates(group, weights, draws, replicates=used)
    place, by_macro = _ordered_by_rate(rate, error, macro)
    unresolved = len(np.unique(place)) < len(place)
    return TieBreak(tuple(group.tolist()), rate, start - 1 + place, used, by_macro, unresolved)


def win_rates(
    group: np.ndarray, weights: np.ndarray, draws: Draws, *, replicates: int
) -> tuple[np.ndarray, np.ndarray]:
    """The win rate of each member among `group`, and the standard error of every difference of two."""
    share = weights / weights.sum()
    rate = np.zeros(len(group))
    variance = np.zeros((len(group), len(group)))
    for bucket in np.flatnonzero(share > 0).tolist():
        mean, product = _points(group, draws, bucket, replicates)
        rate += share[bucket] * mean
        spread = product.diagonal()[:, None] + product.diagonal()[None, :] - 2 * product
        gap = mean[:, None] - mean[None, :]
        noise = np.maximum(0.0, spread - gap**2)
        variance += share[bucket] ** 2 * np.where(noise > 1e-12, noise, 0.0) / replicates
    return rate, np.sqrt(variance)


def _points(group: np.ndarray, draws: Draws, bucket: int, replicates: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean points of each member in one bucket and the mean products of points."""
    mean, product = np.zeros(len(group)), np.zeros((len(group), len(group)))
    for totals in draws.totals(bucket, replicates):
        chosen = totals[:, group]
        best = chosen.max(axis=1, keepdims=True)
        top = (chosen >= best - 1e-9 * np.maximum(1.0, np.abs(best))).astype(float)
        points = top / top.sum(axis=1, keepdims=True)
        mean += points.sum(axis=0)
        product += points.T @ points
    return mean / replicates, product / replicates


def _undecided(rate: np.ndarray, error: np.ndarray) -> bool:
    order = np.argsort(-rate, kind="stable")
    upper, lower = order[:-1], order[1:]
    return bool(((rate[upper] - rate[lower] < 2 * error[upper, lower]) & (error[upper, lower] > 0)).any())


def _ordered_by_rate(rate: np.ndarray, error: np.ndarray, macro: np.ndarray) -> tuple[np.ndarray, bool]:
    """Final ranks within the group: by win rate, within undecided runs by macro accuracy, else shared."""
    order = np.argsort(-rate, kind="stable")
    upper, lower = order[:-1], order[1:]
    open_gap = (rate[upper] - rate[lower] < 2 * error[upper, lower]) | (rate[upper] - rate[lower] <= 1e-12)
    run = np.zeros(len(rate), dtype=np.int64)
    run[order] = np.concatenate([[0], np.cumsum(~open_gap)])
    ahead = (run[:, None] < run[None, :]) | ((run[:, None] == run[None, :]) & (macro[:, None] > macro[None, :]))
    return 1 + ahead.sum(axis=0), bool(open_gap.any())


@dataclass(frozen=True)
class Outsider:
    """A baseline or other entry outside the competition, judged as if it alone had been added."""

    model: int
    place: int
    score: int
    dominated: int
    dominated_by: int
    relation: Relation
    """Among the competitors and, last, this entry."""


@dataclass(frozen=True)
class Standing:
    """The final order of one leaderboard."""

    board: FocusLeaderboard
    members: np.ndarray
    """The competing models, as indices into the leaderboard's models."""
    weights: np.ndarray
    evidence: Evidence
    relation: Relation
    merged: Copeland
    draws: Draws
    ties: tuple[TieBreak, ...]
    place: np.ndarray
    """Final ranks of the members."""
    outsiders: tuple[Outsider, ...]
    order_with_all: bool
    """Whether the members keep their order when every outsider competes."""

    @property
    def names(self) -> list[str]:
        """The names of the members."""
        return [self.board.models[i] for i in self.members]

    @property
    def win_rate(self) -> np.ndarray:
        """The win rate of each member that was in a tie-break, NaN for the others."""
        rate = np.full(len(self.members), np.nan)
        for tie in self.ties:
            rate[list(tie.models)] = tie.win_rate
        return rate


def standing(board: FocusLeaderboard, members: np.ndarray, options: RankOptions, *, replicates: int) -> Standing:
    """The final order of the members of a leaderboard."""
    evidence = gather(board, options)
    weights = bucket_weights(board, options)
    among, merged = _merged(evidence, members, weights, options)
    draws = Draws(board, members, replicates=replicates, seed=options.seed)
    ties = break_ties(merged.place, weights, draws)
    others = [i for i in range(len(board.models)) if i not in set(members.tolist())]
    outsiders = tuple(_outsider(evidence, members, other, weights, options) for other in others)
    everyone = np.concatenate([members, np.array(others, dtype=np.int64)])
    _, open_field = _merged(evidence, everyone, weights, options)
    same = np.sign(np.subtract.outer(open_field.score[: len(members)], open_field.score[: len(members)]))
    before = np.sign(np.subtract.outer(merged.score, merged.score))
    return Standing(
        board=board,
        members=members,
        weights=weights,
        evidence=evidence,
        relation=among,
        merged=merged,
        draws=draws,
        ties=tuple(ties),
        place=with_ties_broken(merged.place, ties),
        outsiders=outsiders,
        order_with_all=bool((same == before).all()),
    )


def with_ties_broken(place: np.ndarray, ties: list[TieBreak] | tuple[TieBreak, ...]) -> np.ndarray:
    """Final ranks: the tie groups that were ordered take their new final ranks."""
    final = place.copy()
    for tie in ties:
        final[list(tie.models)] = tie.place
    return final


def bucket_weights(board: FocusLeaderboard, options: RankOptions) -> np.ndarray:
    """The weight of each bucket: equal unless weights of capability groups are given."""
    given = options.bucket_weights or {}
    return np.array([float(given.get(bucket.capability, 1.0)) for bucket in board.buckets])


def places_under_every_merge(standing: Standing, options: RankOptions) -> dict[str, np.ndarray]:
    """Final ranks of the members under each merge rule; undecided ties fall to macro accuracy at once."""
    places = {}
    for merge in MERGES:
        if merge == options.merge:
            places[merge] = standing.place
            continue
        ahead = preferred(standing.relation.beats, standing.evidence.accuracy[:, standing.members], merge)
        merged = copeland(ahead, standing.weights)
        ties = break_ties(merged.place, standing.weights, standing.draws, grow=False)
        places[merge] = with_ties_broken(merged.place, ties)
    return places


def merged_among(standing: Standing, members: np.ndarray, options: RankOptions) -> Copeland:
    """Copeland among other members of the same leaderboard, from the same raw tests."""
    return _merged(standing.evidence, members, standing.weights, options)[1]


def without_bucket(standing: Standing, bucket: int, options: RankOptions) -> Copeland:
    """Copeland without one bucket."""
    kept = np.arange(len(standing.weights)) != bucket
    ahead = preferred(standing.relation.beats, standing.evidence.accuracy[:, standing.members], options.merge)
    return copeland(ahead[kept], standing.weights[kept])


def _merged(
    evidence: Evidence, members: np.ndarray, weights: np.ndarray, options: RankOptions
) -> tuple[Relation, Copeland]:
    among = relation(evidence, members, correction=options.correction or "holm", alpha=options.alpha)
    ahead = preferred(among.beats, evidence.accuracy[:, members], options.merge)
    return among, copeland(ahead, weights)


def _outsider(
    evidence: Evidence, members: np.ndarray, other: int, weights: np.ndarray, options: RankOptions
) -> Outsider:
    among, merged = _merged(evidence, np.append(members, other), weights, options)
    return Outsider(
        model=other,
        place=int(merged.place[-1]),
        score=int(merged.score[-1]),
        dominated=int(merged.dominated[-1]),
        dominated_by=int(merged.dominated_by[-1]),
        relation=among,
    )
