"""Packages as an installer leaves them, for tests of what other packages may bring."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def install(site: Path, package: str, source: str, offers: Mapping[str, Mapping[str, str]]) -> None:
    """Put a package of one module into a folder of `sys.path`, with its entry points `surgvalid.<group>`."""
    (site / f"{package}.py").write_text(source)
    facts = site / f"{package}-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    groups = [
        "\n".join([f"[surgvalid.{group}]", *(f"{name} = {home}" for name, home in names.items())])
        for group, names in offers.items()
    ]
    (facts / "entry_points.txt").write_text("\n\n".join(groups) + "\n")
