"""Layouts of files as declarations: a table per video, a mask per frame.

An adapter says which files there are, what their names and columns mean and which values can stand in them; reading,
checking and naming cases is done here. Names of files are compared in either case, since copies differ in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from surgeval.datasets._data_set import stacked
from surgeval.datasets._folder import Folder, whole_number

HEAD: dict[str, type[pl.DataType]] = {"case": pl.String, "video": pl.String, "frame": pl.Int64}
"""The columns with which every table of references begins."""
_SHOWN = 5


@dataclass(frozen=True, kw_only=True)
class VideoTables:
    """A delimited text file per video with a frame number and values in every line."""

    files: str
    """Glob pattern below the root."""
    name: str
    """Regular expression on the name of a file; its first group is the number or name of the video."""
    values: Mapping[str, Collection[Any]]
    """Column of the file -> what may stand in it: texts, or whole numbers."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Columns of the file that the table calls otherwise."""
    frame: str = "frame"
    separator: str = ","
    header: bool = False
    """Whether the first line names the columns; without it they come in order, the frame first."""
    video: Callable[[str], str | None] = str
    """The video of what the name says; None for a video that the data set does not have."""
    first: int | None = None
    """The first frame number of every file."""
    step: int | None = None
    """From one line to the next."""
    strata: Callable[[str, Path], Mapping[str, Any]] = lambda _video, _path: {}
    """What else is known of a video: its frame rate, its part of a split."""

    def read(self, folder: Folder) -> pl.DataFrame:
        """The rows of every file as cases."""
        files = sorted(folder.named(self.files, self.name), key=lambda one: _in_order(one[0]))
        tables = [table for name, path in files if (table := self._table(folder, name, path)) is not None]
        return stacked(tables)

    def _table(self, folder: Folder, name: str, path: Path) -> pl.DataFrame | None:
        video = self.video(name)
        if video is None:
            folder.problem("unknown-video", path, f"video {name} is not one of the data set")
            return None
        kinds: dict[str, type[pl.DataType]] = {self.frame: pl.Int64}
        kinds |= {one: _kind(allowed) for one, allowed in self.values.items()}
        table = folder.table(path, kinds, separator=self.separator, header=self.header)
        if table is None:
            return None
        self._check(folder, path, table)
        strata = [pl.lit(value).alias(key) for key, value in self.strata(video, path).items()]
        case = pl.format("{}/{}", pl.lit(video), self.frame).alias("case")
        names = [pl.col(one).alias(self.renamed.get(one, one)) for one in self.values]
        return table.select(case, pl.lit(video).alias("video"), pl.col(self.frame).alias("frame"), *strata, *names)

    def _check(self, folder: Folder, path: Path, table: pl.DataFrame) -> None:
        for name, allowed in self.values.items():
            strange = table.filter(~pl.col(name).is_in(list(allowed)))[name].unique().sort()
            if strange.len():
                listed = ", ".join(repr(value) for value in strange.head(_SHOWN))
                folder.problem("unknown-label", path, f"column {name!r} holds {listed}; known: {_listed(allowed)}")
        frames = table[self.frame]
        if self.first is not None and frames[0] != self.first:
            folder.problem(
                "frame-base", path,
                f"frames start at {frames[0]}, expected {self.first} (extracted images often start at 1)",
            )  # fmt: skip
        wrong = int((frames.diff().drop_nulls() != self.step).sum()) if self.step else 0
        if wrong:
            message = f"{wrong} of {frames.len() - 1} steps between frames are not {self.step}"
            folder.problem("frame-step", path, message)


def _kind(allowed: Collection[Any]) -> type[pl.DataType]:
    return pl.String if isinstance(next(iter(allowed)), str) else pl.Int64


def _listed(allowed: Collection[Any]) -> str:
    return f"{allowed[0]} to {allowed[-1]}" if isinstance(allowed, range) else ", ".join(map(str, allowed))


def _in_order(name: str) -> tuple[str, int]:
    digits = re.search(r"\d{1,9}$", name)
    return (name[: digits.start()], int(digits[0])) if digits else (name, 0)


@dataclass(frozen=True, kw_only=True)
class MaskFiles:
    """A PNG file with a mask per case, whose place says video, frame and strata."""

    files: str
    """Glob pattern below the root."""
    place: str
    """Regular expression on the path below the root, with the groups `video` and `frame` and any strata."""
    video: str = "{video}"
    """How the video is called, from the groups."""
    case: str = "{video}/{frame}"
    """How a case is called, from the groups; `frame` without leading zeros."""
    image: Callable[[Path], Path] | None = None
    """Where the image of a mask lies; a mask without its image is still a reference."""
    bit_depth: int | None = None
    strata: tuple[str, ...] = ()
    """Groups that become columns."""
    spelled: Callable[[str], str] = str
    """How names are spelled in whichever case the files have them."""
    column: str = "mask_file"

    def read(self, folder: Folder) -> pl.DataFrame:
        """One row per mask file."""
        schema = HEAD | dict.fromkeys(self.strata, pl.String)
        if self.image is not None:
            schema |= {"image_file": pl.String}
        rows = [row for path in folder.files(self.files) if (row := self._row(folder, path)) is not None]
        return pl.DataFrame(rows, schema=schema | {self.column: pl.String}, orient="row")

    def _row(self, folder: Folder, path: Path) -> tuple[Any, ...] | None:
        below = path.relative_to(folder.root).as_posix()
        match = re.fullmatch(self.place, below, re.IGNORECASE)
        if match is None:
            folder.warn("unexpected-file", path, f"not laid out as {self.files}; not read")
            return None
        header = folder.png(path)
        if header is None:
            return None
        if self.bit_depth is not None and header.bit_depth != self.bit_depth:
            folder.problem("malformed", path, f"{header.bit_depth} bits per sample, expected {self.bit_depth}")
        groups = {group: self.spelled(text) for group, text in match.groupdict().items()}
        frame = whole_number(groups["frame"])
        if frame is None:
            folder.problem("malformed", path, f"{groups['frame'][:20]!r} is no frame number")
            return None
        video = self.video.format(**groups)
        case = self.case.format(**groups | {"frame": frame, "video": video})
        images = () if self.image is None else (self.image(path).relative_to(folder.root).as_posix(),)
        return (case, video, frame, *(groups[one] for one in self.strata), *images, below)


def number_of_video(form: str, known: Collection[int]) -> Callable[[str], str | None]:
    """Names of videos from their numbers, in any spelling; None for numbers that the data set does not have.

    Example:
        >>> named = number_of_video("video{:02}", range(1, 81))
        >>> named("7"), named("Video007"), named("video81")
        ('video07', 'video07', None)
    """

    def named(text: str) -> str | None:
        digits = re.search(r"\d{1,9}$", text)
        return form.format(int(digits[0])) if digits and int(digits[0]) in known else None

    return named
