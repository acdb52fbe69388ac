"""What was annotated in a procedure: only there does silence mean that nothing was.

A file without events may be one in which nobody ever wrote events down. Whoever annotates declares what was looked
for; where nobody did, no more is taken as annotated than what occurs.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from surgeval.errors import Misuse, UnknownName

CLASSES, EVENTS, PHASES, ATTRIBUTES, ALL = "classes", "events", "phases", "attributes", "all"
_CLASS, _SPAN, _BY = "class:", "seconds:", "by:"


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

    def with_what_occurs(self, occurring: Declaration) -> Declaration:
        """The declaration, and what is written down although nobody declared it: somebody must have looked for it."""
        classes = None if self.classes is None else tuple(dict.fromkeys((*self.classes, *(occurring.classes or ()))))
        return replace(
            self,
            classes=classes,
            events=tuple(dict.fromkeys((*self.events, *occurring.events))),
            phases=self.phases or occurring.phases,
            attributes=self.attributes or occurring.attributes,
        )


def declared(words: Collection[str], *, kinds: Collection[str]) -> Declaration:
    """The declaration in words.

    `classes`, `events`, `phases`, `attributes` and `all` stand for every one, a kind of event for itself, `class:NAME`
    for one class, `seconds:0-600` for a stretch (end not included) and `by:NAME` for who has confirmed it.

    Raises:
        UnknownName: Another word.
        Misuse: A stretch that is none.

    Example:
        >>> declared(["class:Sponge", "retrieved"], kinds=["inserted", "retrieved"]).events
        ('retrieved',)
    """
    named = {prefix: [w.removeprefix(prefix) for w in words if w.startswith(prefix)] for prefix in (_CLASS, _SPAN, _BY)}
    known = (ALL, CLASSES, EVENTS, PHASES, ATTRIBUTES, *kinds)
    for word in words:
        if word not in known and not any(word.startswith(prefix) and word != prefix for prefix in named):
            raise UnknownName("annotated part", word, (*known, f"{_CLASS}NAME", f"{_SPAN}START-END", f"{_BY}NAME"))
    every = ALL in words
    return Declaration(
        classes=None if every or CLASSES in words else tuple(named[_CLASS]),
        events=tuple(kind for kind in kinds if every or EVENTS in words or kind in words),
        phases=every or PHASES in words,
        attributes=every or ATTRIBUTES in words,
        spans=tuple(sorted(map(_span, named[_SPAN]))) or None,
        confirmed_by=tuple(named[_BY]),
    )


def _span(text: str) -> tuple[int, int]:
    start, _, end = text.partition("-")
    if not (start.isdecimal() and end.isdecimal() and int(start) < int(end)):
        raise Misuse(f"{_SPAN}{text} is no stretch; write whole seconds such as {_SPAN}0-600")
    return int(start), int(end)
