"""What a file has no words for: carried along beside the rest where the format is JSON, and otherwise told as lost.

The sidecar is a key that other tools ignore. What the format itself says wins: its boxes, classes and timelines may
have been corrected since. An object that was seen when the file was written and has no box left was deleted; only
objects that were never seen come back from the sidecar.

Losses are measured, not promised: a writer reads back what it wrote and compares. A point outside the view and no point
at all mean the same, so their exchange is a note; everything else that differs is a warning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from surgvalid.datasets.tools._draft import VideoDraft
from surgvalid.errors import ProcedureInvalid
from surgvalid.schema.findings import Finding, Severity
from surgvalid.schema.procedures.procedure_files import procedure_from_dict, procedure_to_dict
from surgvalid.schema.procedures.tracks import Procedure, Track, track_from_points

SIDECAR = "surgvalid"


def sidecar_of(procedure: Procedure) -> dict[str, Any]:
    """The procedure without its boxes, as plain data."""
    bare = replace(
        procedure,
        tracks=tuple(map(_bare, procedure.tracks)),
        instruments=tuple(map(_bare, procedure.instruments)),
    )
    unseen = [t.instance for t in (*procedure.tracks, *procedure.instruments) if not t.in_view.any()]
    return {**procedure_to_dict(bare), "unseen": unseen}


def _bare(track: Track) -> Track:
    return track_from_points(track.instance, track.class_name, [], attributes=track.attributes, changes=track.changes)


def take_sidecar(draft: VideoDraft, document: Any) -> None:
    """Fill the draft, whose boxes were read already, with what the sidecar tells."""
    try:
        sidecar = procedure_from_dict(document, where=SIDECAR)
    except ProcedureInvalid as error:
        draft.problems += [f"{SIDECAR!r}: {problem}" for problem in error.problems]
        return
    for name in ("video", "procedure_type", "center", "patient", "duration_s", "width_px", "height_px"):
        setattr(draft, name, getattr(sidecar, name))
    draft.events += sidecar.events
    draft.masked += sidecar.masked
    draft.phases = draft.phases or list(sidecar.phases)
    draft.facts = {**sidecar.facts, **draft.facts}
    draft.declared, draft.proposed, draft.assumed = sidecar.declared, list(sidecar.proposed), list(sidecar.assumed)
    unseen = document.get("unseen")
    _take_tracks(draft, sidecar, set(map(str, unseen)) if isinstance(unseen, list) else set())


def _take_tracks(draft: VideoDraft, sidecar: Procedure, unseen: set[str]) -> None:
    ordered = {}
    for track in (*sidecar.tracks, *sidecar.instruments):
        if track.instance in draft.tracks or track.instance in unseen:
            known = draft.tracks.pop(track.instance, None) or draft.track(track.instance, track.class_name)
            known.attributes, known.changes = dict(track.attributes), list(track.changes)
            known.instrument = track in sidecar.instruments
            ordered[track.instance] = known
    roles = {track.class_name for track in sidecar.instruments} - {track.class_name for track in sidecar.tracks}
    for name, drawn in draft.tracks.items():  # drawn anew, or of an export that keeps no names
        drawn.instrument |= drawn.class_name in roles
        draft.proposed += [name] if sidecar.proposed and not drawn.instrument else []
    draft.tracks = {**ordered, **draft.tracks}


_HEADER = ("video", "procedure_type", "center", "patient", "duration_s", "width_px", "height_px")
_LISTS = ("events", "phases", "masked")


def losses(before: Procedure, after: Procedure, *, tool: str) -> list[Finding]:
    """Every difference between the procedure and what comes back from the file.

    Args:
        before: What was written.
        after: What came back.
        tool: The tool's name, for the findings.
    """
    lost = [
        *(
            _lost(name, f"{name} {getattr(before, name)!r} is not in the file")
            for name in _HEADER
            if getattr(before, name) != getattr(after, name)
        ),
        *_other_losses(before, after),
        *_tracks_losses("track", before.tracks, after.tracks),
        *_tracks_losses("instrument", before.instruments, after.instruments, elsewhere=after.tracks),
    ]
    return [Finding(f.code, f.severity, f.message, where=tool) for f in lost]


def _lost(what: str, message: str, severity: Severity = Severity.WARNING) -> Finding:
    return Finding(f"lost-{what.replace('_', '-')}", severity, message)


def _other_losses(before: Procedure, after: Procedure) -> Iterator[Finding]:
    """Lists, facts, and what was annotated or only assumed: without it no more than what occurs is believed."""
    for name in _LISTS:
        written, kept = getattr(before, name), list(getattr(after, name))
        if list(written) != kept:
            gone = sum(entry not in kept for entry in written)
            yield _lost(name, f"{gone} of {len(written)} {name} are not in the file as they were")
    if facts := [key for key, value in before.facts.items() if after.facts.get(key) != value]:
        yield _lost("facts", f"facts not in the file: {', '.join(sorted(facts))}")
    if any(getattr(before, name) != getattr(after, name) for name in ("declared", "proposed", "assumed")):
        yield _lost("declaration", "what was annotated, and confirmed by whom, is not in the file", Severity.NOTE)


def _tracks_losses(
    what: str, before: tuple[Track, ...], after: tuple[Track, ...], *, elsewhere: tuple[Track, ...] = ()
) -> Iterator[Finding]:
    kept = {track.instance: track for track in after}
    strayed = {track.instance: track for track in elsewhere}
    for track in before:
        if track.instance in strayed:
            yield _lost("role", f"{track.instance!r} is in the file, but not that it is an instrument")
            yield from _track_losses(f"{what} {track.instance!r}", track, strayed[track.instance])
        elif track.instance not in kept:
            yield _lost(what, f"{what} {track.instance!r} ({len(track)} points) is not in the file under its name")
        else:
            yield from _track_losses(f"{what} {track.instance!r}", track, kept[track.instance])
    names = [track.instance for track in before]
    if set(names) == set(kept) and names != list(kept):
        yield _lost(f"{what}-order", f"the order of the {what}s changed", Severity.NOTE)


def _track_losses(title: str, before: Track, after: Track) -> Iterator[Finding]:
    if before.class_name != after.class_name:
        yield _lost("class", f"{title}: the class {before.class_name!r} is not in the file")
    if dict(before.attributes) != dict(after.attributes):
        yield _lost(
            "attributes", f"{title}: attributes {dict(before.attributes)} came back as {dict(after.attributes)}"
        )
    if before.changes != after.changes:
        yield _lost(
            "changes", f"{title}: {len(before.changes)} changes of attributes came back as {len(after.changes)}"
        )
    outside = len(before) - int(before.in_view.sum())
    if (doubts := int(before.doubtful.sum()) - int(after.doubtful.sum())) > 0:
        yield _lost("doubts", f"{title}: at {doubts} points it is not in the file that nobody can be sure of them")
    if outside and len(after) == int(after.in_view.sum()):
        yield _lost("outside", f"{title}: {outside} points outside the view became gaps, same meaning", Severity.NOTE)
    yield from _point_losses(title, before, after)


def _point_losses(title: str, before: Track, after: Track) -> Iterator[Finding]:
    seen, kept = before.seconds[before.in_view], after.seconds[after.in_view]
    if not np.array_equal(seen, kept):
        gone, more = np.setdiff1d(seen, kept).size, np.setdiff1d(kept, seen).size
        yield _lost(
            "points", f"{title}: {gone} of {seen.size} points are not in the file, {more} came back in addition"
        )
        return
    apart = np.abs(before.boxes[before.in_view] - after.boxes[after.in_view]).max(initial=0.0)
    if apart > 0:
        yield _lost("digits", f"{title}: boxes came back up to {apart:.2g} px away")
    if (count := int((before.visibility[before.in_view] != after.visibility[after.in_view]).sum())) > 0:
        yield _lost("visibility", f"{title}: of {count} points it is not in the file whether they are occluded")
