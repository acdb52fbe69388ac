"""Which random effect is the model, which the video, and which the finest unit: by name, never by position.

The model is the column called `model` or `algorithm`, the video the one called `video` or `patient` (the one with fewer
levels where both are there); any other column is given such a name with the option columns. Where no video is named,
the coarsest random effect that holds whole units stands in. The finest unit is the random effect with the most levels,
unless it is named.
"""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from surgeval.errors import Misuse, UnknownName
from surgeval.stats.mixed.design import factor_of
from surgeval.stats.mixed.design_checks import check_columns
from surgeval.stats.mixed.structure import Factor, is_nested

MODEL_NAMES = ("model", "algorithm")
VIDEO_NAMES = ("video", "patient")


class Roles(NamedTuple):
    """Columns (or combinations of them) by the part they play; empty where none does."""

    model: str = ""
    video: str = ""
    unit: str = ""
    named: bool = True
    """Whether the video is one by name, not the coarsest of the groups."""


def roles_of(frame: pl.DataFrame, groups: tuple[str, ...], *, unit: str | None = None, where: str = "table") -> Roles:
    """The roles of random effects.

    Args:
        frame: The table.
        groups: Names of the random effects.
        unit: The finest unit, where it is to be another than that with the most levels.
        where: What to call the table in error messages.

    Raises:
        UnknownName: `unit` is no random effect.
        TableInvalid: A column does not exist.
        Misuse: Two random effects have a name for models.
    """
    check_columns(frame, [variable for name in groups for variable in name.split(":")], where)
    if unit is not None and unit not in groups:
        raise UnknownName("random effect", unit, groups)
    models = [name for name in groups if name in MODEL_NAMES]
    if len(models) > 1:
        raise Misuse(f"both {' and '.join(map(repr, models))} could be the models; rename one with the option columns")
    model = models[0] if models else ""
    rest = [factor_of(frame.drop_nulls(name.split(":")), name) for name in groups if model not in name.split(":")]
    if not rest:
        return Roles(model, "", unit or "")
    finest = unit or max(rest, key=lambda factor: factor.levels).name
    named = [factor for factor in rest if factor.name in VIDEO_NAMES]
    if named:
        return Roles(model, min(named, key=lambda factor: factor.levels).name, finest)
    return Roles(model, _coarsest(frame, rest, finest), finest, named=False)


def _coarsest(frame: pl.DataFrame, groups: list[Factor], finest: str) -> str:
    """The grouping with the fewest levels that holds the finest unit whole."""
    complete = frame.drop_nulls([variable for group in groups for variable in group.name.split(":")])
    fine = factor_of(complete, finest)
    holding = [group for group in groups if is_nested(fine, factor_of(complete, group.name))]
    return min(holding, key=lambda factor: factor.levels).name


def absent_rows(frame: pl.DataFrame, groups: tuple[str, ...], roles: Roles) -> str | None:
    """What is said where models have no row of units that other models have; None where all have all."""
    keys = list(dict.fromkeys(variable for name in groups for variable in name.split(":") if variable != roles.model))
    if not roles.model or not keys:
        return None
    present = frame.select(pl.col(roles.model).cast(pl.String), *keys).drop_nulls().unique()
    units = present.select(keys).n_unique()
    lacking = present.group_by(roles.model).agg(units - pl.len()).sort(roles.model)
    counts = [f"{model}: {number}" for model, number in lacking.iter_rows() if number]
    if not counts:
        return None
    return (
        f"rows are not there ({', '.join(counts)}, of {units} that other models have) and were left out; effects rest "
        "on what each model has rows of"
    )


def repeated_rows(frame: pl.DataFrame, roles: Roles) -> list[str]:
    """The problem of a table whose rows are there twice; none where equal rows can be different cases.

    Rows are copies where all their columns are equal and each model has one row per finest unit once copies are gone.
    """
    keys = [variable for name in (roles.model, roles.unit) if name for variable in name.split(":")]
    if not roles.unit or frame.select(pl.struct(pl.all()).is_duplicated().any()).item() is False:
        return []
    once = frame.unique(maintain_order=True)
    if once.select(keys).is_duplicated().any():
        return []
    first = frame.with_row_index("row", offset=1).filter(pl.struct(frame.columns).is_duplicated())
    shown = ", ".join(f"{key}={first[key][0]}" for key in keys)
    rows = first.filter(pl.all_horizontal(pl.col(key).eq_missing(first[key][0]) for key in keys))["row"].to_list()
    return [
        f"{frame.height - once.height} rows repeat others in every column (first: rows "
        f"{' and '.join(map(str, rows[:2]))}, {shown}); remove the copies, or add a column that tells them apart"
    ]
