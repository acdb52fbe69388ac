"""Who beats whom in a ranking, as a matrix; the leaderboards themselves are a table of the page."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from surgvalid.report.chart import Chart, nothing_to_show
from surgvalid.report.charts._ranking import (
    BUCKET,
    ChartPart,
    listed,
    model_labels,
    ordered_models,
    part_of,
    same_part,
    shown_of,
    with_bucket,
)
from surgvalid.report.drawing.grid import GridCell, GridImage

MATRIX_MODELS = 40
"""Most rows of a matrix of models: of more, nothing could be read."""


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
