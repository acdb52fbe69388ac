"""Predictions and slopes of a fitted model, as oracles of its coefficients, groups and marginal means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from surgvalid.errors import TableInvalid
from surgvalid.stats.mixed.fit.result import MixedFit, design_rows
from surgvalid.stats.mixed.inference.grid import Means, around_the_mean, emm
from surgvalid.stats.mixed.model.formula import column_of


class Prediction(NamedTuple):
    """Predicted values, and what was new in the table."""

    value: np.ndarray
    """Probability, rate or score per row; NaN where a property is missing."""
    unseen: dict[str, int]
    """Rows per random effect whose level the model has not seen."""


def predict(fitted: MixedFit, table: pl.DataFrame, *, random: bool = True, where: str = "table") -> Prediction:
    """The expected outcome of every row of `table`.

    Args:
        fitted: The fitted model.
        table: Rows with the model's properties, and its groups if `random`.
        random: Whether known levels bring their predicted effects.
        where: What to call the table in error messages.

    Raises:
        TableInvalid: Columns are missing, or properties have categories the model does not know.
    """
    named = [name for group in fitted.groups for name in (group.slope or (group.name,))]
    groups = {variable for name in named for variable in name.split(":")} if random else set()
    needed = [*dict.fromkeys(column_of(variable) for term in fitted.design.model.fixed for variable in term.split(":"))]
    absent = [name for name in (*needed, *sorted(groups)) if name not in table.columns]
    if absent:
        raise TableInvalid(where, [f"column {name!r} does not exist" for name in absent])
    columns = design_rows(fitted, table, where=where)
    eta = columns @ fitted.beta
    unseen: dict[str, int] = {}
    for group in fitted.groups if random else ():
        effect, new = _effects(group.labels, group.mean, table, group.slope.group if group.slope else group.name)
        eta = eta + (effect * table[group.slope.column].cast(pl.Float64).to_numpy() if group.slope else effect)
        if new:
            unseen[group.name] = new
    return Prediction(fitted.expected(eta), unseen)


def _effects(labels: pl.Series, mean: np.ndarray, table: pl.DataFrame, name: str) -> tuple[np.ndarray, int]:
    text = pl.concat_str([pl.col(variable).cast(pl.String) for variable in name.split(":")], separator=":")
    wanted = table.select(text.alias("level"))
    effects = pl.DataFrame({"level": labels.cast(pl.String), "effect": mean})
    effect = wanted.join(effects, on="level", how="left", maintain_order="left")["effect"]
    return effect.fill_null(0.0).to_numpy(), int(effect.null_count())


def slopes_over(fitted: MixedFit, column: str, over: str) -> Means:
    """The slope of a numeric column at each level of another."""
    high, low = (emm(fitted, over, at={column: [value]}) for value in reversed(around_the_mean(fitted, column)))
    return Means(high.values, high.linear - low.linear, fitted)


def means_table(means: Means, over: Sequence[str], *, is_slope: bool = False) -> pl.DataFrame:
    """The values of columns, and `mean, std_error` on the scale of the linear predictor; a slope has no offset."""
    error = np.sqrt(np.einsum("ij,jk,ik->i", means.linear, means.fit.covariance, means.linear))
    mean = means.linear @ means.fit.beta + (0.0 if is_slope else float(np.mean(means.fit.design.offset)))
    columns = {name: [row[place] for row in means.values] for place, name in enumerate(over)}
    return pl.DataFrame({**columns, "mean": mean, "std_error": error}, strict=False)
