"""What `surgeval evaluate` must know beside the table of references to compare predictions with a task.

A data set says it where it states its tasks, so that whoever has the folder needs no conversion: which kind of
evaluation, which column holds the label, which classes are declared, how frame numbers become seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from surgeval.schema.findings import Finding


@dataclass(frozen=True)
class References:
    """References of one task, with what must be known before they are joined with anything."""

    data_set: str
    task: str
    table: pl.DataFrame
    clock: str
    rate_hz: float | None
    files: tuple[Path, ...] = ()
    """The files that were read for them."""
    findings: tuple[Finding, ...] = ()
    """What whoever uses them must be told."""


def unchanged(references: References) -> References:
    """The references as they are."""
    return references


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """How predictions are compared with the references of a task."""

    kind: str
    """Of `surgeval evaluate`."""
    label: str = ""
    """The column of the one label of a case."""
    members: Mapping[str, str] = field(default_factory=dict)
    """Column of 0 and 1 -> its class, for cases with several labels; those of `arranged` where it names them."""
    masks: str = ""
    """The column of mask files."""
    identities: Mapping[str, str] = field(default_factory=dict)
    """What an identity means -> its column, for boxes with identities."""
    boxes: str = ""
    """The column of the class of a box; a row without one is an image without boxes."""
    questions: bool = False
    """Whether rows are questions with a written answer, as `surgeval score` takes them."""
    cluster: str = "video"
    """The column of what is independent of each other, where that is not the video: a surgeon or a patient."""
    doubtful: Mapping[str, str] = field(default_factory=dict)
    """Videos that count only where they are asked for by name, and why."""
    metrics: tuple[str, ...] = ()
    """The usual ones of this task, where they are not those of the kind."""
    moment: str = "frame"
    """The column that tells cases of a video apart: `frame` or `case`."""
    fps: float | None = None
    """Frame numbers per second, where the table has no column `fps` and frames are no seconds."""
    first_frame: int = 0
    """The number of the frame at second 0."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """What the kind is told unless the caller says otherwise, such as `classes`."""
    caution: str = ""
    """What whoever reads the intervals must know."""
    arranged: Callable[[References], References] = unchanged
    """One row per moment, where the table is laid out otherwise."""


def numbered(stem: str, size: int) -> dict[str, str]:
    """Columns `stem_0`, `stem_1`, ... and the numbers that name their classes.

    Example:
        >>> numbered("verb", 2)
        {'verb_0': '0', 'verb_1': '1'}
    """
    return {f"{stem}_{place}": str(place) for place in range(size)}


def names(labels: Sequence[str]) -> dict[str, str]:
    """Columns that are named as their classes."""
    return {label: label for label in labels}
