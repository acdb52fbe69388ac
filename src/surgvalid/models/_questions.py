"""Questions of the challenge as prompts: published words, and frames of the stretch asked about with their real times.

One frame on the track `frame`, frames spread evenly over the stretch on the others, or the video file itself for models
that take it. Frames are cut once per video file, time and height, and kept; what a model said belongs to their content.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from surgvalid.asking.fingerprint import file_mark
from surgvalid.errors import FileUnreadable, InputInvalid, Misuse, UnknownName
from surgvalid.models._long_video.forms import form_of
from surgvalid.models._model import Clip, Model, Part, Prompt, PromptImage
from surgvalid.schema.documents import read_toml
from surgvalid.schema.questions.formats import FORMATS
from surgvalid.schema.questions.questions import TRACK_LIMITS_S, Request
from surgvalid.video import sample
from surgvalid.video.clips import clock_text
from surgvalid.video.images import jpeg_bytes

_FOLDER = Path(__file__).parent / "prompts"


@dataclass(frozen=True, slots=True)
class Prompts:
    """How questions are put."""

    name: str
    system: str
    tracks: Mapping[str, str]
    formats: Mapping[str, str]
    frames: Mapping[str, int]

    def words(self, track: str, request: Request) -> tuple[str, str]:
        """What is entry before and after a question of a track."""
        name, _ = form_of(request.question, request.start_s, request.end_s, ("any class",))
        return self.tracks[track], self.formats[name]


def published() -> list[str]:
    """The prompts that come with the package."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


def read_prompts(which: str | Path) -> Prompts:
    """The prompts of a published name, or of a file.

    Raises:
        UnknownName: It is neither.
        FileUnreadable: The file is no TOML.
        InputInvalid: Something is missing or too much; every problem is listed.
    """
    path = _FOLDER / f"{which}.toml"
    if not path.is_file():
        path = Path(which)
        if not path.is_file():
            raise UnknownName("prompts", str(which), published())
    content = read_toml(path)
    if problems := _problems(content):
        raise InputInvalid(str(path), problems)
    tracks = content["tracks"]
    return Prompts(
        content["name"],
        content["system"].strip(),
        {track: tracks[track]["text"].strip() for track in tracks},
        content["formats"],
        {track: tracks[track]["frames"] for track in tracks},
    )


def _problems(content: dict[str, Any]) -> list[str]:
    problems = [f"{key!r} must be a text" for key in ("name", "system") if not isinstance(content.get(key), str)]
    for table, known in (("tracks", tuple(TRACK_LIMITS_S)), ("formats", tuple(FORMATS))):
        given = content.get(table)
        names = set(given) if isinstance(given, dict) else set()
        problems += [f"[{table}] lacks {name!r}" for name in known if name not in names]
        problems += [
            f"[{table}] has {name!r}, which is none of {', '.join(known)}" for name in sorted(names - {*known})
        ]
    for track, entry in content["tracks"].items() if isinstance(content.get("tracks"), dict) else ():
        count = entry.get("frames") if isinstance(entry, dict) else None
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            problems.append(f"[tracks.{track}] must have frames, a whole number of at least 1")
        if not isinstance(entry, dict) or not isinstance(entry.get("text"), str):
            problems.append(f"[tracks.{track}] must have a text")
    formats = content.get("formats")
    if isinstance(formats, dict):
        problems += [
            f"[formats] {name!r} must be a text" for name, text in formats.items() if not isinstance(text, str)
        ]
    return problems


PROMPT = "focus-1"
"""Version of the words below; a change of them is another version."""
SYSTEM = (
    "You answer questions about videos of minimally invasive surgery. Reply with the answer alone, in the form that "
    "the question asks for, without any explanation."
)
FRAMES = {"frame": 1, "segment": 16, "procedure": 32}
"""Frames that are shown where nobody says how many."""
MEDIA = ("auto", "frames", "video")
_FILMS, _PICTURES = (".mp4", ".mkv", ".mov", ".avi", ".webm"), (".jpg", ".jpeg", ".png")
_HEIGHT_PX = 576


@dataclass(slots=True)
class QuestionMedia:
    """The video files of questions, and how they are shown.

    Args:
        folder: Video files by the name of their video, or images by the name of their question.
        track: frame, segment or procedure.
        frames: Shown for a question.
        media: frames, video, or auto: the video file for models that take a span of one, else frames.
        cut: Where frames are kept.
        spoken: Published prompts; their words and numbers of frames, where there are some.

    Raises:
        UnknownName: No such track, or no such way.
        FileUnreadable: There is no such folder.
    """

    folder: Path
    track: str
    cut: Path
    frames: int | None = None
    media: str = "auto"
    spoken: Prompts | None = None
    unready: dict[str, str] = field(default_factory=dict)
    """By question: why it cannot be shown."""
    _files: dict[str, Path] = field(default_factory=dict)
    _marks: dict[Path, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.track not in TRACK_LIMITS_S:
            raise UnknownName("track", self.track, TRACK_LIMITS_S)
        if self.media not in MEDIA:
            raise UnknownName("way to show media", self.media, MEDIA)
        if self.frames is not None and self.frames < 1:
            raise Misuse(f"frames must be at least 1, got {self.frames}")
        if not self.folder.is_dir():
            raise FileUnreadable(str(self.folder), ["is no folder of videos"])
        files = [path for path in sorted(self.folder.rglob("*")) if path.suffix.lower() in (*_FILMS, *_PICTURES)]
        self._files = {f"{path.parent.name}/{path.stem}": path for path in files}
        self._files |= {path.stem: path for path in reversed(files)}

    def check(self, requests: Sequence[Request]) -> None:
        """Refuse questions whose video file is not there, all of them at once.

        Raises:
            InputInvalid: With every video that is not there.
        """
        without = {r.video: r.case for r in requests if self._file(r) is None}
        if without:
            problems = [
                f"[{case}] there is no video file or image {video!r} (.mp4, .mkv, .png, ...)"
                for video, case in without.items()
            ]
            raise InputInvalid(str(self.folder), problems)

    def prompts(self, model: Model, requests: Sequence[Request], *, max_tokens: int, words: str) -> Iterator[Prompt]:
        """The prompts of the questions that can be shown, cut when they are taken."""
        shows_film = self.media == "video" or (self.media == "auto" and model.can.spans and self.track != "frame")
        for request in requests:
            try:
                shown = self._film(request) if shows_film else self.pictures(request)
            except (InputInvalid, Misuse, OSError) as error:
                self.unready[request.case] = str(error)
                continue
            about = f"Procedure: {request.procedure}." if request.procedure else ""
            start, end = clock_text(request.start_s), clock_text(request.end_s)
            stretch = "" if self.track == "frame" else f"The question is about {start} to {end} of the video."
            before, after = ("", "") if self.spoken is None else self.spoken.words(self.track, request)
            text = "\n".join(line for line in (words, before, about, stretch, request.question, after) if line)
            system = SYSTEM if self.spoken is None else self.spoken.system
            yield Prompt(request.case, (*shown, text), system=system, max_tokens=max_tokens)

    def _file(self, request: Request) -> Path | None:
        return self._files.get(request.case) or self._files.get(request.video)

    def _film(self, request: Request) -> tuple[Part, ...]:
        path = self._file(request)
        assert path is not None
        if path.suffix.lower() in _PICTURES:
            return (_picture(path),)
        return (Clip(path, self._mark(path), request.start_s, request.end_s),)

    def pictures(self, request: Request) -> tuple[Part, ...]:
        """The image of a question, or frames of the stretch that it is about; nothing where there is no file of it."""
        path = self._file(request)
        if path is None:
            return ()
        if path.suffix.lower() in _PICTURES:
            return (_picture(path),)
        wanted = self.frames or (FRAMES if self.spoken is None else self.spoken.frames)[self.track]
        length_s = request.end_s - request.start_s
        times = [request.start_s + (number + 0.5) * length_s / wanted for number in range(wanted)]
        times = [request.start_s] if self.track == "frame" or not length_s else times
        shown: list[Part] = []
        for picture in self._frames_of(path, times):
            shown += [picture] if self.track == "frame" else [f"Frame at {clock_text(picture.at_s or 0.0)}:", picture]
        return tuple(shown)

    def _frames_of(self, film: Path, times_s: Sequence[float]) -> Iterator[PromptImage]:
        """The frames on screen at these times, from those that were cut before or cut now."""
        folder = self.cut / self._mark(film)[:16]
        names = [f"{round(time_s * 1000):09}-{_HEIGHT_PX}.jpg" for time_s in times_s]
        missing = [time_s for name, time_s in zip(names, times_s, strict=True) if not (folder / name).is_file()]
        for shot in sample(film, missing):
            height, width = shot.frame.height, shot.frame.width
            scale = min(1.0, _HEIGHT_PX / height)
            even = [max(2, round(side * scale / 2) * 2) for side in (width, height)]
            data = jpeg_bytes(shot.frame, width_px=even[0], height_px=even[1])
            _write_whole(folder / f"{round(shot.time_s * 1000):09}-{_HEIGHT_PX}.jpg", data)
        for name, time_s in zip(names, times_s, strict=True):
            yield _picture(folder / name, time_s)

    def _mark(self, film: Path) -> str:
        if film not in self._marks:
            self._marks[film] = file_mark(film)
        return self._marks[film]


def _picture(path: Path, at_s: float | None = None) -> PromptImage:
    return PromptImage(path, hashlib.sha256(path.read_bytes()).hexdigest()[:32], at_s)


def _write_whole(path: Path, data: bytes) -> None:
    """Write a file so that nobody ever meets half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_bytes(data)
    draft.rename(path)
