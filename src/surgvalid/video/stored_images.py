"""Frames and clips in folders and archives, found by kind and name, and opened without unpacking anything to disk.

Archives are treated as hostile: members that would escape, are links, are encrypted, nest too deeply or claim
absurd numbers are refused before anything is unpacked.
"""

from __future__ import annotations

import shutil
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast

from surgvalid.errors import FileUnreadable
from surgvalid.schema.archives import ArchiveLimits, archive_problems

MAX_DEPTH = 3
"""Archives within archives."""
LIMITS = ArchiveLimits()
"""Images are compressed already; a member that shrank further than this is a bomb."""

Endings = Mapping[str, Collection[str]]
"""By kind of image, the endings of its files, small and with their dot."""
StoredImages = dict[str, dict[str, "FrameImage"]]
"""By kind, then by the name of the file without its ending: a question, or a video."""


@dataclass(frozen=True, slots=True)
class FrameImage:
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


def images_in_archive(path: Path, endings: Endings, *, kind: str | None = None) -> StoredImages:
    """Every image in an archive and in archives within it; `kind` is that of members whose path says none.

    Raises:
        FileUnreadable: It is damaged or refused.
    """
    images: StoredImages = {known: {} for known in endings}
    _search(FrameImage(str(path), partial(_file, path)), images, endings, kind, 1)
    return images


def _enter(name: PurePosixPath, image: FrameImage, images: StoredImages, endings: Endings, kind: str | None) -> None:
    """Enter a file whose path says its kind and name, such as `x/plain/q1.mp4`."""
    suffix, named = name.suffix.lower(), False
    for place, folder in enumerate(name.parts[:-1]):
        here = folder.lower()
        if here in images and suffix in endings[here]:
            below = PurePosixPath(*name.parts[place + 1 :]).as_posix()
            images[here].setdefault(below[: -len(name.suffix)], image)
            named = True
    if not named and kind is not None and suffix in endings[kind]:
        images[kind].setdefault(name.stem, image)


def _search(container: FrameImage, images: StoredImages, endings: Endings, kind: str | None, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise FileUnreadable(container.where, [f"archives are nested more than {MAX_DEPTH} deep"])
    with container.open() as raw, zipfile.ZipFile(raw) as archive:
        members = [member for member in archive.infolist() if not member.is_dir()]
    if problems := archive_problems(members, LIMITS):
        raise FileUnreadable(container.where, problems)
    for member in members:
        name = PurePosixPath(member.filename)
        image = FrameImage(f"{container.where}!{member.filename}", partial(_member, container, member.filename))
        if name.suffix.lower() == ".zip":
            _search(image, images, endings, name.stem if name.stem in endings else kind, depth + 1)
        else:
            _enter(name, image, images, endings, kind)


def _file(path: Path) -> BinaryIO:
    return open(path, "rb")


@contextmanager
def _member(container: FrameImage, name: str) -> Iterator[BinaryIO]:
    """A member of an archive as a stream in which seeking is cheap."""
    with container.open() as raw, zipfile.ZipFile(raw) as archive, archive.open(name) as stream:
        if archive.getinfo(name).compress_type == zipfile.ZIP_STORED:
            yield cast(BinaryIO, stream)
            return
        with SpooledTemporaryFile(max_size=1 << 26) as copy:
            shutil.copyfileobj(stream, copy)
            copy.seek(0)
            yield cast(BinaryIO, copy)
