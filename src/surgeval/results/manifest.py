"""The manifest: what a run read, with which versions and seeds, so that it can be repeated."""

from __future__ import annotations

import hashlib
import platform
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from surgeval.errors import FileUnreadable
from surgeval.schema.documents import json_text, read_json

SCHEMA_VERSION = "1"
_PLAIN = re.compile(r"[a-z0-9_]+\.(csv|json|txt)")


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a run was made of. No clock time and no machine path: equal runs give equal manifests."""

    verb: str
    options: Mapping[str, Any]
    inputs: Iterable[str | Path] = ()
    seeds: Mapping[str, int] = field(default_factory=dict)
    notes: Iterable[str] = ()
    outputs: Iterable[str] = ()
    """Names of files beside the manifest that the next run into the same folder replaces or takes away."""

    def as_dict(self) -> dict[str, Any]:
        """The manifest as plain data, with the hash of every input file."""
        return {
            "schema": SCHEMA_VERSION,
            "surgeval": version_of("surgeval"),
            "python": platform.python_version(),
            "packages": {name: version_of(name) for name in ("numpy", "scipy", "polars")},
            "verb": self.verb,
            "options": dict(self.options),
            "seeds": dict(self.seeds),
            "inputs": [
                {"file": Path(path).name, "sha256": sha256_of(path)} for path in self.inputs if Path(path).is_file()
            ],
            "notes": list(self.notes),
            "outputs": list(self.outputs),
        }

    def to_dir(self, path: str | Path) -> None:
        """Write `manifest.json` into the folder."""
        self.to_file(Path(path) / "manifest.json")

    def to_file(self, path: str | Path) -> None:
        """Write the manifest as JSON."""
        Path(path).write_text(json_text(self.as_dict(), indent=2) + "\n", encoding="utf-8")


def remove_outputs(folder: Path) -> None:
    """Take away the files that the manifest in the folder lists, so that no result stands beside those of another run.

    Only plain names of tables, records and texts are followed: a manifest may come from anywhere.
    """
    try:
        listed = read_json(folder / "manifest.json")
    except FileUnreadable:
        return
    names = listed.get("outputs") if isinstance(listed, dict) else None
    for name in names if isinstance(names, list) else ():
        if isinstance(name, str) and _PLAIN.fullmatch(name) and (folder / name).is_file():
            (folder / name).unlink()


def sha256_of(path: str | Path) -> str:
    """The SHA-256 of a file, read in pieces."""
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def version_of(package: str) -> str:
    """The installed version of a package, or `unknown`."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "unknown"
