"""What a template needs to have been annotated: where more is needed than was looked for, it is withheld."""

from __future__ import annotations

from dataclasses import dataclass

from surgeval.schema.tracks import EventKind, Procedure

COMING_AND_GOING = frozenset({EventKind.RETRIEVED, EventKind.BAGGED})
"""What tells whether an object is out of the body."""
WHEREABOUTS = COMING_AND_GOING | {EventKind.LEFT_IN_SITU}
"""What tells whether an object still has to leave it."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What has to be annotated so that an answer can be derived from what is not there, too."""

    all_classes: bool = False
    """The question speaks of all foreign objects."""
    events: frozenset[EventKind] = frozenset()
    phases: bool = False
    attributes: bool = False
    size: bool = False
    """The answer depends on the size of the picture."""

    def missing_from(self, procedure: Procedure) -> str | None:
        """Why the question cannot be asked of a procedure, or None."""
        annotated = procedure.annotated
        unsaid = "" if procedure.declared else " (nothing is declared, so only what occurs counts)"
        if self.all_classes and annotated.classes is not None:
            return f"not every foreign-object class was annotated{unsaid}"
        if lacking := sorted(kind.value for kind in self.events if kind not in annotated.events):
            return f"events {', '.join(lacking)} were not annotated{unsaid}"
        if self.events and annotated.spans is not None and not _covers_all(annotated.spans, procedure.duration_s):
            return "the story is known in stretches only, and it needs events"
        if self.phases and not annotated.phases:
            return f"phases were not annotated{unsaid}"
        if self.attributes and not annotated.attributes:
            return f"attributes were not annotated{unsaid}"
        if self.size and (assumed := [n for n in ("width_px", "height_px") if n in procedure.assumed]):
            return f"nobody told {' and '.join(assumed)}"
        return None


def _covers_all(spans: tuple[tuple[int, int], ...], duration_s: int) -> bool:
    reached = 0
    for start_s, end_s in sorted(spans):
        if start_s > reached:
            return False
        reached = max(reached, end_s)
    return reached >= duration_s


def needed_events(*kinds: EventKind) -> Needs:
    """The need of those kinds of events."""
    return Needs(events=frozenset(kinds))


NOTHING_MORE = Needs()
"""Tracks alone will do."""
