"""The description of the package for an index: the README with links and images that work away from the repository.

The environment variable SURGVALID_REPOSITORY gives the web address of the repository (as forges show it, without a
final slash). Without it no address is invented: links to files become plain text and images are left out.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_PICTURE = re.compile(r"!\[([^\]]*)\]\((?!https?:)([^)]+)\)\n*")
_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:)([^)]+)\)")


class Description(MetadataHookInterface):
    """Sets `readme` of the project."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Put the description in."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        address = os.environ.get("SURGVALID_REPOSITORY", "").rstrip("/")
        described = described_at(text, address, f"v{metadata['version']}")
        metadata["readme"] = {"content-type": "text/markdown", "text": described}
        if address:
            metadata["urls"] = {"Source": address, "Changelog": f"{address}/blob/v{metadata['version']}/CHANGELOG.md"}


def described_at(text: str, address: str, tag: str) -> str:
    """The README as it reads on an index; without an address, without images and links to files."""
    if not address:
        return _LINK.sub(r"\1", _PICTURE.sub("", text))
    with_pictures = _PICTURE.sub(rf"![\1]({address}/raw/{tag}/\2)\n\n", text)
    return _LINK.sub(rf"[\1]({address}/blob/{tag}/\2)", with_pictures)
