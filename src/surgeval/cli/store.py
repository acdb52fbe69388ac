"""`surgeval store`: what was asked once, shown, checked and brought together."""

from __future__ import annotations

from pathlib import Path

import typer

from surgeval.cli import _options as o
from surgeval.cli._console import emit, emit_json, emit_table, talk

_PLACE = typer.Argument(o.STORE, help="Folder of the store, or a file of an earlier version.")


def register(app: typer.Typer) -> None:
    """Add the verb."""
    store = typer.Typer(help="Look after the replies that are kept between runs.", no_args_is_help=True)
    store.command("show")(show)
    store.command("merge")(merge)
    store.command("verify")(verify)
    app.add_typer(store, name="store")


def show(
    place: Path = _PLACE,
    json: o.Json = False,
) -> None:
    """Count what is kept: replies per kind, asker and prompt version, and lines that cannot be read."""
    from surgeval.asking.store_care import counted, opened

    with opened(place) as store:
        table = counted(store)
        if json:
            emit_json({"store": str(place), "replies": table.to_dicts(), "damaged_lines": store.problems})
            return
        emit_table(table, title=f"{len(store)} replies in {place}")
        for problem in store.problems:
            talk(f"set aside, {problem}")


def verify(
    place: Path = _PLACE,
    aside: bool = typer.Option(
        False, "--set-aside", help="Keep damaged lines under NAME.damaged, so that nobody names them again."
    ),
) -> None:
    """Read every line and name those that are damaged; exit 1 if there are any that nobody set aside."""
    from surgeval.asking.store_care import damaged_lines, opened, set_aside

    with opened(place) as store:
        damaged = damaged_lines(store)
        for line in damaged:
            emit(str(line))
        talk(f"{place}: {len(store)} replies, {len(damaged)} damaged lines{' were set aside' if aside else ''}")
    if aside:
        set_aside(damaged)
    elif damaged:
        raise typer.Exit(1)


def merge(
    sources: list[Path] = typer.Argument(..., help="Stores to read: folders, or files of an earlier version."),
    out: Path = typer.Option(..., "--out", help="Store to add to; made if it is not there."),
) -> None:
    """Bring stores together: each reply once, the first source first; damaged lines stay behind and are named."""
    from surgeval.asking.store_care import merged

    added, problems = merged(sources, out)
    for problem in problems:
        talk(f"left behind, {problem}")
    talk(f"{added} replies added to {out}")
