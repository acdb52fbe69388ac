"""The leaderboard: who comes where on which evidence, who beats whom, and what other rules would say."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from surgvalid.report.chart import Chart, nothing_to_show
from surgvalid.report.charts._ranking import (
    BUCKET,
    ChartPart,
    bucket_evidence,
    listed,
    model_labels,
    ordered_models,
    part_of,
    same_part,
    shown_of,
    with_bucket,
)
from surgvalid.report.charts.tables import LABEL, labelled, number, reach
from surgvalid.report.drawing.grid import GridCell, GridImage
from surgvalid.report.drawing.rows import Mark, RowsImage
from surgvalid.report.words import count_of

MATRIX_MODELS = 40
"""Most rows of a matrix of models: of more, nothing could be read."""
_KINDS = {"competitor": ("blue", "circle"), "baseline": ("quiet", "diamond"), "outside": ("quiet", "up")}


def board(
    places: pl.DataFrame,
    stability: pl.DataFrame | None = None,
    *,
    summary: pl.DataFrame | None = None,
    buckets: pl.DataFrame | None = None,
    group: str | None = None,
    name: str = "board",
    title: str = "Final ranks and what they rest on",
) -> Chart:
    """One row per model, the winner on top: macro accuracy, Copeland score, final rank and the range it takes.

    Args:
        places: Columns `board, model, place, copeland, macro_accuracy, baseline`.
        stability: Columns `board, model, place_low, place_high`; adds the ranges of final ranks.
        summary: Columns `board, model, macro_low, macro_high`; adds the intervals of macro accuracies.
        buckets: Columns `board, capability, ood, questions, videos`; adds n to the caption.
        group: Which leaderboard; the first of the table by default.
        name: Of the chart.
        title: Of the chart; the leaderboard's name is added.
    """
    chosen = part_of(places, group)
    title += chosen.suffix
    if chosen.frame.is_empty():
        return nothing_to_show(name, title, "no model has a final rank")
    rows = _with_intervals(_rows(chosen, stability), same_part(summary, chosen))
    firm = "place_low" in rows.columns
    marks = []
    for place, row in enumerate(rows.iter_rows(named=True)):
        ends = row.get("macro_low"), row.get("macro_high")
        words = f"{row[LABEL]}: {reach(row['macro_accuracy'], *ends)}"
        look, shape = _KINDS[row["kind"]]
        marks.append(Mark(place, row["macro_accuracy"], *ends, look, shape, words=words))
    beside = [
        ("accuracy", tuple(number(value) for value in rows["macro_accuracy"])),
        ("Copeland", tuple(_net(score) for score in rows["copeland"])),
    ]
    if firm:
        beside.append(
            ("in redraws", tuple(_span(*ends) for ends in rows.select("place_low", "place_high").iter_rows()))
        )
    image = RowsImage(
        tuple(rows["row"]),
        tuple(marks),
        axis="macro accuracy (bars: 95 %)" if "macro_low" in rows.columns else "macro accuracy",
        beside=tuple(beside),
    )
    caption = _caption(rows, firm) + bucket_evidence(same_part(buckets, chosen))
    return Chart(name, title, _spoken(rows, chosen, firm), caption, chosen.frame, image)


def _net(score: float | None) -> str:
    return "–" if score is None else "0" if not score else f"{score:+g}".replace("-", "\u2212")


def _span(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _rows(chosen: ChartPart, stability: pl.DataFrame | None) -> pl.DataFrame:
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


def _caption(rows: pl.DataFrame, firm: bool) -> str:
    words = "Macro accuracy: the mean over buckets of the share of questions answered rightly"
    words += "; bars: its middle 95 % when whole videos are resampled." if "macro_low" in rows.columns else "."
    words += " Copeland score: models dominated minus models dominating."
    if firm:
        words += (
            " In redraws: the middle 95 % of final ranks in the same resamples, where ties are shared and not "
            "broken, so that a final rank that rests on a tie-break can lie outside."
        )
    kinds = set(rows["kind"])
    if "baseline" in kinds:
        words += (
            " Diamonds and final ranks in brackets: baselines, which do not compete, at the final rank each would take."
        )
    if "outside" in kinds:
        words += " Triangles: other entries outside the competition, likewise."
    return words


def _spoken(rows: pl.DataFrame, chosen: ChartPart, firm: bool) -> str:
    competitors = rows.filter(pl.col("kind") == "competitor")
    phrases = []
    for row in competitors.head(3).iter_rows(named=True):
        value = reach(row["macro_accuracy"], row.get("macro_low"), row.get("macro_high"))
        words = f"final rank {row['place']}: {row[LABEL]}, macro accuracy {value}"
        if firm and row["place_low"] is not None:
            words += f", final ranks {row['place_low']:g} to {row['place_high']:g} in 95 % of resamples"
        phrases.append(words)
    phrases += [""] * (competitors.height - len(phrases))
    baselines = rows.filter(pl.col("kind") == "baseline").height
    beside = f" and {count_of(baselines, 'baseline')}" if baselines else ""
    others = rows.height - competitors.height - baselines
    beside += f" and {others} outside the competition" if others else ""
    return f"{competitors.height} competitors{beside}{chosen.suffix}: {listed(phrases)}."


def significance_map(
    pairs: pl.DataFrame,
    letters: pl.DataFrame | None = None,
    places: pl.DataFrame | None = None,
    *,
    group: str | None = None,
    level: str = "0.05",
    name: str = "significance-map",
    title: str = "Significant differences",
) -> Chart:
    """A cell is filled where the model of the row is significantly better than that of the column.

    Args:
        pairs: Columns `board, capability, ood, model_a, model_b, difference, significant`, or those of a task
            (`task, model_a, model_b, significant`), where a significant row says that a is better.
        letters: Columns `model, letters`, as `summary` has them. Models that share a letter are not told apart.
        places: Columns `model` and `place` (or `rank`), which order rows and columns.
        group: Which leaderboard or task; the first of the table by default.
        level: The level of the tests, for the caption.
        name: Of the chart.
        title: Of the chart; the leaderboard's or task's name is added.
    """
    chosen = part_of(pairs, group)
    title += chosen.suffix
    frame = with_bucket(chosen.frame)
    if frame.is_empty():
        return nothing_to_show(name, title, "there is no pair of models")
    ranking = same_part(places, chosen)
    better = _better(frame)
    order = ordered_models(_by_wins(frame, better), ranking)
    labels, total = model_labels(order[:MATRIX_MODELS], ranking), frame[BUCKET].n_unique()
    wins = better.group_by("winner", "loser").agg(buckets=pl.len()).sort("winner", "loser")
    notes = _letters(letters, chosen, labels)
    caption = f"Filled: the model of the row is significantly better than that of the column (adjusted p <= {level})"
    caption += f"; number and shade: in how many of {total} buckets." if total > 1 else "."
    caption += " Rows and columns are in the order of the leaderboard."
    caption += " Letters on the right: models that share one are not told apart." if notes else ""
    image = GridImage(
        tuple(labels.values()),
        tuple(labels.values()),
        _win_cells(wins, labels, total),
        across="better than",
        beside=(("letters", tuple(notes.get(model, "") for model in labels)),) if notes else (),
    )
    alt = _map_words(wins, frame, labels, notes)
    return Chart(name, title, alt, caption + shown_of(len(labels), len(order)), frame, image)


def _win_cells(wins: pl.DataFrame, labels: Mapping[str, str], total: int) -> tuple[GridCell, ...]:
    place = {model: at for at, model in enumerate(labels)}
    counts = {(place[one], place[other]): n for one, other, n in wins.iter_rows() if {one, other} <= set(place)}
    names = list(labels.values())
    cells = []
    for row in range(len(names)):
        for column in range(len(names)):
            if row == column:
                continue
            count = counts.get((row, column), 0)
            words = f"{names[row]} is better than {names[column]} in {count} of {total}" if count else ""
            cells.append(GridCell(row, column, str(count) if count and total > 1 else "", count / total, words))
    return tuple(cells)


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


def _letters(letters: pl.DataFrame | None, chosen: ChartPart, labels: Mapping[str, str]) -> dict[str, str]:
    rows = same_part(letters, chosen)
    if rows is None:
        return {}
    rows = rows.filter(pl.col("model").is_in(list(labels)) & (pl.col("letters").fill_null("") != ""))
    return dict(rows.unique("model", keep="first", maintain_order=True).select("model", "letters").iter_rows())


def _map_words(wins: pl.DataFrame, frame: pl.DataFrame, labels: Mapping[str, str], notes: Mapping[str, str]) -> str:
    pairs = len({frozenset(pair) for pair in frame.select("model_a", "model_b").iter_rows()})
    apart = len({frozenset(pair) for pair in wins.select("winner", "loser").iter_rows()})
    beaten = dict(wins["winner"].value_counts().iter_rows())
    phrases = [f"{labels[model]}: {beaten.get(model, 0)}" for model in labels]
    somewhere = " in at least one bucket" if frame[BUCKET].n_unique() > 1 else ""
    words = f"Of {pairs} pairs of models {apart} differ significantly{somewhere}. Models beaten: {listed(phrases, 5)}."
    if notes:
        words += f" Letters: {listed([f'{labels[model]}: {text}' for model, text in notes.items()], 5)}."
    return words
