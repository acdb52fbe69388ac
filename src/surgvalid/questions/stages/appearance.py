"""What a box looks like, as a vector: a colour histogram, and how alike two of them are.

The descriptor is the joint histogram of red, green and blue (`BINS` levels each) over the inner part of the box,
every pixel shared between the two nearest levels of each colour, divided by its sum. Shared pixels keep a little
more light from emptying one bin into the next; the border of a box shows what lies behind the object, so it is
left out. Likeness is `exp(-distance / SCALE)` with the Hellinger distance of the two histograms.

Any other descriptor (a network's embedding) serves as well, if it has no negative entries and sums to 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surgvalid.errors import Misuse, TableInvalid
from surgvalid.questions.stages.box_tables import SIDES, frames_of, placed_boxes
from surgvalid.video import sample

Floats = NDArray[np.float64]
BINS = 5
"""Levels per colour."""
INNER = 0.7
"""Part of the width and height of a box that is looked at."""
SCALE = 0.8
"""Hellinger distance at which likeness has fallen to 37 %."""


def colour_histogram(picture: NDArray[np.uint8], box: tuple[float, float, float, float] | Floats) -> Floats:
    """The descriptor of one box in an RGB image; flat where the box shows nothing of the image.

    Args:
        picture: Height x width x 3 (or 4) of 0 to 255.
        box: x, y, width, height in pixels.

    Raises:
        Misuse: The image has no three colours.

    Example:
        >>> red = np.zeros((8, 8, 3), np.uint8)
        >>> red[..., 0] = 255
        >>> int(colour_histogram(red, (0, 0, 8, 8)).argmax())
        100
    """
    if picture.ndim != 3 or picture.shape[2] < 3:
        raise Misuse(f"an image has height, width and three colours, got the shape {picture.shape}")
    patch = picture[_inner(box[1], box[3], picture.shape[0]), _inner(box[0], box[2], picture.shape[1]), :3]
    pixels = patch.reshape(-1, 3).astype(np.float64) * ((BINS - 1) / 255)
    if not len(pixels):
        return np.full(BINS**3, 1 / BINS**3)
    low = np.minimum(pixels.astype(np.int64), BINS - 2)
    rest = pixels - low
    total = np.zeros(BINS**3)
    for corner in np.ndindex(2, 2, 2):
        weight = np.prod(np.where(corner, rest, 1 - rest), axis=1)
        place = (low + corner) @ (BINS * BINS, BINS, 1)
        total += np.bincount(place, weight, minlength=BINS**3)
    return np.asarray(total / total.sum())


def likeness(first: Floats, second: Floats) -> Floats:
    """How alike each descriptor of one list is to each of the other, from 0 to 1.

    Example:
        >>> likeness(np.array([[1.0, 0]]), np.array([[1.0, 0], [0, 1]])).round(3).tolist()
        [[1.0, 0.287]]
    """
    shared = np.sqrt(first) @ np.sqrt(second).T
    return np.asarray(np.exp(-np.sqrt(np.clip(1 - shared, 0, 1)) / SCALE))


def checked_looks(looks: Any, boxes: int) -> Floats:
    """The descriptors as an array, one row per box, each summing to 1.

    Raises:
        TableInvalid: Another number of rows, or entries that no histogram has.
    """
    try:
        vectors = np.asarray(looks, dtype=np.float64)
    except (TypeError, ValueError):
        raise TableInvalid("appearance", ["expected a list of vectors of equal length"]) from None
    if vectors.ndim != 2 or len(vectors) != boxes:
        raise TableInvalid("appearance", [f"expected {boxes} vectors, one per box, got the shape {vectors.shape}"])
    if not np.isfinite(vectors).all() or (vectors < 0).any() or (vectors.sum(axis=1) <= 0).any():
        raise TableInvalid("appearance", ["vectors need finite entries from 0 on, not all of them 0"])
    return np.asarray(vectors / vectors.sum(axis=1, keepdims=True))


def _inner(start: float, length: float, limit: int) -> slice:
    """The pixels of the inner part of a box along one side, at least one where the box touches the image."""
    low = int(np.floor(start + length * (1 - INNER) / 2))
    high = max(int(np.ceil(start + length * (1 + INNER) / 2)), low + 1)
    return slice(min(max(low, 0), limit), min(max(high, 0), limit))


def looks_in_videos(
    table: Any, videos: Mapping[str, str | Path], *, step: Callable[[int], None] | None = None
) -> Floats:
    """The colour histogram of every box, from the frames of its video: one row per row of the table.

    Args:
        table: Boxes in pixels of the video: video, second, class_name, x, y, width, height.
        videos: The file of every video that the table names.
        step: Called with the number of frames read since the last call.

    Raises:
        TableInvalid: With every problem of the table; a video without a file is one.
    """
    frame, rows = placed_boxes(table, "boxes")
    names = frame["video"].unique(maintain_order=True).to_list()
    if missing := [name for name in names if name not in videos]:
        raise TableInvalid("boxes", [f"no file is given for the video {name!r}" for name in missing])
    vectors, boxes = np.zeros((len(rows), BINS**3)), frame.select(SIDES).to_numpy()
    for name in names:
        parts = {second: rows_of_frame for (video, second), rows_of_frame in frames_of(frame) if video == name}
        shots = sample(videos[name], [float(second) for second in parts])
        for rows_of_frame, shot in zip(parts.values(), shots, strict=True):
            picture = shot.rgb()
            for row in range(rows_of_frame.start, rows_of_frame.stop):
                vectors[rows[row]] = colour_histogram(picture, boxes[row])
            if step is not None:
                step(1)
    return vectors
