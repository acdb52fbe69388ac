"""How firm places are: how often each was taken, and what other ranking rules would have given."""

from __future__ import annotations

import polars as pl

from surgeval.report.chart import Chart, altair, drawn, nothing_to_show
from surgeval.report.charts._encode import LABEL, rows_height
from surgeval.report.charts._ranking import (
    in_rows,
    listed,
    marks,
    ordered_models,
    part_of,
    same_part,
    tooltips,
)
from surgeval.report.theme import ACCENT, INK, PALETTE, QUIET, WIDTH_PX, label_px, row_step_px
from surgeval.report.words import short_names

BANDS = ((1, 1), (2, 2), (3, 3), (4, 5), (6, 10), (11, 20), (21, 50), (51, None))
"""Places that share a colour in stacked bars: the podium one by one, then ever coarser."""
BAND_COLOURS = ("#00224e", "#31446b", "#575d6d", "#7d7c78", "#a59c74", "#cbba69", "#ebd95f", "#f7f0c0")


def place_frequencies(
    frequencies: pl.DataFrame,
    stability: pl.DataFrame | None = None,
    places: pl.DataFrame | None = None,
    *,
    group: str | None = None,
    evidence: str = "",
    name: str = "place-frequencies",
    title: str = "How often each place was taken",
) -> Chart:
    """One row per model, one column per place: the larger the circle, the more often the model took the place.

    Args:
        frequencies: Columns `board, model, place, share` or `task, model, rank, share`.
        stability: Columns `place_low, place_high` or `rank_low, rank_high`; adds bars, and with `median_rank` crosses
            where there are no places.
        places: Columns `model` and `place` or `rank`: the actual places; adds crosses and orders the rows.
        group: Which board or task; the first of the table by default.
        evidence: What was resampled how often, for the caption ("10,000 resamples of 40 videos").
        name: Of the chart.
        title: Of the chart; the board's or task's name is added.
    """
    chosen = part_of(frequencies, group)
    title += chosen.suffix
    if chosen.frame.is_empty():
        return nothing_to_show(name, title, "nothing was resampled, so no place has a frequency")
    alt = altair()
    given, spread, actual = _tables(chosen.frame, same_part(stability, chosen), same_part(places, chosen))
    order = given[LABEL].unique(maintain_order=True).to_list()
    step, last = row_step_px(len(order)), max(given["place"].to_list())
    scale = alt.Scale(domain=[0.4, last + 0.6], nice=False)
    x = alt.X("place:Q", title="place", scale=scale, axis=alt.Axis(tickMinStep=1, tickCount=min(last, 20)))
    most = max(given["share"].to_list())
    size = alt.Size(
        "share:Q", title="share of resamples", scale=alt.Scale(domain=[0, most], range=[0, step**2 * 0.85]),
        legend=alt.Legend(orient="top", format=".0%", tickCount=4, symbolFillColor=ACCENT, symbolStrokeWidth=0),
    )  # fmt: skip
    layers = []
    if spread is not None:
        bars = marks(spread).mark_rule(color=QUIET, strokeWidth=max(1.0, step / 12))
        layers.append(
            bars.encode(y=in_rows(order), x=alt.X("place_low:Q", title="place", scale=scale), x2=alt.X2("place_high:Q"))
        )
    blobs = marks(given).mark_circle(color=ACCENT, opacity=0.65)
    layers.append(blobs.encode(y=in_rows(order), x=x, size=size, tooltip=tooltips(_TIPS, given.columns)))
    if actual is not None:
        cross = marks(actual).mark_point(shape="cross", angle=45, filled=True, color=INK, size=min(60, step**2 * 0.25))
        layers.append(cross.encode(y=in_rows(order), x=alt.X("place:Q", scale=scale)))
    picture = alt.layer(*layers).properties(width=max(200, min(last * step, 900)), height=rows_height(len(order)))
    return drawn(
        name, picture, title=title, alt=_spoken(given, spread), caption=_caption(spread, actual, evidence),
        data=chosen.frame,
    )  # fmt: skip


def place_shares(
    frequencies: pl.DataFrame,
    places: pl.DataFrame | None = None,
    *,
    group: str | None = None,
    evidence: str = "",
    name: str = "place-shares",
    title: str = "Share of resamples by place",
) -> Chart:
    """One bar per model, cut into the places it took: dark where they are good.

    Args:
        frequencies: Columns `board, model, place, share` or `task, model, rank, share`.
        places: Columns `model` and `place` or `rank`: the actual places, which order the rows.
        group: Which board or task; the first of the table by default.
        evidence: What was resampled how often, for the caption.
        name: Of the chart.
        title: Of the chart; the board's or task's name is added.
    """
    chosen = part_of(frequencies, group)
    title += chosen.suffix
    if chosen.frame.is_empty():
        return nothing_to_show(name, title, "nothing was resampled, so no place has a frequency")
    alt = altair()
    given, _, _ = _tables(chosen.frame, None, same_part(places, chosen))
    order = given[LABEL].unique(maintain_order=True).to_list()
    last = max(given["place"].to_list())
    bands = [(low, high, _band_name(low, high, last)) for low, high in BANDS if low <= last]
    within = pl.coalesce(
        pl.when(pl.col("place").is_between(low, high or last)).then(number)
        for number, (low, high, _) in enumerate(bands)
    )
    pieces = (
        given.with_columns(at=within).group_by(LABEL, "model", "at", maintain_order=True).agg(pl.col("share").sum())
    )
    pieces = pieces.with_columns(places=pl.col("at").replace_strict({n: band[2] for n, band in enumerate(bands)}))
    apart = (len(BAND_COLOURS) - 1) / max(1, len(bands) - 1)
    shades = [BAND_COLOURS[round(number * apart)] for number in range(len(bands))]
    colours = alt.Scale(domain=[band[2] for band in bands], range=shades)
    bars = marks(pieces).mark_bar(stroke="white", strokeWidth=0.7, height={"band": 0.8})
    picture = bars.encode(
        y=in_rows(order),
        x=alt.X(
            "share:Q", title="share of resamples", stack="zero", scale=alt.Scale(domain=[0, 1]),
            axis=alt.Axis(format="%"),
        ),
        color=alt.Color("places:N", title="place", scale=colours, legend=alt.Legend(orient="top", columns=8)),
        order=alt.Order("at:Q"),
        tooltip=tooltips((("model", "N", ""), ("places", "N", ""), ("share", "Q", ".1%")), pieces.columns),
    ).properties(width=WIDTH_PX, height=rows_height(len(order)))  # fmt: skip
    caption = f"Each bar: the places of one model{_resampled(evidence)}; left, dark pieces are the best places."
    return drawn(name, picture, title=title, alt=_spoken(given, None), caption=caption, data=chosen.frame)


def _band_name(low: int, high: int | None, last: int) -> str:
    high = last if high is None else min(high, last)
    return f"{low}" if low == high else f"{low} to {high}"


def _tables(
    frequencies: pl.DataFrame, stability: pl.DataFrame | None, places: pl.DataFrame | None
) -> tuple[pl.DataFrame, pl.DataFrame | None, pl.DataFrame | None]:
    """Frequencies, spread and actual places with the same words for boards and tasks, best model first."""
    given = _as_places(frequencies).filter(pl.col("share") > 0)
    mean = given.group_by("model").agg(mean=(pl.col("share") * pl.col("place")).sum() / pl.col("share").sum())
    by_mean = given.join(mean, on="model").sort("mean", "model", "place")
    order = ordered_models(by_mean["model"], places)
    labels = short_names(order)
    ranked = pl.DataFrame({"model": order, LABEL: list(labels.values()), "at": range(len(order))})
    given = given.join(ranked, on="model").sort("at", "place").drop("at")
    spread = None if stability is None else _as_places(stability).join(ranked, on="model").sort("at")
    if places is not None:
        actual = _as_places(places).join(ranked, on="model").sort("at")
    elif spread is not None and "median_place" in spread.columns:
        actual = spread.with_columns(place=pl.col("median_place"))
    else:
        actual = None
    return given, spread, actual


def _as_places(frame: pl.DataFrame) -> pl.DataFrame:
    """Ranks in a task called places, and only the columns that are drawn."""
    renamed = {column: column.replace("rank", "place") for column in frame.columns if "rank" in column}
    keep = ("model", "place", "share", "place_low", "place_high", "median_place")
    return frame.rename(renamed).select([column for column in keep if column in {*frame.columns, *renamed.values()}])


_TIPS = (("model", "N", ""), ("place", "Q", "d"), ("share", "Q", ".1%"))


def _resampled(evidence: str) -> str:
    return f" in {evidence}" if evidence else " when whole videos (or cases) are resampled"


def _caption(spread: pl.DataFrame | None, actual: pl.DataFrame | None, evidence: str) -> str:
    words = f"Area of a circle: how often the model took that place{_resampled(evidence)}; models may share places."
    if spread is not None:
        words += " Bars: the middle 95 % of places."
    if actual is None:
        return words
    middle = "median_place" in actual.columns
    return words + (" Crosses: the median." if middle else " Crosses: the place on the data as they are.")


def _spoken(given: pl.DataFrame, spread: pl.DataFrame | None) -> str:
    first = given.filter(pl.col("place") == 1).sort("share", descending=True, maintain_order=True)
    phrases = [f"{row[LABEL]} in {row['share']:.1%}" for row in first.iter_rows(named=True)]
    words = f"Places of {given['model'].n_unique()} models under resampling. First place: {listed(phrases, 5)}."
    if spread is not None:
        rows = spread.head(3).iter_rows(named=True)
        middle = [f"{row[LABEL]}: {row['place_low']:g} to {row['place_high']:g}" for row in rows]
        words += f" Middle 95 % of places: {listed(middle)}."
    return words


def places_by_rule(
    sensitivity: pl.DataFrame,
    *,
    group: str | None = None,
    name: str = "places-by-rule",
    title: str = "Places under other ranking rules",
) -> Chart:
    """One line per model over ranking rules: level where the rule does not matter.

    Args:
        sensitivity: Columns `board` (or none), `model`, and one per rule with the place under it.
        group: Which board; the first of the table by default.
        name: Of the chart.
        title: Of the chart; the board's name is added.
    """
    chosen = part_of(sensitivity, group)
    title += chosen.suffix
    rules = [column for column in chosen.frame.columns if column not in ("board", "task", "model")]
    if chosen.frame.is_empty() or not rules:
        return nothing_to_show(name, title, "no model has places under several rules")
    alt = altair()
    long = _slots(chosen.frame, rules)
    models = long["model"].n_unique()
    step = row_step_px(models)
    y = alt.Y("slot:Q", scale=alt.Scale(domain=[models + 0.5, 0.5], nice=False), axis=None)
    x = alt.X(
        "rule:N", sort=rules, title=None,
        axis=alt.Axis(orient="top", labelAngle=0, domain=False, ticks=False, labelLimit=90),
    )  # fmt: skip
    colour = alt.Color("colour:N", scale=None, legend=None)
    tips = tooltips((("model", "N", ""), ("rule", "N", ""), ("place", "Q", "d")), long.columns)
    width = max(1.2, step / 7)
    lines = (
        marks(long)
        .mark_line(strokeWidth=width)
        .encode(x=x, y=y, detail=alt.Detail("model:N"), color=colour, tooltip=tips)
    )
    dots = (
        marks(long).mark_circle(size=min(330.0, step**2 * 0.75), opacity=1).encode(x=x, y=y, color=colour, tooltip=tips)
    )
    numbers = marks(long).mark_text(fontSize=label_px(step), baseline="middle", fontWeight="bold")
    numbers = numbers.encode(
        x=x, y=y, text=alt.Text("place:Q"), color=alt.Color("ink:N", scale=None, legend=None), tooltip=tips
    )
    layers = [lines, dots, numbers]
    for rule, align, shift in ((rules[0], "right", -14), (rules[-1], "left", 14)):
        names = marks(long.filter(pl.col("rule") == rule)).mark_text(
            align=align, dx=shift, fontSize=label_px(step), baseline="middle", color=INK
        )
        layers.append(names.encode(x=x, y=y, text=alt.Text(f"{LABEL}:N")))
    picture = alt.layer(*layers).properties(width=alt.Step(78), height=models * step)
    return drawn(
        name, picture, title=title, alt=_rule_words(chosen.frame, rules), data=chosen.frame,
        caption=f"Numbers: the place of each of {models} models under each of {len(rules)} rules, best on top; models"
        " with the same place stand one under the other. The first eight have a colour, so that lines can be followed.",
    )  # fmt: skip


def _slots(frame: pl.DataFrame, rules: list[str]) -> pl.DataFrame:
    """One row per model and rule; equal places take the rows below each other, in the order of the first rule."""
    ranked = frame.sort(rules[0], maintain_order=True)
    labels = short_names(ranked["model"])
    colours = [*PALETTE[:7], PALETTE[7]][: ranked.height] + [QUIET] * max(0, ranked.height - 8)
    ranked = ranked.with_columns(
        pl.col("model").replace_strict(labels).alias(LABEL),
        colour=pl.Series(colours, dtype=pl.String),
        ink=pl.Series([INK if colour in _LIGHT else "#ffffff" for colour in colours], dtype=pl.String),
    )
    long = ranked.unpivot(rules, index=["model", LABEL, "colour", "ink"], variable_name="rule", value_name="place")
    return long.with_columns(slot=pl.col("place").rank("ordinal").over("rule").cast(pl.Int64))


_LIGHT = ("#e69f00", "#56b4e9", "#f0e442", "#cc79a7")


def _rule_words(frame: pl.DataFrame, rules: list[str]) -> str:
    low, high = pl.min_horizontal(rules), pl.max_horizontal(rules)
    moved = frame.with_columns(low=low, high=high).filter(pl.col("low") < pl.col("high"))
    moved = moved.sort(pl.col("high") - pl.col("low"), descending=True, maintain_order=True)
    labels = short_names(frame["model"])
    phrases = [f"{labels[row['model']]}: {row['low']} to {row['high']}" for row in moved.iter_rows(named=True)]
    words = f"Places of {frame.height} models under {len(rules)} rules ({listed(rules, 8)}): "
    if not phrases:
        return words + "no place depends on the rule."
    return words + f"{len(phrases)} of the models move: {listed(phrases, 5)}."
