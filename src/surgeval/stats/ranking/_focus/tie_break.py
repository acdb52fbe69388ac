"""Ties that touch the first three places, broken by the bootstrap win rate.

Definition. Among the tied models only: in each bucket draw whole videos with replacement, the same draw
for all; a replicate's point goes to the model with the highest accuracy, split among equals. A model's
win rate is its mean share of points over replicates, then over buckets. A tie group that reaches
beyond place three is ordered as a whole.
Source: seed document of the challenge, ranking scheme; the unit and the split are our resolutions.

A win rate is random through its draws. Where two neighbours differ by less than two Monte Carlo
standard errors the replicates are quadrupled, up to sixteen times as many; what is still undecided is
ordered by macro accuracy, and stays tied when that is equal too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from surgeval.stats.draws import stream, video_counts
from surgeval.stats.ranking._focus.buckets import Board

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
    """Final places, in the order of `models`."""
    replicates: int
    by_macro: bool
    """Whether some neighbours could only be ordered by macro accuracy."""
    unresolved: bool
    """Whether some models stay tied."""


class Draws:
    """The resampled sums of every bucket of a board, drawn once and kept for every tie that needs them."""

    def __init__(self, board: Board, members: np.ndarray, *, replicates: int, seed: int) -> None:
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
    """The order of every tie group that touches places 1 to 3.

    Args:
        place: Copeland places of the members; 0 for one that takes no part.
        weights: Weights of the buckets.
        draws: The resamples of the board.
        grow: Whether undecided neighbours get more replicates.
        macro: Macro accuracies of the members, where they are not those of the board.
        replicates: How many resamples to begin with; those of `draws` where not given.
    """
    macro = draws.board.macro[draws.members] if macro is None else macro
    first = replicates or draws.replicates
    groups = [np.flatnonzero(place == p) for p in range(1, LAST_PLACE + 1)]
    return [
        _broken(group, int(place[group[0]]), weights, draws, np.round(macro[group], 12), first, grow)
        for group in groups
        if len(group) > 1
    ]


def _broken(
    group: np.ndarray, start: int, weights: np.ndarray, draws: Draws, macro: np.ndarray, used: int, grow: bool
) -> TieBreak:
    rate, error = win_rates(group, weights, draws, replicates=used)
    while grow and used < LARGEST_FACTOR * draws.replicates and _undecided(rate, error):
        used *= GROWTH
        rate, error = win_rates(group, weights, draws, replicates=used)
    place, by_macro = _ordered(rate, error, macro)
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


def _ordered(rate: np.ndarray, error: np.ndarray, macro: np.ndarray) -> tuple[np.ndarray, bool]:
    """Places within the group: by win rate, within undecided runs by macro accuracy, else shared."""
    order = np.argsort(-rate, kind="stable")
    upper, lower = order[:-1], order[1:]
    open_gap = (rate[upper] - rate[lower] < 2 * error[upper, lower]) | (rate[upper] - rate[lower] <= 1e-12)
    run = np.zeros(len(rate), dtype=np.int64)
    run[order] = np.concatenate([[0], np.cumsum(~open_gap)])
    ahead = (run[:, None] < run[None, :]) | ((run[:, None] == run[None, :]) & (macro[:, None] > macro[None, :]))
    return 1 + ahead.sum(axis=0), bool(open_gap.any())
