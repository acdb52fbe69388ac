"""The page of verbs, from the command line's own help."""

from __future__ import annotations

import os
from pathlib import Path

os.environ.update(COLUMNS="100", TERM="dumb", NO_COLOR="1", TERMINAL_WIDTH="100", _TYPER_FORCE_DISABLE_TERMINAL="1")

PAGE = Path(__file__).parent / "reference" / "cli.md"


def page() -> str:
    """The page as the command line describes itself now."""
    from typer.main import get_command

    from surgvalid.cli import build_app

    command = get_command(build_app())
    parts = ["# Verbs\n", "Made by `make docs` from `--help`; a test keeps it true.\n"]
    for path, verb in _verbs(command, ("surgvalid",)):
        parts.append(f"## {' '.join(path)}\n\n{verb.full_help().strip()}\n")
        rows = [_option(verb, parameter) for parameter in verb.params if parameter.name != "help"]
        if rows:
            parts += ["| option | default | what it does |\n|---|---|---|", "\n".join(rows) + "\n"]
    return "\n".join(parts)


def _verbs(command, path):  # type: ignore[no-untyped-def]
    for name in command.list_commands(None):
        verb = command.get_command(None, name)
        if hasattr(verb, "list_commands"):
            yield from _verbs(verb, (*path, name))
        else:
            yield (*path, name), verb


def _option(verb, parameter) -> str:  # type: ignore[no-untyped-def]
    names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
    default = "required" if parameter.required else parameter.default
    default = "" if default in (None, (), [], False) else default
    text = " ".join(verb.text_of(parameter).split()).replace("|", "\\|")
    return f"| {names} | {default} | {text} |"
