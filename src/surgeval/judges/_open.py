"""The kinds of judges: every public file of this folder is one, and so is an entry point of `surgeval.judges`.

The file or module of a kind has `build(argument) -> Judge` and `USAGE`, how its specification is written. Adding a
kind is adding a file; nothing is registered and no other kind is imported to find it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol, cast

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


def open_judges(
    judges: Sequence[str | Judge], *, tokens: int | None = None, timeout_s: float | None = None
) -> list[Judge]:
    """The judges, those that are named opened with this room and time for a reply.

    Raises:
        Misuse: Room or time is given and no judge that is named asks a language model; or as `open_judge`.
    """
    opened = [open_judge(one, tokens=tokens, timeout_s=timeout_s) if isinstance(one, str) else one for one in judges]
    limited = any(isinstance(one, str) and hasattr(judge, "limited") for one, judge in zip(judges, opened, strict=True))
    if not limited and not (tokens is None and timeout_s is None):
        names = ", ".join(judge.name for judge in opened) or "no judge"
        raise Misuse(f"tokens and time for a reply are for judges that ask a language model, got {names}")
    return opened


def open_judge(spec: str, *, tokens: int | None = None, timeout_s: float | None = None) -> Judge:
    """The judge that a specification names: its kind, and after a colon what the kind needs.

    Args:
        spec: `none`, `exact`, `cached:FILE`, `openai:MODEL@URL`, `local:PATH`, or a kind of an installed package.
        tokens: Room for a reply, for judges that ask a language model; theirs by default.
        timeout_s: For one reply of a server; the judge's own by default.

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
    judge = chosen.build(argument.strip())
    limited = getattr(judge, "limited", None)
    if limited is None or (tokens is None and timeout_s is None):
        return judge
    for name, value in (("tokens", tokens), ("timeout_s", timeout_s)):
        if value is not None and not 0 < value < math.inf:
            raise Misuse(f"{name} of a judge must be more than 0, got {value}")
    return cast(Judge, limited(tokens=tokens, timeout_s=timeout_s))
