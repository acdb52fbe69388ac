"""The model confidence set: models that the data cannot tell from the best by macro accuracy.

Definition. Starting with all models, test whether all have the same macro accuracy with the largest
studentised gap below the set's mean; while that is rejected, the worst model leaves. A model's p-value
is the largest one met up to its leaving. The set at level 1 - alpha holds the models with p > alpha.
Source: Hansen, Lunde and Nason (2011), statistic T_max, here with whole videos as the bootstrap unit.
"""

from __future__ import annotations

import numpy as np


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
