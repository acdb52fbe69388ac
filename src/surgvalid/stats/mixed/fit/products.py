"""Products of tall matrices, summed over blocks of rows.

A BLAS spreads a large product over threads, and those go on spinning for a while after it: at a few thousand rows
and twenty columns that costs more CPU time than the whole fit, and the order of summation depends on the machine.
Blocks small enough to stay on one thread are faster here and give the same digits for any number of threads.
"""

from __future__ import annotations

import numpy as np

_BLOCK = 200_000
"""Multiplications per block; OpenBLAS uses threads from about 260,000."""


_TALL = 200_000
"""Entries per block of a product with a vector, where threads begin later."""


def dot(left: np.ndarray, right: np.ndarray) -> float:
    """The sum of products of two vectors.

    Example:
        >>> dot(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
        11.0
    """
    return float(np.einsum("i,i->", left, right))


def times(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """The product of a tall matrix with a vector of coefficients.

    Example:
        >>> times(np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([3.0, 4.0])).tolist()
        [11.0, 4.0]
    """
    result = np.empty(len(matrix))
    block = max(64, _TALL // max(matrix.shape[1], 1))
    for start in range(0, len(matrix), block):
        np.matmul(matrix[start : start + block], vector, out=result[start : start + block])
    return result


def pulled(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """The transpose of a tall matrix times a vector of as many entries as it has rows.

    Example:
        >>> pulled(np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([3.0, 4.0])).tolist()
        [3.0, 10.0]
    """
    result = np.zeros(matrix.shape[1])
    block = max(64, _TALL // max(matrix.shape[1], 1))
    for start in range(0, len(matrix), block):
        result += matrix[start : start + block].T @ vector[start : start + block]
    return result


def outer(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The product left right of a tall matrix with a small one.

    Example:
        >>> outer(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]])).tolist()
        [[11.0]]
    """
    result = np.empty((len(left), right.shape[1]))
    block = max(64, _BLOCK // max(right.size, 1))
    for start in range(0, len(left), block):
        np.matmul(left[start : start + block], right, out=result[start : start + block])
    return result


def inner(left: np.ndarray, right: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """The product left' diag(weight) right of two matrices with equally many rows.

    Example:
        >>> inner(np.array([[1.0, 0.0], [1.0, 2.0]]), np.array([[3.0], [4.0]]), np.array([1.0, 10.0])).tolist()
        [[43.0], [80.0]]
    """
    total = np.zeros((left.shape[1], right.shape[1]))
    block = max(64, _BLOCK // max(total.size, 1))
    for start in range(0, len(left), block):
        rows = slice(start, start + block)
        total += left[rows].T @ (right[rows] if weight is None else weight[rows, None] * right[rows])
    return total
