"""Challenge inputs on disk, in every layout that containers were given.

    request.json          the questions
    batch.json            which questions, how many, and where their pictures lie
    FO_definitions.json   the class definitions, as one JSON-encoded string
    frames/<qID>.png      FRAME
    plain/<qID>.mp4, overlayed/<qID>.mp4      SEGMENT and PROCEDURE

`folder` is the layout of the official template, `zip` puts the pictures into `batch-frames.zip` or
`batch-videos.zip`, and `nested-zip` puts one archive per kind into that archive. Containers that know only
one of them fail silently on the others, so all three can be made and read here.
"""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import IO, Literal

from surgeval.errors import InputInvalid, Misuse, UnknownName, WouldOverwrite
from surgeval.schema.foreign_objects import definitions_text
from surgeval.schema.questions import Request
from surgeval.schema.rows import write_json_rows
from surgeval.video._pyav import VideoSource
from surgeval.video.clips import build_clip
from surgeval.video.encoding import OFFICIAL_CLIP, ClipSpec
from surgeval.video.images import png_bytes
from surgeval.video.sampling import sample

Track = Literal["frame", "segment", "procedure"]
Layout = Literal["folder", "zip", "nested-zip"]
TRACKS: tuple[Track, ...] = ("frame", "segment", "procedure")
LAYOUTS: tuple[Layout, ...] = ("folder", "zip", "nested-zip")
KINDS: Mapping[Track, Mapping[str, str]] = {
    "frame": {"frames": "png"},
    "segment": {"plain": "mp4", "overlayed": "mp4"},
    "procedure": {"plain": "mp4", "overlayed": "mp4"},
}
"""The kinds of pictures of each track and their file endings."""

Tick = Callable[[int, int], None]
"""Called with how much is done and how much there is."""


def archive_name(track: Track) -> str:
    """The name of the archive in the zip layouts."""
    return "batch-frames.zip" if track == "frame" else "batch-videos.zip"


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
            _pack(target, out / archive_name(track), tuple(KINDS[track]), nested=layout == "nested-zip")
    _write_descriptions(requests, out, track, definitions)
    return out


def _write_descriptions(requests: Sequence[Request], out: Path, track: Track, definitions: str | None) -> None:
    write_json_rows([request.as_row() for request in requests], out / "request.json")
    batch = {
        "qIDs": [request.case for request in requests],
        "batch_size": len(requests),
        "layout": {kind: f"{kind}/<qID>.{ending}" for kind, ending in KINDS[track].items()},
    }
    (out / "batch.json").write_text(json.dumps(batch, indent=2, ensure_ascii=False), encoding="utf-8")
    text = definitions_text() if definitions is None else definitions
    (out / "FO_definitions.json").write_text(json.dumps(text, ensure_ascii=False), encoding="utf-8")


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


def _pack(scratch: Path, archive: Path, kinds: tuple[str, ...], *, nested: bool) -> None:
    """Archive the pictures; they are compressed already, so they are only stored."""
    with _archive(archive) as outer:
        for kind in kinds:
            files = sorted(path for path in (scratch / kind).rglob("*") if path.is_file())
            if not nested:
                for path in files:
                    outer.write(path, path.relative_to(scratch).as_posix())
                continue
            with outer.open(f"{kind}.zip", "w", force_zip64=True) as member, _archive(member) as inner:
                for path in files:
                    inner.write(path, path.relative_to(scratch).as_posix())


@contextmanager
def _archive(target: Path | IO[bytes]) -> Iterator[zipfile.ZipFile]:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        yield archive


def _clear(out: Path, track: Track) -> None:
    for kind in KINDS[track]:
        shutil.rmtree(out / kind, ignore_errors=True)
    for name in ("request.json", "batch.json", "FO_definitions.json", archive_name(track)):
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
    return all(part not in ("", ".", "..") and not part.endswith(".") and _plain(part) for part in parts)


def _plain(part: str) -> bool:
    return all(letter.isalnum() or letter in "-_.+@ " for letter in part)
