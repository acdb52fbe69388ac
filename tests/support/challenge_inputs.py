"""Challenge inputs read back in any layout, and held against their source videos, second by second.

For each question the clip's own structure is checked against the specification (codec, rate, size, keyframes,
no sound), then, second by second, the clip's image is compared with the source's image at that second
and with the source a little earlier and later. A clip that is shifted by a frame or more looks more like a
neighbour than like its own second, wherever the scene moves at all; and the clock must state the second.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from clock_reading import read_clock
from keyframes import keyframe_times_s
from surgvalid.errors import FileUnreadable, InputInvalid
from surgvalid.schema.procedures.foreign_objects import ForeignObject, parse_definitions
from surgvalid.schema.questions.question_rows import request_from_row
from surgvalid.schema.questions.questions import Request
from surgvalid.schema.rows import read_rows
from surgvalid.video._pyav import VideoSource, converted
from surgvalid.video.clips import OFFICIAL_CLIP, ClipSpec, clip_times_s, clock_text
from surgvalid.video.layouts import KINDS
from surgvalid.video.probe import probe, time_index
from surgvalid.video.sampling import FrameSample, sample
from surgvalid.video.stored_images import Endings, FrameImage, StoredImages, images_in_archive

_ENDINGS = {kind: ending for kinds in KINDS.values() for kind, ending in kinds.items()}


@dataclass(frozen=True, slots=True)
class ChallengeInputs:
    """One batch as a container would find it."""

    folder: Path
    requests: tuple[Request, ...]
    classes: tuple[ForeignObject, ...]
    pictures: Mapping[str, Mapping[str, FrameImage]]
    """For each kind (`frames`, or `plain` and `overlayed`), the image of each question."""


def read_inputs(folder: str | Path) -> ChallengeInputs:
    """The inputs in a folder, in any layout.

    Raises:
        FileUnreadable: A file is missing or not what it should be.
        InputInvalid: The files contradict each other, or images are missing; every problem is listed.
    """
    folder = Path(folder)
    problems: list[str] = []
    requests = _requests(folder / "request.json", problems)
    batch = _json(folder / "batch.json", dict)
    definitions = _json(folder / "FO_definitions.json", str)
    kinds = _kinds(batch, folder)
    pictures = images_in_folder(folder, {kind: {f".{_ENDINGS[kind]}"} for kind in kinds})
    problems += _contradictions(requests, batch, kinds, pictures)
    if problems:
        raise InputInvalid(str(folder), problems)
    return ChallengeInputs(folder, requests, parse_definitions(definitions), pictures)


def _requests(path: Path, problems: list[str]) -> tuple[Request, ...]:
    requests = []
    for number, row in enumerate(read_rows(path), start=1):
        request = request_from_row(row, None, lambda _, text, n=number: problems.append(f"request {n}: {text}"))  # type: ignore[misc]
        if request is not None:
            requests.append(request)
    return tuple(requests)


def _json(path: Path, kind: type) -> Any:
    try:
        value = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise FileUnreadable(str(path), ["no such file"]) from None
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError, OSError) as error:
        raise FileUnreadable(str(path), [f"not readable as JSON ({error})"]) from None
    if not isinstance(value, kind):
        wanted = {"dict": "an object", "str": "one JSON string"}[kind.__name__]
        raise FileUnreadable(str(path), [f"expected {wanted}, got {type(value).__name__}"])
    return value


def _kinds(batch: dict[str, Any], folder: Path) -> tuple[str, ...]:
    layout = batch.get("layout")
    kinds = tuple(layout) if isinstance(layout, dict) else ()
    unknown = [kind for kind in kinds if kind not in _ENDINGS]
    if not kinds or unknown:
        raise FileUnreadable(
            str(folder / "batch.json"), [f"'layout' must name some of {', '.join(_ENDINGS)}, got {layout!r}"]
        )
    return kinds


def _contradictions(
    requests: tuple[Request, ...],
    batch: dict[str, Any],
    kinds: tuple[str, ...],
    pictures: Mapping[str, Mapping[str, FrameImage]],
) -> list[str]:
    cases = [request.case for request in requests]
    problems = [f"request {case!r} appears twice" for case in sorted({c for c in cases if cases.count(c) > 1})]
    listed = batch.get("qIDs")
    if not isinstance(listed, list) or sorted(map(str, listed)) != sorted(cases):
        problems.append("batch.json: 'qIDs' are not the questions of request.json")
    if batch.get("batch_size") != len(cases):
        problems.append(f"batch.json: 'batch_size' is {batch.get('batch_size')!r}, but there are {len(cases)} requests")
    for kind in kinds:
        lacking = [case for case in cases if case not in pictures[kind]]
        problems += [f"{kind}: nothing for question {case!r}" for case in lacking]
    return problems


def images_in_folder(folder: Path, endings: Endings) -> StoredImages:
    """Every image below a folder, in archives too."""
    images: StoredImages = {kind: {} for kind in endings}
    for archive in sorted(folder.rglob("*.zip")):
        for kind, packed in images_in_archive(archive, endings).items():
            images[kind] |= packed
    for kind, known in endings.items():
        for path in sorted((folder / kind).rglob("*")):
            if path.suffix.lower() in known:
                case = path.relative_to(folder / kind).with_suffix("").as_posix()
                images[kind][case] = FrameImage(str(path), partial(open, path, "rb"))
    return images


_MAX_ERROR = 12.0
"""Mean difference of brightness (of 255) that compression explains; another scene differs by more."""
_CHECKED_SECONDS = 60
"""Seconds compared per clip, spread over its whole length."""


def input_problems(
    inputs: ChallengeInputs, videos: Mapping[str, VideoSource], *, spec: ClipSpec = OFFICIAL_CLIP
) -> list[str]:
    """Everything in which the inputs differ from the source videos; empty when every second is right.

    Raises:
        FileUnreadable: An image or a source cannot be read.
    """
    problems = []
    for request in inputs.requests:
        for kind, pictures in inputs.pictures.items():
            with pictures[request.case].open() as stream:
                seen = (
                    _frame_problems(stream, request, videos[request.video])
                    if kind == "frames"
                    else clip_problems(stream, request, videos[request.video], clock=kind == "overlayed", spec=spec)
                )
            problems += [f"{kind} of question {request.case!r}: {text}" for text in seen]
    return problems


def clip_problems(
    clip: VideoSource, request: Request, source: VideoSource, *, clock: bool, spec: ClipSpec = OFFICIAL_CLIP
) -> list[str]:
    """In which ways a clip is not what the specification and its source video say."""
    times = clip_times_s(request.start_s, request.end_s, spec.fps)
    if problems := _structure_problems(clip, times, source, spec):
        return problems
    seconds = _seconds_to_check(times)
    shown = {float(s): _grey(shot) for s, shot in zip(seconds, sample(clip, seconds - times[0]), strict=True)}
    problems = _picture_problems(shown, source, 1 / spec.fps)
    for second, picture in shown.items():
        if clock and (read := read_clock(picture)) != clock_text(second):
            problems.append(f"at {second:g} s the clock shows {read or 'nothing readable'}, not {clock_text(second)}")
    return problems


def _structure_problems(
    clip: VideoSource, times: NDArray[np.float64], source: VideoSource, spec: ClipSpec
) -> list[str]:
    facts, index, original = probe(clip), time_index(clip), probe(source)
    size, wanted = (facts.width_px, facts.height_px), spec.size_for(*original.size_px, original.pixel_aspect)
    evenly = np.arange(len(index.shown)) / spec.fps
    keys = np.arange(0, len(times), spec.fps * spec.keyframe_s) / spec.fps
    checks = [
        (facts.codec == "h264", f"coded as {facts.codec}, not h264"),
        (not facts.audio, "has sound"),
        (size == wanted, f"is {size[0]} x {size[1]}, not {wanted[0]} x {wanted[1]}"),
        (len(index.shown) == len(times), f"has {len(index.shown)} frames, not {len(times)}"),
        (_near(index.times_s, evenly), f"its frames are not exactly {spec.fps} per second"),
        (_near(keyframe_times_s(index), keys), f"its keyframes are not every {spec.keyframe_s} s"),
    ]
    return [text for fine, text in checks if not fine]


def _near(shown: NDArray[np.float64], wanted: NDArray[np.float64]) -> bool:
    return shown.shape == wanted.shape and bool(np.allclose(shown, wanted, rtol=0, atol=1e-3))


def _seconds_to_check(times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Whole seconds within the clip, or its first frame where it holds none."""
    whole = np.arange(np.ceil(times[0] - 1e-6), np.floor(times[-1] + 1e-6) + 1)
    if not whole.size:
        return times[:1]
    return np.unique(whole[np.linspace(0, len(whole) - 1, _CHECKED_SECONDS).round().astype(int)])


def _picture_problems(shown: Mapping[float, NDArray[np.uint8]], source: VideoSource, step_s: float) -> list[str]:
    """The seconds whose image is another's: less like the source there than a frame earlier or later."""
    errors: dict[float, dict[float, float]] = {second: {} for second in shown}
    last_s = time_index(source).duration_s - 1e-3
    asked = sorted(
        (time_s, second)
        for second in shown
        for time_s in (second, second - step_s, second + step_s, second - 1, second + 1)
        if 0 <= time_s <= last_s or time_s == second
    )
    shots = sample(source, [time_s for time_s, _ in asked])
    for (time_s, second), shot in zip(asked, shots, strict=True):
        errors[second][time_s - second] = _difference(shown[second], _grey(shot, shown[second].shape))
    return [text for second, error in errors.items() if (text := _verdict(second, error))]


def _verdict(second: float, errors: Mapping[float, float]) -> str | None:
    error = errors[0.0]
    shift, best = min(errors.items(), key=lambda item: item[1])
    if error > _MAX_ERROR:
        return f"at {second:g} s it shows another image than the video (differs by {error:.0f} of 255)"
    if best < 0.7 * error - 0.5:
        return f"at {second:g} s it shows what the video shows {abs(shift):g} s {'later' if shift > 0 else 'earlier'}"
    return None


def _difference(first: NDArray[np.uint8], second: NDArray[np.uint8]) -> float:
    """Mean difference of brightness below the clock's rows."""
    top = first.shape[0] // 8
    return float(np.abs(first[top:].astype(np.int16) - second[top:]).mean())


def _grey(shot: FrameSample, shape: tuple[int, ...] | None = None) -> NDArray[np.uint8]:
    height, width = shape or (shot.frame.height, shot.frame.width)
    pixels = converted(shot.frame, "yuv420p", width_px=width, height_px=height).to_ndarray()
    return cast(NDArray[np.uint8], pixels[:height, :width])


def _frame_problems(picture: BinaryIO, request: Request, source: VideoSource) -> list[str]:
    [stored], [shot] = sample(picture, [0.0], how="in-order"), sample(source, [request.start_s])
    ours, theirs = stored.rgb(), shot.rgb()
    if ours.shape != theirs.shape:
        return [f"is {ours.shape[1]} x {ours.shape[0]}, but the video is {theirs.shape[1]} x {theirs.shape[0]}"]
    wrong = int((ours != theirs).any(axis=2).sum())
    return [f"differs from the video at {request.start_s:g} s in {wrong} pixels"] if wrong else []
