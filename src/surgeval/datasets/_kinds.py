"""The data sets: every public file of this folder that says so, found by its text and not by importing it."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import cast

from surgeval.datasets._data_set import DataSet
from surgeval.errors import UnknownName

_HERE = Path(__file__).parent
_SAYS_SO = re.compile(r'^KIND = "data set"$', re.MULTILINE)


def data_set_names() -> tuple[str, ...]:
    """The names of all data sets, read from the files; readers of annotation tools are not among them."""
    files = sorted(path for path in _HERE.glob("[!_]*.py"))
    return tuple(path.stem for path in files if _SAYS_SO.search(path.read_text(encoding="utf-8")))


def open_data_set(name: str) -> DataSet:
    """The data set of that name.

    Raises:
        UnknownName: No such data set.

    Example:
        >>> open_data_set("cholec80").tasks["tool"].rate_hz
        1.0
    """
    if name not in data_set_names():
        raise UnknownName("data set", name, data_set_names())
    return cast(DataSet, import_module(f"surgeval.datasets.{name}").DATA_SET)
