"""Engines by name: a public file in this folder is an engine, found without importing the others."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from surgeval.errors import Misuse, UnknownName
from surgeval.sandbox._engine import Engine


def engine_names() -> tuple[str, ...]:
    """Every engine, by the name of its file."""
    return tuple(sorted(file.stem for file in Path(__file__).parent.glob("[!_]*.py")))


def engine_takes_images(name: str) -> bool:
    """Whether the engine of this name runs images.

    Raises:
        UnknownName: No file here has that name.
    """
    return bool(_kind(name).takes_images)


def open_engine(name: str, *, runtime: str | None = None) -> Engine:
    """The engine of this name; a container engine may be given another runtime than its usual one.

    Raises:
        UnknownName: No file here has that name.
        Misuse: A runtime for an engine that has none.
    """
    kind = _kind(name)
    if runtime is not None and not kind.takes_images:
        raise Misuse(f"engine {name!r} has no runtimes to choose from; got {runtime!r}")
    engine: Engine = kind(runtime) if runtime is not None else kind()
    return engine


def _kind(name: str) -> Any:
    if name not in engine_names():
        raise UnknownName("engine", name, engine_names())
    return import_module(f"surgeval.sandbox.{name}").ENGINE
