"""Entries of a table in a challenge file: each is asked for once, with what it must be, and every problem is kept."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from surgvalid.errors import nearest

SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,59}")


class Entries:
    """One table of the file; `done` says which entries nobody asked for."""

    def __init__(self, where: str, content: Any, problems: list[str]) -> None:
        self.where, self.problems, self.known = where, problems, set[str]()
        self.content: Mapping[str, Any] = content if isinstance(content, Mapping) else {}
        if not isinstance(content, Mapping):
            problems.append(f"{where} must be a table; got {content!r}")

    def wrong(self, name: str, wanted: str) -> None:
        """Keep that an entry is not what it must be."""
        value = f"; got {self.content[name]!r}" if name in self.content else ", and is missing"
        self.problems.append(f"{self.where} {name} must be {wanted}{value}")

    def _value(self, name: str) -> Any:
        self.known.add(name)
        return self.content.get(name)

    def text(self, name: str, default: str | None = "") -> str:
        """A text; without a default it must be there."""
        value = self._value(name)
        if value is None and default is not None:
            return default
        if not isinstance(value, str) or (default is None and not value.strip()):
            self.wrong(name, "text")
            return ""
        return value

    def slug(self, name: str) -> str:
        """A short name for addresses and folders."""
        value = self._value(name)
        if not isinstance(value, str) or not SLUG.fullmatch(value):
            self.wrong(name, "small letters, digits and hyphens")
            return ""
        return value

    def choice(self, name: str, choices: Sequence[str], default: str) -> str:
        """One of some words."""
        value = self._value(name)
        if value is None:
            return default
        if value not in choices:
            self.wrong(name, f"one of {', '.join(choices)}")
            return default
        return str(value)

    def whole(self, name: str, default: int, *, least: int = 0) -> int:
        """A whole number."""
        value = self._value(name)
        if value is None:
            return default
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            self.wrong(name, f"a whole number of at least {least}")
            return default
        return value

    def number(self, name: str, default: float, *, least: float = 0.0) -> float:
        """A number."""
        value = self._value(name)
        if value is None:
            return default
        if not isinstance(value, int | float) or isinstance(value, bool) or not least <= value < float("inf"):
            self.wrong(name, f"a number of at least {least:g}")
            return default
        return float(value)

    def yes_no(self, name: str, default: bool) -> bool:
        """True or false."""
        value = self._value(name)
        if value is not None and not isinstance(value, bool):
            self.wrong(name, "true or false")
        return value if isinstance(value, bool) else default

    def texts(self, name: str, default: Iterable[str] = ()) -> tuple[str, ...]:
        """A list of texts."""
        value = self._value(name)
        if value is None:
            return tuple(default)
        if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
            self.wrong(name, "a list of texts")
            return tuple(default)
        return tuple(value)

    def table(self, name: str) -> Entries:
        """A table inside; an empty one where there is none."""
        return Entries(f"{self.where}[{name}]", self._value(name) or {}, self.problems)

    def plain(self, name: str) -> Mapping[str, Any]:
        """A table whose entries somebody else checks."""
        value = self._value(name)
        if value is not None and not isinstance(value, Mapping):
            self.wrong(name, "a table")
        return value if isinstance(value, Mapping) else {}

    def tables(self, name: str) -> list[Entries]:
        """A list of tables, as `[[name]]` writes them."""
        value = self._value(name) or []
        if not isinstance(value, list):
            self.wrong(name, f"written as [[{name}]]")
            return []
        return [Entries(f"{name} {number}:", one, self.problems) for number, one in enumerate(value, start=1)]

    def file(self, name: str, folder: Path, *, kind: str = "file", endings: tuple[str, ...] = ()) -> str:
        """The name of something in the folder of the challenge; empty where there is no entry."""
        value = self.text(name)
        if not value:
            return ""
        place = (folder / value).resolve()
        if not place.is_relative_to(folder.resolve()):
            self.wrong(name, "in the folder of the challenge")
        elif endings and place.suffix not in endings:
            self.wrong(name, f"a file that ends in {' or '.join(endings)}, for everybody reads it")
        elif not (place.is_dir() if kind == "folder" else place.exists()):
            self.wrong(name, f"a {kind} that exists")
        return value

    def instant(self, name: str, zone: ZoneInfo, *, needed: bool = False) -> datetime | None:
        """A time; one without an offset is in the zone of the challenge, and must be there exactly once."""
        value = self._value(name)
        if value is None and not needed:
            return None
        if not isinstance(value, datetime):
            self.wrong(name, "a date with a time, as 2026-09-01T23:59:59")
            return None
        if value.tzinfo is not None:
            return value.astimezone(UTC)
        first, second = (value.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
        if first != second:
            self.wrong(name, f"a time that {zone} has exactly once; write its offset, as {value.isoformat()}+02:00")
        return first

    def done(self) -> None:
        """Keep a problem for every entry that nobody asked for."""
        for name in sorted(self.content.keys() - self.known):
            close = nearest(name, self.known)
            hint = f"did you mean {close!r}?" if close else f"known are {', '.join(sorted(self.known))}"
            self.problems.append(f"{self.where} unknown entry {name!r}; {hint}")


def is_within(at: datetime, opens: datetime | None, closes: datetime | None) -> bool:
    """Whether a time lies in a span. The second that is named as its end still belongs to it."""
    return (opens is None or opens <= at) and (closes is None or at < closes + timedelta(seconds=1))
