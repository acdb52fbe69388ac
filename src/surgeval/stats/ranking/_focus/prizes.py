"""Prizes of one board: 50, 30 and 20 % for the first three, ties sharing what their places earn together.

Only models above every baseline on the board and not excluded are paid; places are counted among them.
Amounts are whole cents, rounded down, and the remainder goes to nobody. A place without a model is not
paid out.
Source: seed document of the challenge, award policy; the treatment of ties and rounding is ours.
"""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction

import numpy as np
import polars as pl

from surgeval.results.tables import ranking
from surgeval.schema.findings import Finding
from surgeval.schema.statistic_rules import remark

SHARES_PERCENT = (50, 30, 20)


def prizes(
    board: str, names: list[str], place: np.ndarray, above: np.ndarray, unpaid: Collection[str], pool: float
) -> tuple[pl.DataFrame, list[Finding]]:
    """The award of each model, with its reason, and what stayed unpaid.

    Args:
        board: The name of the board.
        names: The competitors.
        place: Their final places.
        above: Whether each is above every baseline on this board.
        unpaid: Models that may not be paid (no sufficient description, not eligible).
        pool: Money of this board.
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
    notes = [remark("pool-left", text, subject=f"{board} board")] if left else []
    return ranking.PRIZES.frame(rows), notes


def _true(flags: list[bool]) -> list[int]:
    return [i for i, flag in enumerate(flags) if flag]


def _share(place: int, tied: int, cents: list[int]) -> int:
    return sum(cents[place - 1 : place - 1 + tied]) // tied


def _reason(name: str, unpaid: Collection[str], award: int | None, awards: list[int]) -> str:
    if award is None:
        return "excluded from prizes" if name in unpaid else "not above every baseline on this board"
    if award > len(SHARES_PERCENT):
        return "beyond the third award place"
    tied = awards.count(award)
    places = f"place {award}" if tied == 1 else f"places {award} to {award + tied - 1} shared by {tied}"
    return f"award {places}"
