"""Images with shapes on them, as tools for still images keep them, brought into procedures.

The images of a folder are the frames of one video, and the digits at the end of a file's name are the frame's number.
Where that cannot be (names without digits or with different beginnings, images of different sizes), every image is a
video of its own, of one second, which a finding says; where the caller tells a rate or a video file, they were meant as
frames and the file is refused. A shape without an identity is an object of its own that nobody has told apart from
others, so it is only proposed; in a video of one frame there is nothing to tell apart. Sizes that are not told are
those of the images beside the file.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from surgvalid.datasets.tools._about import About, Annotations, before_upload, number
from surgvalid.datasets.tools._draft import Rectangle, VideoDraft, finish
from surgvalid.errors import ProcedureInvalid
from surgvalid.schema.procedures.procedure_problems import RATE
from surgvalid.schema.procedures.tracks import Visibility
from surgvalid.video.images import image_size

_NUMBERED = re.compile(r"(.*?)(\d{1,15})$", re.DOTALL)
_STILLS = "say --stills where every image is a video of its own"
_IMAGES = (".jpg", ".jpeg", ".png")
_OF_ANNOTATIONS = ("annotations", "labels", "label_2")
"""Folders of exports whose images lie beside them."""
_SHOWN = 3
NOTES = {
    "outline": ("shape-as-box", "shapes that are no boxes are kept as the box around them"),
    "rotated": ("rotation", "rotated boxes are kept as the upright box around them"),
    "points": ("not-kept", "points and lines have no box and are not kept"),
    "labels": ("not-kept", "labels of whole images are not kept"),
    "ignored": ("not-kept", "objects of no class, to be ignored, are not kept"),
    "deleted": ("not-kept", "shapes are marked as deleted and are not kept"),
    "difficult": ("not-kept", "objects are marked as difficult, which is not kept"),
    "parts": ("not-kept", "parts of objects are not kept"),
    "unlike": ("not-kept", "results of another kind are not kept"),
    "stills": ("stills", "images cannot be frames of one video (names, sizes): each is a video of its own, of 1 s"),
}
"""Code and text of the finding on each thing that a reader counts."""


class Noticed(NamedTuple):
    """What a reader of images noticed."""

    counts: Counter[str]
    """What it left out or made another thing of, by the keys of `NOTES`."""
    problems: list[str]
    """What it could not read."""


class DrawnShape(NamedTuple):
    """One thing drawn on an image, as the upright box around it."""

    label: str
    box: Rectangle
    instance: str = ""
    """Which object it is; empty where the file does not tell."""
    attributes: Mapping[str, str] = {}
    occluded: bool = False
    score: str | float | None = None
    """How sure a model is, where one drew it."""
    outline: Sequence[Sequence[float]] = ()
    """Polygons, each as x, y, x, y, ...; where the reader keeps them."""


class ShapedImage(NamedTuple):
    """An image and what is drawn on it."""

    name: str
    """Its file, with the folders before it where they are told."""
    shapes: Sequence[DrawnShape]
    width_px: int | None = None
    height_px: int | None = None
    by: str = ""
    """Who drew the shapes, where several did; theirs are videos of their own."""
    stated_name: str = ""
    """Its name as the file tells it, where `name` is another."""


def annotations_of(
    pictures: Iterable[ShapedImage], noticed: Noticed, *, where: str, about: About, video: str = ""
) -> Annotations:
    """The procedures that the images are frames of.

    Args:
        pictures: The images.
        noticed: By whoever read them; complete once they are taken.
        where: The file or folder that they come from.
        about: What it does not tell.
        video: What the video of images without a folder is called; by default as the file or folder.

    Raises:
        ProcedureInvalid: Something cannot be true, or images have no place; every problem is listed.
    """
    listed = without_hashes(list(pictures))
    stills = not about.stills and not about.of_frames and are_stills(listed)
    if stills or about.stills:
        listed = _without_common_folder(listed)
    gathered = _Gathered(where, replace(about, stills=True) if stills else about, video or Path(where).resolve().stem)
    for picture in listed:
        gathered.take(picture)
    wrong = [*noticed.problems, *gathered.problems()]
    if not gathered.drafts and not wrong:
        wrong.append("holds no image with annotations")
    if wrong:
        raise ProcedureInvalid(where, wrong)
    if stills:
        noticed.counts["stills"] = len(listed)
    gathered.say(noticed.counts)
    return Annotations(*finish(list(gathered.drafts.values()), where))


def without_hashes(pictures: list[ShapedImage]) -> list[ShapedImage]:
    """The images by the names that they had before they were uploaded, where all bear the mark of an upload."""
    names = before_upload([picture.name for picture in pictures])
    return [one._replace(name=name) for one, name in zip(pictures, names, strict=True)]


def _without_common_folder(pictures: list[ShapedImage]) -> list[ShapedImage]:
    """The images by their names below the folder that all lie in: what tells none of them from another goes."""
    paths = [PurePosixPath(picture.name.replace("\\", "/").lstrip("/")) for picture in pictures]
    common = len(PurePosixPath(os.path.commonpath([path.parent for path in paths])).parts) if paths else 0
    names = ("/".join(path.parts[common:]) for path in paths)
    return [one._replace(name=name) for one, name in zip(pictures, names, strict=True)]


def are_stills(pictures: Iterable[ShapedImage]) -> bool:
    """Whether images of one folder cannot be frames of one video: by names without a common beginning, or by sizes."""
    seen: dict[str, set[tuple[object, ...]]] = {}
    for picture in pictures:
        path = PurePosixPath(picture.name.replace("\\", "/"))
        if (numbered := _NUMBERED.fullmatch(path.stem)) is None:
            return True
        size = (picture.width_px, picture.height_px) if picture.width_px and picture.height_px else ()
        seen.setdefault(f"{path.parent} {picture.by}", set()).add((numbered[1], *size))
    return any(len(kinds) > 1 for kinds in seen.values())


class _Gathered:
    """The videos of the images so far."""

    def __init__(self, where: str, about: About, video: str) -> None:
        self.where, self.about, self.video = where, about, video
        self.drafts: dict[str, VideoDraft] = {}
        self.beside = ImagesBeside(Path(where))
        self.unplaced: list[str] = []
        self.anonymous = 0
        self.sizes: dict[str, set[str]] = {}
        self.beginnings: dict[str, set[str]] = {}
        self.frames: Counter[tuple[str, int]] = Counter()

    def take(self, picture: ShapedImage) -> None:
        """Take over one image."""
        path = PurePosixPath(picture.name.replace("\\", "/"))
        numbered = _NUMBERED.fullmatch(path.stem)
        if self.about.stills:
            video, frame = path.with_suffix("").as_posix().lstrip("./"), 0
        elif numbered is None:
            self.unplaced.append(picture.name)
            return
        else:
            video, frame = path.parent.name or self.video, int(numbered[2])
            self.beginnings.setdefault(video, set()).add(numbered[1])
        video += f" by {picture.by}" if picture.by else ""
        self.frames[(video, frame)] += 1
        draft = self.drafts.setdefault(video, VideoDraft(self.where, self.about, video=video))
        size = picture.width_px, picture.height_px
        size = size if all(size) else self.beside.size_of(path.as_posix())
        if size[0] and size[1]:
            self.sizes.setdefault(video, set()).add(f"{size[0]} x {size[1]}")
            draft.width_px, draft.height_px = size
        second = draft.second_of(frame)
        if second is None:
            draft.between += len(picture.shapes)
            return
        draft.duration_s = max(draft.duration_s or 0, second + 1)
        self.anonymous += _take(draft, picture, frame, second, named=self.about.stills)

    def problems(self) -> list[str]:
        """Why images cannot be frames of videos."""
        problems = []
        if self.unplaced:
            problems.append(
                f"{len(self.unplaced)} images have no frame number at the end of their name ({_listed(self.unplaced)}),"
                f" so they cannot be placed in a video; {_STILLS}"
            )
        for what, kinds in (
            ("names of images begin in different ways", self.beginnings),
            ("images of different sizes", self.sizes),
        ):
            for video, several in kinds.items():
                if len(several) > 1:
                    problems.append(f"video {video!r}: {what} ({_listed(sorted(several))}); {_STILLS}")
        repeated = [(video, frame, count) for (video, frame), count in self.frames.items() if count > 1]
        return problems + [f"{count} images are frame {frame} of video {video!r}" for video, frame, count in repeated]

    def say(self, counts: Counter[str]) -> None:
        """Keep the findings on all images with the first video."""
        first = next(iter(self.drafts.values()))
        for key, (code, text) in NOTES.items():
            if counts[key]:
                first.note(code, f"{counts[key]} {text}")
        if self.anonymous:
            text = "shapes bear no identity; each is a proposed object of its own until somebody links them"
            first.note("no-identity", f"{self.anonymous} {text}")
        if not self.about.stills and self.about.fps is None:
            message = "numbers at the end of image names are interpreted as seconds; give --fps where they count frames"
            first.note("no-frame-rate", message)
            for draft in self.drafts.values():
                draft.assumed.append(RATE)


def _listed(texts: Sequence[str]) -> str:
    return ", ".join(map(repr, texts[:_SHOWN])) + (", ..." if len(texts) > _SHOWN else "")


def _take(draft: VideoDraft, picture: ShapedImage, frame: int, second: int, *, named: bool) -> int:
    """How many of the image's shapes bear no identity; all are taken over."""
    anonymous = 0
    for place, shape in enumerate(picture.shapes, start=1):
        instance = shape.instance or (f"{shape.label} {place}" if named else f"{shape.label} {frame}.{place}")
        if not shape.instance and not named:
            draft.proposed.append(instance)
            anonymous += 1
        track = draft.track(instance, shape.label)
        track.see(second, shape.box, Visibility.OCCLUDED if shape.occluded else Visibility.VISIBLE)
        if shape.attributes:
            track.attributes.update(shape.attributes)
    return anonymous


def taken_name(attributes: dict[str, str], keys: Sequence[str], label: str) -> str:
    """The name that attributes give an object, taken out of them; a number counts objects of the label."""
    identity = next((attributes.pop(key) for key in keys if attributes.get(key)), "")
    return f"{label} {identity}" if identity.isdecimal() else identity


def box_around(points: Iterable[Sequence[object]]) -> Rectangle | None:
    """The upright box around points; None where one is no pair of numbers, or where they span nothing."""
    pairs = [(number(point[0]), number(point[1])) if len(point) >= 2 else (None, None) for point in points]
    xs, ys = [x for x, _ in pairs if x is not None], [y for _, y in pairs if y is not None]
    if not pairs or len(xs) < len(pairs) or len(ys) < len(pairs):
        return None
    return min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys)


def box_around_ellipse(x: float, y: float, half_width: float, half_height: float, turn_deg: float = 0.0) -> Rectangle:
    """The upright box around an ellipse that is turned about its centre."""
    turn = math.radians(turn_deg)
    wide = math.hypot(half_width * math.cos(turn), half_height * math.sin(turn))
    high = math.hypot(half_width * math.sin(turn), half_height * math.cos(turn))
    return x - wide, y - high, 2 * wide, 2 * high


class ImagesBeside:
    """The images that lie with annotations: in their folder or below it, or beside a folder that holds annotations."""

    def __init__(self, where: Path) -> None:
        home = (where if where.is_dir() else where.parent).resolve()
        self.home = home.parent if home.name.lower() in _OF_ANNOTATIONS else home

    @cached_property
    def _listed(self) -> dict[str, list[Path]]:
        listed: dict[str, list[Path]] = {}
        for path in (one for depth in ("*", "*/*", "*/*/*") for one in self.home.glob(depth)):
            if path.suffix.lower() in _IMAGES:
                listed.setdefault(path.stem, []).append(path)
        return listed

    def size_of(self, name: str) -> tuple[int, int] | tuple[None, None]:
        """The size of the image of that name, with or without its ending; none where images of that name differ."""
        path = PurePosixPath(name)
        stem = path.stem if path.suffix.lower() in _IMAGES else path.name
        same_name = next((self._listed[one] for one in (stem, *before_upload([stem])) if one in self._listed), [])
        near = [len({*one.parts} & {*path.parent.parts}) for one in same_name]
        sizes = {image_size(one) for one, shared in zip(same_name, near, strict=True) if shared == max(near)} - {None}
        return (sizes.pop() or (None, None)) if len(sizes) == 1 else (None, None)
