"""What a failure analysis gives back: effect and variance tables, a record of the fit, and a paragraph in words."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy import stats

from surgeval.errors import Misuse, WouldOverwrite
from surgeval.results.manifest import Manifest
from surgeval.schema.documents import json_text
from surgeval.schema.findings import Finding, Severity
from surgeval.schema.shown_tables import notebook_table
from surgeval.stats.mixed.components import explained, variance_table
from surgeval.stats.mixed.design import INTERCEPT
from surgeval.stats.mixed.diagnostics import Diagnostics
from surgeval.stats.mixed.inference import Ratio, wald_table
from surgeval.stats.mixed.result import MixedFit
from surgeval.stats.mixed.symbols import ALPHA, NOT_ASSESSABLE, symbol
from surgeval.stats.mixed.term_tests import MORE_COLUMNS, TermTests, term_tests
from surgeval.stats.mixed.workflow import Decision

EFFECT_COLUMNS = (
    "term", "estimate", "std_error", "z", "p_value", "p_holm", "odds_ratio", "ci_low", "ci_high", "symbol",
    *MORE_COLUMNS,
)  # fmt: skip
VARIANCE_COLUMNS = ("group", "variance", "sd", "icc")
PAPER_WARNING = (
    "spec `paper` has no effect of (model, unit): contrasts between models, and effects that vary between models, have "
    "standard errors that can be tens of times too small. Use spec `default` to compare models."
)


class Specifications(NamedTuple):
    """The two specifications compared."""

    dispersion: float
    """Pearson dispersion under `paper`; far above one, counts vary more than binomially."""
    test: Ratio | None
    """Of the effect that `default` adds."""


@dataclass(frozen=True)
class Failures:
    """Why models fail, in numbers.

    `table` holds the effects (odds ratios with intervals; for continuous outcomes estimates with intervals),
    `variance` the random effects, `prose` a paragraph for a report.
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
    tests: TermTests | None = None
    """How every coefficient was tested."""
    more_findings: tuple[Finding, ...] = ()

    @property
    def table(self) -> pl.DataFrame:
        """The effects, one row per coefficient; those not assessable carry `x`."""
        rejected = any(finding.code == "rejected-model" for finding in self.more_findings)
        return effects_table(self.fit, self.tests, level=self.level, symmetric=self.symmetric, withheld=rejected)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All that was noticed about data, fit and tests, the gravest first."""
        noticed = (*self.more_findings, *(self.tests.findings if self.tests else ()), *self.diagnostics.findings)
        return tuple(sorted(noticed, key=lambda finding: list(Severity).index(finding.severity)))

    @property
    def notes(self) -> list[str]:
        """What is worth knowing beside the warnings."""
        return [finding.message for finding in self.findings if finding.severity == Severity.NOTE]

    @property
    def variance(self) -> pl.DataFrame:
        """Random effects: group, variance, sd, icc."""
        return variance_table(self.fit, level=self.level).select(VARIANCE_COLUMNS)

    @property
    def warnings(self) -> list[str]:
        """What a reader must know before the numbers."""
        found = [f"{name} {reason}; not assessable" for name, reason in self.fit.design.not_assessable.items()]
        found += [f"random effect {n} {why}; left out" for n, why in self.fit.design.dropped_factors.items()]
        found += [f"{count} rows left out: {reason}" for reason, count in self.fit.design.excluded.items()]
        if len(set(self.excluded_by_model.values())) > 1:
            counts = ", ".join(f"{model}: {n}" for model, n in self.excluded_by_model.items())
            found.append(f"rows without trials differ between models ({counts}); their effects rest on selected rows")
        if self.spec == "paper" and self.specifications is not None:
            found.append(PAPER_WARNING)
        return found + _decisive(self.influence) + [f.message for f in self.findings if f.severity == Severity.WARNING]

    @property
    def prose(self) -> str:
        """One paragraph: model, data, findings."""
        return _prose(self)

    def contrasts(self) -> pl.DataFrame:
        """Differences between models on the scale of the linear predictor, with a warning under `paper`.

        Where models are random these are differences of predictions (shrunk, correlation neglected); enter
        models as fixed to test them.
        """
        return _contrasts(self)

    def record(self) -> dict[str, Any]:
        """The contents of `fit.json`."""
        return _record(self)

    def to_dir(self, path: str | Path, *, inputs: Iterable[str | Path] = (), force: bool = False) -> None:
        """Write `effects.csv`, `variance.csv`, `fit.json`, what else there is, and `manifest.json`.

        Raises:
            WouldOverwrite: The folder holds an earlier result and `force` is off.
        """
        folder = Path(path)
        if (folder / "effects.csv").exists() and not force:
            raise WouldOverwrite(folder / "effects.csv")
        folder.mkdir(parents=True, exist_ok=True)
        self.table.write_csv(folder / "effects.csv")
        self.variance.write_csv(folder / "variance.csv")
        extra = {"per_model": self.per_model, "marginal": self.marginal, "influence": self.influence}
        for name, frame in extra.items():
            if frame is not None:
                frame.write_csv(folder / f"{name}.csv")
        (folder / "fit.json").write_text(json_text(self.record(), indent=2) + "\n", encoding="utf-8")
        (folder / "methods.txt").write_text(
            "\n".join([self.prose, *self.warnings, *self.notes]) + "\n", encoding="utf-8"
        )
        options = {"formula": str(self.fit.design.model), "spec": self.spec, "role": self.role, "level": self.level}
        Manifest("failures", options, inputs).to_dir(folder)

    def __repr__(self) -> str:
        significant = self.table.filter(pl.col("symbol").is_in(["", NOT_ASSESSABLE]).not_())
        shown = ", ".join(f"{row['term']} {row['symbol']}" for row in significant.iter_rows(named=True)) or "none"
        return f"Failures({self.fit.design.model}, {self.fit.design.rows} rows, spec {self.spec}; significant: {shown})"

    def _repr_html_(self) -> str:
        title = f"Failures: {self.fit.design.model}"
        return notebook_table(self.table, title=title, prose=self.prose, warnings=self.warnings)


def effects_table(
    found: MixedFit,
    tests: TermTests | None = None,
    *,
    level: float = 0.95,
    symmetric: bool = False,
    withheld: bool = False,
) -> pl.DataFrame:
    """The effects in the published columns, with `x` rows for what could not be assessed.

    Symbols of penalised coefficients stand in brackets; `withheld` leaves out the p values of a rejected model.
    """
    table = (tests or term_tests(found, None, inference="wald-z", level=level)).table
    ratio = found.family != "gaussian"
    rows = []
    for row in table.iter_rows(named=True):
        if withheld:
            row |= {"p_value": None, "p_holm": None}
        size = float(np.exp(min(row["estimate"], 700.0))) if ratio else None
        ends = [_exp(row[end]) if ratio else row[end] for end in ("ci_low", "ci_high")]
        mark = "" if row["term"] == INTERCEPT else _mark(row, size, symmetric)
        mark = f"({mark})" if mark and row["term"] in found.penalty else mark
        rows.append([row[name] for name in EFFECT_COLUMNS[:6]] + [size, *ends, mark] + [row[n] for n in MORE_COLUMNS])
    missing = [[name, *([None] * 8), NOT_ASSESSABLE, *([None] * len(MORE_COLUMNS))]
               for name in found.design.not_assessable]  # fmt: skip
    texts = ("term", "symbol")
    schema = {name: pl.String if name in texts else MORE_COLUMNS.get(name, pl.Float64()) for name in EFFECT_COLUMNS}
    return pl.DataFrame(rows + missing, schema=schema, orient="row")


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


def _mark(row: dict[str, Any], size: float | None, symmetric: bool) -> str:
    """Seed symbols for odds ratios; direction alone for continuous outcomes, where no bins are defined."""
    p_value = float("nan") if row["p_value"] is None else row["p_value"]
    if size is not None:
        return symbol(size, p_value, symmetric=symmetric)
    if math.isnan(p_value):
        return NOT_ASSESSABLE
    return "" if p_value > ALPHA else "+" if row["estimate"] > 0 else "-"


def _record(result: Failures) -> dict[str, Any]:
    found, design = result.fit, result.fit.design
    shares, spread = explained(found), variance_table(found, level=result.level)
    wald = result.tests.table if result.tests else wald_table(found, level=result.level)
    record: dict[str, Any] = {
        "log_likelihood": found.log_likelihood, "rows": design.rows,
        "levels": {group.name: len(group.labels) for group in found.groups},
        "converged": found.convergence.converged, "singular": bool(found.convergence.singular),
        "singular_groups": list(found.convergence.singular), "spec": result.spec,
        "formula": str(design.model), "family": found.family, "method": found.method, "transform": result.transform,
        "aic": found.aic, "bic": found.bic, "parameters": found.parameters, "residual_sd": found.sigma,
        "r2_marginal": shares.marginal, "r2_conditional": shares.conditional,
        "sd_intervals": {row["group"]: [row["ci_low"], row["ci_high"]] for row in spread.iter_rows(named=True)},
        "p_bh": dict(zip(wald["term"], wald["p_bh"], strict=True)), "level": result.level,
        "excluded": dict(design.excluded), "excluded_by_model": result.excluded_by_model,
        "not_assessable": dict(design.not_assessable), "dropped_random_effects": dict(design.dropped_factors),
        "role_of_models": result.role, "decisions": [str(decision) for decision in result.decisions],
        "convergence": {"iterations": found.convergence.iterations, "evaluations": found.convergence.evaluations,
                        "distance_in_standard_errors": found.convergence.distance,
                        "smallest_eigenvalue": found.convergence.smallest_eigenvalue,
                        "engine": found.convergence.engine},
        "vif": result.diagnostics.vif, "condition_number": result.diagnostics.condition,
        "prevalence": result.diagnostics.prevalence.to_dicts(),
        "co_occurrence": result.diagnostics.co_occurrence.to_dicts(), "qq_random_effects": result.diagnostics.qq,
        "findings": [finding.as_dict() for finding in result.findings], "warnings": result.warnings,
        "notes": result.notes, "penalised": dict(found.penalty), **_tests_record(result.tests),
    }  # fmt: skip
    if result.specifications is not None:
        record["pearson_dispersion"] = result.specifications.dispersion
        if (test := result.specifications.test) is not None:
            record["specification_test"] = test._asdict()
    finite: dict[str, Any] = _finite(record)
    return finite


def _tests_record(tests: TermTests | None) -> dict[str, Any]:
    """How effects were tested, and how much each varies between videos where it was free to."""
    if tests is None:
        return {}
    varying = {c.name: {"slope_sd": c.slope_sd, "heterogeneity_p": c.heterogeneity_p, "range": c.video_effects}
               for c in tests.fits if c.slope_sd is not None}  # fmt: skip
    return {"inference": tests.inference, "video": tests.video, "effects_by_video": varying}


def _finite(value: Any) -> Any:
    """Plain data without NaN or infinity, which JSON does not know."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _prose(result: Failures) -> str:
    found, table = result.fit, result.table.filter(pl.col("term") != INTERCEPT)
    kinds = {"binomial": "binomial mixed model (logit link, Laplace approximation)", "gaussian": "linear mixed model",
             "poisson": "Poisson mixed model (log link, Laplace approximation)"}  # fmt: skip
    how = "z tests and full likelihood"
    if result.tests is not None and result.tests.inference == "reml-t":
        how = ("restricted likelihood and t tests whose degrees of freedom count levels of "
               f"{result.tests.video}, effects that change inside them free to vary between them")  # fmt: skip
    groups = ", ".join(f"{group.name} ({len(group.labels)})" for group in found.groups) or "none"
    assessed = table.filter(~pl.col("symbol").str.contains(NOT_ASSESSABLE))
    raw, kept = (assessed.filter(pl.col(p) <= ALPHA) for p in ("p_value", "p_holm"))
    parts = [
        f"A {kinds.get(found.family, found.family)} of {found.design.model.outcome} was fitted to "
        f"{found.design.rows:,} rows with random intercepts for {groups}; specification {result.spec}, {how}.",
        f"Of {table.height} properties {assessed.height} could be assessed; {raw.height} had p <= {ALPHA:g}, "
        f"{kept.height} after Holm's correction.",
    ]
    ordered = raw.sort("estimate")
    if found.family == "binomial" and ordered.height:
        worst, best = ordered.row(0, named=True), ordered.row(-1, named=True)
        if worst["estimate"] < 0:
            parts.append(f"Most harmful: {_spoken(worst, result.level)}.")
        if best["estimate"] > 0:
            parts.append(f"Most helpful: {_spoken(best, result.level)}.")
        parts.append("Odds ratios compare cases with equal random effects (conditional).")
    if not found.convergence.converged:
        parts.append("The fit did not converge; its numbers must not be used.")
    return " ".join(parts)


def _spoken(row: dict[str, Any], level: float) -> str:
    return (
        f"{row['term']} (odds ratio {row['odds_ratio']:.2f}, {level:.0%} interval {row['ci_low']:.2f} to "
        f"{row['ci_high']:.2f}, p = {row['p_value']:.2g}{_freedom(row['df'])})"
    )


def _freedom(df: float | None) -> str:
    return "" if df is None else f", df = {df:.3g}"


def _contrasts(result: Failures) -> pl.DataFrame:
    names, center, covariance = _model_effects(result)
    warning = PAPER_WARNING if result.spec == "paper" and result.specifications is not None else ""
    first = next((name for name in result.fit.names if name.startswith(f"{result.model_column}[")), "")
    known = result.tests.freedom(first) if result.tests is not None and first else float("inf")
    freedom = float("nan") if known is None else known
    rows = []
    for (i, a), (j, b) in combinations(enumerate(names), 2):
        difference = float(center[i] - center[j])
        error = float(np.sqrt(max(covariance[i, i] + covariance[j, j] - 2 * covariance[i, j], 0.0)))
        p_value = 2 * float(stats.t.sf(abs(difference) / error, freedom)) if error > 0 else float("nan")
        rows.append((a, b, difference, error, p_value, warning))
    schema = {"model_a": pl.String, "model_b": pl.String, "difference": pl.Float64, "std_error": pl.Float64,
              "p_value": pl.Float64, "warning": pl.String}  # fmt: skip
    return pl.DataFrame(rows, schema=schema, orient="row").fill_nan(None)


def _model_effects(result: Failures) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Effect of every model and its covariance, the first being the reference where models are fixed."""
    column = result.model_column
    found = result.fit if result.tests is None else result.tests.fit_of(column, result.fit)
    for group in found.groups:
        if group.name == column:
            return group.labels.to_list(), group.mean, np.diag(group.spread**2)
    prefix = f"{column}["
    own = [j for j, name in enumerate(found.names) if name.startswith(prefix) and ":" not in name]
    if not own:
        raise Misuse("models are not part of this fit, so they cannot be compared; give them a random or fixed role")
    levels = found.design.frame[column].cast(pl.String).unique().sort().to_list()
    covariance = np.zeros((len(own) + 1, len(own) + 1))
    covariance[1:, 1:] = found.covariance[np.ix_(own, own)]
    return levels, np.r_[0.0, found.beta[own]], covariance
