"""Files that people take for annotations and that cannot become procedures: what they are, and what to do instead."""

from __future__ import annotations

import re
from pathlib import Path

_IMAGES = (".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff")
_FILMS = (".mp4", ".avi", ".mov", ".mkv", ".mpg", ".webm")
_ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".7z", ".rar")
_NUMBERS = re.compile(r"\s*\d+(\s+[-\d.eE]+){4,}\s*$")
_VATIC = re.compile(r'\s*\d+(\s+-?\d+){8}\s+"')
_SPACED = re.compile(r"\s*\d+(\s+-?[\d.]+){9,}\s*$")


def reason_for(path: Path, head: str) -> str | None:
    """Why a file or folder that no tool recognises cannot be read, or None where nothing is known about it."""
    kind, line = path.suffix.lower(), head.split("\n", 1)[0]
    if path.is_dir():
        return "a folder in which no annotation tool recognises its files; name one file of it"
    for kinds, text in (
        (_IMAGES, "an image, no annotations; masks are compared by 'surgeval evaluate segmentation'"),
        (_FILMS, "a film, no annotations; give it with --video beside the annotations"),
        (_ARCHIVES, "an archive; unpack it first"),
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
    if head.lstrip().startswith("{") and '"surgeval_procedure"' not in head:
        return "an object without 'images' and 'annotations', so not COCO, nor of another tool that is known here"
    return None


def _csv(line: str) -> str | None:
    columns = {cell.strip().strip('"') for cell in line.split(",")}
    if {"annotation_id", "annotator"} <= columns:
        return "Label Studio's CSV, in which values lose their kind; export as JSON or JSON_MIN"
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
