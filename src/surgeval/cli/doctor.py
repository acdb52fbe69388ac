"""`surgeval doctor`: which sandbox engines work on this machine, and what to do about those that do not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from surgeval.cli import _options as o
from surgeval.cli._console import emit, emit_json
from surgeval.errors import PluginBroken

if TYPE_CHECKING:
    from surgeval.sandbox import Trial


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(name="doctor")(examine)


def examine(
    engine: list[str] = typer.Option([], "--engine", help="Only one of {engines}; may be repeated."),
    runtime: o.Runtime = None,
    trial: bool = typer.Option(True, "--trial/--no-trial", help="Start, check and end a harmless run in each."),
    as_json: o.Json = False,
) -> None:
    """Probe every engine that can run submissions here, and print the fix for each problem.

    In each engine that seems to work, a program that does nothing is started with every limit, looked at,
    killed, and proved dead.

    Exit code 0: at least one engine that isolates works. 1: none does. 2: misuse.
    """
    from surgeval.sandbox import ENGINES

    reports = [_report(name, runtime, trial) for name in (engine or ENGINES)]
    usable = any(report["usable"] and report["isolates"] for report in reports)
    if as_json:
        emit_json({"usable": usable, "engines": reports})
    else:
        for report in reports:
            _print(report)
        if not usable:
            emit("No engine that isolates works here; a plain process keeps nothing in.")
    raise typer.Exit(0 if usable else 1)


def _report(name: str, runtime: str | None, trial: bool) -> dict[str, Any]:
    from surgeval.sandbox import Guarantee, Severity, engine_takes_images, open_engine, trial_run

    try:
        engine = open_engine(name, runtime=runtime if engine_takes_images(name) else None)
    except PluginBroken as error:
        return _broken(error)
    problems = list(engine.problems())
    usable = not any(problem.severity is Severity.BLOCKS for problem in problems)
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
