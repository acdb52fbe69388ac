"""Reading challenge inputs back, whatever layout they come in.

Pictures are found by their kind and question wherever they lie: in folders, in an archive, in an archive
within the archive. Archives are treated as hostile: members that would escape, are encrypted, nest too
deeply or claim absurd numbers are refused before anything is unpacked, and nothing is unpacked to disk.
"""

from __future__ import annotations

import json
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO, cast

from surgeval.errors import FileUnreadable, InputInvalid
from surgeval.schema.foreign_objects import ForeignObject, parse_definitions
from surgeval.schema.questions import Request, request_from_row
from surgeval.schema.rows import read_rows
from surgeval.video.layouts import KINDS

MAX_DEPTH = 3
"""Archives within archives."""
MAX_MEMBERS = 200_000
MAX_UNPACKED_BYTES = 1 << 40
MAX_RATIO = 200
"""Pictures are compressed already; a member that shrank further than this is a bomb."""

_ENDINGS = {kind: ending for kinds in KINDS.values() for kind, ending in kinds.items()}


@dataclass(frozen=True, slots=True)
class Picture:
    """One frame or clip of a question."""

    where: str
    """The file, or the archives and the member."""
    opener: Callable[[], AbstractContextManager[BinaryIO]] = field(repr=False)

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """The file's bytes as a stream that can seek."""
        try:
            with self.opener() as stream:
                yield stream
        except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, OSError) as error:
            raise FileUnreadable(self.where, [f"damaged, or in a damaged archive ({error})"]) from None


@dataclass(frozen=True, slots=True)
class ChallengeInputs:
    """One batch as a container would find it."""

    folder: Path
    requests: tuple[Request, ...]
    classes: tuple[ForeignObject, ...]
    pictures: Mapping[str, Mapping[str, Picture]]
    """For each kind (`frames`, or `plain` and `overlayed`), the picture of each question."""


def read_inputs(folder: str | Path) -> ChallengeInputs:
    """The inputs in a folder, in any layout.

    Raises:
        FileUnreadable: A file is missing or not what it should be.
        InputInvalid: The files contradict each other, or pictures are missing; every problem is listed.
    """
    folder = Path(folder)
    problems: list[str] = []
    requests = _requests(folder / "request.json", problems)
    batch = _json(folder / "batch.json", dict)
    definitions = _json(folder / "FO_definitions.json", str)
    kinds = _kinds(batch, folder)
    pictures = _pictures(folder, kinds)
    problems += _contradictions(requests, batch, kinds, pictures)
    if problems:
        raise InputInvalid(str(folder), problems)
    return ChallengeInputs(folder, requests, parse_definitions(definitions), pictures)


def _requests(path: Path, problems: list[str]) -> tuple[Request, ...]:
    found = []
    for number, row in enumerate(read_rows(path), start=1):
        request = request_from_row(row, None, lambda _, text, n=number: problems.append(f"request {n}: {text}"))  # type: ignore[misc]
        if request is not None:
            found.append(request)
    return tuple(found)


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
    pictures: Mapping[str, Mapping[str, Picture]],
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


# --- pictures ------------------------------------------------------------------------------------


def _pictures(folder: Path, kinds: tuple[str, ...]) -> dict[str, dict[str, Picture]]:
    found: dict[str, dict[str, Picture]] = {kind: {} for kind in kinds}
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.is_symlink():
            continue
        picture = Picture(str(path), partial(_file, path))
        if path.suffix.lower() == ".zip":
            _search_archive(picture, found, 1)
        else:
            _file_under(PurePosixPath(path.relative_to(folder).as_posix()), picture, found)
    return found


def _file_under(name: PurePosixPath, picture: Picture, found: dict[str, dict[str, Picture]]) -> None:
    """Enter a file whose path says its kind and question, such as `x/plain/q1.mp4`."""
    for place, part in enumerate(name.parts[:-1]):
        kind = part.lower()
        if kind in found and name.suffix.lower() == f".{_ENDINGS[kind]}":
            case = PurePosixPath(*name.parts[place + 1 :]).as_posix()[: -len(name.suffix)]
            found[kind].setdefault(case, picture)


def _search_archive(container: Picture, found: dict[str, dict[str, Picture]], depth: int) -> None:
    if depth > MAX_DEPTH:
        raise FileUnreadable(container.where, [f"archives are nested more than {MAX_DEPTH} deep"])
    with container.open() as raw, zipfile.ZipFile(raw) as archive:
        members = [member for member in archive.infolist() if not member.is_dir()]
    if problems := _archive_problems(members):
        raise FileUnreadable(container.where, problems)
    for member in members:
        picture = Picture(f"{container.where}!{member.filename}", partial(_member, container, member.filename))
        if member.filename.lower().endswith(".zip"):
            _search_archive(picture, found, depth + 1)
        else:
            _file_under(PurePosixPath(member.filename), picture, found)


def _file(path: Path) -> BinaryIO:
    return open(path, "rb")


@contextmanager
def _member(container: Picture, name: str) -> Iterator[BinaryIO]:
    """A member of an archive as a stream in which seeking is cheap."""
    with container.open() as raw, zipfile.ZipFile(raw) as archive, archive.open(name) as stream:
        if archive.getinfo(name).compress_type == zipfile.ZIP_STORED:
            yield cast(BinaryIO, stream)
            return
        with SpooledTemporaryFile(max_size=1 << 26) as copy:
            shutil.copyfileobj(stream, copy)
            copy.seek(0)
            yield cast(BinaryIO, copy)


def _archive_problems(members: list[zipfile.ZipInfo]) -> list[str]:
    problems = []
    if len(members) > MAX_MEMBERS:
        problems.append(f"{len(members):,} members, more than {MAX_MEMBERS:,}")
    if sum(member.file_size for member in members) > MAX_UNPACKED_BYTES:
        problems.append("unpacks to more than a terabyte")
    for member in members[:MAX_MEMBERS]:
        parts = PurePosixPath(member.filename.replace("\\", "/")).parts
        if ".." in parts or member.filename.startswith(("/", "\\")) or ":" in member.filename:
            problems.append(f"member {member.filename!r} points outside the archive")
        if member.flag_bits & 1:
            problems.append(f"member {member.filename!r} is encrypted")
        if member.file_size > MAX_RATIO * max(member.compress_size, 1 << 16):
            problems.append(f"member {member.filename!r} claims to unpack {member.file_size:,} bytes")
    return problems
