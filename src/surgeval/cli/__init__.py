"""The command line: one file per verb, listed in `VERBS`.

Verbs print talk to stderr and results to stdout or `--out`. Exit codes: 0 done, 1 findings, 2 misuse.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

import typer

from surgeval.cli._catalogues import CatalogueHelp
from surgeval.cli._console import emit_json, talk
from surgeval.cli._waiting import waiting
from surgeval.errors import InputInvalid, SurgevalError

__all__ = ["main"]

VERBS: tuple[str, ...] = (
    "adjusted",
    "aggregate",
    "agreement",
    "annotate",
    "ask",
    "audit",
    "check",
    "combine",
    "compare",
    "cooccurrence",
    "demo",
    "dependence",
    "diff",
    "doctor",
    "ensembles",
    "evaluate",
    "failure-table",
    "failures",
    "floors",
    "host",
    "influence",
    "interval",
    "judge",
    "lint",
    "list",
    "monitor",
    "plan",
    "preregister",
    "profiles",
    "questions",
    "rank",
    "rehearse",
    "report",
    "rerun",
    "score",
    "simulate",
    "store",
    "strata",
    "study",
    "submission",
    "supplement",
    "task",
    "width-ratio",
)
"""Each names a module here (`-` written `_`) whose `register(app)` adds the verb."""


def build_app() -> typer.Typer:
    """The command-line application with every verb."""
    app = typer.Typer(
        name="surgeval",
        help="Validation of surgical video AI that holds up.",
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(_root)
    for verb in VERBS:
        import_module(f"surgeval.cli.{verb.replace('-', '_')}").register(app)
    for typer_app in (app, *(group.typer_instance for group in app.registered_groups)):
        for command in typer_app.registered_commands if typer_app else ():
            command.cls = CatalogueHelp
    return app


def _root(
    version: bool = typer.Option(False, "--version", help="Print the version and stop."),
) -> None:
    if version:
        from surgeval import __version__

        typer.echo(f"surgeval {__version__}")
        raise typer.Exit()


def main() -> None:
    """Run the command line; what is wrong with inputs or the machine becomes one line on stderr and exit code 2."""
    try:
        with waiting(_verb(sys.argv)):
            build_app()()
    except SurgevalError as error:
        if "--json" in sys.argv and isinstance(error, InputInvalid):
            emit_json({"error": type(error).__name__, "where": error.where, "problems": error.problems})
        _stop(f"{type(error).__name__}: {error}")
    except OSError as error:
        where = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
        _stop(f"{type(error).__name__}: {where}; a file could not be read or written")
    except MemoryError as error:
        _stop(f"MemoryError: {str(error) or 'no memory is left'}; ask for less at once, such as fewer resamples")


def _verb(words: Sequence[str]) -> str:
    """What was called, for the line that says that it works."""
    return f"surgeval {words[1]}" if len(words) > 1 and words[1] in VERBS else "surgeval"


def _stop(message: str) -> NoReturn:
    talk(message)
    sys.exit(2)
