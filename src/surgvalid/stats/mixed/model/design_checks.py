"""Whether a table can be fitted at all: every problem of its columns and outcomes, before anything is computed."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl

from surgvalid.errors import TableInvalid, nearest
from surgvalid.stats.mixed.model.formula import ModelFormula, column_of

LARGEST_WEIGHT = 1e15
"""Beyond, sums over rows lose the rows of ordinary weight to rounding."""


def check_columns(table: pl.DataFrame, names: Iterable[str], where: str) -> None:
    """Refuse a table without rows, or without one of these columns."""
    if problems := absent_columns(table, names):
        raise TableInvalid(where, problems)
    if table.is_empty():
        raise TableInvalid(where, ["the table has no rows"])


def absent_columns(table: pl.DataFrame, names: Iterable[str]) -> list[str]:
    """What is said about every column that is not there."""
    return [
        f"column {name!r} does not exist; {_hint(name, table.columns)}" for name in names if name not in table.columns
    ]


def _hint(name: str, known: list[str]) -> str:
    near = nearest(name, known)
    return f"did you mean {near!r}?" if near else f"the table has {', '.join(map(repr, known))}"


def _double_roles(model: ModelFormula) -> list[str]:
    """Columns that are the outcome and would explain it as well."""
    fixed = {column_of(variable) for term in model.fixed for variable in term.split(":")}
    groups = (*model.random, *(column for slope in model.slopes for column in slope))
    random = {variable for term in groups for variable in term.split(":")}
    outcome = [name for name in (model.outcome, model.trials) if name is not None]
    return [
        f"column {name!r} is both outcome and {what}"
        for what, used in (("fixed effect", fixed), ("random effect", random))
        for name in outcome
        if name in used
    ]


def column_problems(frame: pl.DataFrame, model: ModelFormula, used: Iterable[str]) -> list[str]:
    """What keeps the columns of a table from playing the parts a model gives them.

    Args:
        frame: The columns used.
        model: The parts.
        used: Names of the columns, those beside the model included.
    """
    problems = _double_roles(model)
    numbers = (model.outcome, model.trials, model.offset, model.weights, *(slope.column for slope in model.slopes))
    for name in dict.fromkeys(name for name in numbers if name is not None):
        kind = frame.schema[name]
        if not is_numeric(kind):
            problems.append(
                f"column {name!r} must hold numbers, got {kind} (first: {frame[name].drop_nulls()[:1].to_list()})"
            )
        elif kind.is_float() and frame[name].is_infinite().any():
            problems.append(f"column {name!r} has infinite entries (first: row {_first(frame[name].is_infinite())})")
    for term in model.fixed:
        for name in map(column_of, term.split(":")):
            kind = frame.schema[name]
            if kind.is_float() and frame[name].is_infinite().any():
                problems.append(f"property {name!r} has infinite entries")
            elif kind.is_nested():
                problems.append(f"property {name!r} holds {kind}; expected numbers, yes/no or categories")
    named = {column_of(variable) for term in model.fixed for variable in term.split(":")}
    named |= {name for name in numbers if name is not None}
    for name in used:
        if name not in named and (frame.schema[name].is_nested() or frame.schema[name] == pl.Binary):
            problems.append(f"random effect {name!r} holds {frame.schema[name]}; expected names or numbers of groups")
    return problems + (_weight_problems(frame[model.weights]) if model.weights is not None else [])


def _weight_problems(weights: pl.Series) -> list[str]:
    if not weights.dtype.is_numeric():
        return []
    problems = []
    if negative := int((weights < 0).sum()):
        problems.append(f"weights {weights.name!r} are negative in {negative} rows")
    largest = float(weights.cast(pl.Float64).fill_nan(None).max() or 0)  # type: ignore[arg-type]
    if np.isfinite(largest) and largest > LARGEST_WEIGHT:
        problems.append(f"weights {weights.name!r} reach {largest:.3g}, beyond what the fit can compute; rescale them")
    return problems


def _first(mask: pl.Series) -> int:
    """The first row, counted from one, where a mask holds."""
    return int(mask.arg_max() or 0) + 1


def outcome_problems(response: np.ndarray, trials: np.ndarray, model: ModelFormula) -> list[str]:
    """What keeps values from being outcomes of a model's family."""
    if model.family == "gaussian":
        return [f"{model.outcome!r} never varies"] if np.ptp(response) == 0 else []
    if model.family == "ordered-beta":
        return _score_problems(response, model.outcome)
    problems: list[str] = []
    if np.any(response < 0):
        problems.append(f"{model.outcome!r} is negative in {int(np.sum(response < 0))} rows")
    if model.family == "poisson":
        if np.all(response == 0):
            problems.append(f"{model.outcome!r} is 0 in every row; no effect can be estimated")
        if np.any(response != np.round(response)):
            problems.append(f"{model.outcome!r} must hold counts, got {response[response != np.round(response)][0]:g}")
        return problems
    if np.any(trials < 0):
        return [*problems, f"{model.trials!r} is negative in {int(np.sum(trials < 0))} rows"]
    above = response > trials
    if above.any():
        first = int(np.argmax(above))
        exceeding = f"{response[first]:g} of {trials[first]:g}"
        problems.append(
            f"{model.outcome!r} exceeds {model.trials!r} in {int(above.sum())} rows (first: {exceeding})"
            if model.trials
            else f"{model.outcome!r} must be 0 or 1, got {response[first]:g}; name trials, or treat it as continuous"
        )
    broken = (response != np.round(response)) | (trials != np.round(trials))
    if broken.any() and not above.any():
        problems.append(f"{model.outcome!r} must hold whole numbers, got {response[int(np.argmax(broken))]:g}")
    if not problems and (np.all(response == 0) or np.all(response == trials)):
        which = "never" if np.all(response == 0) else "always"
        problems.append(f"{model.outcome!r} is {which} a success; no effect can be estimated")
    return problems


def _score_problems(scores: np.ndarray, name: str) -> list[str]:
    """What keeps values from being scores in [0, 1] that an ordered beta model can explain."""
    outside = (scores < 0) | (scores > 1)
    if outside.any():
        first = float(scores[int(np.argmax(outside))])
        return [f"{name!r} must lie between 0 and 1, got {first:g} ({int(outside.sum())} rows outside)"]
    inside = scores[(scores > 0) & (scores < 1)]
    if len(np.unique(inside)) < 2:
        return [
            f"{name!r} has {len(np.unique(inside))} different values between 0 and 1, too few for an ordered beta "
            "model; for 0/1 outcomes ask for family binomial"
        ]
    return []


def is_numeric(kind: pl.DataType) -> bool:
    """Whether a column holds numbers, or yes and no."""
    return kind.is_numeric() or kind == pl.Boolean
