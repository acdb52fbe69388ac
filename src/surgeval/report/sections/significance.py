"""Significance: which differences the videos carry."""

from __future__ import annotations

import polars as pl

from surgeval.report.inputs import Inputs, StoredResult
from surgeval.report.section import Block, Prose, Section, Table, of_boards
from surgeval.report.sections._pictures import picture, picture_of_foremost
from surgeval.report.sections._titles import significance_title
from surgeval.report.sections._wording import (
    CROWD,
    FOREMOST,
    boards_of,
    bucket_label,
    competitors,
    missing,
    on_board,
    optional,
    percent,
    slug,
)

TITLE = "Significance"
_SHOWN = 60


def section(inputs: Inputs) -> Section:
    """Tests of all pairs in all buckets, of the first ranking."""
    result = inputs.first("rank")
    if result is None or result.frame("pairs").is_empty():
        return missing("significance", TITLE, "Pairs were not tested.", "surgeval rank SCORES... --out DIR/rank")
    blocks = [(block, board) for board in boards_of(result) for block in _board(result, board)]
    return of_boards("significance", TITLE, blocks)


def _board(result: StoredResult, board: str) -> list[Block]:
    pairs = on_board(result, "pairs", board)
    if pairs.is_empty():
        return []
    significant = pairs.filter(pl.col("significant").fill_null(False))
    text = (
        f"On the {board} board {significant.height:,} of {pairs.height:,} comparisons of two models in a bucket are"
        f" significant ({percent(significant.height / pairs.height)})."
    )
    blocks: list[Block] = [Prose(text), *_pictures(result, board)]
    differences = on_board(result, "differences", board)
    shown = _with_intervals(significant if not significant.is_empty() else pairs, differences).sort("p_adjusted")
    shown = shown.drop("significant") if not significant.is_empty() else shown
    caption = (
        "Difference: accuracy of the first minus that of the second model in the bucket, with a 95 % interval over"
        " videos. p-values: paired test with the video as unit, two-sided; adjusted by Holm within the bucket."
    )
    title = f"{'Significant differences' if not significant.is_empty() else 'Differences'}, {board} board"
    blocks.append(Table(f"pairs-{slug(board)}", title, shown, caption, shown_rows=_SHOWN, folded=True))
    return blocks


def _pictures(result: StoredResult, board: str) -> list[Block]:
    places, level = optional(result, "places"), result.options.get("alpha", 0.05)
    letters = optional(result, "summary")
    blocks = [
        picture(
            "significance_map", result.frame("pairs"), letters, places, group=board, level=f"{level}",
            name=f"significance-map-{slug(board)}", title=significance_title(on_board(result, "pairs", board)),
        )
    ]  # fmt: skip
    if not result.frame("dominance").is_empty():
        name = f"dominance-matrix-{slug(board)}"
        blocks.append(picture_of_foremost("dominance_matrix", result, board, "dominance", name=name))
    if not result.frame("differences").is_empty():
        name = f"pair-differences-{slug(board)}"
        rivals = competitors(result, board)
        crowd = len(rivals) > CROWD
        title = f"Differences between the first {FOREMOST} models" if crowd else "Differences between models"
        models = tuple(rivals[:FOREMOST] if crowd else rivals)
        differences = result.frame("differences")
        blocks.append(picture("pair_differences", differences, group=board, models=models, name=name, title=title))
    return blocks


def _with_intervals(pairs: pl.DataFrame, differences: pl.DataFrame) -> pl.DataFrame:
    """The pairs with the intervals of their differences, whichever of the two models either table names first."""
    keys = ["capability", "ood", "model_a", "model_b"]
    if not differences.is_empty():
        ends = differences.select(*keys, "low", "high")
        turned = differences.select(
            "capability", "ood", model_a="model_b", model_b="model_a", low=-pl.col("high"),
            high=-pl.col("low"),
        )  # fmt: skip
        both = pl.concat([ends, turned]).unique(keys, keep="first", maintain_order=True)
        pairs = pairs.join(both, on=keys, how="left", maintain_order="left", nulls_equal=True)
    named = pairs.select("capability", "ood").unique()
    labels = {(c, o): bucket_label(str(c), o) for c, o in named.iter_rows()}
    bucket = pl.Series(
        "bucket", [labels[key] for key in pairs.select("capability", "ood").iter_rows()], dtype=pl.String
    )
    return pairs.drop("capability", "ood").insert_column(0, bucket)
