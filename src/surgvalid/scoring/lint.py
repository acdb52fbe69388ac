"""Lint: everything that is wrong with an answer file, before anybody scores it.

Reading is a stream: responses are looked at some thousand at a time, equal ones once, and not kept, so a million of
them need little more memory than their identifiers. Nothing here stops on bad input; an unreadable file is a finding
too, and what stands before its broken place is still checked. `score` reads through `checked` as well, so both say
the same of the same files.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from surgvalid.errors import FileUnreadable
from surgvalid.results.request import requested
from surgvalid.schema.finding_log import FindingLog
from surgvalid.schema.outcomes import Status
from surgvalid.schema.procedures.foreign_objects import read_definitions
from surgvalid.schema.questions.formats import JUDGED, AnswerFormat, Time, shown
from surgvalid.schema.questions.question_files import (
    UNREADABLE,
    Batch,
    QuestionSet,
    Sources,
    collect_questions,
    responses_of,
)
from surgvalid.schema.questions.questions import TRACK_LIMITS_S
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

    def count(self, content: str | None, times: int, is_empty: bool) -> None:
        """Count equal answers, and remember one while all are alike."""
        self.responses += times
        self.empty += times * is_empty
        if len(self.texts) < 2 and content is not None and not is_empty:
            self.texts.add(content.strip().casefold())


class LintedAnswers:
    """The first response to each question, as columns in the order of the references."""

    def __init__(self, questions: int) -> None:
        self.has_come = np.zeros(questions, dtype=bool)
        self.others: set[str] = set()
        """Cases without a reference that were answered."""
        self.contents: list[str | None] = [None] * questions
        """Like all below, empty unless the responses were kept."""
        self.latencies_s = np.zeros(questions)
        self.given: list[Any] = [UNREADABLE] * questions
        """What each content stands for in its format; `UNREADABLE` where it has none."""
        self.statuses: dict[int, Status] = {}
        """Of the questions whose response says what became of them."""
        self.flags: dict[int, tuple[str, ...]] = {}
        """Names of the signs of an injection, of the questions whose response has some."""


class Odd(NamedTuple):
    """What is odd about a response."""

    code: str
    message: str
    nearest: str | None = None


@dataclass
class LintCheck:
    """The state of one lint: what was asked, what was seen so far, what was found."""

    questions: QuestionSet
    log: FindingLog
    has_references: bool
    keep: bool = False
    """Whether the responses are wanted, and not only what is odd about them."""
    responses: int = 0
    late: Counter[str] = field(default_factory=Counter)
    slowest: tuple[float, str] = (0.0, "")
    formats: dict[str, LintTally] = field(default_factory=dict)
    others: LintTally = field(default_factory=LintTally)
    """LintedAnswers to questions without a reference."""

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

    # --- responses --------------------------------------------------------------------------------

    def batch(self, batch: Batch) -> None:
        """Check responses that were read together."""
        cases, contents, latencies, statuses = batch.columns[:4]
        self.responses += len(cases)
        self._latencies(cases, latencies)
        known: list[int | None] = list(map(self.questions.references.places.get, cases))
        formats = [None if place is None else self.questions.read.formats[place] for place in known]
        values = self.questions.parsed(formats, contents)
        odd_rows: list[tuple[int, Odd]] = []
        rows = self._firsts(cases, known, odd_rows)
        if self.keep:
            self._keep(rows, known, (contents, latencies, values, statuses))
        if self.has_questions and None in known:
            rows = self._asked(rows, cases, known, odd_rows)
        names = self.questions.references.columns["format"]
        alike: dict[Any, list[int]] = {}
        for row in rows:
            place = known[row]
            name = None if place is None else names[place]
            alike.setdefault((name, id(formats[row]), contents[row]), []).append(row)
        for (name, _, content), members in alike.items():
            answer_format, value = formats[members[0]], values[members[0]]
            odd, flags = self._content(content, name, answer_format, value, len(members))
            odd_rows += [(row, one) for row in members for one in odd]
            if flags:
                self.answers.flags |= {place: flags for row in members if (place := known[row]) is not None}
            if isinstance(answer_format, Time) and value is not UNREADABLE:
                outside = ((row, self._outside_window(answer_format, value, known[row])) for row in members)
                odd_rows += [(row, one) for row, one in outside if one is not None]
        for row, one in sorted(odd_rows, key=lambda about: about[0]):
            self.log.number = batch.numbers[row]
            self.log.note(one.code, one.message, case=cases[row], nearest=one.nearest)

    def _latencies(self, cases: Sequence[str], latencies: Sequence[float]) -> None:
        slow = [(seconds, case) for seconds, case in zip(latencies, cases, strict=True) if seconds > _SHORTEST_LIMIT_S]
        for track, limit in TRACK_LIMITS_S.items():
            if late := sum(seconds > limit for seconds, _ in slow):
                self.late[track] += late
        self.slowest = max([self.slowest, *slow])

    @cached_property
    def answers(self) -> LintedAnswers:
        """What was answered so far."""
        return LintedAnswers(len(self.questions.references))

    def _firsts(
        self, cases: Sequence[str], known: Sequence[int | None], odd_rows: list[tuple[int, Odd]]
    ) -> Sequence[int]:
        """The numbers of responses to questions that were not answered before."""
        has_come, others = self.answers.has_come, self.answers.others
        if None not in known:
            places = np.array(known, dtype=np.intp)
            if not has_come[places].any() and len(np.unique(places)) == len(places):
                has_come[places] = True
                return range(len(cases))
        rows = []
        for row, (case, place) in enumerate(zip(cases, known, strict=True)):
            if case in others if place is None else has_come[place]:
                odd_rows.append((row, Odd("duplicate-response", "the question was answered before")))
                continue
            rows.append(row)
            if place is None:
                others.add(case)
            else:
                has_come[place] = True
        return rows

    def _keep(self, rows: Sequence[int], known: Sequence[int | None], columns: Sequence[Sequence[Any]]) -> None:
        kept, (contents, latencies, values, statuses) = self.answers, columns
        start = known[0] if known else None
        if start is not None and len(rows) == len(known) and list(known) == list(range(start, start + len(known))):
            here = slice(start, start + len(known))
            kept.contents[here], kept.given[here], kept.latencies_s[here] = contents, values, latencies
            rows = [row for row, status in enumerate(statuses) if status is not None]
        for row in rows:
            if (place := known[row]) is not None:
                kept.contents[place], kept.given[place] = contents[row], values[row]
                kept.latencies_s[place] = latencies[row]
                if statuses[row] is not None:
                    kept.statuses[place] = statuses[row]

    @cached_property
    def has_questions(self) -> bool:
        """Whether there is anything to compare identifiers with."""
        return bool(self.questions.requests or self.questions.references)

    def _asked(
        self, rows: Sequence[int], cases: Sequence[str], known: Sequence[int | None], odd_rows: list[tuple[int, Odd]]
    ) -> list[int]:
        """The numbers of responses to questions that there are."""
        asked = [row for row in rows if known[row] is not None or cases[row] in self.questions.requests]
        for row in sorted({*rows}.difference(asked)):
            odd_rows.append((row, self._unknown(cases[row])))
        return asked

    def _unknown(self, case: str) -> Odd:
        if (near := self._folded_ids.get(folded_id(case))) and near != case:
            return Odd("id-spelling", "no such question, but one that differs only in spelling", near)
        return Odd("unknown-id", "no such question; the response is ignored")

    @cached_property
    def _folded_ids(self) -> dict[str, str]:
        known: dict[str, str] = {}
        for case in (*self.questions.requests, *self.questions.references):
            known.setdefault(folded_id(case), case)
            namespace, slash, rest = case.partition("/")
            if namespace and slash:
                known.setdefault(folded_id(rest), case)
        return known

    def _content(
        self, content: str | None, name: str | None, answer_format: AnswerFormat | None, value: Any, times: int
    ) -> tuple[list[Odd], tuple[str, ...]]:
        """What is odd about equal answers to questions of one format, and the signs of an injection in them."""
        tally = self.others if name is None else self.formats.setdefault(name, LintTally())
        is_empty = content is None or not content.strip()
        tally.count(content, times, is_empty)
        if content is None:
            return [], ()
        odd = []
        if is_empty:
            odd.append(Odd("empty-answer", f"{name}: the answer is empty" if name else "the answer is empty"))
        elif answer_format is None:
            odd += _over_long(content)
        elif value is UNREADABLE:
            why = answer_format.explain(content)
            code = "over-long" if why.rule == "over-long" else "unreadable-answer"
            odd.append(Odd(code, f"{answer_format.name}: {why.message}", why.nearest))
        is_legal = answer_format is not None and not odd
        tally.unreadable += times * bool(odd and not is_empty)
        # A closed format leaves no room to talk.
        is_plain = is_legal and name not in JUDGED and content.isascii() and content.isprintable()
        if is_plain and not self.keep:
            return odd, ()
        if not is_plain and (phrase := official_signal(content)):
            odd.append(Odd("official-injection", f"contains {phrase!r}"))
        injected = signals(content)
        if injected and not is_plain:
            odd.append(Odd("injection", ", ".join(f"{signal.name} ({signal.excerpt})" for signal in injected)))
        return odd, tuple(signal.name for signal in injected)

    def _outside_window(self, stamps: Time, value: tuple[int, ...], place: int | None) -> Odd | None:
        columns = self.questions.references.columns
        if place is None or (request := self.questions.requests.places.get(columns["case"][place])) is None:
            return None
        start, end = (self.questions.requests.columns[name][request] for name in ("start_s", "end_s"))
        slack = float(stamps.threshold_seconds)
        low, high = start - slack, end + slack
        if (value[0] >= low and value[-1] <= high) or not math.isfinite(low + high):
            return None
        reference = self.questions.read.values[place]
        if reference is UNREADABLE or not all(low <= t <= high for t in reference):
            return None  # the reference lies outside too: the question asks beyond its window
        window = f"{clock(start)} to {clock(end)}"
        message = f"the stretch shown is {window}; times count from the start of the whole video, not of the clip"
        return Odd("time-outside-window", message)

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
        if self.has_references:
            unanswered = [case for case, came in zip(self._expected(), self.answers.has_come, strict=True) if not came]
        else:
            unanswered = [case for case in self._expected() if case not in self.answers.others]
        for case in unanswered if self.responses or not self.log.broken else ():
            self.log.note("missing-response", "no response; it counts as wrong", case=case)
        self._silent_zeros()
        self._lateness()

    def _other_questions(self) -> None:
        answered = sum(t.responses for t in self.formats.values()) if self.has_references else self.all.responses
        expected = self._expected()
        seen, explained = self.answers.others, self.log.explains or "half-character" in self.log.counts
        if answered or not seen or not expected or explained:
            return
        near = next((finding for finding in self.log.kept if finding.code == "id-spelling"), None)
        case, asked = (min(seen), next(iter(expected))) if near is None else (near.case or "", near.nearest or "")
        space, slash, rest = asked.partition("/")
        cure = "they seem to answer others, such as another track's; pass the answers to these as --responses"
        if near is not None:
            option = f" (--responses {space}=PATH)" if slash and folded_id(rest) == folded_id(case) else ""
            cure = f"the identifiers differ in spelling; write them as in the questions{option}"
        what = f"none of the {len(seen):,} responses ({shown(case)}) is to one of the {len(expected):,} questions"
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
        columns = self.questions.references.columns
        known = zip(columns["format"], columns["answer"], strict=True)
        answers = {answer for of_format, answer in known if name in (None, of_format)}
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
        asked = Counter(self.questions.references.columns["format"])
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


def _over_long(content: str) -> list[Odd]:
    if (length := len(content.strip())) <= LONGEST_ANSWER:
        return []
    message = f"{length} characters; formats read at most {LONGEST_ANSWER} unless a reference says otherwise"
    return [Odd("over-long", message)]


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
    answers: LintedAnswers
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
    for batch in responses_of(responses, log):
        check.batch(batch)
    check.whole()
    return LintChecked(questions, check.answers, check.report())
