"""What a surgeon knows about foreign objects and a video does not show: a small curated table.

Written in our own words from standard sources, which each entry names:
    focus     ORena SAVE FOCUS challenge document and its foreign-object definitions
    aorn      AORN, Guideline for prevention of unintentionally retained surgical items
    gawande   Gawande et al., Risk factors for retained instruments and sponges after surgery, NEJM 2003
    sages     SAGES, Safe Cholecystectomy Program and guidelines for laparoscopic cholecystectomy
    schwartz  Brunicardi (ed.), Schwartz's Principles of Surgery
    ehs       HerniaSurge Group, International guidelines for groin hernia management, Hernia 2018
An entry is asked only where the video shows the object it is about, so no question is about the table alone.
"""

from __future__ import annotations

from typing import NamedTuple

from surgvalid.schema.procedures.tracks import EventKind


class Fact(NamedTuple):
    """One line of the table."""

    text: str
    sources: tuple[str, ...]


USE: dict[str, Fact] = {
    "Sponge": Fact("soaking up blood and fluid and pressing on bleeding tissue", ("aorn", "schwartz")),
    "Clip": Fact("closing a vessel or duct permanently", ("focus", "sages")),
    "Specimen Bag": Fact("carrying tissue out of the body without spilling it", ("focus", "sages")),
    "Silicone Loop": Fact("holding a vessel or other structure aside", ("focus",)),
    "External Drain": Fact("leading fluid out of the body", ("focus", "schwartz")),
    "Needle": Fact("suturing tissue", ("focus", "schwartz")),
    "Mesh": Fact("reinforcing a weak part of the body wall", ("focus", "ehs")),
    "Absorbable Hemostatic Agent": Fact("stopping a bleeding from a surface", ("focus", "schwartz")),
}
"""What an object is mainly used for."""

HARM: dict[str, Fact] = {
    "Sponge": Fact("infection or abscess around a retained sponge", ("gawande", "aorn")),
    "Needle": Fact("injury of organs or vessels by the needle", ("aorn",)),
    "Specimen Bag": Fact("infection or obstruction by a retained bag", ("aorn",)),
    "Silicone Loop": Fact("constriction of the encircled structure or infection", ("aorn",)),
    "Gallstone": Fact("abscess or fistula caused by a lost stone", ("sages",)),
    "Specimen": Fact("decay and infection of the tissue, or spread of tumour cells", ("schwartz",)),
    "External Drain": Fact("infection along a forgotten drain", ("schwartz",)),
}
"""What may happen when an object stays in the body unintentionally."""

WHY: dict[tuple[str, EventKind], Fact] = {
    ("Sponge", EventKind.INSERTED): Fact("to soak up blood or fluid, or to press on bleeding tissue", ("schwartz",)),
    ("Sponge", EventKind.RETRIEVED): Fact("because a sponge must not stay in the body", ("aorn", "gawande")),
    ("Needle", EventKind.INSERTED): Fact("to place a suture", ("schwartz",)),
    ("Needle", EventKind.RETRIEVED): Fact("because the suture is done and a needle left behind can injure", ("aorn",)),
    ("Clip", EventKind.PLACED): Fact("to close a vessel or duct before it is cut", ("sages",)),
    ("Silicone Loop", EventKind.PLACED): Fact("to pull the structure aside and mark it", ("focus",)),
    ("Specimen Bag", EventKind.INSERTED): Fact("to receive the tissue that is to be taken out", ("sages",)),
    ("Specimen Bag", EventKind.RETRIEVED): Fact("to take its content out of the body without contact", ("sages",)),
    ("Gallstone", EventKind.BAGGED): Fact("so that the stone is not lost in the abdomen", ("sages",)),
    ("Specimen", EventKind.BAGGED): Fact("to take it out without spilling bile or cells", ("sages", "schwartz")),
    ("Mesh", EventKind.PLACED): Fact("to reinforce the body wall over the defect", ("ehs",)),
    ("External Drain", EventKind.PLACED): Fact("to lead fluid out after the operation", ("schwartz",)),
    ("Absorbable Hemostatic Agent", EventKind.PLACED): Fact("to stop a bleeding from a surface", ("schwartz",)),
}
"""Why something is done with an object."""

_ALIKE = (
    frozenset({"grey", "gray", "metallic", "silver"}),
    frozenset({"red", "pink", "brown", "red-brown", "purple"}),
    frozenset({"white", "transparent", "grey", "gray"}),
    frozenset({"clean", "intact"}),
    frozenset({"closed", "folded"}),
)
"""Values that careful people confuse; they are never offered beside each other."""


def look_alike(one: str, other: str) -> bool:
    """Whether two values of an attribute are the same or easily mistaken for each other.

    Example:
        >>> look_alike("silver", "metallic"), look_alike("silver", "green")
        (True, False)
    """
    return one == other or any({one, other} <= group for group in _ALIKE)
