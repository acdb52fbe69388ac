"""What `make_data.py` wrote, as tensors: images with their labels, questions with their targets."""

from __future__ import annotations

import gzip
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from . import words
from .asked import Vocabulary, asked_arrays
from .model import HEIGHT, MOST_FRAMES, WIDTH, Questions
from .pictures import decoded
from .words import CLASSES, COLOURS, Asked

KINDS_OF_ANSWER = (
    "binary", "number", "percentage", "time", "times", "duration", "class", "classes", "choice", "list", "matching",
    "open",
)  # fmt: skip
MOST_OBJECTS, MOST_TIMES = 20, 6


def asked_tensors(asked: list[Asked], starts: list[float], ends: list[float], vocabulary: Vocabulary) -> Questions:
    """A batch of questions."""
    arrays = asked_arrays(asked, starts, ends, vocabulary)
    return Questions(**{name: torch.from_numpy(array) for name, array in arrays.items()})


@dataclass
class Targets:
    """What the heads should say; rows as in the questions."""

    kind: Tensor
    """Number in KINDS_OF_ANSWER; -1 where no head can say the answer."""
    one: Tensor
    """(questions, 4): the index for images as they are, mirrored left-right, upside down, both."""
    many: Tensor
    """(questions, classes)."""
    share: Tensor
    seconds: Tensor
    """(questions, MOST_TIMES), since the start of the window, -1 where there is none."""


def targets_of(questions: list[dict[str, Any]], asked: list[Asked], vocabulary: Vocabulary) -> Targets:
    """The targets of questions with known answers."""
    rows = [_target(question, one, vocabulary) for question, one in zip(questions, asked, strict=True)]
    kind, one, many, share, seconds = zip(*rows, strict=True)
    return Targets(torch.tensor(kind), torch.tensor(one), torch.tensor(many), torch.tensor(share),
                   torch.tensor(seconds))  # fmt: skip


def _target(question: dict[str, Any], asked: Asked, vocabulary: Vocabulary) -> tuple[Any, ...]:
    value = words.target(asked, question["answer"], vocabulary.answers)
    kind = -1 if value is None else KINDS_OF_ANSWER.index(asked.kind)
    one, many, share, seconds = [0] * 4, [0.0] * len(CLASSES), 0.0, [-1.0] * MOST_TIMES
    window_s = max(1.0, question["end"] - question["start"])
    if isinstance(value, float):
        share = value
    elif isinstance(value, int):
        one = [_mirrored(asked, value, mirror) for mirror in range(4)]
    elif asked.kind == "classes" and value is not None:
        for index in value:
            many[index] = 1.0
    elif asked.kind == "duration" and value:
        share = min(1.0, value[0] / window_s)
    elif value:
        seconds[: len(value[:MOST_TIMES])] = [float(second - question["start"]) for second in value[:MOST_TIMES]]
    return kind, one, many, share, seconds


def _mirrored(asked: Asked, value: int, mirror: int) -> int:
    """The right index once the image is mirrored left-right (1), upside down (2) or both (3)."""
    if asked.kind == "choice":
        option = asked.options[value]
        for bit, across in ((1, True), (2, False)):
            option = words.mirrored(option, across=across) if mirror & bit else option
        return asked.options.index(option) if option in asked.options else value
    turned = any(asked.flipped[at] and mirror & bit for at, bit in enumerate((1, 2)))
    return 1 - value if asked.kind == "binary" and turned else value


@dataclass
class Store:
    """Everything of one folder."""

    pictures: Tensor
    """(images, 3, 160, 288), bytes."""
    objects: Tensor
    """(images, MOST_OBJECTS, 7): class (-1: no object), across, down, width, height, occluded, colour."""
    video_of: list[str]
    second_of: list[int]
    questions: list[dict[str, Any]]
    videos: dict[str, list[Any]]
    step_s: int
    other_look: dict[int, np.ndarray]
    """Images with another centre's camera, by the number of the image they stand for; see `other_look.py`."""

    @classmethod
    def read(cls, folder: Path, *, threads: int = 8) -> Store:
        """Read and decode a folder."""
        labels = json.loads(gzip.decompress((folder / "labels.json.gz").read_bytes()))
        data, rows = (folder / "pictures.bin").read_bytes(), labels["pictures"]
        pictures = np.empty((len(rows), 3, HEIGHT, WIDTH), np.uint8)

        def fill(at: int) -> None:
            _, _, start, length, _ = rows[at]
            pictures[at] = decoded(data[start : start + length]).transpose(2, 0, 1)

        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(fill, range(len(rows))))
        objects = np.full((len(rows), MOST_OBJECTS, 7), -1.0, np.float32)
        for at, row in enumerate(rows):
            for n, one in enumerate(row[4][:MOST_OBJECTS]):
                colour = COLOURS.index(one[6]) if one[6] in COLOURS else -1
                objects[at, n] = [*one[:6], colour]
        keys = {(row[0], row[1]): at for at, row in enumerate(rows)}
        return cls(torch.from_numpy(pictures), torch.from_numpy(objects), [r[0] for r in rows], [r[1] for r in rows],
                   labels["questions"], labels["videos"], labels["step_s"], _other_look(folder, keys))  # fmt: skip

    def chosen(self, split: str, tracks: tuple[str, ...]) -> list[dict[str, Any]]:
        """The questions of a split and some tracks."""
        return [q for q in self.questions if q["split"] == split and q["track"] in tracks]

    def frame_index(self) -> dict[tuple[str, int], int]:
        """Where the image of a second is."""
        return {key: at for at, key in enumerate(zip(self.video_of, self.second_of, strict=True))}

    def pictures_for(self, questions: list[dict[str, Any]]) -> tuple[Tensor, Tensor]:
        """Per question up to MOST_FRAMES images of its window (-1 where there is none) and their seconds in it."""
        index = self.frame_index()
        which = torch.full((len(questions), MOST_FRAMES), -1)
        when = torch.zeros(len(questions), MOST_FRAMES)
        for row, q in enumerate(questions):
            grid = range(-(-q["start"] // self.step_s) * self.step_s, q["end"] + 1, self.step_s)
            there = [second for second in grid if (q["video"], second) in index] or [
                second for second in (q["end"], q["end"] // self.step_s * self.step_s) if (q["video"], second) in index
            ]  # fmt: skip
            there = [there[round(k)] for k in np.linspace(0, len(there) - 1, min(len(there), MOST_FRAMES))]
            for n, second in enumerate(there):
                which[row, n], when[row, n] = index[q["video"], second], second - q["start"]
        return which, when


def _other_look(folder: Path, keys: dict[tuple[str, int], int]) -> dict[int, np.ndarray]:
    if not (folder / "other_look.json.gz").is_file():
        return {}
    rows = json.loads(gzip.decompress((folder / "other_look.json.gz").read_bytes()))["pictures"]
    data = (folder / "other_look.bin").read_bytes()
    return {
        keys[video, second]: decoded(data[start : start + length]).transpose(2, 0, 1)
        for video, second, start, length in rows
    }


def rows_of(batch: Any, rows: Tensor) -> Any:
    """Some rows of a dataclass of tensors."""
    return type(batch)(**{f.name: getattr(batch, f.name)[rows] for f in fields(batch)})


def moved(batch: Any, device: torch.device | str) -> Any:
    """A dataclass of tensors on a device."""
    return type(batch)(**{f.name: getattr(batch, f.name).to(device) for f in fields(batch)})
