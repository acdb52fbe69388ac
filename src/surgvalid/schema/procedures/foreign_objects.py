"""Foreign-object classes (the ten of FOCUS, and any that a definitions file brings), and what of them was annotated.

The challenge announced further classes for its test phase, handed over as a definitions text. So the
list of legal class names is data read at run time, never a constant of the scorer.

What was annotated in a procedure is declared: only there does silence mean that nothing was. A file without events may
be one in which nobody ever wrote events down; where nobody declared, no more is counted as annotated than what occurs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from surgvalid.errors import FileUnreadable, Misuse, UnknownName

CLASSES, EVENTS, PHASES, ATTRIBUTES, ALL = "classes", "events", "phases", "attributes", "all"
_CLASS, _SPAN, _BY = "class:", "seconds:", "by:"
INSTRUMENT = "instrument:"
"""Said beside these of a label that is no foreign object, to whoever reads labels."""


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


NONE = "None"
"""The answer that says: no foreign object at all."""


class ForeignObject(NamedTuple):
    """One class of foreign objects."""

    name: str
    description: str
    may_stay: bool = False
    """Whether the object may remain in the body by intent (clips, meshes, hemostatic agents)."""


FOREIGN_OBJECTS: tuple[ForeignObject, ...] = (
    ForeignObject("Sponge", "Absorbent cloth, white when fresh, red-brown once soaked with blood."),
    ForeignObject("Clip", "Small closing device on a vessel or duct; counts once placed, not in its applier.", True),
    ForeignObject("Specimen Bag", "Pouch in which tissue is carried out; its string does not count."),
    ForeignObject("Silicone Loop", "Soft band around a vessel or structure, for traction."),
    ForeignObject("External Drain", "Tube that leads fluid out of the body; its tip may be in view."),
    ForeignObject("Needle", "Suture needle, straight or curved; the thread alone does not count."),
    ForeignObject("Gallstone", "Round white or yellow stone; inside a specimen bag it counts as retrieved."),
    ForeignObject("Specimen", "Tissue cut free of every connection; inside a specimen bag it counts as retrieved."),
    ForeignObject("Mesh", "Screen-like patch that reinforces the wall and is meant to stay.", True),
    ForeignObject("Absorbable Hemostatic Agent", "Resorbable material that stops bleeding and is meant to stay.", True),
)

CLASS_NAMES: tuple[str, ...] = tuple(kind.name for kind in FOREIGN_OBJECTS)


def definitions_text(objects: tuple[ForeignObject, ...] = FOREIGN_OBJECTS) -> str:
    """The definitions as plain text in the layout of the challenge's file (underlined headings)."""
    blocks = [f"{kind.name}\n{'-' * len(kind.name)}\n{kind.description}\n" for kind in objects]
    return "Foreign Object Classes\n======================\n\n" + "\n".join(blocks)


def parse_definitions(source: str) -> tuple[ForeignObject, ...]:
    """The classes that a definitions text or JSON document describes, in its order.

    Understood are the challenge's plain text (class names underlined with dashes), the same text as
    one JSON string (how the containers receive it), a JSON object `{name: description}` and a JSON
    list of names or of `{"name": ..., "description": ...}`. Known classes keep what we know of them.

    Raises:
        FileUnreadable: No class could be found.

    Example:
        >>> [kind.name for kind in parse_definitions("Tack\\n----\\nSpiral fastener.")]
        ['Tack']
    """
    try:
        document = json.loads(source)
    except (ValueError, RecursionError):
        document = source
    pairs = _pairs_in_text(document) if isinstance(document, str) else _pairs_in_json(document)
    named = {" ".join(name.split()): " ".join(description.split()) for name, description in pairs}
    named.pop("", None)
    if not named:
        raise FileUnreadable(
            "foreign-object definitions",
            ["no class found; expected class names underlined with dashes, or JSON with names"],
        )
    stays = {kind.name.lower() for kind in FOREIGN_OBJECTS if kind.may_stay}
    return tuple(ForeignObject(name, text, name.lower() in stays) for name, text in named.items())


def read_definitions(path: str | Path) -> tuple[ForeignObject, ...]:
    """The classes of a definitions file (text or JSON); see `parse_definitions`."""
    try:
        return parse_definitions(Path(path).read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as error:
        raise FileUnreadable(str(path), [f"not UTF-8 text (byte {error.start})"]) from None
    except OSError as error:
        raise FileUnreadable(str(path), [f"cannot be read ({error.strerror or error})"]) from None
    except FileUnreadable as error:
        raise FileUnreadable(str(path), error.problems) from None


_HEADING = re.compile(r"^(?P<name>\S[^\n]*)\n-{3,}[ \t]*$", re.MULTILINE)


def _pairs_in_text(text: str) -> list[tuple[str, str]]:
    text = text.replace("\r\n", "\n")
    headings = list(_HEADING.finditer(text))
    if not headings:
        return []
    ends = [h.start() for h in headings[1:]] + [len(text)]
    return [(h["name"], text[h.end() : end]) for h, end in zip(headings, ends, strict=True)]


def _pairs_in_json(document: Any) -> list[tuple[str, str]]:
    if isinstance(document, dict):
        return [(name, str(text)) for name, text in document.items()]
    if not isinstance(document, list):
        return []
    pairs = []
    for item in document:
        if isinstance(item, str):
            pairs.append((item, ""))
        elif isinstance(item, dict) and isinstance(item.get("name"), str):
            pairs.append((item["name"], str(item.get("description", ""))))
    return pairs
