"""Reading whole question sets and answers, once, with every problem found at once.

A source is a path, or `NAME=PATH`: everything in that file is then filed under the namespace NAME, so
that data sets whose identifiers collide (HeiCo and LapChole do) can be scored together. Tables of polars, pandas or
Arrow, dictionaries and `Request`, `Reference` and `Response` objects are taken in place of files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from surgvalid.errors import FileUnreadable, Misuse, QuestionsInvalid, UnknownName
from surgvalid.schema import file_kinds
from surgvalid.schema.file_kinds import LOOKED_AT, mistaken
from surgvalid.schema.finding_log import FindingLog, short
from surgvalid.schema.findings import Finding, Severity
from surgvalid.schema.procedures.foreign_objects import CLASS_NAMES
from surgvalid.schema.questions.formats import AnswerFormat, BadParameters, Unreadable, build_format, shown
from surgvalid.schema.questions.questions import (
    Complain,
    Reference,
    Request,
    Response,
    reference_from_row,
    request_from_row,
    response_from_row,
    seconds_in,
)
from surgvalid.schema.rows import Report, Row, TooDeep, frame_rows, read_rows
from surgvalid.schema.tables.tabular import as_frame, is_frame

Item = TypeVar("Item", Request, Reference, Response)
Source = str | Path
Sources = Any
"""A path, `NAME=PATH`, a table (polars, pandas, Arrow), or several of these, dictionaries or objects of ours."""

_REMEMBERED_FORMATS = 4096
_REMEMBERED_VALUES, _LONGEST_REMEMBERED = 1 << 16, 100
_JSON = (".json", ".jsonl", ".ndjson")


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Questions with their references, matched by case, in the order of the references."""

    requests: Mapping[str, Request]
    references: Mapping[str, Reference]
    class_names: tuple[str, ...] = CLASS_NAMES
    findings: tuple[Finding, ...] = ()
    _formats: dict[tuple[str, str], AnswerFormat] = field(default_factory=dict, init=False, repr=False, compare=False)
    _values: dict[tuple[int, str], tuple[AnswerFormat, Any]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """Values with their formats, which stay alive here, so that no other one comes to have the same `id`."""

    def parsed(self, answer_format: AnswerFormat, text: str) -> Any:
        """What the text stands for in the format. Closed answers repeat by the thousand, so each is read once.

        Raises:
            Unreadable: The text does not follow the format.
        """
        if answer_format.judged:
            return answer_format.parse(text)
        key = (id(answer_format), text)
        if (known := self._values.get(key)) is not None:
            return known[1]
        value = answer_format.parse(text)
        if len(self._values) < _REMEMBERED_VALUES and len(text) <= _LONGEST_REMEMBERED:
            self._values[key] = (answer_format, value)
        return value

    def format_of(self, reference: Reference) -> AnswerFormat:
        """The answer format of a reference. Equal formats are built once.

        Raises:
            UnknownName: No such format.
            BadParameters: The parameters cannot be used.
        """
        key = (reference.format, _spelt(reference, repr))
        if (known := self._formats.get(key)) is None:
            parameters = _spelt(reference, partial(json.dumps, sort_keys=True))
            known = _built(reference.format, parameters, self.class_names)
            if len(self._formats) < _REMEMBERED_FORMATS:
                self._formats[key] = known
        return known


def _spelt(reference: Reference, spell: Callable[[Any], str]) -> str:
    try:
        return spell(reference.parameters) if reference.parameters else "{}"
    except (TypeError, ValueError, RecursionError):
        raise BadParameters(f"answer format {reference.format!r}: parameters must be plain data") from None


@lru_cache(maxsize=_REMEMBERED_FORMATS)
def _built(name: str, parameters: str, class_names: tuple[str, ...]) -> AnswerFormat:
    return build_format(name, json.loads(parameters), class_names=class_names)


# --- sources -------------------------------------------------------------------------------------


def split_source(source: Source) -> tuple[str | None, Path]:
    """Namespace and path of a source; a name may hold everything but what paths are made of.

    Example:
        >>> split_source("heico=frame/test.parquet")[0]
        'heico'
    """
    name, equals, rest = str(source).partition("=")
    if equals and rest and name.strip() and not set("/\\:") & set(name) and not Path(str(source)).exists():
        return name, Path(rest)
    return None, Path(source)


@dataclass(slots=True)
class RowSource:
    """Rows or objects from one place. What `keep` asks for is still there after it was read, so it is read once."""

    name: str
    namespace: str | None = None
    path: Path | None = None
    rows: list[Any] = field(default_factory=list)
    """What was given in place of a path, or was read from it."""
    is_table: bool = False
    """Whether the rows were given as a table, which has a cell for every column."""
    keep: bool = False
    findings: list[Finding] = field(default_factory=list)
    """What the reader of the file noticed; like `broken` and `rows`, where they are kept."""
    broken: FileUnreadable | None = None
    is_read: bool = False

    @property
    def is_official(self) -> bool:
        """Whether the official toolkit would take it: JSON values, all identifiers as they are."""
        if self.path is None:
            return not self.is_table
        return self.namespace is None and self.path.suffix.lower() == ".json"

    @property
    def is_json(self) -> bool:
        """Whether it is a file in which numbers and texts are told apart."""
        return self.path is not None and self.path.suffix.lower() in _JSON

    def read(self, report: Report) -> Iterator[Any]:
        """Rows and objects, one after the other.

        Raises:
            FileUnreadable: The file is missing, truncated, wrongly encoded or of an unknown kind.
        """
        if self.path is None:
            return iter(self.rows)
        return self._kept(self.path, report) if self.keep else read_rows(self.path, report=report)

    def _kept(self, path: Path, report: Report) -> Iterator[Row]:
        def both(finding: Finding) -> None:
            self.findings.append(finding)
            report(finding)

        self.is_read = True
        try:
            for row in read_rows(path, report=both, deep=True):
                self.rows.append(row)
                if type(row) is not TooDeep:
                    yield row
        except FileUnreadable as error:
            self.broken = error
            raise


def opened(sources: Sources, reading: Part, *, keep: bool = False) -> list[RowSource]:
    """What was given as one part of a question set, place by place; no file is read yet.

    Raises:
        Misuse: It is no source.
    """
    name, kinds = reading.role.name, (reading.kind, dict)
    row_sources: list[RowSource] = []
    is_several = isinstance(sources, Iterable) and not isinstance(sources, str | dict) and not is_frame(sources)
    for member in sources if is_several else [sources]:
        if isinstance(member, RowSource):
            row_sources.append(member)
        elif isinstance(member, str | Path):
            namespace, path = split_source(member)
            row_sources.append(RowSource(path.name, namespace, path, keep=keep))
        elif is_frame(member):
            row_sources.append(RowSource(name, rows=list(frame_rows(as_frame(member))), is_table=True))
        elif not isinstance(member, kinds):
            wanted = f"a path, a table, a dictionary or a {reading.kind.__name__}"
            raise Misuse(f"{name}: expected {wanted}, got {type(member).__name__}")
        elif row_sources and row_sources[-1].path is None and not row_sources[-1].is_table:
            row_sources[-1].rows.append(member)
        else:
            row_sources.append(RowSource(name, rows=[member]))
    return row_sources


class Part(NamedTuple):
    """How files of one role are read."""

    role: file_kinds.Role
    kind: type[Any]
    from_row: Callable[[Mapping[str, Any], str | None, Complain], Any]


REQUESTS = Part(file_kinds.REQUESTS, Request, request_from_row)
REFERENCES = Part(file_kinds.REFERENCES, Reference, reference_from_row)
RESPONSES = Part(file_kinds.RESPONSES, Response, response_from_row)


def items_of(sources: Sources, reading: Part, log: FindingLog) -> Iterator[Any]:
    """Requests, references or responses, one after the other; what is odd about them goes into the log.

    Nothing stops it: a file that cannot be read gives what stands before the broken place, and a file that is
    recognisably another one gives nothing.
    """
    for source in opened(sources, reading):
        try:
            yield from _items(source, reading, log)
            log.leave()
        except FileUnreadable as error:
            before = [f"the {log.number} rows before it were checked"] if log.number else []
            log.leave()
            log.unreadable(error, *before)


def _items(source: RowSource, reading: Part, log: FindingLog) -> Iterator[Any]:
    rows = source.read(log.add)
    first, broken = _first(rows)
    if why := mistaken({str(key) for row in first if isinstance(row, dict) for key in row}, reading.role):
        log.note("another-file", why, where=source.name)
        return
    log.source = source.name if first and isinstance(first[0], dict) else ""
    for log.number, row in enumerate(chain(first, rows), start=1):
        if isinstance(row, dict):
            log.row = row
            row = reading.from_row(row, source.namespace, log.complain)
        if row is not None:
            yield row
    if broken is not None:
        raise broken


def _first(rows: Iterator[Any]) -> tuple[list[Any], FileUnreadable | None]:
    """The first rows, and the reason where there are no more."""
    first: list[Any] = []
    try:
        for row in islice(rows, LOOKED_AT):
            first.append(row)
    except FileUnreadable as error:
        return first, error
    return first, None


# --- questions -----------------------------------------------------------------------------------


def load_questions(
    requests: Sources, references: Sources, *, class_names: tuple[str, ...] | None = None
) -> QuestionSet:
    """The question set, checked as a whole.

    Raises:
        WrongFile: A file is recognisably another one, or nothing in one belongs to the other.
        FileUnreadable: A file is missing, truncated, wrongly encoded or of an unknown kind.
        QuestionsInvalid: Anything that would make a score wrong: repeated or unmatched identifiers,
            unknown capabilities or formats, unusable parameters. Every problem is listed.
    """
    log = FindingLog()
    questions = collect_questions(requests, references, class_names=class_names, log=log)
    log.refuse_files()
    refuse_errors(questions.findings)
    return questions


def refuse_errors(findings: Iterable[Finding], where: str = "questions") -> None:
    """Refuse a question set with errors.

    Raises:
        QuestionsInvalid: With all of them.
    """
    if errors := [short(finding) for finding in findings if finding.severity is Severity.ERROR]:
        raise QuestionsInvalid(where, errors)


def load_references(references: Sources) -> list[Reference]:
    """The reference answers by themselves, for those who need no questions.

    Raises:
        WrongFile: A file is recognisably another one.
        FileUnreadable: A file is missing, truncated, wrongly encoded or of an unknown kind.
        QuestionsInvalid: Rows that are no reference, or identifiers that repeat; every problem is listed.
    """
    log = FindingLog()
    by_case = _unique(items_of(references, REFERENCES, log), "reference", log)
    log.refuse_files()
    refuse_errors(log.kept, "references")
    return list(by_case.values())


def collect_questions(
    requests: Sources,
    references: Sources,
    *,
    class_names: tuple[str, ...] | None = None,
    log: FindingLog | None = None,
) -> QuestionSet:
    """The question set with its findings; used where nothing may stop (lint).

    A file that cannot be read is a finding too, and what stands before the broken place is kept.
    """
    log = FindingLog() if log is None else log
    asked = _unique(_requests_of(requests, log), "request", log)
    known = _unique(items_of(references, REFERENCES, log), "reference", log)
    questions = QuestionSet(asked, known, class_names or CLASS_NAMES)
    _cross_check(questions, log)
    return QuestionSet(asked, known, questions.class_names, tuple(log.kept))


def _requests_of(sources: Sources, log: FindingLog) -> Iterator[Request]:
    for source in opened(sources, REQUESTS):
        is_json = source.is_json
        for request in items_of([source], REQUESTS, log):
            if is_json and (type(log.row.get("start_time")) is str or type(log.row.get("end_time")) is str):
                _complain_of_text_times(log)
            yield request


def _complain_of_text_times(log: FindingLog) -> None:
    for key in ("start_time", "end_time"):
        if type(text := log.row.get(key)) is str and seconds_in(text) is not None:
            log.complain("time-is-text", f"{key!r} is the text {shown(text)}")


def _cross_check(questions: QuestionSet, log: FindingLog) -> None:
    asked, known = questions.requests, questions.references
    is_other = bool(known) and known.keys().isdisjoint(asked) and (len(known) > 1 or not asked)
    if is_other and not log.explains:
        what = f"none of the {len(known):,} references (first: {shown(next(iter(known)))}) has a request"
        if asked:
            cure = "they seem to belong to other questions; pass the references of these as --references"
            message, where = f"{what} (first: {shown(next(iter(asked)))}); {cure}", "references"
        else:
            message, where = f"{what}: there is not a single one; pass the questions as --requests", "requests"
        log.note("nothing-matches", message, where=where)
    for case, reference in known.items():
        if case not in asked and not is_other:
            log.note("no-request", "the reference has no matching request", case=case)
        _check_reference(questions, reference, log)
    unasked = [case for case in asked if case not in known]
    if unasked and known and not is_other:
        log.note(
            "no-reference", f"{len(unasked)} requests have no reference (first: {unasked[0]}); they are not scored"
        )


def _check_reference(questions: QuestionSet, reference: Reference, log: FindingLog) -> None:
    try:
        answer_format = questions.format_of(reference)
    except UnknownName as error:
        log.note("unknown-format", str(error), case=reference.case)
    except BadParameters as error:
        log.note("bad-parameters", str(error), case=reference.case)
    else:
        try:
            questions.parsed(answer_format, reference.answer)
        except Unreadable:
            why = answer_format.explain(reference.answer)
            message = f"the reference breaks its own format ({why.message}); the question cannot be scored"
            log.note("reference-unreadable", message, case=reference.case, nearest=why.nearest)


def _unique(items: Iterable[Item], what: str, log: FindingLog) -> dict[str, Item]:
    by_case: dict[str, Item] = {}
    code = "duplicate-request" if what == "request" else "duplicate-reference"
    for item in items:
        if item.case in by_case:
            message = f"the {what} appears twice; if two data sets are merged, give each a namespace (NAME=PATH)"
            log.note(code, message, case=item.case)
        else:
            by_case[item.case] = item
    return by_case


# --- responses -----------------------------------------------------------------------------------


@dataclass(slots=True)
class Loaded:
    """Responses as read, with what was noticed on the way."""

    responses: list[Response] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def load_responses(source: Sources) -> Loaded:
    """The responses of one or more answer files; nothing is dropped without a finding.

    Raises:
        WrongFile: A file is recognisably another one.
        FileUnreadable: A file is missing, truncated, wrongly encoded or of an unknown kind.
    """
    log = FindingLog()
    responses = list(responses_of(source, log))
    log.refuse_files()
    return Loaded(responses, log.kept)


def responses_of(sources: Sources, log: FindingLog) -> Iterator[Response]:
    """The responses of one or more answer files, one after the other, as `items_of` gives them."""
    for source in opened(sources, RESPONSES):
        ending = "" if source.path is None else source.path.suffix.lower()
        rows, is_json = 0, source.is_json
        for response in items_of([source], RESPONSES, log):
            rows += 1
            if is_json and type(log.row.get("latency")) is str and response.latency_s == response.latency_s:
                log.complain("latency-is-text", f"the latency is the text {shown(log.row['latency'])}")
            yield response
        if ending not in ("", ".json") and rows:
            log.note("not-json", f"the answers are {ending}, not .json", where=source.name)
