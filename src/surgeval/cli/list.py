"""`surgeval list`: what there is to choose from."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl
import typer

from surgeval.cli import _options as o
from surgeval.cli._catalogues import catalogue
from surgeval.cli._console import emit_json, emit_table
from surgeval.errors import PluginBroken, UnknownName

if TYPE_CHECKING:
    from surgeval.datasets import DataSet
    from surgeval.metrics import Factory
    from surgeval.sandbox import Engine


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("list", help=f"Print what there is to choose from: {', '.join(KINDS)}.")(list_kind)


def list_kind(
    kind: str = typer.Argument(..., help="What to list."),
    as_json: o.Json = False,
) -> None:
    """Print what there is of one kind."""
    if kind not in KINDS:
        raise UnknownName("kind of thing", kind, KINDS)
    frame = KINDS[kind]()
    if as_json:
        emit_json(frame.to_dicts())
    else:
        emit_table(frame)


def _things(group: str, column: str, described: Callable[[Any], dict[str, str]]) -> pl.DataFrame:
    """Every name of a catalogue with what it says of itself and its package; what is broken says why."""
    things = catalogue(group)
    rows: list[dict[str, str]] = []
    for entry in things.entries():
        cells, problem = {}, entry.problem
        if not problem:
            try:
                cells = described(things[entry.name])
            except PluginBroken as error:
                problem = error.problem
        rows.append({column: entry.name, **cells, "package": entry.package})
        rows[-1] |= {"problem": problem} if problem else {}
    return pl.DataFrame(rows, infer_schema_length=None)


def _data_set(known: DataSet) -> dict[str, str]:
    kinds = dict.fromkeys(task.compared.kind for task in known.tasks.values() if task.compared)
    licence = known.licence or f"not confirmed ({known.licence_note})"
    return {"title": known.title, "tasks": ", ".join(known.tasks), "evaluate": ", ".join(kinds), "licence": licence}


def _engine(kind: type[Engine]) -> dict[str, str]:
    from surgeval.sandbox import Guarantee

    isolates = "yes" if kind.guarantees == frozenset(Guarantee) else "no"
    return {"runs": "images" if kind.takes_images else "commands", "isolates": isolates}


def _metric(factory: Factory) -> dict[str, str]:
    options = "; ".join(f"{name}={value}" for name, value in factory.options.items())
    return {"family": factory.family, "options": options}


def _chart(draw: Callable[..., object]) -> dict[str, str]:
    return {"what it shows": (draw.__doc__ or "").strip().partition("\n")[0]}


def _scores() -> pl.DataFrame:
    from surgeval.schema.metric_facts import KNOWN_METRICS

    facts = KNOWN_METRICS.values()
    return pl.DataFrame(
        {
            "score": [f.name for f in facts],
            "low": [f.low for f in facts],
            "high": [f.high for f in facts],
            "better": [f.better for f in facts],
            "conventions": ["; ".join(f"{k}: {v}" for k, v in f.conventions.items()) for f in facts],
        }
    )


def _profiles() -> pl.DataFrame:
    from surgeval.scoring.profiles import PROFILES

    return pl.DataFrame({"profile": list(PROFILES), "what it is": [p.summary for p in PROFILES.values()]})


def _formats() -> pl.DataFrame:
    from surgeval.schema.formats import FORMATS, parameters_of

    return pl.DataFrame(
        {
            "format": list(FORMATS),
            "judged": [kind.judged for kind in FORMATS.values()],
            "parameters": [", ".join(parameters_of(name)) for name in FORMATS],
        }
    )


def _capabilities() -> pl.DataFrame:
    from surgeval.schema.taxonomy import Capability

    return pl.DataFrame({"code": [c.code for c in Capability], "capability": [c.value for c in Capability]})


KINDS: dict[str, Callable[[], pl.DataFrame]] = {
    "charts": partial(_things, "charts", "chart", _chart),
    "datasets": partial(_things, "datasets", "data set", _data_set),
    "engines": partial(_things, "engines", "engine", _engine),
    "judges": partial(_things, "judges", "judge", lambda kind: {"usage": kind.USAGE}),
    "metrics": partial(_things, "metrics", "metric", _metric),
    "rules": partial(_things, "rules", "rule", lambda rule: {"what it does": rule.summary}),
    "scores": _scores,
    "profiles": _profiles,
    "formats": _formats,
    "capabilities": _capabilities,
}
"""Each kind of thing with the function that lists it."""
