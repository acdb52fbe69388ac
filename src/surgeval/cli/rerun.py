"""`surgeval rerun`: repeat a run from its manifest, and say whether the same comes out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from surgeval.cli import _options as o
from surgeval.cli._console import emit, emit_json, new_folder, talk
from surgeval.errors import FileUnreadable, Misuse
from surgeval.results.manifest import MANIFEST
from surgeval.results.result import Result
from surgeval.schema.documents import read_json
from surgeval.schema.question_files import split_source

FUNCTIONS = {"adjusted": "adjusted_effects", "questions": "make_questions", "width-ratio": "width_ratio"}
"""Verbs whose function in Python has another name."""
NOT_REPEATED = {
    "annotate": "its history says when people did what",
    "rehearse": "its answers depend on the clock; run surgeval rehearse again",
    "report": "it draws what other manifests describe; run surgeval report on the folder again",
    "simulate": "run surgeval simulate with the options in the manifest; equal seeds give equal files",
}


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("rerun")(rerun)


def rerun(
    manifest: Annotated[Path, typer.Argument(metavar="MANIFEST", help="manifest.json of a run, or its folder.")],
    start: Annotated[
        Path, typer.Option("--from", help="The folder in which the run was started; paths in the manifest begin there.")
    ] = Path(),
    out: o.Out = None,
    as_json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Repeat a run with the options and files of its manifest, and compare what comes out.

    Exit code 0: every file is equal. 1: something differs. 2: the run cannot be repeated.
    """
    new_folder(out, force=force)
    stored = _stored(manifest)
    result = _function(stored)(**_given(stored, start), **_options(stored))
    changed = _different(stored["inputs"], result.manifest()["inputs"])
    if changed:
        raise Misuse(f"{manifest}: the run read other content than is there now: {', '.join(changed)}")
    differing = _compared(result, stored, out, force=force)
    if as_json:
        emit_json({"verb": stored["verb"], "files": len(stored["outputs"]), "differing": differing})
    else:
        emit(
            f"{len(stored['outputs']) - len(differing)} of {len(stored['outputs'])} files are equal to those of the run"
        )
    for name in differing:
        talk(f"differs: {name}")
    if stored["surgeval"] != result.manifest()["surgeval"]:
        talk(f"note: the run was made by surgeval {stored['surgeval']}")
    raise typer.Exit(int(bool(differing)))


def _stored(path: Path) -> dict[str, Any]:
    """The manifest, whole enough to repeat its run.

    Raises:
        FileUnreadable: It is no manifest, or one of a version that did not list every option.
    """
    file = path / MANIFEST if path.is_dir() else path
    stored = read_json(file)
    needed = ("verb", "options", "given", "inputs", "outputs")
    lacking = [name for name in needed if not isinstance(stored, dict) or name not in stored]
    if lacking:
        raise FileUnreadable(
            str(file),
            [f"no manifest that a run can be repeated from: it lacks {', '.join(lacking)} (0.1.0 wrote fewer)"],
        )
    return dict(stored)


def _function(stored: Mapping[str, Any]) -> Any:
    import surgeval

    verb = str(stored["verb"]).split()[0]
    if verb in NOT_REPEATED:
        raise Misuse(f"a run of {verb!r} is not repeated from its manifest: {NOT_REPEATED[verb]}")
    name = FUNCTIONS.get(verb, verb)
    if name not in surgeval.__all__:
        raise Misuse(f"the manifest names the verb {verb!r}, which this version does not have")
    return getattr(surgeval, name)


def _given(stored: Mapping[str, Any], start: Path) -> dict[str, Any]:
    """The files of the run, seen from where it was started.

    Raises:
        Misuse: Something was given as data in memory, which no manifest keeps.
    """
    given = dict(stored["given"])
    memory = [name for name, value in given.items() if isinstance(value, dict)]
    if memory:
        raise Misuse(f"the run was given {', '.join(memory)} in memory, not as files; there is nothing to read again")
    return {
        name: [_placed(one, start) for one in value] if isinstance(value, list) else _placed(value, start)
        for name, value in given.items()
    }


def _placed(text: str, start: Path) -> str:
    name, path = split_source(text)
    return str(start / path) if name is None else f"{name}={start / path}"


def _options(stored: Mapping[str, Any]) -> dict[str, Any]:
    options = dict(stored["options"])
    memory = [name for name, value in options.items() if isinstance(value, dict) and "in memory" in value]
    if memory:
        raise Misuse(f"the options {', '.join(memory)} were objects in memory; a manifest keeps their names only")
    return options


def _compared(result: Result, stored: Mapping[str, Any], out: Path | None, *, force: bool) -> list[str]:
    """The names of files that differ from those of the run; the files go to `out`, or nowhere."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as place:
        folder = result.to_dir(out if out is not None else Path(place) / "again", force=force)
        made = read_json(folder / MANIFEST)
    return _different(stored["outputs"], made["outputs"])


def _different(before: list[dict[str, Any]], now: list[dict[str, Any]]) -> list[str]:
    """The names of files whose content is not the same in both lists."""
    old = {entry["file"]: entry["sha256"] for entry in before}
    new = {entry["file"]: entry["sha256"] for entry in now}
    return sorted(name for name in old if new.get(name) != old[name])
