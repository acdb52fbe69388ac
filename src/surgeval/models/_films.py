"""Videos and pictures as the long video engine looks at them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from math import isfinite
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from surgeval.errors import FileUnreadable
from surgeval.models._model import Picture
from surgeval.video import probe, sample, time_index

_MOST_READERS = 8
_LAST_FRAME_S = 0.05


class VideoFilm:
    """A file of video whose frames are read by several threads at once.

    Args:
        path: The file.
        name: Questions of one name share what was seen; by default the path.
        start_s: The time of its first frame, as questions count.
        readers: Threads; as many as there are cores, up to eight, by default.

    Raises:
        FileUnreadable: It is no video, or holds no frame.
    """

    def __init__(self, path: str | Path, *, name: str = "", start_s: float = 0.0, readers: int | None = None) -> None:
        self.path, self.name, self.start_s = Path(path), name or str(path), start_s
        facts = probe(self.path)
        length_s = facts.duration_s if isfinite(facts.duration_s) else time_index(self.path).duration_s
        if not length_s > 0:
            raise FileUnreadable(str(path), ["holds no frame"])
        self.end_s = start_s + length_s
        self.width_px, self.height_px = facts.size_px
        self._readers = readers or min(_MOST_READERS, os.cpu_count() or 1)

    def frames(self, times_s: Sequence[float], height_px: int, width_px: int) -> NDArray[np.uint8]:
        """The frames on screen at these times."""
        latest = max(0.0, self.end_s - self.start_s - _LAST_FRAME_S)
        inside = [min(max(0.0, time_s - self.start_s), latest) for time_s in times_s]
        size = -(-len(inside) // self._readers)
        pieces = [inside[at : at + size] for at in range(0, len(inside), size)]

        def read(times: list[float]) -> list[NDArray[np.uint8]]:
            return [shot.rgb(width_px=width_px, height_px=height_px) for shot in sample(self.path, times)]

        with ThreadPoolExecutor(max_workers=self._readers) as threads:
            return np.stack([frame for frames in threads.map(read, pieces) for frame in frames])


class PictureFilm:
    """Pictures in order, as if they were the frames of a film of two a second.

    Args:
        pictures: At least one.
    """

    start_s = 0.0

    def __init__(self, pictures: Sequence[Picture]) -> None:
        from PIL import Image

        self._image, self._pictures = Image, list(pictures)
        self.name = " ".join(picture.digest for picture in pictures)
        self.end_s = (len(pictures) - 1) / 2
        with Image.open(pictures[0].path) as first:
            self.width_px, self.height_px = first.size

    def frames(self, times_s: Sequence[float], height_px: int, width_px: int) -> NDArray[np.uint8]:
        """The pictures of these times, each scaled to the size."""
        share = len(self._pictures) / self.end_s if self.end_s else 0.0
        numbers = [min(int(time_s * share), len(self._pictures) - 1) for time_s in times_s]
        shown = []
        for number in numbers:
            with self._image.open(self._pictures[number].path) as picture:
                shown.append(np.asarray(picture.convert("RGB").resize((width_px, height_px))))
        return np.stack(shown)
