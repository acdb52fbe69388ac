"""Annotated procedures as files: one JSON document each, versioned, compact, read without surprise.

    {"surgvalid_procedure": 1, "video": ..., "procedure_type": ..., "center": ..., "patient": ...,
     "duration_s": ..., "width_px": ..., "height_px": ...,
     "tracks": [{"instance", "class", "seconds": [[first, count], ...], "boxes": [x, y, width, height, ...],
                 "visibility": [["visible", count], ...], "attributes": {}, "changes": [[second, name, value]],
                 "doubtful": [[first, count], ...] where that is not sure,
                 "dials": {name: [number per second]} where a program made the images}],
     "events": [[second, kind, instance, {details}], ...], "phases": [[name, start_s, end_s], ...],
     "relations": [[second, subject, relation, object], ...] where a program made the images,
     "instruments": [tracks], "masked": [[start_s, end_s], ...], "facts": {},
     "declared": {"classes": [...] or null, "events": [kinds], "phases": true, "attributes": true,
                  "spans": [[start_s, end_s], ...] or null, "confirmed_by": [names]},
     "proposed": [instances], "assumed": [fields]}

`declared` says what was looked for (null: every class, the whole video); without it nobody said. Seconds and
visibility are stored as runs, boxes as one flat list. A round trip loses nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from surgvalid.errors import FileUnreadable, ProcedureInvalid, UnknownName
from surgvalid.schema.documents import read_json
from surgvalid.schema.legacy import with_new_keys
from surgvalid.schema.procedures.foreign_objects import Declaration
from surgvalid.schema.procedures.procedure_problems import procedure_problems
from surgvalid.schema.procedures.tracks import (
    AttributeChange,
    Event,
    EventKind,
    Phase,
    Procedure,
    SceneFact,
    SceneRelation,
    Span,
    Track,
    Visibility,
)

KEY, VERSION = "surgvalid_procedure", 1
_MOST_POINTS = 10_000_000
"""A track cannot have more points than this; stops a run `[0, 10**12]` before it fills the memory."""


def procedure_to_dict(procedure: Procedure) -> dict[str, Any]:
    """The procedure as plain data, in the layout above."""
    return {
        KEY: VERSION,
        "video": procedure.video,
        "procedure_type": procedure.procedure_type,
        "center": procedure.center,
        "patient": procedure.patient,
        "duration_s": procedure.duration_s,
        "width_px": procedure.width_px,
        "height_px": procedure.height_px,
        "tracks": [_track_to_dict(track) for track in procedure.tracks],
        "events": [[e.second, e.kind.value, e.instance, dict(e.details)] for e in procedure.events],
        "phases": [[phase.name, phase.start_s, phase.end_s] for phase in procedure.phases],
        "instruments": [_track_to_dict(track) for track in procedure.instruments],
        **({"relations": list(map(list, procedure.relations))} if procedure.relations else {}),
        "masked": [list(span) for span in procedure.masked],
        "facts": dict(procedure.facts),
        **({} if procedure.declared is None else {"declared": _declaration_to_dict(procedure.declared)}),
        **{name: list(getattr(procedure, name)) for name in ("proposed", "assumed") if getattr(procedure, name)},
    }


def procedure_from_dict(document: Any, *, where: str = "procedure") -> Procedure:
    """The procedure in plain data of the layout above.

    Raises:
        ProcedureInvalid: Something is missing, of the wrong kind or impossible; all is listed.
    """
    problems: list[str] = []
    procedure = _read_procedure(document, problems)
    if procedure is not None and not problems:
        problems = procedure_problems(procedure)
    if procedure is None or problems:
        raise ProcedureInvalid(where, problems)
    return procedure


def write_procedure(procedure: Procedure, path: str | Path) -> None:
    """Write the procedure as one JSON file."""
    text = json.dumps(procedure_to_dict(procedure), ensure_ascii=False, separators=(",", ":"))
    Path(path).write_text(text + "\n", encoding="utf-8")


def read_procedure(path: str | Path) -> Procedure:
    """The procedure in the JSON file at `path`.

    Raises:
        FileUnreadable: No such file, or not JSON.
        ProcedureInvalid: Not a procedure, or an impossible one; every problem is listed.
    """
    document = read_json(path)
    return procedure_from_dict(document, where=str(path))


def procedure_paths(sources: str | Path | Iterable[str | Path]) -> list[Path]:
    """The procedure files that `sources` name: files as they are, folders with all `*.json` in them, sorted.

    Raises:
        FileUnreadable: A source does not exist, or a folder holds no JSON file.
    """
    members = [sources] if isinstance(sources, str | Path) else list(sources)
    paths: list[Path] = []
    for member in map(Path, members):
        inside = sorted(p for p in member.glob("*.json") if p.name != "manifest.json") if member.is_dir() else [member]
        if not inside or not inside[0].is_file():
            what = "no procedure (*.json) in this folder" if member.is_dir() else "no such file or folder"
            what += f"; did you mean {member / 'procedures'}?" if (member / "procedures").is_dir() else ""
            raise FileUnreadable(str(member), [what])
        paths += inside
    return paths


# --- writing -------------------------------------------------------------------------------------


def _track_to_dict(track: Track) -> dict[str, Any]:
    return {
        "instance": track.instance,
        "class": track.class_name,
        "seconds": _runs_of_seconds(track.seconds),
        "boxes": [int(value) if value.is_integer() else value for value in track.boxes.reshape(-1).tolist()],
        "visibility": _runs_of_visibility(track.visibility),
        "attributes": dict(track.attributes),
        "changes": [list(change) for change in track.changes],
        **({"doubtful": _runs_of_seconds(track.seconds[track.doubtful])} if track.doubtful.any() else {}),
        **({"dials": {name: numbers.tolist() for name, numbers in track.dials.items()}} if track.dials else {}),
    }


def _declaration_to_dict(declared: Declaration) -> dict[str, Any]:
    spans = None if declared.spans is None else [list(span) for span in declared.spans]
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in {**asdict(declared), "spans": spans}.items()
    }


def _runs_of_seconds(seconds: np.ndarray) -> list[list[int]]:
    starts = np.flatnonzero(np.diff(seconds, prepend=np.int64(-2)) != 1) if seconds.size else np.empty(0, int)
    counts = np.diff(starts, append=seconds.size)
    return [[int(seconds[at]), int(count)] for at, count in zip(starts, counts, strict=True)]


def _runs_of_visibility(codes: np.ndarray) -> list[list[Any]]:
    starts = np.flatnonzero(np.diff(codes.astype(int), prepend=-1) != 0)
    counts = np.diff(starts, append=codes.size)
    return [[Visibility(int(codes[at])).name.lower(), int(n)] for at, n in zip(starts, counts, strict=True)]


# --- reading -------------------------------------------------------------------------------------


def _read_procedure(document: Any, problems: list[str]) -> Procedure | None:
    document = with_new_keys(document) if isinstance(document, dict) else {}
    if KEY not in document:
        problems.append(f"not a procedure: expected a JSON object with the key {KEY!r}")
        return None
    if document[KEY] != VERSION:
        problems.append(f"version {document[KEY]!r} of the layout; this release reads {VERSION}")
        return None
    texts = {name: _of_kind(document, name, str, problems) for name in ("video", "procedure_type", "center")}
    sizes = {name: _of_kind(document, name, int, problems) for name in ("duration_s", "width_px", "height_px")}
    parts: dict[str, Any] = {
        "tracks": _each(document, "tracks", _read_track, problems),
        "events": _each(document, "events", _read_event, problems),
        "phases": _each(document, "phases", _read_phase, problems),
        "instruments": _each(document, "instruments", _read_track, problems),
        "masked": _each(document, "masked", _read_span, problems),
        "relations": _each(document, "relations", _read_fact, problems),
    }
    parts |= {name: _texts(document.get(name, []), name, problems) for name in ("proposed", "assumed")}
    parts["declared"] = _read_declaration(document["declared"], problems) if "declared" in document else None
    patient = document.get("patient") or ""
    facts = document.get("facts") or {}
    if not isinstance(patient, str) or not isinstance(facts, dict):
        problems.append("'patient' must be text and 'facts' an object")
    if problems:
        return None
    return Procedure(**texts, **sizes, **parts, patient=patient, facts={str(k): str(v) for k, v in facts.items()})


def _read_declaration(row: Any, problems: list[str]) -> Declaration | None:
    if not isinstance(row, dict):
        problems.append(f"'declared' must be an object, got {_shown(row)}")
        return None
    known = [field.name for field in fields(Declaration)]
    problems += [
        f"'declared' has the unknown key {key!r}; known: {', '.join(known)}" for key in row if key not in known
    ]
    for name in ("phases", "attributes"):
        if not isinstance(row.get(name, False), bool):
            problems.append(f"'declared': {name!r} must be true or false, got {_shown(row[name])}")
    events = _texts(row.get("events", []), "events", problems)
    kinds = [kind.value for kind in EventKind]
    problems += [
        f"'declared': unknown event {kind!r}; known: {', '.join(kinds)}" for kind in events if kind not in kinds
    ]
    classes, spans = row.get("classes", []), row.get("spans")
    return Declaration(
        classes=None if classes is None else _texts(classes, "classes", problems),
        events=events,
        phases=row.get("phases") is True,
        attributes=row.get("attributes") is True,
        spans=None if spans is None else _each(row, "spans", _read_span, problems),
        confirmed_by=_texts(row.get("confirmed_by", []), "confirmed_by", problems),
    )


def _texts(values: Any, name: str, problems: list[str]) -> tuple[str, ...]:
    if not isinstance(values, list | tuple) or not all(isinstance(value, str) for value in values):
        problems.append(f"{name!r} must be a list of texts, got {_shown(values)}")
        return ()
    return tuple(values)


def _of_kind(row: Mapping[str, Any], key: str, kind: type, problems: list[str]) -> Any:
    value = row.get(key)
    if not isinstance(value, kind) or isinstance(value, bool):
        problems.append(f"{key!r} must be {_KINDS[kind]}, got {_shown(value)}")
    return value


_KINDS = {str: "text", int: "a whole number", list: "a list", dict: "an object"}


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


def _each(document: Mapping[str, Any], key: str, read: Callable[[Any], Any], problems: list[str]) -> tuple[Any, ...]:
    listed = document.get(key, [])
    if not isinstance(listed, list):
        problems.append(f"{key!r} must be a list, got {_shown(listed)}")
        return ()
    rows = []
    for number, row in enumerate(listed, start=1):
        try:
            rows.append(read(row))
        except ProcedureInvalid as error:
            problems += [f"{key} {number}: {problem}" for problem in error.problems]
        except (UnknownName, _Odd) as error:
            problems.append(f"{key} {number}: {error}")
    return tuple(rows)


class _Odd(ValueError):
    """A row that cannot be read; the text says why."""


def _row(row: Any, *kinds: type) -> Any:
    """The members of a list, checked for their kinds."""
    if not isinstance(row, list) or len(row) != len(kinds):
        raise _Odd(f"expected a list of {len(kinds)}, got {_shown(row)}")
    for value, kind in zip(row, kinds, strict=True):
        if not isinstance(value, kind) or isinstance(value, bool):
            raise _Odd(f"expected {_KINDS[kind]}, got {_shown(value)}")
    return row


def _read_event(row: Any) -> Event:
    second, kind, instance, details = _row(
        row if not isinstance(row, list) or len(row) != 3 else [*row, {}], int, str, str, dict
    )
    if kind not in list(EventKind):
        raise UnknownName("event", kind, [known.value for known in EventKind])
    return Event(EventKind(kind), second, instance, {str(k): str(v) for k, v in details.items()})


def _read_fact(row: Any) -> SceneFact:
    second, subject, relation, other = _row(row, int, str, str, str)
    if relation not in list(SceneRelation):
        raise UnknownName("relation", relation, [known.value for known in SceneRelation])
    return SceneFact(second, subject, SceneRelation(relation), other)


def _read_phase(row: Any) -> Phase:
    return Phase(*_row(row, str, int, int))


def _read_span(row: Any) -> Span:
    return Span(*_row(row, int, int))


def _read_track(row: Any) -> Track:
    if not isinstance(row, dict):
        raise _Odd(f"expected an object, got {_shown(row)}")
    problems: list[str] = []
    instance, name = (_of_kind(row, key, str, problems) for key in ("instance", "class"))
    boxes = _numbers(row.get("boxes"), problems)
    attributes, changes, dials = row.get("attributes", {}), row.get("changes", []), row.get("dials", {})
    for key, value, kind in (("attributes", attributes, dict), ("changes", changes, list), ("dials", dials, dict)):
        if not isinstance(value, kind):
            problems.append(f"{key!r} must be {_KINDS[kind]}, got {_shown(value)}")
    try:
        dials = {str(name): np.array(numbers, dtype=np.float64) for name, numbers in dict(dials).items()}
    except (TypeError, ValueError, OverflowError):
        problems.append(f"'dials' must hold a list of numbers by name, got {_shown(dials)}")
    if problems:
        raise ProcedureInvalid("track", problems)
    seconds = _seconds_of(_runs(row, "seconds", int))
    doubtful = _seconds_of(_runs(row, "doubtful", int)) if "doubtful" in row else seconds[:0]
    return Track(
        instance,
        name,
        seconds,
        boxes,
        _visibility_of(_runs(row, "visibility", str)),
        {str(key): str(value) for key, value in attributes.items()},
        tuple(AttributeChange(*_row(change, int, str, str)) for change in changes),
        np.isin(seconds, doubtful),
        dials,
    )


def _numbers(values: Any, problems: list[str]) -> Any:
    if not isinstance(values, list) or len(values) % 4:
        problems.append(f"'boxes' must be a flat list of x, y, width, height, got {_shown(values)}")
        return []
    if bad := [value for value in values if not isinstance(value, int | float) or isinstance(value, bool)]:
        problems.append(f"'boxes' holds {len(bad)} entries that are no numbers (first: {_shown(bad[0])})")
        return []
    try:
        return np.array(values, dtype=np.float64).reshape(-1, 4)
    except OverflowError:
        problems.append("'boxes' holds a number too large for a frame")
        return []


def _runs(row: Mapping[str, Any], key: str, first: type) -> list[tuple[Any, int]]:
    listed = row.get(key)
    if not isinstance(listed, list):
        raise _Odd(f"{key!r} must be a list of runs, got {_shown(listed)}")
    runs: Sequence[Any] = [_row(run, first, int) for run in listed]
    if any(count < 1 for _, count in runs) or sum(count for _, count in runs) > _MOST_POINTS:
        raise _Odd(f"{key!r} has a run of impossible length")
    return [(value, count) for value, count in runs]


def _seconds_of(runs: list[tuple[int, int]]) -> np.ndarray:
    if any(abs(first) > 1 << 40 for first, _ in runs):
        raise _Odd("'seconds' holds a time no video reaches")
    return np.concatenate([np.arange(first, first + count) for first, count in runs] or [np.empty(0, np.int64)])


def _visibility_of(runs: list[tuple[str, int]]) -> np.ndarray:
    names = [kind.name.lower() for kind in Visibility]
    for name, _ in runs:
        if name not in names:
            raise UnknownName("visibility", name, names)
    return np.repeat(np.array([names.index(name) for name, _ in runs], np.uint8), [count for _, count in runs])
