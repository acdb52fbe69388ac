"""Image archives with the machine's own Python in them, for tests of real containers without any registry."""

from __future__ import annotations

import re
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from image_archives import BUSYBOX, Entry, archive, config_bytes, docker_members, entry, folder, layer, link

PYTHON = Path("/usr/bin/python3")
_LEFT_OUT = ("config-", "ensurepip", "lib2to3", "distutils", "idlelib", "tkinter", "pydoc_data", "test", "unittest",
             "turtledemo", "sqlite3", "curses", "__pycache__", "dist-packages", "site-packages")  # fmt: skip
PIP = b"""#!/usr/bin/python3
import sys
assert sys.argv[1:-1] == ["install", "--no-cache-dir", "-r"], sys.argv
print(open(sys.argv[-1]).read())
"""
"""Stands in for pip where nothing can be downloaded: takes the call that a pack makes, and reads its file."""
BUILDERS = {
    "podman": """#!/bin/sh
[ "$1" = build ] || exec {engine} "$@"
shift
exec {engine} build --isolation chroot --from {base} "$@"
""",
    "docker": """#!/bin/sh
[ "$1" = build ] || exec {engine} "$@"
shift
for last in "$@"; do :; done
sed 's|^FROM .*|FROM {base}|' "$last/Dockerfile" > "$last/.dockerfile-offline"
DOCKER_BUILDKIT=0 exec {engine} build --network none --file "$last/.dockerfile-offline" "$@"
""",
}
"""Stand in for the engines' programs: they build on an image of ours, whatever a Dockerfile asks for."""


def reason_not_to_build() -> str | None:
    """Why no image can be made here, or None."""
    return None if PYTHON.exists() else f"there is no {PYTHON} to put into an image"


def python_archive(
    path: Path, app: Path, *, command: tuple[str, ...] = ("/usr/bin/python3", "/app/app.py"), unique: str = ""
) -> Path:
    """An archive as `docker save` writes it: Python, and the files of `app` in /app."""
    files = [entry(f"app/{one.name}", one.read_bytes()) for one in sorted(app.glob("*.py"))]
    layers = [layer(_python()), layer([folder("app"), *files])]

    def change(config: dict[str, Any]) -> None:
        named = f"UNIQUE={unique or uuid.uuid4()}"  # workers of one test run must not remove each other's image
        config["config"] = {"User": "65534:65534", "Env": ["PATH=/usr/bin", named], "Entrypoint": list(command)}

    return archive(path, docker_members(layers, config=config_bytes(layers, change), tags=("mine:1",)))


@contextmanager
def offline_builder(engine: str, folder_: Path) -> Iterator[Path]:
    """A folder with a `podman` or `docker` that builds on an image of ours, whatever a Dockerfile asks for.

    It has a shell, Python and a pip that downloads nothing. It is removed afterwards, and no other name is touched.
    """
    tools = [folder("bin"), entry("bin/sh", BUSYBOX.read_bytes(), mode=0o755), entry("usr/bin/pip", PIP, mode=0o755)]
    layers = [layer(_python()), layer([*tools, link("usr/bin/python", "python3")])]
    name = f"localhost/surgvalid-test-base:{uuid.uuid4().hex}"

    def change(config: dict[str, Any]) -> None:
        config |= {"config": {"Env": ["PATH=/usr/bin:/bin"]}, "history": [{"created_by": name} for _ in layers]}

    folder_.mkdir()
    base = archive(folder_ / "base.tar", docker_members(layers, config=config_bytes(layers, change), tags=(name,)))
    subprocess.run([engine, "load", "--quiet", "--input", base], check=True, capture_output=True)
    (folder_ / engine).write_text(BUILDERS[engine].format(engine=shutil.which(engine), base=name))
    (folder_ / engine).chmod(0o755)
    try:
        yield folder_
    finally:
        subprocess.run([engine, "rmi", "--force", name], check=True, capture_output=True)


def _python() -> list[Entry]:
    program = PYTHON.resolve()
    library = next(Path("/usr/lib").glob(f"{program.name}/os.py")).parent
    members = [
        one for one in sorted(library.rglob("*"))
        if one.is_file() and not any(part.startswith(_LEFT_OUT) for part in one.relative_to(library).parts)
    ]  # fmt: skip
    found = {str(program): program.read_bytes()} | {str(one): one.read_bytes() for one in members}
    told = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True).stdout
    found |= {name: Path(name).read_bytes() for name in re.findall(r"(/lib\S+) \(", told)}
    folders = {str(parent)[1:] for name in found for parent in Path(name).parents if str(parent) != "/"}
    return [
        *(folder(name) for name in sorted({*folders, "etc"})),
        folder("tmp", 0o1777),
        entry("etc/passwd", b"nobody:x:65534:65534::/:/bin/false\n"),
        *(entry(name[1:], data, mode=0o755 if ".so" in name or data[:4] == b"\x7fELF" else 0o644)
          for name, data in sorted(found.items())),
        link("usr/bin/python3", program.name),
    ]  # fmt: skip
