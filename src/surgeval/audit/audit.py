"""A study held against the pitfalls of the catalogue, with evidence for everything that is said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import polars as pl

from surgeval.audit.answers import QUESTIONS
from surgeval.audit.evidence import Outcome, Seen, Weight, looked, outcome_of
from surgeval.audit.guidelines import item_rows
from surgeval.audit.label_errors import doubtful_cases
from surgeval.audit.pitfall import Pitfall
from surgeval.audit.pitfalls import pitfall_modules
from surgeval.audit.study import Study
from surgeval.audit.study_files import read_study
from surgeval.errors import Misuse, UnknownName
from surgeval.results.tables import auditing_studies as tables
from surgeval.schema.findings import Finding, Severity
from surgeval.schema.missing import Missing
from surgeval.schema.score_table import ScoreTable
from surgeval.schema.table_facts import Directions

_PROSE = (
    "{name} was held against {checks} pitfalls of validation. A check fails on evidence only: what it tests is seen at "
    "1 % after correction for all that it tests, with whole videos as units. What the study does not hold is not "
    "assessable, and what only people know is asked, never guessed; that no check fails does not prove a study sound."
)


class Checked(NamedTuple):
    """One pitfall with what was seen."""

    about: Pitfall
    seen: tuple[Seen, ...]

    @property
    def outcome(self) -> Outcome:
        """What the check came to."""
        return outcome_of(self.seen)

    @property
    def severity(self) -> Weight | None:
        """The worst weight among its failures."""
        weights = [one.evidence.weight for one in self.seen if one.evidence.outcome is Outcome.FAIL]
        return min(weights, key=list(Weight).index) if weights else None

    @property
    def deciding(self) -> list[str]:
        """The sentences that decided, each once; of an open check what was seen beside them, too."""
        outcome = self.outcome
        if outcome is Outcome.ASK:
            keys = dict.fromkeys(one.key for one in self.seen if one.key)
            return [f"To answer: {', '.join(keys)}.", *self._sentences(Outcome.PASS)]
        if outcome is Outcome.UNKNOWN:
            needed = self._sentences(outcome, needed=True) or self._sentences(outcome)
            return [*needed, *self._sentences(Outcome.PASS)]
        return self._sentences(outcome)

    @property
    def not_seen(self) -> list[str]:
        """What could not be looked at, or is open."""
        blind, deciding = (Outcome.UNKNOWN, Outcome.ASK), self.deciding
        unseen = [one for one in self.seen if one.evidence.outcome in blind and one.evidence.sentence not in deciding]
        if self.outcome is Outcome.ASK:
            unseen = [one for one in unseen if not one.key]
        return [f"{one.about}: {one.evidence.sentence}" for one in unseen]

    def _sentences(self, outcome: Outcome, *, needed: bool = False) -> list[str]:
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
    source: str | Path | ScoreTable | Study,
    *,
    pitfalls: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    better: Directions = None,
    missing: Missing = None,
) -> Audited:
    """A study held against the pitfalls; see `surgeval.audit_study`."""
    findings: tuple[Finding, ...] = ()
    if isinstance(source, Study):
        if columns or better or missing:
            raise Misuse("columns, better and missing stand in the study already")
        study = source
    else:
        study, findings = read_study(source, columns=columns, better=better, missing=missing)
    checks = [Checked(one.ABOUT, tuple(looked(one.LOOKS, study))) for one in chosen_pitfalls(pitfalls)]
    return _audited(study, checks, findings)


def chosen_pitfalls(codes: Sequence[str]) -> list[ModuleType]:
    """The modules of the pitfalls with these codes, in the order of the catalogue; all without codes.

    Raises:
        UnknownName: There is no such pitfall.
    """
    modules = {module.ABOUT.code: module for module in pitfall_modules()}
    wanted = [code.upper() for code in codes]
    for code in wanted:
        if code not in modules:
            raise UnknownName("pitfall", code, modules)
    return [module for code, module in modules.items() if not wanted or code in wanted]


def _audited(study: Study, checks: Sequence[Checked], findings: Sequence[Finding]) -> Audited:
    by_code = {one.about.code: (one.about, one.outcome.value, one.deciding) for one in checks}
    open_keys = list(dict.fromkeys(seen.key for one in checks for seen in one.seen if seen.key))
    return Audited(
        name=study.name,
        tables={
            "checks": tables.CHECKS.frame([_check_row(one) for one in checks]),
            "evidence": tables.EVIDENCE.frame([row for one in checks for row in _evidence_rows(one)]),
            "numbers": tables.NUMBERS.frame([row for one in checks for row in _number_rows(one)]),
            "questions": tables.QUESTIONS.frame(
                [{"key": key, "pitfall": QUESTIONS[key].pitfall, "question": QUESTIONS[key].text,
                  "example": QUESTIONS[key].example} for key in open_keys]
            ),
            "guideline_items": tables.ITEMS.frame(list(item_rows(by_code))),
            "label_errors": doubtful_cases(study.tables.get("responses")),
        },
        prose=_PROSE.format(name=study.name, checks=len(checks)),
        findings=(*findings, *_failures(checks)),
        files=study.files,
    )  # fmt: skip


def _check_row(one: Checked) -> dict[str, Any]:
    return {
        "pitfall": one.about.code, "title": one.about.title, "category": one.about.category.value,
        "outcome": one.outcome.value, "severity": one.severity.value if one.severity else None,
        "evidence": " ".join(one.deciding), "not_seen": "; ".join(one.not_seen),
        "fix": one.about.fix if one.outcome is not Outcome.PASS else None,
    }  # fmt: skip


def _evidence_rows(one: Checked) -> Iterator[dict[str, Any]]:
    for seen in one.seen:
        evidence = seen.evidence
        failing = evidence.outcome is Outcome.FAIL
        yield {"pitfall": one.about.code, "about": seen.about, "outcome": evidence.outcome.value,
               "severity": evidence.weight.value if failing else None, "needed": seen.needed,
               "sentence": evidence.sentence, "picture": evidence.picture}  # fmt: skip


def _number_rows(one: Checked) -> Iterator[dict[str, Any]]:
    for seen in one.seen:
        for number in seen.evidence.numbers:
            yield {"pitfall": one.about.code, "about": seen.about, **number._asdict()}


def _failures(checks: Sequence[Checked]) -> Iterator[Finding]:
    for one in checks:
        if one.outcome is Outcome.FAIL:
            severity = Severity.ERROR if one.severity is Weight.HIGH else Severity.WARNING
            yield Finding("pitfall", severity, " ".join(one.deciding), subject=f"{one.about.code} {one.about.title}")
