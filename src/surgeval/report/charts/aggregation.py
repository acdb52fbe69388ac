"""Aggregation: how the ranks of models change with what is averaged first, or with the operator."""

from __future__ import annotations

from typing import Any

import polars as pl

from surgeval.report.chart import Chart, altair, drawn, nothing_to_show
from surgeval.report.charts._encode import LABEL, chart_data, labelled
from surgeval.report.charts._marks import amount, distinct, number, tips, typed
from surgeval.report.theme import ACCENT, CONTRAST, INK, QUIET, RULE, WIDTH_PX, label_px, row_step_px
from surgeval.report.words import plain, short_names

MOST_STRATEGIES = 8
MANY_MODELS = 25
"""From here on only first places and the largest moves stand out."""
LARGEST_MOVES = 10
KINDS = {
    "better": ("better than under the first", ACCENT),
    "worse": ("worse than under the first", CONTRAST),
    "both": ("better and worse", "#e69f00"),
    "same": ("same rank everywhere", QUIET),
    "less": ("moves less", "#bbbbbb"),
}


def aggregation_flips(
    frame: pl.DataFrame,
    *,
    agreement: pl.DataFrame | None = None,
    name: str = "aggregation-flips",
    title: str = "Ranks of models under different aggregations",
) -> Chart:
    """One line per model through its ranks under each strategy; lines of models that change places stand out.

    Args:
        frame: The table of `aggregate`: columns `strategy`, `model`, `rank`, and `value` where known. The first
            strategy is what the others are compared with.
        agreement: The agreement of strategies (`strategy`, `tau_b`), which stands below their names.
        name: Of the chart.
        title: Of the chart.
    """
    if frame.is_empty():
        return nothing_to_show(name, title, "no model was ranked")
    frame = typed(frame, name, texts=("strategy", "model"), numbers=("rank",))
    strategies = frame["strategy"].cast(pl.String).unique(maintain_order=True).to_list()
    note = ""
    if len(strategies) > MOST_STRATEGIES:
        note = f" The first {MOST_STRATEGIES} of {len(strategies)} strategies are shown; the saved CSV has all."
        strategies = strategies[:MOST_STRATEGIES]
    rows = _rows(frame.filter(pl.col("strategy").cast(pl.String).is_in(strategies)), strategies, agreement)
    if rows.is_empty():
        return nothing_to_show(name, title, "no model has a rank")
    columns = rows["column"].unique(maintain_order=True).to_list()
    return drawn(
        name, _picture(rows, columns), title=title, alt=_spoken(rows, strategies) + note,
        caption=f"Ranks of {amount(rows['model'].n_unique(), 'model')} (1 is best; ties share the smallest rank) "
                f"under {len(strategies)} aggregations, compared with the first, {plain(strategies[0], limit=30)}. "
                "Thick lines with arrows: models that change ranks; thin grey lines with dots: models that do not."
                + _many_words(rows)
                + (" τ: Kendall's tau-b with the first." if agreement is not None else "") + note,
        data=frame,
    )  # fmt: skip


def _rows(frame: pl.DataFrame, strategies: list[str], agreement: pl.DataFrame | None) -> pl.DataFrame:
    """Rows with a label, a column to stand in, the rank apart from ties, and what happens to the model."""
    tau = {} if agreement is None else dict(agreement.select(pl.col("strategy").cast(pl.String), "tau_b").iter_rows())
    short = short_names(strategies, limit=22)
    heads = dict(
        zip(
            strategies,
            distinct([_head(short[one], tau.get(one) if one != strategies[0] else None) for one in strategies]),
            strict=True,
        )
    )
    rows = labelled(frame.filter(pl.col("rank").is_not_null()), limit=24)
    rows = rows.with_columns(pl.col("strategy").cast(pl.String).replace_strict(heads).alias("column"))
    apart = pl.col("rank").rank("ordinal").over("column").alias("line")
    rows = rows.sort("column", "rank", LABEL).with_columns(apart)
    first = pl.col("rank").filter(pl.col("column") == heads[strategies[0]]).first().over("model")
    rows = rows.with_columns((pl.col("rank").cast(pl.Int64) - first.cast(pl.Int64)).alias("change"))
    up, down = (pl.col("change") < 0).any().over("model"), (pl.col("change") > 0).any().over("model")
    kind = (
        pl.when(up & down).then(pl.lit("both")).when(up).then(pl.lit("better")).when(down).then(pl.lit("worse"))
        .otherwise(pl.lit("same"))
    )  # fmt: skip
    way = pl.when(pl.col("change") < 0).then(pl.lit("up")).when(pl.col("change") > 0).then(pl.lit("down"))
    place = pl.col("strategy").cast(pl.String).replace_strict({s: i for i, s in enumerate(strategies)},
                                                              return_dtype=pl.Int64)  # fmt: skip
    rows = rows.with_columns(kind.alias("kind"), way.otherwise(pl.lit("same")).alias("way"), place.alias("place"))
    rows = _quietened(rows)
    words = pl.col("kind").replace_strict({kind: words for kind, (words, _) in KINDS.items()})
    return rows.with_columns(words.alias("what")).sort("place", "line")


def _quietened(rows: pl.DataFrame) -> pl.DataFrame:
    """Among many models, those that neither win anywhere nor move the most step back."""
    if rows["model"].n_unique() <= MANY_MODELS:
        return rows
    moves = rows.group_by("model").agg(pl.col("change").abs().max(), pl.col("rank").min())
    largest = (
        moves.sort("change", "model", descending=[True, False], nulls_last=True).head(LARGEST_MOVES)["model"].to_list()
    )
    kept = {*largest, *moves.filter(pl.col("rank") == 1)["model"].to_list()}
    back = (pl.col("kind") != "same") & ~pl.col("model").is_in(sorted(kept))
    return rows.with_columns(pl.when(back).then(pl.lit("less")).otherwise("kind").alias("kind"))


def _head(strategy: str, tau: float | None) -> str:
    return strategy if tau is None else f"{strategy} · τ {number(tau, 2)}"


def _picture(rows: pl.DataFrame, columns: list[str]) -> Any:
    alt = altair()
    models = rows["model"].n_unique()
    step = row_step_px(models)
    size = label_px(step)
    axis = alt.Axis(labelAngle=0 if len(columns) <= 3 else -20, orient="top", grid=True, gridColor=RULE, labelLimit=220,
                    domain=False)  # fmt: skip
    x = alt.X("column:N", scale=alt.Scale(domain=columns, type="point", padding=0.1), title=None, axis=axis)
    y = alt.Y("line:Q", scale=alt.Scale(domain=[models + 0.5, 0.5], nice=False, zero=False), axis=None)
    present = [kind for kind in KINDS if kind in set(rows["kind"])]
    kinds, shades = zip(*(KINDS[kind] for kind in present), strict=True)
    legend = alt.Legend(orient="bottom", symbolType="stroke", symbolStrokeWidth=3, columns=2)
    color = alt.Color("what:N", scale=alt.Scale(domain=list(kinds), range=list(shades)), title=None,
                      legend=legend)  # fmt: skip
    ways = alt.Scale(domain=["up", "down", "same"], range=["triangle-up", "triangle-down", "circle"])
    shape = alt.Shape("way:N", scale=ways, legend=None)
    tooltip = tips(rows, "model", "strategy", "rank", "change +d", "value .3f")
    layers = []
    for quiet in (True, False):
        points = rows.filter(pl.col("kind").is_in(["same", "less"]) == quiet)
        base = alt.Chart(chart_data(points), width=WIDTH_PX, height=max(models, 2) * step)
        lines = base.mark_line(strokeWidth=0.9 if quiet else 2.4)
        marks = base.mark_point(filled=True, size=min(60, step * 4) * (0.6 if quiet else 1), opacity=1)
        layers += [lines.encode(x=x, y=y, detail=alt.Detail("model:N"), color=color),
                   marks.encode(x=x, y=y, color=color, shape=shape, tooltip=tooltip)]  # fmt: skip
    return alt.layer(*layers, *[_names(rows, columns, side, x, y, size) for side in (0, -1)])


def _names(rows: pl.DataFrame, columns: list[str], side: int, x: Any, y: Any, size: int) -> Any:
    """Ranks and names beside the first or the last strategy."""
    alt = altair()
    ends = rows.filter(pl.col("column") == columns[side])
    text = [
        f"{name}  {rank}." if side == 0 else f"{rank}.  {name}" for name, rank in ends.select(LABEL, "rank").iter_rows()
    ]
    base = alt.Chart(chart_data(ends.with_columns(pl.Series("end_text", text, dtype=pl.String))))
    align, shift = ("right", -9) if side == 0 else ("left", 9)
    return base.mark_text(align=align, dx=shift, fontSize=size, color=INK).encode(x=x, y=y, text=alt.Text("end_text:N"))


def _many_words(rows: pl.DataFrame) -> str:
    if rows["model"].n_unique() <= MANY_MODELS:
        return ""
    return f" Only models that come first somewhere and the {LARGEST_MOVES} largest moves are drawn in colour."


def _spoken(rows: pl.DataFrame, strategies: list[str]) -> str:
    models = amount(rows["model"].n_unique(), "model")
    moved = rows.filter(pl.col("kind") != "same")["model"].n_unique()
    winners = [
        f"{plain(one, limit=22)}: {', '.join(names[:3])}{' and others' if len(names) > 3 else ''}"
        for one in strategies
        if (names := rows.filter((pl.col("strategy").cast(pl.String) == one) & (pl.col("rank") == 1))[LABEL].to_list())
    ]
    return (
        f"Ranks of {models} under {len(strategies)} aggregations; {moved} change rank against "
        f"{plain(strategies[0], limit=30)}. First place under {'; '.join(winners)}."
    )
