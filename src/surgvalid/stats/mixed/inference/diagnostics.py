"""What should be known before a fitted model is believed: collinearity, sparse cells, separation, convergence.

With ten patients one of them can carry an effect: `leave_one_out` refits without each level in turn (Cook's idea at the
level of clusters) and shows which. Everything here is data (numbers and findings), so that a report or a test can count
it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import polars as pl

from surgvalid.errors import Misuse, TableInvalid, UnknownName
from surgvalid.schema.findings import Finding
from surgvalid.schema.statistic_rules import remark
from surgvalid.stats.mixed.fit.fit import fit
from surgvalid.stats.mixed.fit.result import MixedFit
from surgvalid.stats.mixed.fit.separation import separating_terms
from surgvalid.stats.mixed.inference.residuals import normal_correlation
from surgvalid.stats.mixed.model.design import Design, design_of, factor_of
from surgvalid.stats.mixed.model.formula import column_of
from surgvalid.stats.mixed.model.structure import is_nested

SPARSE = 10
"""Units with a property below which its effect is hardly assessable."""
HIGH_VIF = 5.0
"""Standard errors are then 2.2 times those of a property that no other resembles; textbooks say 5 or 10."""
HIGH_CONDITION = 30.0
"""The bound of Belsley, Kuh and Welsch (1980)."""
FEW_LEVELS = 5
QQ_LEVELS = 20
"""Levels a random effect needs before its Q-Q plot says anything."""
STRAIGHT = 0.95
"""Correlation of a Q-Q plot of predictions below which it counts as bent."""


@dataclass(frozen=True)
class Diagnostics:
    """Numbers about the design and the fit, and the findings they give rise to."""

    vif: dict[str, float]
    """Variance inflation factor per coefficient."""
    condition: float
    """Condition number of the scaled design matrix."""
    prevalence: pl.DataFrame
    """Per 0/1 property: share of rows, and units of the finest random effect that have it."""
    co_occurrence: pl.DataFrame
    """Correlation (phi) of every pair of properties."""
    qq: dict[str, float]
    """Straightness of the Q-Q plot of each random effect's predictions."""
    findings: tuple[Finding, ...]


def diagnose(fitted: MixedFit, *, unit: str = "") -> Diagnostics:
    """All checks of a fit that need no refitting; `unit` is the finest unit, where it is known by name."""
    design = fitted.design
    vif, condition = inflation(design)
    prevalence = prevalences(design, unit=unit)
    qq = {g.name: normal_correlation(g.mean) for g in fitted.groups if g.sd > 0 and len(g.labels) >= QQ_LEVELS}
    findings = [
        *_collinearity(vif, condition),
        *_sparse(prevalence),
        *_separation(fitted),
        *_convergence(fitted),
        *_crossed(design),
        *_lone_interactions(design),
        *_bent(qq),
    ]
    return Diagnostics(vif, condition, prevalence, co_occurrence(design), qq, tuple(findings))


def inflation(design: Design) -> tuple[dict[str, float], float]:
    """Variance inflation factors of the properties, and the condition number of the scaled columns.

    The factor of a property is `1 / (1 - R^2)` with R^2 that of its regression on the others, the diagonal of the
    inverse correlation matrix. For the condition number columns have length one and are not centred, as Belsley, Kuh
    and Welsch ask: centring would hide a property that hardly differs from the intercept.
    """
    properties = design.fixed[:, 1:]
    if not properties.shape[1]:
        return {}, 1.0
    correlation = np.atleast_2d(np.corrcoef(properties, rowvar=False))
    factors = np.diag(np.linalg.inv(correlation))
    scaled = design.fixed / np.sqrt((design.fixed**2).sum(axis=0))
    eigenvalues = np.linalg.eigvalsh(scaled.T @ scaled)
    condition = float(np.sqrt(eigenvalues[-1] / max(eigenvalues[0], 1e-300)))
    return dict(zip(design.names[1:], factors.tolist(), strict=True)), condition


def prevalences(design: Design, *, unit: str = "") -> pl.DataFrame:
    """Share of rows with each 0/1 property, and how many units have it (rows, without a unit)."""
    rows = []
    for name, column in zip(design.names[1:], design.fixed.T[1:], strict=True):
        if not np.isin(column, (0.0, 1.0)).all():
            continue
        having = column == 1
        units = count = int(having.sum())
        if unit:
            units = design.frame.filter(pl.Series(having)).select(unit.split(":")).n_unique()
        rows.append((name, count / max(design.rows, 1), count, units))
    return pl.DataFrame(rows, schema=["term", "share", "rows", "units"], orient="row")


def co_occurrence(design: Design) -> pl.DataFrame:
    """Phi coefficient (correlation) of every pair of properties: `term_a, term_b, phi`."""
    names = design.names[1:]
    correlation = np.atleast_2d(np.corrcoef(design.fixed[:, 1:], rowvar=False)) if names else np.zeros((0, 0))
    rows = [(names[i], names[j], float(correlation[i, j])) for i in range(len(names)) for j in range(i)]
    schema = {"term_a": pl.String, "term_b": pl.String, "phi": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _collinearity(vif: dict[str, float], condition: float) -> list[Finding]:
    findings = [
        remark("collinear", f"{name} overlaps with other properties (variance inflation {value:.1f})", name)
        for name, value in vif.items()
        if value > HIGH_VIF
    ]
    if condition > HIGH_CONDITION:
        findings.append(remark("ill-conditioned", f"the design matrix has condition number {condition:.0f}"))
    return findings


def _sparse(prevalence: pl.DataFrame) -> list[Finding]:
    few = prevalence.filter(pl.col("units") < SPARSE)
    return [
        remark("sparse", f"only {row['units']} units have {row['term']}; its effect is hardly assessable", row["term"])
        for row in few.iter_rows(named=True)
    ]


def _separation(fitted: MixedFit) -> list[Finding]:
    if fitted.family == "gaussian":
        return []
    together = separating_terms(fitted.design) if fitted.family == "binomial" else []
    together = [] if set(together) <= set(fitted.penalty) else together
    findings = (
        [
            remark(
                "separation",
                f"{', '.join(together)} separate the outcome, so odds ratios have no finite best value. "
                "Leave one out, or have them penalised (separation penalise)",
                together[0],
            )
        ]
        if together
        else []
    )
    extreme = (np.abs(fitted.beta) > 10) | (fitted.standard_errors > 10)
    return findings + [
        remark(
            "separation",
            f"{name} has estimate {value:.1f} with standard error {error:.1f}; properties "
            "probably separate the outcome. Leave it out, or have it penalised (separation penalise)",
            name,
        )
        for name, value, error, bad in zip(fitted.names, fitted.beta, fitted.standard_errors, extreme, strict=True)
        if bad and name in fitted.names[1:] and name not in together
    ]


def _convergence(fitted: MixedFit) -> list[Finding]:
    findings = []
    if not fitted.convergence.converged:
        findings.append(
            remark(
                "not-converged",
                f"the optimiser stopped {fitted.convergence.distance:.2g} standard errors from "
                f"the optimum (smallest eigenvalue {fitted.convergence.smallest_eigenvalue:.2g})",
            )
        )
    findings += [
        remark("singular", f"the variance of {name} is estimated as zero", name) for name in fitted.convergence.singular
    ]
    findings += [
        remark("few-levels", f"{group.name} has {len(group.labels)} levels; its variance is hardly known", group.name)
        for group in fitted.groups
        if len(group.labels) <= 2 * FEW_LEVELS
    ]
    return findings


def _crossed(design: Design) -> list[Finding]:
    """Groups whose labels recur within others named before them, as frame numbers do between videos."""
    findings = []
    named = [factor for factor in design.factors if ":" not in factor.name and factor.values is None]
    for coarse, fine in pairwise(named[1:]):
        if coarse.levels < fine.levels and not is_nested(fine, coarse):
            findings.append(
                remark(
                    "crossed",
                    f"levels of {fine.name} recur in several levels of {coarse.name}; "
                    f"if they are different things with equal names, write {coarse.name}:{fine.name}",
                    fine.name,
                )
            )
    return findings


def _lone_interactions(design: Design) -> list[Finding]:
    """Interactions of properties that do not enter by themselves, so that one has no effect where the other is zero."""
    named = {column_of(term) for term in (*design.model.fixed, *design.model.random)}
    findings = []
    for term in design.model.fixed:
        parts = [column_of(variable) for variable in term.split(":")]
        if lone := [name for name in parts if name not in named]:
            message = (
                f"{term} enters without {' and '.join(lone)}, whose own effect is thereby set to zero; name it too"
            )
            findings.append(remark("lone-interaction", message, term))
    return findings


def _bent(qq: dict[str, float]) -> list[Finding]:
    return [
        remark("not-normal", f"predictions of {name} depart from a normal curve (Q-Q correlation {value:.3f})", name)
        for name, value in qq.items()
        if value < STRAIGHT
    ]


MOST_REFITS = 500


def leave_one_out(fitted: MixedFit, column: str) -> pl.DataFrame:
    """Coefficients without each level of `column`: rows `left_out, term, estimate, shift`.

    `shift` is the change in units of the standard error with all data; above one, a single level decides.
    A coefficient that cannot be estimated without a level has no estimate there.

    Raises:
        UnknownName: The model has no such column.
        Misuse: There are too many levels to refit one by one.
    """
    frame = fitted.design.frame
    if column not in frame.columns:
        raise UnknownName("column of the model", column, frame.columns)
    groups = factor_of(frame, column)
    if groups.levels > MOST_REFITS:
        raise Misuse(f"column {column!r} has {groups.levels:,} levels; leaving out each would take as many refits")
    if groups.levels < 3:
        raise Misuse(f"column {column!r} has {groups.levels} levels; leaving one out leaves nothing to compare")
    rows: list[tuple[str, str, float | None, float | None]] = []
    for level, label in enumerate(groups.labels):
        estimates = _estimates(fitted, groups.codes != level)
        for name, whole, error in zip(fitted.names, fitted.beta, fitted.standard_errors, strict=True):
            value = estimates.get(name)
            rows.append((label, name, value, None if value is None else (value - whole) / error))
    schema = {"left_out": pl.String, "term": pl.String, "estimate": pl.Float64, "shift": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _estimates(fitted: MixedFit, keep: np.ndarray) -> dict[str, float]:
    design = fitted.design
    groups = tuple(factor.name for factor in design.factors if factor.slope is None)
    model = replace(design.model, random=groups)
    try:
        rest = design_of(design.frame.filter(pl.Series(keep)), model)
    except TableInvalid:
        return {}
    again = fit(rest, restricted=fitted.method.endswith("reml"), errors=False)
    return dict(zip(rest.names, again.beta.tolist(), strict=True))
