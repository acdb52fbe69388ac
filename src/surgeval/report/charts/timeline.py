"""The timeline of a procedure: phases, objects with their states, views and events, and what was asked when."""

from __future__ import annotations

from typing import Any

import polars as pl

from surgeval.report.chart import Chart, altair, drawn, nothing_to_show
from surgeval.report.charts._encode import LABEL, chart_data
from surgeval.report.charts._marks import amount, distinct, extremes, tips, typed
from surgeval.report.theme import ACCENT, INK, SMALLEST_PX, WIDTH_PX, label_px, row_step_px
from surgeval.report.timeline_table import PHASES
from surgeval.report.words import ELLIPSIS, plain, short_names

MOST_OBJECTS = 100
MOST_QUESTION_LANES = 12
TIMELINE_PX = WIDTH_PX + 140
STATES = {
    "in_body": ("in the body", "#e3eff8"),
    "bagged": ("in a bag", "#d58a1f"),
    "left_in_situ": ("left on purpose", "#9fcfbe"),
    "not_yet": ("never told of", "#ffffff"),
}
PHASE_SHADES = ("#dddddd", "#f2f2f2")
EVENT_SHAPES = {
    "inserted": "triangle-down", "placed": "square", "grasped": "cross", "bagged": "diamond",
    "retrieved": "triangle-up", "left_in_situ": "circle", "other": "stroke",
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
    if frame.is_empty():
        return nothing_to_show(name, title, "nothing was annotated")
    frame = typed(frame, name, texts=("lane", "kind", "what"), kept=("class_name",), numbers=("start_s", "end_s"))
    frame = frame.drop_nulls(["start_s", "end_s"])
    if frame.is_empty():
        return nothing_to_show(name, title, "nothing was annotated")
    rows, order, note = _laned(frame)
    alt = altair()
    y = _lane_axis(order)
    layers = [*_phases(rows, y, order), *_states(rows, y, order), *_questions(rows, y, order), *_events(rows, y)]
    objects = frame.filter(pl.col("class_name").is_not_null())
    return drawn(
        name, alt.layer(*layers).resolve_scale(color="independent", shape="independent"), title=title,
        alt=_spoken(frame, objects, video) + note,
        caption=f"Minutes of {plain(video, limit=40) if video else 'the procedure'}. Top lane: phases (black strip: "
                "masked for privacy). One lane per foreign object: pale, while it is in the body, in a bag or left "
                "on purpose; dark blue, while it is in view; shapes, events. Lowest lanes: windows of questions, "
                f"dots for single frames (n = {amount(objects['lane'].n_unique(), 'object')}, "
                f"{amount(frame.filter(pl.col('kind') == 'question').height, 'question')}).{note}",
        data=frame,
    )  # fmt: skip


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


def _lane_axis(order: list[str]) -> Any:
    alt = altair()
    size = label_px(row_step_px(len(order)))
    axis = alt.Axis(ticks=False, domain=False, labelOverlap=False, labelFontSize=size, grid=True, gridColor="#f4f4f4",
                    labelPadding=8)  # fmt: skip
    return alt.Y(f"{LABEL}:N", scale=alt.Scale(domain=order, paddingInner=0.25), title=None, axis=axis)


def _base(rows: pl.DataFrame, order: list[str]) -> Any:
    alt = altair()
    return alt.Chart(chart_data(rows), width=TIMELINE_PX, height=alt.Step(max(14, row_step_px(len(order)))))


def _across() -> Any:
    alt = altair()
    return alt.X("start_min:Q", title="minutes", scale=alt.Scale(nice=False, zero=True))


def _phases(rows: pl.DataFrame, y: Any, order: list[str]) -> list[Any]:
    alt = altair()
    phases = rows.filter(pl.col("kind") == "phase").with_row_index("place").with_columns(pl.col("place") % 2)
    masked = rows.filter(pl.col("kind") == "masked")
    width = TIMELINE_PX / max(extremes(rows["end_min"])[1], 1e-9)
    room = ((phases["end_min"] - phases["start_min"]) * width / 6).to_list()
    text = [_fitting(plain(what), int(space)) for what, space in zip(phases["what"], room, strict=True)]
    phases = phases.with_columns(((pl.col("start_min") + pl.col("end_min")) / 2).alias("middle"),
                                 pl.Series("short", text, dtype=pl.String))  # fmt: skip
    shade = alt.Color("place:O", scale=alt.Scale(domain=[0, 1], range=list(PHASE_SHADES)), legend=None)
    tooltip = tips(phases, "what", "start_s", "end_s")
    layers = []
    if phases.height:
        bars = _base(phases, order).mark_bar(stroke="white")
        words = alt.Chart(chart_data(phases)).mark_text(fontSize=SMALLEST_PX, color=INK)
        layers = [bars.encode(x=_across(), x2=alt.X2("end_min:Q"), y=y, color=shade, tooltip=tooltip),
                  words.encode(x=alt.X("middle:Q"), y=y, text=alt.Text("short:N"), tooltip=tooltip)]  # fmt: skip
    if masked.height:
        dark = _base(masked, order).mark_bar(color=INK, height=4, yOffset=max(14, row_step_px(len(order))) * 0.3)
        layers.append(
            dark.encode(x=_across(), x2=alt.X2("end_min:Q"), y=y, tooltip=tips(masked, "what", "start_s", "end_s"))
        )
    return layers


def _fitting(words: str, letters: int) -> str:
    """The words, cut to so many letters; nothing where even six do not fit."""
    if len(words) <= letters:
        return words
    return "" if letters < 6 else words[: letters - 1] + ELLIPSIS


def _states(rows: pl.DataFrame, y: Any, order: list[str]) -> list[Any]:
    alt = altair()
    known = rows.filter(pl.col("kind") == "state")
    words = pl.col("what").replace_strict({key: words for key, (words, _) in STATES.items()}, default=pl.col("what"))
    known = known.with_columns(words.alias("state"))
    states = [key for key in STATES if STATES[key][0] in set(known["state"])]
    scale = alt.Scale(domain=[STATES[key][0] for key in states], range=[STATES[key][1] for key in states])
    layers = []
    if known.height:
        color = alt.Color(
            "state:N", scale=scale, title="object", legend=alt.Legend(orient="right", symbolType="square")
        )
        pale = _base(known, order).mark_bar(stroke="#aaaaaa", strokeWidth=0.4)
        layers.append(pale.encode(x=_across(), x2=alt.X2("end_min:Q"), y=y, color=color,
                                  tooltip=tips(known, "lane", "class_name", "state", "start_s", "end_s")))  # fmt: skip
    seen = rows.filter(pl.col("kind") == "visible")
    if seen.height:
        size = max(14, row_step_px(len(order)))
        dark = _base(seen, order).mark_bar(color=ACCENT, height=size * 0.38)
        layers.append(
            dark.encode(
                x=_across(), x2=alt.X2("end_min:Q"), y=y, tooltip=tips(seen, "lane", "what", "start_s", "end_s")
            )
        )
    return layers


def _questions(rows: pl.DataFrame, y: Any, order: list[str]) -> list[Any]:
    asked = rows.filter(pl.col("kind") == "question")
    tooltip = tips(asked, "what", "start_s", "end_s", "detail")
    layers = []
    long = asked.filter(pl.col("end_s") > pl.col("start_s"))
    if long.height:
        lines = _base(long, order).mark_rule(color=INK, strokeWidth=3, opacity=0.75)
        layers.append(lines.encode(x=_across(), x2=altair().X2("end_min:Q"), y=y, tooltip=tooltip))
    single = asked.filter(pl.col("end_s") <= pl.col("start_s"))
    if single.height:
        dots = _base(single, order).mark_point(filled=True, color=INK, size=22, opacity=0.9)
        layers.append(dots.encode(x=_across(), y=y, tooltip=tooltip))
    return layers


def _events(rows: pl.DataFrame, y: Any) -> list[Any]:
    alt = altair()
    marks = rows.filter((pl.col("kind") == "event") & ~pl.col("what").is_in(_VIEW_EVENTS))
    if marks.is_empty():
        return []
    named = pl.when(pl.col("what").is_in(list(EVENT_SHAPES))).then("what").otherwise(pl.lit("other"))
    marks = marks.with_columns(named.str.replace_all("_", " ").alias("event"))
    kinds = [key for key in EVENT_SHAPES if key.replace("_", " ") in set(marks["event"])]
    scale = alt.Scale(domain=[key.replace("_", " ") for key in kinds], range=[EVENT_SHAPES[key] for key in kinds])
    shape = alt.Shape("event:N", scale=scale, title="event")
    points = alt.Chart(chart_data(marks)).mark_point(size=55, fill="white", stroke=INK, strokeWidth=1.4, opacity=1)
    return [points.encode(x=_across(), y=y, shape=shape, tooltip=tips(marks, "lane", "what", "start_s", "detail"))]


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
    parts = [head, f"{amount(len(phases), 'phase')}: {named}" if phases else "no phases",
             f"{amount(objects['lane'].n_unique(), 'object')} ({listed})" if objects.height else "no objects",
             amount(frame.filter(pl.col("kind") == "event").height, "event"),
             amount(frame.filter(pl.col("kind") == "question").height, "question")]  # fmt: skip
    return "; ".join(parts) + "."
