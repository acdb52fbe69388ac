"""The places of a board: relation, Copeland, tie-break; and where those outside the competition would stand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surgeval.stats.ranking._focus.buckets import Board
from surgeval.stats.ranking._focus.copeland import Copeland, copeland
from surgeval.stats.ranking._focus.merge import preferred
from surgeval.stats.ranking._focus.relation import Evidence, Relation, gather, relation
from surgeval.stats.ranking._focus.tie_break import Draws, TieBreak, break_ties
from surgeval.stats.ranking._options import MERGES, RankOptions


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
    """The final order of one board."""

    board: Board
    members: np.ndarray
    """The competing models, as indices into the board's models."""
    weights: np.ndarray
    evidence: Evidence
    relation: Relation
    merged: Copeland
    draws: Draws
    ties: tuple[TieBreak, ...]
    place: np.ndarray
    """Final places of the members."""
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


def standing(board: Board, members: np.ndarray, options: RankOptions, *, replicates: int) -> Standing:
    """The final order of the members of a board."""
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
    """Final places: the tie groups that were ordered take their new places."""
    final = place.copy()
    for tie in ties:
        final[list(tie.models)] = tie.place
    return final


def bucket_weights(board: Board, options: RankOptions) -> np.ndarray:
    """The weight of each bucket: equal unless weights of capability groups are given."""
    given = options.bucket_weights or {}
    return np.array([float(given.get(bucket.capability, 1.0)) for bucket in board.buckets])


def places_under_every_merge(standing: Standing, options: RankOptions) -> dict[str, np.ndarray]:
    """Final places of the members under each merge rule; undecided ties fall to macro accuracy at once."""
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
    """Copeland among other members of the same board, from the same raw tests."""
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
