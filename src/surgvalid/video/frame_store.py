"""Stored frames whose names are their times.

A frame extractor that numbers its files by a running count, read by a loader that asks for frame numbers,
shows second 500 where second 20 was meant as soon as the stride is not 1. Here the file name *is* the
source time in milliseconds, whatever the stride, and a time that was not stored is an error, never a
neighbour.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from surgvalid.errors import FileUnreadable, Misuse, UnknownName, WouldOverwrite
from surgvalid.video._pyav import VideoSource
from surgvalid.video.images import jpeg_bytes, png_bytes
from surgvalid.video.probe import time_index
from surgvalid.video.sampling import FrameSample, sample

_NAME = re.compile(r"^t(\d{9,})ms\.(png|jpg)$")
ImageKind = Literal["png", "jpg"]


def frame_name(time_s: float, kind: ImageKind = "png") -> str:
    """The file name of the frame at a time.

    Raises:
        Misuse: The time has no whole milliseconds, or is negative.

    Example:
        >>> frame_name(20), frame_name(3600.2, "jpg")
        ('t000020000ms.png', 't003600200ms.jpg')
    """
    return f"t{_milliseconds(time_s):09d}ms.{kind}"


@dataclass(frozen=True, slots=True)
class FrameStore:
    """A folder of frames of one video."""

    folder: Path
    files: dict[int, Path]
    """File by source time in milliseconds, in order of time."""

    @classmethod
    def open(cls, folder: str | Path) -> FrameStore:
        """The store in a folder; files with other names are left alone.

        Raises:
            FileUnreadable: No such folder, no frame in it, or one time stored twice.
        """
        folder = Path(folder)
        if not folder.is_dir():
            raise FileUnreadable(str(folder), ["no such folder of frames"])
        files: dict[int, Path] = {}
        repeated = []
        for path in sorted(folder.iterdir()):
            if match := _NAME.match(path.name):
                time_ms = int(match[1])
                if time_ms in files:
                    repeated.append(f"{files[time_ms].name} and {path.name} are the same time")
                files[time_ms] = path
        if not files:
            repeated = ["holds no frame named by its time, such as t000020000ms.png"]
        if repeated:
            raise FileUnreadable(str(folder), repeated)
        return cls(folder, dict(sorted(files.items())))

    @property
    def times_s(self) -> NDArray[np.float64]:
        """The stored times."""
        return np.array(list(self.files), dtype=np.float64) / 1000

    def path_at(self, time_s: float) -> Path:
        """The file of exactly that time.

        Raises:
            Misuse: No frame of that time was stored; the message names the nearest.
        """
        time_ms = _milliseconds(time_s)
        if time_ms not in self.files:
            near = min(self.files, key=lambda stored: abs(stored - time_ms))
            raise Misuse(f"{self.folder}: no frame was stored for {time_s:g} s; the nearest is {near / 1000:g} s")
        return self.files[time_ms]

    def between(self, start_s: float, end_s: float) -> list[Path]:
        """The files from `start_s` to `end_s`, both included, in order."""
        return [path for time_ms, path in self.files.items() if start_s * 1000 <= time_ms <= end_s * 1000]


def store_frames(
    source: VideoSource,
    folder: str | Path,
    *,
    every_s: float = 1.0,
    times_s: Iterable[float] | None = None,
    kind: ImageKind = "jpg",
    max_height_px: int | None = None,
    force: bool = False,
) -> FrameStore:
    """Write frames of a video into a folder, each named by its time.

    Args:
        source: The video.
        folder: Where the frames go; created when needed.
        every_s: The stride, from 0 to the end of the video.
        times_s: These times instead of a stride.
        kind: `jpg` (small) or `png` (exact).
        max_height_px: Shrink to this height, never enlarge.
        force: Write into a folder that already holds frames, replacing those of equal time.

    Raises:
        WouldOverwrite: The folder holds frames and `force` is off.
    """
    if kind not in ("png", "jpg"):
        raise UnknownName("kind of image", kind, ["png", "jpg"])
    folder = Path(folder)
    if folder.is_dir() and any(_NAME.match(path.name) for path in folder.iterdir()) and not force:
        raise WouldOverwrite(folder)
    times = _strided_times_s(source, every_s) if times_s is None else sorted(set(times_s))
    names = [frame_name(time_s, kind) for time_s in times]
    folder.mkdir(parents=True, exist_ok=True)
    for name, shot in zip(names, sample(source, times), strict=True):
        (folder / name).write_bytes(_encoded(shot, kind, max_height_px))
    return FrameStore.open(folder)


def _strided_times_s(source: VideoSource, every_s: float) -> list[float]:
    step_ms = _milliseconds(every_s)
    if step_ms < 1:
        raise Misuse(f"the stride must be at least a millisecond, got {every_s:g} s")
    last_ms = int(time_index(source).times_s[-1] * 1000)
    return [time_ms / 1000 for time_ms in range(0, last_ms + 1, step_ms)]


def _encoded(shot: FrameSample, kind: ImageKind, max_height_px: int | None) -> bytes:
    width, height = shot.frame.width, shot.frame.height
    if max_height_px is not None and height > max_height_px:
        width, height = max(1, round(width * max_height_px / height)), max_height_px
    if kind == "png":
        return png_bytes(shot.rgb(width_px=width, height_px=height), level=3)
    return jpeg_bytes(shot.frame, width_px=width, height_px=height)


def _milliseconds(time_s: float) -> int:
    if not 0 <= time_s < 1e9 or abs(time_s * 1000 - round(time_s * 1000)) > 1e-3:
        raise Misuse(f"frames are stored by whole milliseconds from 0 on, got {time_s!r} s")
    return round(time_s * 1000)


def iterate_frames(source: VideoSource, *, every_s: float = 1.0) -> Iterator[FrameSample]:
    """The frames of a video at a stride, one at a time, without storing them."""
    yield from sample(source, _strided_times_s(source, every_s))
