"""One pass over an image archive: every file hashed, every layer judged and written again, papers kept."""

from __future__ import annotations

import contextlib
import hashlib
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from surgeval.sandbox._intake_layer import LayerFacts, Problems, read_layer
from surgeval.sandbox._intake_manifest import Blob
from surgeval.sandbox._intake_streams import CHUNK, Budget, IntakeStops, Unpacked, packing_of
from surgeval.sandbox._intake_tar import BLOCK, TarEntry, TarReader

_PAPERS_BYTES = 4 << 20
_MEMBERS = 2000


class Sink(Protocol):
    """Where the clean archive goes: a file, or nowhere."""

    def write(self, data: bytes, /) -> int: ...
    def tell(self) -> int: ...
    def seek(self, offset: int, /) -> int: ...


class Nowhere:
    """A sink that keeps nothing, for a look without a copy."""

    def write(self, data: bytes, /) -> int:
        """Forget the bytes."""
        return len(data)

    def tell(self) -> int:
        """Always at the start."""
        return 0

    def seek(self, offset: int, /) -> int:
        """Nothing to move."""
        return offset


@dataclass
class Archive:
    """What one pass over an archive found."""

    files: dict[str, Blob] = field(default_factory=dict)
    layers: dict[str, LayerFacts] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)


class ArchivePass:
    """Reads an archive once; `read` gives what it holds."""

    def __init__(self, *, unpacked_bytes: int, ratio: float, files: int, sink: Sink, problems: Problems) -> None:
        self._outer, self._inner = Budget(unpacked_bytes, ratio), Budget(unpacked_bytes, ratio)
        self._files_left = files
        self._sink, self._problems = sink, problems
        self._archive = Archive()

    def read(self, path: Path) -> Archive:
        """Everything in the archive.

        Raises:
            IntakeStops: It cannot be read to its end within its limits.
        """
        with open(path, "rb") as stream:
            tar = TarReader(Unpacked(stream.read, self._outer, "the archive").read, "the archive")
            for number, entry in enumerate(tar.entries()):
                if number >= _MEMBERS:
                    raise IntakeStops(f"the archive holds more than {_MEMBERS} files, which no saved image does")
                self._take(entry, tar)
        self._resolve_links()
        return self._archive

    def _take(self, entry: TarEntry, tar: TarReader) -> None:
        name = "/".join(name for name in entry.name.split("/") if name not in ("", "."))
        if entry.name.startswith("/") or ".." in entry.name.split("/") or not entry.name.isprintable():
            self._problems.add(
                "path out of the archive", f"the archive holds {entry.name[:80]!r}, which leads out of it"
            )
        elif entry.kind == "folder":
            return
        elif entry.kind == "symbolic link":
            self._archive.links[name] = entry.link
        elif entry.kind != "file":
            self._problems.add("archive", f"the archive holds {name!r}, a {entry.kind}")
        elif name in self._archive.files:
            self._problems.add("archive", f"the archive holds {name!r} twice")
        else:
            self._take_file(name, entry.size, tar)

    def _take_file(self, name: str, size: int, tar: TarReader) -> None:
        source = _Peeked(tar)
        data = None
        if source.is_layer():
            self._archive.layers[name] = self._layer(name, source)
        elif size <= _PAPERS_BYTES:
            data = b"".join(iter(lambda: source.read(CHUNK), b""))
        while source.read(CHUNK):
            pass
        self._archive.files[name] = Blob(source.digest(), size, data)

    def _layer(self, name: str, source: _Peeked) -> LayerFacts:
        member = f"{len(self._archive.layers)}.tar"
        what = f"layer {name.removesuffix('/layer.tar').removesuffix('.tar')[-12:]}"
        with member_of(self._sink, member) as inside:
            facts = read_layer(
                source.read,
                what,
                budget=self._inner,
                problems=self._problems,
                entries_left=self._files_left,
                sink=inside,
            )
        self._files_left -= facts.entries
        facts.member, facts.clean_digest = member, inside.digest()
        return facts

    def _resolve_links(self) -> None:
        """Old `docker save` writes a repeated layer as a link to the first; other links are refused."""
        archive = self._archive
        for name, target in archive.links.items():
            parts = name.split("/")[:-1]
            for step in target.split("/"):
                parts = parts[:-1] if step == ".." else [*parts, step]
            meant = "/".join(parts)
            if meant not in archive.layers or name in archive.files:
                self._problems.add(
                    "archive", f"the archive holds {name!r}, a link to {target[:80]!r}, which is no layer in it"
                )
            else:
                archive.files[name], archive.layers[name] = archive.files[meant], archive.layers[meant]


class _Peeked:
    """The current file of the archive, hashed, with a look at how it begins."""

    def __init__(self, tar: TarReader) -> None:
        self._tar, self._hash = tar, hashlib.sha256()
        self._head = b""
        while len(self._head) < BLOCK and (piece := tar.read(BLOCK - len(self._head))):
            self._head += piece
        self._hash.update(self._head)
        self._first = self._head

    def is_layer(self) -> bool:
        """Whether a tar archive starts here, packed or not; papers are JSON."""
        plain_tar = len(self._first) == BLOCK and (self._first[257:262] == b"ustar" or not any(self._first))
        return plain_tar or packing_of(self._first) != "plain"

    def read(self, count: int) -> bytes:
        if self._head:
            piece, self._head = self._head[:count], self._head[count:]
            return piece
        piece = self._tar.read(count)
        self._hash.update(piece)
        return piece

    def digest(self) -> str:
        return self._hash.hexdigest()


class Inside:
    """A file of the clean archive while it is written."""

    def __init__(self, sink: Sink) -> None:
        self._sink, self._hash, self.size = sink, hashlib.sha256(), 0

    def write(self, data: bytes) -> None:
        """Append bytes."""
        self._hash.update(data)
        self.size += len(data)
        self._sink.write(data)

    def digest(self) -> str:
        """Hexadecimal SHA-256 of what was written."""
        return self._hash.hexdigest()


@contextlib.contextmanager
def member_of(sink: Sink, name: str) -> Iterator[Inside]:
    """A file in the clean archive, whose size is filled in when it is known."""
    start = sink.tell()
    sink.write(bytes(BLOCK))
    inside = Inside(sink)
    yield inside
    sink.write(bytes(-inside.size % BLOCK))
    end = sink.tell()
    info = tarfile.TarInfo(name)
    info.size, info.mode = inside.size, 0o644
    sink.seek(start)
    sink.write(info.tobuf(tarfile.GNU_FORMAT))  # one block, whatever the size
    sink.seek(end)
