"""The words of an audit: kinds of classification, and how bad a finding is."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, NamedTuple

Kind = Literal["multi-class", "multi-label", "binary"]


class Grade(StrEnum):
    """How bad a finding is, the worst first."""

    IMPOSSIBLE = "impossible"
    """No data give these numbers, if the columns are what they were interpreted as."""
    INCONSISTENT = "inconsistent"
    """The numbers contradict each other, or what was said about the data."""
    SUSPICIOUS = "suspicious"
    """Possible, but something else than the table says is more likely."""
    NOTE = "note"
    """Worth knowing."""


GRAVE = (Grade.IMPOSSIBLE, Grade.INCONSISTENT)
"""What makes the verb end with 1."""


class TableFinding(NamedTuple):
    """One thing noticed about a printed table."""

    severity: Grade
    rule: str
    table: str
    row: str
    """Empty where no single row is meant."""
    column: str
    """Headings, apart by `, `; empty where no column is meant."""
    printed: str
    """What is printed there."""
    arithmetic: str
    """The sum or inequality that does not hold, with its numbers."""
    meaning: str
    """What follows, in words."""
