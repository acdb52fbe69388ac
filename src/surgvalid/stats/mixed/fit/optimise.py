"""Minimisation of a smooth deviance with an exact gradient: whitened BFGS, then Newton with the full Hessian.

The parameters are first divided by rough standard errors, so that one unit is about one standard error
in every direction and the identity is a good first inverse Hessian (Nocedal and Wright, chapter 6).
The Hessian is differenced centrally from the exact gradient with steps of 0.01 standard errors, at the
point that is reported: if the Newton polish still moves, it is computed again afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import optimize

Deviance = Callable[[np.ndarray], tuple[float, np.ndarray]]
Curvature = Callable[[np.ndarray, np.ndarray], np.ndarray]

_STEP = 0.01
_STALLED = 5
_MOST_STEPS = 120
_TOLERANCE = 1e-5
"""Length of the whitened gradient, in standard errors, at which to stop."""
_LONGEST = 8.0
"""Steps in a row that hardly move or improve before the search gives up; ill-posed data would go on for ever."""
_POLISHED = 1e-5
"""Newton step, in standard errors, below which the optimum counts as reached."""


@dataclass(frozen=True)
class Optimum:
    """Where a deviance is least, and how well that is known."""

    parameters: np.ndarray
    value: float
    gradient: np.ndarray
    covariance: np.ndarray
    """Inverse of the Hessian; NaN where it is not positive definite."""
    iterations: int
    newton_decrement: float
    """Square root of g' H^-1 g: the distance to the optimum in standard errors."""
    smallest_eigenvalue: float
    """Of the Hessian in units of rough standard errors; not positive means no proper optimum."""

    @property
    def converged(self) -> bool:
        """Whether this is a proper minimum reached to well below a standard error."""
        return bool(self.smallest_eigenvalue > 1e-7 and self.newton_decrement < 1e-3)


def minimise(
    deviance: Deviance, start: np.ndarray, scale: np.ndarray, *, noise: float = 0.0
) -> tuple[np.ndarray, float, np.ndarray, int]:
    """The minimum by BFGS in whitened coordinates: parameters, value, gradient, iterations.

    Args:
        deviance: Gives value and gradient.
        start: Where to begin.
        scale: Square root of a rough covariance of the parameters.
        noise: Rounding error of the value beyond the usual; steps that promise less than that end the search.
    """
    point, inverse, stalled = start.copy(), np.eye(len(start)), 0
    value, raw = deviance(point)
    gradient = scale.T @ raw
    for iteration in range(_MOST_STEPS):
        promise = float(np.sqrt(max(gradient @ inverse @ gradient, 0.0)))
        if promise < _TOLERANCE or promise**2 < noise or stalled >= _STALLED:
            return point, value, raw, iteration
        step = -inverse @ gradient
        step *= min(1.0, _LONGEST / max(float(np.linalg.norm(step)), 1e-300))
        step_taken = _line_search(deviance, point, value, gradient, step, scale, noise)
        if step_taken is None:
            if np.array_equal(inverse, np.eye(len(start))):
                return point, value, raw, iteration
            inverse = np.eye(len(start))
            continue
        stalled = stalled + 1 if value - step_taken[1] < 1e-4 * _TOLERANCE or step_taken[0] < 1e-3 else 0
        size, value, raw = step_taken
        point = point + scale @ (size * step)
        change = scale.T @ raw - gradient
        inverse = _updated(inverse, size * step, change)
        gradient = gradient + change
    return point, value, raw, _MOST_STEPS


def _line_search(
    deviance: Deviance,
    point: np.ndarray,
    value: float,
    gradient: np.ndarray,
    step: np.ndarray,
    scale: np.ndarray,
    noise: float,
) -> tuple[float, float, np.ndarray] | None:
    """Step size, value and gradient of an acceptable point along `step`, or None."""
    slope, size = float(gradient @ step), 1.0
    if slope >= 0:
        return None
    noise += 1e-10 + 1e-13 * abs(value)
    for _ in range(15):
        new, raw = deviance(point + scale @ (size * step))
        if np.isfinite(new):
            if new <= value + 1e-4 * size * slope + noise:
                return size, new, raw
            curvature = 2 * (new - value - size * slope) / size**2
            size = float(np.clip(-slope / curvature if curvature > 0 else size / 2, size / 10, size / 2))
        else:
            size /= 4
    return None


def _updated(inverse: np.ndarray, step: np.ndarray, change: np.ndarray) -> np.ndarray:
    """BFGS update of the inverse Hessian, skipped where the curvature is not positive."""
    curvature = float(step @ change)
    if curvature <= 1e-12 * float(np.linalg.norm(step) * np.linalg.norm(change)):
        return inverse
    left = np.eye(len(step)) - np.outer(step, change) / curvature
    return np.asarray(left @ inverse @ left.T + np.outer(step, step) / curvature)


def hessian(deviance: Deviance, point: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """The Hessian of any deviance in whitened coordinates, by central differences of the gradient, made symmetric."""
    columns = []
    for axis in scale.T:
        high, low = deviance(point + _STEP * axis)[1], deviance(point - _STEP * axis)[1]
        columns.append(scale.T @ (high - low) / (2 * _STEP))
    matrix = np.array(columns)
    return np.asarray((matrix + matrix.T) / 2)


def optimum(
    deviance: Deviance,
    start: np.ndarray,
    scale: np.ndarray,
    *,
    curvature: Curvature | None = None,
    noise: float = 0.0,
) -> Optimum:
    """The minimum with its covariance from the full Hessian there.

    Args:
        deviance: Gives value and gradient.
        start: Where to begin.
        scale: Square root of a rough covariance of the parameters.
        curvature: Gives the whitened Hessian where the deviance knows a better way than differencing all of it.
        noise: Rounding error of the value beyond the usual.
    """
    point, value, raw, iterations = minimise(deviance, start, scale, noise=noise)
    for polish in range(4):
        matrix = curvature(point, scale) if curvature else hessian(deviance, point, scale)
        curved = np.linalg.eigvalsh(matrix) if np.isfinite(matrix).all() else np.array([np.nan])
        smallest = float(curved[0] - np.finfo(float).eps * curved[-1])  # a flat direction, rounding aside, is flat
        if not smallest > 0:
            break
        step = -np.linalg.solve(matrix, scale.T @ raw)
        if float(step @ matrix @ step) < max(_POLISHED**2, noise) or polish == 3:
            break
        moved = point + scale @ step
        new, new_raw = deviance(moved)
        if not new <= value + noise + 1e-9 + 1e-12 * abs(value):
            break
        point, value, raw = moved, new, new_raw
    whitened = scale.T @ raw
    if not smallest > 0:
        bad = np.full((len(point), len(point)), np.nan)
        return Optimum(point, value, raw, bad, iterations, float(np.linalg.norm(whitened)), smallest)
    inverse = np.linalg.inv(matrix)
    decrement = float(np.sqrt(max(whitened @ inverse @ whitened, 0.0)))
    covariance = scale @ inverse @ scale.T
    return Optimum(point, value, raw, covariance, iterations, decrement, smallest)


def crossing(drop: Callable[[float], float], center: float, step: float, bound: float) -> float:
    """Where `drop`, zero at `center`, reaches `bound` in the direction of `step`; infinite if it does not in 20."""
    inner, outer = center, center + 1.2 * step
    for _ in range(20):
        if drop(outer) > bound:
            return float(optimize.brentq(lambda x: drop(x) - bound, inner, outer, xtol=1e-4 * abs(step), rtol=1e-8))
        inner, outer = outer, outer + step
    return float(np.sign(step) * np.inf)
