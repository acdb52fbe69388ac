"""The record of a report: the line that makes it again, what it was made from, and the section that shows both."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from surgvalid.report.cases.collect import digest
from surgvalid.report.inputs import ReportInputs
from surgvalid.report.section import Block, Note, Prose, ReportTable, Section
from surgvalid.report.words import count_of, plain
from surgvalid.results.manifest import manifest_of
from surgvalid.results.request import VerbRequest

_LONGEST = 200


def reproduction_line(inputs: ReportInputs) -> str:
    """The command that makes the same page of the same folder, ready for a shell.

    Example:
        >>> reproduction_line(ReportInputs(Path("runs/my challenge"), options={"template": "study"}))
        "surgvalid report 'my challenge' --template study --out report.html"
    """
    words = ["surgvalid", "report", inputs.source.resolve().name or "."]
    for name, value in inputs.options.items():
        words += _named(value) if name == "columns" else [f"--{name}", _value(value)]
    return plain(shlex.join(plain(word, limit=_LONGEST) for word in [*words, "--out", "report.html"]))


_ROLES = {"model": "--model-column", "video": "--unit", "unit": "--unit", "case": "--case", "value": "--score"}
"""Columns of score tables that have an option of their own."""


def _named(columns: Mapping[str, str]) -> list[str]:
    """Columns as they are named on the command line."""
    other = {ours: theirs for ours, theirs in columns.items() if ours not in _ROLES}
    roles = [word for ours, theirs in columns.items() if ours in _ROLES for word in (_ROLES[ours], theirs)]
    return [*roles, *(["--columns", _value(other)] if other else [])]


def _value(value: Any) -> str:
    return ",".join(f"{ours}={theirs}" for ours, theirs in value.items()) if isinstance(value, Mapping) else str(value)


def report_manifest(inputs: ReportInputs) -> dict[str, Any]:
    """The manifest of a report, with the hash of every file that was read, named as seen from its folder."""
    findings = [replace(finding, message=plain(finding.message, limit=400)) for finding in inputs.findings]
    read = inputs.scores.read_as.interpreted if inputs.scores is not None else ()
    request = VerbRequest("report", {"source": inputs.source.resolve().name, **inputs.options}, interpreted=read)
    record = manifest_of(request, findings=findings)
    return {
        **record,
        "command": reproduction_line(inputs),
        "inputs": [{"file": name, "sha256": digest} for name, digest in digests(inputs)],
    }


def digests(inputs: ReportInputs) -> list[tuple[str, str]]:
    """Name, as seen from the folder, and SHA-256 of every file that was read; what has gone since is left out."""
    return [
        (_seen_from(inputs.source, path), digest(path, path.stat().st_mtime_ns))
        for path in inputs.files
        if path.is_file()
    ]


def _seen_from(source: Path, path: Path) -> str:
    inside = path.name if path == source else path.relative_to(source).as_posix()
    return plain(inside, limit=_LONGEST)


TITLE = "Reproduction"


def section(inputs: ReportInputs) -> Section:
    """The line that makes the page again, and what it was made from."""
    blocks: list[Block] = [Prose(f"This page: {reproduction_line(inputs)}"), *_this_page(inputs)]
    if inputs.parts:
        text = "What runs were given and read is in the manifest.json beside each; surgvalid tools rerun repeats one."
        blocks.append(Prose(text))
    else:
        blocks.append(
            Note("There is no manifest: the table was given by itself, so its origin is not recorded.", "hint")
        )
    return Section("reproduction", TITLE, tuple(blocks), folded=True)


def _this_page(inputs: ReportInputs) -> list[Block]:
    """Versions and files of this very page, as its manifest has them."""
    made = report_manifest(inputs)
    packages = ", ".join(f"{name} {version}" for name, version in made["packages"].items())
    text = f"Made with surgvalid {made['surgvalid']}, Python {made['python']}, {packages}; its intervals draw nothing."
    blocks: list[Block] = [Prose(text)]
    if made["interpreted"]:
        lines = pl.DataFrame({"sentence": [plain(one["sentence"], limit=400) for one in made["interpreted"]]})
        blocks.append(ReportTable("readings", "How this table was read", lines, folded=True))
    if files := count_of(len(made["inputs"]), "file"):
        blocks.append(Prose(f"The SHA-256 of the {files} that it was made from are in report.manifest.json."))
    return blocks
