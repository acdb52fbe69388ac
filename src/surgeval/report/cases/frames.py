"""Frames of cases, from pictures and videos in the reported folder, with boxes of the annotated objects.

They are patient images. A page never holds them: they are written into a folder of their own where somebody asks for
that, or served on this machine alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from surgeval.errors import SurgevalError
from surgeval.report.inputs import Inputs
from surgeval.report.sheets import is_sound_png
from surgeval.report.words import plain
from surgeval.schema.procedure_files import read_procedure
from surgeval.schema.tracks import Procedure, Visibility

STRIP = 4
"""Frames of a stretch of video."""
MOST_BYTES = 4_000_000
"""Of one picture."""
MOST_FILES = 200_000
_VIDEOS = (".mp4", ".mov", ".avi", ".mkv")


@dataclass(frozen=True)
class Frames:
    """Where the frame of every case lies."""

    pictures: Mapping[str, Path]
    """By case."""
    videos: Mapping[str, Path]
    """By video."""
    procedures: Mapping[str, Path]
    """By video."""
    _read: dict[str, Procedure | None] = field(default_factory=dict, repr=False)

    def of(self, case: Mapping[str, Any]) -> list[dict[str, Any]]:
        """What is to be shown of a case: `at` (seconds), `b` (boxes) and `from`; empty where there is nothing.

        Args:
            case: As `collect` makes it.
        """
        start_s, end_s = case.get("s") or (None, None)
        if case["c"] in self.pictures:
            return [{"at": start_s, "b": self._boxes(case["v"], start_s), "from": (self.pictures[case["c"]], None)}]
        if case["v"] not in self.videos or start_s is None:
            return []
        times = [start_s] if start_s == end_s else np.linspace(float(start_s), float(end_s or start_s), STRIP).tolist()
        return [{"at": round(t, 1), "b": self._boxes(case["v"], t), "from": (self.videos[case["v"]], t)} for t in times]

    def _boxes(self, video: str, at_s: float | None) -> list[list[Any]]:
        """Boxes of the objects in view, as shares of the frame."""
        if at_s is None or video not in self.procedures:
            return []
        if video not in self._read:
            try:
                self._read[video] = read_procedure(self.procedures[video])
            except SurgevalError:
                self._read[video] = None
        procedure = self._read[video]
        if procedure is None:
            return []
        points = [(track.class_name, track.point_at(round(at_s))) for track in procedure.tracks]
        width, height = procedure.width_px, procedure.height_px
        return [
            [0, plain(name, limit=30), *(round(float(side), 4) for side in
             (p.box.x / width, p.box.y / height, p.box.width / width, p.box.height / height))]
            for name, p in points
            if p is not None and p.visibility != Visibility.OUTSIDE
        ]  # fmt: skip


def frames_in(inputs: Inputs) -> Frames:
    """Pictures named after cases, videos and annotations in the reported folder; links are not followed."""
    videos = {path.stem: path for path in _files(inputs.source) if path.suffix.lower() in _VIDEOS}
    pictures = {path.stem: path for path in inputs.frames}
    return Frames(pictures, videos, {path.stem: path for path in inputs.procedures})


def _files(source: Path) -> Iterator[Path]:
    count = 0
    for folder, _, names in os.walk(source, followlinks=False):
        for name in names:
            count += 1
            path = Path(folder, name)
            if count <= MOST_FILES and not path.is_symlink():
                yield path


def frame_bytes(path: Path, at_s: float | None) -> bytes | None:
    """The frame as PNG; None where it cannot be read.

    Raises:
        ExtraNeeded: It comes from a video, and nothing is installed that reads one.
    """
    if at_s is None:
        data = path.read_bytes() if path.is_file() and path.stat().st_size <= MOST_BYTES else b""
        return data if is_sound_png(data) else None
    from surgeval.video import png_bytes, sample

    try:
        shot = next(iter(sample(path, [at_s])))
    except (SurgevalError, StopIteration):
        return None
    return png_bytes(shot.rgb())


def with_frames(
    cases: tuple[Mapping[str, Any], ...], frames: Frames, url: str
) -> tuple[list[dict[str, Any]], list[Any]]:
    """The cases with the addresses of their frames, and where each frame comes from, by number.

    Args:
        cases: As `collect` makes them.
        frames: Where frames lie.
        url: What an address begins with; a number and `.png` follow.
    """
    sources: list[tuple[Path, float | None]] = []
    listed = []
    for case in cases:
        shown = []
        for frame in frames.of(case):
            shown.append({"u": f"{url}{len(sources):05d}.png", "at": frame["at"], "b": frame["b"]})
            sources.append(frame["from"])
        listed.append({**case, "f": shown} if shown else dict(case))
    return listed, sources
