"""Files of CVAT with shapes of every kind, to be read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np
from numpy.typing import NDArray

from surgvalid.datasets.tools._about import write_text
from surgvalid.datasets.tools._cvat_shapes import OUTLINES, CvatShape
from surgvalid.datasets.tools._xml import attributes_text, escaped, xml_text


def write_shapes(shapes: Iterable[CvatShape], path: str | Path, *, video: str, width_px: int, height_px: int) -> None:
    """Write a file of any shapes as CVAT 1.1, tracks first, then images."""
    write_text(path, xml_text(_lines(list(shapes), video, width_px, height_px), f"shapes of {video!r}"))


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


def runs_of_mask(mask: NDArray[np.bool_]) -> list[int]:
    """Run lengths row by row that begin with background; `mask_from_runs` undoes it.

    Example:
        >>> runs_of_mask(np.array([[True, True], [False, True]]))
        [0, 2, 1, 1]
    """
    flat = np.asarray(mask, dtype=bool).reshape(-1)
    starts = np.flatnonzero(np.diff(flat, prepend=not flat[0])) if flat.size else np.empty(0, int)
    runs = np.diff(starts, append=flat.size).tolist()
    return [0, *runs] if flat.size and flat[0] else runs
