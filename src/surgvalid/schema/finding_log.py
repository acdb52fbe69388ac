"""Findings on questions and answers: every code, and the log that is kept while files are read.

Every code that reading questions and answers can give stands here, because four things must agree: the severity in
every verb that reads the files (lint, score, baselines, rehearse, ...), the table in the documentation (a test compares
them), the claim on where the official toolkit 0.4.0 stops (a test asks it), and what is refused here: an error in
requests or references refuses the question set, an error in an answer costs that answer, and a file that is another
one refuses everything.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from surgvalid.errors import FileUnreadable, WrongFile
from surgvalid.schema.findings import Finding, Severity

GOES_ON = "no"
ABORTS = "yes"
ANSWERED = "if the question has a response"


class FindingRule(NamedTuple):
    """One kind of finding."""

    severity: Severity
    meaning: str
    """What it means for the score, in one sentence."""
    official: str = GOES_ON
    """`no`, `yes`, or a condition: whether the official toolkit stops and gives no score at all.

    For responses this is said of known questions; the official toolkit never looks at the content or
    the latency of a response that it has no reference for.
    """

    @property
    def aborts(self) -> bool:
        """Whether the official toolkit stops, always or under the condition named."""
        return self.official != GOES_ON


_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE

RULES: dict[str, FindingRule] = {
    # the answer file as a whole
    "another-file": FindingRule(_E, "A file is recognisably another one; nothing in it is used.", ABORTS),
    "nothing-matches": FindingRule(_E, "No identifier of a file is among those asked: the file of other questions."),
    "file-unreadable": FindingRule(
        _E, "The file cannot be read, or not to its end; rows before that are checked.", ABORTS
    ),
    "no-responses": FindingRule(_E, "The file holds no response at all, so every question counts as wrong."),
    "all-empty": FindingRule(_E, "Every answer (of a format, or of the file) is empty: the silent zero."),
    "all-identical": FindingRule(_W, "Every answer (of a format, or of the file) is the same text."),
    "not-json": FindingRule(_N, "Answers are read here, but the official toolkit reads a JSON array only.", ABORTS),
    "byte-order-mark": FindingRule(_W, "The file starts with a byte-order mark; save it as plain UTF-8.", ABORTS),
    # rows
    "not-an-object": FindingRule(_E, "An element of the array is no object and is left out.", ABORTS),
    "nested-too-deeply": FindingRule(_E, "An element is nested beyond any use and is left out.", "if it is a response"),
    "repeated-key": FindingRule(_E, "A key is written twice in one object; the last one is read."),
    "huge-number": FindingRule(_E, "A JSON number has more digits than JSON readers convert.", ABORTS),
    "too-many-cells": FindingRule(_E, "A CSV line has more cells than the header has columns."),
    "extra-keys": FindingRule(_E, "A response has keys beyond qID, content and latency.", ABORTS),
    "status-keys": FindingRule(_W, "A response says what became of its question (status, detail, cost, ...).", ABORTS),
    "bad-status": FindingRule(_W, "The status is no word of the list; it is read as not stated.", ABORTS),
    "bad-amount": FindingRule(_W, "Cost, tokens or attempts are no number of at least 0; they are left out.", ABORTS),
    # identifiers
    "no-id": FindingRule(_E, "A row has no usable qID and is left out.", "if the key qID is absent or nested"),
    "id-not-text": FindingRule(_W, 'A qID is no text; the official toolkit does not match 7 with "7".'),
    "missing-response": FindingRule(_E, "A question has no response and counts as wrong."),
    "duplicate-response": FindingRule(_E, "A question has more than one response.", ABORTS),
    "unknown-id": FindingRule(_W, "A response answers no known question and is ignored."),
    "id-spelling": FindingRule(
        _E, "A qID differs from a known one only by case, white space, leading zeros or namespace."
    ),
    "ids-unchecked": FindingRule(_N, "No request could be read, so identifiers were not compared."),
    # content
    "no-content": FindingRule(_E, "The content is null or absent; the question counts as unanswered.", ABORTS),
    "nested-content": FindingRule(_E, "The content is a list or an object; the question counts as unanswered.", ABORTS),
    "content-not-text": FindingRule(_E, "The content is a number or a flag; it is read as text here.", ABORTS),
    "empty-answer": FindingRule(_E, "The answer is empty or white space; no closed format accepts that."),
    "unreadable-answer": FindingRule(_E, "The answer breaks the rules of its format and counts as wrong."),
    "over-long": FindingRule(_E, "The answer is longer than its format reads and counts as wrong."),
    "time-outside-window": FindingRule(_W, "A time answer lies outside the stretch of video that was shown."),
    "official-injection": FindingRule(
        _E, "The answer contains one of the twelve phrases of the official detector.", ABORTS
    ),
    "injection": FindingRule(_W, "The answer looks as if it spoke to the judge; a person should look at it."),
    # latency
    "bad-latency": FindingRule(_W, "The latency is NaN or negative; it counts as late where a limit applies."),
    "latency-not-a-number": FindingRule(
        _W, "The latency is no number; a limit makes it late.", "unless it is true or false"
    ),
    "latency-is-text": FindingRule(
        _E, "The latency is a number written as text; it is read as the number here.", ABORTS
    ),
    "late": FindingRule(_N, "Responses took longer than the limit of a track (5, 15 or 30 s)."),
    # questions and references
    "formats-unchecked": FindingRule(_N, "No references were given, so answers were not compared with their formats."),
    "no-reference": FindingRule(_N, "Requests have no reference; they are not scored."),
    "no-request": FindingRule(_E, "A reference has no matching request.", ABORTS),
    "duplicate-request": FindingRule(_E, "A request appears twice; the official toolkit keeps the last in silence."),
    "duplicate-reference": FindingRule(
        _E, "A reference appears twice; the official toolkit keeps the last in silence."
    ),
    "reference-unreadable": FindingRule(_W, "A reference breaks its own format, so nobody can answer the question."),
    "unknown-format": FindingRule(_E, "A reference names no known answer format.", ANSWERED),
    "bad-parameters": FindingRule(_E, "A format's parameters cannot be used (a pattern is missing, ...).", ANSWERED),
    "unknown-capability": FindingRule(_E, "A reference names no known capability.", ABORTS),
    "unknown-secondary": FindingRule(_N, "A secondary capability is unknown and ignored."),
    "answer-not-text": FindingRule(
        _E, "A reference answer is no text.", "if absent, or if the question has a response"
    ),
    "bad-flag": FindingRule(_E, "A flag (ood, clinical) is neither true nor false; read as not stated."),
    "bad-time": FindingRule(_E, "The start or end of a window is no time; read as 0.", "if the key is absent"),
    "time-is-text": FindingRule(
        _W, "The start or end of a window is text; it is read as seconds.", "if a judge is asked"
    ),
    "window-reversed": FindingRule(_E, "A window ends before it starts."),
    "no-question": FindingRule(_E, "A request has no question text.", "if the key is absent"),
    "half-character": FindingRule(
        _E, "A request or reference holds half a character (a lone surrogate); no table can."
    ),
    "no-video": FindingRule(_W, "A request names no video; the question is its own video.", "if the key is absent"),
    "extra-request-keys": FindingRule(_W, "A request has keys beyond the official six.", ABORTS),
    "extra-reference-keys": FindingRule(
        _W, "A reference has keys that nobody reads; what a misspelt one says is lost."
    ),
}
"""Every code, in the order of a report."""

WRONG_FILE = ("another-file", "nothing-matches")
"""Codes after which nothing of the rest is worth saying."""

OFFICIAL_ABORTS = frozenset(code for code, rule in RULES.items() if rule.aborts)
"""Codes on which the official toolkit stops, always or under the condition that the rule names."""


def noticed(
    code: str, message: str, *, case: str | None = None, where: str | None = None, nearest: str | None = None
) -> Finding:
    """A finding with the severity of its rule."""
    return Finding(code, RULES[code].severity, message, case, where, nearest)


_NO_ROW: Mapping[str, Any] = {}
NO_ROWS = ("not-an-object", "no-id", "nested-too-deeply")
"""Codes of rows that are left out."""


@dataclass(slots=True)
class FindingLog:
    """Counts all findings and keeps the first of each code, so that memory stays bounded."""

    keep_per_code: int = sys.maxsize
    counts: Counter[str] = field(default_factory=Counter)
    kept: list[Finding] = field(default_factory=list)
    """In the order in which they were noticed."""
    broken: list[FileUnreadable] = field(default_factory=list)
    """Files that could not be read, or not to their end."""
    source: str = ""
    """The file that is being read, and below the row in it."""
    number: int = 0
    row: Mapping[str, Any] = field(default_factory=dict)

    def complain(self, code: str, message: str) -> None:
        """Record a finding about the row that is being read."""
        raw = self.row.get("qID", self.row.get("id"))
        self.note(code, message, case=None if raw is None else str(raw)[:80])

    def note(
        self, code: str, message: str, *, case: str | None = None, where: str | None = None, nearest: str | None = None
    ) -> None:
        """Record a finding with the severity of its rule, and the place of the row that is being read."""
        self.counts[code] += 1
        if self.counts[code] <= self.keep_per_code:
            place = f"{self.source} row {self.number}" if where is None and self.source else where
            texts = (None if text is None else printable(text) for text in (case, place, nearest))
            case, place, nearest = texts
            self.kept.append(noticed(code, printable(message), case=case, where=place, nearest=nearest))

    def add(self, finding: Finding) -> None:
        """Record a finding made elsewhere."""
        self.note(finding.code, finding.message, case=finding.case, where=finding.where, nearest=finding.nearest)

    def unreadable(self, error: FileUnreadable, *more: str) -> None:
        """Record that a file cannot be read, or not to its end."""
        self.broken.append(error)
        self.note("file-unreadable", "; ".join([*error.problems, *more]), where=error.where)

    def leave(self) -> None:
        """The file was read to its end: what follows is about no row of it."""
        self.source, self.number, self.row = "", 0, _NO_ROW

    def drop(self, codes: Iterable[str]) -> None:
        """Forget findings that another one explains."""
        gone = set(codes)
        self.kept = [finding for finding in self.kept if finding.code not in gone]
        for code in gone:
            del self.counts[code]

    @property
    def is_of_wrong_files(self) -> bool:
        """Whether a file is another one, which explains whatever else is odd."""
        return any(code in self.counts for code in WRONG_FILE)

    @property
    def explains(self) -> bool:
        """Whether something was noticed already that leaves a file without rows."""
        return self.is_of_wrong_files or bool(self.broken) or any(code in self.counts for code in NO_ROWS)

    def refuse_wrong_files(self) -> None:
        """Refuse files that are recognisably others.

        Raises:
            WrongFile: With what each seems to be.
        """
        wrong = [finding for finding in self.kept if finding.code in WRONG_FILE]
        if wrong:
            where = ", ".join(dict.fromkeys(finding.where or "" for finding in wrong))
            raise WrongFile(where, [finding.message for finding in wrong])

    def refuse_files(self) -> None:
        """Refuse files that are recognisably others, and those that cannot be read.

        Raises:
            WrongFile: With what each seems to be.
            FileUnreadable: A file is missing, truncated, wrongly encoded or of an unknown kind.
        """
        self.refuse_wrong_files()
        if self.broken:
            raise self.broken[0]

    def ordered(self) -> tuple[Finding, ...]:
        """The kept findings: errors first, then in the order of the rules."""
        return tuple(sorted(self.kept, key=lambda finding: _PLACES[finding.code]))

    def ordered_counts(self) -> dict[str, int]:
        """How often each code occurred, most severe first."""
        return {code: self.counts[code] for code in sorted(self.counts, key=lambda code: _PLACES[code])}


_PLACES = {code: (list(Severity).index(rule.severity), number) for number, (code, rule) in enumerate(RULES.items())}


def printable(text: str) -> str:
    """The text without lone surrogates, which no file and no table can hold."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def short(finding: Finding) -> str:
    """Place, question and message of a finding in one line."""
    place = f"{finding.where} " if finding.where else ""
    return f"{place}{f'[{finding.case}] ' if finding.case else ''}{finding.message}"
