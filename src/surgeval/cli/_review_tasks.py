"""Review tasks for both annotation tools: written with the current boxes, and read back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from surgeval.cli._annotations import Boxes
from surgeval.cli._stage_files import procedures_from
from surgeval.errors import UnknownName

if TYPE_CHECKING:
    from surgeval.datasets import About

REVIEW_TOOLS = ("cvat", "label_studio")


class Reviewed(NamedTuple):
    """What came back of a review."""

    flags: pl.DataFrame
    boxes: pl.DataFrame
    """Those of `seconds`, as the reviewers left them."""
    seconds: pl.DataFrame
    """video, second: the whole video where a tool shows all of it."""
    elsewhere: int = 0
    """Boxes outside these seconds."""


def check_review_tool(name: str) -> None:
    """Refuse a tool for which no review task can be written.

    Raises:
        UnknownName: It is none.
    """
    if name not in REVIEW_TOOLS:
        raise UnknownName("review tool", name, REVIEW_TOOLS)


def write_review_task(flags: pl.DataFrame, boxes: Boxes, folder: Path, about: About, *, tool: str, fps: float) -> None:
    """Write the review task of the flags, with the current boxes in it."""
    if tool == "cvat":
        from surgeval.datasets.cvat_review import write_review

        write_review(flags, folder, boxes=boxes.table, sizes=boxes.sizes, fps=fps)
        return
    from surgeval.datasets.label_studio_review import write_review as write_tasks

    known = {one.video: one for one in boxes.procedures}
    made = procedures_from(boxes.table, about, boxes.measures)
    write_tasks([known.get(one.video, one) for one in made], folder, flags=flags)


def read_reviews(files: Sequence[Path], *, fps: float) -> Reviewed:
    """What reviewers said and changed, from exports of either tool.

    Raises:
        FileUnreadable: A file of neither.
        ProcedureInvalid: Something in it cannot be true; every problem is listed.
    """
    parts = [_studio(path) if path.suffix.lower() == ".json" else _cvat(path, fps) for path in files]
    flags = pl.concat([review.flags for review in parts], how="diagonal_relaxed")
    boxes = pl.concat([review.boxes for review in parts], how="diagonal_relaxed")
    seconds = pl.concat([review.seconds for review in parts]).unique(maintain_order=True)
    return Reviewed(flags, boxes, seconds, sum(review.elsewhere for review in parts))


def _cvat(path: Path, fps: float) -> Reviewed:
    from surgeval.datasets.cvat_review import read_corrected, read_review, seconds_under_review

    flags, corrected = read_review(path, fps=fps), read_corrected(path, fps=fps)
    return Reviewed(flags, corrected.boxes, seconds_under_review(flags), corrected.elsewhere)


def _studio(path: Path) -> Reviewed:
    from surgeval.datasets.label_studio_review import read_review
    from surgeval.questions.stages.box_tables import boxes_of

    review = read_review(path)
    boxes = pl.concat([boxes_of(one) for one in review.procedures], how="diagonal_relaxed")
    spans = [pl.DataFrame({"video": one.video, "second": range(one.duration_s)}) for one in review.procedures]
    return Reviewed(review.flags, boxes, pl.concat(spans))
