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


def leaders(part: StoredResult) -> list[Leader]:
    """The leader of every board of a ranking on which somebody competes."""
    return [_leader(part, board) for board in boards_of(part) if competitors(part, board)]


def leader_table(rows: list[tuple[str, Leader]]) -> pl.DataFrame:
    """The leaders as a table, one row per competition and board."""
    listed = [
        (
            label, found.board, names_of(found.models, most=MOST_NAMES), found.accuracy, found.low, found.high,
            f"tie-break of {found.tied}" if found.tied > 1 else "Copeland", found.first_share,
            "" if found.also is None else names_of(found.also, most=MOST_NAMES) if found.also else "nobody",
        )
        for label, found in rows
    ]  # fmt: skip
    texts = dict.fromkeys(("competition", "board", "leader"), pl.String)
    numbers = dict.fromkeys(("macro_accuracy", "macro_low", "macro_high"), pl.Float64)
    rest = {"decided_by": pl.String, "p_first": pl.Float64, "not_told_apart": pl.String}
    return pl.DataFrame(listed, schema={**texts, **numbers, **rest}, orient="row")


def _leader(part: StoredResult, board: str) -> Leader:
    places = on_board(part, "places", board).filter(pl.col("model").is_in(competitors(part, board)))
    first = places.filter(pl.col("place") == places["place"].min())
    models = tuple(first["model"].to_list())
    own, alone = first.row(0, named=True), len(models) == 1
    tied = places.filter(pl.col("copeland") == own["copeland"]).height if own["win_rate"] is not None else 1
    summary, stability = on_board(part, "summary", board), on_board(part, "stability", board)
    low, high = (_of(summary, models[0], name) if alone else None for name in ("macro_low", "macro_high"))
    inside = perhaps_best(summary)
    also = None if inside is None else tuple(model for model in inside if model not in models)
    share = _of(stability, models[0], "p_first") if alone else None
    beaten = inside is not None and bool(inside) and not set(models) & set(inside)
    accuracy = own["macro_accuracy"] if alone else None
    return Leader(board, models, accuracy, low, high, share, max(tied, 1), also, beaten)


def _of(frame: pl.DataFrame, model: str, column: str) -> float | None:
    if column not in frame.columns:
        return None
    found = frame.filter(pl.col("model") == model)[column].to_list()
    return found[0] if found else None
