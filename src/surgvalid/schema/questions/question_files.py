"""Reading whole question sets and answers, once, with every problem found at once.

A source is a path, or `NAME=PATH`: everything in that file is then filed under the namespace NAME, so
that data sets whose identifiers collide (HeiCo and LapChole do) can be scored together. Tables of polars, pandas or
Arrow, dictionaries and `Request`, `Reference` and `Response` objects are taken in place of files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain, groupby
from pathlib import Path
from typing import Any, NamedTuple

from surgvalid.errors import FileUnreadable, Misuse, QuestionsInvalid, UnknownName
from surgvalid.schema import file_kinds
from surgvalid.schema.file_kinds import LOOKED_AT, mistaken
from surgvalid.schema.finding_log import FindingLog, short
from surgvalid.schema.findings import Finding, Severity
from surgvalid.schema.procedures.foreign_objects import CLASS_NAMES
from surgvalid.schema.questions.formats import AnswerFormat, BadParameters, Unreadable, build_format, shown
from surgvalid.schema.questions.question_rows import (
    TEXTS,
    Columns,
    Notice,
    is_data_set_row,
    reference_columns,
    request_columns,
    response_columns,
)
from surgvalid.schema.questions.questions import ItemColumns, Reference, Request, Response, columns_of
from surgvalid.schema.rows import Report, Row, TooDeep, frame_rows, row_batches
from surgvalid.schema.tables.tabular import as_frame, is_frame

Source = str | Path
Sources = Any
"""A path, `NAME=PATH`, a table (polars, pandas, Arrow), or several of these, dictionaries or objects of ours."""

_REMEMBERED_FORMATS = 4096
_REMEMBERED_VALUES, _LONGEST_REMEMBERED = 1 << 16, 100
_TOGETHER = 1 << 12
_JSON = (".json", ".jsonl", ".ndjson")


class ReadReferences(NamedTuple):
    """What the references say, in their order."""

    formats: list[AnswerFormat | None]
    """None where the name or the parameters cannot be used."""
    values: list[Any]
    """What each answer stands for; `UNREADABLE` where it breaks its format or has none."""
    problems: list[tuple[int, str, str, str | None]]
    """Place, code and message of what cannot be used, and the answer that was probably meant."""


UNREADABLE: Any = object()
"""The value of a text that does not follow its format."""


@dataclass(frozen=True)
class QuestionSet:
    """Questions with their references, matched by case, in the order of the references."""

    requests: ItemColumns[Request]
    references: ItemColumns[Reference]
    class_names: tuple[str, ...] = CLASS_NAMES
    findings: tuple[Finding, ...] = ()

    @cached_property
    def read(self) -> ReadReferences:
        """The references with their formats built and their answers parsed, each distinct one once."""
        columns = self.references.columns
        formats: list[AnswerFormat | None] = []
        built: dict[tuple[str, int], AnswerFormat | None] = {}
        faults: dict[tuple[str, int], tuple[str, str]] = {}
        for name, parameters in zip(columns["format"], columns["parameters"], strict=True):
            if (key := (name, id(parameters))) not in built:
                try:
                    built[key] = format_named(name, parameters, self.class_names)
                except (UnknownName, BadParameters) as error:
                    built[key] = None
                    faults[key] = "unknown-format" if isinstance(error, UnknownName) else "bad-parameters", str(error)
            formats.append(built[key])
        values = self.parsed(formats, columns["answer"])
        problems: list[tuple[int, str, str, str | None]] = []
        for place in [place for place, value in enumerate(values) if value is UNREADABLE]:
            if (answer_format := formats[place]) is None:
                key = columns["format"][place], id(columns["parameters"][place])
                problems.append((place, *faults[key], None))
                continue
            why = answer_format.explain(columns["answer"][place])
            message = f"the reference breaks its own format ({why.message}); the question cannot be scored"
            problems.append((place, "reference-unreadable", message, why.nearest))
        return ReadReferences(formats, values, problems)

    @cached_property
    def _values(self) -> dict[tuple[int, str | None], Any]:
        return {}

    def parsed(self, formats: Sequence[AnswerFormat | None], texts: Sequence[str | None]) -> list[Any]:
        """What each text stands for in its format. Closed answers repeat by the thousand, so each is read once."""
        values, known = [], self._values
        for answer_format, text in zip(formats, texts, strict=True):
            value = known.get((id(answer_format), text), _ABSENT)
            if value is _ABSENT:
                value = UNREADABLE
                if answer_format is not None and text is not None:
                    with suppress(Unreadable):
                        value = answer_format.parse(text)
                    is_closed = not answer_format.judged and len(text) <= _LONGEST_REMEMBERED
                    if is_closed and len(known) < _REMEMBERED_VALUES:
                        known[id(answer_format), text] = value
            values.append(value)
        return values

    def format_of(self, reference: Reference) -> AnswerFormat:
        """The answer format of a reference. Equal formats are built once.

        Raises:
            UnknownName: No such format.
            BadParameters: The parameters cannot be used.
        """
        return format_named(reference.format, reference.parameters, self.class_names)


_ABSENT: Any = object()


def format_named(name: str, parameters: Mapping[str, Any], class_names: tuple[str, ...]) -> AnswerFormat:
    """The answer format with these parameters. Equal formats are built once.

    Raises:
        UnknownName: No such format.
        BadParameters: The parameters cannot be used.
    """
    try:
        spelt = json.dumps(parameters, sort_keys=True) if parameters else "{}"
    except (TypeError, ValueError, RecursionError):
        raise BadParameters(f"answer format {name!r}: parameters must be plain data") from None
    return _built(name, spelt, class_names)


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

    def read(self, report: Report) -> Iterator[list[Any]]:
        """Rows and objects, many at once.

        Raises:
            FileUnreadable: The file is missing, truncated, wrongly encoded or of an unknown kind.
        """
        if self.path is None:
            return (self.rows[start : start + _TOGETHER] for start in range(0, len(self.rows), _TOGETHER))
        return self._kept(self.path, report) if self.keep else row_batches(self.path, report=report)

    def _kept(self, path: Path, report: Report) -> Iterator[list[Row]]:
        def both(finding: Finding) -> None:
            self.findings.append(finding)
            report(finding)

        self.is_read = True
        try:
            for rows in row_batches(path, report=both):
                self.rows += rows
                yield rows
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
    columns: Callable[[list[Row], str | None, Notice], Columns]


REQUESTS = Part(file_kinds.REQUESTS, Request, request_columns)
REFERENCES = Part(file_kinds.REFERENCES, Reference, reference_columns)
RESPONSES = Part(file_kinds.RESPONSES, Response, response_columns)


class Batch(NamedTuple):
    """Requests, references or responses that were read together."""

    numbers: Sequence[int]
    """Of their rows in the file."""
    columns: list[list[Any]]
    """One list per field."""


def batches_of(sources: Sources, reading: Part, log: FindingLog) -> Iterator[Batch]:
    """Requests, references or responses, many at once; what is odd about them goes into the log.

    Nothing stops it: a file that cannot be read gives what stands before the broken place, and a file that is
    recognisably another one gives nothing.
    """
    for source in opened(sources, reading):
        try:
            yield from _batches(source, reading, log)
            log.leave()
        except FileUnreadable as error:
            before = [f"the {log.number} rows before it were checked"] if log.number else []
            log.leave()
            log.unreadable(error, *before)


def _batches(source: RowSource, reading: Part, log: FindingLog) -> Iterator[Batch]:
    batches = _usable_rows(source.read(log.add))
    first, broken = _first(batches)
    looked_at = [row for rows in first for row in rows][:LOOKED_AT]
    if why := mistaken({str(key) for row in looked_at if isinstance(row, dict) for key in row}, reading.role):
        log.note("another-file", why, where=source.name)
        return
    log.source = source.name if looked_at and isinstance(looked_at[0], dict) else ""
    for rows in chain(first, batches):
        for is_row, run in [(True, rows)] if _is_plain(rows) else [(k[0], list(m)) for k, m in groupby(rows, _layout)]:
            before, log.number = log.number, log.number + len(run)
            numbers = range(before + 1, log.number + 1)
            objects = None if is_row else Batch(numbers, columns_of(reading.kind, run))
            yield objects or _batch(run, numbers, source, reading, log)
            log.number = numbers.stop - 1
    if broken is not None:
        raise broken


def _batch(rows: list[Row], numbers: range, source: RowSource, reading: Part, log: FindingLog) -> Batch:
    noticed: list[tuple[int, str, str]] = []
    kept, columns = reading.columns(rows, source.namespace, lambda *finding: noticed.append(finding))
    for place, code, text in sorted(noticed, key=lambda finding: finding[0]):
        if code not in TEXTS or source.is_json:
            log.number, log.row = numbers[place], rows[place]
            log.complain(code, text)
    return Batch(numbers if len(kept) == len(rows) else [numbers[place] for place in kept], columns)


def _is_plain(rows: list[Any]) -> bool:
    """Whether all are rows in the official layout."""
    return set(map(type, rows)) == {dict} and all("qID" in row for row in rows)


def _layout(row: Any) -> tuple[bool, bool]:
    return isinstance(row, dict), isinstance(row, dict) and is_data_set_row(row)


def _usable_rows(batches: Iterator[list[Any]]) -> Iterator[list[Any]]:
    for rows in batches:
        yield rows if TooDeep not in set(map(type, rows)) else [row for row in rows if type(row) is not TooDeep]


def _first(batches: Iterator[list[Any]]) -> tuple[list[list[Any]], FileUnreadable | None]:
    """The first rows, and the reason where there are no more."""
    first: list[list[Any]] = []
    try:
        while sum(map(len, first)) < LOOKED_AT and (rows := next(batches, None)) is not None:
            first.append(rows)
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
    by_case = _unique(references, REFERENCES, log)
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
    asked, known = _unique(requests, REQUESTS, log), _unique(references, REFERENCES, log)
    questions = QuestionSet(asked, known, class_names or CLASS_NAMES)
    _cross_check(questions, log)
    object.__setattr__(questions, "findings", tuple(log.kept))
    return questions


def _cross_check(questions: QuestionSet, log: FindingLog) -> None:
    asked, known = questions.requests.places, questions.references.places
    is_other = bool(known) and known.keys().isdisjoint(asked) and (len(known) > 1 or not asked)
    if is_other and not log.explains:
        what = f"none of the {len(known):,} references (first: {shown(next(iter(known)))}) has a request"
        if asked:
            cure = "they seem to belong to other questions; pass the references of these as --references"
            message, where = f"{what} (first: {shown(next(iter(asked)))}); {cure}", "references"
        else:
            message, where = f"{what}: there is not a single one; pass the questions as --requests", "requests"
        log.note("nothing-matches", message, where=where)
    faults = {place: fault for place, *fault in questions.read.problems}
    for place, case in enumerate(known) if faults or not known.keys() <= asked.keys() else ():
        if case not in asked and not is_other:
            log.note("no-request", "the reference has no matching request", case=case)
        if place in faults:
            code, text, nearest = faults[place]
            log.note(str(code), str(text), case=case, nearest=nearest)
    unasked = [] if asked.keys() <= known.keys() else [case for case in asked if case not in known]
    if unasked and known and not is_other:
        log.note(
            "no-reference", f"{len(unasked)} requests have no reference (first: {unasked[0]}); they are not scored"
        )


def _unique(sources: Sources, reading: Part, log: FindingLog) -> ItemColumns[Any]:
    by_case: ItemColumns[Any] = ItemColumns(reading.kind)
    what = reading.kind.__name__.lower()
    message = f"the {what} appears twice; if two data sets are merged, give each a namespace (NAME=PATH)"
    for batch in batches_of(sources, reading, log):
        for row in by_case.add(batch.columns):
            log.number = batch.numbers[row]
            log.note(f"duplicate-{what}", message, case=batch.columns[0][row])
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
    batches = list(responses_of(source, log))
    log.refuse_files()
    return Loaded([response for batch in batches for response in map(Response, *batch.columns)], log.kept)


def responses_of(sources: Sources, log: FindingLog) -> Iterator[Batch]:
    """The responses of one or more answer files, many at once, as `batches_of` gives them."""
    for source in opened(sources, RESPONSES):
        ending = "" if source.path is None else source.path.suffix.lower()
        has_rows = False
        for batch in batches_of([source], RESPONSES, log):
            has_rows = has_rows or bool(batch.columns[0])
            yield batch
        if ending not in ("", ".json") and has_rows:
            log.note("not-json", f"the answers are {ending}, not .json", where=source.name)
