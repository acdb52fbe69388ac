"""`surgvalid evaluate`: predictions against references, with intervals over videos; shards and sites combined."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

from surgvalid.cli._console import check_out, check_there, deliver, new_folder, progress_bar, talk
from surgvalid.cli._listed import arguments, paths_in
from surgvalid.errors import Misuse

_LISTS = ("by", "classes", "prediction_labels", "videos")

_NO_CHECK = ("as_read", "shard", "executor", "preregistration", "deviations")
"""Options that only numbers need."""


def evaluated(name: str, given: dict[str, Any]) -> None:
    """Evaluate one kind of predictions, and write what may be shared where that is wanted."""
    kind = name.split()[-1]
    out, as_json, force, share, site, min_cases, min_cell = (
        given.pop(option) for option in ("out", "json", "force", "share", "site", "min_cases", "min_cell")
    )
    new_folder(out, force=force)
    check_there(paths_in(given))
    if share is None and site:
        raise Misuse("--site names what --share writes; give --share FILE")
    options = arguments(given)
    options = {name: value for name, value in options.items() if value or name not in _LISTS}
    if "columns" in options and "video_pattern" not in options:  # where images name their video, rows do not
        options["columns"] = _columns(options["columns"], options.pop("video_column"))
    if "properties" in options:
        options["properties"] = _single(options["properties"])
    from surgvalid.evaluation.run import check, evaluate
    from surgvalid.evaluation.sharing import check_share

    if silent := options.pop("no_predictions", ""):
        options["no_predictions"] = silent.split("+")
    if options.pop("check"):
        kept = {name: value for name, value in options.items() if name not in _NO_CHECK}
        deliver(check(kind, **kept), out=out, as_json=as_json, force=force)
        return
    if share is not None:
        check_share(share, site=site, minimum_cases=min_cases, cell_size=min_cell, force=force)
    with progress_bar(f"evaluating {kind}") as step:
        result = evaluate(kind, share=share is not None, progress=step, **options)
    deliver(result, out=out, as_json=as_json, force=force)
    if share is not None:
        from surgvalid.studies.sharing import share as give

        written = give(result, share, site=site, minimum_cases=min_cases, cell_size=min_cell, force=force)
        talk(f"to share: {written}; what leaves: {written.with_suffix('.html')}; the key beside it stays here")


def meant(words: list[str], takes: Callable[[str, list[str]], bool]) -> list[str]:
    """The words of the verb that a folder or file without a kind means; the command is told.

    Args:
        words: The path first, then options.
        takes: Whether the verb of a kind has all options among some words.

    Raises:
        Misuse: Several are meant, or none; names each.
    """
    from surgvalid.evaluation.folders import meanings

    path, rest = words[0], words[1:]
    stated = next((after for word, after in pairwise(rest) if word == "--references"), None)
    listed = meanings(Path(path), Path(stated) if stated else None)
    commands = [
        [one.kind, "--predictions", str(one.predictions)]
        + (["--references", str(one.references)] if one.references and not stated else [])
        for one in listed
        if takes(one.kind, rest)
    ]
    shown = [shlex.join(["surgvalid", "evaluate", *command, *rest]) for command in commands]
    if len(commands) != 1:
        raise Misuse(f"{path} can be evaluated in {len(shown)} ways; say which: {'; '.join(shown)}")
    talk(f"means: {shown[0]}")
    return [*commands[0], *rest]


def _columns(mapping: dict[str, str], video_column: str | None) -> dict[str, str]:
    if video_column is None:
        return mapping
    if "video" in mapping:
        raise Misuse("--unit and --columns both name the video; give one of them")
    return {**mapping, "video": video_column}


def _single(tables: list[Path] | None) -> Path | None:
    if tables is not None and len(tables) > 1:
        raise Misuse(f"--properties: one table is read here, got {len(tables)}")
    return tables[0] if tables else None


def combine(folders: list[Path], out: Path | None, json: bool, force: bool) -> None:
    """Put the shards of one evaluation together, or what several sites shared: as if all videos had been at hand."""
    check_out(out, force=force, inputs=folders)
    from surgvalid.evaluation.combine import combine as work

    with progress_bar("combining") as step:
        result = work(folders, progress=step)
    deliver(result, out=out, as_json=json, force=force)
