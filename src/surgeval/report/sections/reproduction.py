"""Reproduction: what to run, on which files, with which seeds and versions."""

from __future__ import annotations

import json
from typing import Any

import polars as pl

from surgeval.report.inputs import Inputs, StoredResult
from surgeval.report.record import report_manifest, reproduction_line
from surgeval.report.section import Block, Note, Prose, Section, Table
from surgeval.report.words import plain

TITLE = "Reproduction"
_LONGEST = 160
_SHOWN_HASHES = 200


def section(inputs: Inputs) -> Section:
    """The line that makes the page again, what it was made from, and the manifests of all parts."""
    blocks: list[Block] = [Prose(f"This page: {reproduction_line(inputs)}"), *_this_page(inputs)]
    runs = [_run(result) for result in inputs.parts]
    if runs:
        caption = (
            "Each line can be run again from the manifest.json beside the results; equal inputs give equal results."
        )
        kinds = dict.fromkeys(("part", "verb", "options", "seeds", "surgeval", "python"), pl.String)
        blocks.append(Table("runs", "Runs", pl.DataFrame(runs, schema=kinds, orient="row"), caption, folded=True))
    hashes = [row for result in inputs.parts for row in _hashes(result)]
    if hashes:
        kinds = dict.fromkeys(("part", "file", "sha256"), pl.String)
        frame = pl.DataFrame(hashes, schema=kinds, orient="row")
        caption = "SHA-256 of what each run read."
        blocks.append(Table("inputs", "Inputs of the runs", frame, caption, shown_rows=_SHOWN_HASHES, folded=True))
    if not runs:
        blocks.append(
            Note("There is no manifest: the table was given by itself, so its origin is not recorded.", "hint")
        )
    return Section("reproduction", TITLE, tuple(blocks), folded=True)


def _this_page(inputs: Inputs) -> list[Block]:
    """Versions and files of this very page, as its manifest has them."""
    made = report_manifest(inputs)
    packages = ", ".join(f"{name} {version}" for name, version in made["packages"].items())
    text = f"Made with surgeval {made['surgeval']}, Python {made['python']}, {packages}; its intervals draw nothing."
    blocks: list[Block] = [Prose(text)]
    if made["inputs"]:
        frame = pl.DataFrame(made["inputs"], schema=dict.fromkeys(("file", "sha256"), pl.String))
        caption = "SHA-256 of every file whose numbers or words are on this page, named as seen from the folder."
        title = "What this page was made from"
        blocks.append(Table("page-inputs", title, frame, caption, shown_rows=_SHOWN_HASHES, folded=True))
    return blocks


def _run(result: StoredResult) -> tuple[str, ...]:
    verb = "rank" if result.kind == "rank-tasks" else result.kind
    return (
        result.label,
        verb,
        _listed(result.options),
        _listed(result.stored.get("seeds")),
        plain(result.stored.get("surgeval", ""), limit=30),
        plain(result.stored.get("python", ""), limit=30),
    )


def _listed(value: Any) -> str:
    if not isinstance(value, dict):
        return ""
    given = {name: item for name, item in value.items() if item not in (None, [], {}, "")}
    return plain("; ".join(f"{name}={_word(item)}" for name, item in given.items()), limit=_LONGEST)


def _word(item: Any) -> str:
    return item if isinstance(item, str) else json.dumps(item, ensure_ascii=False, default=str)


def _hashes(result: StoredResult) -> list[tuple[str, str, str]]:
    listed = result.stored.get("inputs")
    if not isinstance(listed, list):
        return []
    rows = [entry for entry in listed if isinstance(entry, dict)]
    return [(result.label, plain(r.get("file", ""), limit=80), plain(r.get("sha256", ""), limit=64)) for r in rows]
