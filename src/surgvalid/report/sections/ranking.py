"""A ranking by the challenge's rule: final ranks, how they change with other videos or rules,
and which pairs differ.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from surgvalid.report.figures import board_title, picture, significance_title
from surgvalid.report.inputs import ReportInputs, StoredResult
from surgvalid.report.section import Block, Note, Prose, ReportTable, Section, of_leaderboards
from surgvalid.report.wording import (
    bucket_label,
    competitors,
    in_redraws,
    leaderboards_of,
    missing,
    on_leaderboard,
    optional,
    whole_places,
)
from surgvalid.report.words import names_of, percent, slug

_PLACE_LABELS = {
    "copeland": "Copeland",
    "win_rate": "win rate in tie",
    "place_low": "final rank from",
    "place_high": "final rank to",
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
_REDRAW_LABELS = {
    "place_low": "final rank from",
    "place_high": "final rank to",
    "tau_b": "tau-b with the final ranks as they are",
}
_SHOWN_PAIRS = 60


def board(inputs: ReportInputs) -> Section:
    """Final ranks, what they rest on and how sure each is, by the first ranking with the challenge's rule."""
    result = inputs.first("rank")
    if result is None or result.frame("places").is_empty():
        return missing("board", "Final ranks", "There is no leaderboard.", "surgvalid rank SCORES... --out DIR/rank")
    blocks = [(block, name) for name in leaderboards_of(result) for block in _places_of(result, name)]
    return of_leaderboards("board", "Final ranks", [*blocks, *((block, "") for block in _gate(result))])


def _places_of(result: StoredResult, board: str) -> list[Block]:
    places, stability = on_leaderboard(result, "places", board), on_leaderboard(result, "stability", board)
    summary = on_leaderboard(result, "summary", board)
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
        "Final rank: by Copeland's rule over buckets (models dominated minus models dominating); ties at the top "
        "are broken by the win rate. Macro accuracy: mean over buckets of the mean over questions, with its 95 % "
        "interval over"
        " videos. Rank from and to: the ranks by macro accuracy that the model can have, all models together; models"
        " that share a letter cannot be told apart by it. Final rank from and to: the middle 95 % of final ranks "
        "in resamples of whole videos, rounded outwards; times first and in the first three: in how many of 100 "
        "such redraws,"
        " tie-break included. They say how often these videos give that order, not how probable it is that"
        " the model is the best."
        " Baselines and entries outside the competition carry the final rank they would take."
    )
    table = ReportTable(
        f"places-{slug(board)}",
        f"Final ranks, {board} leaderboard",
        places.select(order),
        caption,
        labels=_PLACE_LABELS,
    )
    chart = picture(
        "board",
        result.frame("places"),
        optional(result, "stability"),
        summary=optional(result, "summary"),
        buckets=optional(result, "buckets"),
        group=board,
        title=board_title(places, competitors(result, board)),
        name=f"board-{slug(board)}",
    )
    return [Prose(_first_place(board, places.filter(pl.col("model").is_in(competitors(result, board))))), chart, table]


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
    evidence = result.frame("gate_evidence")
    caption = "Gap: macro accuracy minus that of the baseline, with its 95 % interval over videos."
    if not evidence.is_empty():
        blocks.append(
            ReportTable(
                "gate", "Gaps to the baselines", evidence, caption, labels=_GATE_LABELS, folded=evidence.height > _FEW
            )
        )
    if not result.frame("prizes").is_empty():
        blocks.append(ReportTable("prizes", "Prizes", result.frame("prizes")))
    if any(not isinstance(entry, dict) for entry in models.values()):
        blocks.append(Note("gate.json could not be understood fully", "hint"))
    return blocks


def stability(inputs: ReportInputs) -> Section:
    """Final ranks under resampled videos and under other merge rules."""
    result = inputs.first("rank")
    blocks = (
        [] if result is None else [(b, name) for name in leaderboards_of(result) for b in _stability_of(result, name)]
    )
    if not blocks:
        command = "surgvalid rank SCORES... --resamples 10000 --out DIR/rank"
        return missing("stability", "Stability", "How firm the final ranks are is not known.", command)
    return of_leaderboards("stability", "Stability", blocks)


def _stability_of(result: StoredResult, board: str) -> list[Block]:
    spread, sensitivity = on_leaderboard(result, "stability", board), on_leaderboard(result, "sensitivity", board)
    influence = on_leaderboard(result, "influence", board)
    blocks: list[Block] = []
    if text := _firmness(board, _record(result, board)):
        blocks.append(Prose(text))
    if not spread.is_empty():
        caption = (
            "Final ranks over resamples of whole videos: mean, standard deviation, the middle 95 % (rounded "
            "outwards), and how often in 100 redraws first and among the first three. The tie-break is repeated "
            "in every resample,"
            " and what stays tied is split, so that the numbers of first final ranks add up to 100. The tests "
            "inside make this spread pessimistic, and how often a model is first is no probability of being the best."
        )
        title = f"Final ranks under resampling, {board} leaderboard"
        name = f"stability-{slug(board)}"
        blocks.append(
            ReportTable(name, title, in_redraws(whole_places(spread)), caption, labels=_REDRAW_LABELS, folded=True)
        )
    if not sensitivity.is_empty():
        blocks.append(_under_other_rules(sensitivity, board))
    blocks += _influence(board, influence)
    return blocks


def _under_other_rules(sensitivity: pl.DataFrame, board: str) -> Block:
    """The final ranks under every way to merge buckets, or that they are the same."""
    first, *others = (sensitivity[name] for name in sensitivity.columns if name != "model")
    if others and all(other.equals(first) for other in others):
        return Prose("Every way to merge gives the same final ranks.")
    title = f"Final ranks under other ranking rules, {board} leaderboard"
    caption = "The final rank of each model under every published way to merge buckets."
    return ReportTable(f"sensitivity-{slug(board)}", title, sensitivity, caption)


def _record(result: StoredResult, board: str) -> dict[str, Any]:
    record = result.records.get("structure", {}).get(board)
    return record if isinstance(record, dict) else {}


def _firmness(board: str, structure: dict[str, Any]) -> str:
    firm = structure.get("stability")
    parts = []
    if isinstance(firm, dict) and isinstance(firm.get("mean_rank_width"), int | float):
        parts.append(
            f"Over {firm.get('replicates', 'the')} resamples of whole videos, 95 % of a model's final ranks span"
            f" {firm['mean_rank_width']:.1f} final ranks on average on the {board} leaderboard"
        )
        if isinstance(firm.get("adjacent_pairs_decided"), int | float):
            parts.append(
                f"{percent(firm['adjacent_pairs_decided'])} of neighbouring final ranks keep their order in 95 % "
                "of them"
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
        f"Leaving out one video, bucket or model at a time moves final ranks in {moved.height} of "
        f"{influence.height} cases,"
        f" and final rank 1 in {changing}, on the {board} leaderboard."
    )
    if moved.is_empty():
        return [Prose(text)]
    shown = moved.sort("first_changes", "models_moved", descending=True)
    return [
        Prose(text),
        ReportTable(
            f"influence-{slug(board)}",
            f"What moves final ranks, {board} leaderboard",
            shown,
            "One row per video, bucket or model left out; first changes: whether another model is first then.",
            labels=_REDRAW_LABELS,
            shown_rows=30,
            folded=True,
        ),
    ]


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
        f"bucket are significant ({percent(significant.height / pairs.height)})."
    )
    blocks: list[Block] = [Prose(text)]
    if not significant.is_empty():  # a map of nothing says no more than the sentence
        blocks.append(_map_of_pairs(result, board))
    differences = on_leaderboard(result, "differences", board)
    shown = _with_intervals(significant if not significant.is_empty() else pairs, differences).sort("p_adjusted")
    shown = shown.drop("significant") if not significant.is_empty() else shown
    caption = (
        "Difference: accuracy of the first minus that of the second model in the bucket, with a 95 % interval over"
        " videos. p-values: paired test with the video as unit, two-sided; adjusted by Holm within the bucket."
    )
    title = f"{'Significant differences' if not significant.is_empty() else 'Differences'}, {board} leaderboard"
    blocks.append(ReportTable(f"pairs-{slug(board)}", title, shown, caption, shown_rows=_SHOWN_PAIRS, folded=True))
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


def _with_intervals(pairs: pl.DataFrame, differences: pl.DataFrame) -> pl.DataFrame:
    """The pairs with the intervals of their differences, whichever of the two models either table names first."""
    keys = ["capability", "ood", "model_a", "model_b"]
    if not differences.is_empty():
        ends = differences.select(*keys, "low", "high")
        turned = differences.select(
            "capability",
            "ood",
            model_a="model_b",
            model_b="model_a",
            low=-pl.col("high"),
            high=-pl.col("low"),
        )
        both = pl.concat([ends, turned]).unique(keys, keep="first", maintain_order=True)
        pairs = pairs.join(both, on=keys, how="left", maintain_order="left", nulls_equal=True)
    named = pairs.select("capability", "ood").unique()
    labels = {(c, o): bucket_label(str(c), o) for c, o in named.iter_rows()}
    bucket = pl.Series(
        "bucket", [labels[key] for key in pairs.select("capability", "ood").iter_rows()], dtype=pl.String
    )
    return pairs.drop("capability", "ood").insert_column(0, bucket)
