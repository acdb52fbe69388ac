"""Other readings of four numbers as a box: formats, mirrors, sizes of the network's input, offsets and scales.

Each has a text that `--format boxes_from=` takes, so that what a finding proposes can be done.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from surgvalid.errors import Misuse
from surgvalid.metrics.metric import Floats

SIDES = (224, 256, 320, 384, 416, 448, 512, 576, 608, 640, 672, 768, 800, 896, 960, 1024, 1280)
"""Usual sides of a network's input."""
LEAST_OFFSET_PX, BIN_PX, BIN_LOG = 20.0, 8.0, 0.02
_NEAR_ONE = 0.05
_KNOWN = "mirror:x, mirror:y, mirror:xy, swap, letterbox:SIDE, stretch:SIDE, offset:DX:DY or scale:X:Y"


_COUNTS = {"letterbox": 1, "stretch": 1, "offset": 2, "scale": 2}
"""How many numbers each takes."""


class BoxReading(NamedTuple):
    """One way in which four numbers can be a box."""

    what: str
    """What the numbers then are, to stand after 'as'."""
    option: str
    boxes: Floats


def moved_boxes(box: Floats, size: Floats, how: str) -> Floats:
    """Boxes (x, y, width, height) in the coordinates of the references' images.

    Args:
        box: As they were read.
        size: Width and height of the image of each; NaN where unknown.
        how: What was done to them, as `mirror:x` or `letterbox:640`.

    Raises:
        Misuse: Nothing that is known, or sizes that are not.
    """
    kind, _, value = how.partition(":")
    numbers = _numbers(value, _COUNTS[kind]) if kind in _COUNTS else []
    if numbers is None or (kind in ("letterbox", "stretch", "scale") and min(numbers) <= 0):
        raise Misuse(f"--format boxes_from={how}: expected {_KNOWN}")
    if kind in ("mirror", "letterbox", "stretch") and not np.isfinite(size).all():
        raise Misuse(f"--format boxes_from={how} needs the width and height of every image in the references")
    if kind == "mirror" and value in ("x", "y", "xy"):
        return _mirrored(box, size, value)
    if kind == "swap" and not value:
        return box[:, [1, 0, 3, 2]]
    if kind == "letterbox":
        ratio = numbers[0] / size.max(axis=1, keepdims=True)
        return np.hstack([(box[:, :2] - (numbers[0] - size * ratio) / 2) / ratio, box[:, 2:] / ratio])
    if kind == "stretch":
        return np.asarray(box * np.tile(size / numbers[0], 2))
    if kind == "offset":
        return np.asarray(box - np.array([*numbers, 0.0, 0.0]))
    if kind == "scale":
        return np.asarray(box * np.tile(numbers, 2))
    raise Misuse(f"--format boxes_from={how}: expected {_KNOWN}")


def _numbers(text: str, count: int) -> list[float] | None:
    """So many finite numbers between colons; None where it is anything else."""
    try:
        numbers = [float(one) for one in text.split(":")]
    except ValueError:
        return None
    return numbers if len(numbers) == count and np.isfinite(numbers).all() else None


def _mirrored(box: Floats, size: Floats, axes: str) -> Floats:
    moved = box.copy()
    for place, axis in enumerate("xy"):
        if axis in axes:
            moved[:, place] = size[:, place] - box[:, place] - box[:, place + 2]
    return moved


def readings(box: Floats, size: Floats, shift: Floats | None, scale: Floats | None) -> Iterator[BoxReading]:
    """Other readings of the detections' numbers, the simplest first.

    Args:
        box: Boxes of the predictions.
        size: Width and height of the image of each prediction; NaN where unknown.
        shift: By how far predictions typically lie off, where that is a lot.
        scale: How many times farther from the corner references typically lie, where that is not 1.
    """
    known = bool(np.isfinite(size).all() and len(size))
    for what, option, boxes in _formats(box):
        if option:
            yield BoxReading(what, f"boxes={option}", boxes)
    yield BoxReading("y, x, height and width", "boxes_from=swap", box[:, [1, 0, 3, 2]])
    if known:
        for axes, words in (("x", "left to right"), ("y", "upside down"), ("xy", "by 180 degrees")):
            how = f"mirror:{axes}"
            yield BoxReading(f"boxes of images mirrored {words}", f"boxes_from={how}", moved_boxes(box, size, how))
    if shift is not None:
        how = f"offset:{shift[0]:.0f}:{shift[1]:.0f}"
        what = f"boxes that lie {shift[0]:.0f} px right and {shift[1]:.0f} px down of where they belong"
        yield BoxReading(what, f"boxes_from={how}", moved_boxes(box, size, how))
    if known:
        for what, option, boxes in _formats(box):
            scaled = np.asarray(boxes * np.tile(size, 2))
            yield BoxReading(
                f"{what or 'x, y, width and height'} in shares of the image", f"boxes={option or 'xywh'}n", scaled
            )
        for kind, words in (("letterbox", "padded to a square of"), ("stretch", "stretched to a square of")):
            for side in SIDES:
                how = f"{kind}:{side}"
                yield BoxReading(f"boxes of images {words} {side} px", f"boxes_from={how}", moved_boxes(box, size, how))
    if scale is not None:
        how = f"scale:{scale[0]:.4g}:{scale[1]:.4g}"
        what = f"boxes of images of another size (times {scale[0]:.4g} in x and {scale[1]:.4g} in y)"
        yield BoxReading(what, f"boxes_from={how}", moved_boxes(box, size, how))


def _formats(box: Floats) -> list[tuple[str, str, Floats]]:
    start, end = box[:, :2], box[:, 2:]
    return [
        ("", "", box),
        ("two corners", "xyxy", np.hstack([start, end - start])),
        ("centre, width and height", "cxcywh", np.hstack([start - end / 2, end])),
        ("x, y, width and height (they were interpreted as corners)", "xywh", np.hstack([start, end + start])),
    ]


def typical_shift(reference: Floats, prediction: Floats) -> Floats | None:
    """The commonest difference of centres of pairs of one image and class, where it is 20 px or more."""
    shift = _commonest(centres(prediction) - centres(reference), BIN_PX)
    return shift if shift is not None and np.hypot(*shift) >= LEAST_OFFSET_PX else None


def typical_scale(reference: Floats, prediction: Floats) -> Floats | None:
    """The commonest ratio of centres of such pairs, where it is not 1."""
    sides = [centres(side) for side in (reference, prediction)]
    held = (sides[0] > 1).all(axis=1) & (sides[1] > 1).all(axis=1)
    scale = _commonest(np.log(sides[0][held]) - np.log(sides[1][held]), BIN_LOG)
    return np.exp(scale) if scale is not None and np.abs(scale).max() > _NEAR_ONE else None


def centres(box: Floats) -> Floats:
    """The middle of every box."""
    return np.asarray(box[:, :2] + box[:, 2:] / 2)


def _commonest(values: Floats, width: float) -> Floats | None:
    """The middle of the cell that most rows fall into."""
    if len(values) < 2:
        return None
    cells = np.round(values / width).astype(np.int64)
    listed, counts = np.unique(cells, axis=0, return_counts=True)
    near = np.abs(cells - listed[counts.argmax()]).max(axis=1) <= 1
    return np.asarray(np.median(values[near], axis=0))
