"""The manifest: what a run read and wrote, with which versions, options and seeds, so that it can be repeated."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from surgvalid.errors import FileUnreadable
from surgvalid.results.request import VerbRequest
from surgvalid.results.request import version_of as version_of
from surgvalid.schema.documents import json_text, read_json
from surgvalid.schema.findings import Finding

MANIFEST = "manifest.json"
SCHEMA_VERSION = "2"
MOST_FINDINGS = 1000
"""Listed in a manifest; a lint report has many more, and a document of its own."""


def manifest_of(
    request: VerbRequest,
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
        "surgvalid": version_of("surgvalid"),
        "commit": commit_of(Path(__file__).parents[3]),
        "python": platform.python_version(),
        "packages": {name: version_of(name) for name in ("numpy", "scipy", "polars")},
        "verb": request.verb,
        "options": dict(request.options),
        "settled": dict(request.settled),
        "given": dict(request.given),
        "seeds": request.seeds,
        "interpreted": [one._asdict() for one in request.interpreted],
        "inputs": [
            {"parameter": name, "file": path.name, "sha256": _hash_if_readable(path)}
            for name, path in request.files
            if os.path.isfile(path)
        ],
        "prose": prose,
        "findings": [finding.as_dict() for finding in islice(findings, MOST_FINDINGS)],
        "main": main,
        "outputs": [{"file": name, "sha256": sha256_of(path)} for name, path in (outputs or {}).items()],
    }


def write_manifest(path: str | Path, manifest: Mapping[str, Any]) -> None:
    """Write the manifest as JSON."""
    Path(path).write_text(json_text(manifest, indent=2) + "\n", encoding="utf-8")


def refuse_altered(folder: Path, paths: Iterable[Path]) -> None:
    """Refuse files of a frozen folder that are not as its manifest has them; of others nothing is known.

    Raises:
        FileUnreadable: With all of them.
    """
    listed = read_json(folder / MANIFEST)["outputs"] if (folder / MANIFEST).is_file() else ()
    frozen = {folder.absolute() / one["file"]: one["sha256"] for one in listed}
    edited = [path for one in paths if (path := one.absolute()) in frozen and sha256_of(path) != frozen[path]]
    if problems := [f"{path.relative_to(folder.absolute())} is not as it was frozen" for path in edited]:
        way = f"restore what was frozen; what changes comes in by data questions --keep {folder.name} --history FILE"
        raise FileUnreadable(str(folder), [*problems, way])


def sha256_of(path: str | Path) -> str:
    """The SHA-256 of a file, read in pieces."""
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _hash_if_readable(path: Path) -> str | None:
    """The hash of a file that was read once; the result that was made from it is not lost where it is no longer."""
    try:
        return sha256_of(path)
    except OSError:
        return None


def commit_of(checkout: Path) -> str | None:
    """The commit that a folder of git stands at; None where it is no such folder, as when the package is installed."""
    git = checkout / ".git"
    try:
        if git.is_file():  # a worktree, whose commits and branches are kept by another folder
            git = checkout / git.read_text().removeprefix("gitdir:").strip()
        head = (git / "HEAD").read_text().strip()
        if not head.startswith("ref: "):
            return head
        branch, shared = head.removeprefix("ref: "), git / "commondir"
        home = git / shared.read_text().strip() if shared.is_file() else git
        if (home / branch).is_file():
            return (home / branch).read_text().strip()
        packed = [line.split(" ") for line in (home / "packed-refs").read_text().splitlines()]
        return next((line[0] for line in packed if line[1:] == [branch]), None)
    except OSError:
        return None
