"""`surgeval doctor`: which sandbox engines work on this machine, and what to do about those that do not."""

from __future__ import annotations

from typing import Any

import typer

from surgeval.cli._console import emit, emit_json


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(name="doctor")(examine)


def examine(
    engine: list[str] = typer.Option([], "--engine", help="Look at this engine only; may be repeated."),
    as_json: bool = typer.Option(False, "--json", help="Print as JSON."),
) -> None:
    """Probe every engine that can run submissions here, and print the fix for each problem.

    Exit code 0: at least one engine that isolates works. 1: none does. 2: misuse.
    """
    from surgeval.sandbox import engine_names

    reports = [_report(name) for name in (engine or engine_names())]
    usable = any(report["usable"] and report["isolates"] for report in reports)
    if as_json:
        emit_json({"usable": usable, "engines": reports})
    else:
        for report in reports:
            _print(report)
        if not usable:
            emit("No engine that isolates works here; a plain process keeps nothing in.")
    raise typer.Exit(0 if usable else 1)


def _report(name: str) -> dict[str, Any]:
    from surgeval.sandbox import Guarantee, Severity, open_engine

    engine = open_engine(name)
    problems = engine.problems()
    weak = any(problem.code in ("not-root", "no-groups") for problem in problems)
    return {
        "engine": name,
        "usable": not any(problem.severity is Severity.BLOCKS for problem in problems),
        "runs": "images" if engine.takes_images else "commands",
        "isolates": engine.guarantees == frozenset(Guarantee),
        "hidden_data": engine.guarantees == frozenset(Guarantee) and not weak,
        "problems": [
            {"code": p.code, "severity": p.severity.value, "message": p.message, "fix": p.fix} for p in problems
        ],
    }


def _print(report: dict[str, Any]) -> None:
    hidden = "also on hidden data" if report["hidden_data"] else "never on hidden data"
    state = f"runs {report['runs']}, {hidden}" if report["usable"] else "does not work"
    emit(f"{report['engine']}: {state}")
    for problem in report["problems"]:
        mark = "problem" if problem["severity"] == "blocks" else "note"
        emit(f"  {mark}: {problem['message']}")
        emit(f"     fix: {problem['fix']}")
