"""One file that holds everything a training run needs: frames, their neighbours, label maps and names.

Needs numpy and something that reads JPEG (OpenCV or PyAV), so that it can be read where surgvalid is not installed.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

NEIGHBOURS = 3
"""The frame before, the frame itself, the frame after."""


@dataclass(frozen=True, slots=True, eq=False)
class Pack:
    """Frames with their references; every array has one row per case."""

    frames: np.ndarray
    """Cases x neighbours x height x width x 3, 8-bit."""
    labels: np.ndarray
    """Cases x height x width: instance numbers, 0 is background."""
    columns: Mapping[str, np.ndarray]
    """`case`, `video`, `center`, `part`, and whatever else a case has."""

    def __len__(self) -> int:
        return len(self.labels)

    def rows(self, **wanted: Any) -> np.ndarray:
        """The rows whose columns have these values."""
        keep = np.ones(len(self), dtype=bool)
        for name, value in wanted.items():
            keep &= self.columns[name] == value
        return np.flatnonzero(keep)


def write_pack(path: Path, jpegs: Sequence[bytes], labels: np.ndarray, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write a pack; `jpegs` are the neighbours of the first case, then of the second, and so on."""
    if len(jpegs) != NEIGHBOURS * len(labels):
        raise ValueError(f"{path}: {len(jpegs)} images for {len(labels)} cases; expected {NEIGHBOURS} of each")
    stored = {f"column_{name}": np.asarray(values) for name, values in columns.items()}
    ends = np.cumsum([len(one) for one in jpegs])
    np.savez_compressed(path, jpeg=np.frombuffer(b"".join(jpegs), np.uint8), ends=ends, labels=labels, **stored)


def read_pack(path: Path, *, frames: bool = True) -> Pack:
    """A pack with all frames decoded, or without them."""
    with np.load(path) as stored:
        text, ends, labels = stored["jpeg"].tobytes(), stored["ends"], stored["labels"]
        columns = {name[7:]: stored[name] for name in stored.files if name.startswith("column_")}
    starts = np.concatenate(([0], ends[:-1]))
    shape = (NEIGHBOURS * len(labels) if frames else 0, *labels.shape[1:], 3)
    pictures = np.empty(shape, dtype=np.uint8)
    for number in range(len(pictures)):
        pictures[number] = decoded(text[starts[number] : ends[number]])
    return Pack(pictures.reshape(-1, NEIGHBOURS, *shape[1:]), labels, columns)


def decoded(jpeg: bytes) -> np.ndarray:
    """A JPEG file as height x width x 3, red first."""
    try:
        import cv2
    except ModuleNotFoundError:
        import av

        with av.open(io.BytesIO(jpeg)) as file:
            return next(file.decode(video=0)).to_ndarray(format="rgb24")
    return np.ascontiguousarray(cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)[..., ::-1])
