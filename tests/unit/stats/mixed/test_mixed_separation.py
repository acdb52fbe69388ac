import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from surgvalid.stats.mixed.failures import failures
from surgvalid.stats.mixed.fit.separation import separating_terms
from surgvalid.stats.mixed.model.design import design_of
from surgvalid.stats.mixed.model.formula import ModelFormula


def design(frame: pl.DataFrame, fixed: tuple[str, ...]):
    return design_of(frame, ModelFormula("y", None, fixed, ("g",), None, None, "binomial"), where="table")


def table(cells: dict[tuple[int, int], tuple[int, int]]) -> pl.DataFrame:
    """Rows of two properties: by cell, successes and failures."""
    rows = [
        (a, b, y) for (a, b), counts in cells.items() for y, n in zip((1, 0), counts, strict=True) for _ in range(n)
    ]
    frame = pl.DataFrame(rows, schema=["a", "b", "y"], orient="row")
    return frame.with_columns(g=(pl.int_range(pl.len()) % 6).cast(pl.String))


def test_properties_that_separate_only_together_are_named() -> None:
    # Each property alone is mixed on both sides; a + b > 0 tells right from wrong.
    mixed = {(0, 0): (0, 12), (1, 0): (9, 0), (0, 1): (9, 0), (-1, 1): (5, 5), (1, -1): (5, 5)}
    assert separating_terms(design(table(mixed), ("a", "b"))) == ["a", "b"]


def test_overlapping_outcomes_are_not_separated() -> None:
    overlap = {(0, 0): (3, 9), (1, 0): (9, 1), (0, 1): (9, 2), (1, 1): (9, 0)}
    assert separating_terms(design(table(overlap), ("a", "b"))) == []


def test_the_analysis_warns_of_it() -> None:
    mixed = {(0, 0): (0, 12), (1, 0): (9, 0), (0, 1): (9, 0), (-1, 1): (5, 5), (1, -1): (5, 5)}
    found = failures(table(mixed), outcome="y", fixed=["a", "b"], random=["g"])
    assert any("a, b separate the outcome" in warning for warning in found.warnings)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_a_separated_outcome_is_found_and_its_mirror_image_ends_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(60, 2))
    side = points @ rng.normal(size=2) > 0
    if side.all() or not side.any() or min(side.sum(), (~side).sum()) < 4:
        return
    frame = pl.DataFrame({"a": points[:, 0], "b": points[:, 1], "y": side.astype(int)})
    frame = frame.with_columns(g=(pl.int_range(pl.len()) % 5).cast(pl.String))
    assert set(separating_terms(design(frame, ("a", "b")))) == {"a", "b"}
    flipped = frame.with_columns(y=1 - pl.col("y"))
    assert separating_terms(design(pl.concat([frame, flipped]), ("a", "b"))) == []
