"""Laplace deviance of a generalised linear mixed model with random intercepts, and its exact gradient.

With spherical effects u (standard deviation one), eta = X beta + offset + Z L u, and
f(u) = -log p(y | eta) + |u|^2 / 2 at its minimum, the negative log-likelihood is f + log|H| / 2,
H = I + L Z' W Z L (Breslow and Clayton 1993; Bates et al. 2015, section 2). Writing v for the posterior
variance of eta, c = v W'(eta) and s = H^-1 L Z' c, the dependence of the mode on the parameters gives

    d/d beta    = X' (-score + (c - W Z L s) / 2)
    d/d log s_f = levels_f - trace_f(H^-1) - |u_f|^2 + u_f . s_f

so that value and gradient cost one factorisation at the mode, one pass down and one solve.
Parameters are ordered: logarithms of the standard deviations, coefficients, then the family's own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from surgvalid.stats.mixed.fit.kernels import Effects, Kernel, Spread, bent, parts_of, product_of, trace_of
from surgvalid.stats.mixed.fit.products import dot, inner, outer, pulled, times
from surgvalid.stats.mixed.model.families import NONE, Family, Terms

MODE_TOLERANCE = 1e-8
"""Squared Newton decrement below which the next mode is exact to rounding."""
HESSIAN_STEP = 0.01
"""In standard errors: errors of differencing and of the mode are both below 10^-4 there."""
LEAST_WEIGHT = 0.05
"""Of a row while the mode is sought; rows of families with parameters of their own can be convex far from it."""
_CURVED_STEP = 1e-3
_OWN_STEP = 1e-5
_COLUMNS_AT_ONCE = 6
"""Coefficients whose curvature is found at a time; more would need more memory."""


@dataclass
class Mode:
    """The most likely random effects for given parameters, and what is known there."""

    eta: np.ndarray
    predictor: np.ndarray
    """The random part of `eta`."""
    effects: Effects
    terms: Terms
    steps: int
    decrement: float


@dataclass(frozen=True)
class Evaluation:
    """The deviance at one point and everything that came up on the way."""

    value: float
    gradient: np.ndarray
    curved: np.ndarray
    """The part of the coefficients' gradient that stems from log|H|."""
    mode: Mode
    spread: Spread


@dataclass(frozen=True)
class Start:
    """Where optimisation begins, with rough standard errors to scale it by."""

    parameters: np.ndarray
    scale: np.ndarray
    """Square root (lower triangular) of a rough covariance of the parameters."""


class LaplaceDeviance:
    """Negative log-likelihood, relative to the saturated model, as a function of the parameters."""

    def __init__(
        self,
        family: Family,
        fixed: np.ndarray,
        offset: np.ndarray,
        kernel: Kernel,
        penalty: np.ndarray | None = None,
    ) -> None:
        order = kernel.layout.order
        self.family, self.kernel = family.reordered(order), kernel
        self.fixed, self.offset = np.ascontiguousarray(fixed[order]), offset[order]
        self.factors, self.coefficients = kernel.layout.factors, int(fixed.shape[1])
        self.extra = len(family.start)
        self.penalty = np.zeros(self.coefficients) if penalty is None else penalty
        """Half of it times the squared coefficient is added to the deviance."""
        self.evaluations = 0
        self.mode_tolerance = MODE_TOLERANCE
        self.engine = "numpy"
        self._best: tuple[float, np.ndarray, np.ndarray] | None = None
        self._last: Evaluation | None = None
        self._known: tuple[np.ndarray, Evaluation] | None = None
        self._kernel_at: np.ndarray | None = None

    @property
    def size(self) -> int:
        """Number of parameters."""
        return self.factors + self.coefficients + self.extra

    def split(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Standard deviations, coefficients, and the family's own parameters."""
        sd = np.exp(np.minimum(parameters[: self.factors], 50.0))
        inside = self.factors + self.coefficients
        return sd, parameters[self.factors : inside], parameters[inside:]

    def __call__(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient at `parameters`; infinite where the approximation breaks down."""
        evaluation = self.evaluate(parameters)
        return (np.inf, np.zeros(self.size)) if evaluation is None else (evaluation.value, evaluation.gradient)

    def evaluate(self, parameters: np.ndarray, guess: np.ndarray | None = None) -> Evaluation | None:
        """Value, gradient, mode and spread at `parameters`, or None where they are not finite."""
        if self._known is not None and np.array_equal(parameters, self._known[0]):
            return self._known[1]
        self.evaluations += 1
        guess = self._guess(parameters) if guess is None else guess
        self._kernel_at = None
        sd, beta, nuisance = self.split(parameters)
        try:
            mode = self.mode(parameters, guess)
            self.kernel.factorise(mode.terms.weight, sd)
        except linalg.LinAlgError:
            return None
        norm = trace_of(self.kernel.layout, product_of(mode.effects, mode.effects))
        value = -self.family.value(mode.eta, nuisance) + 0.5 * norm.sum() + 0.5 * self.kernel.log_determinant
        value += 0.5 * dot(self.penalty, beta**2)
        if not np.isfinite(value):
            return None
        if self._best is None or value < self._best[0]:
            self._best = (float(value), parameters.copy(), mode.predictor)
        spread = self.kernel.spread()
        gradient, curved = self._gradient(mode, spread, norm, beta, nuisance)
        evaluation = Evaluation(float(value), gradient, curved, mode, spread)
        self._kernel_at, self._last = parameters.copy(), evaluation
        if value <= self._best[0]:
            self._known = (self._kernel_at, evaluation)
        return evaluation

    def _gradient(
        self, mode: Mode, spread: Spread, norm: np.ndarray, beta: np.ndarray, nuisance: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        layout = self.kernel.layout
        change = spread.predictor * self.family.slope(mode.eta, nuisance)
        moved, pull = self.kernel.solve(change)
        inner = trace_of(layout, product_of(mode.effects, pull))
        by_sd = layout.sizes - spread.trace - norm + inner
        curved = 0.5 * pulled(self.fixed, change - mode.terms.weight * moved)
        by_beta = curved - pulled(self.fixed, mode.terms.score) + self.penalty * beta
        by_nuisance = nuisance_gradient(self.family, mode.eta, nuisance, spread.predictor, moved)
        return np.concatenate([by_sd, by_beta, by_nuisance]), curved

    def hessian(self, point: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """The Hessian in whitened coordinates (`scale` must not mix coefficients with the rest).

        Rows of variances are central differences of the gradient. The block of the coefficients is the
        exact derivative of their score, which a factorisation yields, plus one-sided differences of the
        small part that stems from log|H|, taken along the tangent of the mode so that no mode is sought.
        """
        step, inside = HESSIAN_STEP, slice(self.factors, self.factors + self.coefficients)
        center = self.evaluate(point)
        if center is None:
            return np.full((self.size, self.size), np.nan)
        self._at(point, center)
        tangents = self._tangents(center, point)
        block = self.curvature(point, scale[inside, inside], center)
        self._kernel_at = None
        matrix = np.zeros((self.size, self.size))
        others = [k for k in range(self.size) if not inside.start <= k < inside.stop]
        for k in others:
            axis = step * scale[:, k]
            shift = sum(size * tangent for size, tangent in zip(axis, tangents, strict=False))
            high, low = (self._gradient_at(point + s * axis, center.mode.predictor + s * shift) for s in (1, -1))
            matrix[k] = scale.T @ (high - low) / (2 * step)
        matrix[inside, inside] = block
        matrix[inside, others] = matrix[np.ix_(others, range(inside.start, inside.stop))].T
        return np.asarray((matrix + matrix.T) / 2)

    def curvature(self, point: np.ndarray, axes: np.ndarray, center: Evaluation | None = None) -> np.ndarray:
        """The block of the coefficients in the Hessian, along `axes` (columns, in units of the coefficients)."""
        center = self.evaluate(point) if center is None else center
        if center is None:
            return np.full(axes.shape, np.nan)
        self._at(point, center)
        gram, effects = self.kernel.gram(self.kernel.collect(self.fixed))
        moved = self._moved(center, point, axes, effects)
        bent = axes.T @ (self._bent(point, moved) - center.curved[:, None]) / _CURVED_STEP
        self._kernel_at = None
        return np.asarray(axes.T @ (gram + np.diag(self.penalty)) @ axes + bent)

    def _at(self, point: np.ndarray, center: Evaluation) -> None:
        """Have the kernel factorised at a point evaluated before."""
        if self._kernel_at is None or not np.array_equal(self._kernel_at, point):
            self.kernel.factorise(center.mode.terms.weight, self.split(point)[0])
            self._kernel_at = point.copy()

    def _moved(self, center: Evaluation, point: np.ndarray, axes: np.ndarray, effects: Effects) -> np.ndarray:
        """Linear predictors a little along each of `axes` (of coefficients), random effects moving with them.

        `effects` are those that the weighted columns of the design matrix give.
        """
        sd, layout = self.split(point)[0], self.kernel.layout
        along = Effects(np.zeros((0, len(axes))), outer(effects.nodes, axes), outer(effects.border, axes))
        rest = outer(self.fixed, axes)
        rest -= self.kernel.predictor(along, sd, rows=False)
        if layout.row_factor >= 0:
            rest /= (1.0 + sd[layout.row_factor] ** 2 * center.mode.terms.weight)[:, None]
        rest *= _CURVED_STEP
        rest += center.mode.eta[:, None]
        return rest

    def _bent(self, point: np.ndarray, predictors: np.ndarray) -> np.ndarray:
        """The part of the coefficients' gradient that stems from log|H|, for each column of linear predictors."""
        sd, _, nuisance = self.split(point)
        terms = []
        for start in range(0, predictors.shape[1], _COLUMNS_AT_ONCE):
            some = np.ascontiguousarray(predictors[:, start : start + _COLUMNS_AT_ONCE].T)
            weights = np.column_stack([self.family.terms(eta, nuisance).weight for eta in some])
            slopes = np.column_stack([self.family.slope(eta, nuisance) for eta in some])
            terms.append(0.5 * inner(self.fixed, bent(self.kernel, weights, slopes, sd)))
        return np.hstack(terms)

    def _tangents(self, center: Evaluation, point: np.ndarray) -> list[np.ndarray]:
        """How the random part moves with the logarithm of each standard deviation."""
        parts = parts_of(self.kernel.layout, center.mode.effects, self.split(point)[0])
        weight = center.mode.terms.weight
        return [2 * (direction - self.kernel.solve(weight * direction)[0]) for direction in parts]

    def _gradient_at(self, parameters: np.ndarray, guess: np.ndarray) -> np.ndarray:
        """The gradient for central differences, with the mode one Newton step from `guess`, its tangent.

        What one step and one factorisation leave out is of second order and equal on both sides, so it cancels.
        """
        if self.extra:
            evaluation = self.evaluate(parameters, guess)
            return np.full(self.size, np.nan) if evaluation is None else evaluation.gradient
        self.evaluations += 1
        sd, beta, _ = self.split(parameters)
        mode = self._step(None, times(self.fixed, beta) + self.offset, guess, sd, NONE)
        norm = trace_of(self.kernel.layout, product_of(mode.effects, mode.effects))
        return self._gradient(mode, self.kernel.spread(), norm, beta, NONE)[0]

    def mode(self, parameters: np.ndarray, guess: np.ndarray | None = None) -> Mode:
        """The most likely random effects, by Newton steps (halved where long) from `guess` or from none."""
        sd, beta, nuisance = self.split(parameters)
        base = times(self.fixed, beta) + self.offset
        mode = self._step(None, base, np.zeros(len(base)) if guess is None else guess, sd, nuisance)
        while mode.decrement > self.mode_tolerance and mode.steps < 100:
            mode = self._step(mode, base, mode.predictor, sd, nuisance)
        return mode

    def _guess(self, parameters: np.ndarray) -> np.ndarray:
        """The mode continued along its tangent from the last evaluation, or the one known best."""
        if self._kernel_at is None or self._last is None:
            return np.zeros(len(self.offset)) if self._best is None else self._best[2]
        move, mode = parameters - self._kernel_at, self._last.mode
        if not np.abs(move[: self.factors]).max(initial=0.0) < 0.5:
            return mode.predictor
        growth = 2 * move[: self.factors] * self.split(self._kernel_at)[0]
        moved = self.kernel.predictor(mode.effects, growth)
        direct = times(self.fixed, move[self.factors : self.factors + self.coefficients])
        return np.asarray(mode.predictor + moved - self.kernel.solve(mode.terms.weight * (direct + moved))[0])

    def _step(self, mode: Mode | None, base: np.ndarray, at: np.ndarray, sd: np.ndarray, nuisance: np.ndarray) -> Mode:
        """One Newton step from the predictor `at`; steps that move a row far are halved until they improve."""
        terms = self.family.terms(base + at, nuisance) if mode is None else mode.terms
        weight = np.maximum(terms.weight, LEAST_WEIGHT) if self.extra else terms.weight
        self.kernel.factorise(weight, sd)
        predictor, effects = self.kernel.solve(weight * at + terms.score)
        move = predictor - at
        decrement = dot(weight, move**2)
        steps = 1 if mode is None else mode.steps + 1
        if np.max(np.abs(move), initial=0.0) > 0.5:
            predictor, effects = self._halved(mode, base, at, predictor, effects, nuisance)
        eta = base + predictor
        return Mode(eta, predictor, effects, self.family.terms(eta, nuisance), steps, decrement)

    def _halved(
        self,
        mode: Mode | None,
        base: np.ndarray,
        at: np.ndarray,
        to: np.ndarray,
        effects: Effects,
        nuisance: np.ndarray,
    ) -> tuple[np.ndarray, Effects]:
        """The farthest point towards the full step that improves on where it began.

        A first step begins at a guess without effects of its own; it is compared with no effects at all,
        from where every later step can be halved.
        """
        if mode is None:
            at, old = np.zeros_like(at), Effects(*(np.zeros_like(effect) for effect in effects))
        else:
            old = mode.effects
        before, size = self._objective(base + at, old, nuisance), 1.0
        while size > 1e-6:
            moved = Effects(*(a + size * (b - a) for a, b in zip(old, effects, strict=True)))
            shift = at + size * (to - at)
            if self._objective(base + shift, moved, nuisance) <= before + 1e-9 + 1e-13 * abs(before):
                return shift, moved
            size /= 2
        return at, old

    def _objective(self, eta: np.ndarray, effects: Effects, nuisance: np.ndarray) -> float:
        """Penalised negative log-likelihood, which the mode minimises."""
        return -self.family.value(eta, nuisance) + 0.5 * sum(dot(effect, effect) for effect in effects)

    def start(self) -> Start:
        """A start near the optimum: joint mode of effects and coefficients, variances by Schall's update.

        The update s^2 <- |s u|^2 / (levels - trace) is the fixed point of penalised quasi-likelihood
        (Schall 1991), close enough to the Laplace optimum for a handful of quasi-Newton steps.
        """
        layout, sd = self.kernel.layout, np.full(self.factors, 0.7)
        eta, predictor = self._first_guess(), np.zeros(len(self.offset))
        beta, covariance = np.zeros(self.coefficients), np.eye(self.coefficients)
        freedom, nuisance = np.ones(self.factors), self.family.start
        for _ in range(15):
            beta_new, covariance, predictor, effects = self._joint_step(eta, sd, nuisance)
            spread = self.kernel.spread(rows=layout.row_factor >= 0)
            freedom = np.maximum(layout.sizes - spread.trace, 1e-8)
            ratio = np.sqrt(trace_of(layout, product_of(effects, effects)) / freedom)
            sd_new = np.clip(sd * np.clip(ratio, 0.1, 10.0), 1e-3, 20.0)
            moved = np.max(np.abs(np.log(sd_new / sd)) * np.sqrt(freedom), initial=0.0)
            shifted = np.max(np.abs(beta_new - beta) / np.sqrt(np.maximum(np.diag(covariance), 1e-12)), initial=0.0)
            beta, sd = beta_new, sd_new
            eta = np.clip(times(self.fixed, beta) + self.offset + predictor, -30.0, 30.0)
            if moved < 0.5 and shifted < 0.5:
                break
        parameters = np.concatenate([np.log(sd), beta, nuisance])
        self._best = (np.inf, parameters, predictor)
        known = trace_of(layout, Effects(*((1 - share) ** 2 for share in spread.effects)))
        rough = np.concatenate([1 / np.sqrt(2 * np.maximum(known, 0.5)), np.ones(self.extra)])
        scale = linalg.block_diag(np.diag(rough[: self.factors]), _root(covariance), np.diag(rough[self.factors :]))
        return Start(parameters, scale)

    def guess(self, predictor: np.ndarray) -> None:
        """Take the random part of the linear predictors of the sorted rows as the first guess of the mode."""
        self._best, self._kernel_at = (np.inf, np.zeros(self.size), predictor), None

    @property
    def started(self) -> np.ndarray:
        """The linear predictors of the sorted rows where `start` ended."""
        _, parameters, predictor = self._best or (np.inf, np.zeros(self.size), np.zeros(len(self.offset)))
        return np.asarray(times(self.fixed, self.split(parameters)[1]) + self.offset + predictor)

    def _first_guess(self) -> np.ndarray:
        """Linear predictors pulled halfway from zero towards each row's own outcome."""
        terms = self.family.terms(np.zeros(len(self.offset)), self.family.start)
        return np.asarray(np.clip(0.5 * terms.score / np.maximum(terms.weight, 1e-8), -3.0, 3.0))

    def _joint_step(
        self, eta: np.ndarray, sd: np.ndarray, nuisance: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, Effects]:
        """One Newton step for coefficients and effects together."""
        terms = self.family.terms(eta, nuisance)
        weight = np.maximum(terms.weight, LEAST_WEIGHT if self.extra else 1e-10)
        self.kernel.factorise(weight, sd)
        working = eta - self.offset + terms.score / weight
        gram, _ = self.kernel.gram(self.kernel.collect(self.fixed), effects=False)
        covariance = _inverse((gram + gram.T) / 2 + np.diag(self.penalty))
        beta = covariance @ pulled(self.fixed, weight * (working - self.kernel.solve(weight * working)[0]))
        predictor, effects = self.kernel.solve(weight * (working - times(self.fixed, beta)))
        return beta, covariance, predictor, effects


def nuisance_gradient(
    family: Family, eta: np.ndarray, nuisance: np.ndarray, variance: np.ndarray, moved: np.ndarray
) -> np.ndarray:
    """The derivative of a deviance by the family's own parameters, the mode moving with them.

    Args:
        family: The outcome.
        eta: Linear predictors at the mode.
        nuisance: The parameters.
        variance: Of the linear predictors given the data.
        moved: How the linear predictors respond to `variance` times the slope of the weights.
    """
    slopes = np.zeros(len(nuisance))
    for k, step in enumerate(np.eye(len(nuisance)) * _OWN_STEP):
        high, low = (family.terms(eta, nuisance + h) for h in (step, -step))
        value = family.value(eta, nuisance - step) - family.value(eta, nuisance + step)
        value += 0.5 * (dot(variance, high.weight - low.weight) + dot(moved, high.score - low.score))
        slopes[k] = value / (2 * _OWN_STEP)
    return slopes


def _inverse(matrix: np.ndarray) -> np.ndarray:
    """The inverse of a symmetric matrix, or its pseudo-inverse where it is not positive definite."""
    try:
        root = linalg.cho_factor(matrix, check_finite=False)
    except linalg.LinAlgError:
        return np.asarray(np.linalg.pinv(matrix))
    return np.asarray(linalg.cho_solve(root, np.eye(len(matrix)), check_finite=False))


def _root(covariance: np.ndarray) -> np.ndarray:
    try:
        return np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        return np.diag(np.sqrt(np.maximum(np.diag(covariance), 1e-8)))
