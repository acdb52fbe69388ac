"""Reporting guidelines as data: the number of each item, what it is about in our words, and facts that can answer it.

Numbers and subjects of items are facts of the guidelines; their wording is not repeated. `guidelines/*.toml` names each
source. Items of TRIPOD+AI, CLAIM, DECIDE-AI and FUTURE-AI that a check of the audit answers were compared with
published copies, numbers of STARD-AI with a copy in a public repository; the others are still to be compared. BIAS
has names of parameters in place of its numbers.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple


class GuidelineItem(NamedTuple):
    """One item."""

    number: str
    section: str
    subject: str
    facts: tuple[str, ...]
    """Names of facts that can answer it."""


class Guideline(NamedTuple):
    """One guideline."""

    name: str
    source: str
    who: str
    """Whoever has to write what no fact answers."""
    items: tuple[GuidelineItem, ...]


@cache
def guidelines() -> dict[str, Guideline]:
    """Every guideline by its name."""
    places = sorted((files("surgvalid.audit") / "guidelines").iterdir(), key=lambda place: place.name)
    read = (_guideline(tomllib.loads(place.read_text(encoding="utf-8"))) for place in places)
    return {one.name: one for one in read}


def _guideline(content: Mapping[str, Any]) -> Guideline:
    items = (
        GuidelineItem(number, section, subject, tuple(facts))
        for section, some in content["items"].items()
        for number, (subject, *facts) in some.items()
    )
    return Guideline(content["name"], content["source"], content["who"], tuple(items))


def item_rows(checks: Mapping[str, tuple[str, str]]) -> Iterator[dict[str, str]]:
    """One row per item and pitfall: what the audit can say of it.

    Args:
        checks: By code of a pitfall: the outcome, and the sentences of the evidence.
    """
    for guideline in guidelines().values():
        for item in guideline.items:
            for code, (outcome, sentences) in checks.items():
                if f"audit.{code}" in item.facts:
                    yield {
                        "guideline": guideline.name,
                        "item": item.number,
                        "subject": item.subject,
                        "pitfall": code,
                        "outcome": outcome,
                        "facts": sentences,
                    }
