"""Errors of points in time: absolute error and share within a tolerance, several points matched.

Definition: reference points and predicted points of one case are matched one to one so that the total
absolute error is least; every point left over on either side counts as missing. The error of the case
is the mean over max(references, predictions) points, and the share within t seconds likewise.
Source: event matching by optimal assignment (Kuhn 1955) on the time line, where an order-preserving
matching is always among the best ones; the tolerances generalise the FOCUS rule of 1 to 5 s.

The decisions: one matching serves all tolerances. Where several are best, the order-preserving one
that takes the earliest points is used, so a result depends on the times alone. An error never exceeds
`worst_s`, which is also what a missing point costs: no answer is never better than an answer.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from surgeval.errors import Misuse

Floats = npt.NDArray[np.float64]


LEAST_WORST_S = 30.0
"""A missing point never costs less than the widest tolerance, however short the window."""


def worst_error_s(reference: Sequence[float], *, window_s: tuple[float, float]) -> float:
    """What a missing point costs: the way from a reference to the farthest end of the window.

    Example:
        >>> worst_error_s([100, 250], window_s=(0, 300)), worst_error_s([7], window_s=(7, 7))
        (250.0, 30.0)
    """
    start, end = window_s
    return float(max([LEAST_WORST_S, *(max(abs(t - start), abs(end - t)) for t in reference)]))


def matched_errors_s(reference: npt.ArrayLike, prediction: npt.ArrayLike, *, worst_s: float) -> Floats:
    """The errors of matched points, then `worst_s` for each point left over on either side.

    Example:
        >>> matched_errors_s([10, 60], [61, 12, 300], worst_s=400).tolist()
        [2.0, 1.0, 400.0]
    """
    first, second = np.sort(np.asarray(reference, float)), np.sort(np.asarray(prediction, float))
    if first.ndim != 1 or second.ndim != 1 or not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise Misuse("points in time must be two lists of finite seconds")
    short, long = (first, second) if len(first) <= len(second) else (second, first)
    chosen = long if len(short) == len(long) else long[_matches(short, long)]
    errors = np.full(len(long), float(worst_s))
    errors[: len(short)] = np.minimum(np.abs(short - chosen), worst_s)
    return errors


def share_within(errors_s: npt.ArrayLike, *, tolerance_s: float, worst_s: float = np.inf) -> float:
    """The share of errors of at most `tolerance_s`; an error of `worst_s` or more is never within.

    Example:
        >>> share_within([0.5, 2.0, 30.0], tolerance_s=30, worst_s=30)
        0.6666666666666666
    """
    errors = np.asarray(errors_s, dtype=np.float64)
    return float(((errors <= tolerance_s) & (errors < worst_s)).mean())


def _matches(short: Floats, long: Floats) -> npt.NDArray[np.int_]:
    """For each point of `short`, its partner in `long`, in order and with the least total error.

    `least[j]` is the least total error of the points so far, matched within the first j of `long`.
    """
    count, places = len(long), np.arange(len(long))
    least = np.zeros(count + 1)
    partner = np.empty((len(short), count), dtype=np.intp)
    for index, point in enumerate(short):
        reach = least[:-1] + np.abs(long - point)
        least = np.concatenate(([np.inf], np.minimum.accumulate(reach)))
        improves = reach < least[:-1]
        partner[index] = np.maximum.accumulate(np.where(improves, places, 0))
    matches, end = np.empty(len(short), dtype=np.intp), count
    for index in range(len(short) - 1, -1, -1):
        matches[index] = end = partner[index, end - 1]
    return matches
