"""Reading whole question sets and answer files, with every problem found at once.

A source is a path, or `NAME=PATH`: everything in that file is then filed under the namespace NAME, so
that data sets whose identifiers collide (HeiCo and LapChole do) can be scored together.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from surgeval.errors import Misuse, QuestionsInvalid
from surgeval.schema.findings import Finding, Severity
from surgeval.schema.foreign_objects import CLASS_NAMES
from surgeval.schema.formats import AnswerFormat, Rules, build_format
from surgeval.schema.questions import (
    Complain,
    Reference,
    Request,
    Response,
    reference_from_row,
    request_from_row,
    response_from_row,
)
from surgeval.schema.rows import read_rows

Item = TypeVar("Item", Request, Reference, Response)
Source = str | Path
Sources = Source | Iterable[Source] | Iterable[Request] | Iterable[Reference] | Iterable[Response]

_NOTES = {"no-video", "unknown-secondary", "id-not-text", "extra-keys", "content-not-text", "byte-order-mark"}
_FATAL_IN_QUESTIONS = {
    "no-id", "no-question", "unknown-capability", "answer-not-text", "bad-parameters", "bad-time",
    "window-reversed", "bad-flag", "not-an-object", "repeated-key", "too-many-cells",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Questions with their references, matched by case, in the order of the references."""

    requests: Mapping[str, Request]
    references: Mapping[str, Reference]
    class_names: tuple[str, ...] = CLASS_NAMES
    findings: tuple[Finding, ...] = ()

    def format_of(self, reference: Reference, rules: Rules | None = None) -> AnswerFormat:
        """The answer format of a reference. Equal formats are built once."""
        key = json.dumps(dict(reference.parameters), sort_keys=True)
        return _built(reference.format, key, self.class_names, rules or Rules())


@lru_cache(maxsize=4096)
def _built(name: str, parameters: str, class_names: tuple[str, ...], rules: Rules) -> AnswerFormat:
    return build_format(name, json.loads(parameters), class_names=class_names, rules=rules)


@dataclass(slots=True)
class Loaded:
    """Responses as read, with what was noticed on the way."""

    responses: list[Response] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def split_source(source: Source) -> tuple[str | None, Path]:
    """Namespace and path of a source.

    Example:
        >>> split_source("heico=frame/test.parquet")[0]
        'heico'
    """
    name, equals, rest = str(source).partition("=")
    if equals and rest and name.replace("-", "").replace("_", "").isalnum() and not Path(str(source)).exists():
        return name, Path(rest)
    return None, Path(source)


def load_responses(source: Sources) -> Loaded:
    """The responses of one or more answer files; nothing is dropped without a finding."""
    loaded = Loaded()
    loaded.responses = _load(source, Response, response_from_row, loaded.findings, set())
    return loaded


def load_questions(
    requests: Sources, references: Sources, *, class_names: tuple[str, ...] | None = None
) -> QuestionSet:
    """The question set, checked as a whole.

    Raises:
        QuestionsInvalid: Anything that would make a score wrong: repeated or unmatched identifiers,
            unknown capabilities or formats, unusable parameters. Every problem is listed.
    """
    questions = collect_questions(requests, references, class_names=class_names)
    if errors := [f for f in questions.findings if f.severity is Severity.ERROR]:
        raise QuestionsInvalid("questions", [_short(f) for f in errors])
    return questions


def collect_questions(
    requests: Sources, references: Sources, *, class_names: tuple[str, ...] | None = None
) -> QuestionSet:
    """The question set with its findings; used where nothing may stop (lint)."""
    findings: list[Finding] = []
    asked = _load(requests, Request, request_from_row, findings, _FATAL_IN_QUESTIONS)
    known = _load(references, Reference, reference_from_row, findings, _FATAL_IN_QUESTIONS)
    by_case = _unique(asked, "request", findings)
    references_by_case = _unique(known, "reference", findings)
    questions = QuestionSet(by_case, references_by_case, class_names or CLASS_NAMES)
    findings += _cross_checks(questions)
    return QuestionSet(by_case, references_by_case, questions.class_names, tuple(findings))


def _cross_checks(questions: QuestionSet) -> list[Finding]:
    found = []
    for case, reference in questions.references.items():
        if case not in questions.requests:
            found.append(Finding("no-request", Severity.ERROR, "the reference has no matching request", case=case))
        try:
            answer_format = questions.format_of(reference)
        except Misuse as error:
            code = "unknown-format" if "unknown answer format" in str(error) else "bad-parameters"
            found.append(Finding(code, Severity.ERROR, str(error), case=case))
            continue
        if why := answer_format.why(reference.answer):
            message = f"the reference breaks its own format ({why.message}); the question cannot be scored"
            found.append(Finding("reference-unreadable", Severity.WARNING, message, case=case, nearest=why.nearest))
    unasked = [case for case in questions.requests if case not in questions.references]
    if unasked and questions.references:
        message = f"{len(unasked)} requests have no reference (first: {unasked[0]}); they are not scored"
        found.append(Finding("no-reference", Severity.NOTE, message))
    return found


def _load(
    source: Sources,
    kind: type[Item],
    from_row: Callable[[Mapping[str, Any], str | None, Complain], Item | None],
    findings: list[Finding],
    fatal: set[str],
) -> list[Item]:
    sources = [source] if isinstance(source, str | Path) else list(source)
    items: list[Item] = []
    for member in sources:
        if isinstance(member, kind):
            items.append(member)
            continue
        if not isinstance(member, str | Path):
            raise Misuse(f"expected a path or a {kind.__name__}, got {type(member).__name__}")
        namespace, path = split_source(member)
        for number, row in enumerate(read_rows(path, report=findings.append), start=1):
            item = from_row(row, namespace, _complainer(findings, path, number, row, fatal))
            if item is not None:
                items.append(item)
    return items


def _complainer(findings: list[Finding], path: Path, number: int, row: Mapping[str, Any], fatal: set[str]) -> Complain:
    def complain(code: str, text: str) -> None:
        severity = Severity.NOTE if code in _NOTES else Severity.WARNING
        severity = Severity.ERROR if code in fatal else severity
        case = row.get("qID", row.get("id"))
        findings.append(
            Finding(
                code, severity, text, case=None if case is None else str(case)[:80], where=f"{path.name} row {number}"
            )
        )

    return complain


def _unique(items: list[Item], what: str, findings: list[Finding]) -> dict[str, Item]:
    by_case: dict[str, Item] = {}
    for item in items:
        if item.case in by_case:
            message = f"the {what} appears twice; if two data sets are merged, give each a namespace (NAME=PATH)"
            findings.append(Finding(f"duplicate-{what}", Severity.ERROR, message, case=item.case))
        else:
            by_case[item.case] = item
    return by_case


def _short(finding: Finding) -> str:
    place = f"{finding.where} " if finding.where else ""
    return f"{place}{f'[{finding.case}] ' if finding.case else ''}{finding.message}"
