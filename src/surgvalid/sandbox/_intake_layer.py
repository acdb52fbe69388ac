"""One layer of an image: every entry judged, and written again in a form that can be read one way only."""

from __future__ import annotations

import tarfile
from dataclasses import dataclass, field
from typing import Protocol

from surgvalid.sandbox._intake_tar import BLOCK, CHUNK, Budget, IntakeStops, Read, TarEntry, TarReader, Unpacked
from surgvalid.sandbox._launch import INPUT_TARGET, OUTPUT_TARGET, SOCKET_TARGET

MAPPED_IDS = 65536
"""Users and groups a container can map; owners beyond become nobody."""
WATCHED = frozenset(
    path.strip("/")
    for target in (INPUT_TARGET, OUTPUT_TARGET, SOCKET_TARGET, "/tmp", "/proc", "/sys", "/dev/shm", "/etc")
    for path in (target, target.rpartition("/")[0])
    if path.strip("/")
)
"""Places where the engine mounts or writes, and what leads to them; each must be a real folder."""
_OPEN = (OUTPUT_TARGET, SOCKET_TARGET, "/tmp")
"""Mounted as memory file systems in which the submission may write."""
ACCOUNT_FILES = ("etc/passwd", "etc/group")
_ACCOUNT_BYTES = 256 << 10
_NAME_BYTES, _PATH_BYTES, _DEPTH = 255, 4000, 200
_WHITEOUT, _OPAQUE = ".wh.", ".wh..wh..opq"


class Writes(Protocol):
    """Takes bytes."""

    def write(self, data: bytes, /) -> object: ...


@dataclass
class LayerFacts:
    """What a layer holds, as far as the whole image depends on it."""

    digest: str = ""
    """Of the layer as it came, unpacked."""
    clean_digest: str = ""
    """Of the layer as it is written again."""
    member: str = ""
    """Its name in the clean archive."""
    entries: int = 0
    unpacked_bytes: int = 0
    setuid: int = 0
    watched: dict[str, str] = field(default_factory=dict)
    """Kind of each watched place that this layer sets; `gone` for one that it removes."""
    accounts: dict[str, bytes] = field(default_factory=dict)


class Problems:
    """Sentences for the person who made the image; many of one kind are counted, not listed."""

    LISTED_PER_KIND = 3

    def __init__(self) -> None:
        self._by_kind: dict[str, list[str]] = {}

    def add(self, kind: str, sentence: str) -> None:
        """Note a problem."""
        self._by_kind.setdefault(kind, []).append(sentence if self.count(kind) < self.LISTED_PER_KIND else "")

    def count(self, kind: str) -> int:
        """How many there are of a kind."""
        return len(self._by_kind.get(kind, ()))

    def sentences(self) -> list[str]:
        """All of them, in order of kind."""
        lines = []
        for kind, sentences in self._by_kind.items():
            lines += sentences[: self.LISTED_PER_KIND]
            if len(sentences) > self.LISTED_PER_KIND:
                lines.append(f"{len(sentences) - self.LISTED_PER_KIND} more of the kind {kind!r}")
        return lines


def read_layer(
    read: Read, what: str, *, budget: Budget, problems: Problems, entries_left: int, sink: Writes
) -> LayerFacts:
    """Facts of one layer; a clean copy goes into `sink`.

    Raises:
        IntakeStops: It cannot be read to its end.
    """
    stream = Unpacked(read, budget, what)
    before = budget.bytes_left
    tar = TarReader(stream.read, what)
    layer = _Layer(what, problems, _CleanTar(sink))
    for entry in tar.entries():
        layer.facts.entries += 1
        if layer.facts.entries > entries_left:
            raise IntakeStops("the image holds more files than allowed; make it smaller")
        layer.take(entry, tar)
    stream.drain()
    layer.facts.digest = stream.digest
    layer.facts.unpacked_bytes = before - budget.bytes_left
    layer.clean.close()
    return layer.facts


class _Layer:
    def __init__(self, what: str, problems: Problems, clean: _CleanTar) -> None:
        self.what, self.problems, self.clean = what, problems, clean
        self.facts = LayerFacts()
        self._kinds: dict[str, str] = {}

    def take(self, entry: TarEntry, tar: TarReader) -> None:
        """Judge an entry; a good one is written to the clean copy."""
        path = self._path(entry.name)
        if path is None or not self._acceptable(entry, path):
            return
        self._kinds[path] = entry.kind
        self._note(entry, path)
        keep = tar.read(_ACCOUNT_BYTES) if path in ACCOUNT_FILES and entry.kind == "file" else b""
        if keep:
            self.facts.accounts[path] = keep
        if path:
            self.clean.add(entry, path, keep, tar.read)

    def _path(self, name: str) -> str | None:
        """The plain path of an entry, or None with the reason noted."""
        parts = name.split("/")
        if name.startswith("/"):
            self._no("absolute path", f"{name!r} is an absolute path")
        elif ".." in parts:
            self._no("path out of the image", f"{name!r} climbs out of the image")
        elif not _is_utf8(name):
            self._no("name", f"{name!r} is not UTF-8")
        elif not _is_usable(parts) or "\n" in name:
            self._no("name", f"{name[:60]!r}... is no usable file name (too long, too deep or a line break)")
        else:
            return "/".join(name for name in parts if name not in ("", "."))
        return None

    def _acceptable(self, entry: TarEntry, path: str) -> bool:
        if entry.kind in ("device", "named pipe"):
            return self._no(entry.kind, f"{path!r} is a {entry.kind}; an image holds files, folders and links")
        if path in self._kinds and not (self._kinds[path] == entry.kind == "folder"):
            return self._no("duplicate", f"{path!r} appears twice in one layer")
        if any(name.startswith(("trusted.", "security.capability")) for name in entry.attributes):
            if any(name.startswith("trusted.") for name in entry.attributes):
                return self._no("attribute", f"{path!r} carries a file-system attribute that only the kernel may set")
            self.facts.setuid += 1
        if not self._parents_are_folders(path) or not self._whiteout_is_plain(path):
            return False
        if entry.kind == "hard link":
            return self._hard_link(entry, path)
        if entry.kind == "symbolic link":
            return self._symbolic_link(entry, path)
        return True

    def _parents_are_folders(self, path: str) -> bool:
        parts = path.split("/")
        for stop in range(1, len(parts)):
            parent = "/".join(parts[:stop])
            if self._kinds.get(parent, "folder") != "folder":
                return self._no(
                    "file through a link",
                    f"{path!r} is written through {parent!r}, a {self._kinds[parent]} of the same layer",
                )
        return True

    def _whiteout_is_plain(self, path: str) -> bool:
        name = path.rpartition("/")[2]
        removed = name.removeprefix(_WHITEOUT)
        if name == _OPAQUE or not name.startswith(_WHITEOUT):
            return True
        if removed in ("", ".", "..") or removed.startswith(_WHITEOUT):
            return self._no("whiteout", f"{path!r} removes something that is no file of the image")
        return True

    def _hard_link(self, entry: TarEntry, path: str) -> bool:
        target = "/".join(name for name in entry.link.split("/") if name not in ("", "."))
        outside = entry.link.startswith("/") or ".." in entry.link.split("/")
        if outside or self._kinds.get(target) not in ("file", "hard link", "symbolic link"):
            return self._no(
                "hard link", f"{path!r} is a hard link to {entry.link!r}, which is no earlier file of its layer"
            )
        entry.link = target
        return True

    def _symbolic_link(self, entry: TarEntry, path: str) -> bool:
        depth = 0 if entry.link.startswith("/") else path.count("/")
        for name in entry.link.split("/"):
            depth += -1 if name == ".." else name not in ("", ".")
            if depth < 0:
                return self._no(
                    "link out of the image", f"{path!r} is a link that climbs out of the image ({entry.link!r})"
                )
        if not entry.link or "\n" in entry.link or not _is_utf8(entry.link):
            return self._no("link", f"{path!r} is a link to no usable name")
        return True

    def _note(self, entry: TarEntry, path: str) -> None:
        if entry.mode & 0o6000 and entry.kind == "file":
            self.facts.setuid += 1
        parent, _, name = path.rpartition("/")
        if path in WATCHED:
            self.facts.watched[path] = entry.kind
        elif name == _OPAQUE:
            self.facts.watched.update({place: "gone" for place in WATCHED if place.startswith(f"{parent}/")})
            self.facts.accounts.update({place: b"" for place in ACCOUNT_FILES if place.startswith(f"{parent}/")})
        elif name.startswith(_WHITEOUT):
            removed = "/".join(path for path in (parent, name.removeprefix(_WHITEOUT)) if path)
            inside = [p for p in (*WATCHED, *ACCOUNT_FILES) if p == removed or p.startswith(f"{removed}/")]
            self.facts.watched.update({place: "gone" for place in inside if place in WATCHED})
            self.facts.accounts.update({place: b"" for place in inside if place in ACCOUNT_FILES})
        elif path in ACCOUNT_FILES and entry.kind != "file":
            self._no("account file", f"/{path} is a {entry.kind}; it must be a plain file")

    def _no(self, kind: str, sentence: str) -> bool:
        self.problems.add(kind, f"{self.what}: {sentence}")
        return False


class _CleanTar:
    """A layer written again: plain owners, no setuid bits, no attributes, one meaning."""

    def __init__(self, sink: Writes) -> None:
        self._sink = sink

    def add(self, entry: TarEntry, path: str, head: bytes, read: Read) -> None:
        info = tarfile.TarInfo(path)
        info.type = _TYPES[entry.kind]
        info.size, info.mode, info.mtime = entry.size, entry.mode & 0o1777, entry.mtime
        info.uid, info.gid = (owner if owner < MAPPED_IDS else MAPPED_IDS - 2 for owner in (entry.uid, entry.gid))
        info.linkname = entry.link if entry.kind.endswith("link") else ""
        self._sink.write(info.tobuf(tarfile.PAX_FORMAT))
        self._sink.write(head)
        while piece := read(CHUNK):
            self._sink.write(piece)
        self._sink.write(bytes(-entry.size % BLOCK))

    def close(self) -> None:
        self._sink.write(bytes(2 * BLOCK))


def mount_points() -> bytes:
    """The last layer of every clean image: folders to mount on, with the rights they need.

    The runtime gives a memory file system the mode of the folder below it, whatever mode was asked for; an
    image that brings its own `/output` or `/tmp`, as most do, would make them unwritable for everyone but root.
    """
    folders = (*_OPEN, *(place.rpartition("/")[0] for place in _OPEN), INPUT_TARGET)
    parts = []
    for place in sorted({folder.strip("/") for folder in folders} - {""}):
        info = tarfile.TarInfo(place)
        info.type, info.mode = tarfile.DIRTYPE, 0o1777 if f"/{place}" in _OPEN else 0o755
        parts.append(info.tobuf(tarfile.PAX_FORMAT))
    return b"".join([*parts, bytes(2 * BLOCK)])


_TYPES = {
    "file": tarfile.REGTYPE,
    "folder": tarfile.DIRTYPE,
    "symbolic link": tarfile.SYMTYPE,
    "hard link": tarfile.LNKTYPE,
}


def _is_usable(parts: list[str]) -> bool:
    lengths = [len(name.encode()) for name in parts]
    return max(lengths) <= _NAME_BYTES and sum(lengths) + len(parts) <= _PATH_BYTES and len(parts) <= _DEPTH


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
