"""The plain reading of a procedure: every second written out, every object looked at.

Written from the rules in words and from the raw tracks and events alone. It shares no code with the
ledger, is slow on purpose, and serves as its oracle.
"""

from __future__ import annotations

from surgvalid.schema.procedures.tracks import Event, Procedure, TrackPoint

STAYS = {"Clip", "Mesh", "Absorbable Hemostatic Agent"}


class PlainReading:
    """What can be said of a procedure by walking through its seconds."""

    def __init__(self, procedure: Procedure, *, blink: bool = False) -> None:
        self.procedure = procedure
        self.known: dict[tuple[str, int], str] = {}
        self.seconds = range(procedure.duration_s)
        self.class_of = {track.instance: track.class_name for track in procedure.tracks}
        self.events: dict[str, list[Event]] = {
            name: [event for event in procedure.events if event.instance == name] for name in self.class_of
        }
        self.points: dict[str, dict[int, TrackPoint]] = {
            track.instance: self._shown(track) for track in procedure.tracks
        }
        self.from_s = {name: self._from(name) for name in self.class_of}
        for name, points in self.points.items():
            start = self.from_s[name]
            self.points[name] = {s: p for s, p in points.items() if start is not None and s >= start}
        if blink:
            for name, points in self.points.items():
                self.points[name] = {s: p for s, p in points.items() if s - 1 in points or s + 1 in points}

    def _shown(self, track) -> dict[int, TrackPoint]:
        shown = {}
        for index in range(len(track.seconds)):
            point = track.point_at(int(track.seconds[index]))
            hidden = any(span.start_s <= point.second < span.end_s for span in self.procedure.masked)
            if point.visibility.name != "OUTSIDE" and not hidden:
                shown[point.second] = point
        return shown

    def _from(self, name: str) -> int | None:
        placed = [event.second for event in self.events[name] if event.kind == "placed"]
        if self.class_of[name] == "Clip" and placed:
            return placed[0]
        inserted = [event.second for event in self.events[name] if event.kind == "inserted"]
        if inserted:
            return inserted[0]
        told = [event.second for event in self.events[name]] + list(self.points[name])
        return min(told) if told else None

    def state(self, name: str, second: int) -> str:
        """What became of the object; remembered, because the oracle is slow enough."""
        if (name, second) not in self.known:
            self.known[name, second] = self._replayed(name, second)
        return self.known[name, second]

    def _replayed(self, name: str, second: int) -> str:
        """Replays the object's story second by second."""
        state = "not_yet"
        for now in range(second + 1):
            if self.from_s[name] is None or now < self.from_s[name]:
                continue
            if state == "not_yet":
                state = "in_body"
                happened = [event for event in self.events[name] if event.second <= now]
            else:
                happened = [event for event in self.events[name] if event.second == now]
            if state == "retrieved":
                break
            kinds = {event.kind.value for event in happened}
            if "bagged" in kinds:
                state = "bagged"
            if "left_in_situ" in kinds:
                state = "left_in_situ"
            if "retrieved" in kinds or self._bag_is_out(name, now):
                state = "retrieved"
        return state

    def _bag_is_out(self, name: str, now: int) -> bool:
        for event in self.events[name]:
            if event.kind == "bagged" and event.second <= now and "bag" in event.details:
                out = [e.second for e in self.events[event.details["bag"]] if e.kind == "retrieved"]
                return bool(out) and out[0] <= now
        return False

    def named(self, class_name: str | None = None) -> list[str]:
        return [name for name, kind in self.class_of.items() if class_name in (None, kind)]

    def seen(self, second: int, class_name: str | None = None) -> list[str]:
        return [name for name in self.named(class_name) if second in self.points[name]]

    def is_back(self, name: str, second: int) -> bool:
        """Whether the object counts as retrieved."""
        state = self.state(name, second)
        return state == "retrieved" or (state == "bagged" and self.class_of[name] in ("Specimen", "Gallstone"))

    def introduced(self, second: int, class_name: str | None = None) -> list[str]:
        return [name for name in self.named(class_name) if self.state(name, second) != "not_yet"]

    def outstanding(self, second: int, class_name: str | None = None) -> list[str]:
        return [
            name
            for name in self.introduced(second, class_name)
            if not self.is_back(name, second)
            and self.state(name, second) != "left_in_situ"
            and self.class_of[name] not in STAYS
        ]
