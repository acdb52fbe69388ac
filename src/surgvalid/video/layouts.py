"""Challenge inputs on disk, in every layout that containers were given.

    request.json          the questions
    batch.json            which questions, how many, and where their images lie
    FO_definitions.json   the class definitions, as one JSON-encoded string
    frames/<qID>.png      FRAME
    plain/<qID>.mp4, overlayed/<qID>.mp4      SEGMENT and PROCEDURE

`folder` is the layout of the official template, `zip` puts the images into `batch-frames.zip` or
`batch-videos.zip`, and `nested-zip` puts one archive per kind into that archive. Containers that know only
one of them fail silently on the others, so all three can be made and read here.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Literal

from surgvalid.errors import InputInvalid, Misuse, UnknownName, WouldOverwrite
from surgvalid.schema.questions.questions import Request
from surgvalid.video._pyav import VideoSource
from surgvalid.video.batch_files import (
    DESCRIPTIONS,
    LAYOUTS,
    Layout,
    archive_name,
    pack_images,
    write_descriptions,
)
from surgvalid.video.clips import OFFICIAL_CLIP, ClipSpec, build_clip
from surgvalid.video.images import png_bytes
from surgvalid.video.sampling import sample

Track = Literal["frame", "segment", "procedure"]
TRACKS: tuple[Track, ...] = ("frame", "segment", "procedure")
KINDS: Mapping[Track, Mapping[str, str]] = {
    "frame": {"frames": "png"},
    "segment": {"plain": "mp4", "overlayed": "mp4"},
    "procedure": {"plain": "mp4", "overlayed": "mp4"},
}
"""The kinds of images of each track and their file endings."""

Tick = Callable[[int, int], None]
"""Called with how much is done and how much there is."""


def write_inputs(
    requests: Sequence[Request],
    videos: Mapping[str, VideoSource],
    out: str | Path,
    *,
    track: Track,
    layout: Layout = "folder",
    definitions: str | None = None,
    spec: ClipSpec = OFFICIAL_CLIP,
    force: bool = False,
    progress: Tick | None = None,
) -> Path:
    """Write one batch of challenge inputs and return its folder.

    Questions about the same window of the same video share the work: it is cut once.

    Args:
        requests: The questions of the batch.
        videos: The source video of each `Request.video`.
        out: The folder that a container would see as its input.
        track: `frame`, `segment` or `procedure`.
        layout: `folder`, `zip` or `nested-zip`.
        definitions: Text of the class definitions; the ten classes by default.
        spec: How clips are encoded.
        force: Replace inputs that are there already.
        progress: Called after every window.

    Raises:
        InputInvalid: Requests that cannot be written; every problem is listed.
    """
    _known("track", track, TRACKS)
    _known("layout", layout, LAYOUTS)
    _refuse_problems(requests, videos, track)
    out = Path(out)
    if (out / "request.json").exists():
        if not force:
            raise WouldOverwrite(out / "request.json")
        _clear(out, track)
    out.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=out, prefix=".making-") as scratch:
        target = out if layout == "folder" else Path(scratch)
        _write_pictures(requests, videos, target, track, spec, progress)
        if layout != "folder":
            pack_images(out, _pictures_in(target, track), nested=layout == "nested-zip")
    endings = {kind: f".{ending}" for kind, ending in KINDS[track].items()}
    write_descriptions([request.as_row() for request in requests], out, endings=endings, definitions=definitions)
    return out


def _write_pictures(
    requests: Sequence[Request],
    videos: Mapping[str, VideoSource],
    target: Path,
    track: Track,
    spec: ClipSpec,
    progress: Tick | None,
) -> None:
    windows: dict[tuple[str, float, float], list[Request]] = {}
    for request in requests:
        end_s = request.start_s if track == "frame" else request.end_s
        windows.setdefault((request.video, request.start_s, end_s), []).append(request)
    for done, ((video, start_s, end_s), sharing) in enumerate(windows.items(), start=1):
        paths = {kind: _picture_path(target, kind, sharing[0].case, track) for kind in KINDS[track]}
        for path in paths.values():
            path.parent.mkdir(parents=True, exist_ok=True)
        if track == "frame":
            [shot] = sample(videos[video], [start_s])
            paths["frames"].write_bytes(png_bytes(shot.rgb(), level=3))
        else:
            build_clip(
                videos[video],
                start_s=start_s,
                end_s=end_s,
                plain=paths["plain"],
                overlayed=paths["overlayed"],
                spec=spec,
            )
        for other in sharing[1:]:
            for kind, path in paths.items():
                copy = _picture_path(target, kind, other.case, track)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)
        if progress:
            progress(done, len(windows))


def _picture_path(target: Path, kind: str, case: str, track: Track) -> Path:
    return target / kind / f"{case}.{KINDS[track][kind]}"


def _pictures_in(folder: Path, track: Track) -> dict[tuple[str, str], Path]:
    pictures = {}
    for kind in KINDS[track]:
        for path in sorted(path for path in (folder / kind).rglob("*") if path.is_file()):
            pictures[kind, path.relative_to(folder / kind).as_posix()] = path
    return pictures


def _clear(out: Path, track: Track) -> None:
    for kind in KINDS[track]:
        shutil.rmtree(out / kind, ignore_errors=True)
    for name in (*DESCRIPTIONS, *{archive_name(kind) for kind in KINDS[track]}):
        (out / name).unlink(missing_ok=True)


# --- what can go wrong ---------------------------------------------------------------------------


def _known(kind: str, name: str, known: tuple[str, ...]) -> None:
    if name not in known:
        raise UnknownName(kind, name, known)


def _refuse_problems(requests: Sequence[Request], videos: Mapping[str, VideoSource], track: Track) -> None:
    if not requests:
        raise Misuse("a batch needs at least one request")
    problems = []
    seen: set[str] = set()
    for request in requests:
        if request.case.casefold() in seen:
            problems.append(f"request {request.case!r} appears twice (or differs only by upper and lower case)")
        seen.add(request.case.casefold())
        if not is_safe_case(request.case):
            problems.append(f"{request.case!r} cannot be a file name; use letters, digits, '-', '_', '.' and '/'")
        if request.video not in videos:
            problems.append(f"request {request.case!r} is about video {request.video!r}, which was not given")
        if request.end_s < request.start_s or request.start_s < 0:
            problems.append(f"request {request.case!r} has the window {request.start_s:g} to {request.end_s:g} s")
        if track == "segment" and request.window_s > 300:
            problems.append(f"request {request.case!r} spans {request.window_s:g} s; segments last at most 300 s")
    if problems:
        raise InputInvalid("requests", problems)


def is_safe_case(case: str) -> bool:
    """Whether an identifier can be a relative path that stays where it is put.

    Example:
        >>> is_safe_case("heico/q12"), is_safe_case("../q12"), is_safe_case("q?")
        (True, False, False)
    """
    if len(case) > 180 or not case or PurePosixPath(case).is_absolute():
        return False
    parts = case.split("/")
    return all(name not in ("", ".", "..") and not name.endswith(".") and _plain(name) for name in parts)


def _plain(name: str) -> bool:
    return all(letter.isalnum() or letter in "-_.+@ " for letter in name)
