"""The kinds of judges: every public file of this folder is one, and so is an entry point of `surgeval.judges`.

The file or module of a kind has `build(argument) -> Judge` and `USAGE`, how its specification is written. Adding a
kind is adding a file; nothing is registered and no other kind is imported to find it.
"""

from __future__ import annotations

from typing import Protocol

from surgeval.catalogue import Catalogue, Files, with_attributes
from surgeval.errors import Misuse
from surgeval.judges._case import Judge


class JudgeKind(Protocol):
    """What the file of a kind holds."""

    USAGE: str

    def build(self, argument: str, /) -> Judge:
        """The judge of that argument."""
        ...


JUDGES: Catalogue[JudgeKind] = Catalogue(
    "judge", "judges", Files("surgeval.judges"), take=with_attributes(["USAGE", "build"])
)
"""Every kind of judge by name."""


def open_judge(spec: str) -> Judge:
    """The judge that a specification names: its kind, and after a colon what the kind needs.

    Args:
        spec: `none`, `exact`, `cached:FILE`, `openai:MODEL@URL`, `local:PATH`, or a kind of an installed package.

    Raises:
        UnknownName: No such kind.
        Misuse: The part after the colon is missing, superfluous or unusable.
        PluginBroken: An installed package offers that kind, and it cannot be used.
        ExtraNeeded: The kind needs a package that is not installed.
        InputInvalid: A file that the judge reads cannot be used.
        JudgeFailed: The judge cannot be built from what is there.

    Example:
        >>> open_judge("exact").name
        'exact'
    """
    kind, colon, argument = spec.strip().partition(":")
    chosen = JUDGES[kind]
    wants = ":" in chosen.USAGE
    if wants and not argument.strip():
        raise Misuse(f"judge {spec!r} says too little; write {chosen.USAGE}")
    if colon and not wants:
        raise Misuse(f"judge {kind!r} takes nothing after its name, got {spec!r}; write {chosen.USAGE}")
    return chosen.build(argument.strip())
