"""Media plans: which moments of a case a model is shown, at which real times, hashed, and shared by all models.

A plan gives times in seconds of the video; frames are cut at exactly these times (`surgvalid.video`), once, into a
store that every model and run reads. What a model is told about a frame is when it was shown, never what it should
have been.

Files lie below a root at places with columns in braces, and `*` for any one folder.
"""

from __future__ import annotations

import hashlib
import os
import re
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from surgvalid.errors import FileUnreadable, InputInvalid, Misuse
from surgvalid.models import Clip, PromptImage
from surgvalid.tasks.task import Media, TaskInstance
from surgvalid.video.images import image_size

_DIGITS = re.compile(r"\d+")
_IMAGES = (".png", ".jpg", ".jpeg")
_FORMATTER = string.Formatter()


class Places:
    """Finds files of cases; folders that `*` stands for are listed once."""

    def __init__(self, root: Path, templates: Sequence[str]) -> None:
        self.root, self.templates = root, tuple(templates)
        self._bases = [list(_bases(root, template)) for template in templates]

    def file(self, case: Mapping[str, Any]) -> Path | None:
        """The first file of a case that is there; None where there is none."""
        return next((path for path in self._candidates(case) if path.is_file()), None)

    def looked_for(self, case: Mapping[str, Any]) -> str:
        """The places that were looked at, in words."""
        named = [text for template in self.templates if (text := filled_place(template, case)) is not None]
        return " or ".join(named) or "no path: the case lacks the columns that paths name"

    def _candidates(self, case: Mapping[str, Any]) -> list[Path]:
        paths = []
        for template, bases in zip(self.templates, self._bases, strict=True):
            place = filled_place(template, case)
            if place is not None:
                tail = place.rpartition("*/")[2]
                paths += [path for base in bases if (path := _inside(base, tail, self.root)) is not None]
        return paths


def _bases(root: Path, template: str) -> list[Path]:
    """The folders that the part of a place up to its last `*` stands for."""
    head, star, _ = template.rpartition("*/")
    if not star:
        return [root]
    if "{" in head:
        raise Misuse(f"the path {template!r} names a column before a '*'")
    return sorted(path for path in root.glob(f"{head}*") if path.is_dir())


def _inside(base: Path, place: str, root: Path) -> Path | None:
    """The path of a place, unless it would lead out of the root."""
    if PurePosixPath(place).is_absolute() or ".." in PurePosixPath(place).parts:
        return None
    path = base / place
    return path if path.resolve().is_relative_to(root.resolve()) or path.is_symlink() else None


def filled_place(template: str, case: Mapping[str, Any]) -> str | None:
    """A place with the columns of a case filled in; None where the case lacks one.

    Beside its columns a case has `number`, the digits of its video, `nth`, its frame counted from 1, and the pieces of
    its name between slashes: `c0`, `c1`, ... as texts and `n0`, `n1`, ... as numbers.

    Example:
        >>> filled_place("{c0}/{c1}/image{n2:02}.png", {"case": "liver/01/7", "video": "01"})
        'liver/01/image07.png'
    """
    values = {**_pieces(case), **{name: value for name, value in case.items() if value is not None}}
    try:
        return _FORMATTER.vformat(template, (), values)
    except (KeyError, ValueError, IndexError):
        return None


def _pieces(case: Mapping[str, Any]) -> dict[str, Any]:
    digits = _DIGITS.search(str(case.get("video", "")))
    pieces: dict[str, Any] = {"number": int(digits[0])} if digits else {}
    if isinstance(frame := case.get("frame"), int):
        pieces["nth"] = frame + 1
    for place, piece in enumerate(str(case.get("case", "")).split("/")):
        pieces[f"c{place}"] = piece
        if piece.isdigit():
            pieces[f"n{place}"] = int(piece)
    return pieces


def is_image(path: Path) -> bool:
    """Whether a file is an image by its ending."""
    return path.suffix.lower() in _IMAGES


_LAST_FRAME_S = 0.04
"""How long before its end a clip still has a frame, at the usual rates."""
_NEAR_THE_END_S = 1.0
"""How near to its stated end a video is read as a whole to know whether it still has a frame."""
_SHOWN = 3


class SampledMoments(NamedTuple):
    """When the frames of a case are taken, in seconds of its video, and where its clip starts and ends."""

    times_s: tuple[float, ...]
    start_s: float
    end_s: float

    @property
    def of_clip_s(self) -> tuple[float, ...]:
        """The times counted from the start of the clip."""
        return tuple(round(time_s - self.start_s, 3) for time_s in self.times_s)

    @property
    def duration_s(self) -> float:
        """The length of the clip."""
        return round(self.end_s - self.start_s, 3)


@dataclass(frozen=True)
class Plan:
    """How frames of clips are chosen."""

    media: Media
    most_frames: int | None = None
    """What the model takes, where that is fewer."""

    @property
    def digest(self) -> str:
        """A short hash of everything that decides which frames are shown."""
        media, names = (
            self.media,
            (
                "kind",
                "uniform",
                "rate_hz",
                "every",
                "window_s",
                "most_frames",
                "token_budget",
                "tokens_per_frame",
                "max_height_px",
            ),
        )
        content = [*(getattr(media, name) for name in names), self.most_frames]
        return hashlib.sha256(repr(content).encode()).hexdigest()[:12]

    @property
    def text(self) -> str:
        """The plan in words."""
        media = self.media
        if media.kind != "video":
            return "one frame" if media.window_s is None else f"frames within {media.window_s:g} s"
        ways = {"uniform": "{} frames, evenly spread", "rate_hz": "{:g} frames per second", "every": "every {}th frame"}
        chosen = next((text.format(getattr(media, key)) for key, text in ways.items() if getattr(media, key)), "frames")
        most = self.most
        return chosen + (f", at most {most}" if most is not None else "")

    @property
    def most(self) -> int | None:
        """The number of frames that no case may go beyond."""
        budget = None if self.media.token_budget is None else self.media.token_budget // self.media.tokens_per_frame
        limits = [one for one in (self.media.most_frames, self.most_frames, budget) if one is not None]
        return max(1, min(limits)) if limits else None

    def times_s(self, start_s: float, end_s: float, *, fps: float | None = None) -> tuple[float, ...]:
        """The times of the frames of a clip, rising, within it.

        Raises:
            Misuse: The clip has no length, or every n-th frame is asked for and its frame rate is not known.
        """
        if not end_s > start_s:
            raise Misuse(f"a clip from {start_s:g} s to {end_s:g} s has no length")
        media, length = self.media, end_s - start_s
        step = None if media.rate_hz is None else 1 / media.rate_hz
        if media.every is not None:
            if not fps:
                raise Misuse("every n-th frame is asked for, and the frame rate is not known")
            step = media.every / fps
        if step is not None:
            count = max(1, int(length / step + 1e-9) + (1 if length % step > _LAST_FRAME_S / 2 else 0))
            times = [start_s + place * step for place in range(count)]
        else:
            times = _even(start_s, end_s, media.uniform or 1)
        return tuple(round(time_s, 3) for time_s in _at_most(times, self.most))


def _even(start_s: float, end_s: float, count: int) -> list[float]:
    """Times from the first to the last frame of a clip; the middle where only one is wanted."""
    last = max(start_s, end_s - _LAST_FRAME_S)
    if count == 1:
        return [(start_s + last) / 2]
    return [start_s + (last - start_s) * place / (count - 1) for place in range(count)]


def _at_most(times: Sequence[float], most: int | None) -> Sequence[float]:
    """Some of the times, evenly spread, where there are too many."""
    if most is None or len(times) <= most:
        return times
    if most == 1:
        return [times[len(times) // 2]]
    return [times[round(place * (len(times) - 1) / (most - 1))] for place in range(most)]


class FrameCache:
    """Frames of videos on disk, named by their times, cut once whoever asks; safe beside other runs."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def place(self, video: Path, max_height_px: int | None) -> Path:
        """The folder of a video's frames: another file, size or scale has another one."""
        facts = video.stat()
        seed = f"{video.resolve()}|{facts.st_size}|{facts.st_mtime_ns}|{max_height_px}"
        return self.folder / "frames" / hashlib.sha256(seed.encode()).hexdigest()[:24]

    def cut(self, video: Path, times_s: Iterable[float], *, max_height_px: int | None = None) -> None:
        """Make sure of the frames at these times.

        Raises:
            FileUnreadable: No video, or a damaged one.
            Misuse: A time outside the video.
        """
        from surgvalid.video import frame_name, sample
        from surgvalid.video.images import jpeg_bytes

        folder = self.place(video, max_height_px)
        wanted = [time_s for time_s in sorted(set(times_s)) if not (folder / frame_name(time_s, "jpg")).is_file()]
        if not wanted:
            return
        folder.mkdir(parents=True, exist_ok=True)
        for shot in sample(video, wanted):
            width, height = shot.frame.width, shot.frame.height
            if max_height_px is not None and height > max_height_px:
                width, height = max(1, round(width * max_height_px / height)), max_height_px
            path = folder / frame_name(shot.time_s, "jpg")
            passing = path.with_suffix(f".{os.getpid()}.writing")
            passing.write_bytes(jpeg_bytes(shot.frame, width_px=width, height_px=height))
            passing.replace(path)

    def pictures(self, video: Path, times_s: Sequence[float], *, max_height_px: int | None = None) -> list[PromptImage]:
        """The frames at these times, which were cut before, in the order of time."""
        from surgvalid.video import frame_name

        folder = self.place(video, max_height_px)
        return [picture_of(folder / frame_name(time_s, "jpg"), at_s=time_s) for time_s in times_s]


@lru_cache(maxsize=4096)
def indexed_seconds(path: Path) -> float:
    """The length of a video by all of its frames, which a header may overstate."""
    from surgvalid.video import time_index

    return time_index(path).duration_s


def picture_of(path: Path, *, at_s: float | None = None) -> PromptImage:
    """An image file as it goes out, with the hash of its content."""
    return PromptImage(path, digest_of(path), at_s)


def digest_of(path: Path) -> str:
    """The hash of a file's content; files that did not change are read once."""
    facts = path.stat()
    return _digest(path, facts.st_size, facts.st_mtime_ns)


@lru_cache(maxsize=65_536)
def _digest(path: Path, _size: int, _changed: int) -> str:
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()[:40]


@lru_cache(maxsize=4096)
def video_seconds(path: Path) -> float:
    """The length of a video, measured."""
    from surgvalid.video import probe, time_index

    stated = probe(path).duration_s
    return stated if stated == stated else float(time_index(path).times_s[-1])


@dataclass(frozen=True)
class CaseMedia:
    """What one case shows: image files that are there, or moments of a video."""

    images: tuple[Path, ...] = ()
    video: Path | None = None
    moments: SampledMoments | None = None

    @property
    def size_px(self) -> tuple[int, int] | None:
        """Width and height of the one image, where it is one."""
        return image_size(self.images[0]) if len(self.images) == 1 else None


class MediaFinder:
    """Finds the media of cases, all problems at once, and cuts frames where a video is what there is."""

    def __init__(self, task: TaskInstance, root: Path, plan: Plan, shelf: FrameCache) -> None:
        self.task, self.root, self.plan, self.shelf = task, root, plan, shelf
        self.files, self.videos = Places(root, task.media.files), Places(root, task.media.videos)

    def with_files(self, rows: Iterable[Mapping[str, Any]]) -> list[str]:
        """The names of the cases that have an image of their own."""
        return [str(row["case"]) for row in rows if self.files.file(row) is not None]

    def has_media(self, row: Mapping[str, Any]) -> bool:
        """Whether a case has an image, or a video that it can be cut from."""
        return self.files.file(row) is not None or self.videos.file(row) is not None

    def find(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, CaseMedia]:
        """The media of every case.

        Raises:
            InputInvalid: Cases without media, videos that cannot be read, clips outside their video; all are named.
        """
        if self.task.media.kind == "none":
            return {str(row["case"]): CaseMedia() for row in rows}
        media, bare, problems = {}, [], []
        for row in rows:
            try:
                one = self._of_case(row)
            except (Misuse, FileUnreadable) as error:
                problems.append(f"case {row['case']!r}: {error}")
                continue
            if one is None:
                bare.append(row)
            else:
                media[str(row["case"])] = one
        if bare:
            looked = (
                self.files if self.task.media.kind == "image" and self.files.templates else self.videos
            ).looked_for
            shown = "; ".join(f"{row['case']}: {looked(row)}" for row in bare[:_SHOWN])
            problems.insert(0, f"{len(bare)} of {len(rows)} cases have no {self.task.media.kind} here ({shown})")
        if problems:
            raise InputInvalid(str(self.root), problems)
        return media

    def cut(self, media: Iterable[CaseMedia]) -> None:
        """Cut the frames of all cases, one pass per video."""
        wanted: dict[Path, set[float]] = {}
        for one in media:
            if one.video is not None and one.moments is not None:
                wanted.setdefault(one.video, set()).update(one.moments.times_s)
        for video, times in wanted.items():
            self.shelf.cut(video, times, max_height_px=self.task.media.max_height_px)

    def shown(self, media: CaseMedia, *, native_video: bool) -> list[PromptImage | Clip]:
        """What goes into the prompt of a case."""
        if media.video is None or media.moments is None:
            return [picture_of(path) for path in media.images]
        if native_video:
            whole = not self.task.media.start
            start, end = (0.0, None) if whole else (media.moments.start_s, media.moments.end_s)
            return [Clip(media.video, digest_of(media.video), start, end)]
        pictures = self.shelf.pictures(media.video, media.moments.times_s, max_height_px=self.task.media.max_height_px)
        since = media.moments.start_s
        return [replace(one, at_s=round((one.at_s or 0.0) - since, 3)) for one in pictures]

    def _of_case(self, row: Mapping[str, Any]) -> CaseMedia | None:
        if self.task.media.kind == "image":
            path = self.files.file(row)
            if path is not None:
                return CaseMedia((path,)) if is_image(path) else self._of_video(row, path)
        video = self.videos.file(row)
        return None if video is None else self._of_video(row, video)

    def _of_video(self, row: Mapping[str, Any], video: Path) -> CaseMedia:
        media = self.task.media
        fps = row.get("fps") or media.fps
        if media.kind == "image" and media.window_s is None:
            second = self._second(row, fps)
            length = video_seconds(video) if second < video_seconds(video) - _NEAR_THE_END_S else indexed_seconds(video)
            if not 0 <= second <= length:
                raise Misuse(f"its frame at {second:g} s lies outside the {length:.1f} s of {video.name}")
            return CaseMedia(video=video, moments=SampledMoments((round(second, 3),), second, second + _LAST_FRAME_S))
        start, end = self._span(row, fps, video)
        return CaseMedia(video=video, moments=SampledMoments(self.plan.times_s(start, end, fps=fps), start, end))

    def _second(self, row: Mapping[str, Any], fps: float | None) -> float:
        if row.get("frame") is None or not fps:
            raise Misuse(
                "the task shows one frame and has a video here: name an image, or say which frame in the columns "
                "'frame' and 'fps'"
            )
        return float((row["frame"] - self.task.media.first_frame) / fps)

    def _span(self, row: Mapping[str, Any], fps: float | None, video: Path) -> tuple[float, float]:
        media, length = self.task.media, video_seconds(video)
        if media.window_s is not None and row.get("frame") is not None:
            middle = self._second(row, fps)
            return max(0.0, middle - media.window_s / 2), min(length, middle + media.window_s / 2)
        start, end = row.get(media.start) if media.start else None, row.get(media.end) if media.end else None
        if media.clock == "frames" and (start is not None or end is not None):
            if not fps:
                raise Misuse("its clip is stated in frames, and the frame rate is not known")
            start = None if start is None else (start - media.first_frame) / fps
            end = None if end is None else (end - media.first_frame + 1) / fps
        start, end = float(start or 0.0), float(length if end is None else end)
        if start >= length or end > length + 1.0:
            raise Misuse(f"its clip from {start:g} s to {end:g} s lies outside the {length:.1f} s of {video.name}")
        return start, min(end, length)
