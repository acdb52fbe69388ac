"""The official batch layout: all questions of a batch at once, as files.

`request.json`, `batch.json` and `FO_definitions.json` stand beside the media, which come as a folder, as one
archive, or as archives within an archive. Participants met all three; a container should read each.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from surgeval.errors import UnknownName
from surgeval.schema.foreign_objects import definitions_text, read_definitions
from surgeval.schema.questions import Request
from surgeval.schema.rows import write_json_rows
from surgeval.submissions.plan import Aliases
from surgeval.submissions.shelf import place

LAYOUTS = ("folder", "zip", "nested-zip")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,120}")


def batch_names(requests: Sequence[Request], aliases: Aliases) -> dict[str, str]:
    """The identifier of each case inside: its own where all are plain file names, else opaque ones."""
    if all(_PLAIN_NAME.fullmatch(request.case) for request in requests):
        return {request.case: request.case for request in requests}
    return {request.case: aliases.of("case", request.case) for request in requests}


def write_batch(
    folder: Path,
    requests: Sequence[Request],
    media: Mapping[str, Mapping[str, Path]],
    names: Mapping[str, str],
    *,
    layout: str = "folder",
    definitions: Path | None = None,
) -> None:
    """Write a batch into an empty folder.

    Args:
        folder: What becomes /input.
        requests: The questions of the batch.
        media: By case, then by kind; `videos` are offered as `plain`.
        names: By case, the identifier inside.
        layout: One of `LAYOUTS`.
        definitions: A foreign-object definitions file; the usual classes without one.

    Raises:
        UnknownName: No such layout.
    """
    if layout not in LAYOUTS:
        raise UnknownName("layout", layout, LAYOUTS)
    folder.mkdir(parents=True, exist_ok=True)
    rows = [request.as_row() | {"qID": names[request.case]} for request in requests]
    write_json_rows(rows, folder / "request.json")
    files = _files(requests, media, names)
    shape = {kind: f"{kind}/<qID>{path.suffix}" for (kind, _), path in files.items()}
    batch = {"qIDs": [row["qID"] for row in rows], "batch_size": len(rows), "layout": shape}
    (folder / "batch.json").write_text(json.dumps(batch, indent=2), encoding="utf-8")
    text = definitions_text() if definitions is None else definitions_text(read_definitions(definitions))
    (folder / "FO_definitions.json").write_text(json.dumps(text), encoding="utf-8")
    _WRITERS[layout](folder, files)
    for path in (folder, *folder.iterdir()):
        path.chmod(0o755 if path.is_dir() else 0o644)


def _files(
    requests: Sequence[Request], media: Mapping[str, Mapping[str, Path]], names: Mapping[str, str]
) -> dict[tuple[str, str], Path]:
    """Source files by kind and file name inside."""
    found: dict[tuple[str, str], Path] = {}
    for request in requests:
        for kind, path in media.get(request.case, {}).items():
            inside = "plain" if kind == "videos" else kind
            found.setdefault((inside, f"{names[request.case]}{path.suffix.lower()}"), path)
    return found


def _as_folder(folder: Path, files: Mapping[tuple[str, str], Path]) -> None:
    for (kind, name), source in files.items():
        target = folder / kind / name
        target.parent.mkdir(exist_ok=True)
        place(source, target)


def _as_zip(folder: Path, files: Mapping[tuple[str, str], Path]) -> None:
    for archive, members in _by_archive(files).items():
        with zipfile.ZipFile(folder / archive, "w", zipfile.ZIP_STORED) as opened:
            for (kind, name), source in members.items():
                opened.write(source, f"{kind}/{name}")


def _as_nested_zip(folder: Path, files: Mapping[tuple[str, str], Path]) -> None:
    for archive, members in _by_archive(files).items():
        with zipfile.ZipFile(folder / archive, "w", zipfile.ZIP_STORED) as opened:
            for kind in sorted({kind for kind, _ in members}):
                inner = folder / f"{kind}.part"
                with zipfile.ZipFile(inner, "w", zipfile.ZIP_STORED) as nested:
                    for (member_kind, name), source in members.items():
                        if member_kind == kind:
                            nested.write(source, f"{kind}/{name}")
                opened.write(inner, f"{kind}.zip")
                inner.unlink()


def _by_archive(files: Mapping[tuple[str, str], Path]) -> dict[str, dict[tuple[str, str], Path]]:
    archives: dict[str, dict[tuple[str, str], Path]] = {}
    for key, source in files.items():
        archives.setdefault("batch-frames.zip" if key[0] == "frames" else "batch-videos.zip", {})[key] = source
    return archives


_WRITERS = {"folder": _as_folder, "zip": _as_zip, "nested-zip": _as_nested_zip}
