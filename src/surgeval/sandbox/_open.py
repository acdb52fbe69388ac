"""Engines by name: a public file in this folder is an engine, and so is an entry point of `surgeval.engines`."""

from __future__ import annotations

import sys
from typing import Any

from surgeval.catalogue import Catalogue, Files, with_attributes
from surgeval.errors import Misuse
from surgeval.sandbox._engine import Engine

ENGINES: Catalogue[Any] = Catalogue(
    "engine",
    "engines",
    Files("surgeval.sandbox", "ENGINE"),
    take=with_attributes(["name", "guarantees", "takes_images", "problems", "check", "start"]),
)
"""The class of every engine by name."""


def engine_takes_images(name: str) -> bool:
    """Whether the engine of this name runs images.

    Raises:
        UnknownName: No file here and no installed package has that name.
    """
    return bool(ENGINES[name].takes_images)


def open_engine(name: str, *, runtime: str | None = None) -> Engine:
    """The engine of this name; a container engine may be given another runtime than its usual one.

    Raises:
        UnknownName: No file here and no installed package has that name.
        Misuse: A runtime for an engine that has none, or a system that is not Linux.
    """
    if sys.platform != "linux":
        raise Misuse(
            f"engine {name!r} needs Linux, this is {sys.platform}: use WSL on Windows, a virtual machine on macOS"
        )
    kind = ENGINES[name]
    if runtime is not None and not kind.takes_images:
        raise Misuse(f"engine {name!r} has no runtimes to choose from; got {runtime!r}")
    engine: Engine = kind(runtime) if runtime is not None else kind()
    return engine
