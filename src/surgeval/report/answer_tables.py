"""Tables that charts of single answers are drawn from, made from what scoring gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import polars as pl

from surgeval.metrics.classification.calibration import Reliability
from surgeval.metrics.latency import DeadlineMisses, LatencyCases, LatencyQuantile
from surgeval.metrics.metric import value_of
from surgeval.results.tables.supplement import HARDEST

LATENCY_SCHEMA = {
    "model": pl.String, "p50_s": pl.Float64, "p95_s": pl.Float64, "max_s": pl.Float64, "late_share": pl.Float64,
    "questions": pl.Int64,
}  # fmt: skip
RELIABILITY_SCHEMA = {
    "model": pl.String, "bin": pl.Int64, "confidence": pl.Float64, "observed": pl.Float64, "share": pl.Float64,
    "cases": pl.Int64,
}  # fmt: skip


def latency_table(latencies_s: Mapping[str, Iterable[float | None]], *, budget_s: float | None = None) -> pl.DataFrame:
    """Per model: median, 95th percentile and longest time of its answers, and the share of questions that were late.

    Args:
        latencies_s: By model, the seconds of every question; None or NaN where there was no answer, which is late.
        budget_s: Seconds allowed; a time equal to it is in time. Without one no share is late, and none is given.

    Example:
        >>> latency_table({"A": [1.0, 2.0, 9.0, None]}, budget_s=5).row(0)
        ('A', 2.0, 9.0, 9.0, 0.5, 4)
    """
    rows = []
    for model, listed in latencies_s.items():
        seconds = np.array([np.nan if value is None else value for value in listed], dtype=np.float64)
        if seconds.size:
            rows.append((str(model), *_quantiles(seconds), _late(seconds, budget_s), seconds.size))
    return pl.DataFrame(rows, schema=LATENCY_SCHEMA, orient="row")


def _quantiles(seconds: np.ndarray) -> list[float | None]:
    given = seconds[np.isfinite(seconds)]
    if not given.size:
        return [None, None, None]
    cases = LatencyCases(given)
    return [value_of(LatencyQuantile(quantile=q), cases) for q in (0.5, 0.95, 1.0)]


def _late(seconds: np.ndarray, budget_s: float | None) -> float | None:
    return None if budget_s is None else value_of(DeadlineMisses(deadline_s=budget_s), LatencyCases(seconds))


def hardest_questions(rows: pl.DataFrame) -> pl.DataFrame:
    """Every question with how many models answered it, those that the fewest answered first.

    Args:
        rows: One per model and question: `model, case, video, value`, and what else describes them where known.

    Example:
        >>> rows = {"model": ["A", "B"], "case": ["q", "q"], "video": ["v", "v"], "value": [1.0, 0.0],
        ...         "reason": ["right", "wrong"]}
        >>> hardest_questions(pl.DataFrame(rows)).select("case", "models_right", "models", "reasons").row(0)
        ('q', 1.0, 2, 'wrong: 1')
    """
    given = [name for name in ("capability", "format", "template") if name in rows.columns]
    reason = pl.col("reason" if "reason" in rows.columns else "status").cast(pl.String)
    failed = pl.col("value").fill_null(0.0) < 1
    frame = rows.group_by("case", "video", maintain_order=True).agg(
        *(pl.col(name).first() for name in given),
        pl.col("value").sum().alias("models_right"),
        pl.col("value").count().cast(pl.Int64).alias("models"),
        reason.filter(failed).value_counts(sort=True).alias("reasons"),
    )
    texts = ["; ".join(f"{one['reason' if 'reason' in one else 'status']}: {one['count']}" for one in counts)
             for counts in frame["reasons"].to_list()]  # fmt: skip
    absent = [pl.lit(None, dtype=pl.String).alias(name) for name in ("capability", "format", "template")
              if name not in given]  # fmt: skip
    whole = frame.with_columns(pl.Series("reasons", texts, dtype=pl.String), *absent)
    return HARDEST.frame(whole.select(list(HARDEST.columns)).sort("models_right", "case", maintain_order=True))


def reliability_table(tables: Mapping[str, Reliability], *, cases: Mapping[str, int]) -> pl.DataFrame:
    """The reliability tables of several models, one below the other; empty bins are left out.

    Args:
        tables: By model, what `CalibrationError.reliability` gives.
        cases: By model, how many cases its table rests on.

    Example:
        >>> half = Reliability(np.array([0.5, 0.5]), np.array([0.2, 0.9]), np.array([0.1, 1.0]))
        >>> reliability_table({"A": half}, cases={"A": 10}).rows()[0]
        ('A', 0, 0.2, 0.1, 0.5, 5)
    """
    rows = [
        (str(model), place, float(table.confidence[place]), float(table.observed[place]), float(share),
         round(float(share) * cases[model]))
        for model, table in tables.items()
        for place, share in enumerate(table.weight)
        if share > 0
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=RELIABILITY_SCHEMA, orient="row")
