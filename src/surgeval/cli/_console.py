"""How verbs speak: talk on stderr, results on stdout, and never over somebody's files."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from surgeval.cli._waiting import LOGGED_EVERY_S, held, hush
from surgeval.errors import Misuse, WouldOverwrite
from surgeval.results.folder import check_free
from surgeval.schema.documents import json_text
from surgeval.schema.shown_tables import P_VALUES, p_text
from surgeval.schema.shown_text import visible

if TYPE_CHECKING:
    from surgeval.asking.meter import Meter


def talk(text: str) -> None:
    """Say something to the person at the terminal; it never mixes with results."""
    hush()
    print(visible(text), file=sys.stderr, flush=True)


def emit(text: str) -> None:
    """Print a result."""
    hush()
    print(visible(text), flush=True)


def emit_json(data: Any) -> None:
    """Print a result as JSON; half characters, which no terminal or file can take, stay escaped."""
    hush()
    print(json_text(data, indent=2), flush=True)


def emit_table(frame: pl.DataFrame, *, title: str = "", digits: int = 3) -> None:
    """Print a table with aligned columns; numbers to a few digits, nothing cut off."""
    if title:
        emit(title)
    header = frame.columns
    rows = [[visible(_cell(v, digits, name)) for v, name in zip(row, header, strict=True)] for row in frame.iter_rows()]
    widths = [max(len(name), *(len(row[i]) for row in rows)) if rows else len(name) for i, name in enumerate(header)]
    right = [dtype.is_numeric() for dtype in frame.dtypes]
    for row in [header, ["-" * width for width in widths], *rows]:
        cells = [c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right, strict=True)]
        emit("  ".join(cells).rstrip())


@contextmanager
def progress_bar(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """A bar on stderr that appears with the first step; the function inside moves it on.

    It shows how many are done, in which time and at what rate, and the time left where the total is known.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    left = (TaskProgressColumn(show_speed=True),) if total is None else (TimeRemainingColumn(),)
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), *left)
    bar = Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
    task = bar.add_task(what, total=total)
    with ExitStack() as while_shown:

        def step(by: int) -> None:
            if not bar.disable and not bar.live.is_started:
                while_shown.enter_context(held())
            bar.start()
            bar.advance(task, by)

        try:
            yield step
        finally:
            bar.stop()


@contextmanager
def asking_line(what: str) -> Iterator[Meter]:
    """A meter whose line stands on the terminal as it changes, or is logged twice a minute where there is none."""
    from surgeval.asking.meter import Meter, reporting

    on_screen = sys.stderr.isatty()
    say, every_s = (_redraw, 0.2) if on_screen else (talk, LOGGED_EVERY_S)
    try:
        with reporting(Meter(what), say, every_s=every_s) as meter:
            yield meter
    finally:
        if on_screen:
            _redraw("")


def _redraw(line: str) -> None:
    """Put the line where the last one stood, cut to the width of the terminal."""
    hush()
    width = shutil.get_terminal_size().columns
    print(f"\r\x1b[K{visible(line)[: width - 1]}", end="", file=sys.stderr, flush=True)


TABLE_FILES = (".csv", ".parquet")
"""Endings of `--out` that ask for the one table of a result instead of a folder."""
OTHER_FILES = (
    ".json", ".jsonl", ".tsv", ".txt", ".xlsx", ".xls", ".ods", ".html", ".pdf", ".docx", ".doc", ".md", ".tex", ".png",
    ".svg", ".jpg", ".zip", ".toml", ".yaml", ".yml",
)  # fmt: skip
"""Endings that no folder has."""


def new_folder(path: Path | None, *, force: bool, files: tuple[str, ...] = ()) -> None:
    """Check before any work is done that the output folder can be made and may be written to.

    Raises:
        WouldOverwrite: A result lies in it, or one of `files`, and `force` is off.
        Misuse: It is named as a file is, or a folder cannot be made there.
    """
    if path is None:
        return
    if path.suffix.lower() in (*TABLE_FILES, *OTHER_FILES) and not path.is_dir():
        raise Misuse(f"--out {path}: several files are written; name a folder")
    check_free(path, force=force)
    taken = [name for name in files if (path / name).exists()]
    if taken and not force:
        raise WouldOverwrite(path / taken[0])
    there = next(place for place in (path, *path.absolute().parents) if place.exists())
    why = "is a file" if not there.is_dir() else "" if os.access(there, os.W_OK) else "may not be written to"
    if why:
        raise Misuse(f"--out {path}: no folder can be made there ({there} {why}); choose another place")


def _cell(value: Any, digits: int, column: str = "") -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return "-" if value != value else p_text(value) if column in P_VALUES else f"{value:.{digits}f}"
    return " ".join(str(value).split())
