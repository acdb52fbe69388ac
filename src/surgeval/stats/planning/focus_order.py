"""How often the FOCUS rule would order models firmly, by numbers of videos.

Firmly means: by Copeland places alone, before any tie is broken. Three things are counted over drawn studies: the best
model is alone in first place (`first`), the first three are alone in theirs and in the right order (`podium`), all
models are (`order`). What is right is the order of the macro accuracies of the population that is drawn from.

The population is the pilot, whose videos are drawn with all their questions in all their buckets; deviations from the
means are stretched by `sqrt(V / (V - 1))`, since a sample varies less around its own means than around the true ones.
Or it is made up of models that are equal steps apart in every bucket. Each drawn study goes through the rule in the
studentised form of its test that the stability of places uses, which differs little from the exact one; with so few
videos that the exact test could show nothing, nothing is counted.

The pilot is a sample too: the same is done for pilots redrawn from it, and the range of the answers is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from surgeval.stats.paired_tests import PairedScores
from surgeval.stats.planning.spread import Spread
from surgeval.stats.ranking._focus.buckets import Board, Bucket
from surgeval.stats.ranking._focus.stability import replicate
from surgeval.stats.ranking._options import RankOptions
from surgeval.stats.sign_flip_interval import videos_needed

ORDERS = ("first", "podium", "order")
MADE_UP_VIDEOS = 200
REDRAWN = 40
"""Pilots redrawn for the range."""


def order_chances(
    board: Board, videos: Sequence[int], options: RankOptions, rng: np.random.Generator, *, studies: int
) -> dict[str, np.ndarray]:
    """The chance of each of `ORDERS` for every number of videos."""
    population = _stretched(board)
    truth = np.argsort(-population.macro, kind="stable")
    members = np.arange(len(board.models))
    weights = np.ones(len(board.buckets))
    tests = len(members) * (len(members) - 1) // 2
    least = videos_needed(tests if (options.correction or "holm") == "holm" else 1, alpha=options.alpha)
    chances = {name: np.zeros(len(videos)) for name in ORDERS}
    for number, count in enumerate(videos):
        share = max(len(bucket.videos) for bucket in board.buckets) / board.videos
        if count * share < least:
            continue
        counts = rng.multinomial(count, np.full(board.videos, 1 / board.videos), size=studies)
        places = replicate(population, members, weights, options, counts).place[:, truth]
        for name, hits in _reached(places).items():
            chances[name][number] = hits
    return chances


def order_range(
    board: Board,
    videos: Sequence[int],
    options: RankOptions,
    rng: np.random.Generator,
    *,
    studies: int,
    certainty: float,
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The range of the same chances over pilots redrawn from this one."""
    drawn: dict[str, list[np.ndarray]] = {name: [] for name in ORDERS}
    for _ in range(REDRAWN):
        counts = rng.multinomial(board.videos, np.full(board.videos, 1 / board.videos))
        for name, chances in order_chances(_redrawn(board, counts), videos, options, rng, studies=studies).items():
            drawn[name].append(chances)
    low, high = (1 - certainty) / 2, (1 + certainty) / 2
    return {name: (np.quantile(rows, low, axis=0), np.quantile(rows, high, axis=0)) for name, rows in drawn.items()}


def made_up_board(
    models: int, buckets: int, step: float, value: float, spread: Spread, rng: np.random.Generator
) -> Board:
    """A population of models that are `step` apart in every bucket, the best one at `value`.

    The spread is that of the difference of two models; half of it is each model's own.
    """
    names = [f"model {number + 1}" for number in range(models)]
    means = value - step * np.arange(models)
    count = max(1, round(spread.questions))
    owners = np.repeat(np.arange(MADE_UP_VIDEOS), count)
    made = []
    for number in range(buckets):
        own_video = _centred(rng.standard_normal((MADE_UP_VIDEOS, models))) * np.sqrt(spread.between[0] / 2)
        own_case = _centred(rng.standard_normal((len(owners), models))) * np.sqrt(spread.within[0] / 2)
        scores = PairedScores(means + own_video[owners] + own_case, owners)
        made.append(Bucket(f"bucket {number + 1}", False, scores, np.arange(MADE_UP_VIDEOS)))
    return Board("stated", names, tuple(made), MADE_UP_VIDEOS, -np.inf, np.inf)


def _reached(places: np.ndarray) -> Mapping[str, float]:
    """The share of studies that reach each goal; columns are models, the truly best first."""
    right = places == np.arange(1, places.shape[1] + 1)
    alone = [(places == place + 1).sum(axis=1) == 1 for place in range(places.shape[1])]
    firm = right & np.stack(alone, axis=1)
    podium = firm[:, : min(3, places.shape[1])].all(axis=1)
    return {"first": float(firm[:, 0].mean()), "podium": float(podium.mean()), "order": float(firm.all(axis=1).mean())}


def _stretched(board: Board) -> Board:
    buckets = []
    for bucket in board.buckets:
        values, videos = bucket.scores.values, len(bucket.videos)
        mean = values.mean(axis=0)
        factor = np.sqrt(videos / (videos - 1)) if videos > 1 else 1.0
        buckets.append(replace(bucket, scores=PairedScores(mean + factor * (values - mean), bucket.scores.videos)))
    return replace(board, buckets=tuple(buckets))


def _redrawn(board: Board, counts: np.ndarray) -> Board:
    """The board of a pilot in which each video is there as often as it was drawn; buckets that lost all are gone."""
    copies = np.repeat(np.arange(board.videos), counts)
    buckets = []
    for bucket in board.buckets:
        order = np.argsort(bucket.scores.videos, kind="stable")
        edges = np.searchsorted(bucket.scores.videos[order], np.arange(len(bucket.videos) + 1))
        rows = {int(video): order[edges[at] : edges[at + 1]] for at, video in enumerate(bucket.videos)}
        held = [(copy, rows[video]) for copy, video in enumerate(copies.tolist()) if video in rows]
        if not held:
            continue
        values = np.concatenate([bucket.scores.values[places] for _, places in held])
        owners = np.repeat(np.arange(len(held)), [len(places) for _, places in held])
        kept = np.array([copy for copy, _ in held])
        buckets.append(replace(bucket, scores=PairedScores(values, owners), videos=kept))
    return replace(board, buckets=tuple(buckets), videos=len(copies))


def _centred(values: np.ndarray) -> np.ndarray:
    return np.asarray((values - values.mean(axis=0)) / values.std(axis=0))
