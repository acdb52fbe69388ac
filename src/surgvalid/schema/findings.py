"""Findings: what was noticed about an input, as data that can be counted, printed and stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Severity(StrEnum):
    """How much a finding matters."""

    ERROR = "error"
    """Loses a score, or stops a profile."""
    WARNING = "warning"
    """Probably not meant."""
    NOTE = "note"
    """Worth knowing."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing noticed about an input."""

    code: str
    """Stable name of the rule, such as `missing-response`."""
    severity: Severity
    message: str
    case: str | None = None
    """The question concerned, if one is."""
    where: str | None = None
    """File, row or line."""
    nearest: str | None = None
    """The legal text that was probably meant."""
    subject: str | None = None
    """What it is about, where that is no single question: a leaderboard, a bucket, a model."""

    @property
    def text(self) -> str:
        """The message with what it is about in front, as a sentence to show."""
        return self.message if self.subject is None else f"{self.subject}: {self.message}"

    @classmethod
    def of_dict(cls, data: Mapping[str, Any]) -> Finding:
        """The finding that `as_dict` gave as plain data; a severity that nobody knows is a warning."""
        texts = {name: str(data[name]) for name in ("case", "where", "nearest", "subject") if name in data}
        known = {severity.value: severity for severity in Severity}
        severity = known.get(str(data.get("severity")), Severity.WARNING)
        return cls(str(data.get("code", "note")), severity, str(data.get("message", "")), **texts)

    def as_dict(self) -> dict[str, Any]:
        """The finding as plain data, without empty fields."""
        values = ((name, getattr(self, name)) for name in self.__slots__)
        return {name: str(value) for name, value in values if value is not None}

    def __str__(self) -> str:
        place = " ".join(place for place in (self.where, f"[{self.case}]" if self.case else None) if place)
        hint = f"; nearest legal text: {self.nearest!r}" if self.nearest is not None else ""
        return f"{self.severity.value} {self.code}{' ' + place if place else ''}: {self.text}{hint}"


def as_findings(given: Iterable[Finding | str], *, severity: Severity = Severity.NOTE) -> tuple[Finding, ...]:
    """Findings as they are; a bare sentence becomes one of code `note`."""
    return tuple(one if isinstance(one, Finding) else Finding("note", severity, one) for one in given)
