"""What was asked for, by names only: which random effect is the model, the video and the finest unit, and what follows.

Roles go by name, never by position. The model is the column that names models in every verb, the video the one called
`patient` or `video` (patients go before the videos that lie within them); any other column is given such a name with
the option columns. Where no video is named, the coarsest random effect that holds whole units stands in. The finest
unit is the random effect with the most levels, unless it is named.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, get_args

import polars as pl

from surgvalid.errors import Misuse, UnknownName
from surgvalid.schema.tables.column_words import MODELS, named_by
from surgvalid.schema.tables.table_reading import note_readings
from surgvalid.schema.tables.units import unit_of
from surgvalid.stats.mixed.model.design import factor_of
from surgvalid.stats.mixed.model.design_checks import check_columns
from surgvalid.stats.mixed.model.formula import FamilyName, ModelFormula, Slope
from surgvalid.stats.mixed.model.structure import Factor, is_nested

VIDEO_NAMES = ("patient", "video")


class EffectRoles(NamedTuple):
    """Columns (or combinations of them) by the part they play; empty where none does."""

    model: str = ""
    video: str = ""
    unit: str = ""
    named: bool = True
    """Whether the video is one by name, not the coarsest of the groups."""


def roles_of(
    frame: pl.DataFrame, groups: tuple[str, ...], *, unit: str | None = None, where: str = "table"
) -> EffectRoles:
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
    models = named_by(groups, MODELS)
    if len(models) > 1:
        raise Misuse(f"both {' and '.join(map(repr, models))} could be the models; rename one with the option columns")
    model = models[0] if models else ""
    rest = [factor_of(frame.drop_nulls(name.split(":")), name) for name in groups if model not in name.split(":")]
    if not rest:
        return EffectRoles(model, "", unit or "")
    finest = unit or max(rest, key=lambda factor: factor.levels).name
    if named := [name for name in VIDEO_NAMES if name in groups]:
        return EffectRoles(model, named[0], finest)
    return EffectRoles(model, _coarsest(frame, rest, finest), finest, named=False)


class NamedGroups(NamedTuple):
    """What holds rows together in a table for which nobody named it."""

    frame: pl.DataFrame
    """With the unit beside the rest, as `patient` or `video`."""
    random: tuple[str, ...]
    is_known: bool
    """Whether anything says which rows are independent, and some are."""


def groups_named_so(frame: pl.DataFrame, stated: str | None = None) -> NamedGroups:
    """The random effects of a table for which none were named: models, patients, videos and cases of several rows.

    Rows of one patient are never taken as independent because nobody said that they depend on each other. The unit is
    that of every verb (`unit_of`), whatever its column is called, also where only names of cases say it.

    Args:
        frame: The rows.
        stated: What is independent, where somebody says it: `video`, `case`, or `prefix:N`.
    """
    model = next(iter(named_by(frame.columns, MODELS)), None)
    decided = unit_of("table", frame.select(~pl.selectors.float()), stated=stated, model=model)
    note_readings(decided.spoken)
    rest = [name for name in (*VIDEO_NAMES, "case") if name in frame.columns]
    unit = decided.unit
    if stated == "case" and decided.finer:
        unit = replace(unit, column=decided.finer[0])
    if unit.column:
        held = frame[unit.column] if decided.groups is None else decided.groups
        called = "patient" if unit.word == "patient" or "video" in frame.columns else "video"
        called = unit.column if decided.groups is None and unit.column in VIDEO_NAMES else called
        frame = frame.with_columns(held.alias(called))
        within = [name for name in dict.fromkeys((*rest, *decided.finer)) if name != called]
        for name in within:
            pairs = frame.select(name, called).unique().height
            if pairs > max(frame[name].n_unique(), held.n_unique()):  # numbered within each
                frame = frame.with_columns(
                    pl.concat_str(pl.col(called, name).cast(pl.String), separator="/").alias(name)
                )
        rest = [called, *(name for name in within if frame[name].n_unique() > held.n_unique())]
    named = dict.fromkeys((model, *rest) if model else rest) if rest else ()
    random = tuple(name for name in named if 1 < frame[name].drop_nulls().n_unique() < frame.height)
    is_one = unit.column in frame.columns and frame[unit.column].n_unique() == 1
    return NamedGroups(frame, random, unit.is_known and not is_one)


def _coarsest(frame: pl.DataFrame, groups: list[Factor], finest: str) -> str:
    """The grouping with the fewest levels that holds the finest unit whole."""
    complete = frame.drop_nulls([variable for group in groups for variable in group.name.split(":")])
    fine = factor_of(complete, finest)
    holding = [group for group in groups if is_nested(fine, factor_of(complete, group.name))]
    return min(holding, key=lambda factor: factor.levels).name


def absent_rows(frame: pl.DataFrame, groups: tuple[str, ...], roles: EffectRoles) -> str | None:
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


def repeated_rows(frame: pl.DataFrame, roles: EffectRoles) -> list[str]:
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


Spec = Literal["default", "ross"]
ModelRole = Literal["random", "fixed", "removed", "aggregated"]
ROLES: tuple[ModelRole, ...] = get_args(ModelRole)
NO_OUTCOME = "give an outcome (--outcome COLUMN), or successes and trials (--outcome SUCCESSES/TRIALS)"


@dataclass(frozen=True)
class FailureRequest:
    """What was asked for, with names only."""

    outcome: str
    trials: str | None
    fixed: tuple[str, ...]
    random: tuple[str, ...]
    spec: Spec
    role: ModelRole
    family: FamilyName
    offset: str | None = None
    slopes: tuple[Slope, ...] = ()
    also: tuple[str, ...] = ()
    """Columns to keep beside those of the model: clusters, and what is left out level by level."""

    roles: EffectRoles = field(default_factory=EffectRoles)
    models_like_these: bool = False
    """Whether effects are to hold for other models like these."""

    @property
    def model_column(self) -> str:
        """The random effect that tells models apart; empty where none is named so."""
        return self.roles.model

    @property
    def interaction(self) -> str:
        """The effect that `default` adds, by name; empty where there are no model and unit to cross."""
        model, unit = self.roles.model, self.roles.unit
        return f"{model}:{unit}" if model and unit and model not in unit.split(":") else ""

    def model(self, *, extra: bool) -> ModelFormula:
        """The model, with the interaction if `extra`."""
        fixed, random = self.fixed, self.random
        if self.role != "random":
            random = tuple(name for name in random if name != self.model_column)
        if self.role == "fixed":
            fixed = (*fixed, self.model_column)
        if extra and self.interaction not in ("", *random) and self.role in ("random", "fixed"):
            random = (*random, self.interaction)
        return ModelFormula(self.outcome, self.trials, fixed, random, self.offset, None, self.family, self.slopes)
