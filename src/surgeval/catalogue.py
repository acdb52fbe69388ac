"""Things of one kind by name: our own, and those that other installed packages bring.

Names are known without importing anything: ours are the files of a folder or the keys of a table, those of others
are entry points, which their installer has written down. A thing is imported when it is asked for. Our names win, so
no package can change what a documented command does; a name that two packages claim belongs to neither.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from surgeval.errors import PluginBroken, UnknownName

T = TypeVar("T")
OURS = "surgeval"
"""The package of what is found here."""


class Entry(NamedTuple):
    """A name of a catalogue and where it comes from."""

    name: str
    package: str
    """`surgeval`, or name and version of the package that brings it."""
    problem: str = ""
    """Why it cannot be asked for: its name is taken."""


class Files(Mapping[str, Any]):
    """The public files of an imported package by name; the value is the module, or one attribute of it.

    Args:
        package: As it is imported.
        attribute: Of the module, where that and not the module itself is the thing.
        saying: A line that a file must have to count, read without importing it.
    """

    def __init__(self, package: str, attribute: str = "", *, saying: str = "") -> None:
        self._package, self._attribute, self._saying = package, attribute, saying

    def __iter__(self) -> Iterator[str]:
        folders = sys.modules[self._package].__path__
        return (path.stem for folder in folders for path in sorted(Path(folder).glob("[!_]*.py")) if self._counts(path))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return any(name == known for known in self)

    def __getitem__(self, name: str) -> Any:
        module = import_module(f"{self._package}.{name}")
        return getattr(module, self._attribute) if self._attribute else module

    def _counts(self, path: Path) -> bool:
        return not self._saying or f"\n{self._saying}\n" in path.read_text(encoding="utf-8")


class Catalogue(Generic[T]):
    """Every thing of one kind: `catalogue[name]` gives it, iterating gives the names, ours first.

    Args:
        kind: What one of them is called, for messages.
        group: The last word of the entry points, `surgeval.<group>`, and of `surgeval list <group>`.
        ours: What surgeval itself brings.
        take: Makes a thing of a name and what its entry point leads to; raises TypeError where that is none.
    """

    def __init__(self, kind: str, group: str, ours: Mapping[str, T], *, take: Callable[[str, Any], T]) -> None:
        self.kind, self.group, self.ours, self._take = kind, group, ours, take

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self.ours, *sorted(self._plugins())]))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return name in self.ours or name in self._plugins()

    def __getitem__(self, name: str) -> T:
        """The thing of that name.

        Raises:
            UnknownName: Neither we nor an installed package has it; the message carries the nearest name.
            PluginBroken: What a package offers under that name cannot be used.
        """
        if name in self.ours:
            return self.ours[name]
        offers = self._plugins().get(name, [])
        if not offers:
            raise UnknownName(self.kind, name, self)
        if len(offers) > 1:
            packages = " and ".join(sorted(map(_package, offers)))
            raise PluginBroken(self.kind, name, packages, "both claim the name")
        return self._loaded(offers[0])

    def entries(self) -> list[Entry]:
        """Every name with its package, ours first; also names that a package cannot have because they are taken."""
        listed = [Entry(name, OURS) for name in self.ours]
        for name, offers in sorted(self._plugins().items()):
            taken = "the name is surgeval's own" if name in self.ours else "several packages claim the name"
            problem = taken if name in self.ours or len(offers) > 1 else ""
            listed += [Entry(name, _package(offer), problem) for offer in offers]
        return listed

    def _plugins(self) -> dict[str, list[EntryPoint]]:
        offers: dict[str, list[EntryPoint]] = {}
        for offer in entry_points(group=f"{OURS}.{self.group}"):
            offers.setdefault(offer.name, []).append(offer)
        return offers

    def _loaded(self, offer: EntryPoint) -> T:
        try:
            return self._take(offer.name, offer.load())
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
            raise PluginBroken(self.kind, offer.name, _package(offer), problem) from error


def with_attributes(names: Sequence[str]) -> Callable[[str, Any], Any]:
    """A `take` for things that are recognised by what they have; what calls itself something must use its own name.

    Example:
        >>> with_attributes(["build"])("coin", "text")
        Traceback (most recent call last):
            ...
        TypeError: 'coin' leads to a str without build
    """

    def take(name: str, thing: Any) -> Any:
        lacking = [attribute for attribute in names if not hasattr(thing, attribute)]
        if lacking:
            raise TypeError(f"{name!r} leads to a {type(thing).__name__} without {', '.join(lacking)}")
        if "name" in names and thing.name != name:
            raise TypeError(f"{name!r} leads to something that calls itself {thing.name!r}")
        return thing

    return take


def _package(offer: EntryPoint) -> str:
    return f"{offer.dist.name} {offer.dist.version}" if offer.dist else offer.value
