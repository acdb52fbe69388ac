"""COCO JSON with videos: images that are frames, boxes with a track.

Read: `videos` (or the folders in the file names) tell the videos apart; the frame number is `frame_index`, `frame_id`
or the digits at the end of the file name; identity is `track_id` or `instance_id` of an annotation or of its
`attributes`, where the attribute `instance` gives the object's name. Crowd regions are left out and segmentations
are kept as their boxes; findings say so.

Written: one image per second and one annotation per box. What COCO has no words for (events, phases, ...) is carried
in the video's key `surgvalid`, so nothing is lost; other programs ignore that key.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from surgvalid.datasets.tools._about import About, Annotations, number, rows, whole, write_text
from surgvalid.datasets.tools._draft import Rectangle, VideoDraft, finish
from surgvalid.datasets.tools._losses import SIDECAR, losses, sidecar_of, take_sidecar
from surgvalid.datasets.tools._pictures import (
    DrawnShape,
    Noticed,
    ShapedImage,
    annotations_of,
    are_stills,
    without_hashes,
)
from surgvalid.errors import FileUnreadable, ProcedureInvalid
from surgvalid.schema.documents import read_json
from surgvalid.schema.findings import Finding
from surgvalid.schema.legacy import former, with_new_keys
from surgvalid.schema.procedures.procedure_files import KEY
from surgvalid.schema.procedures.tracks import Procedure, Track, Visibility

Image = TypeVar("Image")


def _pictures(document: dict[str, Any], counts: Counter[str], problems: list[str]) -> list[ShapedImage]:
    names, listed = _names_in(document), rows(document.get("images"))
    shapes = {row["id"]: list[DrawnShape]() for row in listed if isinstance(row.get("id"), int | str)}
    if len(shapes) < len(listed):
        problems.append("several images have the same id, or none")
    drawn = _annotations_in(document)
    twice = Counter((str(row.get("image_id")), str(row["id"])) for row in drawn if "id" in row)
    problems += [f"{n} annotations of image {image} have the id {i}" for (image, i), n in twice.items() if n > 1]
    for row in drawn:
        if placed := _placed(row, names, shapes, problems):
            counts["outline"] += bool(row.get("segmentation"))
            placed[1].append(DrawnShape(placed[0], placed[2]))
    return [
        ShapedImage(
            str(row.get("file_name")), shapes.get(row.get("id"), []), whole(row.get("width")), whole(row.get("height"))
        )
        for row in listed
    ]


def _names_in(document: dict[str, Any]) -> dict[Any, str]:
    listed = rows(document.get("categories"))
    return {row["id"]: str(row.get("name", "")) for row in listed if isinstance(row.get("id"), int | str)}


def _placed(
    row: dict[str, Any], names: Mapping[Any, str], images: Mapping[Any, Image], problems: list[str]
) -> tuple[str, Image, Rectangle] | None:
    """The label, image and box of an annotation; None where one of them cannot be, which is told."""
    category, image, sides = row.get("category_id"), row.get("image_id"), row.get("bbox")
    label = names.get(category) if isinstance(category, int | str) else None
    at = images.get(image) if isinstance(image, int | str) else None
    box = [side for value in sides if (side := number(value)) is not None] if isinstance(sides, list) else []
    title = f"annotation {row.get('id')!r}"
    if not label:
        problems.append(f"{title}: unknown category {category!r}")
    if at is None:
        problems.append(f"{title}: no usable image {image!r}")
    if not isinstance(sides, list) or not len(box) == len(sides) == 4:
        problems.append(f"{title}: bbox must be four numbers, got {str(sides)[:60]}")
        return None
    return (label, at, (box[0], box[1], box[2], box[3])) if label and at is not None else None


def _annotations_in(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The annotations; of panoptic COCO the segments, whose numbers count the objects of one image only."""
    listed = rows(document.get("annotations"))
    segments = [
        {**segment, "id": f"{row.get('image_id')}.{segment.get('id')}", "image_id": row.get("image_id")}
        | {"segmentation": True}
        for row in listed
        for segment in rows(row.get("segments_info"))
    ]
    return segments or listed


TITLE = "COCO JSON, with videos and tracks where it has them"
FILE_NAME = "instances.json"
_IDENTITY = ("instance", "track_id", "instance_id")
_OF_VIDEOS = ("video_id", "frame_index", "frame_id")
_RESERVED = (*_IDENTITY, "occluded", "rotation")
_READ = {
    "annotations": (
        "id",
        "image_id",
        "category_id",
        "bbox",
        "area",
        "iscrowd",
        "segmentation",
        "attributes",
        *_IDENTITY,
    ),
    "images": (
        "id",
        "video_id",
        "frame_index",
        "frame_id",
        "file_name",
        "width",
        "height",
        "license",
        "date_captured",
        "coco_url",
        "flickr_url",
    ),
}
"""Keys that are read, or tell nothing of what a frame shows; any other is named in a finding."""
_LAST_DIGITS = re.compile(r"(\d{1,15})\D*$")


def recognises(path: Path, head: str) -> bool:
    """Whether a file that begins with `head` is one of this tool."""
    keys = ('"images"', '"annotations"', '"categories"', '"licenses"')
    start = head.lstrip()
    ours = start.startswith(tuple(f'{{"{name(KEY)}"' for name in (str, former)))
    return path.suffix.lower() == ".json" and start.startswith("{") and not ours and any(key in head for key in keys)


def read(path: str | Path, about: About | None = None) -> Annotations:
    """The procedures in the file, one per video.

    Raises:
        FileUnreadable: Not JSON, or not COCO.
        ProcedureInvalid: Something in it cannot be true; every problem is listed.
    """
    document, about, noticed = _document(path), about or About(), Noticed(Counter(), [])
    of_videos = any(key in row for row in rows(document["images"]) for key in _OF_VIDEOS) or rows(
        document.get("videos")
    )
    if about.stills or (not of_videos and not about.of_frames and rows(document["images"])):
        images = without_hashes(_pictures(document, *noticed))
        if about.stills or are_stills(images):
            return annotations_of(images, noticed, where=str(path), about=about)
    return Annotations(*_Reader(document, str(path), about).result())


def _document(path: str | Path) -> dict[str, Any]:
    document = read_json(path)
    if not isinstance(document, dict) or not isinstance(document.get("images"), list):
        raise FileUnreadable(str(path), ["not COCO: expected an object with the list 'images'"])
    return document


def placed_images(path: str | Path, about: About | None = None) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The images of a COCO file, each with its `id`, `video` and `second`, and its categories.

    For results of a detector, which name images by their id only. Images between two seconds have the second None.

    Raises:
        FileUnreadable: Not JSON, or not COCO.
        ProcedureInvalid: Images that cannot be placed; all are listed.
    """
    document = _document(path)
    return _Reader(document, str(path), about or About()).places(), rows(document.get("categories"))


class _Reader:
    """Takes one document into a draft per video."""

    def __init__(self, document: dict[str, Any], where: str, about: About) -> None:
        self.document, self.where, self.about = document, where, about
        self.problems: list[str] = []
        self.drafts: dict[str, VideoDraft] = {}
        self.frames: dict[Any, tuple[VideoDraft, int]] = {}
        self.counts: Counter[str] = Counter()
        self.others: Counter[tuple[str, str]] = Counter()
        self.attributes: dict[tuple[str, str], list[tuple[int, dict[str, str]]]] = {}

    def result(self) -> tuple[list[Procedure], list[Finding]]:
        self.document["annotations"] = _annotations_in(self.document)
        self._take_ids()
        for key in ("images", "annotations", "categories", "videos"):
            self._check_ids(key)
        names = _names_in(self.document)
        for kind, known in _READ.items():
            keys = (
                key
                for row in rows(self.document.get(kind))
                for key, value in row.items()
                if value not in (None, "", [])
            )
            self.others.update((kind, key) for key in keys if key not in known)
        videos = self._take_images()
        for annotation in rows(self.document.get("annotations")):
            self._take_annotation(annotation, names)
        self._conclude(videos)
        if self.about.video is not None and len(self.drafts) > 1:
            self.problems.append(f"{len(self.drafts)} videos cannot all be named {self.about.video!r}")
        if self.problems:
            more = [problem for draft in self.drafts.values() for problem in draft.problems]
            raise ProcedureInvalid(self.where, self.problems + more)
        procedures, findings = finish(list(self.drafts.values()), self.where)
        return procedures, findings

    def _take_ids(self) -> None:
        """Ids that return from image to image, with one category each, are those of tracks: Datumaro writes such."""
        listed = rows(self.document["annotations"])
        ids = [str(row.get("id")) for row in listed]
        images = {(str(row.get("image_id")), i) for row, i in zip(listed, ids, strict=True)}
        classes = {(i, str(row.get("category_id"))) for row, i in zip(listed, ids, strict=True)}
        if len({*ids}) == len(classes) < len(images) == len(ids):
            for place, row in enumerate(listed, start=1):
                row["track_id"], row["id"] = row.get("track_id", row["id"]), place
            self.counts["tracks"] = len(listed)

    def places(self) -> list[dict[str, Any]]:
        """Where every image lies."""
        for key in ("images", "categories", "videos"):
            self._check_ids(key)
        self._take_images()
        if self.problems:
            raise ProcedureInvalid(self.where, self.problems)
        return [
            {"id": key, "video": draft.about.video or draft.video, "second": draft.second_of(frame)}
            for key, (draft, frame) in self.frames.items()
        ]

    def _take_images(self) -> dict[Any, dict[str, Any]]:
        """The videos by their ids, once every image is placed in one."""
        videos = {row.get("id"): row for row in rows(self.document.get("videos"))}
        for image in rows(self.document["images"]):
            self._take_image(image, videos)
        return videos

    def _check_ids(self, key: str) -> None:
        listed = self.document.get(key, [])
        if not isinstance(listed, list) or len(rows(listed)) != len(listed):
            self.problems.append(f"{key!r} must be a list of objects")
        known = rows(listed)
        ids = [row.get("id") for row in known]
        odd = sum(not isinstance(i, int | str) for i in ids)
        if odd:
            self.problems.append(f"{odd} of {key!r} have no id")
            for row in known:  # lists and objects cannot be looked up; the problem is told already
                row["id"] = row.get("id") if isinstance(row.get("id"), int | str) else None
        counts = Counter(i for i in ids if isinstance(i, int | str))
        self.problems += [f"{count} of {key!r} have the id {i!r}" for i, count in counts.items() if count > 1]

    def _take_image(self, image: dict[str, Any], videos: dict[Any, dict[str, Any]]) -> None:
        name = str(image.get("file_name", ""))
        video_id = image.get("video_id")
        video = videos.get(video_id) if isinstance(video_id, int | str) else None
        if video is None and video_id is not None:
            self.problems.append(f"image {image['id']!r} is of the unknown video {video_id!r}")
        folder = Path(name).parent.name
        key = str(video.get("name") or video_id) if video else folder or Path(self.where).stem
        if key not in self.drafts:
            self.drafts[key] = VideoDraft(self.where, self.about, video=key)
            rate = number(video.get("fps")) if video else None
            if rate is not None and rate > 0:
                self.drafts[key].set_fps(rate)
            else:
                self.drafts[key].take_file_rate()
        draft = self.drafts[key]
        frame = next((whole(image[k]) for k in ("frame_index", "frame_id") if k in image), None)
        if frame is None and (digits := _LAST_DIGITS.search(Path(name).stem)):
            frame = int(digits.group(1))
        if frame is None or frame < 0:
            self.problems.append(
                f"image {image['id']!r} ({name!r}): no frame number in frame_index or at its name's end; "
                "say --stills where every image is a video of its own"
            )
            return
        self.counts["named"] += bool(name) and name != _file_name(frame)
        self._take_size(draft, image)
        self.frames[image["id"]] = draft, frame

    def _take_size(self, draft: VideoDraft, image: dict[str, Any]) -> None:
        size = whole(image.get("width")), whole(image.get("height"))
        if None in size:
            return
        if draft.width_px is not None and (draft.width_px, draft.height_px) != size:
            self.problems.append(
                f"image {image['id']!r} is {size[0]} x {size[1]}, others of its video are not; "
                "say --stills where every image is a video of its own"
            )
        draft.width_px, draft.height_px = size

    def _take_annotation(self, row: dict[str, Any], names: dict[Any, str]) -> None:
        placed = _placed(row, names, self.frames, self.problems)
        if placed is None:
            return
        if row.get("iscrowd") == 1 and not isinstance(row.get("attributes"), dict):
            self.counts["crowd"] += 1
            return
        self.counts["outline"] += row.get("iscrowd") == 1
        self.counts["segmentation"] += bool(row.get("segmentation"))
        label, (draft, frame), box = placed
        given = row.get("attributes")
        attributes = given if isinstance(given, dict) else {}
        second = draft.second_of(frame)
        if second is None:
            draft.between += 1
            return
        identity = next((s[k] for k in _IDENTITY for s in (attributes, row) if s.get(k) not in (None, "")), None)
        self.counts["anonymous"] += identity is None
        self.counts["rotated"] += bool(number(attributes.get("rotation")))
        name = identity if isinstance(identity, str) else f"{label} {identity if identity is not None else row['id']}"
        draft.proposed += [name] if identity is None else []
        track = draft.track(name, label)
        code = Visibility.OCCLUDED if attributes.get("occluded") in (True, 1, "true") else Visibility.VISIBLE
        track.see(second, box, code)
        attributes_here = {str(k): _text(v) for k, v in attributes.items() if k not in _RESERVED}
        self.attributes.setdefault((draft.video, name), []).append((second, attributes_here))

    def _conclude(self, videos: dict[Any, dict[str, Any]]) -> None:
        for (owner_name, instance), attributes in self.attributes.items():
            self.drafts[owner_name].tracks[instance].say(attributes)
        counts = Counter((owner.video, frame) for owner, frame in self.frames.values())
        for (name, frame), count in counts.items():
            if count > 1:
                self.problems.append(f"{count} images are frame {frame} of video {name!r}")
        for draft in self.drafts.values():
            last = max((frame for owner, frame in self.frames.values() if owner is draft), default=0)
            draft.duration_s = math.floor(last / draft.fps) + 1
        for video_id, video in videos.items():
            title = str(video.get("name") or video_id)
            draft = self.drafts.setdefault(title, VideoDraft(self.where, self.about, video=title))
            if document := with_new_keys(video).get(SIDECAR):
                take_sidecar(draft, document)
        first = next(iter(self.drafts.values()), None)
        if first is None:
            return
        for what, (code, text) in _NOTES.items():
            if self.counts[what]:
                first.note(code, f"{self.counts[what]} {text}")
        for (kind, key), count in sorted(self.others.items()):
            first.note("not-kept", f"{count} {kind} have {key[:40]!r}, which is not kept")


_NOTES = {
    "crowd": ("crowd", "crowd regions are not kept; they are no single objects"),
    "outline": ("crowd-as-object", "masks of CVAT that it marks as crowd are kept as the single objects that they are"),
    "segmentation": ("mask-as-box", "segmentations are kept as their boxes"),
    "rotated": ("rotation", "rotated boxes are kept as the file's upright bbox"),
    "anonymous": ("no-identity", "annotations bear no track_id; each is an object of its own"),
    "tracks": (
        "ids-as-tracks",
        "annotations have ids that return in other images, always with one category; each id is one object",
    ),
    "named": ("image-names", "names of image files are not kept, only their frame numbers"),
}


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else value


# --- writing -------------------------------------------------------------------------------------


def write(procedure: Procedure, path: str | Path) -> list[Finding]:
    """What the file does not hold of the procedure; the rest is written as COCO, one image a second."""
    tracks = (*procedure.tracks, *procedure.instruments)
    categories = sorted({track.class_name for track in tracks})
    document = {
        "info": {"description": "frames at 1 fps"},
        "licenses": [],
        "videos": [{"id": 1, "name": procedure.video, "fps": 1, SIDECAR: sidecar_of(procedure)}],
        "images": [_image(procedure, second) for second in range(procedure.duration_s)],
        "categories": [{"id": i, "name": name, "supercategory": ""} for i, name in enumerate(categories, start=1)],
        "annotations": [],
    }
    listed = [row for i, track in enumerate(tracks, start=1) for row in _annotations(track, i, categories)]
    document["annotations"] = [{"id": i, **row} for i, row in enumerate(listed, start=1)]
    write_text(path, json.dumps(document, separators=(",", ":")) + "\n")
    return losses(procedure, read(path).procedures[0], tool="coco")


def _file_name(frame: int) -> str:
    return f"{frame:06d}.png"


def _image(procedure: Procedure, second: int) -> dict[str, Any]:
    name = _file_name(second)
    size = {"width": procedure.width_px, "height": procedure.height_px}
    return {"id": second + 1, "video_id": 1, "frame_index": second, "file_name": name, **size}


def _annotations(track: Track, number_: int, categories: list[str]) -> list[dict[str, Any]]:
    category, annotations = categories.index(track.class_name) + 1, []
    now, changes = dict(track.attributes), list(track.changes)
    for second, box, code in zip(track.seconds.tolist(), track.boxes.tolist(), track.visibility, strict=True):
        while changes and changes[0].second <= second:
            change = changes.pop(0)
            now[change.name] = change.value
        if code != Visibility.OUTSIDE:
            attributes = {**now, "instance": track.instance, "occluded": bool(code == Visibility.OCCLUDED)}
            row = {"image_id": second + 1, "category_id": category, "track_id": number_, "bbox": box}
            annotations.append({**row, "area": box[2] * box[3], "iscrowd": 0, "attributes": attributes})
    return annotations
