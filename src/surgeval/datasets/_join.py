"""One procedure from several files about the same video: jobs of one task, boxes here and phases there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

import numpy as np

from surgeval.datasets._about import UNKNOWN
from surgeval.errors import ProcedureInvalid
from surgeval.schema.procedure_problems import procedure_problems
from surgeval.schema.tracks import Procedure, Track

Entry = TypeVar("Entry")


def join_procedures(procedures: Iterable[Procedure]) -> list[Procedure]:
    """One procedure per video, in order of first appearance, with everything that the parts tell.

    What two parts tell alike counts once. Duration and frame size are the largest told, because a file that does not
    know them stops at its last annotation.

    Raises:
        ProcedureInvalid: Parts contradict each other; every contradiction is listed.
    """
    parts: dict[str, list[Procedure]] = {}
    for procedure in procedures:
        parts.setdefault(procedure.video, []).append(procedure)
    problems: list[str] = []
    joined = [_joined(video, members, problems) for video, members in parts.items()]
    if problems:
        raise ProcedureInvalid("joined annotations", problems)
    return joined


def _joined(video: str, parts: list[Procedure], problems: list[str]) -> Procedure:
    if len(parts) == 1:
        return parts[0]
    contradictions: list[str] = []
    facts: dict[str, str] = {}
    for procedure in parts:
        _take(facts, procedure.facts, "fact", contradictions)
    whole = Procedure(
        video,
        _agreed("procedure_type", [procedure.procedure_type for procedure in parts], UNKNOWN, contradictions),
        _agreed("center", [procedure.center for procedure in parts], UNKNOWN, contradictions),
        max(procedure.duration_s for procedure in parts),
        max(procedure.width_px for procedure in parts),
        max(procedure.height_px for procedure in parts),
        _tracks(parts, lambda procedure: procedure.tracks, contradictions),
        tuple(_once(event for procedure in parts for event in procedure.events)),
        tuple(_once(phase for procedure in parts for phase in procedure.phases)),
        _tracks(parts, lambda procedure: procedure.instruments, contradictions),
        tuple(_once(span for procedure in parts for span in procedure.masked)),
        _agreed("patient", [procedure.patient for procedure in parts], video, contradictions),
        facts,
    )
    problems += [f"video {video!r}: {text}" for text in contradictions or procedure_problems(whole)]
    return whole


def _once(entries: Iterable[Entry]) -> list[Entry]:
    kept: list[Entry] = []
    for entry in entries:
        if entry not in kept:
            kept.append(entry)
    return kept


def _agreed(name: str, values: list[str], unknown: str, contradictions: list[str]) -> str:
    known = sorted({text for text in values if text != unknown})
    if len(known) > 1:
        contradictions.append(f"{name} is {' in one file and '.join(map(repr, known))} in another")
    return known[0] if known else unknown


def _take(into: dict[str, str], more: Mapping[str, str], what: str, contradictions: list[str]) -> None:
    for key, value in more.items():
        if into.setdefault(key, value) != value:
            contradictions.append(f"{what} {key!r} is {into[key]!r} in one file and {value!r} in another")


def _tracks(
    parts: list[Procedure], of: Callable[[Procedure], tuple[Track, ...]], contradictions: list[str]
) -> tuple[Track, ...]:
    kept: dict[str, Track] = {}
    for procedure in parts:
        for track in of(procedure):
            known = kept.get(track.instance)
            kept[track.instance] = track if known is None else _both(known, track, contradictions)
    return tuple(kept.values())


def _both(first: Track, second: Track, contradictions: list[str]) -> Track:
    title = f"track {first.instance!r}"
    if first.class_name != second.class_name:
        contradictions.append(f"{title} is a {first.class_name!r} in one file and a {second.class_name!r} in another")
    attributes = dict(first.attributes)
    _take(attributes, second.attributes, f"{title}: attribute", contradictions)
    common, here, there = np.intersect1d(first.seconds, second.seconds, return_indices=True)
    apart = (first.boxes[here] != second.boxes[there]).any(axis=1) | (
        first.visibility[here] != second.visibility[there]
    )
    if apart.any():
        contradictions.append(f"{title}: {apart.sum()} seconds have different boxes (first: second {common[apart][0]})")
    more = ~np.isin(second.seconds, common)
    seconds = np.concatenate((first.seconds, second.seconds[more]))
    order = np.argsort(seconds)
    return replace(
        first,
        seconds=seconds[order],
        boxes=np.concatenate((first.boxes, second.boxes[more]))[order],
        visibility=np.concatenate((first.visibility, second.visibility[more]))[order],
        attributes=attributes,
        changes=tuple(sorted(_once((*first.changes, *second.changes)), key=lambda change: change.second)),
    )
