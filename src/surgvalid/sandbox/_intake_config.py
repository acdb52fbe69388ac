"""Which image an archive holds by its own papers, and its configuration: who runs, what starts, which variables.

Papers are `docker save` manifests and OCI indexes; when an archive has both, they must name the same image: two
readers would otherwise run two programs. Of the configuration a plain one is stored.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from surgvalid.sandbox._intake_layer import MAPPED_IDS, WATCHED, LayerFacts, Problems

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


_MACHINES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
_TEXT_BYTES = 64 << 10


def own_architecture() -> str:
    """This machine's architecture as images call it."""
    return _MACHINES.get(platform.machine().lower(), platform.machine().lower())


def is_dangerous(variable: str) -> bool:
    """Whether an image must not set a variable: it reaches programs of the host that prepare the run.

    The linker's variables reach hooks of the GPU toolkit, and NVIDIA's select GPUs nobody gave.
    """
    return variable.upper().startswith(("LD_", "NVIDIA_", "CUDA_VISIBLE", "CUDA_MPS", "GCONV_", "DBUS_"))


@dataclass(frozen=True)
class ConfigFacts:
    """What is kept of a configuration."""

    user: str
    entrypoint: tuple[str, ...]
    command: tuple[str, ...]
    folder: str
    env: tuple[str, ...]
    removed_env: tuple[str, ...]
    dropped: tuple[str, ...]
    """Names of other settings that are not carried over."""

    def plain(self, architecture: str, diff_ids: Sequence[str]) -> bytes:
        """The configuration as it is stored: only what a run needs."""
        inner = {
            "User": self.user,
            "Entrypoint": list(self.entrypoint),
            "Cmd": list(self.command),
            "Env": list(self.env),
        }
        inner["WorkingDir"] = self.folder
        rootfs = {"type": "layers", "diff_ids": list(diff_ids)}
        whole = {"architecture": architecture, "os": "linux", "config": inner, "rootfs": rootfs}
        return json.dumps(whole, sort_keys=True).encode()


_KEPT = {"User", "Entrypoint", "Cmd", "WorkingDir", "Env"}


def read_config(config: Any, layers: Sequence[LayerFacts], architecture: str, problems: Problems) -> ConfigFacts | None:
    """What the configuration says, or None with the reasons noted."""
    before = len(problems.sentences())
    inner = config.get("config") if isinstance(config, dict) else None
    if not isinstance(config, dict) or not isinstance(inner, dict):
        problems.add("papers", "the image's configuration has no settings")
        return None
    _check_platform(config, architecture, problems)
    _check_layers(config, layers, problems)
    _check_places(layers, problems)
    user = _user(inner.get("User"), layers, problems)
    entrypoint, command = (_words(inner.get(key), key, problems) for key in ("Entrypoint", "Cmd"))
    if not entrypoint and not command:
        problems.add("nothing to start", "the image starts nothing; set ENTRYPOINT or CMD")
    env = _words(inner.get("Env"), "Env", problems)
    if any("=" not in line or "\n" in line for line in env):
        problems.add("papers", "Env holds a line that is no NAME=value")
    if len(problems.sentences()) > before or user is None:
        return None
    kept = tuple(line for line in env if not is_dangerous(line.partition("=")[0]))
    removed = tuple(line.partition("=")[0] for line in env if is_dangerous(line.partition("=")[0]))
    dropped = tuple(sorted(key for key, value in inner.items() if value and key not in _KEPT))
    return ConfigFacts(user, entrypoint, command, _folder(inner.get("WorkingDir")), kept, removed, dropped)


def _check_platform(config: dict[str, Any], architecture: str, problems: Problems) -> None:
    platform = (config.get("os"), config.get("architecture"))
    if platform != ("linux", architecture):
        problems.add(
            "architecture",
            f"it is built for {platform[0]}/{platform[1]}; build it with `--platform linux/{architecture}`",
        )


def _check_layers(config: dict[str, Any], layers: Sequence[LayerFacts], problems: Problems) -> None:
    rootfs = config.get("rootfs")
    claimed = rootfs.get("diff_ids") if isinstance(rootfs, dict) else None
    if claimed != [f"sha256:{layer.digest}" for layer in layers]:
        problems.add("papers", "its layers are not those that its configuration names (other digests or number)")


def _check_places(layers: Sequence[LayerFacts], problems: Problems) -> None:
    """The engine mounts onto these places; a link there would send it elsewhere."""
    for place in sorted(WATCHED):
        kinds = [layer.watched[place] for layer in layers if place in layer.watched]
        if kinds and kinds[-1] not in ("folder", "gone"):
            problems.add("mount point", f"/{place} is a {kinds[-1]}; it must be a real folder or absent")


def _user(given: Any, layers: Sequence[LayerFacts], problems: Problems) -> str | None:
    """User and group as numbers, looked up in the image's own account files when they are names."""
    text = given if isinstance(given, str) else ""
    name, _, group = text.partition(":")
    users, groups = _accounts(layers, "etc/passwd"), _accounts(layers, "etc/group")
    uid = name if name.isdigit() else users.get(name, ("", ""))[0]
    if group:
        gid = group if group.isdigit() else groups.get(group, ("", ""))[0]
    else:
        gids = [gid for number, gid in users.values() if number == uid]
        gid = gids[0] if gids else uid
    if name in ("", "root") or uid.strip("0") == "":
        known = "is root" if name in ("", "root") or uid else "is not in its /etc/passwd"
        problems.add("user", f"its USER {text[:40]!r} {known}; add `USER 1000:1000`")
        return None
    if not gid or gid.strip("0") == "" or not all(n.isdigit() and int(n) < MAPPED_IDS for n in (uid, gid)):
        problems.add("user", f"its USER {text[:40]!r} has the root group, an unknown one or too large a number")
        return None
    return f"{int(uid)}:{int(gid)}"


def _accounts(layers: Sequence[LayerFacts], file: str) -> Mapping[str, tuple[str, str]]:
    """Name to (number, primary group) of an account file; the first line of a name counts, as in the C library."""
    held = [layer.accounts[file] for layer in layers if file in layer.accounts]
    accounts: dict[str, tuple[str, str]] = {}
    for line in (held[-1] if held else b"").decode("utf-8", "replace").splitlines():
        fields = line.split(":")
        if len(fields) >= 3 and fields[2].isdigit():
            accounts.setdefault(fields[0], (fields[2], fields[3] if len(fields) > 3 and fields[3].isdigit() else ""))
    return accounts


def _words(given: Any, key: str, problems: Problems) -> tuple[str, ...]:
    if given is None:
        return ()
    if not isinstance(given, list) or not all(isinstance(word, str) and "\0" not in word for word in given):
        problems.add("papers", f'{key} is not a list of texts; use the exec form, as {key.upper()} ["program"]')
        return ()
    if sum(len(word.encode("utf-8", "replace")) + 1 for word in given) > _TEXT_BYTES:
        problems.add("papers", f"{key} is longer than {_TEXT_BYTES} bytes")
    return tuple(given)


def _folder(given: Any) -> str:
    """The working folder when it is a plain absolute path, else the root."""
    plain = isinstance(given, str) and given.startswith("/") and ".." not in given.split("/") and given.isprintable()
    return given if plain else "/"
