"""What would overturn a ranking: single videos, and other published ways of counting."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from surgvalid.report.inputs import ReportInputs, StoredResult, competitions
from surgvalid.report.wording import competitors, leaderboards_of, on_leaderboard
from surgvalid.report.words import count_of
from surgvalid.schema.tables.shown_tables import spelled


def overturning(inputs: ReportInputs, unit: str) -> list[str]:
    """Sentences on what each first rank rests on; none where a ranking did not look.

    Args:
        inputs: Of the report.
        unit: What the independent unit is called.
    """
    boards = [
        (result, board)
        for one in competitions(inputs)
        for result in one.inputs.of("rank")
        for board in leaderboards_of(result)
        if len(competitors(result, board)) > 1
    ]
    return [*_single_units(boards, unit), *_other_ways(boards)]


def _single_units(boards: list[tuple[StoredResult, str]], unit: str) -> Iterator[str]:
    tables = [on_leaderboard(result, "influence", board) for result, board in boards]
    changing = [
        table.filter(pl.col("left_out") == "video")["first_changes"].cast(pl.Boolean).sum()
        for table in tables
        if {"left_out", "first_changes"} <= set(table.columns)
    ]
    if not changing:
        return
    moved = [count for count in changing if count]
    of = f"of the {spelled(len(changing))} leaderboards" if len(changing) > 1 else ""
    if not moved:
        yield f"No single {unit} decides who ranks first{f' on any {of}' if of else ''}."
    elif of:
        span = f"{min(moved)}" if min(moved) == max(moved) else f"{min(moved)} to {max(moved)}"
        where = "all" if len(moved) == len(changing) else spelled(len(moved))
        such = f"{span} such {unit}{'' if span == '1' else 's'} on each"
        yield f"Without a single {unit} another model ranks first on {where} {of} ({such})."
    else:
        yield f"Without a single {unit} another model ranks first ({count_of(int(moved[0]), f'such {unit}')})."


def _other_ways(boards: list[tuple[StoredResult, str]]) -> Iterator[str]:
    """On how many leaderboards another published way of counting puts somebody else first."""
    tables = [on_leaderboard(result, "sensitivity", board) for result, board in boards]
    known = [table for table in tables if table.height > 1 and table.width > 2]
    if not known:
        return
    changed = sum(len({_first(table, way) for way in table.columns if way != "model"}) > 1 for table in known)
    ways = max(table.width for table in known) - 1
    if not changed:
        yield f"All {spelled(ways)} ways of counting pairs put the same model first."
    else:
        on = f" on {spelled(changed)} of {spelled(len(known))} leaderboards" if len(known) > 1 else ""
        yield f"Of {spelled(ways)} ways of counting pairs, some put another model first{on}."


def _first(table: pl.DataFrame, way: str) -> frozenset[str]:
    return frozenset(table.filter(pl.col(way) == pl.col(way).min())["model"])
