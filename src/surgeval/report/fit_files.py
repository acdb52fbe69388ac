"""Tables of a mixed model that a report draws and that cannot be made again from effects and variances alone."""

from __future__ import annotations

from pathlib import Path

from surgeval.report.fit_tables import marginal_table, quantile_table, random_effects_table, residual_table
from surgeval.results.tables.failures import RESIDUAL_TESTS
from surgeval.stats.mixed.report import Failures
from surgeval.stats.mixed.residuals import quantile_residuals

SIMULATED_ROWS = 50_000
"""Beyond, residuals are not simulated unasked: it takes a hundred times as long as a fit."""
SIMULATED_SETS = 100


def write_fit_tables(found: Failures, folder: str | Path) -> None:
    """Write `random_effects.csv`, `quantiles.csv`, `marginal_means.csv` and `residuals.csv` beside `effects.csv`.

    They are what caterpillars, Q-Q plots, expected outcomes with and without a property, and residuals against
    simulated data are drawn from; empty tables are not written, and residuals only up to `SIMULATED_ROWS` rows.
    """
    tables = {
        "random_effects": random_effects_table(found.fit),
        "quantiles": quantile_table(found.fit),
        "marginal_means": marginal_table(found.fit, level=found.level),
    }
    if found.fit.design.rows <= SIMULATED_ROWS:
        frame, tests = residual_table(quantile_residuals(found.fit, draws=SIMULATED_SETS))
        kept = [{"test": name, "value": float(value)} for name, value in tests.items() if value is not None]
        tables |= {"residuals": frame, "residual_tests": RESIDUAL_TESTS.frame(kept)}
    for name, frame in tables.items():
        if not frame.is_empty():
            frame.write_csv(Path(folder) / f"{name}.csv")
