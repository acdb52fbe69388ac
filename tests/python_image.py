"""An image archive with the machine's own Python in it, for tests of real containers without any registry."""

from __future__ import annotations

import re
import subprocess
import uuid
from pathlib import Path
from typing import Any

from image_archives import Entry, archive, config_bytes, docker_members, entry, folder, layer, link

PYTHON = Path("/usr/bin/python3")
_LEFT_OUT = ("config-", "ensurepip", "lib2to3", "distutils", "idlelib", "tkinter", "pydoc_data", "test", "unittest",
             "turtledemo", "sqlite3", "curses", "__pycache__", "dist-packages", "site-packages")  # fmt: skip


def reason_not_to_build() -> str | None:
    """Why no image can be made here, or None."""
    return None if PYTHON.exists() else f"there is no {PYTHON} to put into an image"


def python_archive(path: Path, app: Path, *, command: tuple[str, ...] = ("/usr/bin/python3", "/app/app.py")) -> Path:
    """An archive as `docker save` writes it: Python, and the files of `app` in /app."""
    files = [entry(f"app/{one.name}", one.read_bytes()) for one in sorted(app.glob("*.py"))]
    layers = [layer(_python()), layer([folder("app"), *files])]

    def change(config: dict[str, Any]) -> None:
        unique = f"UNIQUE={uuid.uuid4()}"  # workers of one test run must not remove each other's image
        config["config"] = {"User": "65534:65534", "Env": ["PATH=/usr/bin", unique], "Entrypoint": list(command)}

    return archive(path, docker_members(layers, config=config_bytes(layers, change), tags=("mine:1",)))


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
