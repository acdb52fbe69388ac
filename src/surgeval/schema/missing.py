"""Scores that are not there: what they count as, by the reason why, in one place for every verb.

A row without a value and no row at all are the same thing. What a model is to blame for (it refused, failed, was late,
could not be read, gave nothing) counts as the worst value; what it is not to blame for (never asked, never judged, a
machine that broke) stops the analysis until somebody says what to do, because leaving such cases out quietly would make
results incomparable, and counting them as wrong would be unjust.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from surgeval.errors import Misuse, TableInvalid, UnknownName
from surgeval.schema.metric_facts import MetricFacts
from surgeval.schema.outcomes import Status

RULES = ("worst", "drop-case", "drop-score", "error")
"""By name; a number is a rule too."""
NOT_THE_MODELS_FAULT = (Status.NOT_ASKED, Status.NOT_JUDGED, Status.INFRASTRUCTURE)
DEFAULTS: dict[Status, str] = {status: "error" if status in NOT_THE_MODELS_FAULT else "worst" for status in Status}

Rule = str | float
Missing = Rule | Mapping[str, Rule] | Sequence[str] | None
"""One rule for every reason, `{"refused": 0, "not_judged": "drop-case"}`, `["refused=0"]`, or None for the defaults."""
_MOST_SENTENCES = 6
_DONE = {
    "drop-case": "those cases are left out for every model",
    "drop-score": "left out of the values of that model alone",
}


def missing_rules(given: Missing) -> dict[Status, Rule]:
    """The rule for every reason why a score is not there.

    Example:
        >>> missing_rules(["refused=0"])[Status.REFUSED], missing_rules("drop-case")[Status.NOT_JUDGED]
        (0.0, 'drop-case')

    Raises:
        UnknownName: A rule or a status that does not exist.
        Misuse: The old word `drop`, a number that is not finite, or two rules for everything.
    """
    if given is None:
        return dict(DEFAULTS)
    if isinstance(given, str | int | float):
        given = [f"{given}"] if isinstance(given, str) else {"": given}
    if not isinstance(given, Mapping):
        pairs = [text.rpartition("=") for text in given]
        if len({name for name, _, _ in pairs}) < len(pairs):
            raise Misuse(f"missing: each status has one rule, got {', '.join(map(repr, given))}")
        given = {name.strip(): word.strip() for name, _, word in pairs}
    rules: dict[Status, Rule] = dict(DEFAULTS)
    if "" in given:
        rules = dict.fromkeys(Status, _rule(given[""]))
    return rules | {_status(name): _rule(rule) for name, rule in given.items() if name}


def _status(name: str) -> Status:
    if name not in {status.value for status in Status}:
        raise UnknownName("status", name, [status.value for status in Status])
    return Status(name)


def _rule(given: Rule) -> Rule:
    if given == "drop":
        raise Misuse("missing='drop' is called 'drop-case' (the case goes for every model) or 'drop-score' now")
    if given in RULES:
        return given
    try:
        number = float(given)
    except (TypeError, ValueError):
        raise UnknownName("rule for missing scores", given, RULES) from None
    if isinstance(given, bool) or not math.isfinite(number):
        raise Misuse(f"missing must be a finite number or one of {', '.join(RULES)}, got {given!r}")
    return number


@dataclass(frozen=True)
class Absences:
    """Scores that are not there, and what became of them."""

    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """For each model that lacks scores, how many for which reason."""
    rules: Mapping[str, Rule] = field(default_factory=dict)
    """For each reason that occurs, the rule."""
    worst: float = math.nan
    cases_dropped: int = 0

    def of(self, models: Collection[str]) -> Absences:
        """Those of some of the models."""
        kept = {model: counts for model, counts in self.counts.items() if model in models}
        return Absences(kept, self.rules, self.worst, self.cases_dropped)

    def as_dict(self) -> dict[str, Any]:
        """The record as plain data."""
        return {"rules": dict(self.rules), "counts": {model: dict(one) for model, one in self.counts.items()}}

    @property
    def sentences(self) -> list[str]:
        """What became of them, in words: per model, or together where many models lack some."""
        if len(self.counts) <= _MOST_SENTENCES:
            told = [text for model, counts in self.counts.items() for text in self._told(counts, f"of {model!r} ")]
        else:
            total: dict[str, int] = {}
            for counts in self.counts.values():
                total = {status: total.get(status, 0) + counts.get(status, 0) for status in {**total, **counts}}
            told = self._told(total, f"of {len(self.counts)} models ")
        if self.cases_dropped:
            told.append(f"{self.cases_dropped} cases were left out for every model.")
        return told

    def _told(self, counts: Mapping[str, int], whose: str) -> list[str]:
        by_rule: dict[Rule, dict[str, int]] = {}
        for status, count in counts.items():
            by_rule.setdefault(self.rules[status], {})[status] = count
        return [
            f"{sum(some.values())} scores {whose}are not there ({_listed(some)}): {self._done(rule)}."
            for rule, some in by_rule.items()
        ]

    def _done(self, rule: Rule) -> str:
        if isinstance(rule, str):
            return _DONE.get(rule, f"counted as worst, {self.worst:g}")
        return f"counted as {rule:g}"


def resolve(
    values: np.ndarray, status: np.ndarray, models: Sequence[str], facts: MetricFacts, missing: Missing
) -> tuple[np.ndarray, np.ndarray, Absences]:
    """The scores with every hole filled or left as the rules say, the cases to keep, and the record of it.

    Args:
        values: `[case, model]`, NaN where a score is not there.
        status: The place of each one's status in `Status`.
        models: Names of the columns.
        facts: Of the metric.
        missing: As the user gave it.

    Raises:
        TableInvalid: A rule says so, the worst value is unknown, or no case is left.
    """
    rules = missing_rules(missing)
    hole, keep = np.isnan(values), np.ones(len(values), dtype=bool)
    if not hole.any():
        return values, keep, Absences()
    names = list(Status)
    counts: dict[str, dict[str, int]] = {}
    for column in np.flatnonzero(hole.any(axis=0)).tolist():
        places, numbers = np.unique(status[hole[:, column], column], return_counts=True)
        found = zip(places.tolist(), numbers.tolist(), strict=True)
        counts[models[column]] = {names[place].value: number for place, number in found}
    present = sorted({names.index(Status(one)) for some in counts.values() for one in some})
    used = {names[place].value: rules[names[place]] for place in present}
    _refuse(counts, used, facts)
    values = values.copy()
    for place in present:
        rule, cells = rules[names[place]], hole & (status == place)
        if rule == "drop-case":
            keep &= ~cells.any(axis=1)
        elif rule != "drop-score":
            values[cells] = facts.worst if rule == "worst" else rule
    if not keep.any():
        raise TableInvalid("score table", ["no case has a score from every model; nothing is left after 'drop-case'"])
    return values, keep, Absences(counts, used, facts.worst, int((~keep).sum()))


def _refuse(counts: Mapping[str, Mapping[str, int]], used: Mapping[str, Rule], facts: MetricFacts) -> None:
    """Stop where a rule says so, or where the worst value is needed and unknown."""
    unknown = not math.isfinite(facts.worst)
    bad = {status for status, rule in used.items() if rule == "error" or (rule == "worst" and unknown)}
    if not bad:
        return
    lacking = {model: {s: n for s, n in some.items() if s in bad} for model, some in counts.items()}
    listed = "; ".join(f"{model}: {_listed(some)}" for model, some in lacking.items() if some)
    first = sorted(bad)[0]
    why = ""
    if used[first] == "worst":
        reason = "nobody said which values are better" if facts.better is None else "its range has no end there"
        why = f", and the worst value of {facts.name!r} is unknown ({reason})"
    options = "drop-case, drop-score or a number" if why else "worst, drop-case, drop-score or a number"
    raise TableInvalid(
        "score table",
        [f"{sum(sum(some.values()) for some in lacking.values())} scores are not there ({listed}){why}; say what they "
         f"count as with missing: {options}, for all or by status (--missing {first}=drop-score)"],
    )  # fmt: skip


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{status}: {count}" for status, count in counts.items())
