"""MOT: `gt/gt.txt`, with `gt/labels.txt` and `seqinfo.ini` where they exist.

A row is frame (from 1, or from 0 where there is an image of number 0), track, left, top, width, height, 1 (0 means:
ignore this row), class (from 1, a line of labels.txt), visibility from 0 to 1. Below 1 counts as occluded. Rows of ten
columns, as MOTChallenge has them, have no class: three world coordinates that are -1 where nobody measured them stand
in its place, and -1 for a confidence. The format keeps neither names of objects, attributes, events nor phases.
"""

from __future__ import annotations

import configparser
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from surgvalid.datasets.tools._about import About, Annotations, number, whole
from surgvalid.datasets.tools._draft import VideoDraft, finish
from surgvalid.errors import FileUnreadable
from surgvalid.schema.documents import read_text
from surgvalid.schema.procedures.tracks import Visibility
from surgvalid.video.images import image_size

TITLE = "MOT folder (gt/gt.txt, gt/labels.txt, seqinfo.ini) or gt.txt"
FILE_NAME = "sequence"
_ROW = re.compile(r"\s*-?\d+\s*,\s*-?\d+\s*(,\s*[-+.\deE]+\s*){4,8}$")
UNNAMED = "object"
"""What a track of a file without classes is called."""
_WORLD_COLUMNS = 10
_HALF_SEEN = 0.5
"""Stands for an occluded box of which nobody knows how much is seen."""


def recognises(path: Path, head: str) -> bool:
    """Whether a folder, or a file that begins with `head`, is one of this tool."""
    if path.is_dir():
        return (path / "gt" / "gt.txt").is_file()
    return path.suffix.lower() in (".txt", ".csv") and bool(_ROW.match(head.split("\n", 1)[0].rstrip("\r")))


def read(path: str | Path, about: About | None = None) -> Annotations:
    """The procedure in the folder or file.

    Raises:
        FileUnreadable: No such file, not text, or no MOT rows.
        ProcedureInvalid: Something in it cannot be true; every problem is listed.
    """
    path = Path(path)
    table = path / "gt" / "gt.txt" if path.is_dir() else path
    home = table.parent.parent if table.parent.name == "gt" else table.parent
    draft = VideoDraft(str(path), about or About(), video=home.resolve().name if path.is_dir() else path.stem)
    _take_sequence(draft, home / "seqinfo.ini")
    if not draft.rate_told:
        draft.take_file_rate()
    sizes = [image_size(one) for one in sorted(home.glob("img1/*"))[:1]]
    if draft.width_px is None and sizes and sizes[0]:
        draft.width_px, draft.height_px = sizes[0]
    labels = table.with_name("labels.txt")
    names = dict(enumerate(map(str.strip, read_text(labels).splitlines()), start=1)) if labels.is_file() else None
    if names is None:
        draft.note("no-labels", "no labels.txt beside the table; classes are named by their number")
    counts: Counter[str] = Counter()
    lines = read_text(table).splitlines()
    if not any(lines) and draft.duration_s is None:
        raise FileUnreadable(str(table), ["has no rows, and no seqinfo.ini tells that there are none"])
    first = 0 if any(home.glob("img1/000000.*")) else 1
    for line_number, line in enumerate(lines, start=1):
        if line.strip():
            _take_row(draft, line, line_number, names, counts, first=first)
    for what, text in _NOTES.items():
        if counts[what]:
            draft.note(what, f"{counts[what]} {text}")
    return Annotations(*finish([draft], str(path)))


_NOTES = {
    "ignored": "rows are marked as to be ignored and are not kept",
    "no-identity": "rows bear no track (-1); each is a proposed object of its own until somebody links them",
    "hidden": "boxes of visibility 0 are kept as occluded",
    "partly-seen": "boxes tell how much of them is seen; kept is only that they are occluded",
    "confidence": "rows have a confidence other than 0 and 1, which is not kept",
    "no-class": "rows have no class (ten columns of MOTChallenge); their objects are called 'object'",
    "more-columns": "rows have more than nine columns, which are not kept",
}


def _take_sequence(draft: VideoDraft, path: Path) -> None:
    if not path.is_file():
        return
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(read_text(path))
    except configparser.Error as error:
        raise FileUnreadable(str(path), [str(error).splitlines()[0]]) from None
    sequence = dict(parser["Sequence"]) if parser.has_section("Sequence") else {}
    draft.video = sequence.get("name") or draft.video
    rate, length = number(sequence.get("framerate")), whole(sequence.get("seqlength"))
    if rate is not None and rate > 0:
        draft.set_fps(rate)
    if length is not None and length > 0:
        draft.duration_s = int((length - 1) / draft.fps) + 1
    draft.width_px, draft.height_px = whole(sequence.get("imwidth")), whole(sequence.get("imheight"))


def _take_row(
    draft: VideoDraft,
    line: str,
    line_number: int,
    names: Mapping[int, str] | None,
    counts: Counter[str],
    *,
    first: int,
) -> None:
    parts = [number(cell) for cell in line.split(",")]
    values = [value for value in parts if value is not None]
    if len(values) != len(parts) or len(values) < 8:
        draft.problems.append(f"line {line_number}: expected at least 8 numbers, got {line[:60]!r}")
        return
    frame, identity, kind = whole(values[0]), whole(values[1]), whole(values[7])
    world = len(values) == _WORLD_COLUMNS and values[7:] == [-1.0] * 3
    label = UNNAMED if world else f"class {kind}" if names is None and (kind or 0) > 0 else (names or {}).get(kind or 0)
    if frame is None or frame < first:
        draft.problems.append(f"line {line_number}: frame {values[0]:g}; frames count from {first}")
    if identity is None:
        draft.problems.append(f"line {line_number}: track {values[1]:g} is no number of a track")
    if not label:
        draft.problems.append(f"line {line_number}: class {values[7]:g} is no line of labels.txt")
    if frame is None or frame < first or identity is None or not label:
        return
    if values[6] == 0:
        counts["ignored"] += 1
        return
    second = draft.second_of(frame - first)
    if second is None:
        draft.between += 1
        return
    seen = values[8] if len(values) > 8 and not world else 1.0
    counts["hidden"] += seen == 0
    counts["partly-seen"] += 0 < seen < 1 and seen != _HALF_SEEN
    counts["confidence"] += values[6] != 1 and not (world and values[6] == -1)
    counts["no-class"] += world
    counts["more-columns"] += len(values) > 9 and not world
    code = Visibility.OCCLUDED if seen < 1 else Visibility.VISIBLE
    name = f"{label} {identity}" if identity >= 0 else f"{label} of line {line_number}"
    if identity < 0:
        counts["no-identity"] += 1
        draft.proposed.append(name)
    draft.track(name, label).see(second, (values[2], values[3], values[4], values[5]), code)
