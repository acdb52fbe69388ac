"""A design fitted and every coefficient tested: restricted likelihood, penalties where needed, the test per term."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from surgeval.stats.mixed.design import Design, Separation, factor_of
from surgeval.stats.mixed.firth import firth_tested
from surgeval.stats.mixed.fit import Engine, fit
from surgeval.stats.mixed.penalised import penalties, runaway, unbounded
from surgeval.stats.mixed.result import MixedFit
from surgeval.stats.mixed.term_tests import Inference, TermTests, term_tests
from surgeval.stats.threads import one_thread


@dataclass(frozen=True)
class Rule:
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
def tested(design: Design, video: str, rule: Rule) -> Tested:
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
def base_fit(design: Design, rule: Rule) -> MixedFit:
    """The fit of a design by a rule, with penalties where the data alone do not bound a coefficient."""
    restricted = rule.inference == "reml-t" or None
    wild = unbounded(design) if rule.separation == "keep" else set[str]()
    fitted = fit(design, restricted=restricted, engine=rule.engine, penalty=penalties(design, wild) or None)
    if rule.separation == "keep" and (more := runaway(fitted) - wild):
        fitted = fit(design, restricted=restricted, engine=rule.engine, penalty=penalties(design, wild | more))
    return fitted
