"""Reproduction: what to run, on which files, with which seeds and versions."""

from __future__ import annotations

import json
from typing import Any

import polars as pl

from surgeval.report.inputs import Inputs, Part
from surgeval.report.section import Block, Note, Prose, Section, Table
from surgeval.report.words import plain

TITLE = "Reproduction"
_LONGEST = 160
_SHOWN_HASHES = 200


def section(inputs: Inputs) -> Section:
    """The manifests of all parts as tables."""
    name = plain(inputs.source.name, limit=80)
    blocks: list[Block] = [Prose(f"This page: surgeval report {name} --out report.html")]
    runs = [_run(part) for part in inputs.parts]
    if runs:
        caption = (
            "Each line can be run again from the manifest.json beside the results; equal inputs give equal results."
        )
        kinds = dict.fromkeys(("part", "verb", "options", "seeds", "surgeval", "python"), pl.String)
        blocks.append(Table("runs", "Runs", pl.DataFrame(runs, schema=kinds, orient="row"), caption))
    hashes = [row for part in inputs.parts for row in _hashes(part)]
    if hashes:
        kinds = dict.fromkeys(("part", "file", "sha256"), pl.String)
        frame = pl.DataFrame(hashes, schema=kinds, orient="row")
        caption = "SHA-256 of what each run read."
        blocks.append(Table("inputs", "Inputs", frame, caption, shown_rows=_SHOWN_HASHES))
    if not runs:
        blocks.append(
            Note("There is no manifest: the table was given by itself, so its origin is not recorded.", "hint")
        )
    return Section("reproduction", TITLE, tuple(blocks), folded=True)


def _run(part: Part) -> tuple[str, ...]:
    verb = "rank" if part.verb == "rank-tasks" else part.verb
    return (
        part.name,
        verb,
        _listed(part.options),
        _listed(part.manifest.get("seeds")),
        plain(part.manifest.get("surgeval", ""), limit=30),
        plain(part.manifest.get("python", ""), limit=30),
    )


def _listed(value: Any) -> str:
    if not isinstance(value, dict):
        return ""
    given = {name: item for name, item in value.items() if item not in (None, [], {}, "")}
    return plain("; ".join(f"{name}={_word(item)}" for name, item in given.items()), limit=_LONGEST)


def _word(item: Any) -> str:
    return item if isinstance(item, str) else json.dumps(item, ensure_ascii=False, default=str)


def _hashes(part: Part) -> list[tuple[str, str, str]]:
    listed = part.manifest.get("inputs")
    if not isinstance(listed, list):
        return []
    rows = [entry for entry in listed if isinstance(entry, dict)]
    return [(part.name, plain(r.get("file", ""), limit=80), plain(r.get("sha256", ""), limit=64)) for r in rows]
