"""What a system is asked and what comes back: prompt, outcome, what it can do, as plain data.

An outcome has an answer only in the status `answered`. Everything else is named, never guessed: no failure is an
answer and none is a class. `ModelTrouble` says which kind of failure it was, so that whoever counts them can tell a
server that was down (asked again by the next run) from a model that refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from surgvalid.schema.outcomes import Status


class ModelTrouble(StrEnum):
    """Why there is no answer, or none that ended."""

    REFUSAL = "refusal"
    """The model, or a filter before it, declined."""
    CUT = "cut"
    """The reply reached the token limit; it may hold an answer all the same."""
    OVERFLOW = "overflow"
    """The prompt does not fit into the model."""
    TRANSIENT = "transient"
    """Nobody answered, or not in time, or too much was asked: the next run asks again."""
    PERMANENT = "permanent"
    """Asking again would change nothing: no access, no such model, media that cannot be read."""
    BUDGET = "budget"
    """Not asked, because the money was spent."""


@dataclass(frozen=True, slots=True)
class Can:
    """What a model can do; asking for more is an error before the first request."""

    text: bool = True
    """Answers in words. Where it does not, every prompt needs labels."""
    images: bool = False
    most_frames: int | None = None
    """Of one prompt; None: as many as there are."""
    video: bool = False
    """Takes a file of video as it is."""
    spans: bool = False
    """Can be shown a part of such a file."""
    boxes: str | None = None
    """How its boxes are written (a name of `BOXES`), or None where it gives none or nobody has said how."""
    scores: bool = False
    """Gives a number for every label."""
    seeds: bool = False
    schema: bool = False
    """Can be held to a JSON schema."""


BOXES: Mapping[str, str] = {
    "yxyx-1000": "[ymin, xmin, ymax, xmax] in thousandths of height and width (Gemini)",
    "xyxy-1000": "[xmin, ymin, xmax, ymax] in thousandths of width and height (Qwen2-VL, Qwen3-VL, InternVL)",
    "loc-1024": "<locYMIN><locXMIN><locYMAX><locXMAX> in 1024ths of height and width (PaliGemma)",
    "xyxy-shown": "[xmin, ymin, xmax, ymax] in pixels of the image as the model saw it (Qwen2.5-VL)",
    "xyxy-pixels": "[xmin, ymin, xmax, ymax] in pixels of the image that was sent",
    "xyxy-unit": "[xmin, ymin, xmax, ymax] as fractions of width and height",
}
"""Conventions of boxes, by name."""


@dataclass(frozen=True, slots=True)
class PromptImage:
    """An image in its file, as it goes out."""

    path: Path
    digest: str
    """Of the content of the file; it and not the path is what an answer belongs to."""
    at_s: float | None = None
    """Its real time in its video."""


@dataclass(frozen=True, slots=True)
class Clip:
    """A video in its file, or a span of it."""

    path: Path
    digest: str
    start_s: float = 0.0
    end_s: float | None = None
    """None: to the end."""


Part = str | PromptImage | Clip


@dataclass(frozen=True, slots=True)
class Prompt:
    """One question to a model."""

    id: str
    parts: tuple[Part, ...]
    """Text, images and clips in the order in which they are shown."""
    system: str = ""
    labels: tuple[str, ...] = ()
    """What there is to choose from, for models that give a number per label and for baselines."""
    label_texts: tuple[str, ...] = ()
    """How each label is put to a model that compares images with texts; the labels themselves by default."""
    several: bool = False
    """Whether more than one label, or none, may hold at once."""
    schema: Mapping[str, Any] | None = None
    """JSON schema of the answer, for models that can be held to one."""
    wants_boxes: bool = False
    max_tokens: int = 512
    seed: int | None = None
    priors: Mapping[str, float] = field(default_factory=dict)
    """Share of each label where examples may be taken from; shown to no model, `prior` answers from it."""
    typical: str = ""
    """The likeliest answer in words where there are no labels; `prior` gives it."""

    @property
    def frames(self) -> int:
        """The number of its images."""
        return sum(isinstance(piece, PromptImage) for piece in self.parts)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one prompt."""

    status: Status
    text: str = ""
    """What the model said, as it said it."""
    scores: Mapping[str, float] | None = None
    """A number per label, larger where the model holds it for likelier; which numbers is the model's matter."""
    seconds: float = 0.0
    tokens_in: int = 0
    tokens_out: int = 0
    trouble: ModelTrouble | None = None
    reason: str = ""
    """What went wrong, in words."""
    finish: str = ""
    """Why the model stopped, in the server's words."""
    shown_px: tuple[int, int] | None = None
    """Width and height of the last image as the model saw it, where boxes are in its pixels."""
    reused: bool = False
    """From the store: nobody was asked and nothing paid."""
    model: str = ""
    """Who answered, by the server's word."""

    @property
    def answered(self) -> bool:
        """Whether there is something to read: words or scores."""
        return self.status == Status.ANSWERED

    def as_row(self) -> dict[str, Any]:
        """As plain data that `of_row` reads, without what is empty; where it came from is no part of it."""
        row = {
            "status": self.status.value,
            "text": self.text,
            "scores": None if self.scores is None else dict(self.scores),
            "seconds": round(self.seconds, 4),
            "tokens_in": self.tokens_in,
            "tokens_out": self.tokens_out,
            "trouble": None if self.trouble is None else self.trouble.value,
            "reason": self.reason,
            "finish": self.finish,
            "shown_px": self.shown_px,
            "model": self.model,
        }
        return {name: value for name, value in row.items() if value not in (None, "")}

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> Outcome:
        """The outcome in plain data.

        Raises:
            KeyError, TypeError, ValueError, IndexError, AttributeError: It holds none.
        """
        shown, scores = row.get("shown_px"), row.get("scores")
        return cls(
            Status(row["status"]),
            str(row.get("text", "")),
            None if scores is None else {str(label): float(score) for label, score in scores.items()},
            float(row.get("seconds", 0.0)),
            int(row.get("tokens_in", 0)),
            int(row.get("tokens_out", 0)),
            ModelTrouble(row["trouble"]) if "trouble" in row else None,
            str(row.get("reason", "")),
            str(row.get("finish", "")),
            None if shown is None else (int(shown[0]), int(shown[1])),
            bool(row.get("reused", False)),
            str(row.get("model", "")),
        )


class Price(NamedTuple):
    """Money per million tokens, in one currency for all models of a run."""

    per_million_in: float
    per_million_out: float

    def of(self, tokens_in: float, tokens_out: float) -> float:
        """The money for so many tokens.

        Example:
            >>> Price(2.0, 8.0).of(1_000_000, 500_000)
            6.0
        """
        return (tokens_in * self.per_million_in + tokens_out * self.per_million_out) / 1e6


FREE = Price(0.0, 0.0)
"""Of whatever runs here."""

Done = Callable[[int, Outcome], None]
"""Called with the position of a prompt and what became of it."""


class Model(Protocol):
    """A system that answers prompts, opened for one run."""

    name: str
    """Its specification, without anything secret."""
    kind: str
    revision: str
    """What identifies its weights or its program; empty where nobody says."""
    can: Can
    host: str | None
    """Where media go; None where nothing leaves this machine."""
    price: Price | None
    """None where nobody has said it."""
    parameters: Mapping[str, Any]
    """Everything else that can change an answer, as plain data."""
    stored: bool
    """Whether an answer is worth keeping; not what costs nothing to make again."""

    def ask(self, prompts: Iterable[Prompt], done: Done) -> None:
        """Ask each prompt and call `done` once for each, in any order, as its outcome comes.

        Prompts are taken as they can be asked, so a million of them are never in memory at once.
        """
        ...

    def close(self) -> None:
        """End whatever was started for it."""
        ...
