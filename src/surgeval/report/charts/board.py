"""The board: who stands where, on which evidence, and how firmly."""

from __future__ import annotations

from typing import Any

import polars as pl

from surgeval.report.chart import Chart, altair, drawn, nothing_to_show
from surgeval.report.charts._encode import LABEL, labelled, rows_height
from surgeval.report.charts._ranking import (
    Part,
    bucket_evidence,
    in_rows,
    listed,
    marks,
    number,
    part_of,
    same_part,
    tooltips,
)
from surgeval.report.theme import ACCENT, INK, QUIET, label_px, row_step_px

_KINDS = ("competitor", "baseline", "outside")
PANEL_PX = (190, 130, 230)
"""Widths of macro accuracy, Copeland score and place interval."""


def board(
    places: pl.DataFrame,
    stability: pl.DataFrame | None = None,
    *,
    summary: pl.DataFrame | None = None,
    buckets: pl.DataFrame | None = None,
    group: str | None = None,
    name: str = "board",
    title: str = "Places and what they rest on",
) -> Chart:
    """One row per model, the winner on top: place, macro accuracy, Copeland score, and the interval of its place.

    Args:
        places: Columns `board, model, place, copeland, macro_accuracy, baseline`.
        stability: Columns `board, model, place_low, place_high`; adds the intervals of places.
        summary: Columns `board, model, macro_low, macro_high`; adds the intervals of macro accuracies.
        buckets: Columns `board, capability, ood, questions, videos`; adds n to the caption.
        group: Which board; the first of the table by default.
        name: Of the chart.
        title: Of the chart; the board's name is added.
    """
    chosen = part_of(places, group)
    title += chosen.suffix
    if chosen.frame.is_empty():
        return nothing_to_show(name, title, "no model has a place")
    rows = _with_intervals(_rows(chosen, stability), same_part(summary, chosen))
    firm = "place_low" in rows.columns
    panels = [_macro_panel(rows), _copeland_panel(rows), *([_place_panel(rows)] if firm else [])]
    return drawn(
        name, altair().hconcat(*panels, spacing=14), title=title, alt=_spoken(rows, chosen, firm),
        caption=_caption(rows, firm) + bucket_evidence(same_part(buckets, chosen)), data=chosen.frame,
    )  # fmt: skip


def _rows(chosen: Part, stability: pl.DataFrame | None) -> pl.DataFrame:
    rows, spread = labelled(chosen.frame), same_part(stability, chosen)
    competes = ~pl.col("baseline")
    if spread is not None:
        ends = spread.select("model", "place_low", "place_high")
        rows = rows.join(ends, on="model", how="left", maintain_order="left")
        competes &= pl.col("place_low").is_not_null()
    kind = pl.when(competes).then(pl.lit("competitor")).when("baseline").then(pl.lit("baseline"))
    rows = rows.with_columns(kind.otherwise(pl.lit("outside")).alias("kind"))
    place = pl.col("place").cast(pl.String)
    inside = place + ". " + pl.col(LABEL)
    would_be = "(" + place + ".) " + pl.col(LABEL) + ", " + pl.col("kind")
    return rows.with_columns(pl.when(pl.col("kind") == "competitor").then(inside).otherwise(would_be).alias("row"))


def _with_intervals(rows: pl.DataFrame, summary: pl.DataFrame | None) -> pl.DataFrame:
    """The rows with the ends of the macro accuracy's interval; null for baselines, which are not in the summary."""
    if summary is None or not {"macro_low", "macro_high"} <= set(summary.columns):
        return rows
    return rows.join(summary.select("model", "macro_low", "macro_high"), on="model", how="left", maintain_order="left")


def _panel(rows: pl.DataFrame, width_px: int, *layers: Any) -> Any:
    return altair().layer(*layers).properties(width=width_px, height=rows_height(rows.height))


def _encodings(rows: pl.DataFrame) -> dict[str, Any]:
    alt = altair()
    scale = alt.Scale(domain=list(_KINDS), range=[ACCENT, QUIET, QUIET])
    return {"color": alt.Color("kind:N", scale=scale, legend=None), "tooltip": tooltips(_TIPS, rows.columns)}


def _points(rows: pl.DataFrame, **place: Any) -> Any:
    alt = altair()
    shapes = alt.Scale(domain=list(_KINDS), range=["circle", "diamond", "triangle-up"])
    size = min(60, row_step_px(rows.height) ** 2 // 2)
    shape = alt.Shape("kind:N", scale=shapes, legend=None)
    return marks(rows).mark_point(filled=True, size=size, opacity=1).encode(shape=shape, **_encodings(rows), **place)


def _y(rows: pl.DataFrame, *, labels: bool = False) -> Any:
    return in_rows(rows["row"].to_list(), field="row", labels=labels)


def _letters(rows: pl.DataFrame) -> dict[str, Any]:
    return {"fontSize": label_px(row_step_px(rows.height)), "baseline": "middle", "color": INK}


def _macro_panel(rows: pl.DataFrame) -> Any:
    alt = altair()
    ends = [name for name in ("macro_accuracy", "macro_low", "macro_high") if name in rows.columns]
    values = [value for name in ends for value in rows[name].drop_nulls()] or [0.0]
    room = max(max(values) - min(values), 0.05)
    scale = alt.Scale(domain=[max(0.0, min(values) - 0.1 * room), max(values) + 0.4 * room], nice=False)
    title = "macro accuracy (bars: 95 %)" if len(ends) > 1 else "macro accuracy"
    x = alt.X("macro_accuracy:Q", title=title, scale=scale, axis=alt.Axis(tickCount=4))
    y = _y(rows, labels=True)
    rows = rows.with_columns(pl.coalesce(*reversed(ends)).alias("beside"))
    words = marks(rows).mark_text(align="left", dx=7, **_letters(rows))
    words = words.encode(y=y, x=alt.X("beside:Q", scale=scale), text=alt.Text("macro_accuracy:Q", format=".3f"))
    layers = [_points(rows, y=y, x=x), words]
    if len(ends) > 1:
        span = marks(rows.filter(pl.col("macro_low").is_not_null())).mark_rule(strokeWidth=2)
        layers.insert(
            0, span.encode(y=y, x=alt.X("macro_low:Q", scale=scale), x2=alt.X2("macro_high:Q"), **_encodings(rows))
        )
    return _panel(rows, PANEL_PX[0], *layers)


def _copeland_panel(rows: pl.DataFrame) -> Any:
    alt = altair()
    net = [f"{score:+d}".replace("-", "−") if score else "0" for score in rows["copeland"]]
    rows = rows.with_columns(net=pl.Series(net, dtype=pl.String))
    reach = max([1.0, *(abs(float(score)) for score in rows["copeland"])])
    scale = alt.Scale(domain=[-1.5 * reach, 1.5 * reach], nice=False)
    x = alt.X("copeland:Q", title="Copeland score", scale=scale, axis=alt.Axis(tickCount=3, tickMinStep=1))
    bar = marks(rows).mark_bar(height={"band": 0.55}).encode(y=_y(rows), x=x, **_encodings(rows))
    sides = []
    for ahead, align, shift in ((True, "left", 4), (False, "right", -4)):
        words = marks(rows.filter((pl.col("copeland") >= 0) == ahead))
        words = words.mark_text(align=align, dx=shift, **_letters(rows))
        sides.append(words.encode(y=_y(rows), x=x, text=alt.Text("net:N")))
    return _panel(rows, PANEL_PX[1], bar, *sides)


def _place_panel(rows: pl.DataFrame) -> Any:
    alt = altair()
    firm = rows.filter(pl.col("place_low").is_not_null())
    last = max([*rows["place"].to_list(), *firm["place_high"].to_list()])
    scale = alt.Scale(domain=[0.4, float(last) + 0.6], nice=False)
    x = alt.X("low:Q", title="place (bars: 95 % of resamples)", scale=scale, axis=alt.Axis(tickMinStep=1))
    ends = firm.with_columns(low=pl.col("place_low") - 0.25, high=pl.col("place_high") + 0.25)
    bar = marks(ends).mark_bar(height={"band": 0.5}, opacity=0.35, cornerRadius=3)
    bar = bar.encode(y=_y(rows), x=x, x2=alt.X2("high:Q"), **_encodings(rows))
    return _panel(rows, PANEL_PX[2], bar, _points(rows, y=_y(rows), x=alt.X("place:Q")))


_TIPS = (
    ("model", "N", ""), ("kind", "N", ""), ("place", "Q", "d"), ("place_low", "Q", ".1f"), ("place_high", "Q", ".1f"),
    ("macro_accuracy", "Q", ".3f"), ("macro_low", "Q", ".3f"), ("macro_high", "Q", ".3f"), ("copeland", "Q", "+d"),
)  # fmt: skip


def _caption(rows: pl.DataFrame, firm: bool) -> str:
    words = "Macro accuracy: the mean over buckets of the share of questions answered rightly"
    words += "; bars: its middle 95 % when whole videos are resampled." if "macro_low" in rows.columns else "."
    words += " Copeland score: models dominated minus models dominating."
    if firm:
        words += (
            " Points on the right: the place; bars: the middle 95 % of places in the same resamples, where ties are"
            " shared and not broken, so that a place that rests on a tie-break can lie outside."
        )
    kinds = set(rows["kind"])
    if "baseline" in kinds:
        words += " Diamonds and places in brackets: baselines, which do not compete, at the place each would take."
    if "outside" in kinds:
        words += " Triangles: other entries outside the competition, likewise."
    return words


def _spoken(rows: pl.DataFrame, chosen: Part, firm: bool) -> str:
    competitors = rows.filter(pl.col("kind") == "competitor")
    phrases = []
    for row in competitors.head(3).iter_rows(named=True):
        words = f"place {row['place']}: {row[LABEL]}, macro accuracy {number(row['macro_accuracy'])}"
        if row.get("macro_low") is not None:
            words += f" [{number(row['macro_low'])}, {number(row['macro_high'])}]"
        if firm and row["place_low"] is not None:
            words += f", places {row['place_low']:g} to {row['place_high']:g} in 95 % of resamples"
        phrases.append(words)
    phrases += [""] * (competitors.height - len(phrases))
    baselines = rows.filter(pl.col("kind") == "baseline").height
    beside = f" and {baselines} baseline{'s' if baselines > 1 else ''}" if baselines else ""
    others = rows.height - competitors.height - baselines
    beside += f" and {others} outside the competition" if others else ""
    return f"{competitors.height} competitors{beside}{chosen.suffix}: {listed(phrases)}."
