"""Review tasks for Label Studio: what stands now as proposals, and flags on what to look at again.

`tasks.json` is imported into a project whose labelling interface is `labels.xml`. Every video is one task; its boxes
and phases are a prediction, from which a reviewer starts. A flag is a rectangle of its own (control `flag`), called
`open` until the reviewer calls it `right` (an error of the annotation) or `wrong`. Frames count whole seconds: the
interface asks for one frame a second. The export (JSON) comes back through `read_review`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import quoteattr

import polars as pl

from surgvalid.datasets.tools._about import About, rows, write_text
from surgvalid.datasets.tools._label_studio_images import kept_annotations
from surgvalid.datasets.tools._losses import SIDECAR, sidecar_of
from surgvalid.datasets.tools.cvat_review import REVIEWS
from surgvalid.datasets.tools.label_studio import FLAG, FLAGS, read, results_of
from surgvalid.errors import FileUnreadable, ProcedureInvalid
from surgvalid.schema.documents import read_json
from surgvalid.schema.legacy import with_new_keys
from surgvalid.schema.procedures.tracks import Procedure
from surgvalid.schema.tables.tabular import as_frame

_SIDES = ("x", "y", "width", "height")
_REQUIRED = ("kind", "video", "second")


class StudioReview(NamedTuple):
    """What comes back of a review."""

    flags: pl.DataFrame
    """As they were given, with their `review`."""
    procedures: list[Procedure]
    """The annotations as the reviewers left them."""


def write_review(
    procedures: Iterable[Procedure],
    folder: str | Path,
    *,
    flags: Any = None,
    video_files: Mapping[str, str] | None = None,
) -> list[Path]:
    """The files of a review task: the tasks to import, and the labelling interface.

    Args:
        procedures: What stands now.
        folder: Where to; made if it does not exist.
        flags: Flags as `cross_check` gives them; none by default.
        video_files: Address of the file of each video, as the server can reach it; by default the name of the video.

    Raises:
        ProcedureInvalid: Flags of a video that no procedure is of.
    """
    listed = list(procedures)
    frame = pl.DataFrame(schema=dict.fromkeys(_REQUIRED, pl.String)) if flags is None else as_frame(flags)
    strangers = sorted(set(frame["video"].to_list()) - {one.video for one in listed})
    if strangers:
        raise ProcedureInvalid(
            "flags", [f"flags of the video {name!r}, which is not among those given" for name in strangers]
        )
    home = Path(folder)
    home.mkdir(parents=True, exist_ok=True)
    tasks = [_task(one, frame.filter(pl.col("video") == one.video).to_dicts(), video_files or {}) for one in listed]
    write_text(home / "tasks.json", json.dumps(tasks, ensure_ascii=False) + "\n")
    write_text(home / "labels.xml", labelling_interface(listed))
    return [home / "tasks.json", home / "labels.xml"]


def labelling_interface(procedures: Iterable[Procedure]) -> str:
    """The labelling interface of a project that can hold the procedures."""
    listed = list(procedures)
    classes = sorted({track.class_name for one in listed for track in (*one.tracks, *one.instruments)})
    phases = sorted({phase.name for one in listed for phase in one.phases})
    lines = ['<Video name="video" value="$video" frameRate="1"/>', '<VideoRectangle name="box" toName="video"/>']
    lines += _labels("Labels", "classes", classes)
    lines += [f'<VideoRectangle name="{FLAG}" toName="video"/>', *_labels("Labels", "review", list(REVIEWS))]
    lines += _labels("TimelineLabels", "phases", phases) if phases else []
    return "<View>\n" + "".join(f"  {line}\n" for line in lines) + "</View>\n"


def _labels(tag: str, name: str, values: list[str]) -> list[str]:
    inner = [f"  <Label value={quoteattr(value)}/>" for value in values]
    return [f'<{tag} name="{name}" toName="video">', *inner, f"</{tag}>"]


def _task(procedure: Procedure, flags: list[dict[str, Any]], video_files: Mapping[str, str]) -> dict[str, Any]:
    video_file = video_files.get(procedure.video, f"{procedure.video}.mp4")
    data = {"video": video_file, SIDECAR: sidecar_of(procedure), FLAGS: flags}
    results = [*results_of(procedure), *(_flag(number, flag, procedure) for number, flag in enumerate(flags, start=1))]
    return {"data": data, "predictions": [{"model_version": "surgvalid", "result": results}]}


def _flag(number: int, flag: Mapping[str, Any], procedure: Procedure) -> dict[str, Any]:
    size = (procedure.width_px, procedure.height_px) * 2
    box = {side: float(flag[side]) * 100 / whole for side, whole in zip(_SIDES, size, strict=True)}
    last = max(int(flag.get("until_s") or flag["second"]), int(flag["second"]))
    sequence = [
        {"frame": second + 1, "enabled": second < last, "rotation": 0, "time": second, **box}
        for second in dict.fromkeys((int(flag["second"]), last))
    ]
    length = procedure.duration_s
    value = {
        "framesCount": length,
        "duration": length,
        "sequence": sequence,
        "labels": [flag.get("review") or REVIEWS[0]],
    }
    text = [f"{flag['kind']}: {flag.get('evidence') or ''}"]
    head = {"id": f"{FLAG} {number}", "type": "videorectangle", "from_name": FLAG, "to_name": "video"}
    return {**head, "meta": {"text": text}, "value": value}


def read_review(path: str | Path, about: About | None = None) -> StudioReview:
    """The flags with their reviews and the annotations as the reviewers left them, from an export (JSON).

    Raises:
        FileUnreadable: Not an export of such tasks.
        ProcedureInvalid: Something in it cannot be true; every problem is listed.
    """
    document = read_json(path)
    if not isinstance(document, list) or not all(_is_review(task) for task in rows(document)):
        raise FileUnreadable(str(path), ["not an export (JSON) of review tasks: their data keep flags"])
    flags = [row for task in rows(document) for row in _reviewed(task)]
    return StudioReview(pl.DataFrame(flags, infer_schema_length=None), read(path, about).procedures)


def _is_review(task: Mapping[str, Any]) -> bool:
    data = task.get("data")
    return isinstance(data, dict) and isinstance(with_new_keys(data).get(FLAGS), list)


def _reviewed(task: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The flags of a task; one whose region was deleted stays open."""
    regions = {
        str(row.get("id")): row
        for one in kept_annotations(task)
        for row in rows(one.get("result"))
        if row.get("from_name") == FLAG
    }
    flags = []
    for number, flag in enumerate(rows(with_new_keys(task["data"])[FLAGS]), start=1):
        value = regions.get(f"{FLAG} {number}", {}).get("value") or {}
        label = next(iter(value.get("labels") or []), REVIEWS[0])
        flags.append({**flag, "review": label if label in REVIEWS else REVIEWS[0]})
    return flags
