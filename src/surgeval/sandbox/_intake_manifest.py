"""Which image an archive holds, by its own papers: `docker save` manifests and OCI indexes.

When an archive has both, they must name the same image: two readers would otherwise run two programs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from surgeval.sandbox._intake_layer import Problems

_INDEX_DEPTH = 3


@dataclass(frozen=True)
class Blob:
    """A file of the archive: its digest, and its bytes when it is small enough to be papers."""

    digest: str
    size: int
    data: bytes | None


@dataclass(frozen=True)
class Papers:
    """The one image of an archive: names of its configuration and layers within the archive."""

    config: str
    layers: tuple[str, ...]
    tags: tuple[str, ...] = ()


def find_papers(files: Mapping[str, Blob], problems: Problems) -> Papers | None:
    """The one image that the archive names, or None with the reasons noted."""
    saved = _docker_papers(files, problems) if "manifest.json" in files else []
    laid_out = _oci_papers(files, problems) if "index.json" in files else []
    if problems.count("papers"):
        return None
    for papers, name in ((saved, "manifest.json"), (laid_out, "index.json")):
        if len(papers) > 1:
            problems.add("two images", f"{name} names {len(papers)} images; save exactly one")
            return None
    if not saved and not laid_out:
        problems.add("no image", "it holds no image; write it with `docker save` or `podman save`")
        return None
    if saved and laid_out and not _same(saved[0], laid_out[0], files):
        problems.add("two images", "manifest.json and index.json name different images; save it again")
        return None
    return (saved or laid_out)[0]


def strict_json(data: bytes | None, what: str, problems: Problems) -> Any:
    """The parsed text, or None with the reason noted: repeated keys, NaN and deep nesting are refused."""
    if data is None:
        problems.add("papers", f"{what} is missing or too large")
        return None
    try:
        return json.loads(data, object_pairs_hook=_unique, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        problems.add("papers", f"{what} is not plain JSON ({str(error)[:80]})")
        return None


def _docker_papers(files: Mapping[str, Blob], problems: Problems) -> list[Papers]:
    listed = strict_json(files["manifest.json"].data, "manifest.json", problems)
    if not isinstance(listed, list) or not all(_is_docker_entry(item) for item in listed):
        problems.add("papers", "manifest.json is not a list of images with Config and Layers")
        return []
    papers = []
    for item in listed:
        for name in (item["Config"], *item["Layers"]):
            if name not in files:
                problems.add("papers", f"manifest.json names {name!r}, which is not in the archive")
            elif (claimed := _digest_in(name)) and claimed != files[name].digest:
                problems.add("papers", f"{name!r} does not hold what its name says (other digest)")
        tags = item.get("RepoTags") or []
        papers.append(Papers(item["Config"], tuple(item["Layers"]), tuple(str(tag)[:200] for tag in tags)))
    return papers


def _is_docker_entry(item: Any) -> bool:
    if not isinstance(item, dict) or not isinstance(item.get("Config"), str):
        return False
    layers, tags = item.get("Layers"), item.get("RepoTags")
    return isinstance(layers, list) and all(isinstance(n, str) for n in layers) and isinstance(tags, list | None)


def _digest_in(name: str) -> str | None:
    """The digest that a file name claims to be, if it claims one."""
    last = name.rpartition("/")[2].removesuffix(".json").removesuffix(".tar")
    return last if len(last) == 64 and not last.strip("0123456789abcdef") else None


def _oci_papers(files: Mapping[str, Blob], problems: Problems) -> list[Papers]:
    index = strict_json(files["index.json"].data, "index.json", problems)
    return _manifests(index, files, problems, _INDEX_DEPTH)


def _manifests(index: Any, files: Mapping[str, Blob], problems: Problems, depth: int) -> list[Papers]:
    listed = index.get("manifests") if isinstance(index, dict) else None
    if not isinstance(listed, list) or depth == 0:
        problems.add("papers", "index.json is not an index of images")
        return []
    papers: list[Papers] = []
    for descriptor in listed:
        if _is_attestation(descriptor):
            continue
        name = _blob(descriptor, files, problems)
        manifest = strict_json(files[name].data, name, problems) if name else None
        if isinstance(manifest, dict) and "manifests" in manifest:
            papers += _manifests(manifest, files, problems, depth - 1)
        elif isinstance(manifest, dict):
            papers += _oci_image(manifest, files, problems)
    return papers


def _oci_image(manifest: dict[str, Any], files: Mapping[str, Blob], problems: Problems) -> list[Papers]:
    config = _blob(manifest.get("config"), files, problems)
    listed = manifest.get("layers")
    if not isinstance(listed, list):
        problems.add("papers", "an image manifest has no list of layers")
        return []
    layers = [_blob(descriptor, files, problems) for descriptor in listed]
    return [Papers(config, tuple(name for name in layers if name))] if config and all(layers) else []


def _is_attestation(descriptor: Any) -> bool:
    """Whether a builder's note about an image, not an image; it is never run."""
    notes = descriptor.get("annotations") if isinstance(descriptor, dict) else None
    return isinstance(notes, dict) and notes.get("vnd.docker.reference.type") == "attestation-manifest"


def _blob(descriptor: Any, files: Mapping[str, Blob], problems: Problems) -> str | None:
    """The archive's name of what a descriptor points at, checked in digest and size."""
    digest = descriptor.get("digest") if isinstance(descriptor, dict) else None
    if not isinstance(digest, str) or not digest.startswith("sha256:") or not _digest_in(digest[7:]):
        problems.add("papers", "a descriptor has no sha256 digest")
        return None
    name = f"blobs/sha256/{digest[7:]}"
    if descriptor.get("urls"):
        problems.add("papers", f"{digest[:19]} is to be fetched from elsewhere; save the whole image")
    elif name not in files:
        problems.add("papers", f"{digest[:19]} is named but not in the archive")
    elif files[name].digest != digest[7:] or files[name].size != descriptor.get("size"):
        problems.add("papers", f"{digest[:19]} does not hold what its name says (other digest or size)")
    else:
        return name
    return None


def _same(one: Papers, other: Papers, files: Mapping[str, Blob]) -> bool:
    def digests(papers: Papers) -> list[str]:
        return [files[name].digest for name in (papers.config, *papers.layers)]

    return digests(one) == digests(other)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = dict(pairs)
    if len(keys) != len(pairs):
        raise ValueError("a key is repeated")
    return keys


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")
