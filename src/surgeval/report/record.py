"""The record of a report: the line that makes it again, and what it was made from."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from surgeval.report.inputs import Inputs
from surgeval.report.words import plain
from surgeval.results.manifest import manifest_of, sha256_of, version_of
from surgeval.results.request import Request

_DRAWN_WITH = ("altair", "vl-convert-python", "typst")
_LONGEST = 200


def reproduction_line(inputs: Inputs) -> str:
    """The command that makes the same page of the same folder, ready for a shell.

    Example:
        >>> reproduction_line(Inputs(Path("runs/my challenge"), options={"template": "study"}))
        "surgeval report 'my challenge' --template study --out report.html"
    """
    words = ["surgeval", "report", inputs.source.resolve().name or "."]
    for name, value in inputs.options.items():
        words += [f"--{name}", _value(value)]
    return plain(shlex.join(plain(word, limit=_LONGEST) for word in [*words, "--out", "report.html"]))


def _value(value: Any) -> str:
    return ",".join(f"{ours}={theirs}" for ours, theirs in value.items()) if isinstance(value, Mapping) else str(value)


def report_manifest(inputs: Inputs) -> dict[str, Any]:
    """The manifest of a report, with the hash of every file that was read, named as seen from its folder."""
    findings = [replace(finding, message=plain(finding.message, limit=400)) for finding in inputs.findings]
    request = Request("report", {"source": inputs.source.resolve().name, **inputs.options})
    record = manifest_of(request, findings=findings)
    return {
        **record,
        "packages": record["packages"] | {name: version_of(name) for name in _DRAWN_WITH},
        "command": reproduction_line(inputs),
        "inputs": [{"file": name, "sha256": digest} for name, digest in digests(inputs)],
    }


def digests(inputs: Inputs) -> list[tuple[str, str]]:
    """Name, as seen from the folder, and SHA-256 of every file that was read; what has gone since is left out."""
    return [
        (_seen_from(inputs.source, path), _digest(path, path.stat().st_mtime_ns))
        for path in inputs.files
        if path.is_file()
    ]


@cache
def _digest(path: Path, _: int) -> str:
    return sha256_of(path)


def _seen_from(source: Path, path: Path) -> str:
    inside = path.name if path == source else path.relative_to(source).as_posix()
    return plain(inside, limit=_LONGEST)
