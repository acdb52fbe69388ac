"""Layouts of files as declarations: a table per video, a mask per frame, a text file of questions per frame.

A data set says which files there are, what their names and columns mean and which values can be in them; reading,
checking and naming cases is done here. Names of files are compared in either case, since copies differ in it.

The published protocol of question sets is classification over a fixed list of answers, so `surgvalid evaluate
classification` compares them; `question_rows` turns the same rows into the files that `surgvalid score` and whoever
asks a model take.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from surgvalid.datasets._data_set import Comparison, DataTask, References, stacked
from surgvalid.datasets._folder import DataFolder, whole_number
from surgvalid.errors import Misuse

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
    strata: Callable[[str], Mapping[str, Any]] = lambda _: {}
    """What else is known of a video: its frame rate, its part of a split."""

    def read(self, folder: DataFolder) -> pl.DataFrame:
        """The rows of every file as cases."""
        files = sorted(folder.named(self.files, self.name), key=lambda one: _in_order(one[0]))
        tables = [table for name, path in files if (table := self._table(folder, name, path)) is not None]
        return stacked(tables)

    def _table(self, folder: DataFolder, name: str, path: Path) -> pl.DataFrame | None:
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
        strata = [pl.lit(value).alias(key) for key, value in self.strata(video).items()]
        case = pl.format("{}/{}", pl.lit(video), self.frame).alias("case")
        names = [pl.col(one).alias(self.renamed.get(one, one)) for one in self.values]
        return table.select(case, pl.lit(video).alias("video"), pl.col(self.frame).alias("frame"), *strata, *names)

    def _check(self, folder: DataFolder, path: Path, table: pl.DataFrame) -> None:
        for name, allowed in self.values.items():
            strange = table.filter(~pl.col(name).is_in(list(allowed)))[name].unique().sort()
            if strange.len():
                listed = ", ".join(repr(value) for value in strange.head(_SHOWN))
                folder.problem("unknown-label", path, f"column {name!r} holds {listed}; known: {_listed(allowed)}")
        frames = table[self.frame]
        if self.first is not None and frames[0] != self.first:
            folder.problem(
                "frame-base",
                path,
                f"frames start at {frames[0]}, expected {self.first} (extracted images often start at 1)",
            )
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
    image: tuple[str, str] | None = None
    """What in the place of a mask makes way for what in that of its image; a mask without one is still a reference."""
    bit_depth: int | None = None
    strata: tuple[str, ...] = ()
    """Groups that become columns."""
    spelled: Callable[[str], str] = str
    """How names are spelled in whichever case the files have them."""
    column: str = "mask_file"

    def read(self, folder: DataFolder) -> pl.DataFrame:
        """One row per mask file."""
        schema = HEAD | dict.fromkeys(self.strata, pl.String)
        if self.image is not None:
            schema |= {"image_file": pl.String}
        rows = [row for path in folder.files(self.files) if (row := self._row(folder, path)) is not None]
        return pl.DataFrame(rows, schema=schema | {self.column: pl.String}, orient="row")

    def _row(self, folder: DataFolder, path: Path) -> tuple[Any, ...] | None:
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
        images = () if self.image is None else (re.sub(*self.image, below, flags=re.IGNORECASE),)
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


_COLUMNS: dict[str, type[pl.DataType]] = {
    "image_file": pl.String,
    "question": pl.String,
    "answer": pl.String,
    "type": pl.String,
}
_MOST_PROBLEMS = 20


@dataclass(frozen=True, kw_only=True)
class QuestionFiles:
    """A text file of questions per frame."""

    files: str
    """Glob pattern below the root."""
    place: str
    """Regular expression on the path below the root, with the groups `video` and `frame`."""
    video: Callable[[str], str | None]
    """The name of the video from its group; None where the data set does not have it."""
    image: str
    """Where the image of a frame lies, from the groups; `{number}` is the frame without zeros."""
    skipped_lines: int = 0
    cells: int = 2
    """Cells of a line: question, answer and what follows."""
    kind: int | None = None
    """The cell that holds the type of the question."""
    dropped: Collection[str] = ()
    """Answers that the makers leave out."""

    def read(self, folder: DataFolder) -> pl.DataFrame:
        """One row per question; frames are named as the files name them."""
        rows: list[tuple[Any, ...]] = []
        for path in folder.files(self.files):
            match = re.fullmatch(self.place, path.relative_to(folder.root).as_posix(), re.IGNORECASE)
            video = self.video(match["video"]) if match else None
            frame = whole_number(match["frame"]) if match else None
            if match is None or frame is None:
                folder.warn("unexpected-file", path, f"not laid out as {self.files}; not read")
            elif video is None:
                folder.problem("unknown-video", path, f"{match['video']} is not one of the data set")
            else:
                image = self.image.format(**match.groupdict(), number=frame)
                rows += self._lines(folder, path, video, frame, image)
        return pl.DataFrame(rows, schema=HEAD | _COLUMNS, orient="row")

    def _lines(self, folder: DataFolder, path: Path, video: str, frame: int, image: str) -> list[tuple[Any, ...]]:
        questions = []
        lines = folder.lines(path)[self.skipped_lines :]
        if not lines:
            folder.warn("malformed", path, "no questions")
        for number, line in enumerate(lines, start=1):
            cells = [cell.strip() for cell in line.split("|")]
            if len(cells) < self.cells or not cells[0] or not cells[1]:
                if sum(one.code == "malformed" for one in folder.findings) < _MOST_PROBLEMS:
                    folder.problem("malformed", path, f"question {number}: expected question|answer, got {line[:60]!r}")
            elif cells[1] not in self.dropped:
                kind = cells[self.kind] if self.kind is not None else None
                questions.append((f"{video}/{frame}/q{number}", video, frame, image, cells[0], cells[1], kind))
        return questions

    def task(self, summary: str, clock: str, *, answers: Sequence[str] = (), **published: int) -> DataTask:
        """The task whose answers are compared as classes; where no list is known they are those that occur."""
        options = {"classes": tuple(answers)} if answers else {}
        compared = Comparison(kind="classification", label="answer", moment="case", questions=True, options=options)
        return DataTask(summary=summary, read=self.read, clock=clock, published=published, compared=compared)


def question_rows(references: References, *, capability: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Requests and references of a question set, as `surgvalid score` reads them: one row each per question.

    Args:
        references: Of a task whose rows are questions.
        capability: What the questions ask for, as `surgvalid tools list capabilities` names it; the sets do not say.

    Raises:
        Misuse: The references are no questions.
    """
    table = references.table
    if not {"question", "answer"} <= set(table.columns):
        raise Misuse(f"{references.data_set} {references.task!r} holds no questions")
    requests, answers = [], []
    for row in table.iter_rows(named=True):
        about = {"qID": row["case"], "videoID": row["video"], "procedure_type": references.data_set}
        moment = float(row["frame"])
        requests.append(about | {"start_time": moment, "end_time": moment, "question": row["question"]})
        form = {"primary": capability, "format": _form(str(row["answer"])), "format_kwargs": {}}
        answers.append({"qID": row["case"], **form, "answer": str(row["answer"])})
    return requests, answers


def _form(answer: str) -> str:
    """How an answer is compared: yes and no, numbers, and anything else as text."""
    if answer.casefold() in ("yes", "no"):
        return "binary"
    return "number" if whole_number(answer) is not None else "open_ended"
