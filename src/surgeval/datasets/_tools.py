"""Files of annotation tools, whichever tool wrote them: the tool is found by name or by how the file begins."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from surgeval.datasets._about import About, Annotations
from surgeval.datasets._others import reason_for
from surgeval.errors import FileUnreadable, UnknownName
from surgeval.schema.findings import Finding
from surgeval.schema.procedure_problems import check_procedure
from surgeval.schema.tracks import Procedure

TOOLS = ("cvat", "coco", "mot", "label_studio", "segments")
"""Names of the files in this room that read and write annotated procedures."""
IMAGE_TOOLS = ("via", "labelme", "voc", "yolo", "datumaro")
"""Names of those that only read, since they keep still images and have no place for most of a procedure."""
_HEAD_BYTES = 1 << 16


class Reader(Protocol):
    """What the file of a tool that only reads offers."""

    TITLE: str

    def recognises(self, path: Path, head: str) -> bool:
        """Whether a file that begins with `head` is one of this tool."""

    def read(self, path: str | Path, about: About | None = None) -> Annotations:
        """The procedures in the file."""


class Tool(Reader, Protocol):
    """What the file of a tool offers."""

    FILE_NAME: str
    """What a file of it is usually called."""

    def write(self, procedure: Procedure, path: str | Path) -> list[Finding]:
        """What the file cannot hold of the procedure; the rest is written."""


def annotation_tool(name: str) -> Tool:
    """The tool of that name, which reads and writes.

    Raises:
        UnknownName: There is none.
    """
    if name not in TOOLS:
        raise UnknownName("annotation tool that writes", name, TOOLS)
    return cast(Tool, import_module(f"surgeval.datasets.{name}"))


def annotation_reader(name: str) -> Reader:
    """The tool of that name, which reads at least.

    Raises:
        UnknownName: There is none.
    """
    if name not in (*TOOLS, *IMAGE_TOOLS):
        raise UnknownName("annotation tool", name, (*TOOLS, *IMAGE_TOOLS))
    return cast(Reader, import_module(f"surgeval.datasets.{name}"))


def recognised_tool(path: str | Path) -> str | None:
    """Name of the tool that wrote the file or folder, or None when none recognises it.

    Raises:
        FileUnreadable: No such file or folder.
    """
    head = _head(Path(path))
    return next((name for name in _ORDER if annotation_reader(name).recognises(Path(path), head)), None)


_ORDER = ("datumaro", "via", "cvat", "label_studio", "coco", "mot", "segments", "labelme", "voc", "yolo")
"""The more particular first."""


def _head(path: Path) -> str:
    if path.is_dir():
        return ""
    try:
        with open(path, "rb") as handle:
            return _decoded(handle.read(_HEAD_BYTES))
    except OSError as error:
        raise FileUnreadable(str(path), [error.strerror or "cannot be opened"]) from None


def _decoded(head: bytes) -> str:
    wide = head[:2] in (b"\xff\xfe", b"\xfe\xff")
    return head.decode("utf-16" if wide else "utf-8-sig", errors="replace")


def read_annotations(path: str | Path, *, tool: str | None = None, about: About | None = None) -> Annotations:
    """The procedures in a file or folder of an annotation tool, and what was noticed.

    Args:
        path: The file; or the folder of a MOT sequence, of YOLO labels, or of one file per image.
        tool: Its name; by default it is found by how the file begins.
        about: What the file does not tell: frame rate, centre, kind of procedure, ...

    Raises:
        UnknownName: There is no such tool.
        FileUnreadable: No tool recognises the file, or it is not what it claims to be.
        ProcedureInvalid: Something in it cannot be true; every problem is listed.
    """
    name = tool or recognised_tool(path)
    if name is None:
        known = ", ".join((*TOOLS, *IMAGE_TOOLS))
        unknown = f"no annotation tool recognises it; name one of {known}, or unpack it first"
        raise FileUnreadable(str(path), [reason_for(Path(path), _head(Path(path))) or unknown])
    return annotation_reader(name).read(path, about)


def write_annotations(procedure: Procedure, path: str | Path, *, tool: str) -> list[Finding]:
    """What the tool's file cannot hold of the procedure; the rest is written to `path`.

    Raises:
        UnknownName: There is no such tool.
        ProcedureInvalid: The procedure has problems, or texts that the format cannot write; nothing is written.
    """
    return annotation_tool(tool).write(check_procedure(procedure), path)
