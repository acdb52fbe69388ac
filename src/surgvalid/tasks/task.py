"""What a task instance is: data, split, sampling, media, answer, prompts, shots, metrics and published rows.

Everything a run needs stands in the TOML file of the task; nothing is decided by its name. `reading.py` makes these
objects of such a file and names every problem of it at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class TaskForm(StrEnum):
    """What an answer is."""

    CHOICE = "choice"
    """One of the classes."""
    LABELS = "labels"
    """Any number of the classes."""
    SPAN = "span"
    """A stretch of time, from start to end."""
    BOXES = "boxes"
    MASKS = "masks"
    """Outlines of the classes."""
    TEXT = "text"
    """Words, judged or compared by the rules of question sets."""


class Layout(StrEnum):
    """Where cases and references come from."""

    DATA_SET = "data set"
    CASES = "cases"
    """A folder of one's own, with `cases.csv` in it."""
    QUESTIONS = "questions"
    """Requests and references of question sets."""


@dataclass(frozen=True, kw_only=True)
class Data:
    """Which references, and which of them."""

    layout: Layout
    data_set: str = ""
    task: str = ""
    split: str = ""
    """A part, as `scheme:part`; empty where the data set states none: then all videos, or those that the user names."""
    train: str = ""
    """The part that examples may be taken from."""
    where: Mapping[str, str] = field(default_factory=dict)
    """Column -> the one value that counts."""
    rate_hz: float | None = None
    every_frames: int | None = None
    """Every n-th frame number, whatever the frame rate of a video is."""
    track: str = ""
    """Of question sets."""
    samples: int | None = None
    """Cases that the study printed."""
    unit: str = ""
    """The column of what is independent of each other, where that is not the video."""


@dataclass(frozen=True, kw_only=True)
class Media:
    """What a model is shown of a case, and where it lies below the root."""

    kind: str
    """`image` or `video`."""
    files: tuple[str, ...] = ()
    """Places of one image, tried in order: columns of the case in braces, `*` for any one folder."""
    videos: tuple[str, ...] = ()
    """Places of the video that it is cut from, in the same words."""
    only_with_files: bool = False
    """Whether a frame without a file is no case: the images that are there say which frames were chosen."""
    fps: float | None = None
    """Frame numbers per second, where the table of references does not say it."""
    first_frame: int = 0
    start: str = ""
    """The column where a clip starts; the beginning of the video if empty."""
    end: str = ""
    clock: str = "s"
    """What `start` and `end` count: `s`, or `frames`."""
    uniform: int | None = None
    """So many frames, evenly spread."""
    rate_hz: float | None = None
    """Frames per second of a clip."""
    every: int | None = None
    """Every n-th frame of a clip."""
    window_s: float | None = None
    """Seconds around the moment of the case, where it has one."""
    most_frames: int | None = None
    token_budget: int | None = None
    """Tokens that the frames of one case may take."""
    tokens_per_frame: int = 258
    max_height_px: int | None = None


@dataclass(frozen=True, kw_only=True)
class TaskAnswerForm:
    """What counts as an answer, and which column of the references it is compared with."""

    form: TaskForm
    classes: tuple[str, ...] = ()
    column: str = ""
    """Of the one label of a case, or of the class of a box."""
    columns: tuple[str, ...] = ()
    """Of 0 and 1, one per class."""
    values: tuple[str, ...] = ()
    """What the references call each class; its own name by default."""
    synonyms: Mapping[str, str] = field(default_factory=dict)
    """Other words for classes."""
    numbered_from: int | None = None
    """The number of the first class, where the prompt numbers them."""
    key: str = ""
    """The key of the one value, or of the list that holds the classes."""
    lists: bool = False
    """Whether classes are named in lists under keys rather than each with a truth value."""
    ordered: bool = False
    """Whether neighbouring classes are alike, as ratings are."""
    start: str = ""
    end: str = ""
    """Columns of a span, in seconds of the clip."""
    frames_prompted: bool = False
    """Whether numbers of frames count as times."""
    default: str = ""
    """What the study put in the place of an answer that could not be read."""
    mask_codes: tuple[int, ...] = ()
    """The value of each class in the masks."""
    same_object_suffix: bool = False
    """Whether `tool1` and `tool2` are two objects of `tool`."""
    max_tokens: int = 512


@dataclass(frozen=True, kw_only=True)
class TaskScore:
    """Metrics and the rules that they are computed under."""

    names: tuple[str, ...] = ()
    headline: str = ""
    of_scores: tuple[str, ...] = ()
    """The metrics of models that give a number per class and decide nothing; the first is the primary metric."""
    labels: str = "supported"
    """Which classes count in an average over classes."""
    published_labels: str = "supported"
    """The rule that comes nearest to the study's own."""


@dataclass(frozen=True, kw_only=True)
class TaskPublishedRow:
    """One printed row."""

    model: str
    values: Mapping[str, float]
    doubt: str = ""
    """Why the row cannot be right as printed, where something is known against it."""


@dataclass(frozen=True, kw_only=True)
class Published:
    """The rows that a study printed of this task."""

    source: str = ""
    rows: tuple[TaskPublishedRow, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class TaskInstance:
    """One task on one data set, with everything a run needs."""

    name: str
    title: str
    summary: str
    study: str = ""
    """The benchmark that it belongs to."""
    citation: str = ""
    level: str = ""
    """Of the study: what kind of understanding the task needs."""
    demands: str = ""
    """`recognition`, or `reasoning` where what is asked is not to be seen in one frame."""
    access: str = "public"
    """`public`, `form` or `private`."""
    not_public: str = ""
    """What nobody outside the study has; the task cannot be run without."""
    data: Data
    media: Media
    answer: TaskAnswerForm
    prompts: str = ""
    """The name of the file of its prompts."""
    shots: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By number of shots: the cases that the study showed."""
    scored: TaskScore
    published: Published = field(default_factory=Published)
    notes: tuple[str, ...] = ()
    file: str = ""
    """Where it was read from."""

    @property
    def runnable(self) -> bool:
        """Whether a run is possible for somebody who has the data."""
        return not self.not_public

    def as_dict(self) -> dict[str, Any]:
        """The task as plain data."""
        from dataclasses import asdict

        return asdict(self)
