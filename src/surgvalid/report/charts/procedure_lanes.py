"""The timeline of a procedure: phases, objects with their states, views and events, and what was asked when.

`timeline_table` makes the table of spans and moments, one lane per object, from which `timeline` draws.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from surgvalid.report.chart import Chart, nothing_to_show
from surgvalid.report.charts.tables import LABEL, distinct, extremes, typed
from surgvalid.report.drawing.rows import Key, Mark, RowsImage
from surgvalid.report.words import count_of, plain, short_names
from surgvalid.schema.procedures.ledger import Entry, Ledger, State
from surgvalid.schema.procedures.tracks import Procedure
from surgvalid.schema.questions.questions import Request

PHASES, MASKED, QUESTIONS = "phases", "masked", "questions"
TIMELINE_SCHEMA = {
    "lane": pl.String,
    "kind": pl.String,
    "start_s": pl.Float64,
    "end_s": pl.Float64,
    "what": pl.String,
    "class_name": pl.String,
    "detail": pl.String,
}
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
        >>> from surgvalid.schema.procedures.tracks import Phase, track_from_points
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


MOST_OBJECTS = 100
MOST_QUESTION_LANES = 12
STATES = {
    "in_body": ("in the body", "band"),
    "bagged": ("in a bag", "warm"),
    "left_in_situ": ("left on purpose", "c2"),
    "not_yet": ("never told of", "ground"),
}
EVENT_SHAPES = {
    "inserted": "down", "placed": "square", "grasped": "left", "bagged": "diamond", "retrieved": "up",
    "left_in_situ": "circle",
}  # fmt: skip
_VIEW_EVENTS = ("first_seen", "left_view", "reappeared")
"""Events that the stretches in view show already."""


def timeline(
    frame: pl.DataFrame,
    *,
    video: str = "",
    name: str = "timeline",
    title: str = "Timeline of the procedure",
) -> Chart:
    """One lane per object over the minutes of a procedure, phases above, question windows below.

    Args:
        frame: As `timeline_table` gives it: columns `lane`, `kind`, `start_s`, `end_s`, `what`, `class_name`.
        video: Which procedure, for the words.
        name: Of the chart.
        title: Of the chart.
    """
    frame = typed(frame, name, texts=("lane", "kind", "what"), kept=("class_name",), numbers=("start_s", "end_s"))
    frame = frame.drop_nulls(["start_s", "end_s"])
    if frame.is_empty():
        return nothing_to_show(name, title, "nothing was annotated")
    rows, order, note = _laned(frame)
    objects = frame.filter(pl.col("class_name").is_not_null())
    return Chart(
        name,
        title,
        _spoken(frame, objects, video) + note,
        f"Minutes of {plain(video, limit=40) if video else 'the procedure'}. Top lane: phases (black strip: "
        "masked for privacy). One lane per foreign object: pale, while it is in the body, in a bag or left "
        "on purpose; blue, while it is in view; shapes, events. Lowest lanes: windows of questions, "
        f"ticks for single frames (n = {count_of(objects['lane'].n_unique(), 'object')}, "
        f"{count_of(frame.filter(pl.col('kind') == 'question').height, 'question')}).{note}",
        frame,
        _image(rows, order),
    )


def _laned(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str], str]:
    """The rows that are shown, with labels of lanes and times in minutes, and the lanes in order."""
    lanes = frame.select("lane", "class_name").unique("lane", keep="first", maintain_order=True)
    objects = lanes.filter(pl.col("class_name").is_not_null())
    asked = frame.filter(pl.col("kind") == "question")["lane"].unique(maintain_order=True).to_list()
    note = ""
    if objects.height > MOST_OBJECTS:
        note += f" The first {MOST_OBJECTS} of {objects.height:,} objects are shown."
        objects = objects.head(MOST_OBJECTS)
    if len(asked) > MOST_QUESTION_LANES:
        note += f" Questions overlap in {len(asked)} lanes; {MOST_QUESTION_LANES} are shown."
        asked = asked[:MOST_QUESTION_LANES]
    names = distinct([_object_label(lane, kind) for lane, kind in objects.iter_rows()])
    labels = dict(zip(objects["lane"].to_list(), short_names(names, limit=30).values(), strict=True))
    labels |= dict(zip(asked, distinct(["questions"] * len(asked)), strict=True))
    if (frame["lane"] == PHASES).any():
        labels = {PHASES: PHASES, **labels}
    rows = frame.filter(pl.col("lane").is_in(list(labels))).with_columns(
        pl.col("lane").replace_strict(labels, return_dtype=pl.String).alias(LABEL),
        (pl.col("start_s") / 60).alias("start_min"),
        (pl.col("end_s") / 60).alias("end_min"),
    )
    return rows, list(labels.values()), note


def _object_label(lane: str, class_name: str) -> str:
    bare = ["".join(char for char in name.lower() if char.isalnum()) for name in (lane, class_name)]
    return plain(lane, limit=30) if bare[1] in bare[0] else f"{plain(class_name, limit=14)} {plain(lane, limit=16)}"


def _image(rows: pl.DataFrame, order: list[str]) -> RowsImage:
    marks: list[Mark] = []
    phases = 0
    for row in rows.sort(pl.col("kind").replace_strict(_LAYERS, default=0), maintain_order=True).iter_rows(named=True):
        at, ends = order.index(row[LABEL]), (row["start_min"], row["end_min"])
        words = f"{plain(row['what'], limit=60).replace('_', ' ')}: {row['start_s']:g} to {row['end_s']:g} s"
        if row["kind"] == "phase":
            phases += 1
            marks.append(Mark(at, None, *ends, ("edge", "rule")[phases % 2], "box", px=0.8, words=words))
        elif row["kind"] == "state":
            marks.append(Mark(at, None, *ends, STATES.get(row["what"], ("", "band"))[1], "box", px=0.7, words=words))
        elif row["kind"] in (MASKED, "visible"):
            masked = row["kind"] == MASKED
            shift, px = (0.3, 0.2) if masked else (0, 0.4)
            marks.append(Mark(at, None, *ends, "ink" if masked else "blue", "box", shift=shift, px=px, words=words))
        elif row["kind"] == "question" and ends[1] > ends[0]:
            marks.append(Mark(at, None, *ends, "ink", "box", px=0.18, words=words))
        elif row["kind"] == "question":
            marks.append(Mark(at, ends[0], look="ink", shape="tick", words=words))
        elif row["what"] not in _VIEW_EVENTS:
            shape = EVENT_SHAPES.get(row["what"], "circle")
            marks.append(Mark(at, ends[0], look="ink", shape=shape, hollow=True, words=words))
    states = {row["what"] for row in rows.filter(pl.col("kind") == "state").iter_rows(named=True)}
    events = set(rows.filter(pl.col("kind") == "event")["what"])
    keys = [Key(words, look, "square") for state, (words, look) in STATES.items() if state in states]
    keys += [Key("in view", "blue", "square")] if (rows["kind"] == "visible").any() else []
    keys += [
        Key(event.replace("_", " "), "ink", shape, True) for event, shape in EVENT_SHAPES.items() if event in events
    ]
    return RowsImage(tuple(order), tuple(marks), axis="minutes", legend=tuple(keys))


_LAYERS = {"phase": 0, MASKED: 1, "state": 1, "visible": 2, "question": 3, "event": 4}
"""What is drawn over what."""


def _spoken(frame: pl.DataFrame, objects: pl.DataFrame, video: str) -> str:
    phases = frame.filter(pl.col("kind") == "phase")["what"].to_list()
    classes = (
        objects.unique("lane")["class_name"]
        .value_counts(sort=True)
        .sort("count", "class_name", descending=[True, False])
    )
    listed = ", ".join(
        f"{row['count']} {plain(row['class_name'], limit=24)}" for row in classes.head(8).iter_rows(named=True)
    )
    minutes = extremes(frame["end_s"])[1] / 60
    head = f"Timeline of {plain(video, limit=40) if video else 'a procedure'}, {minutes:.1f} minutes"
    named = ", ".join(plain(one, limit=24) for one in phases[:8])
    parts = [
        head,
        f"{count_of(len(phases), 'phase')}: {named}" if phases else "no phases",
        f"{count_of(objects['lane'].n_unique(), 'object')} ({listed})" if objects.height else "no objects",
        count_of(frame.filter(pl.col("kind") == "event").height, "event"),
        count_of(frame.filter(pl.col("kind") == "question").height, "question"),
    ]
    return "; ".join(parts) + "."
