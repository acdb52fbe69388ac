"""What a failure analysis gives back: effect and variance tables, a record of the fit, and a paragraph in words."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from surgvalid.results.registration import CODES
from surgvalid.results.result import Result
from surgvalid.results.tables import failures as tables_of
from surgvalid.schema.findings import Finding, Severity
from surgvalid.schema.statistic_rules import remark
from surgvalid.schema.tables.shown_tables import p_phrase
from surgvalid.stats.mixed.fit.result import MixedFit
from surgvalid.stats.mixed.inference.diagnostics import Diagnostics
from surgvalid.stats.mixed.inference.fit_tables import FitTables, explained, variance_table
from surgvalid.stats.mixed.inference.grid import factor_tables
from surgvalid.stats.mixed.inference.inference import Ratio
from surgvalid.stats.mixed.inference.marginal import score_differences
from surgvalid.stats.mixed.inference.term_tests import (
    ALPHA,
    FEWEST_MARKED,
    NOT_ASSESSABLE,
    TermTests,
    effect_symbol,
)
from surgvalid.stats.mixed.inference.tested import TwoParts
from surgvalid.stats.mixed.model.design import INTERCEPT
from surgvalid.stats.mixed.model.workflow import Decision


@dataclass(frozen=True)
class Addition:
    """Tables by name, findings, a paragraph, and which of the tables a terminal shows under which line."""

    tables: Mapping[str, pl.DataFrame]
    findings: tuple[Finding, ...] = ()
    prose: str = ""
    screen: Mapping[str, str] = field(default_factory=dict)


PAPER_WARNING = (
    "spec `ross` has no effect of (model, unit): contrasts between models, and effects that vary between models, have "
    "standard errors that can be tens of times too small. Use spec `default` to compare models."
)

_FLAT = {"binomial": "logistic regression", "gaussian": "linear regression", "poisson": "Poisson regression",
         "ordered-beta": "ordered beta regression"}  # fmt: skip
"""What a model is called that has no random effects."""


class Specifications(NamedTuple):
    """The two specifications compared."""

    dispersion: float
    """Pearson dispersion under `ross`; far above one, counts vary more than binomially."""
    test: Ratio | None
    """Of the effect that `default` adds."""


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class FailuresResult(Result):
    """Why models fail, in numbers.

    `table` holds the effects (odds ratios with intervals; for continuous outcomes estimates with intervals),
    `variance` the random effects, `prose` a paragraph for a report. Tables, record, prose and findings follow from
    the fit; the tables that are drawn from simulated data are made when they are first looked at.
    """

    fit: MixedFit
    spec: str
    model_column: str
    role: str
    level: float
    symmetric: bool
    decisions: tuple[Decision, ...]
    transform: str
    diagnostics: Diagnostics
    specifications: Specifications | None = None
    excluded_by_model: dict[str, int] = field(default_factory=dict)
    per_model: pl.DataFrame | None = None
    marginal: pl.DataFrame | None = None
    influence: pl.DataFrame | None = None
    """Coefficients without each level of a column, and their shift in standard errors."""
    tests: TermTests
    """How every coefficient was tested."""
    more_findings: tuple[Finding, ...] = ()
    """About the request and the workflow."""
    absent: tuple[Finding, ...] = ()
    """What became of scores that were not there."""
    metric: str = ""
    """What the outcome is, where it is the score of a metric."""
    better: str | None = "larger"
    """Which values of the outcome are better; None where nobody said."""
    full_likelihood: float | None = None
    """The full log-likelihood at its own maximum, where the fit is by the restricted one."""
    separation: str = "penalise"
    """What became of properties that separate the outcome: `penalise`, `drop` or `firth`."""
    parts: TwoParts | None = None
    """Of scores with exact zeros: effects on hits and on the scores of hits."""
    unit: str = ""
    """The finest unit, where one is known."""
    speaks_of: str = ""
    """Which models the effects are for, in words; empty where none are told apart."""
    additions: tuple[Addition, ...] = ()
    """What was asked for beside the effects."""

    def __post_init__(self) -> None:
        extra = {"per_model": self.per_model, "marginal": self.marginal, "influence": self.influence}
        tables = {
            "effects": effects_table(
                self.fit,
                self.tests,
                symmetric=self.symmetric,
                withheld=_withheld(self),
                better=self.better,
            ),
            "variance": tables_of.VARIANCE.frame(
                variance_table(self.fit, level=self.level).drop("levels", "low", "high")
            ),
            **{name: frame for name, frame in extra.items() if frame is not None},
            **factor_tables(self.fit, self.tests, level=self.level),
        }
        if self.fit.family == "ordered-beta":
            tables["score_differences"] = score_differences(self.fit, self.tests, level=self.level)
        if self.parts is not None:
            tables["parts"] = self.parts.table
        tables |= {name: frame for more in self.additions for name, frame in more.tables.items()}
        self._set(main="effects", tables=FitTables(tables, self.fit, level=self.level))
        kept = (finding for finding in self.findings if finding.code in CODES)
        self._set(findings=(*kept, *_findings(self)))
        words = [_prose(self), *(more.prose for more in self.additions if more.prose)]
        self._set(prose="\n\n".join(words), records={"fit": _record(self)})

    def _set(self, **fields: Any) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    def variance(self) -> pl.DataFrame:
        """Random effects: group, variance, sd, icc."""
        return self.tables["variance"]

    @property
    def title(self) -> str:
        """The model, its size and what was significant."""
        significant = self.table.filter(pl.col("symbol").is_in(["", NOT_ASSESSABLE]).not_())
        shown = ", ".join(f"{row['term']} {row['symbol']}" for row in significant.iter_rows(named=True)) or "none"
        return f"Failures({self.fit.design.model}, {self.fit.design.rows} rows, spec {self.spec}; significant: {shown})"

    def screen(self) -> Mapping[str, pl.DataFrame]:
        """Effects, random effects and marginal odds ratios."""
        shown = {"Effects:": self.table, "Random effects:": self.variance}
        if "joint" in self.tables:
            shown |= {"Factors as a whole:": self.tables["joint"], "Pairs of categories (Tukey):": self.tables["pairs"]}
        if "score_differences" in self.tables:
            shown["In points of the score, averaged over the data:"] = self.tables["score_differences"]
        if self.parts is not None and self.parts.opposed:
            shown["Hits and scores of hits:"] = self.parts.table
        if self.marginal is not None:
            shown["Marginal odds ratios (cluster-robust; not comparable with those above):"] = self.marginal
        return shown | {line: self.tables[name] for more in self.additions for line, name in more.screen.items()}

    def as_dict(self) -> dict[str, Any]:
        """Effects, variances and the record of the fit as plain data."""
        names = ("effects", "variance", *(name for more in self.additions for name in more.tables))
        return {**{name: self.tables[name].to_dicts() for name in names}, **self.records["fit"]}


def _findings(result: FailuresResult) -> Iterator[Finding]:
    """What a reader must know before the numbers, and the decisions that led to the model."""
    design = result.fit.design
    yield from result.absent
    for name, reason in design.not_assessable.items():
        yield remark("not-assessable", f"{name} {reason}; not assessable")
    for name, reason in design.dropped_factors.items():
        yield remark("random-effect-dropped", f"random effect {name} {reason}; left out")
    for reason, count in design.excluded.items():
        yield remark("rows-left-out", f"{count} rows left out: {reason}")
    if len(set(result.excluded_by_model.values())) > 1:
        counts = ", ".join(f"{model}: {n}" for model, n in result.excluded_by_model.items())
        text = f"rows without trials differ between models ({counts}); their effects rest on selected rows"
        yield remark("rows-selected", text)
    if result.spec == "ross" and result.specifications is not None:
        yield remark("spec-paper", PAPER_WARNING)
    yield from (remark("decisive-level", text) for text in _decisive(result.influence))
    noticed = (
        *result.more_findings,
        *(result.parts.findings if result.parts else ()),
        *result.tests.findings,
        *result.diagnostics.findings,
    )
    yield from (finding for more in result.additions for finding in more.findings)
    yield from sorted(noticed, key=lambda finding: list(Severity).index(finding.severity))
    yield from (remark("decision", str(decision), subject="Decision") for decision in result.decisions)


def effects_table(
    fitted: MixedFit,
    tests: TermTests,
    *,
    symmetric: bool = False,
    withheld: Container[str] = (),
    better: str | None = "larger",
) -> pl.DataFrame:
    """The effects in the published columns, with `x` rows for what could not be assessed.

    Symbols go by Holm's p, and those of penalised coefficients stand in brackets; coefficients among `withheld` are
    shown without p values; `better` says which values of the outcome are, so that a plus helps and a minus hurts.
    """
    ratio, sd = fitted.family != "gaussian", float(np.std(fitted.design.response, ddof=1))
    rows = []
    for row in tests.table.drop("p_bh").iter_rows(named=True):
        row |= {"p_value": None, "p_holm": None} if row["term"] in withheld else {}
        size = float(np.exp(min(row["estimate"], 700.0))) if ratio else None
        ends = {end: _exp(row[end]) if ratio else row[end] for end in ("low", "high")}
        p_holm = math.nan if row["p_holm"] is None else row["p_holm"]
        mark = (
            ""
            if row["term"] == INTERCEPT
            else effect_symbol(row["estimate"], p_holm, ratio=ratio, better=better, symmetric=symmetric, sd=sd)
        )
        if mark != NOT_ASSESSABLE and row["videos"] is not None and row["videos"] < FEWEST_MARKED:
            mark = ""
        mark = f"({mark})" if mark and row["term"] in fitted.penalty else mark
        rows.append({**row, "odds_ratio": size, **ends, "symbol": mark})
    return tables_of.EFFECTS.frame(rows + unassessed(fitted.design.not_assessable))


def _withheld(result: FailuresResult) -> Container[str]:
    """Coefficients whose p values must not be read: all of a rejected model, and those whose parts are opposed."""
    if any(finding.code == "rejected-model" for finding in result.more_findings):
        return result.fit.names
    return result.parts.opposed if result.parts is not None else ()


def unassessed(terms: Iterable[str]) -> list[dict[str, Any]]:
    """A row with `x` and no number for each of the terms."""
    empty = {name: None for name in tables_of.EFFECTS.columns if name not in ("term", "symbol")}
    return [{"term": term, **empty, "symbol": NOT_ASSESSABLE} for term in terms]


def _decisive(influence: pl.DataFrame | None) -> list[str]:
    """Levels without which an effect moves by more than its standard error."""
    if influence is None:
        return []
    large = influence.filter((pl.col("shift").abs() > 1) & (pl.col("term") != INTERCEPT))
    return [
        f"without {row['column']} {row['left_out']} the effect of {row['term']} moves by {row['shift']:+.1f} standard "
        "errors; it rests on few"
        for row in large.sort(pl.col("shift").abs(), descending=True).head(5).iter_rows(named=True)
    ]


def _exp(value: float | None) -> float | None:
    return None if value is None else math.exp(min(value, 700.0))


def _record(result: FailuresResult) -> dict[str, Any]:
    fitted, design = result.fit, result.fit.design
    shares, spread = explained(fitted), variance_table(fitted, level=result.level)
    wald = result.tests.table
    full = fitted.log_likelihood if result.full_likelihood is None else result.full_likelihood
    record: dict[str, Any] = {
        "log_likelihood": full,
        "rows": design.rows,
        "log_likelihood_reml": fitted.log_likelihood if fitted.method.endswith("reml") else None,
        "levels": {group.name: len(group.labels) for group in fitted.groups},
        "converged": fitted.convergence.converged,
        "singular": bool(fitted.convergence.singular),
        "singular_groups": list(fitted.convergence.singular),
        "spec": result.spec,
        "formula": str(design.model),
        "better": result.better,
        "family": fitted.family,
        "method": fitted.method,
        "transform": result.transform,
        "aic": 2 * fitted.parameters - 2 * full,
        "bic": math.log(design.rows) * fitted.parameters - 2 * full,
        "parameters": fitted.parameters,
        "residual_sd": fitted.sigma,
        "precision": fitted.precision,
        "cutpoints": fitted.cutpoints and list(fitted.cutpoints),
        "r2_marginal": shares.marginal,
        "r2_conditional": shares.conditional,
        "sd_intervals": {row["group"]: [row["low"], row["high"]] for row in spread.iter_rows(named=True)},
        "p_bh": dict(zip(wald["term"], wald["p_bh"], strict=True)),
        "level": result.level,
        "excluded": dict(design.excluded),
        "excluded_by_model": result.excluded_by_model,
        "not_assessable": dict(design.not_assessable),
        "dropped_random_effects": dict(design.dropped_factors),
        "role_of_models": result.role,
        "decisions": [str(decision) for decision in result.decisions],
        "convergence": {
            "iterations": fitted.convergence.iterations,
            "evaluations": fitted.convergence.evaluations,
            "distance_in_standard_errors": fitted.convergence.distance,
            "smallest_eigenvalue": fitted.convergence.smallest_eigenvalue,
            "engine": fitted.convergence.engine,
        },
        "vif": result.diagnostics.vif,
        "condition_number": result.diagnostics.condition,
        "prevalence": result.diagnostics.prevalence.to_dicts(),
        "co_occurrence": result.diagnostics.co_occurrence.to_dicts(),
        "qq_random_effects": result.diagnostics.qq,
        "findings": [finding.as_dict() for finding in result.findings if finding.code != "decision"],
        "warnings": list(result.warnings),
        "separation": result.separation,
        "penalised": dict(fitted.penalty),
        **_tests_record(result.tests, fitted.method),
    }
    if result.specifications is not None:
        record["pearson_dispersion"] = result.specifications.dispersion
        if (test := result.specifications.test) is not None:
            record["specification_test"] = test._asdict()
    finite: dict[str, Any] = _finite(record)
    return finite


def _tests_record(tests: TermTests, method: str) -> dict[str, Any]:
    """How effects were tested, and how much each varies between videos where it was free to."""
    varying = {
        c.name: {"slope_sd": c.slope_sd, "heterogeneity_p": c.heterogeneity_p, "range": c.video_effects}
        for c in tests.fits
        if c.slope_sd is not None
    }
    inference = "firth-profile" if method == "firth" else tests.inference
    return {"inference": inference, "video": tests.video, "effects_by_video": varying}


def _finite(value: Any) -> Any:
    """Plain data without NaN or infinity, which JSON does not know."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _outcome(result: FailuresResult) -> str:
    """The outcome as the user calls it, on the scale that was fitted."""
    if not result.metric:
        return result.fit.design.model.outcome
    return result.metric if result.transform == "none" else f"{result.transform}({result.metric})"


def _prose(result: FailuresResult) -> str:
    fitted, table = result.fit, result.table.filter(pl.col("term") != INTERCEPT)
    kinds = {
        "binomial": "binomial mixed model (logit link, Laplace approximation)",
        "gaussian": "linear mixed model",
        "poisson": "Poisson mixed model (log link, Laplace approximation)",
        "ordered-beta": "ordered beta mixed model (logit link, Laplace approximation; exact 0 and 1 by cutpoints)",
    }
    how = "z tests and full likelihood"
    if fitted.method == "firth":
        how = "Firth's penalised likelihood, tests and intervals by its profile"
    if result.tests.inference == "reml-t":
        how = (
            "restricted likelihood and t tests whose degrees of freedom count levels of "
            f"{result.tests.video}, effects that change inside them free to vary between them"
        )
    groups = ", ".join(f"{group.name} ({len(group.labels)})" for group in fitted.groups)
    groups = f"with random intercepts for {groups}" if groups else "without random effects, rows treated as independent"
    kind = kinds.get(fitted.family, fitted.family) if fitted.groups else _FLAT.get(fitted.family, fitted.family)
    assessed = table.filter(~pl.col("symbol").str.contains(NOT_ASSESSABLE))
    raw, kept = (assessed.filter(pl.col(p) <= ALPHA) for p in ("p_value", "p_holm"))
    parts = [
        f"{'An' if kind[0] in 'aeiou' else 'A'} {kind} of {_outcome(result)} was fitted to "
        f"{fitted.design.rows:,} rows {groups}; specification {result.spec}, {how}.",
        f"Of {table.height} properties {assessed.height} could be assessed; {raw.height} had p <= {ALPHA:g}, "
        f"{kept.height} after Holm's correction."
        if table.height
        else "No property was named (--fixed), so nothing is said about any.",
    ]
    if result.speaks_of:
        parts.append(f"Effects are for {result.speaks_of}.")
    sign = -1 if result.better == "smaller" else 1
    ordered = kept.filter(pl.col("symbol") != "").sort(sign * pl.col("estimate"))
    if fitted.family == "binomial" and ordered.height:
        worst, best = ordered.row(0, named=True), ordered.row(-1, named=True)
        if sign * worst["estimate"] < 0:
            parts.append(f"Most harmful: {_spoken(worst, result.level)}.")
        if sign * best["estimate"] > 0:
            parts.append(f"Most helpful: {_spoken(best, result.level)}.")
        if fitted.groups:
            parts.append("Odds ratios compare cases with equal random effects (conditional).")
    if not fitted.convergence.converged:
        parts.append("The fit did not converge; its numbers must not be used.")
    return " ".join(parts)


def _spoken(row: dict[str, Any], level: float) -> str:
    return (
        f"{row['term']} (odds ratio {row['odds_ratio']:.2f}, {level:.0%} interval {row['low']:.2f} to "
        f"{row['high']:.2f}, {p_phrase(row['p_holm'])} by Holm, {p_phrase(row['p_value'])} uncorrected"
        f"{_freedom(row['df'])})"
    )


def _freedom(df: float | None) -> str:
    return "" if df is None else f", df = {df:.3g}"
