"""From a table and a model to arrays: design matrix, outcome, grouping factors, and what had to be left out.

Everything that cannot be estimated is found here, before any fitting, and stays on record: rows without a
value or without trials, properties that never vary, repeat others or separate the outcome perfectly
(marked `x`, not assessable, as in Ross et al. 2023, Table 2), and random effects that have one level, equal another
one, or are the residual by another name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Literal

import numpy as np
import polars as pl

from surgvalid.errors import Misuse, TableInvalid
from surgvalid.stats.mixed.fit.products import inner
from surgvalid.stats.mixed.model.design_checks import check_columns, column_problems, is_numeric, outcome_problems
from surgvalid.stats.mixed.model.formula import ModelFormula, Slope, column_of
from surgvalid.stats.mixed.model.structure import Factor, is_nested

INTERCEPT = "(Intercept)"
FEWEST_ROWS = 3
"""Rows that must have a property before a penalised fit says anything about it."""
Separation = Literal["drop", "keep"]
Column = tuple[str, np.ndarray]
"""A column of the design matrix with the name of its coefficient."""


@dataclass(frozen=True)
class Design:
    """A model over a table as arrays, in the order of the rows kept."""

    model: ModelFormula
    names: tuple[str, ...]
    """Coefficients, the intercept first."""
    fixed: np.ndarray
    response: np.ndarray
    """Successes, counts or the continuous outcome."""
    trials: np.ndarray
    weights: np.ndarray
    offset: np.ndarray
    factors: tuple[Factor, ...]
    frame: pl.DataFrame
    """The rows kept, with the columns of the model."""
    not_assessable: Mapping[str, str] = field(default_factory=dict)
    """Coefficient to the reason why it was left out."""
    dropped_factors: Mapping[str, str] = field(default_factory=dict)
    excluded: Mapping[str, int] = field(default_factory=dict)
    """Reason to the number of rows left out."""
    kept: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Row of the table for every row kept."""
    terms: Mapping[str, str] = field(default_factory=dict)
    """Coefficient to the fixed term it belongs to, those not assessable included."""

    @property
    def rows(self) -> int:
        """How many rows are kept."""
        return len(self.response)


def design_of(
    table: pl.DataFrame,
    model: ModelFormula,
    *,
    where: str = "table",
    also: Iterable[str] = (),
    separation: Separation = "drop",
) -> Design:
    """The arrays of `model` over `table`.

    Rows with a missing value in a column of the model, and rows with zero trials, are left out and counted.

    Args:
        table: The rows.
        model: What to make of them.
        where: What to call the table in error messages.
        also: Columns to keep beside those of the model, such as clusters; rows without them are left out too.
        separation: `drop` leaves out properties that separate the outcome; `keep` leaves them in, for a penalised fit.

    Raises:
        TableInvalid: With every problem: unknown columns, outcomes that are no numbers, successes above
            trials, a property without two values left in any column, too few rows.
    """
    columns_used = list(dict.fromkeys((*model.columns, *also)))
    check_columns(table, columns_used, where)
    frame = table.select(columns_used)
    problems = column_problems(frame, model, columns_used)
    if problems:
        raise TableInvalid(where, problems)
    frame, kept, excluded = _complete_rows(frame, model)
    if frame.is_empty():
        reasons = "; ".join(f"{reason} in {count} rows" for reason, count in excluded.items())
        raise TableInvalid(where, [f"no row is left that has everything the model needs ({reasons})"])
    response, trials = _outcome(frame, model)
    if problems := outcome_problems(response, trials, model):
        raise TableInvalid(where, problems)
    named, columns, terms = _columns(frame, model)
    fixed, names, dropped = _estimable(named, columns, response, trials, model, separation)
    factors, gone = _factors(frame, model, trials)
    if frame.height <= len(names):
        raise TableInvalid(where, [f"{frame.height} rows cannot determine {len(names)} coefficients"])
    ones = pl.Series(np.ones(frame.height))
    offset = frame[model.offset].cast(pl.Float64) if model.offset else ones * 0
    weights = frame[model.weights].cast(pl.Float64) if model.weights else ones
    return Design(
        model,
        names,
        fixed,
        response,
        trials,
        weights.to_numpy(),
        offset.to_numpy(),
        factors,
        frame,
        dropped,
        gone,
        excluded,
        kept,
        terms,
    )


def _complete_rows(frame: pl.DataFrame, model: ModelFormula) -> tuple[pl.DataFrame, np.ndarray, dict[str, int]]:
    """Rows that have everything, their places, and how many were left out for which reason."""
    excluded: dict[str, int] = {}
    frame = frame.with_columns(pl.col(pl.Float32, pl.Float64).fill_nan(None))
    keep = np.ones(frame.height, dtype=bool)

    def leave_out(rows: pl.Series, reason: str) -> None:
        bad = rows.to_numpy() & keep
        if bad.any():
            excluded[reason] = int(bad.sum())
            keep[bad] = False

    empty = frame.null_count().row(0, named=True)
    for name, kind in frame.schema.items():
        if empty[name]:
            leave_out(frame[name].is_null(), f"no value in {name}")
        if kind == pl.String:
            leave_out((frame[name] == "").fill_null(False), f"no value in {name}")
    for divisor in (model.trials, model.weights):
        if divisor is not None:
            leave_out((frame[divisor].cast(pl.Float64) == 0).fill_null(False), f"{divisor} is 0")
    return (frame if keep.all() else frame.filter(pl.Series(keep))), np.flatnonzero(keep), excluded


def _outcome(frame: pl.DataFrame, model: ModelFormula) -> tuple[np.ndarray, np.ndarray]:
    response = frame[model.outcome].cast(pl.Float64).to_numpy()
    trials = frame[model.trials].cast(pl.Float64).to_numpy() if model.trials else np.ones(len(response))
    return response, trials


def _columns(frame: pl.DataFrame, model: ModelFormula) -> tuple[list[str], list[np.ndarray], dict[str, str]]:
    """Named columns of the design matrix, intercept first, categories against their first level, and their terms."""
    names, columns, terms = [INTERCEPT], [np.ones(frame.height)], dict[str, str]()
    for term in model.fixed:
        parts = [_coded(frame[column_of(variable)], category=variable.startswith("C(")) for variable in term.split(":")]
        for combined in reduce(crossed_columns, parts):
            names.append(combined[0])
            columns.append(combined[1])
            terms[combined[0]] = term
    return names, columns, terms


def _coded(series: pl.Series, *, category: bool) -> list[Column]:
    if not category and is_numeric(series.dtype):
        return [(series.name, series.cast(pl.Float64).to_numpy())]
    text = series.cast(pl.String)
    levels = text.unique().sort().to_list()
    if len(levels) > 200:
        raise Misuse(
            f"property {series.name!r} has {len(levels):,} different texts; as a fixed effect it would need as many "
            "coefficients. Make it a random effect, or group its values"
        )
    coded = [(f"{series.name}[{level}]", (text == level).cast(pl.Float64).to_numpy()) for level in levels[1:]]
    return coded or [(series.name, np.zeros(len(text)))]


def crossed_columns(
    left: list[tuple[str, np.ndarray]], right: list[tuple[str, np.ndarray]]
) -> list[tuple[str, np.ndarray]]:
    """Products of the columns of two terms, named `a:b`."""
    return [(f"{a}:{b}", x * y) for a, x in left for b, y in right]


def _estimable(
    names: list[str],
    columns: list[np.ndarray],
    response: np.ndarray,
    trials: np.ndarray,
    model: ModelFormula,
    separation: Separation,
) -> tuple[np.ndarray, tuple[str, ...], dict[str, str]]:
    """The columns whose coefficients exist, and for the others why they do not."""
    dropped: dict[str, str] = {}
    rows = np.array(columns)
    low, high = rows.min(axis=1), rows.max(axis=1)
    dropped |= {names[j]: f"is {low[j]:g} in every row" for j in range(1, len(names)) if low[j] == high[j]}
    if model.family == "binomial":
        separating = _separating(names, rows, response, trials, set(dropped))
        dropped |= separating if separation == "drop" else _too_rare(names, rows, set(dropped))
    keep = [j for j, name in enumerate(names) if name not in dropped]
    independent, reasons = _independent(rows[keep], [names[j] for j in keep])
    dropped |= reasons
    chosen = [keep[j] for j in independent]
    ordered = {name: dropped[name] for name in names if name in dropped}
    return np.ascontiguousarray(rows[chosen].T), tuple(names[j] for j in chosen), ordered


def _separating(
    names: list[str], columns: np.ndarray, response: np.ndarray, trials: np.ndarray, known: set[str]
) -> dict[str, str]:
    """0/1 columns that predict the outcome perfectly on one side, and which side."""
    rows, hits, draws = columns.sum(axis=1), columns @ response, columns @ trials
    sides = (
        (1, rows, hits, draws),
        (0, len(response) - rows, response.sum() - hits, trials.sum() - draws),
    )
    reasons: dict[str, str] = {}
    for value, count, successes, total in sides:
        for j in np.flatnonzero((successes <= 0) | (successes >= total)):
            name = names[j]
            if j == 0 or name in known or name in reasons or not np.isin(columns[j], (0.0, 1.0)).all():
                continue
            what = "failures" if successes[j] <= 0 else "successes"
            reasons[name] = f"separates the outcome: all {count[j]:.0f} rows with value {value} are {what}"
    return reasons


def _too_rare(names: list[str], columns: np.ndarray, known: set[str]) -> dict[str, str]:
    """0/1 columns that too few rows have for any statement about them."""
    few = {
        names[j]: int(column.sum())
        for j, column in enumerate(columns)
        if j and column.sum() < FEWEST_ROWS and np.isin(column, (0.0, 1.0)).all()
    }
    return {name: f"occurs in {count} rows" for name, count in few.items() if name not in known}


def _independent(columns: np.ndarray, names: list[str]) -> tuple[list[int], dict[str, str]]:
    """Columns that no earlier ones determine, by eliminating the scaled Gram matrix."""
    gram = inner(columns.T, columns.T)
    norm = np.sqrt(np.diag(gram))
    gram = gram / np.outer(norm, norm)
    kept: list[int] = []
    reasons: dict[str, str] = {}
    for j in range(len(names)):
        if kept:
            share = np.linalg.solve(gram[np.ix_(kept, kept)], gram[kept, j])
            left = 1 - float(gram[kept, j] @ share)
            if left < 1e-9:
                used = [names[k] for k, value in zip(kept, share, strict=True) if abs(value) > 1e-6]
                reasons[names[j]] = f"is determined by {', '.join(used)}"
                continue
        kept.append(j)
    return kept, reasons


def _factors(frame: pl.DataFrame, model: ModelFormula, trials: np.ndarray) -> tuple[tuple[Factor, ...], dict[str, str]]:
    """Grouping factors that can carry a variance, and why the others cannot."""
    gone: dict[str, str] = {}
    kept: list[Factor] = []
    slopes = [_slope_of(frame, slope) for slope in model.slopes]
    single = model.family == "binomial" and bool(np.all(trials == 1))
    residual = single or model.family in ("gaussian", "ordered-beta")
    categories = _categories(frame, model)
    for name in model.random:
        factor = factor_of(frame, name)
        if factor.levels < 2:
            gone[name] = "has one level"
        elif name in categories:
            gone[name] = "is a fixed effect already, which explains all that its levels differ in"
        elif residual and factor.levels == frame.height:
            gone[name] = "has one row per level, which is the residual"
        else:
            kept.append(factor)
    for i, factor in enumerate(kept):
        for twin in kept[i + 1 :]:
            if twin.levels == factor.levels and factor.name not in gone and is_nested(factor, twin):
                one, other = (twin, factor) if twin.name.count(":") > factor.name.count(":") else (factor, twin)
                gone[one.name] = f"groups the rows exactly as {other.name} does (aliased)"
    for slope in slopes:
        if slope.levels < 2:
            gone[slope.name] = "has one level"
    return tuple(factor for factor in (*kept, *slopes) if factor.name not in gone), gone


def _slope_of(frame: pl.DataFrame, slope: Slope) -> Factor:
    """The grouping of a random slope with the values of its column."""
    group = factor_of(frame, slope.group)
    return Factor(str(slope), group.codes, group.labels, frame[slope.column].cast(pl.Float64).to_numpy(), slope)


def _categories(frame: pl.DataFrame, model: ModelFormula) -> set[str]:
    """Columns that enter as fixed effects with one coefficient per level."""
    return {
        column_of(term)
        for term in model.fixed
        if term.startswith("C(") or not (":" in term or is_numeric(frame.schema[term]))
    }


def factor_of(frame: pl.DataFrame, name: str) -> Factor:
    """The grouping by one column, or by the combinations of several (`a:b`)."""
    parts = []
    for column in name.split(":"):
        text = frame[column].cast(pl.String)
        levels = text.unique().sort()
        parts.append((text.cast(pl.Enum(levels)).to_physical().to_numpy().astype(np.int64), levels))
    codes, labels = parts[0]
    for more_codes, more_labels in parts[1:]:
        keys, codes = np.unique(codes * len(more_labels) + more_codes, return_inverse=True)
        labels = labels[keys // len(more_labels)] + pl.Series([":"]) + more_labels[keys % len(more_labels)]
    return Factor(name, codes, labels)
