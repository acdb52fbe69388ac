"""Every code that reading questions and answers can give: how much it matters, what it means, where others stop.

One place, because four things must agree: the severity in every verb that reads the files (lint, score, floors,
rehearse, ...), the table in the documentation (a test compares them), the claim on where the official toolkit 0.4.0
stops (a test asks it), and what is refused here: an error in requests or references refuses the question set, an
error in an answer costs that answer, and a file that is another one refuses everything.
"""

from __future__ import annotations

from typing import NamedTuple

from surgeval.schema.findings import Finding, Severity

GOES_ON = "no"
ABORTS = "yes"
ANSWERED = "if the question has a response"


class Rule(NamedTuple):
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

RULES: dict[str, Rule] = {
    # the answer file as a whole
    "another-file": Rule(_E, "A file is recognisably another one; nothing in it is used.", ABORTS),
    "nothing-matches": Rule(_E, "No identifier of a file is among those asked: the file of other questions."),
    "file-unreadable": Rule(_E, "The file cannot be read, or not to its end; rows before that are checked.", ABORTS),
    "no-responses": Rule(_E, "The file holds no response at all, so every question counts as wrong."),
    "all-empty": Rule(_E, "Every answer (of a format, or of the file) is empty: the silent zero."),
    "all-identical": Rule(_W, "Every answer (of a format, or of the file) is the same text."),
    "not-json": Rule(_N, "Answers are read here, but the official toolkit reads a JSON array only.", ABORTS),
    "byte-order-mark": Rule(_W, "The file starts with a byte-order mark; save it as plain UTF-8.", ABORTS),
    # rows
    "not-an-object": Rule(_E, "An element of the array is no object and is left out.", ABORTS),
    "nested-too-deeply": Rule(_E, "An element is nested beyond any use and is left out.", "if it is a response"),
    "repeated-key": Rule(_E, "A key is written twice in one object; the last one is read."),
    "huge-number": Rule(_E, "A JSON number has more digits than JSON readers convert.", ABORTS),
    "too-many-cells": Rule(_E, "A CSV line has more cells than the header has columns."),
    "extra-keys": Rule(_E, "A response has keys beyond qID, content and latency.", ABORTS),
    "status-keys": Rule(_W, "A response says what became of its question (status, detail, cost, ...).", ABORTS),
    "bad-status": Rule(_W, "The status is no word of the list; it is read as not stated.", ABORTS),
    "bad-amount": Rule(_W, "Cost, tokens or attempts are no number of at least 0; they are left out.", ABORTS),
    # identifiers
    "no-id": Rule(_E, "A row has no usable qID and is left out.", "if the key qID is absent or nested"),
    "id-not-text": Rule(_W, "A qID is no text; the official toolkit does not match 7 with \"7\"."),
    "missing-response": Rule(_E, "A question has no response and counts as wrong."),
    "duplicate-response": Rule(_E, "A question has more than one response.", ABORTS),
    "unknown-id": Rule(_W, "A response answers no known question and is ignored."),
    "id-spelling": Rule(_E, "A qID differs from a known one only by case, white space, leading zeros or namespace."),
    "ids-unchecked": Rule(_N, "No request could be read, so identifiers were not compared."),
    # content
    "no-content": Rule(_E, "The content is null or absent; the question counts as unanswered.", ABORTS),
    "nested-content": Rule(_E, "The content is a list or an object; the question counts as unanswered.", ABORTS),
    "content-not-text": Rule(_E, "The content is a number or a flag; it is read as text here.", ABORTS),
    "empty-answer": Rule(_E, "The answer is empty or white space; no closed format accepts that."),
    "unreadable-answer": Rule(_E, "The answer breaks the rules of its format and counts as wrong."),
    "over-long": Rule(_E, "The answer is longer than its format reads and counts as wrong."),
    "time-outside-window": Rule(_W, "A time answer lies outside the stretch of video that was shown."),
    "official-injection": Rule(_E, "The answer contains one of the twelve phrases of the official detector.", ABORTS),
    "injection": Rule(_W, "The answer looks as if it spoke to the judge; a person should look at it."),
    # latency
    "bad-latency": Rule(_W, "The latency is NaN or negative; it counts as late where a limit applies."),
    "latency-not-a-number": Rule(_W, "The latency is no number; a limit makes it late.", "unless it is true or false"),
    "latency-is-text": Rule(_E, "The latency is a number written as text; it is read as the number here.", ABORTS),
    "late": Rule(_N, "Responses took longer than the limit of a track (5, 15 or 30 s)."),
    # questions and references
    "formats-unchecked": Rule(_N, "No references were given, so answers were not compared with their formats."),
    "no-reference": Rule(_N, "Requests have no reference; they are not scored."),
    "no-request": Rule(_E, "A reference has no matching request.", ABORTS),
    "duplicate-request": Rule(_E, "A request appears twice; the official toolkit keeps the last in silence."),
    "duplicate-reference": Rule(_E, "A reference appears twice; the official toolkit keeps the last in silence."),
    "reference-unreadable": Rule(_W, "A reference breaks its own format, so nobody can answer the question."),
    "unknown-format": Rule(_E, "A reference names no known answer format.", ANSWERED),
    "bad-parameters": Rule(_E, "A format's parameters cannot be used (a pattern is missing, ...).", ANSWERED),
    "unknown-capability": Rule(_E, "A reference names no known capability.", ABORTS),
    "unknown-secondary": Rule(_N, "A secondary capability is unknown and ignored."),
    "answer-not-text": Rule(_E, "A reference answer is no text.", "if absent, or if the question has a response"),
    "bad-flag": Rule(_E, "A flag (ood, clinical) is neither true nor false; read as not stated."),
    "bad-time": Rule(_E, "The start or end of a window is no time; read as 0.", "if the key is absent"),
    "time-is-text": Rule(_W, "The start or end of a window is text; it is read as seconds.", "if a judge is asked"),
    "window-reversed": Rule(_E, "A window ends before it starts."),
    "no-question": Rule(_E, "A request has no question text.", "if the key is absent"),
    "half-character": Rule(_E, "A request or reference holds half a character (a lone surrogate); no table can."),
    "no-video": Rule(_W, "A request names no video; the question is its own video.", "if the key is absent"),
    "extra-request-keys": Rule(_W, "A request has keys beyond the official six.", ABORTS),
    "extra-reference-keys": Rule(_W, "A reference has keys that nobody reads; what a misspelt one says is lost."),
}  # fmt: skip
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
