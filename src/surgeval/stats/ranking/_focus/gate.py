"""The gate: which entries beat every baseline on at least one board, and on what evidence.

Source: seed document of the challenge: only teams that beat both baselines on at least one of the
leaderboards proceed; a higher mean accuracy over the buckets suffices. The comparison is strict and
needs no significance; the interval of the gap is shown so that a reader can see how sure it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from surgeval.results.tables import ranking
from surgeval.stats.ranking._focus.buckets import Board
from surgeval.stats.ranking._focus.intervals import gap_ends


def evidence_table(board: Board, members: np.ndarray, baselines: Sequence[str]) -> pl.DataFrame:
    """One row per competitor and baseline: both macro accuracies, the gap and its 95 % interval."""
    rows: list[dict[str, object]] = []
    macro = board.macro
    for member in members.tolist():
        for baseline in baselines:
            other = board.models.index(baseline)
            gap = float(np.round(macro[member] - macro[other], 12))
            low, high = gap_ends(board, member, other)
            rows.append(
                {
                    "board": board.name,
                    "model": board.models[member],
                    "baseline": baseline,
                    "macro_accuracy": macro[member],
                    "baseline_macro_accuracy": macro[other],
                    "gap": gap,
                    "low": low,
                    "high": high,
                    "above": gap > 0,
                }
            )
    return ranking.GATE_EVIDENCE.frame(rows)


def decision(evidence: pl.DataFrame, baselines: Sequence[str]) -> dict[str, Any]:
    """The gate as plain data: for each competitor the boards passed and whether it proceeds."""
    rule = "macro accuracy strictly above every baseline on at least one board"
    if not baselines:
        return {"applies": False, "rule": rule, "reason": "no baseline was named", "models": {}}
    boards = evidence.group_by("model", "board", maintain_order=True).agg(pl.col("above").all())
    models: dict[str, Any] = {}
    for model, board, above in boards.iter_rows():
        entry = models.setdefault(model, {"passes": False, "boards": {}})
        entry["boards"][board] = above
        entry["passes"] = entry["passes"] or above
    return {"applies": True, "rule": rule, "baselines": list(baselines), "models": models}


def above_all(board: Board, members: np.ndarray, baselines: Sequence[str]) -> np.ndarray:
    """Whether each member is above every baseline on this board."""
    macro = board.macro
    others = [board.models.index(name) for name in baselines]
    gaps = np.round(macro[members][:, None] - macro[others][None, :], 12)
    return np.asarray((gaps > 0).all(axis=1))
