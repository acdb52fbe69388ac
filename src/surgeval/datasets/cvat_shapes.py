"""Every shape of a CVAT 1.1 file, in and out: rotation, corners, masks, skeletons and attributes included.

Procedures hold upright boxes, which is all that questions need. Where a file has more, `read_shapes` reads it and
`write_shapes` writes it, so that a corrected file goes back to CVAT as it came. Frames are those of the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

from surgeval.datasets._cvat_shapes import OUTLINES, CvatShape, runs_of_mask, shapes_of
from surgeval.datasets._cvat_text import attributes_text, escaped, xml_text
from surgeval.datasets._json import write_text
from surgeval.datasets._xml import elements
from surgeval.errors import Misuse, ProcedureInvalid
from surgeval.schema.findings import Finding, Severity


def read_shapes(path: str | Path) -> list[CvatShape]:
    """Every shape of the file with all that is said of it, rotation and masks included.

    Raises:
        FileUnreadable: Not such XML.
        ProcedureInvalid: Shapes that cannot be read; all are listed.
    """
    problems: list[str] = []
    shapes = [shape for element in elements(path, ("track", "image")) for shape in shapes_of(element, problems)]
    if problems:
        raise ProcedureInvalid(str(path), problems)
    return shapes


def write_shapes(
    shapes: Iterable[CvatShape], path: str | Path, *, video: str, width_px: int, height_px: int
) -> list[Finding]:
    """What the file does not hold of the shapes; the rest is written as CVAT 1.1, tracks first, then images.

    What was written is read back and compared, so an empty list means that nothing is lost.

    Args:
        shapes: Shapes as `read_shapes` gives them; those with a track become `<track>`, the others `<image>`.
        path: The file.
        video: Name of the task.
        width_px: Of every frame.
        height_px: Of every frame.

    Raises:
        Misuse: Frames without a size.
        ProcedureInvalid: A text that XML cannot hold, or a shape that cannot be; all are listed.
    """
    listed = list(shapes)
    if width_px < 1 or height_px < 1:
        raise Misuse(f"frames need a size, got {width_px} x {height_px}")
    if problems := [f"shape {n}: {text}" for n, one in enumerate(listed, start=1) for text in _problems(one)]:
        raise ProcedureInvalid(f"shapes of {video!r}", problems)
    write_text(path, xml_text(_lines(listed, video, width_px, height_px), f"shapes of {video!r}"))
    return _losses(listed, read_shapes(path))


def _problems(shape: CvatShape) -> Iterator[str]:
    if shape.kind in OUTLINES and len(shape.outline) != len(OUTLINES[shape.kind]):
        yield f"a {shape.kind} has {len(OUTLINES[shape.kind])} numbers, got {len(shape.outline)}"
    elif shape.kind == "mask" and (shape.mask is None or shape.mask_at is None or not shape.mask.any()):
        yield "a mask needs its place and at least one pixel"
    elif shape.kind in ("polygon", "polyline", "points") and not shape.points:
        yield f"a {shape.kind} needs points"
    elif shape.kind == "skeleton" and not any(not outside for _, _, _, outside in shape.parts):
        yield "a skeleton needs a point that is not outside"
    if shape.frame < 0 or not shape.label:
        yield f"needs a label and a frame from 0 on, got {shape.label!r} and {shape.frame}"


def _lines(shapes: Sequence[CvatShape], video: str, width_px: int, height_px: int) -> Iterator[str]:
    last = max((shape.frame for shape in shapes), default=0)
    mode = "interpolation" if any(shape.track is not None for shape in shapes) else "annotation"
    yield '<?xml version="1.0" encoding="utf-8"?>'
    yield "<annotations>"
    yield "  <version>1.1</version>"
    yield f"  <meta><task><name>{escaped(video)}</name><size>{last + 1}</size><mode>{mode}</mode>"
    yield f"    <start_frame>0</start_frame><stop_frame>{last}</stop_frame>"
    yield f"    <original_size><width>{width_px}</width><height>{height_px}</height></original_size></task></meta>"
    tracks: dict[tuple[str, str], list[CvatShape]] = {}
    images: dict[int, list[CvatShape]] = {}
    for shape in shapes:
        if shape.track is None:
            images.setdefault(shape.frame, []).append(shape)
        else:
            tracks.setdefault((shape.track, shape.label), []).append(shape)
    for (number, label), members in tracks.items():
        yield f'  <track id={quoteattr(number)} label={quoteattr(label)} source="manual">'
        yield from (_shape(shape, f'frame="{shape.frame}" keyframe="{int(shape.keyframe)}"') for shape in members)
        yield "  </track>"
    for frame, members in sorted(images.items()):
        name = quoteattr(_image_name(members[0]))
        yield f'  <image id="{frame}" name={name} width="{width_px}" height="{height_px}">'
        yield from (_shape(shape, f"label={quoteattr(shape.label)}") for shape in members)
        yield "  </image>"
    yield "</annotations>"


def _image_name(shape: CvatShape) -> str:
    return f"frame_{shape.frame:06d}" if shape.image is None else shape.image


def _shape(shape: CvatShape, where: str) -> str:
    flags = f'{where} source={quoteattr(shape.source)} occluded="{int(shape.occluded)}"'
    if shape.track is not None:
        flags += f' outside="{int(shape.outside)}"'
    if shape.group:
        flags += f" group_id={quoteattr(shape.group)}"
    if shape.rotation_deg:
        flags += f' rotation="{shape.rotation_deg!r}"'
    inner = attributes_text(shape.attributes) + "".join(map(_element, shape.parts))
    return f'    <{shape.kind} {flags} {_numbers(shape)} z_order="{shape.z_order}">{inner}</{shape.kind}>'


def _numbers(shape: CvatShape) -> str:
    if shape.kind in OUTLINES:
        pairs = zip(OUTLINES[shape.kind], shape.outline, strict=True)
        return " ".join(f'{name}="{value!r}"' for name, value in pairs)
    if shape.mask is not None and shape.mask_at is not None:
        (left, top), (height, width) = shape.mask_at, shape.mask.shape
        runs = ", ".join(map(str, runs_of_mask(shape.mask)))
        return f'rle="{runs}" left="{left}" top="{top}" width="{width}" height="{height}"'
    return "" if shape.kind == "skeleton" else f'points="{_points(shape.points)}"'


def _element(element: tuple[str, tuple[tuple[float, float], ...], bool, bool]) -> str:
    label, points, occluded, outside = element
    flags = f'occluded="{int(occluded)}" outside="{int(outside)}"'
    return f'<points label={quoteattr(label)} {flags} points="{_points(points)}"/>'


def _points(points: Iterable[tuple[float, float]]) -> str:
    return ";".join(f"{x!r},{y!r}" for x, y in points)


# --- what was lost -------------------------------------------------------------------------------


def _losses(before: Sequence[CvatShape], after: Sequence[CvatShape]) -> list[Finding]:
    gone = Counter(map(_key, before)) - Counter(map(_key, after))
    kinds = Counter(key[0] for key in gone.elements())
    return [
        Finding(f"lost-{kind}", Severity.WARNING, f"{count} shapes of kind {kind} are not in the file as they were")
        for kind, count in sorted(kinds.items())
    ]


def _key(shape: CvatShape) -> tuple[object, ...]:
    """All that is said of a shape, as something that can be compared and counted; its kind comes first."""
    fields: dict[str, object] = shape._asdict()
    fields["image"] = _image_name(shape) if shape.track is None else None
    fields["attributes"] = tuple(sorted(shape.attributes.items()))
    fields["mask"] = None if shape.mask is None else (shape.mask.shape, np.packbits(shape.mask).tobytes())
    return tuple(fields.values())
