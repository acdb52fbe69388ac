"""One procedure from several files about the same video: jobs of one task, boxes here and phases there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

import numpy as np

from surgeval.datasets._about import UNKNOWN
from surgeval.errors import ProcedureInvalid
from surgeval.schema.declaration import Declaration
from surgeval.schema.procedure_problems import MEASURES, RATE, procedure_problems
from surgeval.schema.tracks import Procedure, Track

Entry = TypeVar("Entry")


def join_procedures(procedures: Iterable[Procedure]) -> list[Procedure]:
    """One procedure per video, in order of first appearance, with everything that the parts tell.

    What two parts tell alike counts once. Duration and frame size are the largest told; what a part only assumes,
    because it stops at its last annotation, counts where no other part tells it.

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

    def measure(name: str) -> tuple[int, bool]:
        """The largest value that a part tells, or that one assumes where none does, and whether it is assumed."""
        certain = [getattr(procedure, name) for procedure in parts if name not in procedure.assumed]
        return max(certain or [getattr(procedure, name) for procedure in parts]), not certain

    whole = Procedure(
        video,
        _agreed("procedure_type", [procedure.procedure_type for procedure in parts], UNKNOWN, contradictions),
        _agreed("center", [procedure.center for procedure in parts], UNKNOWN, contradictions),
        measure("duration_s")[0],
        measure("width_px")[0],
        measure("height_px")[0],
        _tracks(parts, lambda procedure: procedure.tracks, contradictions),
        tuple(_once(event for procedure in parts for event in procedure.events)),
        tuple(_once(phase for procedure in parts for phase in procedure.phases)),
        _tracks(parts, lambda procedure: procedure.instruments, contradictions),
        tuple(_once(span for procedure in parts for span in procedure.masked)),
        _agreed("patient", [procedure.patient for procedure in parts], video, contradictions),
        facts,
        declared=_declared(parts),
        proposed=tuple(_once(instance for procedure in parts for instance in procedure.proposed)),
        assumed=(
            *(name for name in MEASURES if measure(name)[1]),
            *([RATE] if any(RATE in procedure.assumed for procedure in parts) else []),
        ),
    )
    problems += [f"video {video!r}: {text}" for text in contradictions or procedure_problems(whole)]
    return whole


def _declared(parts: list[Procedure]) -> Declaration | None:
    """What all parts together declare; None where one of them declares nothing."""
    known = [procedure.declared for procedure in parts if procedure.declared is not None]
    if len(known) < len(parts):
        return None
    classes = [one.classes for one in known]
    return Declaration(
        None if None in classes else tuple(_once(name for names in classes for name in names or ())),
        tuple(_once(kind for one in known for kind in one.events)),
        any(one.phases for one in known),
        any(one.attributes for one in known),
        None if any(one.spans is None for one in known) else _once_spans(known),
        tuple(_once(name for one in known for name in one.confirmed_by)),
    )


def _once_spans(known: list[Declaration]) -> tuple[tuple[int, int], ...]:
    """The stretches that every part looked at, where parts cover different ones."""
    return tuple(sorted(_once(span for one in known for span in one.spans or ())))


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
