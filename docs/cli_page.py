"""The pages of verbs, from the command line's own help: an overview, and one page for each group."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

os.environ.update(COLUMNS="100", TERM="dumb", NO_COLOR="1", TERMINAL_WIDTH="100", _TYPER_FORCE_DISABLE_TERMINAL="1")

PAGE = Path(__file__).parent / "reference" / "cli.md"
FOLDER = PAGE.parent / "commands"
_HEAD = """# Commands

Made by `make docs` from `--help`; a test keeps it true. One page for each verb or group of verbs.

| verb | what it does |
|---|---|
"""


def page() -> str:
    """Every verb with what it does, and where its options are."""
    rows = [
        f"| [`{' '.join(path[1:])}`](commands/{group}.md#{'-'.join(path)}) | {_first(verb)} |"
        for group, verbs in _groups().items()
        for path, verb in verbs
    ]
    return _HEAD + "\n".join(rows) + "\n"


class GroupPage(NamedTuple):
    """One group of verbs."""

    name: str

    @property
    def PAGE(self) -> Path:
        """Where it is written."""
        return FOLDER / f"{self.name}.md"

    def page(self) -> str:
        """Help and options of each verb of the group."""
        parts = [f"# surgvalid {self.name}\n", "Made by `make docs` from `--help`; a test keeps it true.\n"]
        for path, verb in _groups()[self.name]:
            parts.append(f"## {' '.join(path)}\n\n{verb.full_help().strip()}\n")
            rows = [_option(verb, parameter) for parameter in verb.params if parameter.name != "help"]
            if rows:
                parts += ["| option | default | what it does |\n|---|---|---|", "\n".join(rows) + "\n"]
        return "\n".join(parts)


def group_pages() -> list[GroupPage]:
    """A page for every verb or group of verbs."""
    return [GroupPage(name) for name in _groups()]


def _groups() -> dict[str, list[tuple[tuple[str, ...], Any]]]:
    from typer.main import get_command

    from surgvalid.cli import build_app

    command: Any = get_command(build_app())
    return {
        name: list(_verbs(command.get_command(None, name), ("surgvalid", name))) for name in command.list_commands(None)
    }


def _verbs(verb: Any, path: tuple[str, ...]) -> list[tuple[tuple[str, ...], Any]]:
    if not hasattr(verb, "list_commands"):
        return [(path, verb)]
    return [one for name in verb.list_commands(None) for one in _verbs(verb.get_command(None, name), (*path, name))]


def _first(verb: Any) -> str:
    """The first sentence of a verb's help."""
    text = " ".join(verb.full_help().split("\n\n")[0].split())
    return text.replace("|", "\\|")


def _option(verb: Any, parameter: Any) -> str:
    names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
    default = "required" if parameter.required else parameter.default
    default = "" if default in (None, (), [], False) else default
    text = " ".join(verb.text_of(parameter).split()).replace("|", "\\|")
    return f"| {names} | {default} | {text} |"
