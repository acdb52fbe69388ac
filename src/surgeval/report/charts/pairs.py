"""Pairs of models: who is significantly better, who dominates, and by how much they differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from surgeval.errors import UnknownName
from surgeval.report.chart import Chart, altair, drawn, nothing_to_show
from surgeval.report.charts._ranking import (
    BUCKET,
    Part,
    dark_ink,
    in_rows,
    listed,
    marks,
    model_labels,
    ordered_models,
    own_colour,
    part_of,
    same_part,
    shown_of,
    tooltips,
    with_bucket,
)
from surgeval.report.theme import DIVERGING, INK, SURFACE, label_px, row_step_px

MATRIX_MODELS = 60
"""Most rows of a matrix of models: of more, nothing could be read."""
GROUND = "#f2f2f2"
BEHIND = "#fdc38d"
"""Paler than the colour of those ahead, so that the two differ in greyscale too."""


def significance_map(
    pairs: pl.DataFrame,
    letters: pl.DataFrame | None = None,
    places: pl.DataFrame | None = None,
    *,
    group: str | None = None,
    bucket: str | None = None,
    level: str = "0.05",
    name: str = "significance-map",
    title: str = "Significant differences",
) -> Chart:
    """A cell is filled where the model of the row is significantly better than that of the column.

    Args:
        pairs: Columns `board, capability, ood, model_a, model_b, difference, significant`, or those of a task
            (`task, model_a, model_b, significant`), where a significant row says that a is better.
        letters: Columns `model, letters`: `summary` for a board, `buckets` for one bucket. Models that share a
            letter are not told apart.
        places: Columns `model` and `place` (or `rank`), which order rows and columns.
        group: Which board or task; the first of the table by default.
        bucket: One bucket ("object recognition, ID"); by default cells count buckets.
        level: The level of the tests, for the caption.
        name: Of the chart.
        title: Of the chart; the board's or task's name is added.
    """
    chosen = part_of(pairs, group)
    title += chosen.suffix + (f", {bucket}" if bucket else "")
    frame = _one_bucket(with_bucket(chosen.frame), bucket)
    if frame.is_empty():
        return nothing_to_show(name, title, "there is no pair of models")
    ranking = same_part(places, chosen)
    better = _better(frame)
    order = ordered_models(_by_wins(frame, better), ranking)
    labels, total = model_labels(order[:MATRIX_MODELS], ranking), frame[BUCKET].n_unique()
    cells = better.group_by("winner", "loser").agg(buckets=pl.len()).sort("winner", "loser")
    shown = _labelled_cells(cells, labels).with_columns(ink=dark_ink(pl.col("buckets") > 0.5 * total))
    counted = total > 1
    picture = _matrix(shown, labels, _count_colour(total, counted), text="buckets" if counted else None)
    notes = _letters(letters, chosen, bucket, labels)
    if notes is not None:
        picture = altair().hconcat(picture, _letter_panel(notes, labels), spacing=6)
    return drawn(
        name, picture, title=title, alt=_map_words(cells, frame, labels, notes), data=frame,
        caption=_map_caption(total, counted, level, notes is not None) + shown_of(len(labels), len(order)),
    )  # fmt: skip


def _one_bucket(frame: pl.DataFrame, bucket: str | None) -> pl.DataFrame:
    if bucket is None or frame.is_empty():
        return frame
    known = frame[BUCKET].unique(maintain_order=True).to_list()
    if bucket not in known:
        raise UnknownName("bucket", bucket, known)
    return frame.filter(pl.col(BUCKET) == bucket)


def _better(frame: pl.DataFrame) -> pl.DataFrame:
    """One row per significant difference: who is better, who is worse, where."""
    significant = frame.filter(pl.col("significant").cast(pl.Boolean).fill_null(False))
    ahead = pl.col("difference") > 0 if "difference" in frame.columns else pl.lit(True)
    first, second = pl.col("model_a"), pl.col("model_b")
    winner, loser = pl.when(ahead).then(first).otherwise(second), pl.when(ahead).then(second).otherwise(first)
    return significant.select(winner.alias("winner"), loser.alias("loser"), BUCKET)


def _by_wins(frame: pl.DataFrame, better: pl.DataFrame) -> list[str]:
    """The models, those first that win most net of losses."""
    wins, losses = (dict(better[side].value_counts().iter_rows()) for side in ("winner", "loser"))
    models = dict.fromkeys([*frame["model_a"], *frame["model_b"]])
    return sorted(models, key=lambda model: (losses.get(model, 0) - wins.get(model, 0), model))


def _labelled_cells(cells: pl.DataFrame, labels: dict[str, str]) -> pl.DataFrame:
    within = pl.col("winner").is_in(list(labels)) & pl.col("loser").is_in(list(labels))
    return cells.filter(within).with_columns(pl.col("winner", "loser").replace_strict(labels, return_dtype=pl.String))


def _count_colour(total: int, counted: bool) -> Any:
    alt = altair()
    if not counted:
        return alt.value("#00224e")
    scale = alt.Scale(scheme=SURFACE, domain=[0, total])
    legend = alt.Legend(orient="top", tickMinStep=1, gradientLength=160)
    return alt.Color("buckets:Q", title="buckets in which the row is better", scale=scale, legend=legend)


def _matrix(cells: pl.DataFrame, labels: dict[str, str], colour: Any, *, text: str | None) -> Any:
    """Cells of winner (row) and loser (column), on grey ground, with a barred diagonal."""
    alt = altair()
    order = list(labels.values())
    step = _cell_px(len(order))
    size = label_px(step)
    axis = alt.Axis(
        orient="bottom",
        labelAngle=-60,
        labelFontSize=size,
        labelOverlap=False,
        ticks=False,
        domain=False,
        labelLimit=150,
    )
    x = alt.X("loser:N", sort=order, scale=alt.Scale(domain=order), title=None, axis=axis)
    y = in_rows(order, field="winner")
    diagonal = marks(pl.DataFrame({"winner": order, "loser": order})).mark_rect(color="#bbbbbb").encode(x=x, y=y)
    tips = tooltips(_CELL_TIPS, cells.columns)
    boxes = marks(cells).mark_rect(stroke="white", strokeWidth=0.5).encode(x=x, y=y, color=colour, tooltip=tips)
    layers = [diagonal, boxes]
    if text is not None:
        words = marks(cells).mark_text(fontSize=size, baseline="middle")
        layers.append(words.encode(x=x, y=y, text=alt.Text(f"{text}:N"), color=own_colour("ink"), tooltip=tips))
    picture = alt.layer(*layers).resolve_scale(color="independent")
    return picture.properties(width=alt.Step(step), height=alt.Step(step), view=alt.ViewConfig(fill=GROUND))


def _cell_px(rows: int) -> int:
    return 34 if rows <= 6 else row_step_px(rows)


_CELL_TIPS = (
    ("winner", "N", ""), ("loser", "N", ""), ("buckets", "Q", "d"), ("ahead", "Q", "g"), ("behind", "Q", "g"),
)  # fmt: skip


def _letters(
    letters: pl.DataFrame | None, chosen: Part, bucket: str | None, labels: dict[str, str]
) -> pl.DataFrame | None:
    rows = same_part(letters, chosen)
    if rows is None:
        return None
    if "capability" in rows.columns:
        rows = with_bucket(rows).filter(pl.col(BUCKET) == (bucket or ""))
    rows = rows.filter(pl.col("model").is_in(list(labels)))
    rows = rows.unique("model", keep="first", maintain_order=True).filter(pl.col("letters").fill_null("") != "")
    if rows.is_empty():
        return None
    return rows.select(pl.col("model").replace_strict(labels).alias("winner"), "letters")


def _letter_panel(notes: pl.DataFrame, labels: dict[str, str]) -> Any:
    order = list(labels.values())
    step = _cell_px(len(order))
    longest = max(len(text) for text in notes["letters"])
    words = marks(notes.with_columns(none=0)).mark_text(
        align="left",
        font="Liberation Mono, monospace",
        fontSize=label_px(step),
        color=INK,
        baseline="middle",
        limit=220,
    )
    x = altair().X("none:Q", scale=altair().Scale(domain=[0, 1]), axis=None)
    width = min(220, 12 + longest * 7)
    return words.encode(
        x=x, y=in_rows(order, field="winner", labels=False), text=altair().Text("letters:N")
    ).properties(width=width, height=altair().Step(step))


def _map_caption(total: int, counted: bool, level: str, lettered: bool) -> str:
    words = f"Filled: the model of the row is significantly better than that of the column (adjusted p <= {level})"
    words += f"; number and shade: in how many of {total} buckets." if counted else "."
    words += " Rows and columns are in the order of the board."
    return words + (" Letters on the right: models that share one are not told apart." if lettered else "")


def _map_words(cells: pl.DataFrame, frame: pl.DataFrame, labels: dict[str, str], notes: pl.DataFrame | None) -> str:
    pairs = len({frozenset(pair) for pair in frame.select("model_a", "model_b").iter_rows()})
    apart = len({frozenset(pair) for pair in cells.select("winner", "loser").iter_rows()})
    beaten = dict(cells["winner"].value_counts().iter_rows())
    phrases = [f"{labels[model]}: {beaten.get(model, 0)}" for model in labels]
    somewhere = " in at least one bucket" if frame[BUCKET].n_unique() > 1 else ""
    words = f"Of {pairs} pairs of models {apart} differ significantly{somewhere}. Models beaten: {listed(phrases, 5)}."
    if notes is not None:
        words += f" Letters: {listed([f'{winner}: {text}' for winner, text in notes.iter_rows()], 5)}."
    return words


def dominance_matrix(
    dominance: pl.DataFrame,
    places: pl.DataFrame | None = None,
    *,
    group: str | None = None,
    name: str = "dominance-matrix",
    title: str = "Who dominates whom",
) -> Chart:
    """For every pair: buckets in which the row is significantly better, against those in which the column is.

    Args:
        dominance: Columns `board, model_a, model_b, buckets_a_ahead, buckets_b_ahead, a_dominates_b`.
        places: Columns `model` and `place`, which order rows and columns.
        group: Which board; the first of the table by default.
        name: Of the chart.
        title: Of the chart; the board's name is added.
    """
    chosen = part_of(dominance, group)
    title += chosen.suffix
    if chosen.frame.is_empty():
        return nothing_to_show(name, title, "there is no pair of models")
    cells = chosen.frame.select(
        pl.col("model_a").alias("winner"), pl.col("model_b").alias("loser"),
        pl.col("buckets_a_ahead").alias("ahead"), pl.col("buckets_b_ahead").alias("behind"), "a_dominates_b",
    )  # fmt: skip
    count = (
        cells.group_by("winner")
        .agg(pl.col("a_dominates_b").sum())
        .sort("a_dominates_b", "winner", descending=[True, False])
    )
    ranking = same_part(places, chosen)
    order = ordered_models(count["winner"], ranking)
    labels = model_labels(order[:MATRIX_MODELS], None)
    roomy = len(labels) <= 20
    shown = _labelled_cells(cells.with_columns(_sign(roomy)).filter(pl.col("text") != ""), labels)
    colour = altair().Color(
        "state:N", title="row against column", legend=altair().Legend(orient="top", symbolStrokeColor="#999999"),
        scale=altair().Scale(domain=list(_STATES), range=[DIVERGING[2], "#ffffff", BEHIND]),
    )  # fmt: skip
    picture = _matrix(shown.drop("a_dominates_b"), labels, colour, text="text")
    sign = "Numbers: buckets in which the row, and in which the column, is significantly better." if roomy else (
        "Plus: the row dominates; minus: it is dominated; circle: as many buckets each way, but not none."
    )  # fmt: skip
    return drawn(
        name, picture, title=title, alt=_dominance_words(count, cells, order, labels), data=chosen.frame,
        caption=f"A model dominates another if it is significantly better in more buckets than the other. {sign}"
        f" Empty: no significant difference in any bucket.{shown_of(len(labels), len(order))}",
    )  # fmt: skip


_STATES = ("dominates", "even", "is dominated")


def _sign(roomy: bool) -> Sequence[pl.Expr]:
    ahead, behind = pl.col("ahead"), pl.col("behind")
    state = _by_lead(*_STATES)
    none = (ahead == 0) & (behind == 0)
    sign = _by_lead("+", "o", "−")
    score = (
        ahead.round(1).cast(pl.String).str.strip_suffix(".0")
        + ":"
        + behind.round(1).cast(pl.String).str.strip_suffix(".0")
    )
    text = pl.when(none).then(pl.lit("")).otherwise(score if roomy else sign)
    ink = dark_ink(ahead <= behind)
    return [state.alias("state"), text.alias("text"), ink.alias("ink")]


def _by_lead(dominates: str, even: str, dominated: str) -> pl.Expr:
    ahead, behind = pl.col("ahead"), pl.col("behind")
    return (
        pl.when(ahead > behind)
        .then(pl.lit(dominates))
        .when(ahead < behind)
        .then(pl.lit(dominated))
        .otherwise(pl.lit(even))
    )


def _dominance_words(count: pl.DataFrame, cells: pl.DataFrame, order: list[str], labels: dict[str, str]) -> str:
    dominated = dict(count.iter_rows())
    phrases = [f"{labels[model]} dominates {dominated.get(model, 0)}" for model in order if model in labels]
    pairs = cells.height // 2
    decided = cells.filter(pl.col("ahead") > pl.col("behind")).height
    return f"{len(order)} models; in {decided} of {pairs} pairs one dominates the other: {listed(phrases, 5)}."
