"""Tables of a mixed model that a report draws and that cannot be made again from effects and variances alone."""

from __future__ import annotations

from pathlib import Path

from surgeval.report.fit_tables import marginal_table, quantile_table, random_effects_table
from surgeval.stats.mixed.report import Failures


def write_fit_tables(found: Failures, folder: str | Path) -> None:
    """Write `random_effects.csv`, `quantiles.csv` and `marginal_means.csv` beside what `Failures.to_dir` wrote.

    They are what caterpillars, Q-Q plots and expected outcomes with and without a property are drawn from; empty
    tables are not written.
    """
    tables = {
        "random_effects": random_effects_table(found.fit),
        "quantiles": quantile_table(found.fit),
        "marginal_means": marginal_table(found.fit, level=found.level),
    }
    for name, frame in tables.items():
        if not frame.is_empty():
            frame.write_csv(Path(folder) / f"{name}.csv")
