"""Agreement of two sets: Jaccard index, set F1 and exact equality, one number per case.

Definitions, with R the reference set and P the predicted one:
    Jaccard = |R and P| / |R or P|        set F1 = 2 |R and P| / (|R| + |P|)        exact = 1 if R = P
Sources: Jaccard (1912); Dice (1945); recommended for multi-label answers by Metrics Reloaded
(Maier-Hein et al., Nature Methods 21, 2024) and named as "set-based metrics" by the FOCUS design.

The one decision: two empty sets agree perfectly (1), an empty and a non-empty one not at all (0).
Whether "none" is the empty set or a member of its own makes no difference to any of the three.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from surgeval.errors import Misuse


def memberships(sets: Iterable[Iterable[str]], *, names: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Which of `names` each set holds: `member[set, name]`.

    Raises:
        Misuse: A set holds something that is not among the names.

    Example:
        >>> memberships([{"Clip"}, set()], names=["Clip", "Mesh"]).tolist()
        [[True, False], [False, False]]
    """
    listed = [tuple(members) for members in sets]
    column = {name: index for index, name in enumerate(names)}
    if strangers := sorted({m for members in listed for m in members if m not in column}):
        raise Misuse(f"{', '.join(map(repr, strangers[:5]))} not among the {len(column)} names given")
    member = np.zeros((len(listed), len(column)), dtype=bool)
    rows = [row for row, members in enumerate(listed) for _ in members]
    member[rows, [column[m] for members in listed for m in members]] = True
    return member


def jaccard(reference: npt.ArrayLike, prediction: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """The Jaccard index of each row of two membership arrays.

    Example:
        >>> jaccard([[1, 1, 0], [0, 0, 0]], [[1, 0, 1], [0, 0, 0]]).round(3).tolist()
        [0.333, 1.0]
    """
    left, right = _members(reference, prediction)
    return _share((left & right).sum(axis=1), (left | right).sum(axis=1))


def set_f1(reference: npt.ArrayLike, prediction: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """The set F1 (Dice coefficient) of each row of two membership arrays.

    Example:
        >>> set_f1([[1, 1, 0], [1, 0, 0]], [[1, 0, 1], [0, 0, 0]]).tolist()
        [0.5, 0.0]
    """
    left, right = _members(reference, prediction)
    return _share(2 * (left & right).sum(axis=1), left.sum(axis=1) + right.sum(axis=1))


def exact(reference: npt.ArrayLike, prediction: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """1 where both rows hold the same members, 0 elsewhere.

    Example:
        >>> exact([[1, 0], [1, 1]], [[1, 0], [1, 0]]).tolist()
        [1.0, 0.0]
    """
    left, right = _members(reference, prediction)
    return np.asarray((left == right).all(axis=1), dtype=np.float64)


def _members(
    reference: npt.ArrayLike, prediction: npt.ArrayLike
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    left, right = np.asarray(reference, dtype=bool), np.asarray(prediction, dtype=bool)
    if left.shape != right.shape or left.ndim != 2:
        raise Misuse(f"expected two arrays of cases by members, got shapes {left.shape} and {right.shape}")
    return left, right


def _share(numerator: npt.NDArray[np.int_], whole: npt.NDArray[np.int_]) -> npt.NDArray[np.float64]:
    return np.divide(numerator, whole, out=np.ones(len(numerator)), where=whole > 0)
