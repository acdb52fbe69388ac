"""Engines by name: a public file in this folder is an engine, found without importing the others."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from surgeval.errors import UnknownName
from surgeval.sandbox._engine import Engine


def engine_names() -> tuple[str, ...]:
    """Every engine, by the name of its file."""
    return tuple(sorted(file.stem for file in Path(__file__).parent.glob("[!_]*.py")))


def open_engine(name: str) -> Engine:
    """The engine of this name.

    Raises:
        UnknownName: No file here has that name.
    """
    if name not in engine_names():
        raise UnknownName("engine", name, engine_names())
    engine: Engine = import_module(f"surgeval.sandbox.{name}").ENGINE()
    return engine
