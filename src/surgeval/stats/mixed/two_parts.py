"""Whether a property acts on misses and on overlap alike, which an ordered beta model takes for granted.

A score of 0 is a miss. Whether there is a score above 0 is fitted as a 0/1 outcome, and the scores above 0 as scores;
where a property has effects of opposite sign in the two, each with p <= 0.05, its one coefficient for both is an
average of things that differ, and its p value is withheld in favour of the two parts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl

from surgeval.errors import TableInvalid
from surgeval.results.tables import failures as tables
from surgeval.schema.findings import Finding
from surgeval.schema.statistic_rules import remark
from surgeval.stats.mixed.design import INTERCEPT, Design, design_of
from surgeval.stats.mixed.formula import FamilyName
from surgeval.stats.mixed.symbols import ALPHA
from surgeval.stats.mixed.tested import Rule, tested

HIT, OVERLAP = "hit", "overlap"


class TwoParts(NamedTuple):
    """The effects on hits and on scores above 0, and the coefficients for which they contradict each other."""

    table: pl.DataFrame
    opposed: frozenset[str]
    findings: tuple[Finding, ...]


def two_parts(design: Design, video: str, rule: Rule) -> TwoParts | None:
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
        remark("parts-opposed", f"{term} has effects of opposite sign on hits and on the scores of "
                "hits, so its one effect on both is withheld; see the table parts", term)
        for term in sorted(opposed)
    )  # fmt: skip
    rows = pl.concat(frame.with_columns(pl.lit(kind).alias("part")) for kind, frame in parts.items())
    shown = rows.select("part", "term", "estimate", "std_error", "df", "p_value", "low", "high")
    return TwoParts(tables.PARTS.frame(shown), frozenset(opposed), findings)


def _effects(frame: pl.DataFrame, design: Design, family: FamilyName, video: str, rule: Rule) -> pl.DataFrame:
    model = replace(design.model, family=family)
    fitted = tested(design_of(frame, model, where="scores", separation="keep"), video, rule)
    return fitted.tests.table.filter(pl.col("term") != INTERCEPT)


def _opposed(hit: pl.DataFrame, overlap: pl.DataFrame) -> set[str]:
    both = hit.join(overlap, on="term", suffix="_overlap")
    sure = (pl.col("p_value") <= ALPHA) & (pl.col("p_value_overlap") <= ALPHA)
    return set(both.filter(sure & (pl.col("estimate") * pl.col("estimate_overlap") < 0))["term"])
