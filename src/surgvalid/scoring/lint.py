"""Lint: everything that is wrong with an answer file, before anybody scores it.

Reading is a stream: each response is looked at once and not kept, so a million of them need little
more memory than their identifiers. Nothing here stops on bad input; an unreadable file is a finding
too, and what stands before its broken place is still checked. `score` reads through `checked` as well, so both say
the same of the same files.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from surgvalid.errors import FileUnreadable, UnknownName
from surgvalid.results.request import requested
from surgvalid.schema.finding_log import FindingLog
from surgvalid.schema.procedures.foreign_objects import read_definitions
from surgvalid.schema.questions.formats import JUDGED, AnswerFormat, BadParameters, Time, Unreadable, shown
from surgvalid.schema.questions.question_files import QuestionSet, Sources, collect_questions, responses_of
from surgvalid.schema.questions.questions import TRACK_LIMITS_S, Reference, Response
from surgvalid.scoring.injection import official_signal, signals
from surgvalid.scoring.lint_report import FormatCount, LintReport

LONGEST_ANSWER = 300
"""Characters that free-text formats read where a reference does not say otherwise."""

FEWEST_ALIKE = 5
"""Fewer answers than these are not called suspiciously alike."""


@dataclass(slots=True)
class LintTally:
    """What was seen of the answers of one format, or of all."""

    responses: int = 0
    empty: int = 0
    unreadable: int = 0
    texts: set[str] = field(default_factory=set)
    """Up to two different answers; two are enough to know that they differ."""

    def count(self, content: str | None, is_empty: bool) -> None:
        """Count an answer, and remember it while all are alike."""
        self.responses += 1
        self.empty += is_empty
        if len(self.texts) < 2 and content is not None and not is_empty:
            self.texts.add(content.strip().casefold())


@dataclass
class LintCheck:
    """The state of one lint: what was asked, what was seen so far, what was found."""

    questions: QuestionSet
    log: FindingLog
    has_references: bool
    keep: bool = False
    """Whether the responses are wanted, and not only what is odd about them."""
    seen: dict[str, Response | None] = field(default_factory=dict)
    """The first response to each question, where they are kept."""
    flags: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Names of the signs of an injection, of the kept responses that have some."""
    responses: int = 0
    late: Counter[str] = field(default_factory=Counter)
    slowest: tuple[float, str] = (0.0, "")
    formats: dict[str, LintTally] = field(default_factory=dict)
    others: LintTally = field(default_factory=LintTally)
    """Answers to questions without a reference."""

    @property
    def all(self) -> LintTally:
        """What was seen of the answers of every format."""
        every = [self.others, *self.formats.values()]
        return LintTally(
            responses=sum(one.responses for one in every),
            empty=sum(one.empty for one in every),
            unreadable=sum(one.unreadable for one in every),
            texts=set().union(*(one.texts for one in every)),
        )

    # --- one response -----------------------------------------------------------------------------

    def response(self, response: Response) -> None:
        """Check one response, as it comes by."""
        self.responses += 1
        case = response.case
        if response.latency_s > _SHORTEST_LIMIT_S:
            self._latency(response)
        if case in self.seen:
            self.log.note("duplicate-response", "the question was answered before", case=case)
            return
        self.seen[case] = response if self.keep else None
        if self._is_asked(case):
            self._answer(response)
        elif self.has_questions:
            self._unknown(case)

    @cached_property
    def has_questions(self) -> bool:
        """Whether there is anything to compare identifiers with."""
        return bool(self.questions.requests or self.questions.references)

    def _is_asked(self, case: str) -> bool:
        if not self.has_questions:
            return True
        return case in self.questions.requests or case in self.questions.references

    def _latency(self, response: Response) -> None:
        self.late.update(track for track, limit in TRACK_LIMITS_S.items() if response.latency_s > limit)
        self.slowest = max(self.slowest, (response.latency_s, response.case))

    def _unknown(self, case: str) -> None:
        if (near := self._folded_ids.get(folded_id(case))) and near != case:
            message = "no such question, but one that differs only in spelling"
            self.log.note("id-spelling", message, case=case, nearest=near)
        else:
            self.log.note("unknown-id", "no such question; the response is ignored", case=case)

    @cached_property
    def _folded_ids(self) -> dict[str, str]:
        known: dict[str, str] = {}
        for case in (*self.questions.requests, *self.questions.references):
            known.setdefault(folded_id(case), case)
            namespace, slash, rest = case.partition("/")
            if namespace and slash:
                known.setdefault(folded_id(rest), case)
        return known

    def _answer(self, response: Response) -> None:
        reference, content = self.questions.references.get(response.case), response.content
        tally = self.others if reference is None else self._tally(reference.format)
        is_empty = content is None or not content.strip()
        tally.count(content, is_empty)
        if content is None:
            return
        if is_empty:
            self.log.note("empty-answer", _empty_message(reference), case=response.case)
        is_legal = None if is_empty else self._is_legal(content, reference, response.case)
        tally.unreadable += is_legal is False
        closed = is_legal and reference is not None and reference.format not in JUDGED
        is_plain = closed and content.isascii() and content.isprintable()  # a closed format leaves no room to talk
        if not is_plain:
            self._official_injection(content, response.case)
        if self.keep or not is_plain:
            self._injection(content, response.case, is_plain=bool(is_plain))

    def _tally(self, name: str) -> LintTally:
        if (tally := self.formats.get(name)) is None:
            tally = self.formats[name] = LintTally()
        return tally

    def _official_injection(self, content: str, case: str) -> None:
        if phrase := official_signal(content):
            self.log.note("official-injection", f"contains {phrase!r}", case=case)

    def _injection(self, content: str, case: str, *, is_plain: bool) -> None:
        if not (injected := signals(content)):
            return
        self.flags[case] = tuple(signal.name for signal in injected)
        if not is_plain:
            listed = ", ".join(f"{signal.name} ({signal.excerpt})" for signal in injected)
            self.log.note("injection", listed, case=case)

    def _is_legal(self, content: str, reference: Reference | None, case: str) -> bool | None:
        """Whether the format reads the answer; None where the format is not known."""
        answer_format = None if reference is None else self._format_of(reference)
        if answer_format is None:
            return False if self._is_long(content, case) else None
        try:
            value = self.questions.parsed(answer_format, content)
        except Unreadable:
            why = answer_format.explain(content)
            code = "over-long" if why.rule == "over-long" else "unreadable-answer"
            message = f"{answer_format.name}: {why.message}"
            self.log.note(code, message, case=case, nearest=why.nearest)
            return False
        if isinstance(answer_format, Time) and reference is not None:
            self._outside_window(answer_format, value, reference)
        return True

    def _format_of(self, reference: Reference) -> AnswerFormat | None:
        try:
            return self.questions.format_of(reference)
        except (UnknownName, BadParameters):
            return None

    def _is_long(self, content: str, case: str) -> bool:
        length = len(content.strip())
        if length > LONGEST_ANSWER:
            message = f"{length} characters; formats read at most {LONGEST_ANSWER} unless a reference says otherwise"
            self.log.note("over-long", message, case=case)
        return length > LONGEST_ANSWER

    def _outside_window(self, stamps: Time, value: tuple[int, ...], reference: Reference) -> None:
        request = self.questions.requests.get(reference.case)
        if request is None:
            return
        slack = float(stamps.threshold_seconds)
        low, high = request.start_s - slack, request.end_s + slack
        if (value[0] >= low and value[-1] <= high) or not math.isfinite(low + high):
            return
        if not stamps.reads(reference.answer) or not all(low <= t <= high for t in stamps.parse(reference.answer)):
            return  # the reference lies outside too: the question asks beyond its window
        window = f"{clock(request.start_s)} to {clock(request.end_s)}"
        message = f"the stretch shown is {window}; times count from the start of the whole video, not of the clip"
        self.log.note("time-outside-window", message, case=reference.case)

    # --- the answers as a whole -------------------------------------------------------------------

    def whole(self) -> None:
        """Check what only the whole file can tell: that it is another one, or what is missing, alike, empty or late."""
        self._other_questions()
        if self.log.is_of_wrong_files:
            self.log.drop(["unknown-id"])
            return
        if not self.has_questions:
            self.log.note("ids-unchecked", "no request or reference could be read")
        if not self.has_references:
            self.log.note("formats-unchecked", "pass the references to check each answer against its format")
        if not self.responses:
            self.log.note("no-responses", "there is not a single response")
        for case in self._expected() if self.responses or not self.log.broken else ():
            if case not in self.seen:
                self.log.note("missing-response", "no response; it counts as wrong", case=case)
        self._silent_zeros()
        self._lateness()

    def _other_questions(self) -> None:
        answered = sum(t.responses for t in self.formats.values()) if self.has_references else self.all.responses
        expected = self._expected()
        if answered or not self.seen or not expected or self.log.explains or "half-character" in self.log.counts:
            return
        near = next((finding for finding in self.log.kept if finding.code == "id-spelling"), None)
        case, asked = (min(self.seen), next(iter(expected))) if near is None else (near.case or "", near.nearest or "")
        space, slash, rest = asked.partition("/")
        cure = "they seem to answer others, such as another track's; pass the answers to these as --responses"
        if near is not None:
            option = f" (--responses {space}=PATH)" if slash and folded_id(rest) == folded_id(case) else ""
            cure = f"the identifiers differ in spelling; write them as in the questions{option}"
        what = f"none of the {len(self.seen):,} responses ({shown(case)}) is to one of the {len(expected):,} questions"
        self.log.note("nothing-matches", f"{what} ({shown(asked)}); {cure}", where="responses")

    def _expected(self) -> Mapping[str, Any]:
        return self.questions.references if self.has_references else self.questions.requests

    def _silent_zeros(self) -> None:
        every = self.all
        if every.responses and every.empty == every.responses:
            self.log.note("all-empty", f"ALL {every.responses:,} answers are empty: this file scores nothing")
            return
        for name, tally in sorted(self.formats.items()):
            if tally.responses > 1 and tally.empty == tally.responses:
                self.log.note("all-empty", f"ALL {tally.responses:,} {name} answers are empty")
        if self._is_alike(every, None):
            self.log.note("all-identical", f"all {every.responses:,} answers are {shown(min(every.texts))}")
            return
        for name, tally in sorted(self.formats.items()):
            if self._is_alike(tally, name):
                text = shown(min(tally.texts))
                self.log.note("all-identical", f"all {tally.responses:,} {name} answers are {text}")

    def _is_alike(self, tally: LintTally, name: str | None) -> bool:
        if tally.responses - tally.empty < FEWEST_ALIKE or tally.empty or len(tally.texts) != 1:
            return False
        references = self.questions.references.values()
        answers = {reference.answer for reference in references if name in (None, reference.format)}
        return not answers or len(answers) > 1

    def _lateness(self) -> None:
        if not self.late:
            return
        counted = ", ".join(
            f"{self.late[track]:,} of {self.responses:,} took longer than {limit:g} s ({track})"
            for track, limit in TRACK_LIMITS_S.items()
            if self.late[track]
        )
        seconds, case = self.slowest
        self.log.note("late", f"{counted}; the slowest took {seconds:.1f} s", case=case)

    # --- the report -------------------------------------------------------------------------------

    def report(self) -> LintReport:
        """What was found."""
        return LintReport(
            findings=self.log.ordered(),
            counts=self.log.ordered_counts(),
            formats=tuple(self._format_counts()),
            responses=self.responses,
            questions=len(self.questions.references if self.has_references else self.questions.requests),
            has_references=self.has_references,
        )

    def _format_counts(self) -> list[FormatCount]:
        asked = Counter(reference.format for reference in self.questions.references.values())
        counts = [_counted(name, asked[name], self.formats.get(name, LintTally())) for name in sorted(asked)]
        if self.has_references:
            totals = [sum(column) for column in zip(*(count[1:] for count in counts), strict=True)]
            return [*counts, FormatCount("all", *totals)] if counts else []
        return [_counted("all", len(self.questions.requests), self.all)]


def folded_id(case: str) -> str:
    """The identifier without what people get wrong: case, white space, leading zeros, a trailing `.0`.

    Example:
        >>> folded_id(" Q007 ") == folded_id("q7")
        True
    """
    text = "".join(unicodedata.normalize("NFKC", case[:200]).casefold().split())
    return re.sub(r"(?<!\d)0+(?=\d)", "", text.removesuffix(".0"))


def clock(seconds: float) -> str:
    """Seconds as hh:mm:ss.

    Example:
        >>> clock(3725)
        '01:02:05'
    """
    whole = int(seconds)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"


_SHORTEST_LIMIT_S = min(TRACK_LIMITS_S.values())


def _empty_message(reference: Reference | None) -> str:
    return "the answer is empty" if reference is None else f"{reference.format}: the answer is empty"


def _counted(name: str, questions: int, tally: LintTally) -> FormatCount:
    answered = tally.responses - tally.empty - tally.unreadable
    return FormatCount(name, questions, answered, questions - tally.responses, tally.empty, tally.unreadable)


KEPT_PER_CODE = 10_000


@requested("lint", files=("requests", "responses", "references", "definitions"))
def lint(
    requests: Sources,
    responses: Sources,
    references: Sources | None = None,
    *,
    class_names: tuple[str, ...] | None = None,
    definitions: str | Path | None = None,
    keep_per_code: int = KEPT_PER_CODE,
) -> LintReport:
    """Everything noticed about an answer file; never stops on what the files contain.

    Args:
        requests: The questions: a path, `NAME=PATH`, a table, several of these, dictionaries or `Request` objects.
        responses: The answers, given alike.
        references: The reference answers. Without them the answer formats are unknown, so only
            identifiers, content and latency are checked, and the report says so.
        class_names: Legal foreign-object classes, where they are not the ten of the challenge.
        definitions: A foreign-object definitions file to take the classes from.
        keep_per_code: Findings listed per code; all are counted.

    Example:
        >>> from surgvalid import Reference, Request, Response, Capability
        >>> asked = [Request("q1", "v1", 0, 60, "", "Is a clip visible?")]
        >>> known = [Reference("q1", Capability.read("1a"), "binary", "yes")]
        >>> lint(asked, [Response("q1", "Yes, it is")], known).findings[0].nearest
        'yes'
    """
    log = FindingLog(keep_per_code)
    if definitions is not None:
        try:
            class_names = tuple(kind.name for kind in read_definitions(definitions)) or class_names
        except FileUnreadable as error:
            log.unreadable(error)
    return checked(requests, responses, references, class_names=class_names, log=log).report


class LintChecked(NamedTuple):
    """Questions and responses that were read once and compared with each other once."""

    questions: QuestionSet
    responses: MutableMapping[str, Response | None]
    """The first response to each question, where they are kept."""
    flags: Mapping[str, tuple[str, ...]]
    """Names of the signs of an injection, of the kept responses that have some."""
    report: LintReport


def checked(
    requests: Sources,
    responses: Sources,
    references: Sources | None = None,
    *,
    class_names: tuple[str, ...] | None = None,
    log: FindingLog,
    keep: bool = False,
) -> LintChecked:
    """Questions and responses with what was noticed about them, in the log and in a report.

    Args:
        requests: As for `lint`.
        responses: As for `lint`.
        references: As for `lint`.
        class_names: As for `lint`.
        log: Takes what is noticed; asked afterwards, it refuses what cannot be used.
        keep: Whether the responses are wanted, and not only what is odd about them.
    """
    questions = collect_questions(requests, () if references is None else references, class_names=class_names, log=log)
    check = LintCheck(questions, log, has_references=references is not None, keep=keep)
    for response in responses_of(responses, log):
        check.response(response)
    check.whole()
    return LintChecked(questions, check.seen, check.flags, check.report())
