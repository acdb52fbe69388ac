"""The catalogues that the command line lists, and the help texts that name what is in them.

A help text says `{judges}` or `{rules}` where the names belong; they are filled in when the help is shown, since
looking for names takes time that a run does not have to spend.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

from typer.core import TyperCommand

from surgeval.catalogue import Catalogue
from surgeval.errors import PluginBroken

HOMES = {
    "charts": "surgeval.report.charts.CHARTS",
    "datasets": "surgeval.datasets.DATA_SETS",
    "engines": "surgeval.sandbox.ENGINES",
    "judges": "surgeval.judges.JUDGES",
    "metrics": "surgeval.metrics.METRICS",
    "models": "surgeval.models.MODELS",
    "rules": "surgeval.stats.ranking.RULES",
    "tasks": "surgeval.tasks.TASKS",
}
"""Where each catalogue lives; none is imported before it is asked for."""


def catalogue(group: str) -> Catalogue[Any]:
    """The catalogue of that name."""
    module, _, name = HOMES[group].rpartition(".")
    things: Catalogue[Any] = getattr(import_module(module), name)
    return things


def filled(text: str) -> str:
    """The text with the names of what there is in place of `{judges}`, `{rules}`, ...

    Example:
        >>> filled("one of {engines}")
        'one of bubblewrap, docker, podman, process'
    """
    return re.sub(rf"\{{({'|'.join(HOMES)})\}}", lambda match: ", ".join(_written(catalogue(match[1]))), text)


class CatalogueHelp(TyperCommand):
    """A verb whose help names what the catalogues hold at that moment."""

    def format_help(self, *args: Any, **options: Any) -> None:
        """Fill in the names, then show the help as always."""
        for parameter in self.params:
            if text := getattr(parameter, "help", None):
                parameter.help = filled(text)  # type: ignore[attr-defined]
        super().format_help(*args, **options)


def _written(things: Catalogue[Any]) -> list[str]:
    """How each is written on the command line: its name, with what it needs after it where it says so."""
    return [_usage(things, name) for name in things]


def _usage(things: Catalogue[Any], name: str) -> str:
    try:
        return str(getattr(things[name], "USAGE", name)) if things.group in ("judges", "models") else name
    except PluginBroken:
        return name
