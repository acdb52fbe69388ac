"""A ranking by the challenge's rule: final ranks, and which pairs differ."""

from __future__ import annotations

import polars as pl

from surgvalid.report.figures import picture, significance_title
from surgvalid.report.inputs import ReportInputs, StoredResult
from surgvalid.report.section import Block, Note, Prose, ReportTable, Section, of_leaderboards
from surgvalid.report.wording import competitors, leaderboards_of, missing, on_leaderboard, optional
from surgvalid.report.words import names_of, percent, slug

_PLACE_LABELS = {
    "copeland": "Copeland",
    "win_rate": "win rate in tie",
    "macro_low": "from",
    "macro_high": "to",
    "rank_low": "rank from",
    "rank_high": "rank to",
}
_ORDER = """
    place model macro_accuracy macro_low macro_high rank_low rank_high letters copeland win_rate baseline
    """.split()


def board(inputs: ReportInputs) -> Section:
    """Final ranks, what they rest on and how sure each is, by the first ranking with the challenge's rule."""
    result = inputs.first("rank")
    if result is None or result.frame("places").is_empty():
        return missing("board", "Final ranks", "There is no leaderboard.", "surgvalid rank SCORES... --out DIR/rank")
    blocks = [(block, name) for name in leaderboards_of(result) for block in _places_of(result, name)]
    return of_leaderboards("board", "Final ranks", [*blocks, *((block, "") for block in _gate(result))])


def _places_of(result: StoredResult, board: str) -> list[Block]:
    places, summary = on_leaderboard(result, "places", board), on_leaderboard(result, "summary", board)
    columns_known = [
        name for name in ("letters", "macro_low", "macro_high", "rank_low", "rank_high") if name in summary.columns
    ]
    if columns_known:
        places = places.join(summary.select("model", *columns_known), on="model", how="left", maintain_order="left")
    order = [name for name in _ORDER if name in places.columns]
    caption = (
        "Final rank: by Copeland's rule over buckets (models dominated minus models dominating); ties at the top "
        "are broken by the win rate. Macro accuracy: mean over buckets of the mean over questions, with its 95 % "
        "interval over"
        " videos. Rank from and to: the ranks by macro accuracy that the model can have, all models together; models"
        " that share a letter cannot be told apart by it."
        " Baselines and entries outside the competition carry the final rank they would take."
    )
    table = ReportTable(
        f"places-{slug(board)}",
        f"Final ranks, {board} leaderboard",
        places.select(order),
        caption,
        labels=_PLACE_LABELS,
    )
    return [Prose(_first_place(board, places.filter(pl.col("model").is_in(competitors(result, board))))), table]


def _first_place(board: str, rows: pl.DataFrame) -> str:
    if rows.is_empty():
        return f"Nobody competes on the {board} leaderboard."
    first = rows.filter(pl.col("place") == rows["place"].min())
    top = first.row(0, named=True)
    text = (
        f"On the {board} leaderboard {names_of(first['model'])} {'takes' if first.height == 1 else 'share'} "
        "final rank 1"
    )
    return f"{text} (macro accuracy {top['macro_accuracy']:.3f})." if top["macro_accuracy"] is not None else f"{text}."


def _gate(result: StoredResult) -> list[Block]:
    """Who meets the qualification criterion of the baselines, where the challenge has one."""
    gate = result.records.get("gate", {})
    models = gate.get("models")
    if not gate.get("applies") or not isinstance(models, dict):
        return []
    failed = [name for name, entry in models.items() if isinstance(entry, dict) and not entry.get("passes")]
    text = (
        f"Qualification ({gate.get('rule', 'better than every baseline')}): {len(models) - len(failed)} of "
        f"{len(models)} pass."
    )
    blocks: list[Block] = [Prose(text + (f" Not: {names_of(failed)}." if failed else ""))]
    if not result.frame("prizes").is_empty():
        blocks.append(ReportTable("prizes", "Prizes", result.frame("prizes")))
    if any(not isinstance(entry, dict) for entry in models.values()):
        blocks.append(Note("gate.json could not be understood fully", "hint"))
    return blocks


def significance(inputs: ReportInputs) -> Section:
    """Tests of all pairs in all buckets, of the first ranking."""
    result = inputs.first("rank")
    if result is None or result.frame("pairs").is_empty():
        return missing(
            "significance", "Significance", "Pairs were not tested.", "surgvalid rank SCORES... --out DIR/rank"
        )
    blocks = [(block, name) for name in leaderboards_of(result) for block in _significance_of(result, name)]
    return of_leaderboards("significance", "Significance", blocks)


def _significance_of(result: StoredResult, board: str) -> list[Block]:
    pairs = on_leaderboard(result, "pairs", board)
    if pairs.is_empty():
        return []
    significant = pairs.filter(pl.col("significant").fill_null(False))
    text = (
        f"On the {board} leaderboard {significant.height:,} of {pairs.height:,} comparisons of two models in a "
        f"bucket are significant ({percent(significant.height / pairs.height)}); pairs.csv of the ranking has each."
    )
    blocks: list[Block] = [Prose(text)]
    if not significant.is_empty():  # a map of nothing says no more than the sentence
        blocks.append(_map_of_pairs(result, board))
    return blocks


def _map_of_pairs(result: StoredResult, board: str) -> Block:
    return picture(
        "significance_map",
        result.frame("pairs"),
        optional(result, "summary"),
        optional(result, "places"),
        group=board,
        level=f"{result.options.get('alpha', 0.05)}",
        name=f"significance-map-{slug(board)}",
        title=significance_title(on_leaderboard(result, "pairs", board)),
    )
