"""How verbs speak and hand over results: talk on stderr, results on stdout or as files, never over somebody's."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surgvalid.cli._waiting import LOGGED_EVERY_S, held, hush
from surgvalid.errors import FileUnreadable, Misuse, WouldOverwrite
from surgvalid.schema.documents import json_text
from surgvalid.schema.findings import Severity
from surgvalid.schema.shown_text import visible

if TYPE_CHECKING:
    import polars as pl

    from surgvalid.asking.meter import Meter
    from surgvalid.results.result import Result


def talk(text: str) -> None:
    """Say something to the person at the terminal; it never mixes with results."""
    hush()
    print(visible(text), file=sys.stderr, flush=True)


def agreed(question: str) -> bool:
    """Whether a person at the terminal says yes; nobody is asked where nobody is there."""
    import typer

    return sys.stdin.isatty() and typer.confirm(question, err=True)


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
def asking_line(what: str, *, store: Path | None = None) -> Iterator[Meter]:
    """A meter whose line stands on the terminal as it changes, or is logged twice a minute where there is none.

    With a store, an interruption says how far it came and ends in exit 130.
    """
    import typer

    from surgvalid.asking.meter import Meter, reporting

    meter, on_screen = Meter(what), sys.stderr.isatty()
    say, every_s = (_redraw, 0.2) if on_screen else (talk, LOGGED_EVERY_S)
    try:
        with reporting(meter, say, every_s=every_s):
            yield meter
    except KeyboardInterrupt:
        if store is None:
            raise
        talk(f"interrupted after {meter.line() or what}; answers are kept in {store}: run again to go on")
        raise typer.Exit(130) from None
    finally:
        if on_screen:
            _redraw("")


def _redraw(line: str) -> None:
    """Put the line where the last one stood, cut to the width of the terminal."""
    hush()
    width = shutil.get_terminal_size().columns
    print(f"\r\x1b[K{visible(line)[: width - 1]}", end="", file=sys.stderr, flush=True)


_BOTH_NAMES = re.compile(r"\b(\w+)(?:=[^\s()]+(?: or '\w+')?)? \((--([\w-]+)[^()]*)\)")
_OTHER_NAMES = {"replicates": "resamples"}


def shell_words(text: str) -> str:
    """A message in which parameters that stand before their option in brackets are called as on the command line.

    Example:
        >>> shell_words("say it with better='larger' or 'smaller' (--better dice=larger)")
        'say it with --better dice=larger'
        >>> shell_words("per_video (--per-video) must be at least 1")
        '--per-video must be at least 1'
    """

    def spelled(match: re.Match[str]) -> str:
        name = _OTHER_NAMES.get(match[1], match[1].replace("_", "-"))
        return match[2] if name.startswith(match[3]) or match[3].startswith(name) else match[0]

    return _BOTH_NAMES.sub(spelled, text)


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
    from surgvalid.results.folder import check_free

    check_free(path, force=force)
    taken = [name for name in files if (path / name).exists()]
    if taken and not force:
        raise WouldOverwrite(path / taken[0])
    there = next(place for place in (path, *path.absolute().parents) if place.exists())
    why = "is a file" if not there.is_dir() else "" if os.access(there, os.W_OK) else "may not be written to"
    if why:
        raise Misuse(f"--out {path}: no folder can be made there ({there} {why}); choose another path")


def _cell(value: Any, digits: int, column: str = "") -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        from surgvalid.schema.tables.shown_tables import P_VALUES, p_text

        return "-" if value != value else p_text(value) if column in P_VALUES else f"{value:.{digits}f}"
    return " ".join(str(value).split())


_SPOKEN = {Severity.ERROR: "Error", Severity.WARNING: "Warning", Severity.NOTE: "note"}


def check_out(out: Path | None, *, force: bool, inputs: Sequence[Path] = (), table: bool = True) -> None:
    """Refuse a place for a table or a folder that is taken, is read, or cannot be written, before any work is done.

    Args:
        out: The folder, or the file of a table.
        force: Whether an earlier result may be replaced.
        inputs: What is read.
        table: Whether a single table is a result of the verb.

    Raises:
        FileUnreadable: One of `inputs` is not there.
        WouldOverwrite: It exists and `force` is off.
        Misuse: A file that is neither `.csv` nor `.parquet`, no such folder, or one of `inputs`.
    """
    check_there(inputs)
    if out is None:
        return
    from surgvalid.results.folder import check_inputs
    from surgvalid.results.request import files_of

    if table and out.suffix.lower() in OTHER_FILES:
        raise Misuse(f"--out {out}: unknown kind of file {out.suffix!r}; expected .csv, .parquet or a folder")
    if not table or out.suffix.lower() not in TABLE_FILES:
        new_folder(out, force=force)
        check_inputs(out, [file for path in inputs for file in files_of(path)])
        return
    if not out.parent.is_dir():
        raise Misuse(f"--out {out}: folder {out.parent} does not exist")
    if out.is_dir():
        raise Misuse(f"--out {out}: is a folder; name a file in it")
    if out.resolve() in [file.resolve() for path in inputs for file in files_of(path)]:
        raise Misuse(f"--out {out}: is read as a table too and would be lost; choose another path")
    for path in (out, manifest_path(out)):
        if path.exists() and not force:
            raise WouldOverwrite(path)


def check_there(paths: Sequence[Path]) -> None:
    """Refuse files that are not there before anything that could read them is imported.

    Raises:
        FileUnreadable: One is not there; a sheet may be named behind a workbook.
    """
    for path in paths:
        if not path.exists() and not Path(str(path).partition("#")[0]).exists():
            raise FileUnreadable(str(path), ["no such file"])


def deliver(result: Result, *, out: Path | None, as_json: bool, force: bool = False) -> None:
    """Say how its tables were interpreted, write a result where wanted, then print it as JSON or show it.

    Args:
        result: What was found.
        out: The folder to write, or the file of its main table, whose manifest goes beside it.
        as_json: Print JSON instead of tables.
        force: Replace an earlier result.
    """
    for line in result.request.interpreted:
        talk(f"interpreted: {line.sentence}")
    to_file = out is not None and out.suffix.lower() in TABLE_FILES
    if out is not None:
        if to_file:
            from surgvalid.results.manifest import write_manifest

            written = result.to_file(out)
            write_manifest(manifest_path(out), result.manifest({out.name: written}))
        else:
            result.to_dir(out, force=force)
        talk(f"written to {out}")
    if as_json:
        emit_json(result.as_dict())
    elif not to_file:
        show(result)
    for finding in result.findings:
        talk(f"{_SPOKEN[finding.severity]}: {finding.text}")


def show(result: Result) -> None:
    """Print the tables of a result and the paragraph that says what was done."""
    from surgvalid.schema.tables.units import called, unit_word

    digits, word = result.digits(), unit_word(result.request.interpreted)
    for title, frame in result.screen().items():
        heads = {name: re.sub(r"(?<![^_])video(?=$|s(_|$))", word, name) for name in frame.columns}
        if word == "case" and "cases" in heads and "videos" in heads and not frame["cases"].equals(frame["videos"]):
            heads["cases"] = "rows"  # of frames or organs within what is independent
        frame = frame.select(name for name, head in heads.items() if head in (name, *{*heads.values()} - {*heads}))
        emit_table(frame.rename(heads, strict=False), title=called(title, word), digits=digits.get(title, 3))
        emit("")
    if result.prose:
        emit(result.prose)


def manifest_path(out: Path) -> Path:
    """Where the manifest of a result file lies: beside it."""
    return out.with_name(f"{out.stem}.manifest.json")
