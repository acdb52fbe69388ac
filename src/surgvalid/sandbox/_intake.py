"""Intake: an image archive is read as a stream, judged, and written again; it is never loaded as it came.

`docker load` of a stranger's archive moves tags to his image, and his tar headers, links, volumes and
variables reach the engine unread. So every byte is read here once, under a budget, and what is handed
to the engine is an archive of our own writing: same files, plain headers, plain configuration, one
name that is its digest.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from surgvalid.errors import ImageRefused
from surgvalid.sandbox._intake_config import (
    Blob,
    ConfigFacts,
    Papers,
    find_papers,
    own_architecture,
    read_config,
    strict_json,
)
from surgvalid.sandbox._intake_layer import LayerFacts, Problems, mount_points, read_layer
from surgvalid.sandbox._intake_tar import BLOCK, CHUNK, Budget, IntakeStops, TarEntry, TarReader, Unpacked, packing_of

_PAPERS_BYTES = 4 << 20
_MEMBERS = 2000


class Sink(Protocol):
    """Where the clean archive goes: a file, or nowhere."""

    def write(self, data: bytes, /) -> int: ...
    def tell(self) -> int: ...
    def seek(self, offset: int, /) -> int: ...


class NoSink:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageLimits:
    """What an image may be."""

    archive_mb: int = 40_000
    unpacked_mb: int = 80_000
    files: int = 500_000
    layers: int = 124
    """One less than docker stores: the last layer of a clean image is ours."""
    ratio: float = 200.0
    """Unpacked over packed size, looked at beyond 64 MiB."""
    architecture: str = field(default_factory=own_architecture)
    refuse_setuid: bool = False
    """Refuse images with setuid files. Otherwise the bit is removed: almost every distribution ships some."""


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """What intake found out about an acceptable image."""

    digest: str
    """SHA-256 of its configuration, which names every layer: the identifier the participant knows."""
    clean_digest: str
    """The same for the image as it is stored and run."""
    size_mb: float
    unpacked_mb: float
    files: int
    layers: int
    architecture: str
    user: str
    entrypoint: tuple[str, ...]
    command: tuple[str, ...]
    tags: tuple[str, ...]
    """Names that the archive claims; nothing uses them."""
    notes: tuple[str, ...]
    """What was removed from the image on its way in."""


def inspect_image(path: Path, limits: ImageLimits | None = None) -> ImageFacts:
    """Facts of an image archive (`docker save` or OCI; plain, gzip or xz), read once as a stream.

    Raises:
        ImageRefused: With a sentence per problem.
    """
    return _take_in(Path(path), limits or ImageLimits(), NoSink())


def write_clean_image(path: Path, destination: Path, limits: ImageLimits | None = None) -> ImageFacts:
    """Facts of an image archive, and the archive of our own writing that an engine may load.

    Raises:
        ImageRefused: With a sentence per problem; nothing is left at `destination`.
    """
    try:
        with open(destination, "wb") as sink:
            return _take_in(Path(path), limits or ImageLimits(), sink)
    except BaseException:
        destination.unlink(missing_ok=True)
        raise


def _take_in(path: Path, limits: ImageLimits, sink: Sink) -> ImageFacts:
    problems = Problems()
    facts = None
    try:
        facts = _judge(path, limits, sink, problems)
    except IntakeStops as stop:
        problems.add("stop", str(stop))
    except OSError as error:
        problems.add("stop", f"it cannot be read ({error.strerror})")
    if facts is None or problems.sentences():
        raise ImageRefused(path.name, problems.sentences())
    return facts


def _judge(path: Path, limits: ImageLimits, sink: Sink, problems: Problems) -> ImageFacts | None:
    size = path.stat().st_size
    if size > limits.archive_mb << 20:
        raise IntakeStops(f"it has {size >> 20} MB; allowed are {limits.archive_mb}")
    reading = ArchivePass(
        unpacked_bytes=limits.unpacked_mb << 20, ratio=limits.ratio, files=limits.files, sink=sink, problems=problems
    )
    archive = reading.read(path)
    papers = find_papers(archive.files, problems)
    if papers is None:
        return None
    layers = _layers_of(papers, archive, limits, problems)
    config = strict_json(archive.files[papers.config].data, "the image's configuration", problems)
    facts = read_config(config, layers, limits.architecture, problems)
    setuid = sum(layer.setuid for layer in layers)
    if setuid and limits.refuse_setuid:
        problems.add("setuid", f"{setuid} files are setuid; add `RUN find / -xdev -perm /6000 -exec chmod a-s {{}} +`")
    if facts is None or problems.sentences():
        return None
    clean = _finish(facts, layers, limits, sink)
    return ImageFacts(
        digest=f"sha256:{archive.files[papers.config].digest}",
        clean_digest=f"sha256:{clean}",
        size_mb=size / 2**20,
        unpacked_mb=sum(layer.unpacked_bytes for layer in layers) / 2**20,
        files=sum(layer.entries for layer in layers),
        layers=len(layers),
        architecture=limits.architecture,
        user=facts.user,
        entrypoint=facts.entrypoint,
        command=facts.command,
        tags=papers.tags,
        notes=tuple(_notes(facts, setuid)),
    )


def _layers_of(papers: Papers, archive: Archive, limits: ImageLimits, problems: Problems) -> list[LayerFacts]:
    unused = set(archive.layers) - set(papers.layers) - set(archive.links)
    unused -= {
        name for name in unused if archive.files[name].digest in {archive.files[n].digest for n in papers.layers}
    }
    if unused:
        problems.add("two images", f"{len(unused)} layers belong to no image of the archive (first: {min(unused)!r})")
    if not 0 < len(papers.layers) <= limits.layers:
        problems.add("layers", f"it has {len(papers.layers)} layers; allowed are 1 to {limits.layers}")
    not_tar = [name for name in papers.layers if name not in archive.layers]
    if not_tar:
        problems.add("layers", f"layer {not_tar[0]!r} is not a tar archive")
    return [archive.layers[name] for name in papers.layers if name in archive.layers]


def _finish(config: ConfigFacts, layers: list[LayerFacts], limits: ImageLimits, sink: Sink) -> str:
    """The digest of the clean image, after its last layer and its papers were written."""
    digests, names = [layer.clean_digest for layer in layers], [layer.member for layer in layers]
    places = mount_points()
    actual = hashlib.sha256(places).hexdigest()
    if digests[-1] != actual:  # an image that was taken in before has it already
        digests.append(actual)
        names.append("mount-points.tar")
        _write_member(sink, names[-1], places)
    plain = config.plain(limits.architecture, [f"sha256:{one}" for one in digests])
    digest = hashlib.sha256(plain).hexdigest()
    manifest = [{"Config": f"{digest}.json", "RepoTags": [own_name(digest)], "Layers": names}]
    for name, data in ((f"{digest}.json", plain), ("manifest.json", json.dumps(manifest).encode())):
        _write_member(sink, name, data)
    sink.write(bytes(2 * BLOCK))
    return digest


def _write_member(sink: Sink, name: str, data: bytes) -> None:
    with member_of(sink, name) as inside:
        inside.write(data)


def own_name(digest: str) -> str:
    """The only name that a stored image gets."""
    return f"localhost/surgvalid:{digest.removeprefix('sha256:')}"


def _notes(config: ConfigFacts, setuid: int) -> Iterator[str]:
    if setuid:
        yield f"{setuid} files lose their setuid bit or file capability"
    if config.removed_env:
        yield f"variables not carried over: {', '.join(config.removed_env)}"
    if config.dropped:
        yield f"settings not carried over: {', '.join(config.dropped)}"
