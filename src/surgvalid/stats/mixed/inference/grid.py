"""Estimated marginal means on a reference grid, contrasts of them, and joint tests of terms, as emmeans defines them.

Everything is a linear function L of the coefficients: rows of the design rebuilt from values of the columns, so that a
row belongs to one category at a time and products follow their parts. Categories (text, `C(x)` and columns of two
numbers) take all their levels, other numbers their mean. estimate = L b, covariance = L C L' (Searle, Speed and
Milliken 1980; Lenth's emmeans). A factor of three and more categories gets one joint test (F) and Tukey's pairs,
because a p value per category compares it with whichever comes first in the alphabet; both come from the fit in which
its effects may differ between videos, and inside videos the joint test has (categories - 1) (videos - 1) degrees of
freedom. Averages over the rows of the data instead of a grid are in `marginal`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
import polars as pl
from scipy import special

from surgvalid.errors import UnknownName
from surgvalid.results.tables import failures as tables
from surgvalid.stats.mixed.fit.result import MixedFit, design_rows
from surgvalid.stats.mixed.inference.term_fits import is_factor
from surgvalid.stats.mixed.inference.term_tests import TermTests
from surgvalid.stats.mixed.model.formula import column_of

Value = str | float
_MANY = 1e5


@dataclass(frozen=True)
class Means:
    """Marginal means as linear functions of the coefficients."""

    values: tuple[tuple[Value, ...], ...]
    """The combination of values that every row stands for."""
    linear: np.ndarray
    """One row of coefficients' weights per mean; NaN where no case of the data is like that."""
    fit: MixedFit

    def pairs(self, *, level: float = 0.95, df: float = float("inf")) -> pl.DataFrame:
        """Differences of all pairs of means, Tukey's: `contrast, estimate, std_error, df, t, p_value, low, high`."""
        named = [", ".join(map(shown, row)) for row in self.values]
        chosen = list(combinations(range(len(named)), 2))
        linear = np.array([self.linear[a] - self.linear[b] for a, b in chosen]).reshape(len(chosen), -1)
        estimate = linear @ self.fit.beta
        error = np.sqrt(np.einsum("ij,jk,ik->i", linear, self.fit.covariance, linear))
        t = estimate / error
        p, quantile = 2 * special.stdtr(df, -np.abs(t)), float(special.stdtrit(df, 0.5 + level / 2))
        if len(named) > 2:
            from scipy.stats import studentized_range  # loading scipy.stats takes most of a second

            finite = min(df, _MANY)
            p = np.asarray(studentized_range.sf(np.sqrt(2) * np.abs(t), len(named), finite))
            quantile = float(studentized_range.ppf(level, len(named), finite)) / np.sqrt(2)
        return pl.DataFrame(
            {
                "contrast": [f"{named[a]} - {named[b]}" for a, b in chosen],
                "estimate": estimate,
                "std_error": error,
                "df": [df] * len(chosen),
                "t": t,
                "p_value": p,
                "low": estimate - quantile * error,
                "high": estimate + quantile * error,
            }
        ).fill_nan(None)


def emm(
    fitted: MixedFit,
    over: str | Sequence[str],
    *,
    at: Mapping[str, Sequence[Value]] | None = None,
) -> Means:
    """Marginal means over one or more columns, averaged over the levels of the other categories, each alike.

    Args:
        fitted: The fitted model.
        over: Columns of properties.
        at: Values to put columns at, instead of all levels or the mean.

    Raises:
        UnknownName: A column is no property of the model.
    """
    asked = (over,) if isinstance(over, str) else tuple(over)
    levels = grid_values(fitted, at or {})
    for name in (*asked, *(at or {})):
        if name not in levels:
            raise UnknownName("property", name, list(levels))
    others = [name for name in levels if name not in asked]
    combos = list(product(*(levels[name] for name in others)))
    values = tuple(product(*(levels[name] for name in asked)))
    frame = pl.DataFrame(
        [dict(zip((*asked, *others), (*one, *rest), strict=True)) for one in values for rest in combos],
        schema={name: _kind(fitted, name) for name in (*asked, *others)},
    )
    rows = design_rows(fitted, frame).reshape(len(values), len(combos), -1)
    linear = rows.mean(axis=1)
    linear[~_has_rows(fitted, asked, values)] = np.nan
    return Means(values, linear, fitted)


def grid_values(fitted: MixedFit, at: Mapping[str, Sequence[Value]]) -> dict[str, list[Value]]:
    """Every property with the values it takes on the grid."""
    levels: dict[str, list[Value]] = {}
    for variable in (variable for term in fitted.design.model.fixed for variable in term.split(":")):
        name = column_of(variable)
        series = fitted.design.frame[name]
        if name in at:
            levels[name] = list(at[name])
        elif is_category(fitted, name):
            kind = pl.String if variable != name or not _numeric(series) else pl.Float64
            levels[name] = series.cast(kind).unique().sort().to_list()
        elif name not in levels:
            levels[name] = [float(series.cast(pl.Float64).mean())]  # type: ignore[arg-type]
    return levels


def is_category(fitted: MixedFit, name: str) -> bool:
    """Whether a property takes levels: text, `C(x)`, yes and no, or exactly two numbers."""
    series = fitted.design.frame[name]
    coded = any(variable == f"C({name})" for term in fitted.design.model.fixed for variable in term.split(":"))
    return coded or not _numeric(series) or series.n_unique() == 2


def _numeric(series: pl.Series) -> bool:
    return series.dtype.is_numeric() or series.dtype == pl.Boolean


def _kind(fitted: MixedFit, name: str) -> pl.DataType:
    coded = any(variable == f"C({name})" for term in fitted.design.model.fixed for variable in term.split(":"))
    return pl.Float64() if _numeric(fitted.design.frame[name]) and not coded else pl.String()


def _matches(fitted: MixedFit, name: str, value: Value) -> np.ndarray:
    series = fitted.design.frame[name]
    same = series.cast(pl.String) == value if isinstance(value, str) else series.cast(pl.Float64) == value
    return same.fill_null(False).to_numpy()


def _has_rows(fitted: MixedFit, over: Sequence[str], values: Sequence[tuple[Value, ...]]) -> np.ndarray:
    """Per combination of categories, whether the data have a case like that."""
    known = []
    for one in values:
        here = np.ones(fitted.design.rows, dtype=bool)
        for name, value in zip(over, one, strict=True):
            here &= _matches(fitted, name, value) if is_category(fitted, name) else True
        known.append(bool(here.any()))
    return np.array(known)


@dataclass(frozen=True)
class JointTest:
    """Whether any level of a term differs from another."""

    term: str
    rank: int
    statistic: float
    """F; times `rank` it is chi-squared where `df` is infinite."""
    df: float
    p_value: float


def joint_test(fitted: MixedFit, term: str, *, df: float = float("inf")) -> JointTest:
    """The test of all contrasts of a term's levels at once, other numbers at their means.

    Not the `type III` of dummy coding: that tests a factor at zero of the numbers it interacts with.
    """
    names = [column_of(variable) for variable in term.split(":")]
    middle = {name: around_the_mean(fitted, name) for name in names if not is_category(fitted, name)}
    means = emm(fitted, names, at=middle)
    shape = [len(set(column)) for column in zip(*means.values, strict=True)]
    linear = means.linear.reshape(*shape, -1)
    for axis in range(len(shape)):
        linear = np.diff(linear, axis=axis)
    linear = linear.reshape(-1, means.linear.shape[1])
    linear = linear[np.isfinite(linear).all(axis=1)]
    spread, effect = linear @ fitted.covariance @ linear.T, linear @ fitted.beta
    size, axes = np.linalg.eigh((spread + spread.T) / 2)
    kept = size > 1e-10 * max(float(size.max(initial=0.0)), 1e-300)
    rank = int(kept.sum())
    if not rank:
        return JointTest(term, 0, float("nan"), df, float("nan"))
    statistic = float(np.sum((axes[:, kept].T @ effect) ** 2 / size[kept])) / rank
    p = special.chdtrc(rank, rank * statistic) if np.isinf(df) else special.fdtrc(rank, df, statistic)
    return JointTest(term, rank, statistic, df, float(p))


def around_the_mean(fitted: MixedFit, name: str) -> list[Value]:
    """Two values of a numeric column, one apart, around its mean: their difference is its slope there."""
    mean = float(fitted.design.frame[name].cast(pl.Float64).mean())  # type: ignore[arg-type]
    return [mean - 0.5, mean + 0.5]


def shown(value: Value) -> str:
    """A value of the grid as text.

    Example:
        >>> shown("b"), shown(1.0), shown(2.5)
        ('b', '1', '2.5')
    """
    return value if isinstance(value, str) else f"{value:g}"


def factor_tables(fitted: MixedFit, tests: TermTests, *, level: float = 0.95) -> dict[str, pl.DataFrame]:
    """The tables `joint` and `pairs` of all factors of a fit; empty where it has none."""
    joint: list[dict[str, Any]] = []
    pairs: list[dict[str, Any]] = []
    for term in fitted.design.model.fixed:
        names = [name for name in fitted.names if fitted.design.terms.get(name) == term]
        if not is_factor(fitted.design, term) or len(names) < 2:
            continue
        term_fit, df = tests.fit_of(term, fitted), _freedom(tests, names)
        if df is None:
            continue
        test = joint_test(term_fit, term, df=_joint_freedom(tests, names, df))
        joint.append(
            {
                "term": column_of(term),
                "df1": test.rank,
                "df2": _finite_or_none(test.df),
                "f": test.statistic,
                "p_value": test.p_value,
            }
        )
        for row in emm(term_fit, column_of(term)).pairs(level=level, df=df).iter_rows(named=True):
            pairs.append({"term": column_of(term), **row, "df": _finite_or_none(df)})
    if not joint:
        return {}
    return {"joint": tables.JOINT.frame(joint), "pairs": tables.PAIRS.frame(pairs)}


def _freedom(tests: TermTests, names: list[str]) -> float | None:
    """The fewest degrees of freedom of a factor's coefficients; None where one has no test."""
    known = [tests.freedom(name) for name in names]
    numbers = [df for df in known if df is not None]
    return min(numbers) if len(numbers) == len(known) else None


def _joint_freedom(tests: TermTests, names: list[str], df: float) -> float:
    fits = [fitted for fitted in tests.fits if fitted.name in names]
    inside = [fitted.where.videos for fitted in fits if fitted.method == "t, effect by video"]
    return float(len(names) * (min(inside) - 1)) if inside else df


def _finite_or_none(df: float) -> float | None:
    return None if df == float("inf") else df
