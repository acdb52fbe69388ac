"""Folders on their way between the service and workers: written piece by piece, unpacked with limits."""

from __future__ import annotations

import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from surgvalid.errors import InputInvalid

_CHUNK, _BLOCK = 1 << 20, 512
MOST_BYTES, MOST_MEMBERS = 20 << 30, 200_000


def tar_pieces(members: Iterable[tuple[str, Path | bytes]]) -> Iterator[bytes]:
    """The bytes of an archive of these files, never more than a few of them in memory."""
    for name, content in members:
        info = tarfile.TarInfo(name)
        info.size = len(content) if isinstance(content, bytes) else content.stat().st_size
        yield info.tobuf(tarfile.GNU_FORMAT)
        yield from [content] if isinstance(content, bytes) else _pieces(content, info.size)
        yield b"\0" * (-info.size % _BLOCK)
    yield b"\0" * (2 * _BLOCK)


def _pieces(path: Path, size: int) -> Iterator[bytes]:
    """Exactly as many bytes as the header promises, also where the file grows meanwhile."""
    with open(path, "rb") as handle:
        while size and (piece := handle.read(min(_CHUNK, size))):
            size -= len(piece)
            yield piece
    yield b"\0" * size


def files_below(folder: Path, prefix: str = "") -> Iterator[tuple[str, Path]]:
    """Every plain file of a folder by its name in an archive; links and sockets are left out."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            yield f"{prefix}{path.relative_to(folder).as_posix()}", path


def write_tar(target: Path, members: Iterable[tuple[str, Path | bytes]]) -> Path:
    """The archive in a file."""
    with open(target, "wb") as handle:
        handle.writelines(tar_pieces(members))
    return target


def unpack(archive: Path, folder: Path, *, most_bytes: int = MOST_BYTES, most_members: int = MOST_MEMBERS) -> Path:
    """The folder with what an archive holds: plain files below it and nothing else.

    Raises:
        InputInvalid: It is no archive, too large, or holds anything else.
    """
    folder.mkdir(parents=True)
    size = 0
    try:
        with tarfile.open(archive, "r:") as handle:
            for number, member in enumerate(handle):
                size += member.size
                inside = not PurePosixPath(member.name).is_absolute() and ".." not in PurePosixPath(member.name).parts
                if not member.isreg() or not inside or size > most_bytes or number >= most_members:
                    problem = f"{member.name!r} is no plain file below it, or it holds too much"
                    raise InputInvalid(archive.name, [problem])
                handle.extract(member, folder, filter="data")
    except (tarfile.TarError, OSError) as error:
        raise InputInvalid(archive.name, [f"it cannot be unpacked ({error})"]) from None
    return folder
