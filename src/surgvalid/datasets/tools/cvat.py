"""CVAT 1.1 XML: tracks of a video ("CVAT for video") and shapes on images ("CVAT for images").

Read: boxes, and every other shape as the upright box around it (counted in the findings); tags of images by
`read_image_tags`. Between two listed frames of a track the box is interpolated, as CVAT does; after the last one the
track ends. Frame numbers are those of the source video, whose rate the file does not tell: give `About(fps=...)`.
Files of images hold no identity: shapes with an attribute `instance` (or `track_id`) are joined by it, every other
shape is an object of its own, and a finding says so.

Written: one track per object at 1 fps, with an attribute `instance` that keeps its name. There is no place for
events, phases and masked stretches; the findings of `write` name what stayed behind.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from xml.etree.ElementTree import Element
from xml.sax.saxutils import quoteattr

import polars as pl

from surgvalid.datasets.tools._about import About, Annotations, number, whole, write_text
from surgvalid.datasets.tools._cvat_shapes import (
    NOT_HELD,
    CvatShape,
    more_than_boxes,
    shapes_of,
    task_elements,
    tasks_of,
)
from surgvalid.datasets.tools._draft import INSTRUMENT, LONGEST_S, ROLE, TrackDraft, VideoDraft, finish
from surgvalid.datasets.tools._losses import losses
from surgvalid.datasets.tools._pictures import DrawnShape, Noticed, ShapedImage, annotations_of, are_stills
from surgvalid.datasets.tools._xml import attributes_text, elements, escaped, xml_text
from surgvalid.errors import FileUnreadable
from surgvalid.schema.findings import Finding, Severity
from surgvalid.schema.procedures.tracks import Procedure, Track, Visibility

TITLE = "CVAT 1.1 XML (video tracks or images)"
FILE_NAME = "annotations.xml"
INSTANCE = "instance"
"""The attribute that keeps an object's name."""
_IDENTITY = (INSTANCE, "track_id")
RATE = "frame_rate"
"""Where our own files tell the rate of their frame numbers; CVAT has no such element and drops it."""


def recognises(path: Path, head: str) -> bool:
    """Whether a file that begins with `head` is one of this tool."""
    return path.suffix.lower() == ".xml" and "<annotations" in head


def read(path: str | Path, about: About | None = None) -> Annotations:
    """The procedure in the file; of a project, one per task.

    Raises:
        FileUnreadable: Not such XML.
        ProcedureInvalid: Something in it cannot be true; every problem is listed.
    """
    draft = VideoDraft(str(path), about or About(), video=Path(path).stem)
    reader = _Reader(draft)
    for element in elements(path, ("meta", "track", "image")):
        if element.tag == "meta" and element.find("project/tasks/task") is not None:
            return _project(path, about or About(), element)
        reader.take(element)
    if not reader.seen:
        raise FileUnreadable(str(path), ["holds no <meta>, <track> or <image>; export as CVAT 1.1"])
    if not reader.seen["track"] and not (draft.about.of_frames or draft.rate_told) and are_stills(reader.images):
        noticed = Noticed(Counter(), [])
        return annotations_of(pictures(Path(path), draft.about, noticed), noticed, where=str(path), about=draft.about)
    reader.conclude()
    return Annotations(*finish([draft], str(path)))


def _project(path: str | Path, about: About, meta: Element) -> Annotations:
    """The procedures of a project's tasks."""
    tasks = tasks_of(meta)
    readers = {task.number: _Reader(VideoDraft(str(path), about, video=f"task {task.number}")) for task in tasks}
    for task in tasks:
        readers[task.number].take(task.meta)
    strays = 0
    for task_number, element in task_elements(path, tasks):
        if task_number in readers:
            readers[task_number].take(element)
        else:
            strays += 1
    drafts = [reader.draft for reader in readers.values()]
    if strays:
        drafts[0].problems.append(f"{strays} tracks or images belong to none of the project's tasks")
    for reader in readers.values():
        reader.conclude()
    return Annotations(*finish(drafts, str(path)))


class _Reader:
    """Takes the elements of one file into a draft."""

    def __init__(self, draft: VideoDraft) -> None:
        self.draft, self.seen = draft, Counter[str]()
        self.counts: Counter[str] = Counter()
        self.ids: Counter[tuple[str, str]] = Counter()
        self.attributes: dict[str, list[tuple[int, Mapping[str, str]]]] = {}
        self.job = ""
        self.sizes: set[tuple[int, int]] = set()
        self.images: list[ShapedImage] = []
        """The names and sizes of the images, without what is drawn on them."""
        self.last_image = -1

    def take(self, element: Element) -> None:
        """Take over one element of the top level."""
        self.seen[element.tag] += 1
        if element.tag == "meta":
            self._take_meta(element)
            return
        self.ids[(element.tag, element.get("id", ""))] += 1
        shapes = list(shapes_of(element, self.draft.problems))
        self.counts += more_than_boxes(element, shapes)
        if element.tag == "track":
            self._take_track(element, shapes)
        else:
            self._take_image(element, shapes)

    def _take_meta(self, element: Element) -> None:
        draft = self.draft
        job = element.find("job")
        name = (element.findtext("task/name") or element.findtext("job/name") or "").strip()
        draft.video = name or draft.video
        if job is not None and not name and not draft.about.video:
            message = f"exports of a job do not name their video; it is called {draft.video!r} after the file"
            draft.note("no-video-name", message)
        self.job = (job.findtext("id") or "").strip() if job is not None else ""
        size = element.find(".//original_size")
        if size is not None:
            draft.width_px, draft.height_px = whole(size.findtext("width")), whole(size.findtext("height"))
        rate = number(_text_of(element, RATE))
        if rate is not None and rate > 0:
            draft.set_fps(rate)
        elif size is not None:  # of a video: tasks on images have no such element
            draft.take_file_rate()
        stop, count = whole(_text_of(element, "stop_frame")), whole(_text_of(element, "size"))
        last = stop if stop is not None else count - 1 if count else None
        if last is not None and last >= 0:
            draft.duration_s = math.floor(last / draft.fps) + 1

    def _take_track(self, element: Element, shapes: list[CvatShape]) -> None:
        shapes.sort(key=lambda shape: shape.frame)
        label, number = element.get("label") or "", element.get("id", "")
        if not label:
            self.draft.problems.append(f"track {number!r} has no label")
            return
        names = {shape.attributes[INSTANCE] for shape in shapes if shape.attributes.get(INSTANCE)}
        if len(names) > 1:
            self.draft.problems.append(f"track {number!r} bears several instances: {', '.join(sorted(names))}")
        name = min(names) if names else f"{label} {number}" + (f" of job {self.job}" if self.job else "")
        track = self.draft.track(name, label)
        for shape in shapes:
            self._see(track, shape)
        for shape, after in pairwise(shapes):
            if not shape.outside:
                self._between(track, shape, after)

    def _see(self, track: TrackDraft, shape: CvatShape) -> None:
        second = self.draft.second_of(shape.frame)
        if second is None:
            self.draft.between += not shape.outside
            return
        track.see(second, shape.box, _visibility(shape))
        track.instrument |= shape.attributes.get(ROLE) == INSTRUMENT
        attributes = {key: value for key, value in shape.attributes.items() if key not in (*_IDENTITY, ROLE)}
        self.attributes.setdefault(track.instance, []).append((second, attributes))

    def _between(self, track: TrackDraft, shape: CvatShape, after: CvatShape) -> None:
        fps, gap = self.draft.fps, after.frame - shape.frame
        if gap / fps > LONGEST_S:
            return  # such a second is a problem of its own
        for second in range(math.floor(shape.frame / fps), math.ceil(after.frame / fps) + 1):
            frame = round(second * fps)
            if shape.frame < frame < after.frame:
                share = 0.0 if after.outside else (frame - shape.frame) / gap
                a, b = shape.box, after.box
                box = tuple(p + share * (q - p) for p, q in zip(a, b, strict=True))
                track.see(second, (box[0], box[1], box[2], box[3]), _visibility(shape))
                self.counts["interpolated"] += 1

    def _take_image(self, element: Element, shapes: list[CvatShape]) -> None:
        frame = whole(element.get("id"))
        if frame is None or frame < 0:
            wrong = f"image {element.get('name')!r}: id {element.get('id')!r} is no frame number"
            unnumbered = "images bear no id, as those of CVAT do; export them as COCO"
            self.draft.problems.append(wrong if element.get("id") else unnumbered)
            return
        self.last_image = max(self.last_image, frame)
        width, height = whole(element.get("width")), whole(element.get("height"))
        self.images.append(ShapedImage(element.get("name") or f"{frame}", (), width, height))
        if width is not None and height is not None:
            self.sizes.add((width, height))
        for place, shape in enumerate(shapes, start=1):
            name = next((shape.attributes[key] for key in _IDENTITY if shape.attributes.get(key)), "")
            self.counts["anonymous"] += not name
            called = name or f"{shape.label} {frame}.{place}"
            self.draft.proposed += [] if name else [called]
            self._see(self.draft.track(called, shape.label), shape)

    def conclude(self) -> None:
        """Settle what only the whole file can tell."""
        draft = self.draft
        for name, attributes in self.attributes.items():
            draft.tracks[name].say(attributes)
        draft.problems[:] = dict.fromkeys(draft.problems)
        draft.problems += [
            f"{n} elements <{tag} id={i!r}>; ids are unique" for (tag, i), n in self.ids.items() if n > 1
        ]
        if len(self.sizes) > 1:
            draft.problems.append(
                f"images of different sizes: {sorted(self.sizes)}; one video has one size; "
                "say --stills where every image is a video of its own"
            )
        if self.sizes and draft.width_px is None:
            draft.width_px, draft.height_px = min(self.sizes)
        if draft.duration_s is None and self.last_image >= 0:
            draft.duration_s = math.floor(self.last_image / draft.fps) + 1
        for key, (code, text, severity) in _NOTES.items():
            if self.counts[key]:
                draft.note(code, f"{self.counts[key]} {text}", severity)


_NOTES = {
    **NOT_HELD,
    "anonymous": (
        "no-identity",
        "shapes on images bear no 'instance' attribute; each is an object of its own",
        Severity.WARNING,
    ),
    "interpolated": ("interpolated", "boxes between listed frames were interpolated", Severity.NOTE),
}


def _text_of(element: Element, name: str) -> str:
    return (element.findtext(f".//{name}") or "").strip()


def _visibility(shape: CvatShape) -> Visibility:
    if shape.outside:
        return Visibility.OUTSIDE
    return Visibility.OCCLUDED if shape.occluded else Visibility.VISIBLE


# --- writing -------------------------------------------------------------------------------------


def write(procedure: Procedure, path: str | Path) -> list[Finding]:
    """What the file cannot hold of the procedure; the rest is written as "CVAT for video 1.1", one frame a second.

    Raises:
        ProcedureInvalid: A name holds characters that XML cannot.
    """
    write_text(path, xml_text(_lines(procedure), f"procedure {procedure.video!r}"))
    return losses(procedure, read(path).procedures[0], tool="cvat")


def _lines(procedure: Procedure) -> Iterator[str]:
    pairs = [(track, False) for track in procedure.tracks] + [(track, True) for track in procedure.instruments]
    yield '<?xml version="1.0" encoding="utf-8"?>'
    yield "<annotations>"
    yield "  <version>1.1</version>"
    yield from _meta(procedure, pairs)
    for place, (track, instrument) in enumerate(pairs):
        yield f'  <track id="{place}" label={quoteattr(track.class_name)} source="manual">'
        yield from _boxes(track, procedure.duration_s, {ROLE: INSTRUMENT} if instrument else {})
        yield "  </track>"
    yield "</annotations>"


def _meta(procedure: Procedure, pairs: list[tuple[Track, bool]]) -> Iterator[str]:
    yield "  <meta><task>"
    yield f"    <name>{escaped(procedure.video)}</name><size>{procedure.duration_s}</size><mode>interpolation</mode>"
    yield f"    <{RATE}>1</{RATE}>"
    yield f"    <start_frame>0</start_frame><stop_frame>{procedure.duration_s - 1}</stop_frame>"
    yield "    <labels>"
    for label in sorted({track.class_name for track, _ in pairs}):
        yield f"      <label><name>{escaped(label)}</name><attributes>"
        for name in _attribute_names([pair for pair in pairs if pair[0].class_name == label]):
            mutable = name not in (INSTANCE, ROLE)
            yield (
                f"        <attribute><name>{escaped(name)}</name><mutable>{mutable}</mutable>"
                "<input_type>text</input_type><default_value></default_value><values></values></attribute>"
            )
        yield "      </attributes></label>"
    yield "    </labels>"
    width, height = procedure.width_px, procedure.height_px
    yield f"    <original_size><width>{width}</width><height>{height}</height></original_size>"
    yield "  </task></meta>"


def _attribute_names(pairs: list[tuple[Track, bool]]) -> list[str]:
    names = {INSTANCE} | ({ROLE} if any(instrument for _, instrument in pairs) else set())
    for track, _ in pairs:
        names |= set(track.attributes) | {change.name for change in track.changes}
    return sorted(names)


def _boxes(track: Track, duration_s: int, reserved: Mapping[str, str]) -> Iterator[str]:
    """One line per frame that says something: a box, the end of a stretch in view, a changed attribute."""
    seen = {
        int(second): (box, int(code))
        for second, box, code in zip(track.seconds, track.boxes.tolist(), track.visibility, strict=True)
        if code != Visibility.OUTSIDE
    }
    ends = {second + 1 for second in seen if second + 1 not in seen and second + 1 < duration_s}
    now, changes = dict(track.attributes), list(track.changes)
    frames = set(seen) | ends | {change.second for change in changes}
    if not frames or (changes and changes[0].second == min(frames)):
        frames.add(0)
    last = [0.0, 0.0, 0.0, 0.0]
    for frame in sorted(frames):
        while changes and changes[0].second <= frame and not (changes[0].second == 0 == frame):
            change = changes.pop(0)
            now[change.name] = change.value
        last, code = seen.get(frame, (last, int(Visibility.OUTSIDE)))
        yield _box(frame, last, code, {**now, INSTANCE: track.instance, **reserved})


def _box(frame: int, box: list[float], code: int, attributes: Mapping[str, str]) -> str:
    x, y, width, height = box
    inner = attributes_text(attributes)
    flags = f'outside="{int(code == Visibility.OUTSIDE)}" occluded="{int(code == Visibility.OCCLUDED)}"'
    corners = f'xtl="{x!r}" ytl="{y!r}" xbr="{x + width!r}" ybr="{y + height!r}"'
    return f'    <box frame="{frame}" keyframe="1" {flags} {corners} z_order="0">{inner}</box>'


def pictures(path: Path, _about: About, noticed: Noticed) -> Iterator[ShapedImage]:
    """The images of the file, with every shape as the box around it; a track is a problem.

    Raises:
        FileUnreadable: Not such XML.
    """
    counts, problems = noticed
    for element in elements(path, ("track", "image")):
        if element.tag == "track":
            problems.append(f"track {element.get('id')!r} is of a video, not of stills")
            continue
        shapes = list(shapes_of(element, problems))
        counts["outline"] += sum(shape.kind != "box" for shape in shapes)
        counts["rotated"] += sum(shape.kind == "box" and shape.rotation_deg % 360 != 0 for shape in shapes)
        size = whole(element.get("width")), whole(element.get("height"))
        name = "/".join(one for one in (element.get("subset"), element.get("name")) if one)
        yield ShapedImage(name, [_shape(shape) for shape in shapes], *size, stated_name=element.get("name") or "")


def _shape(shape: CvatShape) -> DrawnShape:
    attributes = {key: value for key, value in shape.attributes.items() if key not in _IDENTITY}
    name = next((shape.attributes[key] for key in _IDENTITY if shape.attributes.get(key)), "")
    score = attributes.get("score") or attributes.get("confidence")
    return DrawnShape(shape.label, shape.box, name, attributes, shape.occluded, score)


def read_image_tags(path: str | Path, *, tags: Iterable[str] | None = None) -> pl.DataFrame:
    """One row per image: `case` (its name without folder and ending) and a 0/1 column per tag.

    Args:
        path: The XML file.
        tags: Tags to make columns of; by default every tag that occurs.

    Raises:
        FileUnreadable: The file is no such XML.
    """
    images = [
        (Path(image.get("name", "")).stem, {one.get("label", "") for one in image if one.tag == "tag"})
        for image in elements(path, ("image",))
    ]
    if not images:
        raise FileUnreadable(str(path), ["holds no <image>; export as 'CVAT for images 1.1'"])
    names = sorted(set[str]().union(*(given for _, given in images))) if tags is None else list(tags)
    return pl.DataFrame([{"case": case, **{name: int(name in given) for name in names}} for case, given in images])
