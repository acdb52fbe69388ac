"""Files of annotation tools, whichever tool wrote them: the tool is found by name or by how the file begins.

Of files that people take for annotations and that cannot become procedures, it is said what they are and what to do.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, Protocol, cast

from surgvalid.datasets._archive import is_archive, opened_archive, places_in
from surgvalid.datasets.tools._about import About, Annotations, head_of
from surgvalid.datasets.tools._pictures import Noticed, ShapedImage, annotations_of
from surgvalid.errors import FileUnreadable, UnknownName
from surgvalid.schema.findings import Finding
from surgvalid.schema.legacy import former
from surgvalid.schema.procedures.procedure_files import KEY
from surgvalid.schema.procedures.procedure_problems import check_procedure
from surgvalid.schema.procedures.tracks import Procedure

_IMAGES = (".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff")
_FILMS = (".mp4", ".avi", ".mov", ".mkv", ".mpg", ".webm")
_ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".7z", ".rar")
_NUMBERS = re.compile(r"\s*\d+(\s+[-\d.eE]+){4,}\s*$")
_VATIC = re.compile(r'\s*\d+(\s+-?\d+){8}\s+"')
_SPACED = re.compile(r"\s*\d+(\s+-?[\d.]+){9,}\s*$")


def reason_for(path: Path, head: str) -> str | None:
    """Why a file or folder that no tool recognises cannot be read, or None where nothing is known about it."""
    kind, line = path.suffix.lower(), head.split("\n", 1)[0]
    if path.is_dir() and any(path.glob("**/instances/*.png")):
        return "MOTS: masks of instances as PNG, which are not read; export as MOT or COCO"
    if path.is_dir():
        return "a folder in which no annotation tool recognises its files; name one file of it"
    for kinds, text in (
        (_IMAGES, "an image, no annotations; masks are compared by 'surgvalid evaluate segmentation'"),
        (_FILMS, "a video file, no annotations; give it with --video beside the annotations"),
        (_ARCHIVES, "an archive of another kind than ZIP, or a broken one; unpack it first"),
    ):
        if kind in kinds:
            return text
    if kind == ".json":
        return _json(head)
    if kind == ".xml":
        return "a labelling configuration of Label Studio, no annotations" if "<View" in head else None
    if kind == ".csv":
        return _csv(line)
    return _text(line, head) if kind in (".txt", ".data", ".names", "") else None


def _json(head: str) -> str | None:
    if '"assets"' in head and '"tags"' in head:
        return "a project of VoTT; export it as Pascal VOC or COCO"
    if '"coordinates"' in head and '"image"' in head:
        return "CreateML; export it as COCO or Pascal VOC"
    if '"predicted_iou"' in head or ('"stability_score"' in head and '"segmentation"' in head):
        return "masks of Segment Anything, which have no classes"
    if head.lstrip().startswith("{") and f'"{KEY}"' not in head and f'"{former(KEY)}"' not in head:
        return "an object without 'images' and 'annotations', so not COCO, nor of another tool that is known here"
    return None


def _csv(line: str) -> str | None:
    columns = {cell.strip().strip('"') for cell in line.split(",")}
    if {"image", "xmin", "label"} <= columns:
        return "VoTT's CSV, which tells no size of images; export as Pascal VOC or COCO"
    return None


def _text(line: str, head: str) -> str | None:
    if _VATIC.match(line):
        return "VATIC; export it as MOT or Pascal VOC"
    if _SPACED.match(line):
        return "columns that blanks part; MOT parts them by commas"
    if _NUMBERS.match(line):
        return (
            "labels of one image as YOLO has them; give the folder with the class names "
            "(obj.names, classes.txt, data.yaml)"
        )
    return "text that is no table of annotations" if head.strip() else "an empty file"


TOOLS = ("cvat", "coco", "mot", "label_studio", "segments")
"""Names of the files in this subpackage that read annotated procedures."""
WRITING = ("cvat", "coco", "label_studio")
"""Names of those that write them, to be corrected by people."""
IMAGE_TOOLS = ("via", "labelme", "voc", "yolo", "datumaro", "kitti", "open_images")
"""Names of those that only read, since they keep still images and have no place for most of a procedure."""
_FILE_PER_IMAGE = ("labelme", "voc", "kitti", "yolo")
"""Of these, the images of one folder are one video, which is called as the folder is."""


class Tool(Protocol):
    """What the file of a tool offers: `pictures` where it keeps still images, the rest where it keeps procedures."""

    TITLE: str
    FILE_NAME: str
    """What a file of it is usually called."""

    def recognises(self, path: Path, head: str) -> bool:
        """Whether a file that begins with `head` is one of this tool."""

    def pictures(self, path: Path, about: About, noticed: Noticed) -> Iterable[ShapedImage]:
        """The images in the file, and what was noticed of them."""

    def read(self, path: str | Path, about: About | None = None) -> Annotations:
        """The procedures in the file."""

    def write(self, procedure: Procedure, path: str | Path) -> list[Finding]:
        """What the file cannot hold of the procedure; the rest is written."""


def annotation_tool(name: str) -> Tool:
    """The tool of that name.

    Raises:
        UnknownName: There is none.
    """
    if name not in (*TOOLS, *IMAGE_TOOLS):
        raise UnknownName("annotation tool", name, (*TOOLS, *IMAGE_TOOLS))
    return cast(Tool, import_module(f"surgvalid.datasets.tools.{name}"))


def recognised_tool(path: str | Path) -> str | None:
    """Name of the tool that wrote the file or folder, or None when none recognises it.

    Raises:
        FileUnreadable: No such file or folder.
    """
    if is_archive(Path(path)):
        with opened_archive(Path(path)) as home:
            return next((name for place in places_in(home) if (name := recognised_tool(place))), None)
    head = head_of(Path(path))
    return next((name for name in _ORDER if annotation_tool(name).recognises(Path(path), head)), None)


_ORDER = ("datumaro", "via", "cvat", "label_studio", "coco", "mot", "segments", "open_images", *_FILE_PER_IMAGE)
"""The more particular first."""


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
    if is_archive(Path(path)):
        return _from_archive(Path(path), tool, about)
    name = tool or recognised_tool(path)
    if name is None:
        known = ", ".join((*TOOLS, *IMAGE_TOOLS))
        unknown = f"no annotation tool recognises it; name one of {known}, or unpack it first"
        raise FileUnreadable(str(path), [reason_for(Path(path), head_of(Path(path))) or unknown])
    module, about = annotation_tool(name), about or About()
    if name in TOOLS and not (about.stills and hasattr(module, "pictures")):
        return module.read(path, about)
    home, noticed = Path(path), Noticed(Counter(), [])
    video = (home if home.is_dir() else home.parent).resolve().name if name in _FILE_PER_IMAGE else ""
    return annotations_of(module.pictures(home, about, noticed), noticed, where=str(path), about=about, video=video)


def _from_archive(path: Path, tool: str | None, about: About | None) -> Annotations:
    """The procedures in an archive: of the outermost folder or files in it that a tool recognises."""
    with opened_archive(path) as home:
        listed = [(place, recognised_tool(place)) for place in places_in(home)]
        known = [(place, name) for place, name in listed if name and tool in (None, name)]
        folders = [place for place, _ in known if place.is_dir()]
        chosen = [(place, name) for place, name in known if not any(one in place.parents for one in folders)]
        if len(names := sorted({name for _, name in chosen})) > 1:
            raise FileUnreadable(str(path), [f"the archive holds files of {', '.join(names)}; unpack it and name one"])
        if not chosen:
            raise FileUnreadable(str(path), ["the archive holds no file that an annotation tool recognises"])
        read = [read_annotations(place, tool=name, about=about) for place, name in chosen]
    procedures = [procedure for one in read for procedure in one.procedures]
    return Annotations(procedures, [finding for one in read for finding in one.findings])


class DrawnImages(NamedTuple):
    """The images of a file of an annotation tool."""

    title: str
    """What the file is."""
    images: list[ShapedImage]
    noticed: Noticed


def drawn_images(path: Path) -> DrawnImages | None:
    """The images of a file and what is drawn on them; None where it is of no tool that keeps still images.

    Raises:
        FileUnreadable: The file is not what it claims to be.
    """
    name = recognised_tool(path)
    if name not in ("cvat", *IMAGE_TOOLS):
        return None
    module, noticed = annotation_tool(name), Noticed(Counter(), [])
    return DrawnImages(module.TITLE, list(module.pictures(path, About(), noticed)), noticed)


def write_annotations(procedure: Procedure, path: str | Path, *, tool: str) -> list[Finding]:
    """What the tool's file cannot hold of the procedure; the rest is written to `path`.

    Raises:
        UnknownName: There is no such tool.
        ProcedureInvalid: The procedure has problems, or texts that the format cannot write; nothing is written.
    """
    if tool not in WRITING:
        raise UnknownName("annotation tool that writes", tool, WRITING)
    return annotation_tool(tool).write(check_procedure(procedure), path)
