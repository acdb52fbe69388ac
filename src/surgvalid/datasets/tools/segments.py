"""Segment CSV, as ELAN, Anvil and their like export it: one row per annotated stretch of a tier.

Columns: `tier`, `start_s`, `end_s`, `label` (or what the tools call them, such as "Begin Time - ss.msec"); times in
seconds or as hh:mm:ss.msec. Comma, semicolon or tab. With a column `video`, one file holds several. What a tier means:

    phase      a phase of the procedure; the label is its name
    masked     a stretch that is black or blurred
    event      the label is the kind, `instance` the object, `details` a JSON object; the start is its second
    object     an object with its class as label; where it is seen cannot be told here
    instrument the same for an instrument
    attribute  the label is name=value, from the start on; from second 0 with an empty end it holds from the beginning
    procedure  the label is name=value, for what is true of the whole video

`tiers={"Surgical phases": "phase"}` tells what a tier of another name is; tiers without meaning are counted and
reported. Times become whole seconds. Boxes have no place here.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from surgvalid.datasets.tools._about import About, Annotations, number
from surgvalid.datasets.tools._draft import VideoDraft, finish
from surgvalid.errors import FileUnreadable, Misuse, UnknownName, nearest
from surgvalid.schema.documents import read_text
from surgvalid.schema.findings import Finding
from surgvalid.schema.procedures.tracks import AttributeChange, Event, EventKind, Phase, Procedure, Span

TITLE = "Segment CSV (ELAN, Anvil): phases, events, masked stretches"
FILE_NAME = "segments.csv"
_ALIASES = {
    "tier": ("tier", "track", "tier name"),
    "start": ("start_s", "start", "begin", "begin time", "begin time - ss.msec", "begin time - hh:mm:ss.ms"),
    "end": ("end_s", "end", "stop", "end time", "end time - ss.msec", "end time - hh:mm:ss.ms"),
    "label": ("label", "annotation", "value", "text"),
    "video": ("video", "file", "file name"),
    "instance": ("instance",),
    "details": ("details",),
}
_DERIVED = ("duration", "duration - ss.msec", "duration - hh:mm:ss.ms", "")
"""Columns that follow from others."""
_HEADER_TEXTS = ("video", "procedure_type", "center", "patient")
_HEADER_SIZES = ("duration_s", "width_px", "height_px")


def recognises(path: Path, head: str) -> bool:
    """Whether a file that begins with `head` is one of this tool."""
    columns = _places(_split(head.split("\n", 1)[0]))
    return path.suffix.lower() in (".csv", ".tsv", ".txt") and {"tier", "start", "label"} <= set(columns)


def read(path: str | Path, about: About | None = None, *, tiers: Mapping[str, str] | None = None) -> Annotations:
    """The procedures in the file, one per video, without boxes.

    Args:
        path: The file.
        about: What the file does not tell.
        tiers: What tiers of other names mean.

    Raises:
        FileUnreadable: Not UTF-8 text, or without the columns tier, start and label.
        ProcedureInvalid: Something in it cannot be true; every problem is listed.
        UnknownName: `tiers` names a meaning that does not exist.
    """
    for meaning in (tiers or {}).values():
        if meaning not in _MEANINGS:
            raise UnknownName("tier", meaning, _MEANINGS)
    text = read_text(path)
    first = text.split("\n", 1)[0]
    places = _places(_split(first))
    if missing := [name for name in ("tier", "start", "label") if name not in places]:
        raise FileUnreadable(str(path), [f"no column {name!r} in {first[:80]!r}" for name in missing])
    reader = _Reader(Path(path), about or About(), places, tiers or {})
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(first), strict=True):
            reader.take(row)
    except csv.Error as error:
        raise FileUnreadable(str(path), [f"no usable CSV ({error})"]) from None
    return Annotations(*reader.result())


def _delimiter(line: str) -> str:
    return max(",;\t", key=line.count)


def _split(line: str) -> list[str]:
    return [cell.strip().strip('"').casefold() for cell in line.rstrip("\r\n").split(_delimiter(line))]


def _places(header: list[str]) -> dict[str, int]:
    return {
        name: next(header.index(alias) for alias in aliases if alias in header)
        for name, aliases in _ALIASES.items()
        if any(alias in header for alias in aliases)
    }


class _Odd(ValueError):
    """A row that cannot be read; the text says why."""


class _Reader:
    """Takes rows into one draft per video."""

    def __init__(self, path: Path, about: About, places: Mapping[str, int], tiers: Mapping[str, str]) -> None:
        self.path, self.about, self.places, self.tiers = path, about, places, tiers
        self.drafts: dict[str, VideoDraft] = {}
        self.line, self.rounded, self.others = 0, 0, Counter[str]()
        self.counts: Counter[str] = Counter()
        self.unread: dict[int, str] = {}

    def take(self, row: list[str]) -> None:
        """Take over one row; the first is the header."""
        self.line += 1
        if self.line == 1:
            more = set(range(len(row))) - set(self.places.values())
            self.unread = {at: row[at].strip() for at in sorted(more) if row[at].strip().casefold() not in _DERIVED}
        if self.line == 1 or not any(row):
            return
        self.counts.update(name for at, name in self.unread.items() if at < len(row) and row[at].strip())
        cells = {name: row[at] if at < len(row) else "" for name, at in self.places.items()}
        key = cells.get("video") or self.path.stem
        draft = self.drafts.setdefault(key, VideoDraft(str(self.path), self.about, video=key))
        tier = self.tiers.get(cells["tier"], cells["tier"].casefold())
        if tier not in _MEANINGS:
            self.others[cells["tier"]] += 1
            return
        try:
            _MEANINGS[tier](self, draft, cells)
        except _Odd as odd:
            draft.problems.append(f"row {self.line}: {odd}")

    def result(self) -> tuple[list[Procedure], list[Finding]]:
        """The procedures and findings."""
        drafts = list(self.drafts.values())
        if not drafts:
            raise FileUnreadable(str(self.path), ["has no rows"])
        if len(drafts) > 1 and self.about.video is not None:
            raise Misuse(f"{self.path}: {len(drafts)} videos cannot all be named {self.about.video!r}")
        for tier, count in self.others.items():
            drafts[0].note(
                "unknown-tier", f"{count} segments of tier {tier!r} are not kept; tiers= can tell its meaning"
            )
        for name, count in (+self.counts).items():
            drafts[0].note("not-kept", f"{count} {name[:60]!r} are not kept")
        if self.rounded:
            drafts[0].note("rounded", f"{self.rounded} times were rounded to whole seconds")
        return finish(drafts, str(self.path))

    def second(self, cells: Mapping[str, str], name: str) -> int:
        """The time in a cell as a whole second."""
        text = cells.get(name, "").strip()
        parts = [number(piece) for piece in text.split(":")]
        if not 1 <= len(parts) <= 3 or any(piece is None or piece < 0 for piece in parts):
            raise _Odd(f"{name} {text!r} is no time (seconds or hh:mm:ss.msec)")
        seconds = math.fsum((piece or 0.0) * 60.0**power for power, piece in enumerate(reversed(parts)))
        if seconds > 1e9:
            raise _Odd(f"{name} {text!r} is no time of a video")
        self.rounded += not seconds.is_integer()
        return round(seconds)

    def _phase(self, draft: VideoDraft, cells: Mapping[str, str]) -> None:
        draft.phases.append(Phase(cells["label"], self.second(cells, "start"), self.second(cells, "end")))

    def _masked(self, draft: VideoDraft, cells: Mapping[str, str]) -> None:
        self.counts["labels of masked stretches"] += cells["label"] not in ("", "masked")
        draft.masked.append(Span(self.second(cells, "start"), self.second(cells, "end")))

    def _event(self, draft: VideoDraft, cells: Mapping[str, str]) -> None:
        if cells["label"] not in list(EventKind):
            near = nearest(cells["label"], [kind.value for kind in EventKind])
            raise _Odd(f"unknown event {cells['label']!r}" + (f"; did you mean {near!r}?" if near else ""))
        details = _details(cells.get("details", ""))
        lasting = cells.get("end", "").strip() and self.second(cells, "end") > self.second(cells, "start") + 1
        self.counts["ends of events"] += bool(lasting)
        draft.events.append(
            Event(EventKind(cells["label"]), self.second(cells, "start"), cells.get("instance", ""), details)
        )

    def _object(self, draft: VideoDraft, cells: Mapping[str, str]) -> None:
        if not cells.get("instance"):
            raise _Odd("an object needs its name in the column 'instance'")
        if cells["instance"] in draft.tracks:
            raise _Odd(f"the object {cells['instance']!r} is told twice")
        draft.track(cells["instance"], cells["label"])

    def _instrument(self, draft: VideoDraft, cells: Mapping[str, str]) -> None:
        self._object(draft, cells)
        draft.tracks[cells["instance"]].instrument = True

    def _attribute(self, draft: VideoDraft, cells: Mapping[str, str]) -> None:
        track = draft.tracks.get(cells.get("instance", ""))
        name, equals, value = cells["label"].partition("=")
        if track is None or not equals:
            raise _Odd("an attribute needs a label name=value and, in a row before it, its object")
        if cells["start"].strip():
            track.changes.append(AttributeChange(self.second(cells, "start"), name, value))
        else:
            track.attributes[name] = value

    def _procedure(self, draft: VideoDraft, cells: Mapping[str, str]) -> None:
        name, _, value = cells["label"].partition("=")
        if name in _HEADER_TEXTS:
            setattr(draft, name, value)
        elif name in _HEADER_SIZES:
            size = number(value)
            if size is None or not 0 < size < 1e9 or not size.is_integer():
                raise _Odd(f"{name} {value!r} is no positive whole number")
            setattr(draft, name, int(size))
        else:
            draft.facts[name] = value


def _details(text: str) -> dict[str, str]:
    if not text.strip():
        return {}
    try:
        details = json.loads(text)
    except (ValueError, RecursionError):
        details = None
    if not isinstance(details, dict):
        raise _Odd(f"details {text[:40]!r} are no JSON object")
    return {str(key): str(value) for key, value in details.items()}


_MEANINGS: dict[str, Callable[[_Reader, VideoDraft, Mapping[str, str]], None]] = {
    "phase": _Reader._phase,
    "masked": _Reader._masked,
    "event": _Reader._event,
    "object": _Reader._object,
    "instrument": _Reader._instrument,
    "attribute": _Reader._attribute,
    "procedure": _Reader._procedure,
}
