"""`surgvalid tools rerun`: repeat a run from its manifest, and say whether the same comes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typer

from surgvalid.cli._console import TABLE_FILES, emit, emit_json, new_folder, talk
from surgvalid.cli._group import MOVED
from surgvalid.errors import FileUnreadable, Misuse
from surgvalid.results.manifest import MANIFEST, sha256_of
from surgvalid.schema.documents import read_json
from surgvalid.schema.legacy import today_options, with_new_keys
from surgvalid.schema.questions.question_files import split_source

FUNCTIONS = {
    "adjusted": "failures",
    "audit": "audit_study",
    "audit card": "data_set_card",
    "audit tables": "audit_tables",
    "failure-change": "failure_change",
    "failure-table": "failures",
    "questions": "make_questions",
    "task board": "task_board",
    "task parse": "parse_run",
    "task run": "run_task",
    "floors": "trivial_baselines",
    "influence": "dependence",
    "width-ratio": "dependence",
}
"""Verbs whose function in Python has another name."""
MAIN_TABLES = {"influence": "influence", "width-ratio": "width_ratio"}
"""Verbs of 0.1.0 whose table is one of several now."""
NOT_REPEATED = {
    "annotate": "its history says when people did what",
    "rehearse": "its answers depend on the clock; run surgvalid submission rehearse again",
    "report": "it draws what other manifests describe; run surgvalid report on the folder again",
}
ABOUT_THE_RUN = ("judges.csv",)
"""Files that tell how a run went: a repeated one reuses what the first one asked."""


def rerun(manifest: Path, start: Path, out: Path | None, json: bool, force: bool) -> None:
    """Repeat a run with the options and files of its manifest, and compare what comes out.

    Exit code 0: every file is equal. 1: something differs. 2: the run cannot be repeated.
    """
    new_folder(out, force=force)
    stored = _stored(manifest)
    if now := MOVED.get(str(stored["verb"])):
        talk(f"note: `{stored['verb']}` is now `{now}`")
    with TemporaryDirectory() as place:
        again = out if out is not None else Path(place) / "again"
        made = (
            _simulated(stored, again, force) if stored["verb"] == "simulate" else _repeated(stored, start, again, force)
        )
    if changed := _different(stored["inputs"], made["inputs"]):
        talk(f"note: the run read other content than is there now: {', '.join(changed)}")
    listed = [entry for entry in stored["outputs"] if entry["file"] not in ABOUT_THE_RUN]
    differing = _different(listed, made["outputs"])
    if json:
        emit_json({"verb": stored["verb"], "files": len(listed), "differing": differing, "changed_inputs": changed})
    else:
        emit(f"{len(listed) - len(differing)} of {len(listed)} files are equal to those of the run")
    for name in differing:
        talk(f"differs: {name}")
    if stored.get("surgvalid") != made["surgvalid"]:
        talk(f"note: the run was made by surgvalid {stored.get('surgvalid')}")
    raise typer.Exit(int(bool(differing or changed)))


def _stored(path: Path) -> dict[str, Any]:
    """The manifest, whole enough to repeat its run.

    Raises:
        FileUnreadable: It is no manifest, or one of a version that did not list every option.
    """
    file = path / MANIFEST if path.is_dir() else path
    if file.suffix.lower() != ".json":
        beside = file.with_name(f"{file.stem}.{MANIFEST}")
        raise Misuse(
            f"{file} is no manifest; name the folder of a run, its {MANIFEST}, or {beside.name} beside a table"
        )
    stored = read_json(file)
    needed = ("verb", "options", "given", "inputs", "outputs")
    lacking = [name for name in needed if not isinstance(stored, dict) or name not in stored]
    if lacking:
        raise FileUnreadable(
            str(file),
            [f"no manifest that a run can be repeated from: it lacks {', '.join(lacking)} (0.1.0 wrote fewer)"],
        )
    return with_new_keys(stored)


def _function(stored: Mapping[str, Any]) -> Any:
    import surgvalid

    verb = str(stored["verb"]).split()[0]
    if verb in NOT_REPEATED:
        raise Misuse(f"a run of {verb!r} is not repeated from its manifest: {NOT_REPEATED[verb]}")
    name = FUNCTIONS.get(str(stored["verb"]), FUNCTIONS.get(verb, verb))
    if name not in surgvalid.__all__:
        raise Misuse(f"the manifest names the verb {verb!r}, which this version does not have")
    return getattr(surgvalid, name)


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
    options = today_options(stored["options"], str(stored["verb"]))
    memory = [name for name, value in options.items() if isinstance(value, dict) and "in memory" in value]
    if memory:
        raise Misuse(f"the options {', '.join(memory)} were objects in memory; a manifest keeps their names only")
    return options


def _repeated(stored: Mapping[str, Any], start: Path, folder: Path, force: bool) -> dict[str, Any]:
    """The manifest of the same call, made again; its files go to the folder."""
    result = _function(stored)(**_given(stored, start), **_options(stored))
    result = replace(result, main=MAIN_TABLES.get(stored["verb"], result.main))
    names = [entry["file"] for entry in stored["outputs"]]
    result.to_dir(folder, force=force)
    made = dict(read_json(folder / MANIFEST))
    if len(names) == 1 and Path(names[0]).suffix.lower() in TABLE_FILES and names[0] not in _names(made["outputs"]):
        table = result.to_file(folder / names[0])
        made["outputs"] = [{"file": names[0], "sha256": sha256_of(table)}]
    return made


_PAINTED = ("video", "clock", "masks", "passes", "pairs", "instruments")


def _simulated(stored: Mapping[str, Any], folder: Path, force: bool) -> dict[str, Any]:
    """The manifest of the same procedures, painted again into the folder."""
    from surgvalid.simulation.simulate import Simulation, clip_spec

    options = _options(stored)
    painted = {name: options.pop(name) for name in _PAINTED if name in options}  # older manifests know fewer
    options.pop("looks", None)  # older ones chose what every scene has today
    spec = clip_spec(options.pop("fps"), options["height_px"])
    Simulation(**options).to_dir(folder, **painted, spec=spec, force=force)
    return dict(read_json(folder / MANIFEST))


def _names(entries: list[dict[str, Any]]) -> set[str]:
    return {entry["file"] for entry in entries}


def _different(before: list[dict[str, Any]], now: list[dict[str, Any]]) -> list[str]:
    """The names of files whose content is not the same in both lists."""
    old = {entry["file"]: entry["sha256"] for entry in before}
    new = {entry["file"]: entry["sha256"] for entry in now}
    return sorted(name for name in old if new.get(name) != old[name])
