"""The part of a procedure that a JSON format has no words for, carried along as a key that other tools ignore.

What the format itself says wins: its boxes, classes and timelines may have been corrected since. An object that was
seen when the file was written and has no box left was deleted; only objects that were never seen come back from here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from surgeval.datasets._draft import VideoDraft
from surgeval.errors import ProcedureInvalid
from surgeval.schema.procedure_files import procedure_from_dict, procedure_to_dict
from surgeval.schema.tracks import Procedure, Track, track_from_points

SHELL = "surgeval"


def shell_of(procedure: Procedure) -> dict[str, Any]:
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


def take_shell(draft: VideoDraft, document: Any) -> None:
    """Fill the draft, whose boxes were read already, with what the shell tells."""
    try:
        shell = procedure_from_dict(document, where=SHELL)
    except ProcedureInvalid as error:
        draft.problems += [f"{SHELL!r}: {problem}" for problem in error.problems]
        return
    for name in ("video", "procedure_type", "center", "patient", "duration_s", "width_px", "height_px"):
        setattr(draft, name, getattr(shell, name))
    draft.events += shell.events
    draft.masked += shell.masked
    draft.phases = draft.phases or list(shell.phases)
    draft.facts = {**shell.facts, **draft.facts}
    draft.declared, draft.proposed, draft.assumed = shell.declared, list(shell.proposed), list(shell.assumed)
    unseen = document.get("unseen")
    _take_tracks(draft, shell, set(map(str, unseen)) if isinstance(unseen, list) else set())


def _take_tracks(draft: VideoDraft, shell: Procedure, unseen: set[str]) -> None:
    ordered = {}
    for track in (*shell.tracks, *shell.instruments):
        if track.instance in draft.tracks or track.instance in unseen:
            known = draft.tracks.pop(track.instance, None) or draft.track(track.instance, track.class_name)
            known.attributes, known.changes = dict(track.attributes), list(track.changes)
            known.instrument = track in shell.instruments
            ordered[track.instance] = known
    roles = {track.class_name for track in shell.instruments} - {track.class_name for track in shell.tracks}
    for name, drawn in draft.tracks.items():  # drawn anew, or of an export that keeps no names
        drawn.instrument |= drawn.class_name in roles
        draft.proposed += [name] if shell.proposed and not drawn.instrument else []
    draft.tracks = {**ordered, **draft.tracks}
