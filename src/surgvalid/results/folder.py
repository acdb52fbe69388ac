"""Folders that hold one whole result, or the one before it, whenever a run is killed.

The folder may hold files of its user, so it cannot be swapped as a whole. A result is written into `.writing` inside
it; renaming that to `.written` is the one moment at which the new result stands. Then what the manifest before lists
is taken away and the new files are moved to their places, the manifest last. A run that is killed before that moment
leaves the earlier result as it was; one that is killed after it leaves the new one in `.written`, from where readers
take it and the next writer moves it. What no manifest lists is left alone.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from surgvalid.errors import FileUnreadable, Misuse, WouldOverwrite
from surgvalid.results.manifest import MANIFEST
from surgvalid.results.tables import MARKS, READABLE, RECORDS
from surgvalid.schema.documents import read_json

WRITING, WRITTEN = ".writing", ".written"
_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"
_OUTPUT = re.compile(rf"({_NAME}/)*{_NAME}\.(csv|json|jsonl|txt|md|parquet|mp4|svg|html|Rmd)")
_UNLISTED = ("scores.parquet", "results.csv", "verdicts.jsonl", "methods.txt", "influence.csv", "compat.csv")
"""Files that verbs of 0.1.0 wrote beside their tables and records without listing them."""


def check_free(folder: Path, *, force: bool) -> None:
    """Refuse a folder that holds a result, unless it may be replaced.

    Raises:
        WouldOverwrite: There is one and `force` is off.
    """
    taken = [name for name in (MANIFEST, f"{WRITTEN}/{MANIFEST}", *MARKS) if (folder / name).exists()]
    if taken and not force:
        raise WouldOverwrite(folder / taken[0])


def check_inputs(folder: Path, inputs: Iterable[Path], names: Iterable[str] = ()) -> None:
    """Refuse a folder where writing would take away or replace a file that was read.

    Args:
        folder: Where a result is going to stand.
        inputs: The files that were read.
        names: The files that are going to be written, beside those of the result that stands there.

    Raises:
        Misuse: One of the inputs would be lost.
    """
    doomed = {(folder / name).resolve() for name in (*outputs_of(_manifest(folder)), *names)}
    lost = [path for path in inputs if path.resolve() in doomed]
    if lost:
        raise Misuse(f"{folder}: {lost[0].name} in it is read and would be lost; choose another path")


@contextmanager
def staged(folder: Path, *, force: bool, inputs: Sequence[Path] = ()) -> Iterator[Path]:
    """A place to write a result to; when the block ends, it stands in the folder instead of the one before.

    Raises:
        WouldOverwrite: The folder holds a result and `force` is off, or a file of one of the names written that no
            manifest lists.
        Misuse: No folder can be made there, one of `inputs` would be lost, or a folder has the name of a file that was
            written.
    """
    check_free(folder, force=force)
    check_inputs(folder, inputs)
    stage = folder / WRITING
    try:
        folder.mkdir(parents=True, exist_ok=True)
        finish(folder)
        shutil.rmtree(stage, ignore_errors=True)
        stage.mkdir()
    except OSError as error:
        raise Misuse(f"{folder}: no folder can be made there ({error.strerror}); choose another path") from None
    try:
        yield stage
        check_inputs(folder, inputs, files_below(stage))
        _check_places(folder, files_below(stage), force=force)
        stage.rename(folder / WRITTEN)
    finally:
        shutil.rmtree(stage, ignore_errors=True)
    finish(folder)


def finish(folder: Path) -> None:
    """Move a result that stands in `.written` to its places, and take away what was there before."""
    written = folder / WRITTEN
    if not written.is_dir():
        return
    if (written / MANIFEST).is_file():
        new = set(outputs_of(_manifest(written)))
        for name in outputs_of(_manifest(folder)):
            if name not in new:
                _remove(folder, name)
        for name in [*(n for n in files_below(written) if n != MANIFEST), MANIFEST]:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(written / name, folder / name)
    shutil.rmtree(written, ignore_errors=True)


def write_files(texts: Mapping[str, str], folder: Path) -> None:
    """Write texts by their names, which may lie in folders below."""
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def files_below(folder: Path) -> dict[str, Path]:
    """Every file below a folder by its name as seen from there, in order."""
    return {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}


def current(folder: Path, name: str) -> Path:
    """Where a file of the folder's result lies: in its place, or in `.written` where a run was killed."""
    waiting = folder / WRITTEN / name
    return waiting if waiting.is_file() and not (folder / WRITTEN).is_symlink() else folder / name


def outputs_of(manifest: Any) -> list[str]:
    """The files that a manifest lists as written; for manifests that list none, those that its verb may have written.

    A manifest may come from anywhere, so only plain names of files that results consist of are followed.
    """
    if not isinstance(manifest, dict):
        return []
    listed = manifest.get("outputs")
    if not listed or not isinstance(listed, list):
        verb = (str(manifest.get("verb")).split() or [""])[0]
        known = [*READABLE.get(verb, ()), *(READABLE["rank-tasks"] if verb == "rank" else ())]
        return [f"{name}.csv" for name in known] + [f"{n}.json" for n in RECORDS.get(verb, ())] + [*_UNLISTED]
    names = [entry.get("file") if isinstance(entry, dict) else entry for entry in listed]
    return [name for name in names if isinstance(name, str) and _OUTPUT.fullmatch(name) and name != MANIFEST]


def _manifest(folder: Path) -> Any:
    try:
        return read_json(folder / MANIFEST)
    except FileUnreadable:
        return None


def _remove(folder: Path, name: str) -> None:
    """Take a file away, and folders that it leaves empty; links are not followed."""
    path = folder / name
    inside = [parent for parent in path.parents if folder in parent.parents]
    if any(parent.is_symlink() for parent in inside) or not path.is_file():
        return
    path.unlink()
    for parent in inside:
        if any(parent.iterdir()):
            return
        parent.rmdir()


def _check_places(folder: Path, names: Mapping[str, Path], *, force: bool) -> None:
    """Refuse to write where something stands that is no file of the result before; `force` gives up only that one."""
    manifest = _manifest(folder)
    listed = manifest.get("outputs") if isinstance(manifest, dict) else None
    entries = listed if isinstance(listed, list) else []
    before = {MANIFEST, *outputs_of(manifest), *(e.get("file") if isinstance(e, dict) else str(e) for e in entries)}
    for name in names:
        place = folder / name
        if place.is_dir():
            raise Misuse(f"{place} is a folder, and a file of that name would be written; choose another path")
        if place.exists() and not force:
            raise WouldOverwrite(place)
        if place.exists() and name not in before:
            raise WouldOverwrite(place, by_force=False)
