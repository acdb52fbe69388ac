"""Stage 5, questions by hand: a form that experts fill in, checked line by line before anybody reviews it.

The form is a CSV file with the columns of the public data sets and the author. An expert who knows the template
that a question could have come from names it, with its blanks as JSON; then the ledger must give the same
answer, and the question must survive the same ambiguity checks as an automatic one.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

from surgvalid.errors import Misuse, QuestionsInvalid, UnknownName
from surgvalid.questions.catalogue import template_named
from surgvalid.questions.drafts import ambiguity_of
from surgvalid.questions.stages.history import Action, History, ReviewState
from surgvalid.questions.template import (
    FRAME,
    LONGEST_SEGMENT_S,
    PROCEDURE,
    SEGMENT,
    QuestionScene,
    QuestionTrack,
)
from surgvalid.schema.findings import Finding, Severity
from surgvalid.schema.procedures.ledger import Ledger
from surgvalid.schema.procedures.spans import Window
from surgvalid.schema.questions.formats import AnswerFormat, build_format
from surgvalid.schema.questions.question_rows import reference_from_row, request_from_row
from surgvalid.schema.questions.questions import Reference, Request
from surgvalid.schema.rows import Row, read_rows

FORM_COLUMNS = (
    "id", "video", "procedure_type", "question", "answer", "answer_format", "track", "clinical_relevance",
    "timestamp_start", "timestamp_end", "primary_capability", "author",
)  # fmt: skip
"""What a form must have; `secondary_capabilities`, `format_kwargs`, `template` and `slots` may follow."""
_SMALL_WORDS = frozenset(
    "a an and are at be by do does for from had has have in is it of on or that the this to was were".split()
)


@dataclass(frozen=True, slots=True)
class ExpertQuestion:
    """A question that somebody wrote by hand."""

    request: Request
    reference: Reference
    track: QuestionTrack
    author: str
    template: str = ""
    slots: Mapping[str, Any] = field(default_factory=dict)

    @property
    def case(self) -> str:
        """The identifier."""
        return self.request.case

    @property
    def format(self) -> AnswerFormat:
        """How answers are read and compared."""
        return build_format(self.reference.format, self.reference.parameters)


def read_form(path: str | Path, *, durations_s: Mapping[str, int]) -> list[ExpertQuestion]:
    """The questions of a form, if nothing at all is wrong with it.

    Args:
        path: The CSV file.
        durations_s: The length of every video that may be asked about.

    Raises:
        FileUnreadable: The file cannot be read.
        QuestionsInvalid: With every problem of every row; the header is row 1, as in a spreadsheet.
    """
    questions: list[ExpertQuestion] = []
    noticed: list[Finding] = []
    rows = list(read_rows(path, report=noticed.append))
    problems = [f"{finding.where}: {finding.message}" for finding in noticed if finding.severity is Severity.ERROR]
    given = {name for row in rows for name in row}
    if rows and (missing := [name for name in FORM_COLUMNS if name not in given]):
        raise QuestionsInvalid(str(path), [f"column {name!r} is missing or wholly empty" for name in missing])
    lines: dict[str, int] = {}
    for line, row in enumerate(rows, start=2):
        question, mistakes = _question(row, durations_s)
        if question is not None:
            questions.append(question)
            if (first := lines.setdefault(question.case, line)) != line:
                mistakes.append(f"the id {question.case!r} was used in row {first} already")
        problems += [f"row {line}: {problem}" for problem in mistakes]
    if not questions and not problems:
        problems.append("the form has no question")
    if problems:
        raise QuestionsInvalid(str(path), problems)
    return questions


def add_to_form(path: Path, row: Row, *, durations_s: Mapping[str, int]) -> str:
    """Add a question to a form, which begins with it where there is none, and give its identifier back.

    Raises:
        QuestionsInvalid: With everything that is wrong with it.
    """
    number = 1 + (sum(1 for _ in read_rows(path)) if path.is_file() else 0)
    row = {**dict.fromkeys(FORM_COLUMNS), **row, "id": f"written-{number}"}
    if problems := _question(row, durations_s)[1]:
        raise QuestionsInvalid("the question", problems)
    with open(path, "a", encoding="utf-8", newline="") as handle:
        lines = csv.writer(handle, lineterminator="\n")
        lines.writerows([FORM_COLUMNS] if number == 1 else [])
        lines.writerow(row[name] for name in FORM_COLUMNS)
    return str(row["id"])


def confirmed(questions: Sequence[ExpertQuestion], history: History) -> list[ExpertQuestion]:
    """The questions that two people other than their author approved as they stand."""
    states = history.states()
    return [one for one in questions if states.get(one.case) is ReviewState.CONFIRMED]


def proposed(questions: Sequence[ExpertQuestion], *, at: str) -> History:
    """The history in which every author has proposed their questions and nobody has reviewed them."""
    history = History()
    for question in questions:
        history = history.add(question.case, Action.PROPOSED, question.author, at=at)
    return history


def repetitions(questions: Sequence[ExpertQuestion]) -> list[Finding]:
    """Pairs that ask the same of the same window: duplicates, and contradictions where the answers differ.

    The same means the same words, whatever their order, apart from small ones.
    """
    asked: dict[tuple[Any, ...], list[ExpertQuestion]] = {}
    for question in questions:
        request = question.request
        words = frozenset(re.findall(r"[\w:%]+", request.question.casefold())) - _SMALL_WORDS
        asked.setdefault((request.video, request.start_s, request.end_s, words), []).append(question)
    findings = []
    for group in asked.values():
        for one, other in combinations(group, 2):
            agree = _agree(one, other)
            answers = f"{one.reference.answer!r} and {other.reference.answer!r}"
            findings.append(
                Finding(
                    "duplicate-question" if agree else "contradiction",
                    Severity.WARNING if agree else Severity.ERROR,
                    f"{one.case} and {other.case} ask the same and answer {answers}",
                    case=one.case,
                )
            )
    return findings


def ledger_findings(question: ExpertQuestion, ledger: Ledger) -> list[Finding]:
    """What the ledger says against a question that names its template: another answer, none, or an ambiguity."""
    if not question.template:
        return []
    template = template_named(question.template)
    window = Window(int(question.request.start_s), int(question.request.end_s))
    scene = QuestionScene(ledger, window, question.track)
    try:
        answer = template.answer(scene, question.slots)
    except (KeyError, TypeError, ValueError) as problem:
        text = f"its blanks do not fit the template {template.name} ({type(problem).__name__}: {problem})"
        return [_against(question, "no-answer", text)]
    if answer is None:
        return [_against(question, "no-answer", "the ledger has no answer to it")]
    kind = question.format
    answer_given = question.reference.answer
    if not kind.reads(answer.text) or not kind.compare(kind.parse(answer.text), kind.parse(answer_given)):
        text = f"the ledger answers {answer.text!r}, the author {answer_given!r}"
        return [_against(question, "ledger-disagrees", text)]
    if doubt := ambiguity_of(template, scene, question.slots, answer):
        return [_against(question, "ambiguous", f"the answer is ambiguous: {doubt}")]
    return []


def _against(question: ExpertQuestion, code: str, text: str) -> Finding:
    return Finding(code, Severity.ERROR, text, case=question.case)


def _agree(one: ExpertQuestion, other: ExpertQuestion) -> bool:
    if one.reference.format != other.reference.format:
        return False
    kind = one.format
    return bool(kind.compare(kind.parse(one.reference.answer), kind.parse(other.reference.answer)))


def _question(row: Row, durations_s: Mapping[str, int]) -> tuple[ExpertQuestion | None, list[str]]:
    """The question in a line, as far as it can be read, and everything wrong with the line."""
    problems: list[str] = []

    def complain(_: str, text: str) -> None:
        if text not in problems:
            problems.append(text)

    row = {**dict.fromkeys((*FORM_COLUMNS, "template", "slots")), **row}
    request, reference = request_from_row(row, None, complain), reference_from_row(row, None, complain)
    author = str(row["author"] or "").strip()
    if not author:
        problems.append("no author")
    track = next((one for one in QuestionTrack if one.value == str(row["track"]).strip().lower()), None)
    if track is None:
        problems.append(f"unknown track {str(row['track'] or '')!r}; known: {', '.join(QuestionTrack)}")
    if request is not None:
        problems += _window_problems(request, track, durations_s)
    if reference is not None:
        problems += _answer_problems(reference)
    slots = _slots(row, problems)
    if request is None or reference is None or track is None:
        return None, problems
    return ExpertQuestion(request, reference, track, author, str(row.get("template") or ""), slots), problems


def _window_problems(request: Request, track: QuestionTrack | None, durations_s: Mapping[str, int]) -> Iterator[str]:
    duration = durations_s.get(request.video)
    if duration is None:
        yield str(UnknownName("video", request.video, durations_s))
    elif request.end_s > duration - 1 or request.start_s < 0:
        yield f"the window {request.start_s:g} to {request.end_s:g} s leaves the video (0 to {duration - 1} s)"
    if track is FRAME and request.window_s != 0:
        yield f"a frame starts where it ends, got {request.start_s:g} to {request.end_s:g} s"
    if track is SEGMENT and request.window_s > LONGEST_SEGMENT_S:
        yield f"a segment lasts at most {LONGEST_SEGMENT_S} s, got {request.window_s:g}"
    if track is PROCEDURE and request.start_s != 0:
        yield f"a procedure question starts at 0 s, got {request.start_s:g}"


def _answer_problems(reference: Reference) -> Iterator[str]:
    if reference.capability.is_group:
        leaves = ", ".join(leaf.value for leaf in reference.capability.leaves)
        yield f"{reference.capability.value} is a group; name one of {leaves}"
    try:
        kind = build_format(reference.format, reference.parameters)
    except Misuse as problem:
        yield str(problem)
        return
    if not kind.reads(reference.answer):
        near = kind.legal_or_none(reference.answer.strip())
        yield f"the answer {reference.answer!r} is no legal {reference.format}" + (f"; meant {near!r}?" if near else "")


def _slots(row: Row, problems: list[str]) -> Mapping[str, Any]:
    if name := str(row.get("template") or ""):
        try:
            template_named(name)
        except UnknownName as problem:
            problems.append(str(problem))
    try:
        slots = json.loads(row.get("slots") or "{}")
    except json.JSONDecodeError as problem:
        problems.append(f"the blanks are no JSON ({problem})")
        return {}
    if not isinstance(slots, dict):
        problems.append(f"the blanks must be a JSON object, got {row['slots']!r}")
        return {}
    return slots
