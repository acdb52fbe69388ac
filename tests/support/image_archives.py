"""Image archives for tests, written by hand: honest ones from the machine's own busybox, and hostile ones."""

from __future__ import annotations

import copy
import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

BUSYBOX = Path("/bin/busybox")
APPLETS = (
    "sh cat ls id sleep dd env mount unshare touch mkdir ln mkfifo wget nslookup true mknod yes printf grep".split()
)

Entry = tuple[tarfile.TarInfo, bytes]


def entry(name: str, data: bytes = b"", *, kind: bytes = tarfile.REGTYPE, link: str = "", mode: int = 0o644) -> Entry:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode, info.size = kind, link, mode, len(data)
    return info, data


def folder(name: str, mode: int = 0o755) -> Entry:
    return entry(name, kind=tarfile.DIRTYPE, mode=mode)


def link(name: str, target: str) -> Entry:
    return entry(name, kind=tarfile.SYMTYPE, link=target)


def layer(entries: Iterable[Entry], *, form: int = tarfile.PAX_FORMAT) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=form) as tar:
        for info, data in entries:
            tar.addfile(info, io.BytesIO(data))
    return stream.getvalue()


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


PASSWD = b"root:x:0:0:root:/root:/bin/sh\nmodel:x:1000:1000::/:/bin/sh\nsneaky:x:0:0::/:/bin/sh\n"

CONFIG: dict[str, Any] = {
    "architecture": "amd64",
    "os": "linux",
    "config": {"User": "1000:1000", "Env": ["PATH=/bin"], "Entrypoint": ["/bin/sh", "-c"], "Cmd": ["sleep 300"]},
    "rootfs": {"type": "layers"},
}


def small_entries() -> list[Entry]:
    return [folder("bin"), folder("etc"), entry("etc/passwd", PASSWD), entry("bin/tool", b"#!", mode=0o755)]


def busybox_layer() -> bytes:
    links = [entry(f"bin/{name}", kind=tarfile.LNKTYPE, link="bin/busybox", mode=0o755) for name in APPLETS]
    tool = entry("bin/busybox", BUSYBOX.read_bytes(), mode=0o755)
    return layer([folder("bin"), folder("etc"), folder("tmp", 0o1777), entry("etc/passwd", PASSWD), tool, *links])


def config_bytes(layers: Iterable[bytes], change: Callable[[dict[str, Any]], object] | None = None) -> bytes:
    config = copy.deepcopy(CONFIG)
    config["rootfs"]["diff_ids"] = [f"sha256:{digest(one)}" for one in layers]
    if change:
        change(config)
    return json.dumps(config).encode()


def docker_members(
    layers: list[bytes], *, config: bytes | None = None, tags: Iterable[str] = ("team/model:1",)
) -> dict[str, bytes]:
    """The files of `docker save`, by name and in its order."""
    config = config if config is not None else config_bytes(layers)
    names = [f"{digest(one)}/layer.tar" for one in layers]
    manifest = [{"Config": f"{digest(config)}.json", "RepoTags": list(tags), "Layers": names}]
    members = dict(zip(names, layers, strict=True))
    return {**members, f"{digest(config)}.json": config, "manifest.json": json.dumps(manifest).encode()}


def oci_members(layers: list[bytes], *, config: bytes | None = None, compress: bool = True) -> dict[str, bytes]:
    """The files of an OCI archive, by name."""
    config = config if config is not None else config_bytes(layers)
    blobs = [gzip.compress(one, mtime=0) if compress else one for one in layers]
    kind = "application/vnd.oci.image.layer.v1.tar" + ("+gzip" if compress else "")
    manifest = json.dumps(
        {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": _descriptor("application/vnd.oci.image.config.v1+json", config),
            "layers": [_descriptor(kind, blob) for blob in blobs],
        }
    ).encode()
    index = {
        "schemaVersion": 2,
        "manifests": [_descriptor("application/vnd.oci.image.manifest.v1+json", manifest)],
    }
    files = {f"blobs/sha256/{digest(blob)}": blob for blob in [*blobs, config, manifest]}
    return {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}', **files, "index.json": json.dumps(index).encode()}


def _descriptor(kind: str, blob: bytes) -> dict[str, Any]:
    return {"mediaType": kind, "digest": f"sha256:{digest(blob)}", "size": len(blob)}


def archive(path: Path, members: dict[str, bytes] | Iterable[Entry]) -> Path:
    entries = [entry(name, data) for name, data in members.items()] if isinstance(members, dict) else members
    path.write_bytes(layer(entries))
    return path


def busybox_archive(path: Path, change: Callable[[dict[str, Any]], object] | None = None) -> Path:
    layers = [busybox_layer()]
    return archive(path, docker_members(layers, config=config_bytes(layers, change)))
