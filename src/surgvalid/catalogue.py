"""Things of one kind by name: our own, and those that other installed packages bring.

Names are known without importing anything: ours are the files of a folder or the keys of a table, those of others
are entry points, which their installer has written down. A thing is imported when it is asked for. Our names win, so
no package can change what a documented command does; a name that two packages claim belongs to neither.

Whatever a part of another package raises, when it is loaded or when it is called, names that package: whoever reads the
message must know whom to ask. A part is recognised in the traceback by its module, so it needs no wrapping and stays
what its author made it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from surgvalid.errors import PluginBroken, SurgvalidError, UnknownName

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")
OURS = "surgvalid"
"""The package of what is found here."""


class Entry(NamedTuple):
    """A name of a catalogue and where it comes from."""

    name: str
    package: str
    """`surgvalid`, or name and version of the package that brings it."""
    problem: str = ""
    """Why it cannot be asked for: its name is taken."""


class _Origin(NamedTuple):
    """Where a loaded part comes from."""

    kind: str
    name: str
    package: str


_LOADED: dict[str, _Origin] = {}
"""The parts of other packages that were loaded, by their module; of several in one module the last one."""


class Files(Mapping[str, Any]):
    """The public files of an imported package by name; the value is the module, or one attribute of it.

    Args:
        package: As it is imported.
        attribute: Of the module, where that and not the module itself is the thing.
        declared: Makes the thing of a TOML file, where such files are among them; a module of the same name serves it.
        shared: A private file of things that are too small for files of their own, and their names in it.
    """

    def __init__(
        self,
        package: str,
        attribute: str = "",
        declared: Callable[[Path], Any] | None = None,
        *,
        shared: tuple[str, Sequence[str]] = ("", ()),
    ) -> None:
        self._package, self._attribute, self._declared, self._shared = package, attribute, declared, shared

    def __iter__(self) -> Iterator[str]:
        endings = (".py", ".toml") if self._declared else (".py",)
        paths = (path for folder in sys.modules[self._package].__path__ for path in Path(folder).glob("[!_]*"))
        return iter(sorted({*(path.stem for path in paths if path.suffix in endings), *self._shared[1]}))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return any(name == known for known in self)

    def __getitem__(self, name: str) -> Any:
        for folder in sys.modules[self._package].__path__ if self._declared else ():
            if self._declared and (path := Path(folder, f"{name}.toml")).is_file():
                return self._declared(path)
        file, names = self._shared
        if name in names:
            return getattr(import_module(f"{self._package}.{file}"), name)
        module = import_module(f"{self._package}.{name}")
        return getattr(module, self._attribute) if self._attribute else module


class Homes(Mapping[str, Any]):
    """Things of modules by name; each is imported when it is asked for.

    Args:
        package: In which the modules are.
        paths: Where below the package each thing is, such as `sections.board.section`.
    """

    def __init__(self, package: str, paths: Mapping[str, str]) -> None:
        self._package, self._paths = package, paths

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, name: str) -> Any:
        module, _, thing = self._paths[name].rpartition(".")
        return getattr(import_module(f"{self._package}.{module}"), thing)


class Catalogue(Generic[T]):
    """Every thing of one kind: `catalogue[name]` gives it, iterating gives the names, ours first.

    Args:
        kind: What one of them is called, for messages.
        group: The last word of the entry points, `surgvalid.<group>`, and of `surgvalid tools list <group>`.
        ours: What surgvalid itself brings.
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
            taken = "the name is surgvalid's own" if name in self.ours else "several packages claim the name"
            problem = taken if name in self.ours or len(offers) > 1 else ""
            listed += [Entry(name, _package(offer), problem) for offer in offers]
        return listed

    def _plugins(self) -> dict[str, list[EntryPoint]]:
        return _offered(f"{OURS}.{self.group}", tuple(sys.path))

    def _loaded(self, offer: EntryPoint) -> T:
        try:
            thing = self._take(offer.name, offer.load())
            _LOADED[offer.module] = _Origin(self.kind, offer.name, _package(offer))
            return thing
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
            raise PluginBroken(self.kind, offer.name, _package(offer), problem) from error


@cache
def _offered(group: str, _: tuple[str, ...]) -> dict[str, list[EntryPoint]]:
    """What packages in these places offer, looked for once: it takes a sixth of a small study."""
    from importlib.metadata import entry_points  # takes longer to load than the answer to a wrong call

    offers: dict[str, list[EntryPoint]] = {}
    for offer in entry_points(group=group):
        offers.setdefault(offer.name, []).append(offer)
    return offers


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


@contextmanager
def packages_named() -> Iterator[None]:
    """A block, or a function that it decorates, in which whatever an outside part raises names its package.

    Errors of ours that a part raises keep their kind and get a note.

    Raises:
        PluginBroken: A part of another package raised anything else.
    """
    try:
        yield
    except Exception as error:
        origin = _origin_of(error)
        if origin is None or isinstance(error, PluginBroken):
            raise
        if isinstance(error, SurgvalidError):
            note = f"raised by {origin.kind} {origin.name!r} of {origin.package}"
            if note not in getattr(error, "__notes__", ()):
                error.add_note(note)
            raise
        raise PluginBroken(*origin, f"{type(error).__name__}: {error}") from error


def _origin_of(error: Exception) -> _Origin | None:
    """The outside part through which an exception came; an error of ours must have been raised in it."""
    frames = [str(frame.f_globals.get("__name__", "")) for frame, _ in walk_tb(error.__traceback__)]
    for module in reversed(frames[-1:] if isinstance(error, SurgvalidError) else frames):
        top = module.partition(".")[0]
        near = (origin for home, origin in _LOADED.items() if home.partition(".")[0] == top)
        if origin := _LOADED.get(module) or next(near, None):
            return origin
    return None


def called_with(what: str) -> Callable[[str, Any], Any]:
    """A `take` for functions; `what` says what one is, for the message."""

    def take(name: str, function: Any) -> Any:
        if not callable(function):
            raise TypeError(f"{name!r} leads to a {type(function).__name__}, not to {what}")
        return packages_named()(function)

    return take


def _package(offer: EntryPoint) -> str:
    return f"{offer.dist.name} {offer.dist.version}" if offer.dist else offer.value
