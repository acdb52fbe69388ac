"""Sentences of a supplement: a value with its interval, or with the reason why it has none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from surgeval.report.section import Note
from surgeval.report.words import plain
from surgeval.schema.findings import Finding, Severity

MOST_ALIKE = 2
"""Warnings of one kind that a section spells out; more are counted."""


def shown(row: Mapping[str, Any], value: str, *, signed: bool = False, low: str = "low", high: str = "high") -> str:
    """A value with its interval in brackets, or with the note that says why there is none.

    Example:
        >>> shown({"value": 0.5, "low": 0.4, "high": 0.61}, "value")
        '0.500 [0.400, 0.610]'
        >>> shown({"delta": -0.1, "low": None, "high": None, "note": "one video only"}, "delta", signed=True)
        '-0.100 (no interval: one video only)'
    """
    number = row[value]
    if number is None or number != number:
        return "unknown"
    form = "+.3f" if signed else ".3f"
    if row[low] is None or row[high] is None or row[low] != row[low]:
        why = str(row.get("note") or "").rstrip(".")
        return f"{number:{form}} (no interval{f': {plain(why, limit=160)}' if why else ''})"
    return f"{number:{form}} [{row[low]:{form}}, {row[high]:{form}}]"


def against_zero(row: Mapping[str, Any], *, low: str = "low", high: str = "high") -> str:
    """What an interval says about zero, as the end of a sentence."""
    if row[low] is None or row[high] is None or row[low] != row[low]:
        return "which these data do not judge"
    if row[low] > 0 or row[high] < 0:
        return "an interval without 0"
    return "not told apart from 0"


def limits(findings: Iterable[Finding]) -> list[Note]:
    """Warnings as notes, each sentence once; of many of one kind the first are spelt out and the others counted."""
    kinds: dict[str, dict[str, None]] = {}
    for one in findings:
        if one.severity is not Severity.NOTE:
            kinds.setdefault(one.code, {})[plain(one.text, limit=600).rstrip(".")] = None
    notes = []
    for texts in (list(kind) for kind in kinds.values()):
        more = f" ({len(texts) - MOST_ALIKE} more of this kind)" if len(texts) > MOST_ALIKE else ""
        notes.append(Note(f"{'; '.join(texts[:MOST_ALIKE])}{more}."))
    return notes


def remarks(findings: Iterable[Finding]) -> str:
    """What is worth knowing beside the numbers, as a paragraph; empty where nothing is."""
    notes = (plain(one.text, limit=400).rstrip(".") for one in findings if one.severity is Severity.NOTE)
    return " ".join(f"{text}." for text in dict.fromkeys(notes))


def extreme(frame: pl.DataFrame, column: str, *, largest: bool = False) -> dict[str, Any] | None:
    """The row with the smallest or largest number; None where no row has one."""
    known = frame.filter(pl.col(column).is_not_null() & pl.col(column).is_not_nan())
    if known.is_empty():
        return None
    return known.sort(column, descending=largest, maintain_order=True).row(0, named=True)


def listed(parts: Sequence[str]) -> str:
    """Several things in a sentence.

    Example:
        >>> listed(["a", "b", "c"]), listed([])
        ('a, b and c', 'none')
    """
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else "none"
