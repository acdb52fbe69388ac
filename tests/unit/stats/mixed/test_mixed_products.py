"""Products in blocks equal the plain ones."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from surgvalid.stats.mixed.fit import products
from surgvalid.stats.mixed.fit.products import dot, inner, outer, pulled, times


@given(rows=st.integers(0, 300), seed=st.integers(0, 99))
def test_blocks_add_up_to_the_plain_product(rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    left, right, weight = rng.normal(size=(rows, 4)), rng.normal(size=(rows, 3)), rng.uniform(size=rows)
    small = rng.normal(size=(4, 3))
    np.testing.assert_allclose(inner(left, right), left.T @ right, atol=1e-12)
    np.testing.assert_allclose(inner(left, right, weight), left.T @ (weight[:, None] * right), atol=1e-12)
    np.testing.assert_allclose(outer(left, small), left @ small, atol=1e-12)
    np.testing.assert_allclose(times(left, small[:, 0]), left @ small[:, 0], atol=1e-12)
    np.testing.assert_allclose(pulled(left, weight), left.T @ weight, atol=1e-12)
    np.testing.assert_allclose(dot(weight, weight), weight @ weight, atol=1e-12)


def test_a_tall_matrix_takes_several_blocks() -> None:
    rows = 3 * products._BLOCK // 100
    left = np.random.default_rng(0).normal(size=(rows, 10))
    np.testing.assert_allclose(inner(left, left), left.T @ left, rtol=1e-10)
    tall = np.tile(left, (9, 1))
    np.testing.assert_allclose(times(tall, left[0]), tall @ left[0], atol=1e-10)
    np.testing.assert_allclose(pulled(tall, tall[:, 0]), tall.T @ tall[:, 0], rtol=1e-10)
    np.testing.assert_allclose(outer(left, left[:10]), left @ left[:10], rtol=1e-10, atol=1e-12)
