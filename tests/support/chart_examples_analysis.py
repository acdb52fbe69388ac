"""A small table for every chart of statistics, failure analysis and data, at any number of rows and with any names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from surgvalid.report.chart import Chart
from surgvalid.report.charts import CHARTS
from surgvalid.results.tables import failures as tables
from surgvalid.stats.comparing.contrasts import ALL_MODELS

Names = Sequence[str]
EFFECT_SCHEMA = {
    "term": pl.String, "estimate": pl.Float64, "std_error": pl.Float64, "t": pl.Float64, "p_value": pl.Float64,
    "p_holm": pl.Float64, "odds_ratio": pl.Float64, "low": pl.Float64, "high": pl.Float64, "symbol": pl.String,
}  # fmt: skip


def _table(rows: Sequence[Sequence[Any]], schema: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=schema, orient="row")


def strata_table(strata: Names, models: Names) -> pl.DataFrame:
    rows = []
    for place, stratum in enumerate(strata):
        for model in (*models, ALL_MODELS) if len(models) > 1 else models:
            delta = -0.2 + 0.05 * (place % 7)
            rows.append((stratum, stratum, model, "mean", 50, 8, delta, delta - 0.06, delta + 0.06, None))
    schema = {"column": pl.String, "stratum": pl.String, "model": pl.String, "statistic": pl.String, "cases": pl.Int64,
              "videos": pl.Int64, "delta": pl.Float64, "low": pl.Float64, "high": pl.Float64,
              "note": pl.String}  # fmt: skip
    return _table(rows, schema)


def comparison_table(names: Names) -> pl.DataFrame:
    if not names:
        return pl.DataFrame(schema=COMPARISON_SCHEMA)
    pairs = [(names[0], name) for name in names] if len(names) == 1 else list(combinations(names[:12], 2))
    pairs += [(names[0], name) for name in names[12:]]
    rows = [(a, b, 0.002 * place - 0.03, 0.002 * place - 0.06, 0.002 * place, a, 0.1, 200, 20)
            for place, (a, b) in enumerate(pairs)]  # fmt: skip
    return _table(rows, COMPARISON_SCHEMA)


COMPARISON_SCHEMA = {
    "model_a": pl.String, "model_b": pl.String, "difference": pl.Float64, "low": pl.Float64, "high": pl.Float64,
    "favours": pl.String, "p_value": pl.Float64, "cases": pl.Int64, "videos": pl.Int64,
}  # fmt: skip


def reliability_rows(names: Names) -> pl.DataFrame:
    rows = [(name, 0.05 + 0.1 * bin_, 0.09 * bin_, 30 + bin_) for name in names for bin_ in range(10)]
    schema = {"model": pl.String, "confidence": pl.Float64, "observed": pl.Float64, "cases": pl.Int64}
    return _table(rows, schema)


def effects_rows(names: Names) -> pl.DataFrame:
    rows: list[tuple[Any, ...]] = []
    for place, name in enumerate(names):
        if place % 9 == 8:
            rows.append((name, *[None] * 8, "x"))
            continue
        size = -1.0 + 0.3 * (place % 7)
        p_value = 0.0004 if abs(size) > 0.5 else 0.3
        mark = "" if p_value > 0.05 else "---" if size < 0 else "+++"
        ends = (float(np.exp(size - 0.5)), float(np.exp(size + 0.5)))
        rows.append((name, size, 0.25, size / 0.25, p_value, p_value, float(np.exp(size)), *ends, mark))
    return _table([("(Intercept)", 1.0, 0.1, 10.0, 0.0, None, 2.7, 2.2, 3.3, ""), *rows] if rows else [], EFFECT_SCHEMA)


def change_rows(names: Names) -> pl.DataFrame:
    rows = []
    for place, name in enumerate(names):
        old, gain = -1.5 + 0.2 * (place % 9), 0.6 if place % 3 else -0.1
        untested = place % 8 == 7
        spread = {"low": None, "high": None} if untested else {"low": -0.4, "high": 0.4}
        ends = {
            f"{side}_{end}": None if width is None else at + width
            for side, at in (("before", old), ("after", old + gain)) for end, width in spread.items()
        }  # fmt: skip
        rows.append({
            "term": name, "before": old, "after": old + gain, "change": gain, "std_error": 0.2, "df": 8.0,
            "p_value": None if untested else 0.01, "p_holm": None if untested else 0.02, "low": gain - 0.4,
            "high": gain + 0.4, "odds_ratio_before": 0.3, "odds_ratio_after": 0.5, "videos": 9, "method": "t",
            "verdict": "not tested" if untested else "less harmful" if place % 3 else "no change shown", **ends,
        })  # fmt: skip
    return tables.EFFECT_CHANGES.frame(rows)


def per_model_rows(models: Names, terms: Names = ("smoke", "blood", "motion")) -> pl.DataFrame:
    effects = effects_rows(terms)
    parts = [effects.select(pl.lit(name).alias("model"), pl.all(), pl.lit("").alias("note")) for name in models]
    return pl.concat(parts) if parts else effects.clear().with_columns(pl.lit("").alias("model"))


def curve_rows(names: Names) -> pl.DataFrame:
    """Three steps of every model."""
    rows = [
        {
            "property": "contrast", "model": name, "from": at, "to": at + 10, "middle": at + 5, "rows": 20, "videos": 9,
            "loss": 0.6 - 0.02 * at - 0.001 * place, "low": 0.1, "high": 0.7,
        }
        for place, name in enumerate(names) for at in (0.0, 10.0, 20.0)
    ]  # fmt: skip
    return tables.PROPERTY_CURVES.frame(rows)


def patient_rows(names: Names) -> pl.DataFrame:
    rows = [(name, f"v{v}", 0.5 + 0.002 * place + 0.03 * v, 10) for place, name in enumerate(names) for v in range(6)]
    return _table(rows, {"model": pl.String, "video": pl.String, "value": pl.Float64, "cases": pl.Int64})


def lead_rows(names: Names) -> pl.DataFrame:
    rows = [(name, 0.01 * place, 0.01 * place - 0.02, 0.01 * place + 0.02) for place, name in enumerate(names, start=1)]
    return _table(rows, {"model": pl.String, "difference": pl.Float64, "low": pl.Float64, "high": pl.Float64})


def pair_rows(names: Names) -> pl.DataFrame:
    """Every name a patient of both models."""
    rows = [(model, name, 0.5 + shift + 0.004 * place) for place, name in enumerate(names)
            for model, shift in (("A", 0.0), ("B", 0.02 - 0.003 * (place % 9)))]  # fmt: skip
    return _table(rows, {"model": pl.String, "video": pl.String, "value": pl.Float64})


def group_rows(names: Names) -> pl.DataFrame:
    """Five patients in every group, the last group on the other side."""
    rows = [(name, 0.01 * p - 0.03 * (place == len(names) - 1)) for place, name in enumerate(names) for p in range(5)]
    return _table(rows, {"group": pl.String, "difference": pl.Float64})


TABLES: dict[str, Callable[[Names], pl.DataFrame]] = {
    "strata_deltas": lambda names: strata_table(names, list(names[:3])),
    "difference_intervals": comparison_table,
    "calibration": reliability_rows,
    "effects_forest": effects_rows,
    "model_effects": per_model_rows,
    "property_curve": curve_rows,
    "patient_values": patient_rows,
    "paired_patients": pair_rows,
    "lead_intervals": lead_rows,
    "group_leads": group_rows,
}
"""By the chart's name, a function from names (of models, terms, levels, videos, raters or objects) to its table."""
OPTIONS: dict[str, dict[str, Any]] = {
    "effects_forest": {"rows": 1200},
    "paired_patients": {
        "leader": "B",
        "other": "A",
        "interval": {"difference": 0.01, "low": 0.006, "high": 0.015},
        "margin": 0.02,
    },
    "lead_intervals": {"leader": "best"},
    "group_leads": {"leader": "best", "other": "next", "margin": 0.02},
}


def draw_analysis(name: str, table: pl.DataFrame) -> Chart:
    """The chart of that name from a table."""
    return CHARTS[name](table, **OPTIONS.get(name, {}))


def _example(name: str, names: Names) -> Chart:
    return draw_analysis(name, TABLES[name](names))


def plan_rows(names: Names) -> pl.DataFrame:
    rows = [
        (
            name,
            videos,
            min(1.0, videos / 60),
            min(1.0, videos / 90),
            min(1.0, videos / 40),
            None if videos % 20 else 0.5,
        )
        for name in names
        for videos in (10, 20, 40, 70)
    ]
    schema = {"goal": pl.String, "videos": pl.Int64, "chance": pl.Float64, "low": pl.Float64, "high": pl.Float64,
              "simulated": pl.Float64}  # fmt: skip
    return _table(rows, schema)


def trade_rows(names: Names) -> pl.DataFrame:
    rows = [
        (5 + 3 * place, float(n), float((5 + 3 * place) * n), (1 / (5 + 3 * place) * (0.2 + 1 / n)) ** 0.5, name)
        for place, name in enumerate(names)
        for n in (1, 10, 100)
    ]
    schema = {"videos": pl.Int64, "questions": pl.Float64, "total_questions": pl.Float64, "reach": pl.Float64,
              "reach_of": pl.String}  # fmt: skip
    return _table(rows, schema)


def watched_rows(names: Names) -> pl.DataFrame:
    rows = [
        (names[0], name, f"2026-01-{1 + place % 28:02d}", "new" if place % 3 else "validation", 0.4 + 0.004 * place, 9)
        for place, name in enumerate(names)
    ]
    schema = {"model": pl.String, "video": pl.String, "time": pl.String, "period": pl.String, "value": pl.Float64,
              "cases": pl.Int64}  # fmt: skip
    return _table(rows, schema)


EXAMPLES_ANALYSIS: dict[str, Callable[[Names], Chart]] = {
    **{name: partial(_example, name) for name in TABLES},
    "plan_curve": lambda names: CHARTS["plan_curve"](plan_rows(names), goal=names[0] if names else "", videos=48),
    "plan_trade": lambda names: CHARTS["plan_trade"](trade_rows(names), wanted=0.1),
    "video_timeline": lambda names: CHARTS["video_timeline"](watched_rows(names)),
}
"""By the chart's name, a function from names to the chart."""
