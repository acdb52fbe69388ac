"""How much the effects depend on single patients, algorithms or images: refits without each level in turn.

With ten patients one of them can carry an effect; this shows which (Cook's idea at the level of clusters).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from surgeval.errors import Misuse, TableInvalid, UnknownName
from surgeval.stats.mixed.design import design_of, factor_of
from surgeval.stats.mixed.fit import fit
from surgeval.stats.mixed.result import MixedFit

MOST_REFITS = 500


def leave_one_out(fitted: MixedFit, column: str) -> pl.DataFrame:
    """Coefficients without each level of `column`: rows `left_out, term, estimate, shift`.

    `shift` is the change in units of the standard error with all data; above one, a single level decides.
    A coefficient that cannot be estimated without a level has no estimate there.

    Raises:
        UnknownName: The model has no such column.
        Misuse: There are too many levels to refit one by one.
    """
    frame = fitted.design.frame
    if column not in frame.columns:
        raise UnknownName("column of the model", column, frame.columns)
    groups = factor_of(frame, column)
    if groups.levels > MOST_REFITS:
        raise Misuse(f"column {column!r} has {groups.levels:,} levels; leaving out each would take as many refits")
    if groups.levels < 3:
        raise Misuse(f"column {column!r} has {groups.levels} levels; leaving one out leaves nothing to compare")
    rows: list[tuple[str, str, float | None, float | None]] = []
    for level, label in enumerate(groups.labels):
        estimates = _estimates(fitted, groups.codes != level)
        for name, whole, error in zip(fitted.names, fitted.beta, fitted.standard_errors, strict=True):
            value = estimates.get(name)
            rows.append((label, name, value, None if value is None else (value - whole) / error))
    schema = {"left_out": pl.String, "term": pl.String, "estimate": pl.Float64, "shift": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _estimates(fitted: MixedFit, keep: np.ndarray) -> dict[str, float]:
    design = fitted.design
    groups = tuple(factor.name for factor in design.factors if factor.slope is None)
    model = replace(design.model, random=groups)
    try:
        rest = design_of(design.frame.filter(pl.Series(keep)), model)
    except TableInvalid:
        return {}
    again = fit(rest, restricted=fitted.method.endswith("reml"), errors=False)
    return dict(zip(rest.names, again.beta.tolist(), strict=True))
