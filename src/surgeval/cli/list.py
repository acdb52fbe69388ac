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
    from surgeval.datasets import DataSet, Task
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


def _data_sets() -> pl.DataFrame:
    """A row per task of every data set: what it is measured by, its splits, and where the data are to be had."""
    things = catalogue("datasets")
    rows: list[dict[str, str]] = []
    for entry in things.entries():
        problem = entry.problem
        if not problem:
            try:
                rows += [{**row, "package": entry.package} for row in _tasks(things[entry.name])]
            except PluginBroken as error:
                problem = error.problem
        if problem:
            rows.append({"data set": entry.name, "package": entry.package, "problem": problem})
    return pl.DataFrame(rows, infer_schema_length=None)


def _tasks(known: DataSet) -> list[dict[str, str]]:
    licence = known.licence or f"not confirmed ({known.licence_note})"
    schemes = known.splits().group_by("scheme", maintain_order=True).agg(pl.col("split").unique(maintain_order=True))
    splits = "; ".join(f"{scheme}: {', '.join(parts)}" for scheme, parts in schemes.iter_rows()) or "none known"
    return [
        {
            "data set": known.name,
            "task": name,
            "what": task.summary,
            "metrics": measured_by(task),
            "splits": splits,
            "licence": licence,
            "where to get it": known.source,
        }
        for name, task in known.tasks.items()
    ]


def measured_by(task: Task) -> str:
    """The kind of evaluation of a task and what it usually reports."""
    if task.compared is None:
        return "none"
    from importlib import import_module

    compared = task.compared
    module = import_module(f"surgeval.scoring.evaluate.{compared.kind}")
    form = "LABEL_DEFAULT" if compared.label else "SET_DEFAULT"
    if compared.kind == "segmentation":
        binary = len(compared.options.get("classes", ())) == 1 and "ignore" not in compared.options
        form = (
            "INSTANCE_DEFAULT" if compared.options.get("instances") else "BINARY_DEFAULT" if binary else "CLASS_DEFAULT"
        )
    usual = compared.metrics or getattr(module, "DEFAULT", None) or getattr(module, form, ())
    return f"{compared.kind}: {', '.join(usual)}" if usual else compared.kind


def _engine(kind: type[Engine]) -> dict[str, str]:
    from surgeval.sandbox import Guarantee

    isolates = "yes" if kind.guarantees == frozenset(Guarantee) else "no"
    return {"runs": "images" if kind.takes_images else "commands", "isolates": isolates}


def _model(kind: Any) -> dict[str, str]:
    return {"usage": kind.USAGE, "what it is": (kind.__doc__ or "").strip().partition("\n")[0]}


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


def _pitfalls() -> pl.DataFrame:
    from surgeval.audit.pitfalls import pitfall_modules

    entries = [module.ABOUT for module in pitfall_modules()]
    return pl.DataFrame(
        [
            {"pitfall": one.code, "title": one.title, "category": one.category.value, "what it is": one.what,
             "seen": "; ".join(figure.text for figure in one.seen), "how it is checked": one.checked, "fix": one.fix}
            for one in entries
        ]
    )  # fmt: skip


KINDS: dict[str, Callable[[], pl.DataFrame]] = {
    "charts": partial(_things, "charts", "chart", _chart),
    "datasets": _data_sets,
    "engines": partial(_things, "engines", "engine", _engine),
    "judges": partial(_things, "judges", "judge", lambda kind: {"usage": kind.USAGE}),
    "models": partial(_things, "models", "model", _model),
    "metrics": partial(_things, "metrics", "metric", _metric),
    "rules": partial(_things, "rules", "rule", lambda rule: {"what it does": rule.summary}),
    "tasks": partial(_things, "tasks", "task", lambda task: {"study": task.study, "what is asked": task.summary}),
    "scores": _scores,
    "profiles": _profiles,
    "formats": _formats,
    "capabilities": _capabilities,
    "pitfalls": _pitfalls,
}
"""Each kind of thing with the function that lists it."""
