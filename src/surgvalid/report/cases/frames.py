"""Frames of cases, from images and videos, with boxes and masks of references and predictions.

They are patient images. A page never holds them: they are written into a folder of their own where somebody asks for
that, or served on this machine alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from surgvalid.errors import SurgvalidError
from surgvalid.report.cases.overlays import Overlay, OverlayImage, Overlays, overlays_of
from surgvalid.report.cases.sound_png import is_sound_png
from surgvalid.report.inputs import ReportInputs
from surgvalid.report.words import plain
from surgvalid.schema.procedures.procedure_files import read_procedure
from surgvalid.schema.procedures.tracks import Procedure, Visibility

STRIP = 4
"""Frames of a stretch of video."""
MOST_BYTES = 4_000_000
"""Of one image."""
MOST_FILES = 200_000
_VIDEOS = (".mp4", ".mov", ".avi", ".mkv")
_PICTURES = (".png", ".jpg", ".jpeg")


@dataclass(frozen=True)
class Frames:
    """Where the frame of every case lies."""

    pictures: Mapping[str, Path]
    """By case, or by the name of an image: the end of its path, as far back as it is needed to be the only one."""
    videos: Mapping[str, Path]
    """By video."""
    procedures: Mapping[str, Path]
    """By video."""
    overlays: Overlays = field(default_factory=Overlays)
    _read: dict[str, Procedure | None] = field(default_factory=dict, repr=False)

    def of(self, case: Mapping[str, Any]) -> list[dict[str, Any]]:
        """What is to be shown of a case; empty where there is nothing.

        Each frame has `at` (seconds), `b` (boxes) and `from`; where predictions were evaluated also `m` (masks), `z`
        (width and height) and `n` (the name of the image).

        Args:
            case: As `collect` makes it.
        """
        if overlays := self.overlays.of(case):
            return [self._overlaid(overlay) for overlay in overlays]
        start_s, end_s = case.get("s") or (None, None)
        if case["c"] in self.pictures:
            return [{"at": start_s, "b": self._boxes(case["v"], start_s), "from": _from(self.pictures[case["c"]])}]
        if case["v"] not in self.videos or start_s is None:
            return []
        times = [start_s] if start_s == end_s else np.linspace(float(start_s), float(end_s or start_s), STRIP).tolist()
        return [
            {"at": round(t, 1), "b": self._boxes(case["v"], t), "from": _from(self.videos[case["v"]], t)} for t in times
        ]

    def _overlaid(self, overlay: Overlay) -> dict[str, Any]:
        """An image with what is drawn over it; without the image, what is drawn alone."""
        path = self.pictures.get(overlay.image)
        return {
            "at": None,
            "b": overlay.boxes,
            "from": _from(path) if path else None,
            "m": overlay.masks,
            "z": list(overlay.size),
            "n": plain(overlay.image, limit=80),
        }

    def _boxes(self, video: str, at_s: float | None) -> list[list[Any]]:
        """Boxes of the objects in view, as shares of the frame."""
        if at_s is None or video not in self.procedures:
            return []
        if video not in self._read:
            try:
                self._read[video] = read_procedure(self.procedures[video])
            except SurgvalidError:
                self._read[video] = None
        procedure = self._read[video]
        if procedure is None:
            return []
        points = [(track.class_name, track.point_at(round(at_s))) for track in procedure.tracks]
        width, height = procedure.width_px, procedure.height_px
        return [
            [
                0,
                plain(name, limit=30),
                *(
                    round(float(side), 4)
                    for side in (p.box.x / width, p.box.y / height, p.box.width / width, p.box.height / height)
                ),
            ]
            for name, p in points
            if p is not None and p.visibility != Visibility.OUTSIDE
        ]


def frames_in(inputs: ReportInputs, images: Path | None = None) -> Frames:
    """Images named after cases, videos and annotations in the reported folder; links are not followed.

    Args:
        inputs: What is reported.
        images: Another folder with the images that predictions are about, under the names that they have there.
    """
    videos = {path.stem: path for path in _files(inputs.source) if path.suffix.lower() in _VIDEOS}
    pictures = list(inputs.frames)
    if images is not None:
        pictures += [path for path in _files(images) if path.suffix.lower() in _PICTURES]
    procedures = {path.stem: path for path in inputs.procedures}
    return Frames(by_tails(pictures), videos, procedures, overlays_of(inputs))


def by_tails(paths: Iterable[Path]) -> dict[str, Path]:
    """Every path by each end of its name without ending that no other path has: nobody sees the frame of another case.

    Example:
        >>> sorted(by_tails([Path("a/1.png"), Path("b/1.png"), Path("b/2.png")]))
        ['2', 'a/1', 'b/1', 'b/2']
    """
    named: dict[str, Path | None] = {}
    for path in paths:
        parts = PurePosixPath(path.with_suffix("").as_posix()).parts
        for start in range(len(parts)):
            tail = "/".join(parts[start:])
            named[tail] = None if tail in named and named[tail] != path else path
    return {tail: path for tail, path in named.items() if path is not None}


def _from(path: Path, at_s: float | None = None) -> OverlayImage:
    return partial(frame_bytes, path, at_s)


def _files(source: Path) -> Iterator[Path]:
    count = 0
    for folder, _, names in os.walk(source, followlinks=False):
        for name in names:
            count += 1
            path = Path(folder, name)
            if count <= MOST_FILES and not path.is_symlink():
                yield path


def frame_bytes(path: Path, at_s: float | None) -> bytes | None:
    """The frame as PNG, or as the JPEG file that it is; None where it cannot be read.

    Raises:
        ExtraNeeded: It comes from a video, and nothing is installed that reads one.
    """
    if at_s is None:
        data = path.read_bytes() if path.is_file() and path.stat().st_size <= MOST_BYTES else b""
        return data if is_jpeg(data) or is_sound_png(data) else None
    from surgvalid.video import png_bytes, sample

    try:
        shot = next(iter(sample(path, [at_s])))
    except (SurgvalidError, StopIteration):
        return None
    return png_bytes(shot.rgb())


def is_jpeg(data: bytes) -> bool:
    """Whether the bytes begin and end as a JPEG file does."""
    return data.startswith(b"\xff\xd8\xff") and data.rstrip(b"\x00").endswith(b"\xff\xd9")


def with_frames(
    cases: tuple[Mapping[str, Any], ...], frames: Frames, url: str
) -> tuple[list[dict[str, Any]], list[OverlayImage]]:
    """The cases with the addresses of their frames, and what makes each image, by number.

    Args:
        cases: As `collect` makes them.
        frames: Where frames lie.
        url: What an address begins with; a number and `.png` follow.
    """
    sources: list[OverlayImage] = []

    def address(picture: OverlayImage) -> str:
        sources.append(picture)
        return f"{url}{len(sources) - 1:05d}.png"

    listed = []
    for case in cases:
        shown = []
        for frame in frames.of(case):
            known = {name: frame[name] for name in ("at", "b", "z", "n") if frame.get(name) is not None}
            masks = [[who, address(picture)] for who, picture in frame.get("m", ())]
            base = {"u": address(frame["from"])} if frame["from"] else {}
            shown.append({**base, **known, **({"m": masks} if masks else {})})
        listed.append({**case, "f": shown} if shown else dict(case))
    return listed, sources
