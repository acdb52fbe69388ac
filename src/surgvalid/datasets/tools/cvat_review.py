"""Flags as a review task for CVAT: what somebody should look at again, drawn where it is, with the reasons.

A task is three things. `labels.json` is what CVAT's raw label editor takes; `NNN_VIDEO.xml` holds the flags of one
video as "CVAT for images 1.1", to be uploaded as annotations of a task on that video (or on its frames at 1 fps);
`review.json` says which file belongs to which video, which frames to open, and how many flags of each kind there are.

Every flag is a box in its frame. Its label is the class in question, its attributes are the kind of the flag, the
evidence, the detector's score and the rest of the flag's row, and a choice `review` that the reviewer sets. With
`boxes`, the current boxes of all seconds of a flag lie beside it, to be moved, renamed, deleted or drawn anew. The file
that CVAT exports afterwards comes back through `read_review`, with the reviews, and `read_corrected`, with the boxes.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import quoteattr

import polars as pl

from surgvalid.datasets.tools._about import number, whole, write_text
from surgvalid.datasets.tools._cvat_shapes import CvatShape, shapes_of
from surgvalid.datasets.tools._xml import attributes_text, elements, escaped, xml_text
from surgvalid.errors import FileUnreadable, Misuse, ProcedureInvalid, TableInvalid
from surgvalid.schema.tables.tabular import as_frame

REVIEWS = ("open", "right", "wrong")
"""What a reviewer may say of a flag: nobody looked yet, it is an error of the annotation, it is none."""
_SIDES = ("x", "y", "width", "height")
_TEXTS = ("class_name", "predicted_class", "evidence")
_NUMBERS = ("overlap", "score", "strength")
_COLUMNS: dict[str, Any] = (
    {"kind": pl.String, "video": pl.String, "second": pl.Int64, "until_s": pl.Int64}
    | dict.fromkeys(("class_name", "predicted_class"), pl.String)
    | dict.fromkeys((*_SIDES, *_NUMBERS), pl.Float64)
    | dict.fromkeys(("evidence", "review"), pl.String)
)


NO_FLAG = "none"
"""What the attribute `flag` of a current box says: CVAT gives every shape of a label every attribute of it."""
_BOXES: dict[str, Any] = (
    {"video": pl.String, "second": pl.Int64, "class_name": pl.String}
    | dict.fromkeys(_SIDES, pl.Float64)
    | {"instance": pl.String}
)


class Corrected(NamedTuple):
    """What a review came back with beside the flags."""

    boxes: pl.DataFrame
    """video, second, class_name, x, y, width, height, instance: all boxes of the seconds under review."""
    elsewhere: int
    """Boxes at seconds that no flag is about; they are not among `boxes`, since what lay beside them is not known."""


def write_review(
    flags: Any,
    folder: str | Path,
    *,
    boxes: Any = None,
    sizes: Mapping[str, tuple[int, int]] | None = None,
    fps: float = 1.0,
) -> list[Path]:
    """The files of a review task, written to `folder`: one XML file per video, the labels and the description.

    Args:
        flags: Flags as `cross_check` gives them, with any `review` so far.
        folder: Where to; made if it does not exist.
        boxes: The current boxes (video, second, class_name, x, y, width, height and, where known, instance); those of
            the seconds of each flag are written beside it.
        sizes: Width and height of each video in pixels; where unknown, as far as its boxes reach.
        fps: Frames per second of the task's frames: 1 for stills at 1 fps, the video's rate for a task on a video.

    Raises:
        TableInvalid: Columns are missing, or a flag has no place; every problem is listed.
        ProcedureInvalid: A text holds what XML cannot.
        Misuse: The rate is below one frame a second.
    """
    if not 1 <= fps < 1e6:
        raise Misuse(f"fps must be at least 1, so that every second has a frame of its own, got {fps}")
    frame = _checked(flags)
    current = boxes_under_review(frame, boxes)
    home = Path(folder)
    home.mkdir(parents=True, exist_ok=True)
    written, jobs = [], []
    for count, ((video,), flags_here) in enumerate(frame.group_by("video", maintain_order=True), start=1):
        path = home / f"{count:03d}_{re.sub(r'[^A-Za-z0-9._-]+', '_', str(video))[:80]}.xml"
        here = current.filter(pl.col("video") == video)
        size = (sizes or {}).get(str(video)) or _reach(pl.concat([flags_here.select(_SIDES), here.select(_SIDES)]))
        write_text(path, xml_text(_lines(str(video), flags_here, here, size, fps), f"flags of {video!r}"))
        jobs.append(_job(str(video), path.name, flags_here, fps))
        written.append(path)
    labels = _labels(frame, current)
    for name, document in (("labels.json", labels), ("review.json", _description(jobs, fps))):
        write_text(home / name, json.dumps(document, indent=2, ensure_ascii=False) + "\n")
        written.append(home / name)
    return written


def read_review(path: str | Path, *, fps: float = 1.0) -> pl.DataFrame:
    """The flags in a review file with their reviews, as `write_review` took them; boxes may have been moved.

    Args:
        path: The XML file, as written or as exported from CVAT after the review.
        fps: Frames per second of its frame numbers.

    Raises:
        FileUnreadable: Not such XML.
        ProcedureInvalid: Flags that cannot be read; all are listed.
    """
    problems: list[str] = []
    video, shapes = _drawn(path, problems)
    rows = [_row(shape, fps, problems) for shape in shapes if _is_flag(shape)]
    if problems:
        raise ProcedureInvalid(str(path), problems)
    return pl.DataFrame([{**row, "video": video} for row in rows], schema=_COLUMNS)


def _drawn(path: str | Path, problems: list[str]) -> tuple[str, list[CvatShape]]:
    """The video of a file and what is drawn in it."""
    video, shapes, seen = Path(path).stem, list[CvatShape](), False
    for element in elements(path, ("meta", "image")):
        seen = True
        if element.tag == "meta":
            video = (element.findtext(".//name") or video).strip()
        else:
            shapes += shapes_of(element, problems)
    if not seen:
        raise FileUnreadable(str(path), ["holds no <meta> or <image>; export as 'CVAT for images 1.1'"])
    return video, shapes


def read_corrected(path: str | Path, *, fps: float = 1.0) -> Corrected:
    """The boxes of the seconds under review as the reviewers left them.

    Args:
        path: The XML file, as exported from CVAT after the review.
        fps: Frames per second of its frame numbers.

    Raises:
        FileUnreadable: Not such XML.
        ProcedureInvalid: Boxes that cannot be read; all are listed.
    """
    problems: list[str] = []
    video, shapes = _drawn(path, problems)
    if problems:
        raise ProcedureInvalid(str(path), problems)
    rows = []
    for shape in (one for one in shapes if not _is_flag(one)):
        sides = dict(zip(_SIDES, (round(side, 6) for side in shape.box), strict=True))
        names = {"class_name": shape.label, "instance": shape.attributes.get("instance") or None}
        rows.append({"second": round(shape.frame / fps), **names, **sides})
    boxes = pl.DataFrame([{**row, "video": video} for row in rows], schema=_BOXES)
    kept = boxes.join(seconds_under_review(read_review(path, fps=fps)), on=("video", "second"), how="semi")
    return Corrected(kept.sort("second", maintain_order=True), boxes.height - kept.height)


def _is_flag(shape: CvatShape) -> bool:
    return shape.attributes.get("flag", NO_FLAG) not in (NO_FLAG, "")


def seconds_under_review(flags: pl.DataFrame) -> pl.DataFrame:
    """The seconds (video, second) that flags are about, from their first to their last."""
    until = pl.max_horizontal("second", pl.col("until_s").fill_null(pl.col("second")))
    spans = flags.select("video", second=pl.int_ranges("second", until + 1))
    return spans.explode("second").drop_nulls().unique(maintain_order=True)


# --- writing -------------------------------------------------------------------------------------


def boxes_under_review(flags: pl.DataFrame, boxes: Any) -> pl.DataFrame:
    """The boxes of the seconds that flags are about, as a review takes them; none for None.

    Raises:
        TableInvalid: Columns are missing.
    """
    if boxes is None:
        return pl.DataFrame(schema=_BOXES)
    frame = as_frame(boxes)
    problems = [f"column {name!r} is missing" for name in _BOXES if name not in (*frame.columns, "instance")]
    if problems:
        raise TableInvalid("boxes", problems)
    columns = [(pl.col(n) if n in frame.columns else pl.lit(None).alias(n)).cast(kind) for n, kind in _BOXES.items()]
    kept = frame.select(columns).join(seconds_under_review(flags), on=("video", "second"), how="semi")
    return kept.sort("video", "second", maintain_order=True)


def _checked(flags: Any) -> pl.DataFrame:
    frame = as_frame(flags)
    needed = ("kind", "video", "second", *_SIDES)
    problems = [f"column {name!r} is missing" for name in needed if name not in frame.columns]
    if not problems:
        frame = frame.select(
            (pl.col(name) if name in frame.columns else pl.lit(None).alias(name)).cast(kind, strict=False)
            for name, kind in _COLUMNS.items()
        ).with_columns(pl.col("review").fill_null(REVIEWS[0]), pl.col("until_s").fill_null(pl.col("second")))
        for name in needed:
            if count := frame[name].null_count():
                problems.append(f"column {name!r} is empty or no {_COLUMNS[name]} in {count} rows")
        unnamed = frame.filter(pl.col("class_name").is_null() & pl.col("predicted_class").is_null()).height
        problems += [f"{unnamed} flags name no class, neither annotated nor predicted"] if unnamed else []
        odd = frame.filter(~pl.col("review").is_in(REVIEWS))["review"].unique().sort().to_list()
        problems += [f"unknown review {name!r}; known: {', '.join(REVIEWS)}" for name in odd]
        negative = frame.filter((pl.col("second") < 0) | (pl.col("width") <= 0) | (pl.col("height") <= 0)).height
        problems += [f"{negative} flags have no place: a negative second or a box without a size"] if negative else []
    if problems:
        raise TableInvalid("flags", problems)
    return frame.sort("video", "second", maintain_order=True)


def _lines(video: str, flags: pl.DataFrame, boxes: pl.DataFrame, size: tuple[int, int], fps: float) -> Iterator[str]:
    seconds = sorted({*flags["second"], *boxes["second"]})
    frames = [round(second * fps) for second in seconds]
    yield '<?xml version="1.0" encoding="utf-8"?>'
    yield "<annotations>"
    yield "  <version>1.1</version>"
    yield f"  <meta><task><name>{escaped(video)}</name><size>{max(frames) + 1}</size><mode>annotation</mode>"
    yield f"    <start_frame>0</start_frame><stop_frame>{max(frames)}</stop_frame></task></meta>"
    of_second = flags.partition_by("second", as_dict=True)
    drawn = boxes.partition_by("second", as_dict=True)
    for second, at in zip(seconds, frames, strict=True):
        yield f'  <image id="{at}" name="frame_{at:06d}" width="{size[0]}" height="{size[1]}">'
        yield from (_current(row) for row in drawn.get((second,), boxes.clear()).iter_rows(named=True))
        yield from (_box(row) for row in of_second.get((second,), flags.clear()).iter_rows(named=True))
        yield "  </image>"
    yield "</annotations>"


def _current(row: Mapping[str, Any]) -> str:
    return _shape(row, row["class_name"], {"flag": NO_FLAG, "instance": row["instance"] or ""})


def _box(row: Mapping[str, Any]) -> str:
    attributes = {"flag": row["kind"], "review": row["review"], "until_s": row["until_s"]}
    attributes |= {name: row[name] for name in (*_TEXTS, *_NUMBERS)}
    texts = {name: "" if value is None else str(value) for name, value in attributes.items()}
    return _shape(row, row["class_name"] or row["predicted_class"], texts)


def _shape(row: Mapping[str, Any], label: str, attributes: Mapping[str, str]) -> str:
    corners = (
        f'xtl="{row["x"]!r}" ytl="{row["y"]!r}" xbr="{row["x"] + row["width"]!r}" ybr="{row["y"] + row["height"]!r}"'
    )
    return (
        f'    <box label={quoteattr(label)} source="auto" occluded="0" {corners} z_order="0">'
        f"{attributes_text(attributes)}</box>"
    )


def _reach(flags: pl.DataFrame) -> tuple[int, int]:
    """Width and height that hold every box."""
    sides = flags.select(_SIDES).to_numpy()
    right, bottom = (sides[:, :2] + sides[:, 2:]).max(axis=0).tolist()
    return max(1, math.ceil(right)), max(1, math.ceil(bottom))


def _labels(flags: pl.DataFrame, boxes: pl.DataFrame) -> list[dict[str, Any]]:
    """The labels as CVAT's raw editor takes them."""
    named = flags.select(label=pl.coalesce("class_name", "predicted_class"))["label"].to_list()
    classes = sorted({*named, *flags["predicted_class"].drop_nulls(), *boxes["class_name"]})
    kinds = flags["kind"].unique().sort().to_list()

    def attribute(name: str, kind: str = "text", values: tuple[str, ...] = ("",)) -> dict[str, Any]:
        return {"name": name, "mutable": False, "input_type": kind, "default_value": values[0], "values": list(values)}

    attributes = [attribute("flag", "select", (NO_FLAG, *kinds)), attribute("review", "radio", REVIEWS)]
    attributes += [attribute(name) for name in ("instance", "until_s", *_TEXTS, *_NUMBERS)]
    return [{"name": name, "type": "rectangle", "attributes": attributes} for name in classes]


def _job(video: str, file: str, flags: pl.DataFrame, fps: float) -> dict[str, Any]:
    kinds = flags.group_by("kind").len().sort("kind")
    frames = sorted({round(second * fps) for second in flags["second"]})
    return {"video": video, "annotations": file, "flags": dict(kinds.rows()), "frames": frames}


def _description(jobs: list[dict[str, Any]], fps: float) -> dict[str, Any]:
    steps = [
        "make a task on the video (or its frames) with the labels of labels.json",
        "upload the XML file of the video as 'CVAT 1.1' annotations",
        "open the frames listed, correct the annotation, set the attribute review of every flag",
        "export as 'CVAT for images 1.1' and read it back",
    ]
    return {"fps": fps, "labels": "labels.json", "reviews": list(REVIEWS), "steps": steps, "jobs": jobs}


# --- reading -------------------------------------------------------------------------------------


def _row(shape: CvatShape, fps: float, problems: list[str]) -> dict[str, Any]:
    attributes = shape.attributes
    where = f"flag in frame {shape.frame}"
    review = attributes.get("review") or REVIEWS[0]
    if review not in REVIEWS:
        problems.append(f"{where}: unknown review {review[:40]!r}; known: {', '.join(REVIEWS)}")
    row: dict[str, Any] = {"kind": attributes["flag"], "second": round(shape.frame / fps), "review": review}
    row |= {name: attributes.get(name) or None for name in _TEXTS}
    row |= {name: round(value, 6) for name, value in zip(_SIDES, shape.box, strict=True)}
    for name in (*_NUMBERS, "until_s"):
        text = attributes.get(name, "")
        row[name] = (whole if name == "until_s" else number)(text) if text else None
        if text and row[name] is None:
            problems.append(f"{where}: {name} {text[:40]!r} is no number")
    return row
