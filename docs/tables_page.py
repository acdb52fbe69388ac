"""The page of published tables, from their declarations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from surgvalid.results.tables import Table

PAGE = Path(__file__).parent / "reference" / "tables.md"
_HEAD = """# Tables

Made by `make docs` from the declarations in `surgvalid.results.tables`; a test keeps it true. Every table is built with
its declaration and checked with it when it is read, so a file of one of these names has these columns, in this order.
An empty cell is a value that does not exist or was not asked for. A report does without the columns marked *.

The ends of an interval are `low` and `high`. Version 0.1.0 called them `ci_low` and `ci_high`: its folders are still
read, with the note `older-columns`. The files of the official profiles keep the names of the official toolkit.
"""
_TITLES = {"rank": "rank (rule `focus`)", "rank-tasks": "rank (other rules)"}


def page() -> str:
    """The page as the tables are declared now."""
    from surgvalid.cli._group import MOVED
    from surgvalid.results.tables import TABLES

    lines = [_HEAD]
    for verb, tables in TABLES.items():
        if tables:
            lines.append(f"## surgvalid {_TITLES.get(verb, MOVED.get(verb, verb))}\n")
        for name, table in tables.items():
            lines += [f"### {'the table of --out' if name == 'result' else f'{name}.csv'}\n", *_section(table), ""]
    return "\n".join(lines)


def _section(table: Table) -> Iterator[str]:
    yield table.about + (" Further columns may follow or come first." if table.more else "") + "\n"
    yield "| column | kind | meaning |"
    yield "|---|---|---|"
    for name, column in table.columns.items():
        yield f"| `{name}`{'' if column.needed else ' *'} | {column.kind} | {column.meaning} |"
