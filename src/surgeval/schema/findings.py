"""Findings: what was noticed about an input, as data that can be counted, printed and stored."""

from __future__ import annotations

from dataclasses import asdict, dataclass
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

    def as_dict(self) -> dict[str, Any]:
        """The finding as plain data, without empty fields."""
        return {key: str(value) for key, value in asdict(self).items() if value is not None}

    def __str__(self) -> str:
        place = " ".join(part for part in (self.where, f"[{self.case}]" if self.case else None) if part)
        hint = f"; nearest legal text: {self.nearest!r}" if self.nearest is not None else ""
        return f"{self.severity.value} {self.code}{' ' + place if place else ''}: {self.message}{hint}"
