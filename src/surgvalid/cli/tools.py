"""`surgvalid tools`: what there is to choose from, which engines work here, and the stores of replies."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import typer

from surgvalid.cli._console import emit, emit_json, emit_table, talk
from surgvalid.cli._group import catalogue
from surgvalid.errors import PluginBroken, UnknownName

if TYPE_CHECKING:
    from surgvalid.datasets import DataSet, DataTask
    from surgvalid.metrics import Factory
    from surgvalid.sandbox import Engine, Trial


def list_kind(kind: str, json: bool) -> None:
    """Print what there is of one kind."""
    if kind not in KINDS:
        raise UnknownName("kind of thing", kind, KINDS)
    frame = KINDS[kind]()
    if json:
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


def measured_by(task: DataTask) -> str:
    """The kind of evaluation of a task and what it usually reports."""
    if task.compared is None:
        return "none"
    from importlib import import_module

    compared = task.compared
    module = import_module(f"surgvalid.evaluation.{compared.kind}")
    form = "LABEL_DEFAULT" if compared.label else "SET_DEFAULT"
    if compared.kind == "segmentation":
        binary = len(compared.options.get("classes", ())) == 1 and "ignore" not in compared.options
        form = (
            "INSTANCE_DEFAULT" if compared.options.get("instances") else "BINARY_DEFAULT" if binary else "CLASS_DEFAULT"
        )
    usual = compared.metrics or getattr(module, "DEFAULT", None) or getattr(module, form, ())
    return f"{compared.kind}: {', '.join(usual)}" if usual else compared.kind


def _engine(kind: type[Engine]) -> dict[str, str]:
    from surgvalid.sandbox import Guarantee

    isolates = "yes" if kind.guarantees == frozenset(Guarantee) else "no"
    return {"runs": "images" if kind.takes_images else "commands", "isolates": isolates}


def _model(kind: Any) -> dict[str, str]:
    return {"usage": kind.USAGE, "what it is": _first_line(kind)}


def _metric(factory: Factory) -> dict[str, str]:
    options = "; ".join(f"{name}={value}" for name, value in factory.options.items())
    return {"family": factory.family, "options": options}


def _scores() -> pl.DataFrame:
    from surgvalid.schema.metric_facts import KNOWN_METRICS

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
    from surgvalid.scoring.official_score import PROFILES

    return pl.DataFrame({"profile": list(PROFILES), "what it is": [p.summary for p in PROFILES.values()]})


def _formats() -> pl.DataFrame:
    from surgvalid.schema.questions.formats import FORMATS, parameters_of

    return pl.DataFrame(
        {
            "format": list(FORMATS),
            "judged": [kind.judged for kind in FORMATS.values()],
            "parameters": [", ".join(parameters_of(name)) for name in FORMATS],
        }
    )


def _capabilities() -> pl.DataFrame:
    from surgvalid.schema.questions.taxonomy import Capability

    return pl.DataFrame({"code": [c.code for c in Capability], "capability": [c.value for c in Capability]})


def _pitfall(module: Any) -> dict[str, str]:
    about = module.ABOUT
    return {
        "pitfall": about.code,
        "title": about.title,
        "category": about.category.value,
        "what it is": about.what,
        "seen": "; ".join(figure.text for figure in about.seen),
        "how it is checked": about.checked,
        "fix": about.fix,
    }


def _first_line(thing: Any) -> str:
    return (thing.__doc__ or "").strip().partition("\n")[0]


KINDS: dict[str, Callable[[], pl.DataFrame]] = {
    "charts": partial(_things, "charts", "chart", lambda draw: {"what it shows": _first_line(draw)}),
    "datasets": _data_sets,
    "engines": partial(_things, "engines", "engine", _engine),
    "judges": partial(_things, "judges", "judge", lambda kind: {"usage": kind.USAGE}),
    "models": partial(_things, "models", "model", _model),
    "metrics": partial(_things, "metrics", "metric", _metric),
    "pitfalls": partial(_things, "pitfalls", "pitfall", _pitfall),
    "rules": partial(_things, "rules", "rule", lambda rule: {"what it does": rule.summary}),
    "sections": partial(_things, "sections", "section", lambda module: {"what it shows": _first_line(module)}),
    "tasks": partial(_things, "tasks", "task", lambda task: {"study": task.study, "what is asked": task.summary}),
    "scores": _scores,
    "profiles": _profiles,
    "formats": _formats,
    "capabilities": _capabilities,
}
"""Each kind of thing with the function that lists it."""


def examine(engine: list[str], runtime: str | None, trial: bool, json: bool) -> None:
    """Probe every engine that can run submissions here, and print the fix for each problem.

    In each engine that seems to work, a program that does nothing is started with every limit, looked at,
    killed, and proved dead.

    Exit code 0: at least one engine that isolates works. 1: none does. 2: misuse.
    """
    from surgvalid.sandbox import ENGINES

    reports = [_report(name, runtime, trial) for name in (engine or ENGINES)]
    usable = any(report["usable"] and report["isolates"] for report in reports)
    if json:
        emit_json({"usable": usable, "engines": reports})
    else:
        for report in reports:
            _print(report)
        if not usable:
            emit("No engine that isolates works here; a plain process keeps nothing in.")
    raise typer.Exit(0 if usable else 1)


def _report(name: str, runtime: str | None, trial: bool) -> dict[str, Any]:
    from surgvalid.sandbox import Guarantee, ProblemSeverity, engine_takes_images, open_engine, trial_run

    try:
        engine = open_engine(name, runtime=runtime if engine_takes_images(name) else None)
    except PluginBroken as error:
        return _broken(error)
    problems = list(engine.problems())
    usable = not any(problem.severity is ProblemSeverity.BLOCKS for problem in problems)
    tried = trial_run(engine) if trial and usable else None
    if tried is not None and tried.problem is not None:
        problems.append(tried.problem)
        usable = False
    isolates = engine.guarantees == frozenset(Guarantee)
    return {
        "engine": name,
        "usable": usable,
        "runs": "images" if engine.takes_images else "commands",
        "isolates": isolates,
        "hidden_data": isolates and not any(problem.code in ("not-root", "no-groups") for problem in problems),
        "trial": None if tried is None else _as_dict(tried),
        "problems": [
            {"code": p.code, "severity": p.severity.value, "message": p.message, "fix": p.fix} for p in problems
        ],
    }


def _broken(error: PluginBroken) -> dict[str, Any]:
    """The report of an engine that an installed package offers and that cannot even be loaded."""
    message, fix = f"{error.package}: {error.problem}", "update or uninstall that package"
    problem = {"code": "plugin-broken", "severity": "blocks", "message": message, "fix": fix}
    nothing: dict[str, Any] = dict.fromkeys(("usable", "isolates", "hidden_data"), False)
    return {"engine": error.name, **nothing, "runs": None, "trial": None, "problems": [problem]}


def _as_dict(trial: Trial) -> dict[str, Any]:
    return {
        "seconds": round(trial.seconds, 3),
        "evidence": list(trial.evidence),
        "unenforced": [lack.value for lack in trial.unenforced],
    }


def _print(report: dict[str, Any]) -> None:
    hidden = "also on hidden data" if report["hidden_data"] else "never on hidden data"
    state = f"runs {report['runs']}, {hidden}" if report["usable"] else "does not work"
    emit(f"{report['engine']}: {state}")
    if report["usable"] and report["trial"]:
        proof = "; ".join(report["trial"]["evidence"])
        lacking = ", ".join(report["trial"]["unenforced"])
        limits = f"without {lacking}" if lacking else "every limit as asked for"
        emit(f"  trial: started, {limits}; ended after {report['trial']['seconds']:.1f} s ({proof})")
    for problem in report["problems"]:
        mark = "problem" if problem["severity"] == "blocks" else "note"
        emit(f"  {mark}: {problem['message']}")
        emit(f"     fix: {problem['fix']}")


def show(place: Path, json: bool) -> None:
    """Count what is kept: replies per kind, asker and prompt version, and lines that cannot be read."""
    from surgvalid.asking.store_care import counted, opened

    with opened(place) as store:
        table = counted(store)
        if json:
            emit_json({"store": str(place), "replies": table.to_dicts(), "damaged_lines": store.problems})
            return
        emit_table(table, title=f"{len(store)} replies in {place}")
        for problem in store.problems:
            talk(f"set aside, {problem}")


def verify(place: Path, aside: bool) -> None:
    """Read every line and name those that are damaged; exit 1 if there are any that nobody set aside."""
    from surgvalid.asking.store_care import damaged_lines, opened, set_aside

    with opened(place) as store:
        damaged = damaged_lines(store)
        for line in damaged:
            emit(str(line))
        talk(f"{place}: {len(store)} replies, {len(damaged)} damaged lines{' were set aside' if aside else ''}")
    if aside:
        set_aside(damaged)
    elif damaged:
        raise typer.Exit(1)


def merge(sources: list[Path], out: Path) -> None:
    """Bring stores together: each reply once, the first source first; damaged lines stay behind and are named."""
    from surgvalid.asking.store_care import merged

    added, problems = merged(sources, out)
    for problem in problems:
        talk(f"left behind, {problem}")
    talk(f"{added} replies added to {out}")
