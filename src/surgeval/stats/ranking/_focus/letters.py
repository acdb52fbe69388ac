"""Compact letters: two models share a letter exactly when they are not significantly different.

The honest display of a relation that is no ranking. Source: Piepho (2004). The sets of models behind
the letters are found greedily, which is fast for any number of models and keeps the defining property;
it may use another set of letters than an exhaustive search would.
"""

from __future__ import annotations

import string

import numpy as np

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
