"""Files of every annotation tool that procedures are read from, also of those that the package does not write."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from surgvalid.datasets import write_annotations
from surgvalid.datasets.tools import mot, segments
from surgvalid.datasets.tools._about import write_text
from surgvalid.datasets.tools._losses import losses
from surgvalid.errors import ProcedureInvalid
from surgvalid.schema.findings import Finding, Severity
from surgvalid.schema.procedures.procedure_problems import check_procedure
from surgvalid.schema.procedures.tracks import Procedure, Track, Visibility

_COLUMNS = ("tier", "start_s", "end_s", "label", "instance", "details")
_HALF_SEEN = 0.5
_HEADER_TEXTS = ("video", "procedure_type", "center", "patient")
_HEADER_SIZES = ("duration_s", "width_px", "height_px")


def write_any(procedure: Procedure, path: str | Path, *, tool: str) -> list[Finding]:
    """What the tool's file cannot hold of the procedure; the rest is written."""
    own = {"mot": _write_mot, "segments": _write_segments}
    if tool in own:
        return own[tool](check_procedure(procedure), path)
    return write_annotations(procedure, path, tool=tool)


def _write_mot(procedure: Procedure, path: str | Path) -> list[Finding]:
    """What the folder cannot hold of the procedure; the rest is written as MOT, one frame a second.

    Raises:
        ProcedureInvalid: A name has a line break, for which the format has no place.
    """
    tracks = (*procedure.tracks, *procedure.instruments)
    labels = sorted({track.class_name for track in tracks})
    broken = [name for name in (procedure.video, *labels) if len(name.splitlines()) != 1 or name != name.strip()]
    if broken:
        raise ProcedureInvalid(f"procedure {procedure.video!r}", [f"MOT cannot keep the name {n!r}" for n in broken])
    home = Path(path)
    (home / "gt").mkdir(parents=True, exist_ok=True)
    lines, renamed = list[tuple[int, str]](), {}
    for identity, track in enumerate(tracks, start=1):
        kind = labels.index(track.class_name) + 1
        renamed[track.instance] = f"{track.class_name} {identity}"
        for second, box, code in zip(track.seconds.tolist(), track.boxes.tolist(), track.visibility, strict=True):
            if code != Visibility.OUTSIDE:
                seen = _HALF_SEEN if code == Visibility.OCCLUDED else 1
                row = (second + 1, identity, *(repr(value) for value in box), 1, kind, seen)
                lines.append((second, ",".join(map(str, row))))
    lines.sort(key=lambda pair: pair[0])
    _write_lines(home / "gt" / "gt.txt", [line for _, line in lines])
    _write_lines(home / "gt" / "labels.txt", labels)
    sizes = f"imWidth={procedure.width_px}", f"imHeight={procedure.height_px}"
    head = "[Sequence]", f"name={procedure.video}", "imDir=img1", "frameRate=1", f"seqLength={procedure.duration_s}"
    _write_lines(home / "seqinfo.ini", [*head, *sizes, "imExt=.png"])
    named = replace(
        procedure, tracks=_named(procedure.tracks, renamed), instruments=_named(procedure.instruments, renamed)
    )
    lost = [Finding("lost-names", Severity.WARNING, "the file keeps no names", where="mot")]
    kept = all(old == new for old, new in renamed.items())
    return [*([] if kept else lost), *losses(named, mot.read(home).procedures[0], tool="mot")]


def _write_lines(path: Path, lines: list[str]) -> None:
    write_text(path, "".join(f"{line}\n" for line in lines))


def _named(tracks: tuple[Track, ...], renamed: Mapping[str, str]) -> tuple[Track, ...]:
    return tuple(replace(track, instance=renamed.get(track.instance, track.instance)) for track in tracks)


def _write_segments(procedure: Procedure, path: str | Path) -> list[Finding]:
    """What the file cannot hold of the procedure, such as every box; the rest is written as segments."""
    listed: list[tuple[Any, ...]] = []
    header = {name: getattr(procedure, name) for name in (*_HEADER_TEXTS, *_HEADER_SIZES)}
    listed += [("procedure", 0, procedure.duration_s, f"{k}={v}") for k, v in {**header, **procedure.facts}.items()]
    for kind, tracks in (("object", procedure.tracks), ("instrument", procedure.instruments)):
        for track in tracks:
            listed.append((kind, "", "", track.class_name, track.instance))
            listed += [("attribute", "", "", f"{k}={v}", track.instance) for k, v in track.attributes.items()]
            listed += [("attribute", c.second, "", f"{c.name}={c.value}", track.instance) for c in track.changes]
    listed += [("phase", phase.start_s, phase.end_s, phase.name) for phase in procedure.phases]
    listed += [("masked", span.start_s, span.end_s, "masked") for span in procedure.masked]
    for event in procedure.events:
        details = json.dumps(dict(event.details), ensure_ascii=False) if event.details else ""
        listed.append(("event", event.second, event.second + 1, event.kind.value, event.instance, details))
    text = io.StringIO(newline="")
    table = csv.writer(text, lineterminator="\r\n")
    table.writerow(_COLUMNS)
    table.writerows((*row, *[""] * (len(_COLUMNS) - len(row))) for row in listed)
    write_text(path, text.getvalue())
    return losses(procedure, segments.read(path).procedures[0], tool="segments")
