"""One procedure from several files about the same video: jobs of one task, boxes here and phases there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import product
from typing import TypeVar

import numpy as np

from surgvalid.datasets.tools._about import UNKNOWN
from surgvalid.errors import ProcedureInvalid
from surgvalid.schema.procedures.foreign_objects import Declaration
from surgvalid.schema.procedures.procedure_problems import MEASURES, RATE, procedure_problems
from surgvalid.schema.procedures.tracks import Procedure, Track

_BLANKS = re.compile(r"[\s_]+")
Entry = TypeVar("Entry")
Stretches = tuple[tuple[int, int], ...]


def join_procedures(procedures: Iterable[Procedure], say: Callable[[str], object] = lambda _: None) -> list[Procedure]:
    """One procedure per video, in order of first appearance, with everything that the parts tell.

    Names that differ in blanks and underscores only are those of one video, which `say` is told.
    What two parts tell alike counts once. Duration and frame size are the largest told; what a part only assumes,
    because it stops at its last annotation, counts where no other part tells it.

    Raises:
        ProcedureInvalid: Parts contradict each other; every contradiction is listed.
    """
    parts: dict[str, list[Procedure]] = {}
    for procedure in procedures:
        members = parts.setdefault(_BLANKS.sub(" ", procedure.video), [])
        if members and members[0].video != procedure.video:
            say(f"{procedure.video!r} is interpreted as the video {members[0].video!r}")
            procedure = replace(procedure, video=members[0].video)
        members.append(procedure)
    problems: list[str] = []
    joined = [_joined(members[0].video, members, problems) for members in parts.values()]
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
    """What all parts together declare; None where none declares anything.

    A declaration names one set of stretches for everything, so that no part may lend its own to what another one
    looked for: where parts looked for different things, these count in the stretches that all have looked at, and
    where there are none, what all looked for counts in all their stretches.
    """
    if all(procedure.declared is None for procedure in parts):
        return None
    known = [procedure.annotated for procedure in parts]
    confirmed = tuple(_once(name for one in known for name in one.confirmed_by))
    things = [replace(one, spans=None, confirmed_by=()) for one in known]
    together = _all_of(known) if len(_once(things)) == 1 else _common(known)
    if together == ():
        together, joined = _all_of(known), _in_each(things)
    else:
        joined = _in_any(things)
    return replace(joined, spans=together, confirmed_by=confirmed)


def _in_any(things: list[Declaration]) -> Declaration:
    """What at least one part looked for."""
    classes = [one.classes for one in things]
    return Declaration(
        None if None in classes else tuple(_once(name for names in classes for name in names or ())),
        tuple(_once(kind for one in things for kind in one.events)),
        any(one.phases for one in things),
        any(one.attributes for one in things),
    )


def _in_each(things: list[Declaration]) -> Declaration:
    """What every part looked for."""
    listed = [one.classes for one in things if one.classes is not None]
    return Declaration(
        tuple(name for name in listed[0] if all(name in names for names in listed)) if listed else None,
        tuple(kind for kind in things[0].events if all(kind in one.events for one in things)),
        all(one.phases for one in things),
        all(one.attributes for one in things),
    )


def _all_of(known: list[Declaration]) -> Stretches | None:
    """The stretches that at least one part looked at."""
    if any(one.spans is None for one in known):
        return None
    merged: list[tuple[int, int]] = []
    for start_s, end_s in sorted(span for one in known for span in one.spans or ()):
        if merged and start_s <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], end_s)
        else:
            merged.append((start_s, end_s))
    return tuple(merged)


def _common(known: list[Declaration]) -> Stretches | None:
    """The stretches that every part looked at."""
    common: Stretches | None = None
    for spans in (_all_of([one]) for one in known):
        if spans is not None:
            pairs = product(common, spans) if common is not None else ((span, span) for span in spans)
            both = ((max(a[0], b[0]), min(a[1], b[1])) for a, b in pairs)
            common = tuple(sorted((low, high) for low, high in both if low < high))
    return common


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
        doubtful=np.concatenate((first.doubtful, second.doubtful[more]))[order],
        attributes=attributes,
        changes=tuple(sorted(_once((*first.changes, *second.changes)), key=lambda change: change.second)),
    )
