"""What was annotated in a procedure: only there does silence mean that nothing was.

A file without events may be one in which nobody ever wrote events down. Whoever annotates declares what was looked
for; where nobody did, no more is taken as annotated than what occurs.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from surgeval.errors import UnknownName

CLASSES, EVENTS, PHASES, ATTRIBUTES, ALL = "classes", "events", "phases", "attributes", "all"


@dataclass(frozen=True, slots=True)
class Declaration:
    """What was looked for, and so is not there where nothing is written down."""

    classes: tuple[str, ...] | None = ()
    """Foreign-object classes; None is every class."""
    events: tuple[str, ...] = ()
    """Kinds of events."""
    phases: bool = False
    attributes: bool = False
    spans: tuple[tuple[int, int], ...] | None = None
    """The stretches of the video that were looked at, ends not included; None is the whole of it."""
    confirmed_by: tuple[str, ...] = ()
    """Who has confirmed it."""


def declared(words: Collection[str], *, kinds: Collection[str]) -> Declaration:
    """The declaration in words: `classes`, `events`, `phases`, `attributes`, `all`, or single kinds of events.

    Raises:
        UnknownName: Another word.

    Example:
        >>> declared(["classes", "retrieved"], kinds=["inserted", "retrieved"]).events
        ('retrieved',)
    """
    known = (ALL, CLASSES, EVENTS, PHASES, ATTRIBUTES, *kinds)
    for word in words:
        if word not in known:
            raise UnknownName("annotated part", word, known)
    every = ALL in words
    return Declaration(
        classes=None if every or CLASSES in words else (),
        events=tuple(kind for kind in kinds if every or EVENTS in words or kind in words),
        phases=every or PHASES in words,
        attributes=every or ATTRIBUTES in words,
    )
