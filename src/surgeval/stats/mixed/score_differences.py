"""What properties do to the expected score of an ordered beta model, in points of the score.

Coefficients of that model are on the scale of log odds, for misses, overlap and perfection at once. Readers want points
of the score: every row's property is set to one value, then to the other, and the expected scores are averaged over the
rows and over random effects (g-computation, see `marginal`). The interval is by the delta method with the degrees of
freedom of the property's test; variances, precision and cutpoints count as known.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from surgeval.results.tables import failures as tables
from surgeval.stats.mixed.formula import column_of
from surgeval.stats.mixed.grid import Value, grid_values, is_category, shown
from surgeval.stats.mixed.marginal import averaged
from surgeval.stats.mixed.result import MixedFit
from surgeval.stats.mixed.term_tests import TermTests


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
            width = None if df is None else float(stats.t.ppf(0.5 + level / 2, df)) * error
            yield {"term": name, "change": f"{shown(low)} to {shown(high)}", "difference": difference,
                   "std_error": error, "low": None if width is None else difference - width,
                   "high": None if width is None else difference + width,
                   "df": df if df is None or np.isfinite(df) else None}  # fmt: skip


def _changes(fitted: MixedFit, column: str) -> Iterator[tuple[str, Value, Value]]:
    """Coefficient, and the two values of the column that it stands between."""
    if not is_category(fitted, column):
        mean = float(fitted.design.frame[column].cast(pl.Float64).mean())  # type: ignore[arg-type]
        yield column, mean - 0.5, mean + 0.5
        return
    first, *others = grid_values(fitted, {})[column]
    for other in others:
        yield column if column in fitted.names else f"{column}[{other}]", first, other
