"""Question sets: text files with `question|answer` lines beside frames, read into one row per question.

Their published protocol is classification over a fixed list of answers, so `surgeval evaluate classification` compares
them; `question_rows` turns the same rows into the files that `surgeval score` and whoever asks a model take.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from surgeval.datasets._comparison import Comparison, References
from surgeval.datasets._data_set import Task
from surgeval.datasets._folder import Folder, whole_number
from surgeval.datasets._layouts import HEAD
from surgeval.errors import Misuse

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

    def read(self, folder: Folder) -> pl.DataFrame:
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

    def _lines(self, folder: Folder, path: Path, video: str, frame: int, image: str) -> list[tuple[Any, ...]]:
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

    def task(self, summary: str, clock: str, *, answers: Sequence[str] = (), **published: int) -> Task:
        """The task whose answers are compared as classes; where no list is known they are those that occur."""
        options = {"classes": tuple(answers)} if answers else {}
        compared = Comparison(kind="classification", label="answer", moment="case", questions=True, options=options)
        return Task(summary=summary, read=self.read, clock=clock, published=published, compared=compared)


def question_rows(references: References, *, capability: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Requests and references of a question set, as `surgeval score` reads them: one row each per question.

    Args:
        references: Of a task whose rows are questions.
        capability: What the questions ask for, as `surgeval list capabilities` names it; the sets do not say.

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
