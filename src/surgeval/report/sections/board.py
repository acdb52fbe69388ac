"""The board: final places, what they rest on, and how sure each is."""

from __future__ import annotations

import polars as pl

from surgeval.report.inputs import Inputs, StoredResult
from surgeval.report.section import Block, Note, Prose, Section, Table, of_boards
from surgeval.report.sections._pictures import picture
from surgeval.report.sections._titles import board_title
from surgeval.report.sections._wording import (
    boards_of,
    competitors,
    in_redraws,
    missing,
    names_of,
    on_board,
    optional,
    slug,
    whole_places,
)

TITLE = "Places"
_LABELS = {
    "copeland": "Copeland",
    "win_rate": "win rate in tie",
    "place_low": "place from",
    "place_high": "place to",
    "macro_low": "from",
    "macro_high": "to",
    "rank_low": "rank from",
    "rank_high": "rank to",
}
_GATE_LABELS = {"baseline_macro_accuracy": "that of the baseline", "low": "from", "high": "to"}
_FEW = 10
"""Rows of a table that need not be folded."""
_ORDER = (
    "place", "model", "macro_accuracy", "macro_low", "macro_high", "rank_low", "rank_high", "letters", "copeland",
    "win_rate", "place_low", "place_high", "p_first", "p_top3", "baseline",
)  # fmt: skip


def section(inputs: Inputs) -> Section:
    """The boards of the first ranking by the challenge's rule."""
    result = inputs.first("rank")
    if result is None or result.frame("places").is_empty():
        return missing("board", TITLE, "There is no board.", "surgeval rank SCORES... --out DIR/rank")
    blocks = [(block, board) for board in boards_of(result) for block in _board(result, board)]
    return of_boards("board", TITLE, [*blocks, *((block, "") for block in _gate(result))])


def _board(result: StoredResult, board: str) -> list[Block]:
    places, stability = on_board(result, "places", board), on_board(result, "stability", board)
    summary = on_board(result, "summary", board)
    if "p_first" in stability.columns:
        spread = in_redraws(whole_places(stability)).select("model", "place_low", "place_high", "p_first", "p_top3")
        places = places.join(spread, on="model", how="left", maintain_order="left")
    columns_known = [
        name for name in ("letters", "macro_low", "macro_high", "rank_low", "rank_high") if name in summary.columns
    ]
    if columns_known:
        places = places.join(summary.select("model", *columns_known), on="model", how="left", maintain_order="left")
    order = [name for name in _ORDER if name in places.columns]
    caption = (
        "Place: by Copeland's rule over buckets (models dominated minus models dominating); ties at the top are broken"
        " by the win rate. Macro accuracy: mean over buckets of the mean over questions, with its 95 % interval over"
        " videos. Rank from and to: the ranks by macro accuracy that the model can have, all models together; models"
        " that share a letter cannot be told apart by it. Place from and to: the middle 95 % of places in resamples of"
        " whole videos, rounded outwards; times first and in the first three: in how many of 100 such redraws,"
        " tie-break included. They say how often these videos give that order, not how probable it is that"
        " the model is the best."
        " Baselines and entries outside the competition carry the place they would take."
    )
    table = Table(f"places-{slug(board)}", f"Places, {board} board", places.select(order), caption, labels=_LABELS)
    chart = picture(
        "board", result.frame("places"), optional(result, "stability"), summary=optional(result, "summary"),
        buckets=optional(result, "buckets"), group=board, title=board_title(places, competitors(result, board)),
        name=f"board-{slug(board)}",
    )  # fmt: skip
    return [Prose(_spoken(board, places.filter(pl.col("model").is_in(competitors(result, board))))), chart, table]


def _spoken(board: str, rows: pl.DataFrame) -> str:
    if rows.is_empty():
        return f"Nobody competes on the {board} board."
    first = rows.filter(pl.col("place") == rows["place"].min())
    top = first.row(0, named=True)
    text = (
        f"On the {board} board {names_of(first['model'])} {'takes' if first.height == 1 else 'share'} the first place"
    )
    return f"{text} (macro accuracy {top['macro_accuracy']:.3f})." if top["macro_accuracy"] is not None else f"{text}."


def _gate(result: StoredResult) -> list[Block]:
    """Who passes the gate of the baselines, where the challenge has one."""
    gate = result.records.get("gate", {})
    models = gate.get("models")
    if not gate.get("applies") or not isinstance(models, dict):
        return []
    failed = [name for name, entry in models.items() if isinstance(entry, dict) and not entry.get("passes")]
    text = (
        f"Gate ({gate.get('rule', 'better than every baseline')}): {len(models) - len(failed)} of {len(models)} pass."
    )
    blocks: list[Block] = [Prose(text + (f" Not: {names_of(failed)}." if failed else ""))]
    evidence = result.frame("gate_evidence")
    caption = "Gap: macro accuracy minus that of the baseline, with its 95 % interval over videos."
    if not evidence.is_empty():
        blocks.append(
            Table(
                "gate", "Gaps to the baselines", evidence, caption, labels=_GATE_LABELS, folded=evidence.height > _FEW
            )
        )
    if not result.frame("prizes").is_empty():
        blocks.append(Table("prizes", "Prizes", result.frame("prizes")))
    if any(not isinstance(entry, dict) for entry in models.values()):
        blocks.append(Note("gate.json could not be understood fully", "hint"))
    return blocks
