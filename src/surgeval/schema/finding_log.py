"""Collecting findings while files are read: where the reading is, how often each code occurred, what to refuse."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from surgeval.errors import FileUnreadable, WrongFile
from surgeval.schema.finding_rules import RULES, WRONG_FILE, noticed
from surgeval.schema.findings import Finding, Severity

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
