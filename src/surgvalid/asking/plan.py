"""What is asked, in which order, under which names, and what shares a container.

Three things keep a program from working ahead: questions come in an order it cannot know, under names that
differ in every run, and a container ends where the state policy says so.

The input folder of a container (`StagedMedia`) keeps it from looking ahead as well: a video stands there only while a
question about it may run. It is staged beside the folder before the clock starts (a hard link, or a copy where that is
not possible), moved in when the clock of its first question starts, and removed after its last question.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from surgvalid.asking.messages import ProtocolQuestion
from surgvalid.errors import Misuse, UnknownName
from surgvalid.schema.questions.questions import TRACK_LIMITS_S, Request
from surgvalid.stats.draws import stream

INSIDE_INPUT = "/input"
_KEPT_ENDINGS = frozenset((".mp4", ".mkv", ".mov", ".avi", ".webm", ".png", ".jpg", ".jpeg"))
_ID_BYTES = 16
_Item = TypeVar("_Item")


class PlanState(StrEnum):
    """What a program may carry from one question to the next."""

    PER_QUESTION = "per_question"
    """Nothing: a new container for each question, all questions shuffled."""
    PER_VIDEO = "per_video"
    """What it learned about this video: a new container per video."""
    FREE = "free"
    """Everything: one container for the whole run."""


@dataclass(frozen=True, slots=True)
class AskingRules:
    """The settings of a run. They are frozen when it starts and stored beside its answers."""

    track: str = "procedure"
    budget_s: float = 30.0
    state: PlanState = PlanState.PER_VIDEO
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
    def of_track(cls, track: str, **changes: object) -> AskingRules:
        """The published rules of a track, with named changes.

        Example:
            >>> AskingRules.of_track("frame").budget_s
            5.0
        """
        if track not in TRACK_LIMITS_S:
            raise UnknownName("track", track, TRACK_LIMITS_S)
        settings = {"track": track, "budget_s": TRACK_LIMITS_S[track]} | changes
        return cls(**settings)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class AskedTask:
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

    def question(self, task: AskedTask, rules: AskingRules, folder: str = INSIDE_INPUT) -> ProtocolQuestion:
        """The question as the program inside sees it."""
        request = task.request
        return ProtocolQuestion(
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


def sessions_of(tasks: Iterable[AskedTask], *, state: PlanState, seed: int) -> list[list[AskedTask]]:
    """The tasks in the order in which they are asked; each inner list shares one container.

    The order follows from the seed and the identifiers alone, not from the order of the file.
    """
    ordered = sorted(tasks, key=lambda task: task.request.case)
    if state is PlanState.PER_QUESTION:
        return [[task] for task in _shuffled(ordered, seed, "questions")]
    by_video: dict[str, list[AskedTask]] = {}
    for task in ordered:
        by_video.setdefault(task.request.video, []).append(task)
    videos = _shuffled(sorted(by_video), seed, "videos")
    groups = [_shuffled(by_video[video], seed, "questions", video) for video in videos]
    return groups if state is PlanState.PER_VIDEO else [[task for group in groups for task in group]] if groups else []


def _shuffled(items: Sequence[_Item], seed: int, *purpose: str) -> list[_Item]:
    return [items[index] for index in stream(seed, "submissions", *purpose).permutation(len(items))]


def uses_of(sessions: Iterable[Iterable[AskedTask]]) -> Mapping[Path, int]:
    """How many tasks need each file."""
    counts: dict[Path, int] = {}
    for task in _flat(sessions):
        if task.media is not None:
            counts[task.media] = counts.get(task.media, 0) + 1
    return counts


def _flat(sessions: Iterable[Iterable[AskedTask]]) -> Iterator[AskedTask]:
    for session in sessions:
        yield from session


_READABLE_BY_ALL = 0o444


def place(source: Path, target: Path) -> None:
    """Let `target` be the file `source`, readable by everyone: a link, or a copy where that is not possible.

    Raises:
        OSError: The file cannot be read, or there is no room for a copy.
    """
    source = source.resolve(strict=True)
    if (source.stat().st_mode & _READABLE_BY_ALL) == _READABLE_BY_ALL:
        with suppress(OSError):
            os.link(source, target)
            return
    shutil.copyfile(source, target)
    target.chmod(0o644)


class StagedMedia:
    """Files on show in one folder."""

    def __init__(self, root: Path) -> None:
        self.input = root / "input"
        """What is mounted, read-only, as /input."""
        self._staged = root / "staged"
        for folder in (root, self.input, self._staged):
            folder.mkdir(parents=True, exist_ok=True)
        self.input.chmod(0o755)
        self._staged.chmod(0o700)

    def stage(self, source: Path, name: str) -> None:
        """Make `source` ready to be shown under `name`; may take as long as a copy.

        Raises:
            OSError: The file cannot be read, or there is no room for a copy.
        """
        target = self._staged / name
        if target.exists() or (self.input / name).exists():
            return
        draft = target.with_name(target.name + ".part")
        try:
            place(source, draft)
            draft.rename(target)
        finally:
            draft.unlink(missing_ok=True)

    def show(self, name: str) -> None:
        """Let the staged file appear; one rename, and nothing if it is on show already."""
        with suppress(FileNotFoundError):
            os.rename(self._staged / name, self.input / name)

    def withdraw(self) -> None:
        """Move everything on show back, until it is shown again; nothing is to be seen while a container starts."""
        for path in self.input.iterdir():
            os.rename(path, self._staged / path.name)

    def hide(self, name: str) -> None:
        """Take the file away for good."""
        for folder in (self.input, self._staged):
            (folder / name).unlink(missing_ok=True)

    def clear(self) -> None:
        """Take everything away."""
        for folder in (self.input, self._staged):
            for path in folder.iterdir():
                path.unlink()
