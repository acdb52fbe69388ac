"""A design fitted and every coefficient tested: restricted likelihood, penalties where needed, the test per term.

Firth's fit, for designs without random effects, is tested by its penalised profile (see `fit.logistic`). Scores with
exact zeros are also fitted in two parts: whether there is a score above 0, as a 0/1 outcome, and the scores above 0.
The decision a reader would question: where a property has effects of opposite sign in the two, each with p <= 0.05, the
one coefficient of an ordered beta model for both is an average of things that differ, and its p value is withheld.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy import special

from surgvalid.errors import Misuse, TableInvalid
from surgvalid.results.tables import failures as tables
from surgvalid.schema.findings import Finding
from surgvalid.schema.statistic_rules import remark
from surgvalid.stats.comparing.corrections import adjusted
from surgvalid.stats.mixed.fit.fit import Engine, fit
from surgvalid.stats.mixed.fit.logistic import fit_firth, profile_drop
from surgvalid.stats.mixed.fit.optimise import crossing
from surgvalid.stats.mixed.fit.penalised import penalties, runaway, unbounded
from surgvalid.stats.mixed.fit.result import Convergence, MixedFit
from surgvalid.stats.mixed.inference.term_tests import ALPHA, Inference, TermTests, term_tests
from surgvalid.stats.mixed.model.design import INTERCEPT, Design, Separation, design_of, factor_of
from surgvalid.stats.mixed.model.families import Binomial
from surgvalid.stats.mixed.model.formula import FamilyName
from surgvalid.stats.threads import one_thread


def firth_tested(design: Design, *, level: float = 0.95) -> tuple[MixedFit, TermTests]:
    """The fit, and every coefficient with p value and interval by the penalised profile.

    Raises:
        Misuse: The design has random effects.
    """
    if design.factors:
        raise Misuse("Firth's fit knows no random effects; leave them out, or use the normal penalty")
    mixed_fit = firth_fit(design)
    tests = term_tests(mixed_fit, None, inference="wald-z", level=level)
    bound = float(2 * special.gammaincinv(0.5, level))
    rows = [_profiled(mixed_fit, j, bound) for j in range(len(mixed_fit.names))]
    p = np.array([row[0] for row in rows])
    counted = np.where([name == INTERCEPT for name in mixed_fit.names], np.nan, p)
    table = tests.table.with_columns(
        pl.Series("p_value", p),
        pl.Series("low", [row[1] for row in rows]),
        pl.Series("high", [row[2] for row in rows]),
        pl.Series("p_holm", adjusted(counted, "holm")).fill_nan(None),
        pl.Series("p_bh", adjusted(counted, "bh")).fill_nan(None),
        pl.lit("chi-squared, Firth's profile").alias("method"),
    )
    return mixed_fit, TermTests(table, (), tests.findings, tests.inference, tests.video)


def firth_fit(design: Design) -> MixedFit:
    """The fit in the form that every table of a failure analysis is made from."""
    hits, draws = design.weights * design.response, design.weights * design.trials
    penalised = fit_firth(design.fixed, hits, draws, offset=design.offset)
    predictor = design.fixed @ penalised.coefficients + design.offset
    family = Binomial(design.response, design.trials, design.weights)
    smallest = float(np.linalg.eigvalsh(penalised.covariance)[0])
    return MixedFit(
        design=design,
        method="firth",
        family="binomial",
        beta=penalised.coefficients,
        covariance=penalised.covariance,
        groups=(),
        log_likelihood=family.value(predictor) + family.saturated,
        parameters=len(design.names),
        convergence=Convergence(penalised.converged, (), penalised.steps, penalised.steps, 0.0, smallest, "numpy"),
        linear_predictor=predictor,
    )


def _profiled(fitted: MixedFit, j: int, bound: float) -> tuple[float, float, float]:
    """The p value of a coefficient and its limits."""
    design = fitted.design
    hits, draws = design.weights * design.response, design.weights * design.trials
    drop = profile_drop(design.fixed, hits, draws, j, offset=design.offset)
    estimate, step = float(fitted.beta[j]), float(np.sqrt(bound) * fitted.standard_errors[j])
    low, high = (crossing(drop, estimate, side * step, bound) for side in (-1, 1))
    return float(special.chdtrc(1, max(drop(0.0), 0.0))), low, high


@dataclass(frozen=True)
class TestRule:
    """How effects are tested."""

    inference: Inference = "reml-t"
    slopes: bool | Sequence[str] = True
    separation: Separation = "keep"
    level: float = 0.95
    engine: Engine = "auto"
    firth: bool = False
    """Whether coefficients are those of Firth's likelihood; for designs without random effects."""

    @property
    def separated(self) -> str:
        """What becomes of properties that separate the outcome, in the word of the option."""
        return "firth" if self.firth else "drop" if self.separation == "drop" else "penalise"


class Tested(NamedTuple):
    """A fit and the tests of its coefficients."""

    fit: MixedFit
    tests: TermTests


@one_thread
def tested(design: Design, video: str, rule: TestRule) -> Tested:
    """The fit of a design by a rule, with every coefficient tested.

    Args:
        design: The arrays; made with the rule's `separation`.
        video: The random effect that holds dependent rows together; empty where rows are independent.
        rule: How effects are tested.
    """
    if rule.firth:
        return Tested(*firth_tested(design, level=rule.level))
    fitted = base_fit(design, rule)
    group = factor_of(design.frame, video) if video else None
    tests = term_tests(
        fitted, group, inference=rule.inference, slopes=rule.slopes, level=rule.level, engine=rule.engine
    )
    return Tested(fitted, tests)


@one_thread
def base_fit(design: Design, rule: TestRule) -> MixedFit:
    """The fit of a design by a rule, with penalties where the data alone do not bound a coefficient."""
    restricted = rule.inference == "reml-t" or None
    wild = unbounded(design) if rule.separation == "keep" else set[str]()
    fitted = fit(design, restricted=restricted, engine=rule.engine, penalty=penalties(design, wild) or None)
    if rule.separation == "keep" and (more := runaway(fitted) - wild):
        fitted = fit(design, restricted=restricted, engine=rule.engine, penalty=penalties(design, wild | more))
    return fitted


HIT, OVERLAP = "hit", "overlap"


class TwoParts(NamedTuple):
    """The effects on hits and on scores above 0, and the coefficients for which they contradict each other."""

    table: pl.DataFrame
    opposed: frozenset[str]
    findings: tuple[Finding, ...]


def two_parts(design: Design, video: str, rule: TestRule) -> TwoParts | None:
    """Both parts of scores with exact zeros; None where no score is 0 or one part cannot be fitted.

    Args:
        design: Of the scores.
        video: The random effect that holds dependent rows together; empty where rows are independent.
        rule: How effects are tested.
    """
    if not np.any(design.response == 0):
        return None
    name = design.model.outcome
    hit = design.frame.with_columns((pl.col(name) > 0).cast(pl.Int8))
    try:
        parts = {
            HIT: _effects(hit, design, "binomial", video, rule),
            OVERLAP: _effects(design.frame.filter(pl.col(name) > 0), design, "ordered-beta", video, rule),
        }
    except TableInvalid:
        return None
    opposed = _opposed(*parts.values())
    findings = tuple(
        remark(
            "parts-opposed",
            f"{term} has effects of opposite sign on hits and on the scores of "
            "hits, so its one effect on both is withheld; see the table parts",
            term,
        )
        for term in sorted(opposed)
    )
    rows = pl.concat(frame.with_columns(pl.lit(kind).alias("part")) for kind, frame in parts.items())
    shown = rows.select("part", "term", "estimate", "std_error", "df", "p_value", "low", "high")
    return TwoParts(tables.PARTS.frame(shown), frozenset(opposed), findings)


def _effects(frame: pl.DataFrame, design: Design, family: FamilyName, video: str, rule: TestRule) -> pl.DataFrame:
    model = replace(design.model, family=family)
    fitted = tested(design_of(frame, model, where="scores", separation="keep"), video, rule)
    return fitted.tests.table.filter(pl.col("term") != INTERCEPT)


def _opposed(hit: pl.DataFrame, overlap: pl.DataFrame) -> set[str]:
    both = hit.join(overlap, on="term", suffix="_overlap")
    sure = (pl.col("p_value") <= ALPHA) & (pl.col("p_value_overlap") <= ALPHA)
    return set(both.filter(sure & (pl.col("estimate") * pl.col("estimate_overlap") < 0))["term"])
