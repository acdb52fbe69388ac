"""Who leads each board, by what, and how firmly: facts that the summary says and lists."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from surgeval.report.inputs import StoredResult
from surgeval.report.sections._wording import boards_of, competitors, names_of, on_board, percent, perhaps_best

MOST_NAMES = 6
"""Names that a cell of the table lists."""


class Leader(NamedTuple):
    """The first place of one board."""

    board: str
    models: tuple[str, ...]
    """Several where the first place is shared."""
    accuracy: float | None
    low: float | None
    high: float | None
    first_share: float | None
    """Share of resamples in which the leader is first; None where the place is shared."""
    tied: int
    """How many models have the leader's Copeland score; 1 where it leads without a tie-break."""
    also: tuple[str, ...] | None
    """Other models that may be the best by macro accuracy over all buckets; None where it is not known."""
    beaten: bool = False
    """Whether the leader itself is told apart from the best by macro accuracy."""

    @property
    def sentence(self) -> str:
        """The leader in words."""
        verb = "leads" if len(self.models) == 1 else "lead together"
        text = f"On the {self.board} board {names_of(self.models)} {verb}"
        if len(self.models) == 1 and self.tied > 1:
            text += f" by tie-break, {self.tied} models having the same Copeland score"
        if self.first_share is not None:
            text += f"; where whole videos are drawn again it is first in {percent(self.first_share)} of the draws"
        if self.also is None:
            return text + "."
        if self.beaten:
            return f"{text}; by macro accuracy over all buckets {names_of(self.also)} is significantly better."
        others = f"{len(self.also)} more cannot" if self.also else "all others can"
        return f"{text}; by macro accuracy over all buckets {others} be told apart from the best."


def leaders(result: StoredResult) -> list[Leader]:
    """The leader of every board of a ranking on which somebody competes."""
    return [_leader(result, board) for board in boards_of(result) if competitors(result, board)]


def leader_table(rows: list[tuple[str, Leader]]) -> pl.DataFrame:
    """The leaders as a table, one row per competition and board."""
    listed = [
        (
            label, leader.board, names_of(leader.models, most=MOST_NAMES), leader.accuracy, leader.low, leader.high,
            f"tie-break of {leader.tied}" if leader.tied > 1 else "Copeland", leader.first_share,
            "" if leader.also is None else names_of(leader.also, most=MOST_NAMES) if leader.also else "nobody",
        )
        for label, leader in rows
    ]  # fmt: skip
    texts = dict.fromkeys(("competition", "board", "leader"), pl.String)
    numbers = dict.fromkeys(("macro_accuracy", "macro_low", "macro_high"), pl.Float64)
    rest = {"decided_by": pl.String, "p_first": pl.Float64, "not_told_apart": pl.String}
    return pl.DataFrame(listed, schema={**texts, **numbers, **rest}, orient="row")


def _leader(result: StoredResult, board: str) -> Leader:
    places = on_board(result, "places", board).filter(pl.col("model").is_in(competitors(result, board)))
    first = places.filter(pl.col("place") == places["place"].min())
    models = tuple(first["model"].to_list())
    winner, alone = first.row(0, named=True), len(models) == 1
    tied = places.filter(pl.col("copeland") == winner["copeland"]).height if winner["win_rate"] is not None else 1
    summary, stability = on_board(result, "summary", board), on_board(result, "stability", board)
    low, high = (_of(summary, models[0], name) if alone else None for name in ("macro_low", "macro_high"))
    inside = perhaps_best(summary)
    also = None if inside is None else tuple(model for model in inside if model not in models)
    share = _of(stability, models[0], "p_first") if alone else None
    beaten = inside is not None and bool(inside) and not set(models) & set(inside)
    accuracy = winner["macro_accuracy"] if alone else None
    return Leader(board, models, accuracy, low, high, share, max(tied, 1), also, beaten)


def _of(frame: pl.DataFrame, model: str, column: str) -> float | None:
    if column not in frame.columns:
        return None
    values = frame.filter(pl.col("model") == model)[column].to_list()
    return values[0] if values else None
