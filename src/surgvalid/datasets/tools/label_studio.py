"""Label Studio JSON: video rectangles and timelines, or shapes on images.

Read: a list of tasks; every annotation that was not cancelled is the work of one annotator and becomes a procedure of
its own (the fact `annotator` names who, and with several the video's name too). Rectangles are in percent of the
frame, turned about their top left corner; frames count from 1. Between two entries of a sequence the box is
interpolated while the first is enabled; a disabled entry is the last of its stretch. Frame counts come from the
browser, so the rate is `framesCount / duration` unless `About(fps=...)` tells better. The smaller export (JSON_MIN),
whose tasks list values by the name of their control, is read as the full one.

Written: one rectangle per object and phases as timeline labels. What the tool has no words for is carried in the
task's data under `surgvalid`; only whether a box is occluded is lost, and said.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

from surgvalid.datasets.tools._about import About, Annotations, before_upload, number, rows, whole, write_text
from surgvalid.datasets.tools._draft import LONGEST_S, TrackDraft, VideoDraft, finish
from surgvalid.datasets.tools._label_studio_images import (
    draws_on_images,
    image_annotations,
    kinds_drawn,
    shape_kind,
    turned,
)
from surgvalid.datasets.tools._losses import SIDECAR, losses, sidecar_of, take_sidecar
from surgvalid.errors import FileUnreadable, ProcedureInvalid
from surgvalid.schema.documents import read_json, read_text
from surgvalid.schema.findings import Finding, Severity
from surgvalid.schema.legacy import with_new_keys
from surgvalid.schema.procedures.tracks import Phase, Procedure, Track

TITLE = "Label Studio JSON (video rectangles, timeline labels, shapes on images)"
FILE_NAME = "label_studio.json"
FLAGS = "surgvalid_flags"
"""The key of a task's data under which a review keeps its flags."""
FLAG = "flag"
"""The control of regions that mark what is to be looked at again; they are no annotations."""
_SIDES = ("x", "y", "width", "height")
Keyframe = tuple[int, tuple[float, float, float, float], bool]
"""Frame from 0, box in pixels, whether the object stays until the next one."""


def recognises(path: Path, head: str) -> bool:
    """Whether a file that begins with `head` is one of this tool."""
    keys = ('"annotations"', '"completions"', '"data"', '"predictions"', '"framesCount"', '"rectanglelabels"')
    if path.suffix.lower() in (".csv", ".tsv"):
        return {"annotation_id", "annotator"} <= set(re.findall(r"\w+", head.split("\n", 1)[0]))
    if path.suffix.lower() != ".json" or '"coordinates"' in head:
        return False
    one_task = '"result"' in head and '"annotations"' in head and '"images"' not in head
    return (head.lstrip().startswith("[") and any(key in head for key in keys)) or one_task


def read(path: str | Path, about: About | None = None) -> Annotations:
    """The procedures in the file, one per annotation.

    Raises:
        FileUnreadable: Not JSON, or no list of tasks.
        ProcedureInvalid: Something in it cannot be true; every problem is listed.
    """
    document = _table(Path(path)) if Path(path).suffix.lower() in (".csv", ".tsv") else read_json(path)
    document = [document] if isinstance(document, dict) and "annotations" in document else document
    if not isinstance(document, list) or len(rows(document)) != len(document):
        raise FileUnreadable(str(path), ["not Label Studio: expected a list of tasks"])
    tasks = [_full_task(task) for task in document]
    if any(map(draws_on_images, tasks)) and not any(map(_of_video, tasks)):
        return image_annotations(tasks, str(path), about or About())
    drafts: list[VideoDraft] = []
    named, empty = before_upload([_name_of(task, at, path) for at, task in enumerate(tasks, 1)]), 0
    for name, task in zip(named, tasks, strict=True):
        drafted = _task_drafts(task, name, Path(path), about or About()) if _of_video(task) else []
        drafts, empty = drafts + drafted, empty + (not drafted)
    if not drafts and any(rows(task.get("annotations")) for task in tasks):
        raise ProcedureInvalid(
            str(path), ["no task is of a video or has shapes on an image; nothing in it has a place"]
        )
    if not drafts:
        raise ProcedureInvalid(str(path), ["no task has an annotation that was not cancelled"])
    if empty:
        drafts[0].note("no-annotation", f"{empty} tasks have no annotation that was not cancelled; they are not kept")
    return Annotations(*finish(drafts, str(path)))


def _table(path: Path) -> list[dict[str, Any]]:
    """The rows of a CSV or TSV export, whose cells hold lists as JSON, as tasks of the smaller export."""
    text = read_text(path)
    lines = csv.DictReader(text.splitlines(), delimiter="\t" if "\t" in text.split("\n", 1)[0] else ",")
    return [{name: _cell(text) for name, text in row.items() if name} for row in lines]


def _cell(text: str | None) -> Any:
    try:
        return json.loads(text) if text and text[0] in "[{" else text
    except ValueError:
        return text


def _of_video(task: dict[str, Any]) -> bool:
    """Whether a task is of a video: by its data or by what was drawn."""
    data = task.get("data")
    shown = bool(isinstance(data, dict) and data.get("video"))
    return shown or not kinds_drawn(task).isdisjoint(("videorectangle", "timelinelabels"))


def _full_task(task: dict[str, Any]) -> dict[str, Any]:
    """A task of the smaller export as the full one has it; any other as it is."""
    values = [(control, value) for control, listed in task.items() for value in rows(listed)]
    results = [
        {"original_width": value.get("original_width"), "original_height": value.get("original_height")}
        | {"id": f"{control} {place}", "from_name": control, "type": kind, "value": value}
        for place, (control, value) in enumerate(values, start=1)
        if (kind := _kind(value))
    ]
    if "annotations" in task or not (results or "annotator" in task):
        return task
    annotation = {"completed_by": task.get("annotator"), "result": results}
    named = with_new_keys(task)
    data = {key: named[key] for key in ("video", "image", SIDECAR, FLAGS) if named.get(key)}
    return {"id": task.get("id"), "data": data, "annotations": [annotation]}


def _kind(value: dict[str, Any]) -> str:
    """The type of a result of the smaller export, which does not tell it; '' where it is none that is known."""
    if "sequence" in value:
        return "videorectangle"
    return "timelinelabels" if "ranges" in value else shape_kind(value)


def _name_of(task: dict[str, Any], position: int, path: str | Path) -> str:
    given = task.get("data")
    video = given.get("video") if isinstance(given, dict) else None
    return Path(str(video or f"{Path(path).stem} {task.get('id', position)}")).stem


def _task_drafts(task: dict[str, Any], name: str, path: Path, about: About) -> list[VideoDraft]:
    given = task.get("data")
    data = with_new_keys(given) if isinstance(given, dict) else {}
    annotations = rows(task.get("annotations"))
    kept = [row for row in annotations if not row.get("was_cancelled")]
    drafts = []
    for turn, annotation in enumerate(kept, start=1):
        draft = VideoDraft(str(path), about, video=name)
        reader = _Reader(draft, data)
        reader.take(rows(annotation.get("result")))
        who = annotation.get("completed_by")
        who = who.get("email") or who.get("id") if isinstance(who, dict) else who
        if who is not None:
            draft.facts["annotator"] = str(who)
        if len(kept) > 1:
            draft.video = f"{draft.video} by {who if who is not None else turn}"
        drafts.append(draft)
    if drafts and len(kept) < len(annotations):
        drafts[0].note("cancelled", f"{len(annotations) - len(kept)} cancelled annotations are not kept")
    if drafts and (predictions := rows(task.get("predictions"))):
        drafts[0].note("predictions", f"{len(predictions)} predictions of models are not kept")
    if drafts and (more := sorted(str(key) for key in data if key not in ("video", SIDECAR, FLAGS))):
        drafts[0].note("task-data", f"the task's data {', '.join(map(repr, more))[:200]} are not kept")
    return drafts


class _Reader:
    """Takes the results of one annotation into a draft."""

    def __init__(self, draft: VideoDraft, data: dict[str, Any]) -> None:
        self.draft, self.data = draft, data
        self.counts: Counter[str] = Counter()
        self.first_frame = 1
        self.last_frame: int | None = None
        """One after the last, from 0."""

    def take(self, results: list[dict[str, Any]]) -> None:
        """Take over all results."""
        draft = self.draft
        results = [row for row in results if row.get("from_name") != FLAG]
        sidecar = self.data.get(SIDECAR)
        if isinstance(sidecar, dict):
            draft.width_px, draft.height_px = whole(sidecar.get("width_px")), whole(sidecar.get("height_px"))
        self._take_clock(results)
        counts = Counter(str(row.get("id")) for row in results if row.get("type") == "videorectangle")
        draft.problems += [f"{count} rectangles have the id {i!r}" for i, count in counts.items() if count > 1]
        more: Counter[str] = Counter()
        for row in results:
            kind, value = row.get("type"), row.get("value")
            more.update(key for key in ("meta", "score") if row.get(key))
            if kind == "videorectangle" and isinstance(value, dict):
                self._take_rectangle(row, value)
            elif kind == "timelinelabels" and isinstance(value, dict):
                self._take_phase(value)
            else:
                self.counts[f"{kind}"] += 1
        if sidecar is not None:
            take_sidecar(draft, sidecar)
        if rotated := self.counts.pop("rotated boxes", 0):
            draft.note("rotation", f"{rotated} rotated boxes are kept as the upright box around them")
        if between := self.counts.pop("interpolated boxes", 0):
            draft.note("interpolated", f"{between} boxes between listed frames were interpolated", Severity.NOTE)
        for kind, count in self.counts.items():
            draft.note("not-kept", f"{count} results of type {kind!r} are not kept")
        for key, count in more.items():
            draft.note("not-kept", f"{count} results have {key!r}, which is not kept")

    def _take_clock(self, results: list[dict[str, Any]]) -> None:
        values = [row["value"] for row in results if isinstance(row.get("value"), dict)]
        clocks = {(number(v.get("framesCount")), number(v.get("duration"))) for v in values if "framesCount" in v}
        if len(clocks) > 1:
            self.draft.problems.append(f"results disagree on framesCount and duration: {sorted(map(str, clocks))}")
        for frames, length in clocks:
            if frames and length and frames > 0 and length > 0:
                self.draft.set_fps(frames / length)
                self.draft.duration_s = max(1, round(length))
                self.last_frame = int(frames)
        if not clocks and any("sequence" in v for v in values):
            self.draft.take_file_rate()
        frames_told = [whole(entry.get("frame")) for v in values for entry in rows(v.get("sequence"))]
        if 0 in frames_told:
            self.first_frame = 0
            self.draft.note("frames-from-0", "a frame 0 is told, so frames count from 0 here, not from 1")

    def _take_rectangle(self, row: dict[str, Any], value: dict[str, Any]) -> None:
        draft, name = self.draft, str(row.get("id"))
        for key, side in (("original_width", "width_px"), ("original_height", "height_px")):
            setattr(draft, side, getattr(draft, side) or whole(row.get(key)))
        width, height = draft.side("width_px"), draft.side("height_px")
        labels = value.get("labels")
        if not isinstance(labels, list) or len(labels) != 1:
            draft.problems.append(f"rectangle {name!r}: one label expected, got {labels!r}")
            return
        if not width or not height:
            draft.problems.append(
                f"rectangle {name!r}: percent of a frame whose size is not told; give --size or the video file "
                "(--video)"
            )
            return
        track = draft.track(name, str(labels[0]))
        keys: list[Keyframe] = []
        for position, entry in enumerate(rows(value.get("sequence")), start=1):
            frame, sides = whole(entry.get("frame")), [number(entry.get(side)) for side in _SIDES]
            if frame is None or frame < self.first_frame or None in sides:
                draft.problems.append(
                    f"rectangle {name!r}, entry {position}: frame and {', '.join(_SIDES)} must be numbers"
                )
                continue
            x, y, w, h = (side or 0.0 for side in sides)
            box = (x * width / 100, y * height / 100, w * width / 100, h * height / 100)
            turn = number(entry.get("rotation")) or 0.0
            self.counts["rotated boxes"] += turn % 360 != 0
            keys.append((frame - self.first_frame, turned(box, turn), entry.get("enabled") is not False))
        self._take_sequence(track, sorted(keys, key=lambda key: key[0]))

    def _take_sequence(self, track: TrackDraft, keys: list[Keyframe]) -> None:
        draft = self.draft
        for frame, box, _ in keys:
            second = draft.second_of(frame)
            if second is None:
                draft.between += 1
            else:
                track.see(second, box)
        if keys and self.last_frame is not None:
            keys = [*keys, (self.last_frame, keys[-1][1], False)]
        for (frame, box, stays), (after, target, _) in pairwise(keys):
            if not stays or (after - frame) / draft.fps > LONGEST_S:
                continue  # seconds so late are a problem of their own
            for second in range(math.floor(frame / draft.fps), math.ceil(after / draft.fps) + 1):
                at = round(second * draft.fps)
                if frame < at < after:
                    share = (at - frame) / (after - frame)
                    x, y, w, h = (p + share * (q - p) for p, q in zip(box, target, strict=True))
                    track.see(second, (x, y, w, h))
                    self.counts["interpolated boxes"] += 1

    def _take_phase(self, value: dict[str, Any]) -> None:
        draft, labels = self.draft, value.get("timelinelabels") or value.get("labels")
        label = str(labels[0]) if isinstance(labels, list) and labels else ""
        for span in rows(value.get("ranges")):
            start, end = whole(span.get("start")), whole(span.get("end"))
            if not label or start is None or end is None:
                draft.problems.append(f"timeline {label!r}: start and end must be frame numbers, got {span}")
                continue
            start_s, end_s = (round((frame - 1) / draft.fps) for frame in (start, end + 1))
            draft.phases.append(Phase(label, start_s, end_s))


# --- writing -------------------------------------------------------------------------------------


def write(procedure: Procedure, path: str | Path) -> list[Finding]:
    """What the file cannot hold of the procedure; the rest is written as one task, one frame a second."""
    data = {"video": f"{procedure.video}.mp4", SIDECAR: sidecar_of(procedure)}
    annotation = {"id": 1, "was_cancelled": False, "result": results_of(procedure)}
    task = {"id": 1, "data": data, "annotations": [annotation]}
    write_text(path, json.dumps([task], separators=(",", ":")) + "\n")
    return losses(procedure, read(path).procedures[0], tool="label_studio")


def results_of(procedure: Procedure) -> list[dict[str, Any]]:
    """The boxes and phases of a procedure as regions, one frame a second."""
    tracks = (*procedure.tracks, *procedure.instruments)
    results = [_rectangle(track, procedure) for track in tracks if track.in_view.any()]
    return results + [_timeline(phase, position) for position, phase in enumerate(procedure.phases, start=1)]


def _rectangle(track: Track, procedure: Procedure) -> dict[str, Any]:
    seen, sequence = track.seconds[track.in_view].tolist(), []
    size = (procedure.width_px, procedure.height_px) * 2
    for at, (second, box) in enumerate(zip(seen, track.boxes[track.in_view].tolist(), strict=True)):
        goes_on = at + 1 < len(seen) and seen[at + 1] == second + 1
        sides = {side: value * 100 / whole_px for side, value, whole_px in zip(_SIDES, box, size, strict=True)}
        sequence.append({"frame": second + 1, "enabled": goes_on, "rotation": 0, "time": second, **sides})
    length = procedure.duration_s
    value = {"framesCount": length, "duration": length, "sequence": sequence, "labels": [track.class_name]}
    return {
        "id": track.instance,
        "type": "videorectangle",
        "from_name": "box",
        "to_name": "video",
        "original_width": procedure.width_px,
        "original_height": procedure.height_px,
        "value": value,
    }


def _timeline(phase: Phase, position: int) -> dict[str, Any]:
    value = {"ranges": [{"start": phase.start_s + 1, "end": phase.end_s}], "timelinelabels": [phase.name]}
    names = {"from_name": "phases", "to_name": "video"}
    return {"id": f"phase {position}", "type": "timelinelabels", **names, "value": value}
