"""Where every model stands on every leaderboard: its value, its final rank, and the ranks that it could have.

A model may be first where no other is told apart from it, all models compared at once (`summary.csv` of a ranking); the
ranges of ranks come from the same comparisons.
"""

from __future__ import annotations

from typing import NamedTuple

from surgvalid.report.inputs import ReportInputs, StoredResult, competitions
from surgvalid.report.section import LeaderboardCell, LeaderboardRow, Standings
from surgvalid.report.verdict.leads import Measure
from surgvalid.report.wording import competitors, leaderboards_of, on_leaderboard, perhaps_best
from surgvalid.report.words import count_of, name_of, plain

_TRACKS = {"frame": "Single frame", "segment": "Video segment", "procedure": "Whole procedure"}
_CAPTION = (
    "Dot: {what}, on one scale for all; bar: its 95 % interval over {unit}s; tick: the best of those below. Shaded, "
    "dot filled: may be first, all models compared at once. In brackets: the ranks that it may have by the mean."
)


class _Column(NamedTuple):
    label: str
    questions: int
    cells: dict[str, LeaderboardCell]


def standings(inputs: ReportInputs, measure: Measure, unit: str) -> Standings | None:
    """The table of all leaderboards, who may be first on most of them on top; None where nobody competes.

    Args:
        inputs: Of the report.
        measure: What is scored.
        unit: What the independent unit is called.
    """
    columns = [
        _column(one.label, result, board)
        for one in competitions(inputs)
        for result in one.inputs.of("rank")
        for board in leaderboards_of(result)
        if competitors(result, board)
    ]
    if not columns:
        return None
    models = dict.fromkeys(model for column in columns for model in column.cells)
    rows = [(model, tuple(column.cells.get(model, LeaderboardCell()) for column in columns)) for model in models]
    rows.sort(key=lambda row: _order(row[1]))
    ranked = [row for row in rows if any(cell.rank is not None for cell in row[1])]
    beside = [row for row in rows if row not in ranked]
    what = "share answered rightly, each kind of question counted alike" if measure.is_accuracy else "mean value"
    return Standings(
        "standings",
        "Where every model stands",
        _CAPTION.format(what=what, unit=unit),
        tuple((column.label, count_of(column.questions, "question") if column.questions else "") for column in columns),
        tuple(LeaderboardRow(name_of(model), _note(cells), cells) for model, cells in ranked),
        tuple(LeaderboardRow(name_of(model), "", cells) for model, cells in beside),
        measure.is_accuracy,
    )


def _order(cells: tuple[LeaderboardCell, ...]) -> tuple[int, float]:
    ranks = [cell.rank for cell in cells if cell.rank is not None]
    return -sum(cell.may_be_first for cell in cells), sum(ranks) / len(ranks) if ranks else 0.0


def _note(cells: tuple[LeaderboardCell, ...]) -> str:
    entered = [cell for cell in cells if cell.rank is not None]
    if not any(cell.rank_low is not None for cell in entered):
        return ""
    return f"may be first on {sum(cell.may_be_first for cell in cells)} of {len(cells)}"


def _column(track: str, result: StoredResult, board: str) -> _Column:
    places, summary = (on_leaderboard(result, table, board) for table in ("places", "summary"))
    rivals, inside = competitors(result, board), perhaps_best(summary) or []
    known = {row["model"]: row for row in summary.iter_rows(named=True)} if "model" in summary.columns else {}
    cells = {}
    for row in places.iter_rows(named=True):
        model = row["model"]
        cells[model] = LeaderboardCell(row["macro_accuracy"])
        if model in rivals:
            more = known.get(model, {})
            low, high, rank_low, rank_high = map(more.get, ("macro_low", "macro_high", "rank_low", "rank_high"))
            cells[model] = LeaderboardCell(
                row["macro_accuracy"], low, high, row["place"], rank_low, rank_high, model in inside
            )
    heading = f"{_TRACKS.get(track, plain(track, limit=30))}: {plain(board, limit=30)}" if track else plain(board)
    return _Column(heading, _questions(result, board), cells)


def _questions(result: StoredResult, board: str) -> int:
    buckets = on_leaderboard(result, "buckets", board)
    if "questions" not in buckets.columns:
        return 0
    return int(buckets.unique(["capability", "ood"]).get_column("questions").sum() or 0)
