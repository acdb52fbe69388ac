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
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from surgvalid.errors import Misuse, TableInvalid, UnknownName
from surgvalid.schema.findings import Finding
from surgvalid.schema.metric_facts import MetricFacts
from surgvalid.schema.outcomes import Status
from surgvalid.schema.statistic_rules import remark

NOT_THERE = "scores-not-there"
"""Code of findings about scores that are not there."""
RULES = ("worst", "drop-case", "drop-score", "error")
"""By name; a number is a rule too."""
_NO_CREDIT = (Status.REFUSED, Status.FAILED, Status.TIMED_OUT, Status.NOT_ASKED, Status.INFRASTRUCTURE)
"""Nothing was answered, so a score better than the worst contradicts them."""
NOT_THE_MODELS_FAULT = (Status.NOT_ASKED, Status.NOT_JUDGED, Status.INFRASTRUCTURE)
DEFAULTS: dict[Status, Rule] = {status: "error" if status in NOT_THE_MODELS_FAULT else "worst" for status in Status}

Rule = str | float
Missing = Rule | Mapping[str, Rule] | Sequence[str] | None
"""One rule for every reason, `{"refused": 0, "not_judged": "drop-case"}`, `["refused=0"]`, or None for the defaults."""
_MOST_SENTENCES = 6
_DONE = {
    "drop-case": "those cases are left out for every model",
    "drop-score": "left out of the values of that model alone",
}
_PAIRED = {**_DONE, "drop-score": "the comparison is paired, so those cases are left out for both models"}


def missing_rules(given: Missing, usual: Mapping[Status, Rule] = DEFAULTS) -> dict[Status, Rule]:
    """The rule for every reason why a score is not there; the usual one where none is given.

    Example:
        >>> missing_rules(["refused=0"])[Status.REFUSED], missing_rules("drop-case")[Status.NOT_JUDGED]
        (0.0, 'drop-case')

    Raises:
        UnknownName: A rule or a status that does not exist.
        Misuse: The old word `drop`, a number that is not finite, no status before `=`, or two rules for everything.
    """
    if given is None:
        return dict(usual)
    if isinstance(given, str | int | float):
        given = [f"{given}"] if isinstance(given, str) else {"": given}
    if not isinstance(given, Mapping):
        pairs = [text.rpartition("=") for text in given]
        if nameless := [
            text for text, (name, equals, _) in zip(given, pairs, strict=True) if equals and not name.strip()
        ]:
            raise Misuse(f"missing: no status stands before '=' in {', '.join(map(repr, nameless))}; write STATUS=RULE")
        if len({name for name, _, _ in pairs}) < len(pairs):
            raise Misuse(f"missing: each status has one rule, got {', '.join(map(repr, given))}")
        given = {name.strip(): word.strip() for name, _, word in pairs}
    rules: dict[Status, Rule] = dict(usual)
    if "" in given:
        rules = dict.fromkeys(Status, _rule(given[""]))
    return rules | {_status(name): _rule(rule) for name, rule in given.items() if name}


def usual_rules(facts: MetricFacts, *, says_why: bool) -> Mapping[Status, Rule]:
    """The rules where none is given.

    Where a table does not say why a score is not there, nor the metric what that counts as (an answer not given is
    wrong, by the convention of `correct`), the case is left out: a comparison uses the cases that both models have.

    Args:
        facts: Of the metric.
        says_why: Whether rows of the table have a status.
    """
    if says_why or "missing" in facts.conventions:
        return DEFAULTS
    return {**DEFAULTS, Status.MISSING: "drop-case", Status.ANSWERED: "drop-case"}


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
    scored: Mapping[str, Mapping[str, Scored]] = field(default_factory=dict)
    """For each model, its rows that have a score and a status that says why there is none."""
    elsewhere: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """For each model that took part in some tracks only, those in which it did not."""

    def of(self, models: Collection[str]) -> Absences:
        """Those of some of the models."""
        kept = {model: counts for model, counts in self.counts.items() if model in models}
        scored = {model: some for model, some in self.scored.items() if model in models}
        elsewhere = {model: tracks for model, tracks in self.elsewhere.items() if model in models}
        return Absences(kept, self.rules, self.worst, self.cases_dropped, scored, elsewhere)

    def as_dict(self) -> dict[str, Any]:
        """The record as plain data."""
        return {"rules": dict(self.rules), "counts": {model: dict(one) for model, one in self.counts.items()}}

    @property
    def filled(self) -> bool:
        """Whether a number stands in for some of them."""
        return self.left_out.counts != self.counts

    @property
    def left_out(self) -> Absences:
        """Those that count as nothing at all."""
        dropped = {status for status, rule in self.rules.items() if rule in ("drop-case", "drop-score")}
        counts = {model: {s: n for s, n in some.items() if s in dropped} for model, some in self.counts.items()}
        kept = {model: some for model, some in counts.items() if some}
        return Absences(kept, self.rules, self.worst, self.cases_dropped)

    @property
    def sentences(self) -> list[str]:
        """What became of them, in words: per model, or together where many models lack some."""
        return self._sentences(_DONE)

    def findings(self, *, paired: bool = False) -> list[Finding]:
        """What became of them, and scores where the status says that there is none.

        Args:
            paired: Whether a case counts only where every model has a score.
        """
        texts = self._sentences(_PAIRED if paired else _DONE)
        statuses = list(dict.fromkeys(status for some in self.scored.values() for status in some))
        noticed = [finding for status in statuses for finding in self._noticed(status)]
        return [*self._other_tracks(), *(remark(NOT_THERE, text) for text in texts), *noticed]

    def _other_tracks(self) -> list[Finding]:
        """Who took part in some tracks only, where that is not counted as a number."""
        if self.rules.get(Status.NOT_ASKED.value) not in _DONE:
            return []
        return [
            remark(
                "other-tracks",
                f"{model!r} has no row of track {', '.join(map(repr, tracks))}: it did not take "
                "part there, and its values rest on other questions than those of models that did.",
                subject=model,
            )
            for model, tracks in self.elsewhere.items()
        ]

    def _noticed(self, status: str) -> list[Finding]:
        """What is odd about the scores of one status: a rule that does not reach them, credit without an answer."""
        some = [by_status[status] for by_status in self.scored.values() if status in by_status]
        rules = [one.rule for one in some if one.rule is not None]
        rows = _number_of(sum(one.rows for one in some), "row", "has", "have", of=f" of status {status!r}")
        findings = []
        if rules:
            text = f"{rows} a score; the rule for missing scores ({rules[0]}) does not apply there."
            findings.append(remark("status-with-score", text))
        if (better := sum(one.better for one in some)) and Status(status) in _NO_CREDIT:
            text = (
                f"{rows} a score, {better} of them better than the worst ({self.worst:g}): nothing was answered there."
            )
            findings.append(remark("score-without-answer", text))
        return findings

    def _sentences(self, done: Mapping[str, str]) -> list[str]:
        if len(self.counts) <= _MOST_SENTENCES:
            texts = [
                text for model, some in self.counts.items() for text in self._by_rule(some, f"of {model!r} ", done)
            ]
        else:
            total: dict[str, int] = {}
            for counts in self.counts.values():
                total = {status: total.get(status, 0) + counts.get(status, 0) for status in {**total, **counts}}
            texts = self._by_rule(total, f"of {len(self.counts)} models ", done)
        if self.cases_dropped:
            texts.append(f"{_number_of(self.cases_dropped, 'case', 'was', 'were')} left out for every model.")
        return texts

    def _by_rule(self, counts: Mapping[str, int], whose: str, done: Mapping[str, str]) -> list[str]:
        by_rule: dict[Rule, dict[str, int]] = {}
        for status, count in counts.items():
            by_rule.setdefault(self.rules[status], {})[status] = count
        return [
            f"{_number_of(sum(some.values()), 'score', f'{whose}is', f'{whose}are')} not there "
            f"({statuses_listed(some)}): {self._done(rule, done)}."
            for rule, some in by_rule.items()
        ]

    def _done(self, rule: Rule, done: Mapping[str, str]) -> str:
        if isinstance(rule, str):
            return done.get(rule, f"counted as worst, {self.worst:g}")
        return f"counted as {rule:g}"


def resolve(
    values: np.ndarray,
    status: np.ndarray,
    models: Sequence[str],
    facts: MetricFacts,
    missing: Missing,
    usual: Mapping[Status, Rule] = DEFAULTS,
) -> tuple[np.ndarray, np.ndarray, Absences]:
    """The scores with every hole filled or left as the rules say, the cases to keep, and the record of it.

    Args:
        values: `[case, model]`, NaN where a score is not there.
        status: The place of each one's status in `Status`.
        models: Names of the columns.
        facts: Of the metric.
        missing: As the user gave it.
        usual: The rules where the user gave none.

    Raises:
        TableInvalid: A rule says so, the worst value is unknown, or no case is left.
        Misuse: A number that the metric cannot take.
    """
    rules = missing_rules(missing, usual)
    _refuse_impossible(rules, facts)
    hole, keep = np.isnan(values), np.ones(len(values), dtype=bool)
    if not hole.any():
        return values, keep, Absences(worst=facts.worst)
    names = list(Status)
    counts: dict[str, dict[str, int]] = {}
    for column in np.flatnonzero(hole.any(axis=0)).tolist():
        places, numbers = np.unique(status[hole[:, column], column], return_counts=True)
        pairs = zip(places.tolist(), numbers.tolist(), strict=True)
        counts[models[column]] = {names[place].value: number for place, number in pairs}
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


class Scored(NamedTuple):
    """Rows of one model that have a score and a status that says why there is none."""

    rows: int
    better: int
    """How many of them are better than the worst value."""
    rule: Rule | None
    """The rule that the user gave for the status and that would have changed them."""


def scored_without_answer(frame: pl.DataFrame, facts: MetricFacts, missing: Missing) -> dict[str, Mapping[str, Scored]]:
    """For each model and status other than `answered`, its rows that have a score all the same.

    Args:
        frame: The rows of one metric: `model`, `status`, `value`.
        facts: Of the metric.
        missing: As the user gave it.
    """
    rows = frame.filter(pl.col("value").is_not_null() & (pl.col("status") != Status.ANSWERED.value))
    rules = missing_rules(missing)
    scored: dict[str, dict[str, Scored]] = {}
    for (model, name), some in rows.group_by("model", "status", maintain_order=True):
        status, values = Status(str(name)), some["value"]
        better = int((values != facts.worst).sum()) if math.isfinite(facts.worst) else 0
        void = rules[status] != DEFAULTS[status] and _would_change(rules[status], values, facts)
        scored.setdefault(str(model), {})[status.value] = Scored(len(values), better, rules[status] if void else None)
    return dict(scored)


def _would_change(rule: Rule, values: pl.Series, facts: MetricFacts) -> bool:
    if isinstance(rule, str) and rule != "worst":
        return True
    return bool((values != (facts.worst if rule == "worst" else rule)).any())


def _refuse_impossible(rules: Mapping[Status, Rule], facts: MetricFacts) -> None:
    """Stop where a missing score would count as a number that the metric cannot take."""
    numbers = sorted({rule for rule in rules.values() if not isinstance(rule, str)})
    if bad := [f"{number:g}" for number in numbers if not facts.low <= number <= facts.high]:
        raise Misuse(
            f"missing: {', '.join(bad)} lies outside the range of {facts.name!r}, [{facts.low:g}, {facts.high:g}]; "
            f"give a number inside it or one of {', '.join(RULES)}"
        )


def _refuse(counts: Mapping[str, Mapping[str, int]], used: Mapping[str, Rule], facts: MetricFacts) -> None:
    """Stop where a rule says so, or where the worst value is needed and unknown."""
    unknown = not math.isfinite(facts.worst)
    bad = {status for status, rule in used.items() if rule == "error" or (rule == "worst" and unknown)}
    if not bad:
        return
    lacking = {model: {s: n for s, n in some.items() if s in bad} for model, some in counts.items()}
    listed = "; ".join(f"{model}: {statuses_listed(some)}" for model, some in lacking.items() if some)
    first = sorted(bad)[0]
    why = ""
    if used[first] == "worst":
        reason = "nobody said which values are better" if facts.better is None else "its range has no end there"
        why = f", and the worst value of {facts.name!r} is unknown ({reason})"
    absent = sum(sum(some.values()) for some in lacking.values())
    options = "drop-case, drop-score or a number" if why else "worst, drop-case, drop-score or a number"
    raise TableInvalid(
        "score table",
        [
            f"{_number_of(absent, 'score', 'is', 'are')} not there ({listed}){why}; say what to count "
            f"with missing: {options}, for all or by status (--missing {first}=drop-score)"
        ],
    )


def statuses_listed(counts: Mapping[str, int]) -> str:
    """How many for which reason, in words."""
    words = {Status.ANSWERED.value: "answered but empty"}
    return ", ".join(f"{words.get(status, status)}: {count}" for status, count in counts.items())


def _number_of(count: int, what: str, one: str, many: str, *, of: str = "") -> str:
    return f"{count} {what}{of} {one}" if count == 1 else f"{count} {what}s{of} {many}"
