"""Images of one small program each, made here byte by byte: nothing of them comes from anywhere."""

from __future__ import annotations

import hashlib
import io
import json
import struct
import tarfile
from collections.abc import Mapping
from pathlib import Path

from surgeval.sandbox._intake_config import own_architecture

_BASE, _HEADERS = 0x400000, 64 + 56
_MACHINES = {"amd64": 62, "arm64": 183}


def elf_file(code: bytes, architecture: str) -> bytes:
    """A program file for an architecture with this machine code, which is entered at its first byte."""
    size = _HEADERS + len(code)
    head = b"\x7fELF\x02\x01\x01" + bytes(9)
    entry = (2, _MACHINES[architecture], 1, _BASE + _HEADERS, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    head += struct.pack("<HHIQQQIHHHHHH", *entry)
    return head + struct.pack("<IIQQQQQQ", 1, 5, 0, _BASE, _BASE, size, size, 0x10000) + code


def write_own_image(path: Path, name: str, program: bytes, env: Mapping[str, str] | None = None) -> Path:
    """An image archive of this machine's architecture that starts one program; equal contents, equal image."""
    layer = _tar({name: program}, mode=0o755)
    variables = [f"{variable}={value}" for variable, value in (env or {}).items()]
    config = json.dumps(
        {
            "architecture": own_architecture(),
            "os": "linux",
            "config": {"User": "65534:65534", "Entrypoint": [f"/{name}"], "Env": variables},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
        }
    ).encode()
    manifest = json.dumps([{"Config": "config.json", "RepoTags": [], "Layers": ["layer.tar"]}]).encode()
    path.write_bytes(_tar({"layer.tar": layer, "config.json": config, "manifest.json": manifest}))
    return path


def _tar(files: dict[str, bytes], *, mode: int = 0o644) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(data), mode
            tar.addfile(info, io.BytesIO(data))
    return stream.getvalue()
