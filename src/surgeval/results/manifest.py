"""The manifest: what a run read and wrote, with which versions, options and seeds, so that it can be repeated."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from surgeval.results.request import Request
from surgeval.results.request import version_of as version_of
from surgeval.schema.documents import json_text
from surgeval.schema.findings import Finding

MANIFEST = "manifest.json"
SCHEMA_VERSION = "2"
MOST_FINDINGS = 1000
"""Listed in a manifest; a lint report has many more, and a document of its own."""


def manifest_of(
    request: Request,
    *,
    prose: str = "",
    findings: Iterable[Finding] = (),
    main: str = "",
    outputs: Mapping[str, Path] | None = None,
) -> dict[str, Any]:
    """A run as plain data, with the hash of every file read and written.

    There is no clock time, and no path but those that were given: equal runs give equal manifests.
    """
    return {
        "schema": SCHEMA_VERSION,
        "surgeval": version_of("surgeval"),
        "python": platform.python_version(),
        "packages": {name: version_of(name) for name in ("numpy", "scipy", "polars")},
        "verb": request.verb,
        "options": dict(request.options),
        "settled": dict(request.settled),
        "given": dict(request.given),
        "seeds": request.seeds,
        "inputs": [
            {"parameter": name, "file": path.name, "sha256": sha256_of(path)}
            for name, path in request.files
            if path.is_file()
        ],
        "prose": prose,
        "findings": [finding.as_dict() for finding in islice(findings, MOST_FINDINGS)],
        "main": main,
        "outputs": [{"file": name, "sha256": sha256_of(path)} for name, path in (outputs or {}).items()],
    }


def write_manifest(path: str | Path, manifest: Mapping[str, Any]) -> None:
    """Write the manifest as JSON."""
    Path(path).write_text(json_text(manifest, indent=2) + "\n", encoding="utf-8")


def sha256_of(path: str | Path) -> str:
    """The SHA-256 of a file, read in pieces."""
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
