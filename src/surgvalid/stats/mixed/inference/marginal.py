"""Marginal means by averaging over the data: the probability (or rate, or score) at each value of a property.

Every row keeps its other properties and its own offset, the property asked about is set to one value in all rows, the
design is rebuilt from the columns (so that categories exclude each other and products follow), and the predictions are
averaged (g-computation). Unlike a reference grid this keeps the mix of cases that was observed.

`conditional` is the value for a typical case, with all random effects at zero; `population` averages over random
effects, which is what a new, randomly drawn case will show: E g(eta + s Z) by Gauss-Hermite with 41 points. A logit is
not linear, so the two differ: effects look smaller in the population. Intervals by the delta method, on the scale of
the linear predictor; variances count as known, as in emmeans.

Coefficients of an ordered beta model are on the scale of log odds, for misses, overlap and perfection at once; readers
want points of the score, so `score_differences` gives the difference of two such means with the degrees of freedom of
the property's test.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
from scipy import special

from surgvalid.errors import UnknownName
from surgvalid.results.tables import failures as tables
from surgvalid.stats.mixed.fit.result import MixedFit, design_rows
from surgvalid.stats.mixed.inference.grid import Value, grid_values, is_category, shown
from surgvalid.stats.mixed.inference.term_tests import TermTests
from surgvalid.stats.mixed.model.formula import column_of

_POINTS = 41
COLUMNS = "term value scale mean std_error low high".split()


def marginal_means(
    fitted: MixedFit,
    column: str,
    *,
    values: Sequence[str | float] | None = None,
    level: float = 0.95,
) -> pl.DataFrame:
    """Rows `term, value, scale, mean, std_error, low, high`, two scales per value of the property.

    Args:
        fitted: The fitted model.
        column: A property of the model, by its column.
        values: Values to set it to; by default all levels of a category, else 0 and 1.
        level: Of the intervals.

    Raises:
        UnknownName: The model has no such property.
    """
    known = [column_of(variable) for term in fitted.design.model.fixed for variable in term.split(":")]
    if column not in known:
        raise UnknownName("property", column, list(dict.fromkeys(known)))
    if values is None:
        values = grid_values(fitted, {})[column] if is_category(fitted, column) else [0.0, 1.0]
    quantile, rows = float(special.ndtri(0.5 + level / 2)), list[tuple[Any, ...]]()
    for scale in ("conditional", "population"):
        means, spread = averaged(fitted, column, values, population=scale == "population")
        for value, mean, error in zip(values, means, np.sqrt(np.diag(spread)), strict=True):
            low, high = (
                _back(fitted, _link(fitted, mean) + sign * quantile * error / _steepness(fitted, mean))
                for sign in (-1, 1)
            )
            rows.append((column, value, scale, mean, error, low, high))
    rows.sort(key=lambda row: list(values).index(row[1]))
    return pl.DataFrame(rows, schema=COLUMNS, orient="row").fill_nan(None)


def averaged(
    fitted: MixedFit, column: str, values: Sequence[str | float], *, population: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Mean outcome with the column set to each value in all rows, and the covariance of these means."""
    means, slopes = [], []
    spread = _random_sd(fitted) if population else 0.0
    for value in values:
        kind = pl.String() if isinstance(value, str) else pl.Float64()
        frame = fitted.design.frame.with_columns(pl.lit(value, kind).alias(column))
        matrix = design_rows(fitted, frame)
        mean, slope = _averaged(fitted, matrix, spread)
        means.append(mean)
        slopes.append(slope)
    jacobian = np.array(slopes)
    return np.array(means), jacobian @ fitted.covariance @ jacobian.T


def _random_sd(fitted: MixedFit) -> np.ndarray | float:
    """Deviation of the random part, of every row where slopes make it differ."""
    total: np.ndarray | float = 0.0
    for group, factor in zip(fitted.groups, fitted.design.factors, strict=True):
        total = total + group.sd**2 * (1.0 if factor.values is None else factor.values**2)
    return np.sqrt(total)


def _averaged(fitted: MixedFit, matrix: np.ndarray, spread: np.ndarray | float) -> tuple[float, np.ndarray]:
    """Mean response over the rows, and its derivative by the coefficients."""
    eta = matrix @ fitted.beta + fitted.design.offset
    nodes, weights = np.polynomial.hermite_e.hermegauss(_POINTS if np.any(np.asarray(spread) > 0) else 1)
    weights = weights / weights.sum()
    response, slope = np.zeros(len(eta)), np.zeros(len(eta))
    for node, weight in zip(nodes, weights, strict=True):
        response += weight * fitted.expected(eta + spread * node)
        slope += weight * fitted.expected_slope(eta + spread * node)
    return float(response.mean()), np.asarray(slope @ matrix) / len(eta)


def _steepness(fitted: MixedFit, mean: float) -> float:
    """How fast a mean grows along the scale that its interval is made on."""
    if fitted.family == "gaussian":
        return 1.0
    return mean if fitted.family == "poisson" else mean * (1 - mean)


def _link(fitted: MixedFit, mean: float) -> float:
    """A mean on the scale that its interval is made on: as it is, its logarithm or its logit."""
    if fitted.family == "gaussian":
        return mean
    return float(np.log(mean) if fitted.family == "poisson" else special.logit(mean))


def _back(fitted: MixedFit, value: float) -> float:
    if fitted.family == "gaussian":
        return value
    return float(np.exp(min(value, 700.0)) if fitted.family == "poisson" else special.expit(value))


def score_differences(fitted: MixedFit, tests: TermTests, *, level: float = 0.95) -> pl.DataFrame:
    """Every category against the first, and one unit more of every number."""
    return tables.SCORE_DIFFERENCES.frame(list(_rows(fitted, tests, level)))


def _rows(fitted: MixedFit, tests: TermTests, level: float) -> Iterator[dict[str, Any]]:
    for term in fitted.design.model.fixed:
        if ":" in term:
            continue
        column, term_fit = column_of(term), tests.fit_of(term, fitted)
        for name, low, high in _changes(fitted, column):
            df = tests.freedom(name) if name in fitted.names else None
            if name not in fitted.names:
                continue
            means, spread = averaged(term_fit, column, [low, high], population=True)
            error = float(np.sqrt(max(spread[0, 0] + spread[1, 1] - 2 * spread[0, 1], 0.0)))
            difference = float(means[1] - means[0])
            width = None if df is None else float(special.stdtrit(df, 0.5 + level / 2)) * error
            yield {
                "term": name,
                "change": f"{shown(low)} to {shown(high)}",
                "difference": difference,
                "std_error": error,
                "low": None if width is None else difference - width,
                "high": None if width is None else difference + width,
                "df": df if df is None or np.isfinite(df) else None,
            }


def _changes(fitted: MixedFit, column: str) -> Iterator[tuple[str, Value, Value]]:
    """Coefficient, and the two values of the column that it stands between."""
    if not is_category(fitted, column):
        mean = float(fitted.design.frame[column].cast(pl.Float64).mean())  # type: ignore[arg-type]
        yield column, mean - 0.5, mean + 0.5
        return
    first, *others = grid_values(fitted, {})[column]
    for other in others:
        yield column if column in fitted.names else f"{column}[{other}]", first, other
