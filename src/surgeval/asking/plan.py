"""What is asked, in which order, under which names, and what shares a container.

Three things keep a program from working ahead: questions come in an order it cannot know, under names that
differ in every run, and a container ends where the state policy says so.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from surgeval.asking.messages import Question
from surgeval.errors import Misuse, UnknownName
from surgeval.schema.questions import TRACK_LIMITS_S, Request
from surgeval.stats.draws import stream

INSIDE_INPUT = "/input"
_KEPT_ENDINGS = frozenset((".mp4", ".mkv", ".mov", ".avi", ".webm", ".png", ".jpg", ".jpeg"))
_ID_BYTES = 16
_Item = TypeVar("_Item")


class State(StrEnum):
    """What a program may carry from one question to the next."""

    PER_QUESTION = "per_question"
    """Nothing: a new container for each question, all questions shuffled."""
    PER_VIDEO = "per_video"
    """What it learned about this video: a new container per video."""
    FREE = "free"
    """Everything: one container for the whole run."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The settings of a run. They are frozen when it starts and stored beside its answers."""

    track: str = "procedure"
    budget_s: float = 30.0
    state: State = State.PER_VIDEO
    seed: int = 0
    start_up_s: float = 600.0
    """From the start of a container until it reports ready; a clock of its own."""
    health_s: float = 10.0
    """For one health probe, and for the first sign of life after a deadline was missed."""
    poll_s: float = 1.0
    """Between two probes while a container starts."""
    most_restarts: int = 3
    """Restarts that were not planned, for each video."""
    most_unready: int = 1
    """Videos for which no container becomes ready before the rest is given up, where none ever was."""
    most_repeats: int = 2
    """How often a question is asked again after a failure on our side."""
    stop_s: float = 10.0
    """Between the request to end and the kill."""

    def __post_init__(self) -> None:
        if self.track not in TRACK_LIMITS_S:
            raise UnknownName("track", self.track, TRACK_LIMITS_S)
        times = {name: getattr(self, name) for name in ("budget_s", "start_up_s", "health_s", "poll_s", "stop_s")}
        for name, value in times.items():
            if not 0 < value < float("inf"):
                raise Misuse(f"{name} must be a number of seconds above 0, got {value!r}")
        if self.most_restarts < 0 or self.most_repeats < 0 or self.most_unready < 1:
            raise Misuse("most_restarts and most_repeats must not be negative, most_unready not below 1")

    @classmethod
    def of_track(cls, track: str, **changes: object) -> Rules:
        """The published rules of a track, with named changes.

        Example:
            >>> Rules.of_track("frame").budget_s
            5.0
        """
        if track not in TRACK_LIMITS_S:
            raise UnknownName("track", track, TRACK_LIMITS_S)
        settings = {"track": track, "budget_s": TRACK_LIMITS_S[track]} | changes
        return cls(**settings)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Task:
    """A question with the file that shows what it is about."""

    request: Request
    media: Path | None
    """None where there is none; the question is then not asked, and the reason recorded."""
    why_no_media: str = ""


class Aliases:
    """Names that a program sees instead of ours: the same within a run, unrelated between runs."""

    def __init__(self, key: bytes | None = None) -> None:
        self.key = key or secrets.token_bytes(32)

    def of(self, kind: str, name: str) -> str:
        """The opaque name of a case or video."""
        text = f"{kind}\x1f{name}".encode("utf-8", "surrogatepass")
        return hmac.new(self.key, text, hashlib.sha256).digest()[:_ID_BYTES].hex()

    def file_name(self, media: Path) -> str:
        """The opaque file name of a video or frame; only a usual ending is kept."""
        ending = media.suffix.lower()
        return self.of("media", str(media)) + (ending if ending in _KEPT_ENDINGS else "")

    def question(self, task: Task, rules: Rules, folder: str = INSIDE_INPUT) -> Question:
        """The question as the program inside sees it."""
        request = task.request
        return Question(
            case=self.of("case", request.case),
            video=self.of("video", request.video),
            path="" if task.media is None else f"{folder}/{self.file_name(task.media)}",
            start_s=request.start_s,
            end_s=request.end_s,
            procedure=request.procedure,
            text=request.question,
            track=rules.track,
            budget_s=rules.budget_s,
        )


def sessions_of(tasks: Iterable[Task], *, state: State, seed: int) -> list[list[Task]]:
    """The tasks in the order in which they are asked; each inner list shares one container.

    The order follows from the seed and the identifiers alone, not from the order of the file.
    """
    ordered = sorted(tasks, key=lambda task: task.request.case)
    if state is State.PER_QUESTION:
        return [[task] for task in _shuffled(ordered, seed, "questions")]
    by_video: dict[str, list[Task]] = {}
    for task in ordered:
        by_video.setdefault(task.request.video, []).append(task)
    videos = _shuffled(sorted(by_video), seed, "videos")
    groups = [_shuffled(by_video[video], seed, "questions", video) for video in videos]
    return groups if state is State.PER_VIDEO else [[task for group in groups for task in group]] if groups else []


def _shuffled(items: Sequence[_Item], seed: int, *purpose: str) -> list[_Item]:
    return [items[index] for index in stream(seed, "submissions", *purpose).permutation(len(items))]


def uses_of(sessions: Iterable[Iterable[Task]]) -> Mapping[Path, int]:
    """How many tasks need each file."""
    counts: dict[Path, int] = {}
    for task in _flat(sessions):
        if task.media is not None:
            counts[task.media] = counts.get(task.media, 0) + 1
    return counts


def _flat(sessions: Iterable[Iterable[Task]]) -> Iterator[Task]:
    for session in sessions:
        yield from session
