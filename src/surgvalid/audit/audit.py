"""A study held against the pitfalls of the catalogue, with evidence for everything that is said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import polars as pl

from surgvalid.audit.answers import QUESTIONS
from surgvalid.audit.evidence import CheckOutcome, SeenEvidence, Weight, looked, outcome_of
from surgvalid.audit.guideline import item_rows
from surgvalid.audit.label_errors import suspected_label_errors
from surgvalid.audit.pitfall import Pitfall
from surgvalid.audit.pitfalls import PITFALLS, pitfall_modules
from surgvalid.audit.study import AuditedStudy
from surgvalid.audit.study_files import read_study
from surgvalid.errors import Misuse, UnknownName
from surgvalid.results.tables import auditing as tables
from surgvalid.schema.findings import Finding, Severity
from surgvalid.schema.tables.missing import Missing
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.schema.tables.table_facts import Directions


def lead(counts: Mapping[str, int]) -> str:
    """What an audit came to in one sentence, beginning with what it does not say.

    Example:
        >>> lead({"pass": 5, "fail": 0, "not assessable": 3, "needs an answer": 10})
        '10 of 18 checks wait for an answer and 3 are not assessable; of the 5 that could be judged, none fails.'
    """
    asked, unseen, failing = (counts[one] for one in (CheckOutcome.ASK, CheckOutcome.UNKNOWN, CheckOutcome.FAIL))
    every = sum(counts.values())
    judged = every - asked - unseen
    fails = "none fails" if not failing else f"{failing} fail{'s' * (failing == 1)}"
    if judged == every:
        return f"All {every} checks could be judged; {fails}."
    waits = f"{asked} of {every} checks wait{'s' * (asked == 1)} for an answer and {unseen} are not assessable"
    return f"{waits}; " + (f"of the {judged} that could be judged, {fails}." if judged else "none could be judged.")


_PROSE = (
    "{name!r} was held against {checks} pitfalls of validation. A check fails on evidence only: what it tests is seen "
    "at 1 % after correction for all that it tests, with whole videos as units. What the study does not hold is not "
    "assessable, and what only people know is asked, never guessed; that no check fails does not prove a study sound."
)


class AuditedClaim(NamedTuple):
    """One pitfall with what was seen."""

    about: Pitfall
    seen: tuple[SeenEvidence, ...]

    @property
    def outcome(self) -> CheckOutcome:
        """What the check came to."""
        return outcome_of(self.seen)

    @property
    def severity(self) -> Weight | None:
        """The worst weight among its failures."""
        weights = [one.evidence.weight for one in self.seen if one.evidence.outcome is CheckOutcome.FAIL]
        return min(weights, key=list(Weight).index) if weights else None

    @property
    def deciding(self) -> list[str]:
        """The sentences that decided, each once; of an open check what was seen beside them, too."""
        outcome = self.outcome
        if outcome in (CheckOutcome.PASS, CheckOutcome.FAIL):
            return self._sentences(outcome)
        keys = dict.fromkeys(one.key for one in self.seen if one.key)
        unknown = self._sentences(CheckOutcome.UNKNOWN, needed=True)
        if outcome is CheckOutcome.ASK:
            unknown = [f"To answer: {', '.join(keys)}.", *unknown]
        return [*(unknown or self._sentences(outcome)), *self._sentences(CheckOutcome.PASS)]

    @property
    def not_seen(self) -> list[str]:
        """What could not be looked at, or is open."""
        blind, deciding = (CheckOutcome.UNKNOWN, CheckOutcome.ASK), self.deciding
        unseen = [one for one in self.seen if one.evidence.outcome in blind and one.evidence.sentence not in deciding]
        if self.outcome is CheckOutcome.ASK:
            unseen = [one for one in unseen if not one.key]
        return [f"{one.about}: {one.evidence.sentence}" for one in unseen]

    def _sentences(self, outcome: CheckOutcome, *, needed: bool = False) -> list[str]:
        chosen = [one for one in self.seen if one.evidence.outcome is outcome and (one.needed or not needed)]
        return list(dict.fromkeys(one.evidence.sentence for one in chosen))


class Audited(NamedTuple):
    """What an audit came to, before anybody draws it."""

    name: str
    """Of the study."""
    tables: Mapping[str, pl.DataFrame]
    prose: str
    findings: tuple[Finding, ...]
    files: tuple[Path, ...] = ()
    """What the study was read from."""


def audited(
    source: str | Path | ScoreTable | AuditedStudy,
    *,
    pitfalls: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    better: Directions = None,
    missing: Missing = None,
) -> Audited:
    """A study held against the pitfalls; see `surgvalid.audit_study`."""
    findings: tuple[Finding, ...] = ()
    if isinstance(source, AuditedStudy):
        if columns or better or missing:
            raise Misuse("columns, better and missing stand in the study already")
        study = source
    else:
        study, findings = read_study(source, columns=columns, better=better, missing=missing)
    checks = [AuditedClaim(one.ABOUT, tuple(looked(one.LOOKS, study))) for one in chosen_pitfalls(pitfalls)]
    return _audited(study, checks, findings)


def chosen_pitfalls(codes: Sequence[str]) -> list[ModuleType]:
    """The modules of the pitfalls with these codes, ours in their order; all of ours without codes.

    Raises:
        UnknownName: There is no such pitfall.
        PluginBroken: An installed package offers it, and it cannot be used.
    """
    modules = {module.ABOUT.code: module for module in pitfall_modules()}
    wanted = [code.upper() for code in codes]
    others = [code for code in dict.fromkeys(wanted) if code not in modules]
    brought = [code for code in PITFALLS if code not in PITFALLS.ours]
    for code in others:
        if code not in brought:
            raise UnknownName("pitfall", code, [*modules, *brought])
    ours = [module for code, module in modules.items() if not wanted or code in wanted]
    return ours + [PITFALLS[code] for code in others]


def _audited(study: AuditedStudy, checks: Sequence[AuditedClaim], findings: Sequence[Finding]) -> Audited:
    by_code = {one.about.code: (one.outcome.value, " ".join(one.deciding)) for one in checks}
    open_keys = list(dict.fromkeys(seen.key for one in checks for seen in one.seen if seen.key))
    return Audited(
        name=study.name,
        tables={
            "checks": tables.CHECKS.frame([_check_row(one) for one in checks]),
            "evidence": tables.EVIDENCE.frame([row for one in checks for row in _evidence_rows(one)]),
            "numbers": tables.NUMBERS.frame([row for one in checks for row in _number_rows(one)]),
            "questions": tables.QUESTIONS.frame(
                [
                    {"key": key, "pitfall": one.pitfall, "question": one.text, "example": one.example}
                    for key, one in ((key, QUESTIONS[key]) for key in open_keys)
                ]
            ),
            "guideline_items": tables.ITEMS.frame(list(item_rows(by_code))),
            "label_errors": suspected_label_errors(study.tables.get("responses")),
        },
        prose=_PROSE.format(name=study.name, checks=len(checks)),
        findings=(*findings, *_failures(checks)),
        files=study.files,
    )


def _check_row(one: AuditedClaim) -> dict[str, Any]:
    return {
        "pitfall": one.about.code,
        "title": one.about.title,
        "category": one.about.category.value,
        "outcome": one.outcome.value,
        "severity": one.severity.value if one.severity else None,
        "evidence": " ".join(one.deciding),
        "not_seen": "; ".join(one.not_seen),
        "fix": one.about.fix if one.outcome is not CheckOutcome.PASS else None,
    }


def _evidence_rows(one: AuditedClaim) -> Iterator[dict[str, Any]]:
    for seen in one.seen:
        evidence = seen.evidence
        failing = evidence.outcome is CheckOutcome.FAIL
        yield {
            "pitfall": one.about.code,
            "about": seen.about,
            "outcome": evidence.outcome.value,
            "severity": evidence.weight.value if failing else None,
            "needed": seen.needed,
            "sentence": evidence.sentence,
            "picture": evidence.picture,
        }


def _number_rows(one: AuditedClaim) -> Iterator[dict[str, Any]]:
    for seen in one.seen:
        for number in seen.evidence.numbers:
            yield {"pitfall": one.about.code, "about": seen.about, **number._asdict()}


def _failures(checks: Sequence[AuditedClaim]) -> Iterator[Finding]:
    for one in checks:
        if one.outcome is CheckOutcome.FAIL:
            severity = Severity.ERROR if one.severity is Weight.HIGH else Severity.WARNING
            yield Finding("pitfall", severity, " ".join(one.deciding), subject=f"{one.about.code} {one.about.title}")
