"""Factors of three and more categories: one test of the whole factor, then all pairs of categories.

One p value per category compares it with whichever category comes first in the alphabet, and none of them says whether
the factor matters. The joint test does (F; as emmeans, at the means of numbers it interacts with), pairs are Tukey's.
Both come from the fit in which the factor's effects may differ between videos. A factor inside videos has
(categories - 1) (videos - 1) degrees of freedom for the joint test, one of whole videos those of its coefficients.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from surgeval.results.tables import failures as tables
from surgeval.stats.mixed.formula import column_of
from surgeval.stats.mixed.grid import emm, joint_test
from surgeval.stats.mixed.result import MixedFit
from surgeval.stats.mixed.term_fits import is_factor
from surgeval.stats.mixed.term_tests import TermTests


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
        joint.append({"term": column_of(term), "df1": test.rank, "df2": _finite(test.df), "f": test.statistic,
                      "p_value": test.p_value})  # fmt: skip
        for row in emm(term_fit, column_of(term)).pairs(level=level, df=df).iter_rows(named=True):
            pairs.append({"term": column_of(term), **row, "df": _finite(df)})
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


def _finite(df: float) -> float | None:
    return None if df == float("inf") else df
