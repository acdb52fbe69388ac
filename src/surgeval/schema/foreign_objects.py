"""Foreign-object classes: the ten of FOCUS, and any others that a definitions file brings.

The challenge announced further classes for its test phase, handed over as a definitions text. So the
list of legal class names is data read at run time, never a constant of the scorer.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from surgeval.errors import FileUnreadable

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
