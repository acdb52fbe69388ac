"""Files of annotation tools, whichever tool wrote them: the tool is found by name or by how the file begins.

Of files that people take for annotations and that cannot become procedures, it is said what they are and what to do.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Protocol, cast

from surgvalid.datasets._archive import is_archive, opened_archive
from surgvalid.datasets.tools._about import About, Annotations, head_of
from surgvalid.datasets.tools._pictures import Noticed, ShapedImage, annotations_of
from surgvalid.errors import FileUnreadable, UnknownName
from surgvalid.schema.findings import Finding
from surgvalid.schema.legacy import former
from surgvalid.schema.procedures.procedure_files import KEY
from surgvalid.schema.procedures.procedure_problems import check_procedure
from surgvalid.schema.procedures.tracks import Procedure

_ANNOTATIONS = (".json", ".xml", ".csv", ".tsv", ".txt")
_IMAGES = ".jpg .jpeg .png .bmp .tif .tiff"
_TEXTS = ".txt .data .names "
"""The last is no ending at all."""
_TRIED = 1000
_SAME_IMAGES = re.compile(r"(?:image_info|stuff|captions|labels|person_keypoints|panoptic)_(.*\.json)")
"""Files of a COCO folder on the images that `instances_*` tells the objects of."""
_NO_SIZES = "VoTT's CSV, which tells no size of images; export as Pascal VOC or COCO"
_NO_COCO = "an object without 'images' and 'annotations', so not COCO, nor of another tool that is known here"
_NO_TABLE, _EMPTY = "text that is no table of annotations", "an empty file"
_MOTS_TEXT = "MOTS: masks of instances as text, which are not read; export as MOTS PNG, MOT or COCO"
_LIKE_YOLO = "labels of one image as YOLO has them; give the folder with the class names (classes.txt, ...)"
_REASONS = (
    (_IMAGES, "", "an image, no annotations; masks are compared by 'surgvalid evaluate segmentation'"),
    (".mp4 .avi .mov .mkv .mpg .webm", "", "a video file, no annotations; give it with --video beside the annotations"),
    (".zip .tar .gz .tgz .7z .rar", "", "an archive of another kind than ZIP, or a broken one; unpack it first"),
    (".nii", "", "a volume or mask, no annotations of a video; export boxes as COCO"),
    (".datum .arrow", "", "binary annotations of Datumaro; export them as Datumaro JSON"),
    (".tfrecord .record", "", "TFRecord; export as COCO or Datumaro JSON"),
    (".json", '.*"assets".*"tags"|.*"tags".*"assets"', "a project of VoTT; export it as Pascal VOC or COCO"),
    (".json", '(?=.*"coordinates").*"image"', "CreateML; export it as COCO or Pascal VOC"),
    (".json", '.*"(predicted_iou|stability_score)"', "masks of Segment Anything, which have no classes"),
    (".json", '.*"geometryType"', "Supervisely; export it as COCO or Pascal VOC"),
    (".json", rf'\{{(?!.*"({KEY}|{former(KEY)})")', _NO_COCO),
    (".xml", ".*<View", "a labelling configuration of Label Studio, no annotations"),
    (_TEXTS, r"\Z", _EMPTY),
    (
        ".csv",
        r"(?=[^\n]*\bxmin\b)(?=[^\n]*\blabel\b)[^\n]*\bimage\b",
        _NO_SIZES,
    ),
    (".csv", r"[^,\n]+(,\d[\d.]*){6,7}$", "AVA, actions in boxes; export as COCO"),
    (_TEXTS, r"\S*imagesource:|(-?[\d.]+ ){8}[A-Za-z]", "DOTA, turned boxes as text; export as COCO"),
    (_TEXTS, r'\d+( +-?\d+){8} +"', "VATIC; export it as MOT or Pascal VOC"),
    (_TEXTS, r"\d+ \d+ \d+ \d+ \d+ \S+$", _MOTS_TEXT),
    (_TEXTS, r"\d+([ \t]+-?[\d.]+){9,}$", "columns that blanks part; MOT parts them by commas"),
    (_TEXTS, r"\d+([ \t]+[-\d.eE]+){4,}$", _LIKE_YOLO),
    (_TEXTS, r"\S+\.(jpe?g|png)$", "a list of images, as WIDER FACE and others begin; export as COCO"),
    (_TEXTS, "", _NO_TABLE),
)
"""By ending: how a file begins, and what it is then."""


def reason_for(path: Path, head: str) -> str | None:
    """Why a file or folder that no tool recognises cannot be read, or None where nothing is known about it."""
    if path.is_dir():
        return _reason_for_folder(path)
    kind, text = path.suffix.lower(), head.strip()
    begin = text if kind in (".json", ".xml") else text.split("\n", 1)[0].rstrip()
    known = (what for kinds, words, what in _REASONS if kind in kinds.split(" ") and re.match(words, begin, re.DOTALL))
    return next(known, None)


def _reason_for_folder(folder: Path) -> str:
    """What the first telling file of a folder is, else what the folder holds."""
    files = sorted(one for one in islice(folder.rglob("*"), _TRIED) if one.is_file())
    for one in files:
        reason = None if one.suffix.lower() in _IMAGES.split() else reason_for(one, head_of(one))
        if reason not in (None, _NO_COCO, _NO_TABLE, _EMPTY):
            return f"{one.relative_to(folder).as_posix()} is {reason}"
    if any(one.suffix.lower() in _IMAGES.split() for one in files):
        return "images without boxes or outlines; masks of classes tell no objects: export as COCO"
    if not files:
        return "an empty folder"
    return "a folder in which no annotation tool recognises its files; name one file of it"


TOOLS = ("cvat", "coco", "mot", "label_studio", "segments")
"""Names of the files in this subpackage that read annotated procedures."""
WRITING = ("cvat", "coco", "label_studio")
"""Names of those that write them, to be corrected by people."""
IMAGE_TOOLS = ("via", "labelme", "voc", "yolo", "datumaro", "kitti", "open_images", "mots")
"""Names of those that only read, since they keep still images and have no place for most of a procedure."""
_FILE_PER_IMAGE = ("labelme", "voc", "kitti", "yolo", "mots")
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
    """Name of the tool that wrote the file, folder or archive, or what lies in these; None when none recognises it.

    Raises:
        FileUnreadable: No such file or folder.
    """
    if is_archive(Path(path)):
        with opened_archive(Path(path)) as home:
            return recognised_tool(home)
    return next((name for _, name in _recognised(Path(path))), None)


def _recognised(path: Path) -> Iterator[tuple[Path, str]]:
    """What a tool recognises: the file or folder itself, else the outermost folders in it, then files of no folder."""
    head, inner = head_of(path), list[Path]()
    name = next((one for one in _ORDER if annotation_tool(one).recognises(path, head)), None)
    if name:
        yield path, name
    elif path.is_dir() and not any(map(_is_procedure, sorted(path.glob("*.json"))[:_TRIED])):
        inner = sorted(path.iterdir(), key=lambda one: (one.is_file(), one.name))
    for one in inner:
        task = _SAME_IMAGES.fullmatch(one.name)
        if task and one.with_name(f"instances_{task[1]}").exists():
            continue
        if one.is_dir() or one.suffix.lower() in _ANNOTATIONS:
            yield from _recognised(one)


def _is_procedure(path: Path) -> bool:
    return any(f'"{name}"' in head_of(path)[:_TRIED] for name in (KEY, former(KEY)))


_ORDER = ("mots", "datumaro", "via", "cvat", "label_studio", "coco", "mot", "segments", "open_images", *_FILE_PER_IMAGE)
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
        with opened_archive(Path(path)) as home:
            return _read(home, str(path), tool, about or About())
    return _read(Path(path), str(path), tool, about or About())


def _read(path: Path, where: str, tool: str | None, about: About) -> Annotations:
    """The procedures in what tools recognise in a path, which must be of one tool."""
    known = [(place, name) for place, name in _recognised(path) if tool in (None, name)] or [(path, tool or "")]
    if len(names := sorted({name for _, name in known})) > 1:
        raise FileUnreadable(where, [f"it holds files of {', '.join(names)}; name one of them"])
    if not names[0]:
        unknown = f"no annotation tool recognises it; name one of {', '.join((*TOOLS, *IMAGE_TOOLS))}"
        raise FileUnreadable(where, [reason_for(path, head_of(path)) or unknown])
    read = [_read_one(place, name, about) for place, name in known]
    procedures = [procedure for one in read for procedure in one.procedures]
    return Annotations(procedures, [finding for one in read for finding in one.findings])


def _read_one(home: Path, name: str, about: About) -> Annotations:
    module, noticed = annotation_tool(name), Noticed(Counter(), [])
    if name in TOOLS and not (about.stills and hasattr(module, "pictures")):
        return module.read(home, about)
    video = (home if home.is_dir() else home.parent).resolve().name if name in _FILE_PER_IMAGE else ""
    return annotations_of(module.pictures(home, about, noticed), noticed, where=str(home), about=about, video=video)


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
