"""What a leaderboard leads to: which entries beat every baseline, on what evidence, and who gets which prize.

Source: FOCUS challenge document, qualification and award policy. Only teams that beat both baselines on at least one of
the leaderboards proceed; a higher mean accuracy over the buckets suffices, so the comparison is strict and needs no
significance, and the interval of the gap shows how sure it is. Prizes are 50, 30 and 20 % for the first three of a
leaderboard among the models above every baseline there; ties share what their final ranks earn together.

The decision a reader would question: ties and rounding are ours. Amounts are whole cents, rounded down, the remainder
goes to nobody, and a final rank without a model is not paid out.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

from surgvalid.results.tables import ranking
from surgvalid.schema.findings import Finding
from surgvalid.schema.statistic_rules import remark
from surgvalid.stats.ranking._focus.buckets import FocusLeaderboard
from surgvalid.stats.ranking._focus.intervals import gap_ends

SHARES_PERCENT = (50, 30, 20)


def prizes(
    board: str, names: list[str], place: np.ndarray, above: np.ndarray, unpaid: Collection[str], pool: float
) -> tuple[pl.DataFrame, list[Finding]]:
    """The award of each model, with its reason, and what stayed unpaid.

    Args:
        board: The name of the leaderboard.
        names: The competitors.
        place: Their final ranks.
        above: Whether each is above every baseline on this leaderboard.
        unpaid: Models that may not be paid (no sufficient description, not eligible).
        pool: Money of this leaderboard.
    """
    cents = [int(Fraction(str(pool)) * 100) * share // 100 for share in SHARES_PERCENT]
    eligible = [name not in unpaid and bool(ok) for name, ok in zip(names, above, strict=True)]
    award = {i: 1 + sum(eligible[k] and place[k] < place[i] for k in range(len(names))) for i in _true(eligible)}
    rows, paid = [], 0
    for i in np.lexsort((np.array(names), place)).tolist():
        amount = _share(award[i], list(award.values()).count(award[i]), cents) if i in award else 0
        paid += amount
        reason = _reason(names[i], unpaid, award.get(i), list(award.values()))
        rows.append(
            {
                "board": board,
                "model": names[i],
                "place": int(place[i]),
                "award_place": award.get(i),
                "amount": amount / 100,
                "reason": reason,
            }
        )
    left = int(Fraction(str(pool)) * 100) - paid
    text = f"{left / 100:.2f} of the pool of {pool:.2f} is not paid out"
    notes = [remark("pool-left", text, subject=f"{board} leaderboard")] if left else []
    return ranking.PRIZES.frame(rows), notes


def _true(flags: list[bool]) -> list[int]:
    return [i for i, flag in enumerate(flags) if flag]


def _share(place: int, tied: int, cents: list[int]) -> int:
    return sum(cents[place - 1 : place - 1 + tied]) // tied


def _reason(name: str, unpaid: Collection[str], award: int | None, awards: list[int]) -> str:
    if award is None:
        return "excluded from prizes" if name in unpaid else "not above every baseline on this leaderboard"
    if award > len(SHARES_PERCENT):
        return "beyond the third prize"
    tied = awards.count(award)
    places = f"final rank {award}" if tied == 1 else f"final ranks {award} to {award + tied - 1} shared by {tied}"
    return f"award {places}"


def evidence_table(board: FocusLeaderboard, members: np.ndarray, baselines: Sequence[str]) -> pl.DataFrame:
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
    """The qualification criterion as plain data: for each competitor the leaderboards passed and whether it
    proceeds.
    """
    rule = "macro accuracy strictly above every baseline on at least one leaderboard"
    if not baselines:
        return {"applies": False, "rule": rule, "reason": "no baseline was named", "models": {}}
    boards = evidence.group_by("model", "board", maintain_order=True).agg(pl.col("above").all())
    models: dict[str, Any] = {}
    for model, board, above in boards.iter_rows():
        entry = models.setdefault(model, {"passes": False, "boards": {}})
        entry["boards"][board] = above
        entry["passes"] = entry["passes"] or above
    return {"applies": True, "rule": rule, "baselines": list(baselines), "models": models}


def above_all(board: FocusLeaderboard, members: np.ndarray, baselines: Sequence[str]) -> np.ndarray:
    """Whether each member is above every baseline on this leaderboard."""
    macro = board.macro
    others = [board.models.index(name) for name in baselines]
    gaps = np.round(macro[members][:, None] - macro[others][None, :], 12)
    return np.asarray((gaps > 0).all(axis=1))
