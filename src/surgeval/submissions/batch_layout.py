"""The official batch layout: all questions of a batch at once, as files.

`request.json`, `batch.json` and `FO_definitions.json` stand beside the media, which come as a folder, as one
archive, or as archives within an archive. Participants met all three; a container should read each.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from surgeval.asking.plan import Aliases
from surgeval.asking.shelf import place
from surgeval.errors import UnknownName
from surgeval.schema.foreign_objects import definitions_text, read_definitions
from surgeval.schema.questions import Request
from surgeval.video.batch_files import LAYOUTS as LAYOUTS
from surgeval.video.batch_files import pack_pictures, write_descriptions

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
    files = _files(requests, media, names)
    endings = {kind: path.suffix for (kind, _), path in files.items()}
    text = None if definitions is None else definitions_text(read_definitions(definitions))
    write_descriptions(rows, folder, endings=endings, definitions=text)
    if layout == "folder":
        _as_folder(folder, files)
    else:
        pack_pictures(folder, files, nested=layout == "nested-zip")
    for path in (folder, *folder.iterdir()):
        path.chmod(0o755 if path.is_dir() else 0o644)


def _files(
    requests: Sequence[Request], media: Mapping[str, Mapping[str, Path]], names: Mapping[str, str]
) -> dict[tuple[str, str], Path]:
    """Source files by kind and file name inside."""
    files: dict[tuple[str, str], Path] = {}
    for request in requests:
        for kind, path in media.get(request.case, {}).items():
            inside = "plain" if kind == "videos" else kind
            files.setdefault((inside, f"{names[request.case]}{path.suffix.lower()}"), path)
    return files


def _as_folder(folder: Path, files: Mapping[tuple[str, str], Path]) -> None:
    for (kind, name), source in files.items():
        target = folder / kind / name
        target.parent.mkdir(exist_ok=True)
        place(source, target)
