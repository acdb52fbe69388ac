"""A procedure as a table of spans and moments, one lane per object: what the timeline is drawn from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from surgeval.schema.ledger import Entry, Ledger
from surgeval.schema.ledger_rules import State
from surgeval.schema.questions import Request
from surgeval.schema.tracks import Procedure

PHASES, MASKED, QUESTIONS = "phases", "masked", "questions"
TIMELINE_SCHEMA = {
    "lane": pl.String, "kind": pl.String, "start_s": pl.Float64, "end_s": pl.Float64, "what": pl.String,
    "class_name": pl.String, "detail": pl.String,
}  # fmt: skip
"""`kind` is phase, masked, state, visible, event or question; events and single frames end where they start."""


def timeline_table(
    procedure: Procedure, *, questions: Iterable[Request] = (), ledger: Ledger | None = None
) -> pl.DataFrame:
    """Phases, masked stretches, states, visible stretches, events and question windows of one procedure.

    Args:
        procedure: A sound procedure.
        questions: Questions; those about other videos are left out. Windows that overlap get lanes of their own.
        ledger: The ledger of the procedure, where there is one already.

    Example:
        >>> from surgeval.schema.tracks import Phase, track_from_points
        >>> sponge = track_from_points("s1", "Sponge", [(t, (0, 0, 9, 9)) for t in (3, 4, 7)])
        >>> procedure = Procedure("v", "Hernia", "A", 12, 64, 48, (sponge,), phases=(Phase("Prep", 0, 12),))
        >>> found = timeline_table(procedure)
        >>> found.select("lane", "kind", "start_s", "end_s").rows()[:2]
        [('phases', 'phase', 0.0, 12.0), ('s1', 'state', 3.0, 12.0)]
    """
    ledger = ledger or Ledger(procedure)
    rows: list[tuple[Any, ...]] = [
        (PHASES, "phase", phase.start_s, phase.end_s, phase.name, None, None) for phase in procedure.phases
    ]
    rows += [(PHASES, MASKED, span.start_s, span.end_s, "masked for privacy", None, None) for span in procedure.masked]
    for entry in sorted(ledger.entries, key=_first_second):
        rows += _object_rows(entry, procedure.duration_s)
    rows += _question_rows([one for one in questions if one.video == procedure.video])
    return pl.DataFrame(rows, schema=TIMELINE_SCHEMA, orient="row")


def _first_second(entry: Entry) -> tuple[float, str]:
    return (float("inf") if entry.from_s is None else entry.from_s, entry.instance)


def _object_rows(entry: Entry, duration_s: int) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    ends = [*(second for second, _ in entry.turns[1:]), duration_s]
    for (start_s, state), end_s in zip(entry.turns, ends, strict=False):  # nothing ever turns without a first turn
        if state is not State.RETRIEVED and end_s > start_s:
            rows.append((entry.instance, "state", start_s, end_s, state.value, entry.class_name, None))
    rows += [
        (entry.instance, "visible", span.start_s, span.end_s, "in view", entry.class_name, None) for span in entry.views
    ]
    for event in entry.events:
        detail = ", ".join(f"{key}: {value}" for key, value in event.details.items()) or None
        rows.append((entry.instance, "event", event.second, event.second, event.kind.value, entry.class_name, detail))
    return rows or [(entry.instance, "state", 0, 0, State.NOT_YET.value, entry.class_name, None)]


def _question_rows(questions: Sequence[Request]) -> list[tuple[Any, ...]]:
    """Question windows, packed so that windows of one lane do not overlap."""
    free_from: list[float] = []
    rows = []
    for one in sorted(questions, key=lambda one: (one.start_s, one.end_s, one.case)):
        lane = next((place for place, end_s in enumerate(free_from) if end_s < one.start_s), len(free_from))
        free_from[lane : lane + 1] = [one.end_s]
        rows.append((f"{QUESTIONS} {lane + 1}", "question", one.start_s, one.end_s, one.case, None, one.question))
    return rows
