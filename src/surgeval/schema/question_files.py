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

from surgeval.errors import FileUnreadable, Misuse, QuestionsInvalid, UnknownName
from surgeval.schema.findings import Finding, Severity
from surgeval.schema.foreign_objects import CLASS_NAMES
from surgeval.schema.formats import AnswerFormat, BadParameters, Rules, build_format
from surgeval.schema.questions import (
    Complain,
    Reference,
    Request,
    Response,
    reference_from_row,
    request_from_row,
    response_from_row,
)
from surgeval.schema.rows import Report, read_rows

Item = TypeVar("Item", Request, Reference, Response)
Source = str | Path
Sources = Source | Iterable[Source] | Iterable[Request] | Iterable[Reference] | Iterable[Response]

_NOTES = {"no-video", "unknown-secondary", "id-not-text", "extra-keys", "extra-request-keys", "content-not-text"}
_FATAL_IN_QUESTIONS = {
    "no-id", "no-question", "unknown-capability", "answer-not-text", "bad-parameters", "bad-time",
    "window-reversed", "bad-flag", "not-an-object", "repeated-key", "too-many-cells", "half-character",
}  # fmt: skip
_REMEMBERED_FORMATS = 4096


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Questions with their references, matched by case, in the order of the references."""

    requests: Mapping[str, Request]
    references: Mapping[str, Reference]
    class_names: tuple[str, ...] = CLASS_NAMES
    findings: tuple[Finding, ...] = ()
    _formats: dict[tuple[str, str, Rules | None], AnswerFormat] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def format_of(self, reference: Reference, rules: Rules | None = None) -> AnswerFormat:
        """The answer format of a reference. Equal formats are built once.

        Raises:
            UnknownName: No such format.
            BadParameters: The parameters cannot be used.
        """
        key = (reference.format, _spelt(reference), rules)
        if (known := self._formats.get(key)) is None:
            known = _built(key[0], key[1], self.class_names, rules or Rules())
            if len(self._formats) < _REMEMBERED_FORMATS:
                self._formats[key] = known
        return known


def _spelt(reference: Reference) -> str:
    if not reference.parameters:
        return "{}"
    try:
        return json.dumps(dict(reference.parameters), sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        raise BadParameters(f"answer format {reference.format!r}: parameters must be plain data") from None


@lru_cache(maxsize=_REMEMBERED_FORMATS)
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
        FileUnreadable: A file is missing, truncated, wrongly encoded or of an unknown kind.
        QuestionsInvalid: Anything that would make a score wrong: repeated or unmatched identifiers,
            unknown capabilities or formats, unusable parameters. Every problem is listed.
    """
    questions = _collected(requests, references, class_names, [])
    if errors := [f for f in questions.findings if f.severity is Severity.ERROR]:
        raise QuestionsInvalid("questions", [_short(f) for f in errors])
    return questions


def load_references(references: Sources) -> list[Reference]:
    """The reference answers by themselves, for those who need no questions.

    Raises:
        FileUnreadable: A file is missing, truncated, wrongly encoded or of an unknown kind.
        QuestionsInvalid: Rows that are no reference, or identifiers that repeat; every problem is listed.
    """
    findings: list[Finding] = []
    known = _load(references, Reference, reference_from_row, findings, _FATAL_IN_QUESTIONS)
    by_case = _unique(known, "reference", findings)
    if errors := [f for f in findings if f.severity is Severity.ERROR]:
        raise QuestionsInvalid("references", [_short(f) for f in errors])
    return list(by_case.values())


def collect_questions(
    requests: Sources, references: Sources, *, class_names: tuple[str, ...] | None = None
) -> QuestionSet:
    """The question set with its findings; used where nothing may stop (lint).

    A file that cannot be read is a finding too, and what stands before the broken place is kept.
    """
    findings: list[Finding] = []
    return _collected(requests, references, class_names, findings, findings.append)


def _collected(
    requests: Sources,
    references: Sources,
    class_names: tuple[str, ...] | None,
    findings: list[Finding],
    on_broken: Report | None = None,
) -> QuestionSet:
    asked = _load(requests, Request, request_from_row, findings, _FATAL_IN_QUESTIONS, on_broken)
    known = _load(references, Reference, reference_from_row, findings, _FATAL_IN_QUESTIONS, on_broken)
    by_case = _unique(asked, "request", findings)
    references_by_case = _unique(known, "reference", findings)
    questions = QuestionSet(by_case, references_by_case, class_names or CLASS_NAMES)
    findings += _cross_checks(questions)
    return QuestionSet(by_case, references_by_case, questions.class_names, tuple(findings))


def _cross_checks(questions: QuestionSet) -> list[Finding]:
    findings = []
    for case, reference in questions.references.items():
        if case not in questions.requests:
            findings.append(Finding("no-request", Severity.ERROR, "the reference has no matching request", case=case))
        try:
            answer_format = questions.format_of(reference)
        except UnknownName as error:
            findings.append(Finding("unknown-format", Severity.ERROR, str(error), case=case))
            continue
        except BadParameters as error:
            findings.append(Finding("bad-parameters", Severity.ERROR, str(error), case=case))
            continue
        if why := answer_format.why(reference.answer):
            message = f"the reference breaks its own format ({why.message}); the question cannot be scored"
            findings.append(Finding("reference-unreadable", Severity.WARNING, message, case=case, nearest=why.nearest))
    unasked = [case for case in questions.requests if case not in questions.references]
    if unasked and questions.references:
        message = f"{len(unasked)} requests have no reference (first: {unasked[0]}); they are not scored"
        findings.append(Finding("no-reference", Severity.NOTE, message))
    return findings


def _load(
    source: Sources,
    kind: type[Item],
    from_row: Callable[[Mapping[str, Any], str | None, Complain], Item | None],
    findings: list[Finding],
    fatal: set[str],
    on_broken: Report | None = None,
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
        place = _Place(findings, path, fatal)
        try:
            for place.number, place.row in enumerate(read_rows(path, report=findings.append), start=1):
                if (item := from_row(place.row, namespace, place.complain)) is not None:
                    items.append(item)
        except FileUnreadable as error:
            if on_broken is None:
                raise
            on_broken(unreadable(error))
    return items


def unreadable(error: FileUnreadable) -> Finding:
    """The finding that a file cannot be read, or not to its end."""
    return Finding("file-unreadable", Severity.ERROR, "; ".join(error.problems), where=error.where)


@dataclass(slots=True)
class _Place:
    """Where the reading is, so that a complaint can say it."""

    findings: list[Finding]
    path: Path
    fatal: set[str]
    number: int = 0
    row: Mapping[str, Any] = field(default_factory=dict)

    def complain(self, code: str, text: str) -> None:
        severity = Severity.NOTE if code in _NOTES else Severity.WARNING
        severity = Severity.ERROR if code in self.fatal else severity
        raw = self.row.get("qID", self.row.get("id"))
        case, where = None if raw is None else str(raw)[:80], f"{self.path.name} row {self.number}"
        self.findings.append(Finding(code, severity, text, case=case, where=where))


def _unique(items: list[Item], what: str, findings: list[Finding]) -> dict[str, Item]:
    by_case: dict[str, Item] = {}
    code = "duplicate-request" if what == "request" else "duplicate-reference"
    for item in items:
        if item.case in by_case:
            message = f"the {what} appears twice; if two data sets are merged, give each a namespace (NAME=PATH)"
            findings.append(Finding(code, Severity.ERROR, message, case=item.case))
        else:
            by_case[item.case] = item
    return by_case


def _short(finding: Finding) -> str:
    place = f"{finding.where} " if finding.where else ""
    return f"{place}{f'[{finding.case}] ' if finding.case else ''}{finding.message}"
