"""Both kernels against the dense matrices they avoid."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from how_many import many
from mixed_data import factor
from surgvalid.stats.mixed.fit.kernels import Effects, Kernel, bent, parts_of, remainder, trace_of
from surgvalid.stats.mixed.model.structure import EliminationLayout, Factor, layout_of

KERNELS: list[type] = [Kernel]
try:
    from surgvalid.stats.mixed.fit.kernels_numba import NumbaKernel

    KERNELS.append(NumbaKernel)
except ModuleNotFoundError:
    pass


def flat(layout: EliminationLayout, effects: Effects) -> np.ndarray:
    return np.concatenate([effects.nodes[layout.node_factor >= 0], effects.border, effects.rows])


def dense_indicator(layout: EliminationLayout, sd: np.ndarray) -> np.ndarray:
    """Z L with columns in the order of `flat`, for sorted rows."""
    columns = []
    node_column = np.zeros((layout.rows, layout.nodes))
    node = layout.leaf
    for _ in layout.spans:
        node_column[np.arange(layout.rows), node] = 1
        node = np.where(layout.node_parent[node] >= 0, layout.node_parent[node], node)
    keep = layout.node_factor >= 0
    columns.append((node_column * np.append(sd, 0)[layout.node_factor])[:, keep])
    columns.append(layout.indicator.toarray() * sd[layout.column_factor])
    if layout.row_factor >= 0:
        columns.append(np.eye(layout.rows) * sd[layout.row_factor])
    return np.hstack(columns)


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[Factor], int, np.random.Generator]:
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    rows = draw(st.integers(6, 30))
    fine = np.sort(rng.integers(0, draw(st.integers(2, 8)), rows))
    shapes = {"fine": fine, "coarse": fine // 2, "across": rng.integers(0, 3, rows), "other": rng.integers(0, 4, rows)}
    shapes["slope"] = fine // 2
    names = draw(st.lists(st.sampled_from([*shapes, "row"]), unique=True, min_size=0, max_size=6))
    chosen = [factor(n, np.arange(rows) if n == "row" else shapes[n]) for n in names]
    order = rng.permutation(rows)
    values = {"slope": rng.normal(size=rows)}
    return [Factor(f.name, f.codes[order], f.labels, values.get(f.name)) for f in chosen], rows, rng


@pytest.mark.parametrize("kind", KERNELS)
@settings(max_examples=many(60))
@given(problem=problems())
def test_elimination_equals_dense_algebra(kind: type, problem: tuple[list[Factor], int, np.random.Generator]) -> None:
    factors, rows, rng = problem
    layout = layout_of(factors, rows)
    kernel: Kernel = kind(layout)
    sd = rng.uniform(0, 1.5, len(factors)) * (rng.random(len(factors)) > 0.15)
    weight, target, matrix = rng.uniform(0.1, 3, rows), rng.normal(size=rows), rng.normal(size=(rows, 3))
    scaled = dense_indicator(layout, sd)
    full = np.eye(scaled.shape[1]) + scaled.T @ (weight[:, None] * scaled)
    inverse = np.linalg.inv(full)

    kernel.factorise(weight, sd)
    assert kernel.log_determinant == pytest.approx(np.linalg.slogdet(full)[1], abs=1e-9)

    predictor, effects = kernel.solve(target)
    np.testing.assert_allclose(flat(layout, effects), inverse @ scaled.T @ target, atol=1e-10)
    np.testing.assert_allclose(predictor, scaled @ inverse @ scaled.T @ target, atol=1e-10)

    np.testing.assert_allclose(kernel.predictor(effects, sd), predictor, atol=1e-10)
    np.testing.assert_allclose(sum(parts_of(layout, effects, sd), np.zeros(rows)), predictor, atol=1e-10)

    spread = kernel.spread()
    np.testing.assert_allclose(flat(layout, spread.effects), np.diag(inverse), atol=1e-10)
    np.testing.assert_allclose(spread.predictor, np.diag(scaled @ inverse @ scaled.T), atol=1e-10)
    np.testing.assert_allclose(spread.trace, trace_of(layout, spread.effects))

    gram, _ = kernel.gram(kernel.collect(matrix), effects=False)
    middle = np.diag(weight) - weight[:, None] * (scaled @ inverse @ scaled.T) * weight
    np.testing.assert_allclose(gram, matrix.T @ middle @ matrix, atol=1e-9)


@pytest.mark.parametrize("kind", KERNELS)
@settings(max_examples=40)
@given(problem=problems(), many=st.integers(1, 8))
def test_bending_equals_dense_algebra_for_every_set_of_weights(
    kind: type, problem: tuple[list[Factor], int, np.random.Generator], many: int
) -> None:
    factors, rows, rng = problem
    layout = layout_of(factors, rows)
    sd, weights, slopes = (
        rng.uniform(0, 1.5, len(factors)),
        rng.uniform(0.1, 3, (rows, many)),
        rng.normal(size=(rows, many)),
    )
    moved = bent(kind(layout), weights, slopes, sd)
    scaled = dense_indicator(layout, sd)
    for k in range(many):
        full = np.eye(scaled.shape[1]) + scaled.T @ (weights[:, [k]] * scaled)
        covariance = scaled @ np.linalg.inv(full) @ scaled.T
        change = np.diag(covariance) * slopes[:, k]
        np.testing.assert_allclose(moved[:, k], change - weights[:, k] * (covariance @ change), atol=1e-9)


@pytest.mark.parametrize("kind", KERNELS)
def test_a_border_too_wide_for_the_loops_gives_the_same_as_dense_algebra(kind: type) -> None:
    rng = np.random.default_rng(0)
    rows, sd = 400, np.array([0.8, 1.1])
    factors = [factor("wide", rng.integers(0, 90, rows)), factor("wider", rng.integers(0, 120, rows))]
    layout = layout_of(factors, rows)
    assert layout.width > 64
    kernel: Kernel = kind(layout)
    weight, target = rng.uniform(0.1, 3, rows), rng.normal(size=rows)
    scaled = dense_indicator(layout, sd)
    full = np.eye(scaled.shape[1]) + scaled.T @ (weight[:, None] * scaled)
    kernel.factorise(weight, sd)
    assert kernel.log_determinant == pytest.approx(np.linalg.slogdet(full)[1], abs=1e-8)
    np.testing.assert_allclose(kernel.solve(target)[0], scaled @ np.linalg.solve(full, scaled.T @ target), atol=1e-9)
    slopes = rng.normal(size=(rows, 2))
    moved = bent(kernel, np.column_stack([weight, weight]), slopes, sd)
    covariance = scaled @ np.linalg.inv(full) @ scaled.T
    change = np.diag(covariance)[:, None] * slopes
    np.testing.assert_allclose(moved, change - weight[:, None] * (covariance @ change), atol=1e-9)


@pytest.mark.parametrize("kind", KERNELS)
def test_weights_that_leave_the_matrix_indefinite_are_refused(kind: type) -> None:
    layout = layout_of([factor("g", [0, 0, 1, 1])], 4)
    with pytest.raises(np.linalg.LinAlgError):
        kind(layout).factorise(np.array([-5.0, 1.0, 1.0, 1.0]), np.array([2.0]))


@pytest.mark.skipif(len(KERNELS) < 2, reason="numba is not installed")
@given(problem=problems())
@settings(max_examples=30)
def test_the_compiled_twin_equals_numpy(problem: tuple[list[Factor], int, np.random.Generator]) -> None:
    factors, rows, rng = problem
    layout = layout_of(factors, rows)
    sd, weight = rng.uniform(0, 2, len(factors)), rng.uniform(0, 100, rows)
    twins = [kind(layout) for kind in KERNELS]
    target, matrix = rng.normal(size=rows), rng.normal(size=(rows, 2))
    results = []
    for kernel in twins:
        kernel.factorise(weight, sd)
        results.append([kernel.log_determinant, *kernel.solve(target)[1], *kernel.spread().effects,
                        kernel.spread(rows=False).trace[:0], *kernel.gram(kernel.collect(matrix))[1]])  # fmt: skip
    for left, right in zip(*results, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-10, atol=1e-12)


@pytest.mark.skipif(len(KERNELS) < 2, reason="numba is not installed")
@given(problem=problems(), repeats=st.integers(2, 4))
@settings(max_examples=40)
def test_both_twins_leave_the_same_over_of_columns_that_do_not_change_inside_leaves(
    problem: tuple[list[Factor], int, np.random.Generator], repeats: int
) -> None:
    factors, rows, rng = problem
    several = [
        factor("row", np.arange(rows * repeats))
        if f.name == "row"
        else Factor(
            f.name, np.repeat(f.codes, repeats), f.labels, None if f.values is None else np.repeat(f.values, repeats)
        )
        for f in factors
    ]
    layout = layout_of(several, rows * repeats)
    sd, weight = rng.uniform(0.1, 2, len(factors)), rng.uniform(0, 100, rows * repeats)
    matrix = rng.normal(size=(layout.spans[0][1], 3))[layout.leaf]
    middle = np.cov(rng.normal(size=(3, 9)))
    results = []
    for kind in KERNELS:
        kernel = kind(layout)
        kernel.factorise(weight, sd)
        gram, effects = kernel.gram(kernel.collect(matrix))
        results.append([gram, effects.nodes, effects.border, *remainder(kernel, matrix, effects, sd, middle)])
    for left, right in zip(*results, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-8, atol=1e-9)
