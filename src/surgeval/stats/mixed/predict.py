"""Predictions of a fitted model for rows of another table.

A level of a random effect that the model has not seen gets the average effect, zero, and is counted. A category
of a property that it has not seen has no coefficient, so such rows are refused.
"""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

import numpy as np
import polars as pl

from surgeval.errors import TableInvalid
from surgeval.stats.mixed.design import INTERCEPT, Column, crossed_columns
from surgeval.stats.mixed.formula import column_of
from surgeval.stats.mixed.result import MixedFit


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


def design_rows(mixed_fit: MixedFit, table: pl.DataFrame, *, where: str = "table") -> np.ndarray:
    """The design matrix of a fit for the rows of another table, in the order of its coefficients.

    Raises:
        TableInvalid: A property has categories that the model does not know.
    """
    known: dict[str, np.ndarray] = {INTERCEPT: np.ones(table.height)}
    problems = []
    for term in mixed_fit.design.model.fixed:
        parts: list[list[Column]] = []
        for variable in term.split(":"):
            name = column_of(variable)
            fitted, new = mixed_fit.design.frame[name], table[name]
            if variable == name and (fitted.dtype.is_numeric() or fitted.dtype == pl.Boolean):
                parts.append([(name, new.cast(pl.Float64, strict=False).to_numpy())])
                continue
            levels, text = fitted.cast(pl.String).unique().sort().to_list(), new.cast(pl.String)
            strange = sorted(set(text.drop_nulls()) - set(levels))
            if strange:
                problems.append(f"property {name!r} has categories the model does not know: {', '.join(strange[:5])}")
            coded = [(f"{name}[{level}]", (text == level).cast(pl.Float64).to_numpy()) for level in levels[1:]]
            parts.append(coded or [(name, np.zeros(table.height))])
        combined: list[Column] = reduce(crossed_columns, parts)
        known |= dict(combined)
    if problems:
        raise TableInvalid(where, problems)
    return np.column_stack([known[name] for name in mixed_fit.names])


def _effects(labels: pl.Series, mean: np.ndarray, table: pl.DataFrame, name: str) -> tuple[np.ndarray, int]:
    text = pl.concat_str([pl.col(variable).cast(pl.String) for variable in name.split(":")], separator=":")
    wanted = table.select(text.alias("level"))
    effects = pl.DataFrame({"level": labels.cast(pl.String), "effect": mean})
    effect = wanted.join(effects, on="level", how="left", maintain_order="left")["effect"]
    return effect.fill_null(0.0).to_numpy(), int(effect.null_count())
