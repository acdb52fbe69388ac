"""One or more foreign-object classes, or none."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar

from surgeval.errors import nearest
from surgeval.schema.foreign_objects import CLASS_NAMES, NONE
from surgeval.schema.formats._base import AnswerFormat, Unreadable, Why, parts, shown


@dataclass(frozen=True, slots=True)
class FOClass(AnswerFormat):
    """Accepts class names separated by commas, in any case and order, or `none` alone.

    Example:
        >>> kinds = FOClass()
        >>> sorted(kinds.parse("clip, Sponge, CLIP")), kinds.why("2 clips and a sponge").nearest
        (['Clip', 'Sponge'], 'Clip, Sponge')
    """

    name: ClassVar[str] = "fo_class"
    valid_names: tuple[str, ...] = CLASS_NAMES
    _canonical: dict[str, str] = field(init=False, repr=False, compare=False, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_canonical", {name.lower(): name for name in self.valid_names})

    def parse(self, text: str) -> frozenset[str]:
        """The set of canonical names; `{"None"}` for none."""
        members = parts(self.rules.normalize(text))
        if len(members) == 1 and members[0].lower() == "none":
            return frozenset((NONE,))
        if not members or any(m.lower() == "none" or m.lower() not in self._canonical for m in members):
            raise Unreadable
        return frozenset(self._canonical[m.lower()] for m in members)

    def explain(self, text: str) -> Why:
        """Names the first member that is no class, or the rule on `none`."""
        members = parts(self.rules.normalize(text))
        if not members:
            return Why("empty", "the answer is empty; expected class names or none")
        if any(m.lower() == "none" for m in members):
            return Why("none-with-others", f"none must stand alone, got {shown(text)}")
        stranger = next(m for m in members if m.lower() not in self._canonical)
        return Why("unknown-class", f"{shown(stranger)} is not a class name", self._guess(members))

    def _guess(self, members: list[str]) -> str | None:
        names: list[str] = []
        for member in members[:50]:
            words = re.sub(r"[_\W]+", " ", member[:200]).strip().lower()
            inside = [n for n in self.valid_names if re.search(rf"\b{re.escape(n.lower())}s?\b", words)]
            inside = [n for n in inside if not any(n != other and n in other for other in inside)]
            close = nearest(words, self.valid_names)
            if not (chosen := inside or ([close] if close else [])):
                return None
            names += sorted((name for name in chosen if name not in names), key=lambda n: words.find(n.lower()))
        return self.legal_or_none(", ".join(names))
