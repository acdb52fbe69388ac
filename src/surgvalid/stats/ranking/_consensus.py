"""The consensus over tasks: its value, its ranks under resampling, and the ranks that a model can have in it.

Definition. `euclidean` is the mean over tasks of ranks with average ties; `case-ranks` is the mean of the case ranks of
all tasks. The second is a mean over cases, so its rank sets come from sign flips of whole units as those of a task do.
The first is none: there every task gets sets at the level `1 - alpha / tasks`, which hold together on all tasks with at
least the level asked for (Bonferroni), a model's mean rank then lies between the weighted means of its smallest and
largest ranks, and one model is certainly ahead of another where these ranges do not meet.

The decision a reader would question: Bonferroni and ranges, which are wide. Mean ranks depend on the whole field, and
no test of two models answers for them; wide and right is better than narrow and unknown.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from surgvalid.stats.comparing.rank_sets import RankSets, rank_sets
from surgvalid.stats.ranking._options import RankOptions
from surgvalid.stats.ranking._ranks import case_ranks, consensus_ranks
from surgvalid.stats.ranking._tasks import Task, Tasks


def mean_ranks(ready: Tasks, ranks: np.ndarray, weights: np.ndarray, options: RankOptions) -> np.ndarray:
    """The mean rank of each model; smaller is better."""
    if options.consensus == "euclidean":
        return consensus_ranks(ranks, weights)
    return np.asarray(_mean_case_ranks(ready, weights, lambda task: np.ones((1, len(task.values))))[0])


def drawn_mean_ranks(
    ready: Tasks,
    drawn: np.ndarray,
    counts: Callable[[Task], np.ndarray],
    weights: np.ndarray,
    options: RankOptions,
) -> np.ndarray:
    """The same in every replicate, `[replicate, model]`.

    Args:
        ready: The tasks.
        drawn: Ranks on every task, `[task, replicate, model]`.
        counts: How often each case of a task was drawn, `[replicate, case]`.
        weights: Weights of the tasks.
        options: What was asked.
    """
    if options.consensus == "euclidean":
        return consensus_ranks(drawn, weights)
    return _mean_case_ranks(ready, weights, counts)


def consensus_sets(
    ready: Tasks,
    sets: Callable[[Task, float], RankSets | None],
    weights: np.ndarray,
    options: RankOptions,
) -> RankSets | None:
    """The ranks that each model can have in the consensus; None where a task gives no sets.

    Args:
        ready: The tasks.
        sets: The sets of one task at a level.
        weights: Weights of the tasks.
        options: What was asked.
    """
    chosen = [(task, weight) for task, weight in zip(ready.tasks, weights.tolist(), strict=True) if weight > 0]
    if options.consensus != "euclidean":
        return _case_rank_sets(chosen, options.level)
    share = np.array([weight for _, weight in chosen]) / sum(weight for _, weight in chosen)
    each = [sets(task, 1 - options.alpha / len(chosen)) for task, _ in chosen]
    known = [one for one in each if one is not None]
    if len(known) < len(each):
        return None
    least, most = (share @ np.stack(ends) for ends in zip(*((one.low, one.high) for one in known), strict=True))
    better = most[:, None] < least[None, :] - 1e-9
    return RankSets(1 + better.sum(axis=0), len(least) - better.sum(axis=1), better)


def _case_rank_sets(chosen: list[tuple[Task, float]], level: float) -> RankSets | None:
    ranks = [case_ranks(task.oriented) for task, _ in chosen]
    if not all(np.isfinite(task_ranks).all() for task_ranks in ranks):
        return None
    names = sorted({name for task, _ in chosen for name in task.unit_names})
    place = {name: number for number, name in enumerate(names)}
    total = sum(weight * len(task.values) for task, weight in chosen)
    added = np.zeros((len(names), ranks[0].shape[1]))
    for (task, weight), task_ranks in zip(chosen, ranks, strict=True):
        units = np.array([place[name] for name in task.unit_names])
        np.add.at(added, units[task.units], weight * task_ranks / total)
    return rank_sets(added, level=level, larger_is_better=False)


def _mean_case_ranks(ready: Tasks, weights: np.ndarray, counts: Callable[[Task], np.ndarray]) -> np.ndarray:
    """The mean case rank over all tasks under each row of case counts, `[row, model]`."""
    sums = []
    for task, weight in zip(ready.tasks, weights.tolist(), strict=True):
        ranks, drawn = case_ranks(task.oriented), weight * counts(task).astype(float)
        given = np.isfinite(ranks)
        sums.append((drawn @ np.where(given, ranks, 0.0), drawn @ given))
    total, number = (np.sum(parts, axis=0) for parts in zip(*sums, strict=True))
    return np.asarray(total / number)
