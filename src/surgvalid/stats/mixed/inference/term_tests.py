"""Tests of every coefficient by the rule that keeps false positives at their level with few videos, and what to know.

Variances by restricted likelihood; a property that varies inside videos from a fit in which its effect may differ
between videos; t with degrees of freedom per coefficient (see `variation`). `wald-z` keeps the plain z tests of the
original paper, which with 5 to 12 videos call 10 to 20 % of absent effects significant.

Symbols are those of Ross et al. (2023, Table 2): `+` 1 < OR <= 1.25, `++` up to 1.5, `+++` above; `-` 0.75 <= OR < 1,
`--` down to 0.5, `---` below; blank where not significant at 0.05, `x` where the effect cannot be assessed. (The
caption prints 0 < OR for `+`; 1 is meant.) These bins are not mirror images on the log scale; `symmetric` takes 1/1.25
and 1/1.5 for harm instead. The odds are those of what is good: where smaller values are better, those of a smaller one.
Continuous outcomes have the steps 0.2, 0.5 and 0.8 in standard deviations of the outcome (Cohen 1988), blank below;
where nobody said which values are better, a word says which way they go.

The decision a reader would question: the paper marks p <= 0.05 as it is; here Holm's p over the properties decides, and
fewer than six videos get no symbol, as nowhere else in this package can they show a difference.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl
from scipy import special

from surgvalid.schema.findings import Finding
from surgvalid.schema.statistic_rules import remark
from surgvalid.stats.comparing.corrections import adjusted
from surgvalid.stats.mixed.fit.fit import Engine
from surgvalid.stats.mixed.fit.penalised import profile_test
from surgvalid.stats.mixed.fit.result import MixedFit
from surgvalid.stats.mixed.inference.inference import wald_table
from surgvalid.stats.mixed.inference.term_fits import CoefficientFit, coefficient_fits, contained_freedom
from surgvalid.stats.mixed.model.design import INTERCEPT
from surgvalid.stats.mixed.model.structure import Factor

NOT_ASSESSABLE = "x"
LARGER, SMALLER = "larger", "smaller"
"""Where values go, if nobody said which are better."""
ALPHA = 0.05
_STEPS = (0.2, 0.5, 0.8)
_HELP = (1.25, 1.5)
_HARM = {False: (0.75, 0.5), True: (1 / 1.25, 1 / 1.5)}


def symbol(odds_ratio: float, p_value: float, *, symmetric: bool = False) -> str:
    """The symbol of an effect.

    Example:
        >>> symbol(1.3, 0.01), symbol(0.4, 0.01), symbol(0.78, 0.01), symbol(0.78, 0.01, symmetric=True)
        ('++', '---', '-', '--')
        >>> symbol(3.0, 0.2), symbol(float("nan"), float("nan"))
        ('', 'x')
    """
    if math.isnan(odds_ratio) or math.isnan(p_value):
        return NOT_ASSESSABLE
    if p_value > ALPHA or odds_ratio == 1:
        return ""
    if odds_ratio > 1:
        return "+" * (1 + sum(odds_ratio > bound for bound in _HELP))
    return "-" * (1 + sum(odds_ratio < bound for bound in _HARM[symmetric]))


def effect_symbol(
    estimate: float,
    p_value: float,
    *,
    ratio: bool,
    better: str | None,
    symmetric: bool = False,
    sd: float = 1.0,
) -> str:
    """The symbol of a coefficient: a plus always helps and a minus always hurts, whatever the outcome.

    Args:
        estimate: On the scale of the linear predictor.
        p_value: That decides; NaN where there is no test.
        ratio: Whether the estimate is the logarithm of a ratio, which has bins.
        better: `larger` or `smaller` values of the outcome; None where nobody said.
        symmetric: As for `symbol`.
        sd: Standard deviation of a continuous outcome, in which its effects are measured.

    Example:
        >>> [effect_symbol(0.6, 0.01, ratio=False, better=better) for better in ("larger", "smaller", None)]
        ['++', '--', 'larger']
        >>> effect_symbol(1.0, 0.01, ratio=True, better="smaller")
        '---'
    """
    good = -estimate if better == "smaller" else estimate
    if ratio and better is not None:
        return symbol(math.exp(min(good, 700.0)), p_value, symmetric=symmetric)
    if math.isnan(estimate) or math.isnan(p_value):
        return NOT_ASSESSABLE
    if p_value > ALPHA or estimate == 0:
        return ""
    if better is None:
        return LARGER if estimate > 0 else SMALLER
    return ("+" if good > 0 else "-") * sum(abs(estimate) >= step * sd for step in _STEPS)


def stars(p_value: float) -> str:
    """Asterisks at 0.05, 0.01 and 0.001, as in Ross et al. (2023, Fig. 7).

    Example:
        >>> stars(0.03), stars(0.0005), stars(0.4)
        ('*', '***', '')
    """
    return "" if math.isnan(p_value) else "*" * sum(p_value <= bound for bound in (0.05, 0.01, 0.001))


Inference = Literal["reml-t", "wald-z"]
FEW_VIDEOS = 8
"""Below, the spread between videos is hardly known, whatever the degrees of freedom."""
FEWEST_MARKED = 6
"""Videos that must carry an effect before it gets a symbol."""
MANY_VIDEOS = 40
MORE_COLUMNS = {
    "df": pl.Float64,
    "varies": pl.String,
    "videos": pl.Int64,
    "videos_with": pl.Int64,
    "videos_without": pl.Int64,
    "slope_sd": pl.Float64,
    "method": pl.String,
}
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
        row = self.table.row(by_predicate=pl.col("term") == name, named=True)
        if self.inference == "wald-z" and row["df"] is None and row["p_value"] is not None:
            return float("inf")
        return None if row["df"] is None else float(row["df"])

    def withheld(self) -> TermTests:
        """The tests without p values and intervals, which would assume what nobody said: that rows are independent."""
        text = (
            "these rows come from one patient, or nothing says from how many, so no effect has a p value or interval: "
            "name the column of what is independent (--unit COLUMN), say --unit case if each case is another patient, "
            "or --unit prefix:N if names begin with it"
        )
        empty = dict.fromkeys("p_value p_holm p_bh low high df".split(), pl.lit(None, pl.Float64))
        return replace(self, table=self.table.with_columns(**empty), findings=(remark("no-unit", text),))

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
    return TermTests(tests_table(rows), fits, tuple(_findings(base, fits, video)), "reml-t", name)


def tests_table(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Tests of coefficients, the intercept first, with p values corrected over the rest (Holm; Benjamini-Hochberg)."""
    p = np.array([np.nan if row["p_value"] is None else row["p_value"] for row in rows])
    p[0] = np.nan
    names = "estimate std_error t p_value low high".split()
    schema = {"term": pl.String, **dict.fromkeys(names, pl.Float64), **MORE_COLUMNS}
    return pl.DataFrame(rows, schema=schema).with_columns(
        pl.Series("p_holm", adjusted(p, "holm")).fill_nan(None), pl.Series("p_bh", adjusted(p, "bh")).fill_nan(None)
    )


def _plain(base: MixedFit, level: float, video: Factor | None) -> pl.DataFrame:
    table = wald_table(base, level=level)
    freedom = [None] * table.height if base.freedom is None else base.freedom.tolist()
    how = "z" if base.freedom is None else "t, Satterthwaite"
    count = None if video is None else video.levels
    return table.with_columns(
        pl.Series("df", freedom, dtype=pl.Float64),
        pl.lit(None, pl.String).alias("varies"),
        pl.lit(count, pl.Int64).alias("videos"),
        pl.lit(None, pl.Int64).alias("videos_with"),
        pl.lit(None, pl.Int64).alias("videos_without"),
        pl.lit(None, pl.Float64).alias("slope_sd"),
        pl.lit(how).alias("method"),
    )


def _intercept(base: MixedFit, video: Factor, level: float) -> dict[str, Any]:
    df = float(contained_freedom(base.design, video)[0])
    row = {"term": INTERCEPT, "videos": video.levels, "method": "t, between videos"}
    return row | t_test(float(base.beta[0]), float(base.standard_errors[0]), df if df >= 1 else None, level)


def t_test(estimate: float, error: float, df: float | None, level: float) -> dict[str, Any]:
    """A coefficient with its t test and interval; None of both without degrees of freedom."""
    row: dict[str, Any] = {"estimate": estimate, "std_error": error, "t": estimate / error, "df": df}
    if df is None or not np.isfinite(error):
        return row | {"p_value": None, "low": None, "high": None}
    width = float(special.stdtrit(df, 0.5 + level / 2)) * error
    return row | {
        "p_value": 2 * float(special.stdtr(df, -abs(estimate / error))),
        "low": estimate - width,
        "high": estimate + width,
        "df": df if np.isfinite(df) else None,
    }


def _row(fitted: CoefficientFit, level: float, engine: Engine) -> dict[str, Any]:
    row = {
        "term": fitted.name,
        "varies": fitted.where.varies,
        "videos": fitted.where.videos,
        "videos_with": fitted.where.having,
        "videos_without": fitted.where.lacking,
        "slope_sd": fitted.slope_sd,
        "method": fitted.method,
        **t_test(
            float(fitted.fit.beta[fitted.index]), float(fitted.fit.standard_errors[fitted.index]), fitted.df, level
        ),
    }
    if fitted.df is None or fitted.name not in fitted.fit.penalty:
        return row
    p_value, low, high = profile_test(fitted.fit, fitted.index, fitted.df, level=level, engine=engine)
    return row | {
        "p_value": p_value,
        "low": low,
        "high": high,
        "method": f"{fitted.method}, penalised profile",
    }


def _z_findings(base: MixedFit, video: Factor | None, inference: str) -> list[Finding]:
    if video is None:
        return [
            remark(
                "independent-rows",
                "no random effect groups the rows, so p values assume that all rows are independent of each other",
            )
        ]
    text = f"z test with few videos ({video.levels} levels of {video.name}): expect up to 20 % false positives"
    few = inference == "wald-z" and video.levels < MANY_VIDEOS and base.family != "gaussian"
    return [*([remark("z-test-few-videos", text)] if few else []), *_few_videos(video)]


def _few_videos(video: Factor) -> list[Finding]:
    """By the number of videos, not by degrees of freedom: these hide behind rows and models how few there are."""
    if video.levels >= FEW_VIDEOS:
        return []
    units = f"{video.name.replace(':', ' and ')}s"
    text = f"{video.levels} {units}: the spread between {units} is hardly known"
    rest = f"; below {FEWEST_MARKED} no effect gets a symbol" if video.levels < FEWEST_MARKED else ""
    return [remark("few-videos", text + rest)]


def _findings(base: MixedFit, fits: Sequence[CoefficientFit], video: Factor) -> list[Finding]:
    findings = [
        remark("not-assessable", f"{f.name}: {f.reason}; it has no p value and no interval", f.name)
        for f in fits
        if f.reason
    ]
    findings += _few_videos(video)
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
        findings.append(
            remark(
                "no-random-slope",
                f"no random slope: the effects of {', '.join(still)} are assumed "
                "equal in all videos, and p values are too small where they are not",
            )
        )
    if base.penalty:
        findings.append(
            remark(
                "penalised",
                f"{', '.join(base.penalty)} separate the outcome or nearly so; estimates "
                "are held near zero by a penalty (normal, deviation 2.5 on the log odds) and tested by "
                "the profile; their symbols stand in brackets, their sizes say little",
            )
        )
    return findings
