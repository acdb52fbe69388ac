"""A group of verbs of which one may be left out: words that name none of them are meant for it."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup


def group_around(verb: str) -> type[TyperGroup]:
    """The class of a group in which `verb` stands before words that do not begin with a verb of the group."""

    class Group(TyperGroup):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            known = (*self.commands, "--help", "-h")
            return super().parse_args(ctx, args if not args or args[0] in known else [verb, *args])

    return Group
