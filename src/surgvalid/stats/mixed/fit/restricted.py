"""Restricted likelihood of a generalised linear mixed model, for variances that few videos do not shrink.

With (beta, u) the joint minimiser of f = -log p(y | eta) + |u|^2 / 2, H = I + L Z'WZ L and G = X'WX - X'WZL H^-1 LZ'WX,

    R(theta) = f + log|H| / 2 + log|G| / 2 - p log(2 pi) / 2,    theta = log standard deviations,

which integrates the coefficients out together with the random effects (Laplace; what glmmTMB calls REML). Parameters of
the family itself (precision, cutpoints) are searched beside theta. Writing
E = H^-1 LZ'WX, R = X - Z L E (divided by 1 + s^2 w where rows have effects of their own), q_i = R_i' G^-1 R_i,
c = (posterior variance + q) W'(eta), t = G^-1 R'c and s = H^-1 LZ'c - E t, the gradient is

    dR / d log s_f = levels_f - trace_f(H^-1) - share_f(E, G^-1) - |u_f|^2 + u_f . s_f

The decision a reader would question: coefficients are not taken from the joint mode, which pulls them towards zero, but
maximise the ordinary Laplace likelihood with the variances held at their restricted estimates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg

from surgvalid.stats.mixed.fit.kernels import Effects, product_of, remainder, share_of, trace_of
from surgvalid.stats.mixed.fit.laplace import LEAST_WEIGHT, LaplaceDeviance, nuisance_gradient
from surgvalid.stats.mixed.fit.products import dot, pulled, times
from surgvalid.stats.mixed.model.families import Terms

_STEP = 0.02
"""On the log scale of a standard deviation: how far differences of gradients and covariances reach."""
_LEAST_WEIGHT = 1e-10
_MOST_STEPS = 60
_FAR = 0.5
"""Move of the logarithm of a deviation beyond which the tangent of the mode is no guide."""
_NEAR = 0.1
"""Squared Newton decrement below which a step improves for certain, short as it is."""


class CovarianceSpread(NamedTuple):
    """How the covariance of coefficients moves with the variances, and how uncertain those are."""

    covariance: np.ndarray
    slopes: np.ndarray
    """Derivative of `covariance` by every parameter of the variances."""
    deviations: np.ndarray
    """Covariance of the parameters of the variances."""

    def satterthwaite(self, contrast: np.ndarray) -> float:
        """Degrees of freedom of a contrast of coefficients: twice its squared variance over the variance of that."""
        variance = float(contrast @ self.covariance @ contrast)
        slopes = np.einsum("i,fij,j->f", contrast, self.slopes, contrast)
        spread = float(slopes @ self.deviations @ slopes)
        return 2 * variance**2 / spread if spread > 0 else float("inf")


class JointMode(NamedTuple):
    """Coefficients and random effects that are most likely together, and what is known there."""

    eta: np.ndarray
    beta: np.ndarray
    predictor: np.ndarray
    effects: Effects
    terms: Terms


class Tangent(NamedTuple):
    """What tells how the joint mode moves with the standard deviations, where the kernel is factorised."""

    sd: np.ndarray
    joint: JointMode
    rest: np.ndarray
    """R of the module's docstring."""
    inverse: np.ndarray
    """G^-1."""


class RestrictedSolution(NamedTuple):
    """The restricted deviance at one point."""

    value: float
    gradient: np.ndarray
    covariance: np.ndarray
    """G^-1, of the coefficients at the joint mode."""
    beta: np.ndarray


class RestrictedDeviance:
    """Negative restricted log-likelihood in the logarithms of the standard deviations and the family's own parameters.

    Args:
        deviance: The ordinary one of the same data; its kernel, family and penalty are used.
    """

    def __init__(self, deviance: LaplaceDeviance) -> None:
        self.plain = deviance
        self._nuisance = deviance.family.start
        self._least = LEAST_WEIGHT if deviance.extra else _LEAST_WEIGHT
        self._joint: JointMode | None = None
        self._tangent: Tangent | None = None
        self._known: tuple[np.ndarray, RestrictedSolution] | None = None

    def begin(self, eta: np.ndarray, nuisance: np.ndarray) -> None:
        """Take the linear predictors of the sorted rows, and the family's own parameters, as the first guess."""
        self._nuisance, self._tangent, self._known = nuisance, None, None
        beta = np.zeros(self.plain.coefficients)
        self._joint = JointMode(eta, beta, eta - self.plain.offset, Effects(*[np.zeros(0)] * 3), self._terms(eta))

    @property
    def predictor(self) -> np.ndarray:
        """The random part of the linear predictors at the last mode."""
        return np.zeros(len(self.plain.offset)) if self._joint is None else self._joint.predictor

    def __call__(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient; infinite where the approximation breaks down."""
        solution = self.solution(parameters)
        return (np.inf, np.zeros(len(parameters))) if solution is None else (solution.value, solution.gradient)

    def solution(self, parameters: np.ndarray) -> RestrictedSolution | None:
        """Value, gradient and the covariance of the coefficients, or None where they are not finite."""
        if self._known is not None and np.array_equal(parameters, self._known[0]):
            return self._known[1]
        plain, self._known = self.plain, None
        sd, nuisance = np.exp(np.minimum(parameters[: plain.factors], 50.0)), parameters[plain.factors :]
        if self._joint is not None and not np.array_equal(nuisance, self._nuisance):
            self._joint = self._joint._replace(terms=plain.family.terms(self._joint.eta, nuisance))
        self._nuisance = nuisance
        plain.evaluations += 1
        try:
            joint = self._mode(sd)
            plain.kernel.factorise(joint.terms.weight, sd)
            gram, fixed_effects = plain.kernel.gram(plain.kernel.collect(plain.fixed))
            root = linalg.cho_factor((gram + gram.T) / 2 + np.diag(plain.penalty), lower=True)
        except linalg.LinAlgError:
            return None
        half = float(np.log(np.diag(root[0])).sum()) - 0.5 * plain.coefficients * float(np.log(2 * np.pi))
        value = self._objective(joint.eta, joint.beta, joint.effects) + 0.5 * plain.kernel.log_determinant + half
        if not np.isfinite(value):
            return None
        self._joint = joint
        inverse = linalg.cho_solve(root, np.eye(plain.coefficients))
        rest, share = remainder(plain.kernel, plain.fixed, fixed_effects, sd, inverse)
        self._tangent = Tangent(sd, joint, rest, inverse)
        gradient = self._gradient(self._tangent, share, fixed_effects, joint.terms.weight)
        self._known = parameters.copy(), RestrictedSolution(value, gradient, inverse, joint.beta)
        return self._known[1]

    def _gradient(self, at: Tangent, share: np.ndarray, columns: Effects, weight: np.ndarray) -> np.ndarray:
        """The gradient where the kernel is factorised for `weight`; `share` is r' G^-1 r of every row of R."""
        plain, layout = self.plain, self.plain.kernel.layout
        sd, joint, rest, inverse = at
        spread = plain.kernel.spread()
        change = (spread.predictor + share) * plain.family.slope(joint.eta, self._nuisance)
        move = inverse @ pulled(rest, change)
        _, pull = plain.kernel.solve(change)
        pull = Effects(pull.rows, pull.nodes - columns.nodes @ move, pull.border - columns.border @ move)
        shares = share_of(layout, columns, inverse)
        if layout.row_factor >= 0:
            row_sd = float(sd[layout.row_factor])
            pull = pull._replace(rows=pull.rows - row_sd * weight * times(rest, move))
            shares[layout.row_factor] = dot((row_sd * weight) ** 2, share)
        norm, met = (trace_of(layout, product_of(joint.effects, other)) for other in (joint.effects, pull))
        by_sd = np.asarray(layout.sizes - spread.trace - shares - norm + met)
        if not plain.extra:
            return by_sd
        moved = times(plain.fixed, move) + plain.kernel.predictor(pull, sd)
        return np.append(
            by_sd, nuisance_gradient(plain.family, joint.eta, self._nuisance, spread.predictor + share, moved)
        )

    def _mode(self, sd: np.ndarray) -> JointMode:
        """The joint minimiser, by Newton steps that are halved where they would make things worse."""
        if self._joint is None:
            self.begin(self.plain.offset + 0.0, self._nuisance)
        at: JointMode = self._joint._replace(effects=Effects(*[np.zeros(0)] * 3))  # type: ignore[union-attr]
        with np.errstate(divide="ignore", invalid="ignore"):  # a deviation may have sunk to exactly zero
            move = np.zeros(0) if self._tangent is None else np.log(sd / self._tangent.sd)
        if self._tangent is not None and np.abs(move).max(initial=0.0) < _FAR:
            eta = at.eta + self._along(self._tangent, move)
            at = at._replace(eta=eta, terms=self._terms(eta))
        self._tangent = None
        for step in range(_MOST_STEPS):
            new, decrement = self._newton(at, sd)
            if (step and decrement > _NEAR) or np.max(np.abs(new.eta - at.eta), initial=0.0) > 0.5:
                new = self._halved(at, new)
            at = new
            if decrement < self.plain.mode_tolerance:
                break
        return at

    def _along(self, at: Tangent, move: np.ndarray) -> np.ndarray:
        """How the linear predictors follow when the logarithms of the deviations move, to first order."""
        kernel, weight = self.plain.kernel, at.joint.terms.weight
        moved = kernel.predictor(at.joint.effects, 2 * move * at.sd)
        pull = at.inverse @ pulled(at.rest, weight * moved)
        return np.asarray(moved - kernel.solve(weight * moved)[0] - times(at.rest, pull))

    def _newton(self, at: JointMode, sd: np.ndarray) -> tuple[JointMode, float]:
        weight = np.maximum(at.terms.weight, self._least)
        self.plain.kernel.factorise(weight, sd)
        gram, _ = self.plain.kernel.gram(self.plain.kernel.collect(self.plain.fixed), effects=False)
        return self._stepped(at, weight, (gram + gram.T) / 2 + np.diag(self.plain.penalty))

    def _stepped(self, at: JointMode, weight: np.ndarray, normal: np.ndarray) -> tuple[JointMode, float]:
        """The full Newton step where the kernel is factorised, and its squared decrement."""
        plain = self.plain
        working = at.eta - plain.offset + at.terms.score / weight
        alone = plain.kernel.solve(weight * working)[0]
        root = linalg.cho_factor(normal, lower=True, check_finite=False)
        beta = linalg.cho_solve(root, pulled(plain.fixed, weight * (working - alone)), check_finite=False)
        fitted = times(plain.fixed, beta)
        predictor, effects = plain.kernel.solve(weight * (working - fitted))
        eta = fitted + plain.offset + predictor
        decrement = dot(weight, (eta - at.eta) ** 2)
        return JointMode(eta, beta, predictor, effects, self._terms(eta)), decrement

    def _halved(self, at: JointMode, to: JointMode) -> JointMode:
        """The farthest point on the way to a Newton step that is no worse than its beginning.

        A first step begins at a predictor without effects for these deviations; it is compared with no effects at all.
        """
        if not len(at.effects.nodes):
            at = at._replace(
                effects=Effects(*(np.zeros_like(effect) for effect in to.effects)),
                eta=times(self.plain.fixed, at.beta) + self.plain.offset,
                predictor=np.zeros(len(at.eta)),
            )
        before, size = self._objective(at.eta, at.beta, at.effects), 1.0
        while size > 1e-6:
            eta = at.eta + size * (to.eta - at.eta)
            beta = at.beta + size * (to.beta - at.beta)
            effects = Effects(*(a + size * (b - a) for a, b in zip(at.effects, to.effects, strict=True)))
            if self._objective(eta, beta, effects) <= before + 1e-9 + 1e-13 * abs(before):
                predictor = at.predictor + size * (to.predictor - at.predictor)
                return to if size == 1.0 else JointMode(eta, beta, predictor, effects, self._terms(eta))
            size /= 2
        return at

    def _terms(self, eta: np.ndarray) -> Terms:
        return self.plain.family.terms(eta, self._nuisance)

    def _objective(self, eta: np.ndarray, beta: np.ndarray, effects: Effects) -> float:
        penalty = 0.5 * dot(self.plain.penalty, beta**2)
        return (
            -self.plain.family.value(eta, self._nuisance)
            + penalty
            + 0.5 * sum(dot(effect, effect) for effect in effects)
        )

    def _beside(self, at: np.ndarray, center: JointMode, shift: np.ndarray) -> RestrictedSolution | None:
        """The solution one Newton step from a guess beside the mode, gradient and covariance where that step began.

        What one step and one factorisation leave out is of second order and equal on both sides, so differences
        do not have it. Parameters of the family have no tangent here, so that with them the mode is sought.
        """
        plain = self.plain
        if plain.extra:
            self.begin(center.eta + shift, self._nuisance)
            return self.solution(at)
        plain.evaluations += 1
        sd, eta = np.exp(at), center.eta + shift
        guess = center._replace(eta=eta, terms=self._terms(eta))
        weight = np.maximum(guess.terms.weight, self._least)
        try:
            plain.kernel.factorise(weight, sd)
            gram, columns = plain.kernel.gram(plain.kernel.collect(plain.fixed))
            normal = (gram + gram.T) / 2 + np.diag(plain.penalty)
            joint, _ = self._stepped(guess, weight, normal)
        except linalg.LinAlgError:
            return None
        inverse = linalg.cho_solve(linalg.cho_factor(normal, lower=True), np.eye(plain.coefficients))
        rest, share = remainder(plain.kernel, plain.fixed, columns, sd, inverse)
        gradient = self._gradient(Tangent(sd, joint, rest, inverse), share, columns, weight)
        return RestrictedSolution(np.nan, gradient, inverse, joint.beta)

    def spread(self, at: np.ndarray, center: RestrictedSolution) -> CovarianceSpread | None:
        """How the covariance of the coefficients moves with the variances; None where there is no proper optimum.

        To be asked for right after the solution at this point, while the kernel is factorised there.
        """
        curvature, slopes, tangent, axes = [], [], self._tangent, np.eye(len(at)) * _STEP
        self._known = None
        if tangent is None:
            return None
        shifts = [self._along(tangent, axis[: self.plain.factors]) for axis in axes]
        for axis, shift in zip(axes, shifts, strict=True):
            high, low = (self._beside(at + s * axis, tangent.joint, s * shift) for s in (1, -1))
            if high is None or low is None:
                return None
            curvature.append((high.gradient - low.gradient) / (2 * _STEP))
            slopes.append((high.covariance - low.covariance) / (2 * _STEP))
        matrix = np.array(curvature).reshape(len(at), len(at))
        matrix = (matrix + matrix.T) / 2
        if len(matrix) and not np.linalg.eigvalsh(matrix)[0] > 0:
            return None
        p = self.plain.coefficients
        deviations = np.linalg.inv(matrix) if len(matrix) else matrix
        return CovarianceSpread(center.covariance, np.array(slopes).reshape(-1, p, p), deviations)


def penalty_scale(column: np.ndarray) -> float:
    """What a coefficient is multiplied with before it is penalised: one for a 0/1 column, else twice the deviation.

    Example:
        >>> penalty_scale(np.array([0.0, 1.0, 1.0])), round(penalty_scale(np.array([-1.0, 1.0, 3.0])), 3)
        (1.0, 3.266)
    """
    if np.isin(column, (0.0, 1.0)).all():
        return 1.0
    return 2 * float(column.std())
