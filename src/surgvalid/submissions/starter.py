"""The starter pack: a folder that becomes a container which answers questions."""

from __future__ import annotations

import json
import struct
import zlib
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from surgvalid.errors import UnknownName, WouldOverwrite
from surgvalid.schema.questions.questions import Reference, Request
from surgvalid.schema.questions.taxonomy import Capability

KINDS = ("python", "pytorch")
_ENDING = ".template"


def new_pack(folder: str | Path, *, kind: str = "python", force: bool = False) -> list[Path]:
    """The files of a new starter pack.

    Args:
        folder: Made if need be.
        kind: `python` (standard library only) or `pytorch`.
        force: Overwrite files of the same names.

    Raises:
        UnknownName: No such kind.
        WouldOverwrite: A file of the pack exists already; nothing was written.
    """
    if kind not in KINDS:
        raise UnknownName("kind of pack", kind, KINDS)
    target = Path(folder)
    contents = _contents(kind)
    if not force:
        for name in contents:
            if (target / name).exists():
                raise WouldOverwrite(target / name)
    for name, data in contents.items():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(0o755 if path.suffix == ".sh" else 0o644)
    return [target / name for name in contents]


def _contents(kind: str) -> dict[str, bytes]:
    room = files("surgvalid.submissions")
    templates: list[Traversable] = []
    for place in (room / "starter_pack", room / "starter_pack" / kind):
        templates += [entry for entry in place.iterdir() if entry.name.endswith(_ENDING)]
    contents = {entry.name.removesuffix(_ENDING): entry.read_bytes() for entry in templates}
    contents["serve.py"] = (room / "serve.py").read_bytes()
    return dict(sorted(contents.items())) | {f"example_input/{name}": data for name, data in _example().items()}


_EXAMPLES = (
    ("example-1", "1a", "binary", "Is a sponge visible? Answer with yes or no.", "yes", (200, 40, 40)),
    ("example-2", "3a", "number", "How many clips are visible? Answer with a number.", "0", (40, 200, 40)),
    ("example-3", "1a", "fo_class", "Which foreign objects are visible? Answer with class names.", "Sponge", (9, 9, 9)),
)


def _example() -> dict[str, bytes]:
    """Three questions about plain-coloured frames, with references."""
    requests, references, files = [], [], {}
    for number, (case, code, answer_format, text, reference, colour) in enumerate(_EXAMPLES, start=1):
        requests.append(Request(case, f"video-{number}", 10.0, 10.0, "cholecystectomy", text).as_row())
        references.append(Reference(case, Capability.read(code), answer_format, reference).as_row())
        files[f"frames/{case}.png"] = plain_png(64, 48, colour)
    files["request.json"] = json.dumps(requests, indent=2).encode()
    files["references.json"] = json.dumps(references, indent=2).encode()
    return files


def plain_png(width_px: int, height_px: int, colour: tuple[int, int, int]) -> bytes:
    """A PNG image of one colour."""
    row = b"\0" + bytes(colour) * width_px
    header = struct.pack(">IIBBBBB", width_px, height_px, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(row * height_px)), (b"IEND", b""))
    packed = [struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in chunks]
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)
