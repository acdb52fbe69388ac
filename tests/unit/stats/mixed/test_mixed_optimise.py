"""Minimisation with an exact gradient, on functions whose minimum is known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surgvalid.stats.mixed.fit.optimise import hessian, minimise, optimum


class Quadratic:
    """x' A x / 2 - b' x, positive definite unless told otherwise."""

    def __init__(self, seed: int, size: int = 4) -> None:
        rng = np.random.default_rng(seed)
        root = rng.normal(size=(size, size))
        self.matrix = root @ root.T + 0.5 * np.eye(size)
        self.target = rng.normal(size=size)

    def __call__(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        gradient = self.matrix @ point - self.target
        return float(point @ self.matrix @ point / 2 - self.target @ point), gradient


def valley(point: np.ndarray) -> tuple[float, np.ndarray]:
    """Rosenbrock's curved valley with its minimum at (1, 1)."""
    x, y = point
    gradient = np.array([-2 * (1 - x) - 400 * x * (y - x**2), 200 * (y - x**2)])
    return float((1 - x) ** 2 + 100 * (y - x**2) ** 2), gradient


@settings(max_examples=30)
@given(st.integers(0, 1000))
def test_the_minimum_of_a_quadratic_and_its_covariance_are_found(seed: int) -> None:
    function = Quadratic(seed)
    found = optimum(function, np.zeros(4), np.eye(4))
    off = found.parameters - np.linalg.solve(function.matrix, function.target)
    assert np.sqrt(off @ function.matrix @ off) < 2e-5  # in standard errors
    np.testing.assert_allclose(found.covariance, np.linalg.inv(function.matrix), rtol=1e-5, atol=1e-8)
    assert found.converged


@settings(max_examples=20)
@given(st.integers(0, 1000), st.floats(0.01, 100))
def test_the_scale_given_changes_the_way_not_the_result(seed: int, unit: float) -> None:
    function = Quadratic(seed)
    rough = np.diag(np.full(4, unit))
    found = optimum(function, np.ones(4), rough)
    np.testing.assert_allclose(found.parameters, np.linalg.solve(function.matrix, function.target), atol=1e-4)
    np.testing.assert_allclose(found.covariance, np.linalg.inv(function.matrix), rtol=1e-4, atol=1e-7)


def test_a_curved_valley_is_followed_to_its_end() -> None:
    point, value, _, iterations = minimise(valley, np.array([-1.2, 1.0]), np.eye(2))
    np.testing.assert_allclose(point, [1, 1], atol=1e-4)
    assert value < 1e-8
    assert iterations < 100


def test_points_where_the_function_has_no_value_are_stepped_back_from() -> None:
    def logarithm(point: np.ndarray) -> tuple[float, np.ndarray]:
        if point[0] <= 0:
            return np.inf, np.zeros(1)
        return float(point[0] - np.log(point[0])), 1 - 1 / point

    point, _, _, _ = minimise(logarithm, np.array([0.05]), np.array([[10.0]]))
    assert point[0] == pytest.approx(1.0, abs=1e-4)


def test_a_function_that_falls_for_ever_does_not_converge() -> None:
    """As the deviance does in log sd where a variance is zero: flat, with the minimum at minus infinity."""

    def falling(point: np.ndarray) -> tuple[float, np.ndarray]:
        value = np.exp(np.minimum(point, 50.0))
        return float(value.sum()), value

    found = optimum(falling, np.zeros(1), np.eye(1))
    assert found.parameters[0] < -5
    assert found.value < 1e-2


def test_a_saddle_has_no_covariance() -> None:
    def saddle(point: np.ndarray) -> tuple[float, np.ndarray]:
        return float(point[0] ** 2 - point[1] ** 2), np.array([2 * point[0], -2 * point[1]])

    found = optimum(saddle, np.zeros(2), np.eye(2))
    assert not found.converged
    assert found.smallest_eigenvalue < 0
    assert np.isnan(found.covariance).all()


def test_the_differenced_hessian_is_that_of_the_function_in_units_of_the_scale() -> None:
    function, scale = Quadratic(3), np.diag([1.0, 2.0, 0.5, 1.0])
    np.testing.assert_allclose(hessian(function, np.zeros(4), scale), scale @ function.matrix @ scale, atol=1e-8)
