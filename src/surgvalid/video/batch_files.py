"""The files of one batch, whoever writes them: descriptions beside the images, and archives to put images into."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal

from surgvalid.schema.procedures.foreign_objects import definitions_text
from surgvalid.schema.rows import write_json_rows

Layout = Literal["folder", "zip", "nested-zip"]
LAYOUTS: tuple[Layout, ...] = ("folder", "zip", "nested-zip")
DESCRIPTIONS = ("request.json", "batch.json", "FO_definitions.json")
Pictures = Mapping[tuple[str, str], Path]
"""Files by their kind (`frames`, `plain`, `overlayed`) and their name below it."""


def archive_name(kind: str) -> str:
    """The name of the archive that holds the images of a kind in the zip layouts."""
    return "batch-frames.zip" if kind == "frames" else "batch-videos.zip"


def write_descriptions(
    rows: Iterable[Mapping[str, Any]], folder: Path, *, endings: Mapping[str, str], definitions: str | None = None
) -> None:
    """Write `request.json`, `batch.json` and `FO_definitions.json`.

    Args:
        rows: The questions, as official rows.
        folder: Where to.
        endings: By kind of image, the ending of its files, with its dot.
        definitions: Text of the class definitions; the ten classes by default.
    """
    asked = [dict(row) for row in rows]
    write_json_rows(asked, folder / "request.json")
    shape = {kind: f"{kind}/<qID>{ending}" for kind, ending in endings.items()}
    batch = {"qIDs": [row["qID"] for row in asked], "batch_size": len(asked), "layout": shape}
    (folder / "batch.json").write_text(json.dumps(batch, indent=2, ensure_ascii=False), encoding="utf-8")
    text = definitions_text() if definitions is None else definitions
    (folder / "FO_definitions.json").write_text(json.dumps(text, ensure_ascii=False), encoding="utf-8")


def pack_images(folder: Path, files: Pictures, *, nested: bool) -> None:
    """Archive images into `folder`; they are compressed already, so they are only stored.

    With `nested`, the archive holds one archive per kind.
    """
    for name in sorted({archive_name(kind) for kind, _ in files}):
        members = {key: path for key, path in files.items() if archive_name(key[0]) == name}
        with _stored(folder / name) as outer:
            for kind in dict.fromkeys(kind for kind, _ in members):
                pictures = {f"{kind}/{below}": path for (of, below), path in members.items() if of == kind}
                if nested:
                    with outer.open(f"{kind}.zip", "w", force_zip64=True) as member, _stored(member) as inner:
                        _fill(inner, pictures)
                else:
                    _fill(outer, pictures)


def _fill(archive: zipfile.ZipFile, members: Mapping[str, Path]) -> None:
    for name, path in members.items():
        archive.write(path, name)


@contextmanager
def _stored(target: Path | IO[bytes]) -> Iterator[zipfile.ZipFile]:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        yield archive
