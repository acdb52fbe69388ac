"""Looks that a procedure may be painted with beyond the plain one; each can be had alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from surgeval.errors import UnknownName

ROLL, FOG, SOFT, DEPTH, BLUR = "roll", "fog", "soft", "depth", "blur"
LOOKS: Mapping[str, str] = {
    ROLL: "the camera is turned about its axis",
    FOG: "the lens is fogged after it came into the warm body, and clears",
    SOFT: "tissue and soft objects give way to instruments",
    DEPTH: "the situs is seen aslant: what lies farther away is smaller",
    BLUR: "objects and instruments are blurred while they move, as tissue is",
}
"""Every look and what it adds. None of them changes what is done to an object, or when."""
EVERY_LOOK = "all"


def looks_named(names: Iterable[str]) -> tuple[str, ...]:
    """The looks of those names, each once and in the order of `LOOKS`; `all` stands for every one.

    Raises:
        UnknownName: No such look; the message carries the nearest.
    """
    wanted = set(names)
    for name in sorted(wanted):
        if name not in (*LOOKS, EVERY_LOOK):
            raise UnknownName("look", name, (*LOOKS, EVERY_LOOK))
    return tuple(look for look in LOOKS if look in wanted or EVERY_LOOK in wanted)
