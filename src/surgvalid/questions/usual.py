"""What is usual in the data: the values that objects of a class have, from which the options of a question come.

An option that the class never has, or hardly ever, is no option to anybody who knows the data: it is ruled out without
a look. So a question offers what the same class has in the same type of procedure; in any type, where that is less
than two values; and where that is less too, nothing is asked.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from surgvalid.schema.procedures.tracks import Procedure

LEAST_SHARE = 0.08
"""A value that makes up less of those of its class is not offered, nor asked about."""
EVENT, PHASE = "event", "phase"
"""What may be asked beside attributes: the kinds of events of a class, and the phases in which it is in view."""


class Usual:
    """The values of every class, counted over procedures."""

    def __init__(self, procedures: Iterable[Procedure] = ()) -> None:
        self._counts: dict[tuple[str | None, str, str], Counter[str]] = defaultdict(Counter)
        for procedure in procedures:
            self.add(procedure)

    def add(self, procedure: Procedure) -> None:
        """Count what one procedure tells."""
        class_of = {track.instance: track.class_name for track in procedure.tracks}
        rows = [(class_of.get(event.instance, ""), EVENT, event.kind.value) for event in procedure.events]
        for track in procedure.tracks:
            rows += [(track.class_name, name, value) for name, value in track.attributes.items()]
            rows += [(track.class_name, change.name, change.value) for change in track.changes]
            seen = track.seconds[track.in_view]
            rows += [
                (track.class_name, PHASE, phase.name)
                for phase in procedure.phases
                if ((phase.start_s <= seen) & (seen < phase.end_s)).any()
            ]
        for class_name, what, value in rows:
            for kind in (procedure.procedure_type, None):
                self._counts[kind, class_name, what][value] += 1

    def values(self, procedure_type: str, class_name: str, what: str) -> tuple[str, ...]:
        """The values that are usual, in alphabetical order; none where there are less than two."""
        for kind in (procedure_type, None):
            counted = self._counts.get((kind, class_name, what), Counter())
            usual = sorted(value for value, count in counted.items() if count >= LEAST_SHARE * counted.total())
            if len(usual) > 1:
                return tuple(usual)
        return ()
