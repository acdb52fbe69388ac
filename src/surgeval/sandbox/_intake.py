"""Intake: an image archive is read as a stream, judged, and written again; it is never loaded as it came.

`docker load` of a stranger's archive moves tags to his image, and his tar headers, links, volumes and
variables reach the engine unread. So every byte is read here once, under a budget, and what is handed
to the engine is an archive of our own writing: same files, plain headers, plain configuration, one
name that is its digest.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from surgeval.errors import ImageRefused
from surgeval.sandbox._intake_archive import Archive, ArchivePass, Nowhere, Sink, member_of
from surgeval.sandbox._intake_config import ConfigFacts, own_architecture, read_config
from surgeval.sandbox._intake_layer import LayerFacts, Problems, mount_points
from surgeval.sandbox._intake_manifest import Papers, find_papers, strict_json
from surgeval.sandbox._intake_streams import IntakeStops
from surgeval.sandbox._intake_tar import BLOCK


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
    return _take_in(Path(path), limits or ImageLimits(), Nowhere())


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
    return f"localhost/surgeval:{digest.removeprefix('sha256:')}"


def _notes(config: ConfigFacts, setuid: int) -> Iterator[str]:
    if setuid:
        yield f"{setuid} files lose their setuid bit or file capability"
    if config.removed_env:
        yield f"variables not carried over: {', '.join(config.removed_env)}"
    if config.dropped:
        yield f"settings not carried over: {', '.join(config.dropped)}"
