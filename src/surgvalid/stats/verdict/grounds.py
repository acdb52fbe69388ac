"""Why a verdict says each of its sentences: the rule, the numbers and the source behind it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from surgvalid.schema.metric_facts import MetricFacts
from surgvalid.stats.verdict.sentences import sentences_of
from surgvalid.stats.verdict.unit_differences import PairFinding
from surgvalid.stats.verdict.who_is_better import NO_INTERVAL, ModelVerdict

_SIGN_FLIP = "exact sign-flip test over units, inverted (Hartigan 1969)"
_JOINT = "min-p over all pairs by joint sign flips (Westfall and Young 1993), inverted"
_BY_INTERVAL = "the simultaneous interval of the leader minus each other model, beside 0 and the margin"
_RULES: dict[str, tuple[str, str]] = {
    **dict.fromkeys("better better_small open equivalent non_inferior".split(), (_BY_INTERVAL, _JOINT)),
    "same": ("every difference is 0", "the table"),
    "too_few": ("fewer units than let the test reach the level, so there is no interval at it", _SIGN_FLIP),
    "no_interval": ("quantiles of pooled rows have no interval that holds, and no test", "compare"),
    "no_unit": ("nothing says which rows are independent", "the reading of the table"),
    "one_model": ("one model", "the table"),
    "reaches": ("one model: its value with its interval over units", "interval"),
    "beside_baseline": ("the simultaneous interval of each other model minus the baseline", _JOINT),
    "chance_wrong": ("P(equal or other sign | t) under the prior that was asked for", "Rouder et al. 2009"),
    "depends_on_stratum": (
        "strata differ (p adjusted by Holm over columns) and two name different models, each one-sided",
        "Welch 1951, labels permuted; sign flips within units",
    ),
    "depends_on_metric": ("another metric is sure of another model, by Holm over the other metrics", _JOINT),
    "depends_on_missing": ("left out or counted as worst, missing scores give different verdicts", _JOINT),
    "depends_on_counting": ("all cases together and the mean over units have different signs", "the table"),
    "also_if_worst": ("both readings of missing scores name the same model", _JOINT),
    "missing_left_out": ("neither reading of missing scores names a winner", _JOINT),
    "shared": ("units without a case that all models have leave the comparison", "the table"),
    "missing_as_asked": ("scores are not there, and the rule for them was given", "--missing"),
    "unread": ("another number differs between models, and nobody says which of its values are better", "the table"),
    "relevance": ("a difference was shown and no margin was given", "none"),
    "margin_unapplied": ("a margin was given, and the finding is not one of an interval beside it", "none"),
    "asked_alone": ("one pair, chosen beforehand, is corrected for nothing", _SIGN_FLIP),
    "few_differ": ("fewer units with a difference than let the test reach the level", _SIGN_FLIP),
    "amount_depends": ("strata differ, and no two name different models", "Welch 1951, labels permuted"),
    "elsewhere": (
        "m +- t s sqrt(1 + 1/K) over the differences of K strata; none below five",
        "Student's t, prediction interval",
    ),
    "overturned": ("units with the largest advantage taken out one by one until it is open", _JOINT),
    "carried": ("it holds without the three units of the largest advantage", _JOINT),
    "one_unit": (
        "of a metric without a bad end: more than 40 % of all differences of units, whatever their sign",
        "the table",
    ),
    "fails": (
        "units beyond half the way from the median to the bad end, or five medians beyond the median",
        "the table",
    ),
    "unseen": ("one-sided end of the rate of failures, .05 beyond it", "Clopper and Pearson 1934"),
    "size": ("units at which the paired t-test finds the margin with 80 % power, as a class", "noncentral t"),
    "other_metric": ("another metric is sure of a model, by Holm over the other metrics", _JOINT),
}
"""Behind each statement: the rule, and where it comes from."""


def why_of(verdict: ModelVerdict) -> list[dict[str, str]]:
    """Rule, numbers and source behind each sentence."""
    rows = []
    for one, sentence in zip(verdict.statements, sentences_of(verdict), strict=True):
        rule, source = _RULES[one.code]
        numbers = {**(_interval_numbers(verdict) if one is verdict.statements[0] else {}), **one.numbers}
        shown = "; ".join(f"{name} = {_shown(value)}" for name, value in numbers.items())
        rows.append({"sentence": sentence, "rule": rule, "numbers": shown, "source": source})
    return rows


def _interval_numbers(verdict: ModelVerdict) -> dict[str, Any]:
    if not verdict.pairs or verdict.kind in NO_INTERVAL:
        return {}
    pair = verdict.deciding
    numbers = {"difference": pair.difference, "low": pair.low, "high": pair.high, "p_adjusted": pair.p_adjusted}
    return {**numbers, "units": pair.units, "level": verdict.level, "margin": verdict.margin}


def _shown(value: Any) -> str:
    if isinstance(value, MetricFacts):
        return value.name
    if isinstance(value, PairFinding):
        return f"{value.model} - {value.other} {value.difference:.6g} ({value.low:.6g} to {value.high:.6g})"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_shown(one)}" for key, one in value.items())
    if hasattr(value, "_asdict"):
        return _shown(value._asdict())
    if isinstance(value, tuple | list):
        return ", ".join(map(_shown, value)) or "none"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
