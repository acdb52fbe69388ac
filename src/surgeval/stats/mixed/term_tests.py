"""Tests of every coefficient by the rule that keeps false positives at their level with few videos, and what to know.

Variances by restricted likelihood; a property that varies inside videos from a fit in which its effect may differ
between videos; t with degrees of freedom per coefficient (see `variation`). `wald-z` keeps the plain z tests of the
original paper, which with 5 to 12 videos call 10 to 20 % of absent effects significant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
from scipy import stats

from surgeval.schema.findings import Finding
from surgeval.schema.statistic_rules import remark
from surgeval.stats.corrections import adjusted
from surgeval.stats.mixed.design import INTERCEPT
from surgeval.stats.mixed.fit import Engine
from surgeval.stats.mixed.inference import wald_table
from surgeval.stats.mixed.penalised import profile_test
from surgeval.stats.mixed.result import MixedFit
from surgeval.stats.mixed.structure import Factor
from surgeval.stats.mixed.term_fits import CoefficientFit, coefficient_fits
from surgeval.stats.mixed.variation import contained_freedom

Inference = Literal["reml-t", "wald-z"]
FEW_FREEDOM = 8
MANY_VIDEOS = 40
MORE_COLUMNS = {
    "df": pl.Float64, "varies": pl.String, "videos": pl.Int64, "videos_with": pl.Int64, "videos_without": pl.Int64,
    "slope_sd": pl.Float64, "method": pl.String,
}  # fmt: skip
"""What the table of effects says about each test beside its numbers."""


@dataclass(frozen=True)
class TermTests:
    """Every coefficient with its test, and what a reader must know about them."""

    table: pl.DataFrame
    """The columns of `wald_table` and those of `MORE_COLUMNS`."""
    fits: tuple[CoefficientFit, ...]
    findings: tuple[Finding, ...]
    inference: Inference
    video: str

    def freedom(self, name: str) -> float | None:
        """Degrees of freedom of a coefficient's test; None where it has none."""
        row = self.table.filter(pl.col("term") == name)
        if self.inference == "wald-z" and row["df"][0] is None:
            return float("inf")
        return float(row["df"][0]) if row["df"][0] is not None else None

    def fit_of(self, term: str, otherwise: MixedFit) -> MixedFit:
        """The fit in which the effects of a term are free to vary, or another where none is."""
        terms = otherwise.design.terms
        return next((c.fit for c in self.fits if terms.get(c.name) == term or c.name == term), otherwise)


def term_tests(
    base: MixedFit,
    video: Factor | None,
    *,
    inference: Inference = "reml-t",
    slopes: bool | Sequence[str] = True,
    level: float = 0.95,
    engine: Engine = "auto",
) -> TermTests:
    """The test of every coefficient of a fit.

    Args:
        base: The fit; by restricted likelihood unless `wald-z` is asked for.
        video: What the videos are; None where rows are independent of each other.
        inference: `reml-t` by the rule above, `wald-z` for plain z tests (t of Satterthwaite in linear models).
        slopes: Whether effects may vary between videos; or the terms whose effects may.
        level: Of the intervals.
        engine: Of the refits.
    """
    name = "" if video is None else video.name
    if inference == "wald-z" or video is None:
        table = _plain(base, level, video)
        return TermTests(table, (), tuple(_z_findings(base, video, inference)), "wald-z", name)
    chosen = slopes if isinstance(slopes, bool) else tuple(slopes)
    fits = tuple(coefficient_fits(base, video, slopes=chosen, engine=engine))
    rows = [_intercept(base, video, level), *(_row(fitted, level, engine) for fitted in fits)]
    p = np.array([np.nan if row["p_value"] is None else row["p_value"] for row in rows])
    p[0] = np.nan
    names = ("term", "estimate", "std_error", "z", "p_value", "low", "high")
    schema = {"term": pl.String, **dict.fromkeys(names[1:], pl.Float64), **MORE_COLUMNS}
    table = pl.DataFrame(rows, schema=schema).with_columns(
        pl.Series("p_holm", adjusted(p, "holm")).fill_nan(None), pl.Series("p_bh", adjusted(p, "bh")).fill_nan(None)
    )
    return TermTests(table, fits, tuple(_findings(base, fits, video)), "reml-t", name)


def _plain(base: MixedFit, level: float, video: Factor | None) -> pl.DataFrame:
    table = wald_table(base, level=level)
    freedom = [None] * table.height if base.freedom is None else base.freedom.tolist()
    how = "z" if base.freedom is None else "t, Satterthwaite"
    count = None if video is None else video.levels
    return table.with_columns(
        pl.Series("df", freedom, dtype=pl.Float64), pl.lit(None, pl.String).alias("varies"),
        pl.lit(count, pl.Int64).alias("videos"), pl.lit(None, pl.Int64).alias("videos_with"),
        pl.lit(None, pl.Int64).alias("videos_without"), pl.lit(None, pl.Float64).alias("slope_sd"),
        pl.lit(how).alias("method"),
    )  # fmt: skip


def _intercept(base: MixedFit, video: Factor, level: float) -> dict[str, Any]:
    df = float(contained_freedom(base.design, video)[0])
    row = {"term": INTERCEPT, "videos": video.levels, "method": "t, between videos"}
    return row | _numbers(base, 0, df if df >= 1 else None, level)


def _numbers(fitted: MixedFit, j: int, df: float | None, level: float) -> dict[str, Any]:
    estimate, error = float(fitted.beta[j]), float(fitted.standard_errors[j])
    row: dict[str, Any] = {"estimate": estimate, "std_error": error, "z": estimate / error, "df": df}
    if df is None or not np.isfinite(error):
        return row | {"p_value": None, "low": None, "high": None}
    width = float(stats.t.ppf(0.5 + level / 2, df)) * error
    return row | {"p_value": 2 * float(stats.t.sf(abs(estimate / error), df)), "low": estimate - width,
                  "high": estimate + width, "df": df if np.isfinite(df) else None}  # fmt: skip


def _row(fitted: CoefficientFit, level: float, engine: Engine) -> dict[str, Any]:
    row = {
        "term": fitted.name, "varies": fitted.where.varies, "videos": fitted.where.videos,
        "videos_with": fitted.where.having, "videos_without": fitted.where.lacking, "slope_sd": fitted.slope_sd,
        "method": fitted.method, **_numbers(fitted.fit, fitted.index, fitted.df, level),
    }  # fmt: skip
    if fitted.df is None or fitted.name not in fitted.fit.penalty:
        return row
    p_value, limits = profile_test(fitted.fit, fitted.index, fitted.df, level=level, engine=engine)
    return row | {"p_value": p_value, "low": limits.low, "high": limits.high,
                  "method": f"{fitted.method}, penalised profile"}  # fmt: skip


def _z_findings(base: MixedFit, video: Factor | None, inference: str) -> list[Finding]:
    if video is None:
        return [remark("independent-rows", "no random effect groups the rows, so p values assume that all rows are "
                         "independent of each other")]  # fmt: skip
    if inference == "wald-z" and video.levels < MANY_VIDEOS and base.family != "gaussian":
        return [remark("z-test-few-videos", f"z test with few videos ({video.levels} levels of {video.name}): expect "
                         "up to 20 % false positives")]  # fmt: skip
    return []


def _findings(base: MixedFit, fits: Sequence[CoefficientFit], video: Factor) -> list[Finding]:
    findings = [
        remark("not-assessable", f"{f.name}: {f.reason}; it has no p value and no interval", f.name)
        for f in fits
        if f.reason
    ]
    small: dict[float, list[str]] = {}
    for f in fits:
        if f.df is not None and f.df < FEW_FREEDOM:
            small.setdefault(f.df, []).append(f.name)
    findings += [
        remark("few-videos", f"few videos: p values of {', '.join(names)} rest on df = {df:.3g} "
                 f"({video.levels} levels of {video.name})")
        for df, names in small.items()
    ]  # fmt: skip
    for f in fits:
        where = f.where
        if f.df is None:
            continue
        if where.varies != "between" and (where.videos < video.levels / 2 or where.videos < 4):
            text = f"effect of {f.name} seen in {where.videos} of {video.levels} videos only"
            findings.append(remark("seen-in-few-videos", text, f.name))
        rare = min(where.having or 9, where.lacking or 9)
        if where.varies == "between" and rare <= 2:
            text = (
                f"{f.name} differs only in {rare} of {video.levels} videos; the effect may be theirs rather than the "
                "property's"
            )
            findings.append(remark("differs-in-few-videos", text, f.name))
    still = [f.name for f in fits if f.where.varies != "between" and f.method == "t"]
    if still:
        findings.append(remark("no-random-slope", f"no random slope: the effects of {', '.join(still)} are assumed "
                              "equal in all videos, and p values are too small where they are not"))  # fmt: skip
    if base.penalty:
        findings.append(remark("penalised", f"{', '.join(base.penalty)} separate the outcome or nearly so; estimates "
                              "are held near zero by a penalty (normal, deviation 2.5 on the log odds) and tested by "
                              "the profile; their symbols stand in brackets, their sizes say little"))  # fmt: skip
    return findings
