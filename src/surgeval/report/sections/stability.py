"""Stability: how the places change when other videos had been drawn, or another rule chosen."""

from __future__ import annotations

from typing import Any

import polars as pl

from surgeval.report.inputs import Inputs, StoredResult
from surgeval.report.section import Block, Prose, Section, Table, of_boards
from surgeval.report.sections._pictures import picture, picture_of_foremost
from surgeval.report.sections._wording import (
    boards_of,
    in_redraws,
    missing,
    on_board,
    optional,
    percent,
    slug,
    whole_places,
)

TITLE = "Stability"
_LABELS = {
    "place_low": "place from",
    "place_high": "place to",
    "tau_b": "tau-b with the places as they are",
}


def section(inputs: Inputs) -> Section:
    """Places under resampled videos and under other merge rules."""
    result = inputs.first("rank")
    blocks = [] if result is None else [(b, board) for board in boards_of(result) for b in _board(result, board)]
    if not blocks:
        command = "surgeval rank SCORES... --boot 10000 --out DIR/rank"
        return missing("stability", TITLE, "How firm the places are is not known.", command)
    return of_boards("stability", TITLE, blocks)


def _board(result: StoredResult, board: str) -> list[Block]:
    stability, sensitivity = on_board(result, "stability", board), on_board(result, "sensitivity", board)
    influence = on_board(result, "influence", board)
    blocks: list[Block] = []
    if text := _spoken(board, _record(result, board)):
        blocks.append(Prose(text))
    blocks += _pictures(result, board)
    if not stability.is_empty():
        caption = (
            "Places over resamples of whole videos: mean, standard deviation, the middle 95 % (rounded outwards), and"
            " how often in 100 redraws first and among the first three. The tie-break is repeated in every resample,"
            " and what stays tied is split, so that the numbers of first places add up to 100. The tests inside make"
            " this spread pessimistic, and how often a model is first is no probability of being the best."
        )
        title = f"Places under resampling, {board} board"
        name = f"stability-{slug(board)}"
        blocks.append(Table(name, title, in_redraws(whole_places(stability)), caption, labels=_LABELS, folded=True))
    if not sensitivity.is_empty():
        caption = "The place of each model under every published way to merge buckets."
        blocks.append(
            Table(
                f"sensitivity-{slug(board)}", f"Places by merge rule, {board} board", sensitivity, caption, folded=True
            )
        )
    blocks += _influence(board, influence)
    return blocks


def _pictures(result: StoredResult, board: str) -> list[Block]:
    """How often each place was taken, how firm the order is, and places under other rules."""
    blocks: list[Block] = []
    frequencies, places = result.frame("place_frequencies"), optional(result, "places")
    options = {"group": board, "evidence": _evidence(result, board)}
    if not frequencies.is_empty():
        spread = optional(result, "stability")
        blocks.append(
            picture(
                "place_frequencies", frequencies, spread, places, name=f"place-frequencies-{slug(board)}", **options
            )
        )
        name = f"place-shares-{slug(board)}"
        evidence, table = options["evidence"], "place_frequencies"
        blocks.append(picture_of_foremost("place_shares", result, board, table, name=name, evidence=evidence))
    tau = result.frame("tau_frequencies")
    if not tau.is_empty() and board == boards_of(result)[0]:
        blocks.append(picture("tau_violin", tau, evidence=options["evidence"]))
    if not result.frame("sensitivity").is_empty():
        name = f"places-by-rule-{slug(board)}"
        blocks.append(picture_of_foremost("places_by_rule", result, board, "sensitivity", ordered=False, name=name))
    return blocks


def _evidence(result: StoredResult, board: str) -> str:
    """What was resampled how often."""
    firm = _record(result, board).get("stability")
    replicates = firm.get("replicates") if isinstance(firm, dict) else None
    return f"{replicates:,} resamples of whole videos" if isinstance(replicates, int) else "resamples of whole videos"


def _record(result: StoredResult, board: str) -> dict[str, Any]:
    record = result.records.get("structure", {}).get(board)
    return record if isinstance(record, dict) else {}


def _spoken(board: str, structure: dict[str, Any]) -> str:
    firm = structure.get("stability")
    parts = []
    if isinstance(firm, dict) and isinstance(firm.get("mean_rank_width"), int | float):
        parts.append(
            f"Over {firm.get('replicates', 'the')} resamples of whole videos, 95 % of a model's places span"
            f" {firm['mean_rank_width']:.1f} places on average on the {board} board"
        )
        if isinstance(firm.get("adjacent_pairs_decided"), int | float):
            parts.append(
                f"{percent(firm['adjacent_pairs_decided'])} of neighbouring places keep their order in 95 % of them"
            )
        if isinstance(firm.get("tau_b_mean"), int | float):
            parts.append(f"the mean tau-b with the published order is {firm['tau_b_mean']:.2f}")
    return "; ".join(parts) + "." if parts else ""


def _influence(board: str, influence: pl.DataFrame) -> list[Block]:
    moved = influence.filter(pl.col("models_moved") > 0) if "models_moved" in influence.columns else influence
    if influence.is_empty():
        return []
    changing = influence.filter(pl.col("first_changes").fill_null(False)).height
    text = (
        f"Leaving out one video, bucket or model at a time moves places in {moved.height} of {influence.height} cases,"
        f" and the first place in {changing}, on the {board} board."
    )
    if moved.is_empty():
        return [Prose(text)]
    shown = moved.sort("first_changes", "models_moved", descending=True)
    return [
        Prose(text),
        Table(
            f"influence-{slug(board)}", f"What moves places, {board} board", shown,
            "One row per video, bucket or model left out; first changes: whether another model is first then.",
            labels=_LABELS, shown_rows=30, folded=True,
        ),
    ]  # fmt: skip
