"""The data sets: every public file of this folder that says so, and the entry points of `surgeval.datasets`."""

from __future__ import annotations

from surgeval.catalogue import Catalogue, Files, with_attributes
from surgeval.datasets._data_set import DataSet

DATA_SETS: Catalogue[DataSet] = Catalogue(
    "data set",
    "datasets",
    Files("surgeval.datasets", "DATA_SET", saying='KIND = "data set"'),
    take=with_attributes(["name", "tasks", "check", "references", "splits"]),
)
"""Every data set by name; readers of annotation tools are not among them."""


def open_data_set(name: str) -> DataSet:
    """The data set of that name.

    Raises:
        UnknownName: No such data set.
        PluginBroken: An installed package offers it, and it cannot be used.

    Example:
        >>> open_data_set("cholec80").tasks["tool"].rate_hz
        1.0
    """
    return DATA_SETS[name]
