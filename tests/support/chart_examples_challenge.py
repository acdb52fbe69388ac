"""Small tables, in the columns that `surgvalid rank` writes, for every chart of a challenge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import polars as pl

from surgvalid.report.chart import Chart
from surgvalid.report.charts import CHARTS

BOARDS = ("technical", "clinical")
BUCKETS = [(group, ood) for group in ("object_recognition", "aggregation") for ood in (False, True)]
LETTERS = ("a", "ab", "b")


def table(rows: Sequence[tuple[object, ...]], **schema: type[pl.DataType]) -> pl.DataFrame:
    """The rows as a typed table, also when there are none."""
    return pl.DataFrame(rows, schema=schema, orient="row")


def accuracy(model: int, bucket: int, models: int) -> float:
    """Falls from the first to the last model; buckets differ a little."""
    return 0.9 - 0.6 * model / max(1, models - 1) + 0.02 * ((model * 7 + bucket * 3) % 5)


def places(names: Sequence[str]) -> pl.DataFrame:
    """Everyone in the given order; the second of three or more is a baseline."""
    last = len(names) - 1
    rows = [
        (board, name, at + 1, last - 2 * at, accuracy(at, 0, len(names)), at == 1 and last > 1)
        for board in BOARDS
        for at, name in enumerate(names)
    ]
    return table(
        rows, board=pl.String, model=pl.String, place=pl.Int64, copeland=pl.Int64, macro_accuracy=pl.Float64,
        baseline=pl.Boolean,
    )  # fmt: skip


def stability(names: Sequence[str]) -> pl.DataFrame:
    """Final ranks one up or down."""
    rows = [
        (board, name, max(1.0, at), min(float(len(names)), at + 2.0))
        for board in BOARDS
        for at, name in enumerate(names)
        if at != 1 or len(names) < 3
    ]
    return table(rows, board=pl.String, model=pl.String, place_low=pl.Float64, place_high=pl.Float64)


def buckets(names: Sequence[str]) -> pl.DataFrame:
    """Four buckets per leaderboard."""
    rows = [
        (board, group, ood, name, accuracy(at, b, len(names)), 100 + b, 20 + b, 1 + at // 2, LETTERS[min(at, 2)])
        for board in BOARDS
        for b, (group, ood) in enumerate(BUCKETS)
        for at, name in enumerate(names)
    ]
    return table(
        rows, board=pl.String, capability=pl.String, ood=pl.Boolean, model=pl.String, accuracy=pl.Float64,
        questions=pl.Int64, videos=pl.Int64, rank=pl.Int64, letters=pl.String,
    )  # fmt: skip


def pairs(names: Sequence[str]) -> pl.DataFrame:
    """Every pair in every bucket; a difference over 0.1 is significant."""
    rows = []
    for board in BOARDS:
        for b, (group, ood) in enumerate(BUCKETS):
            for i, j in combinations(range(len(names)), 2):
                gap = accuracy(i, b, len(names)) - accuracy(j, b, len(names))
                rows.append((board, group, ood, names[i], names[j], gap, gap - 0.1, gap + 0.1, abs(gap) > 0.1))
    return table(
        rows, board=pl.String, capability=pl.String, ood=pl.Boolean, model_a=pl.String, model_b=pl.String,
        difference=pl.Float64, low=pl.Float64, high=pl.Float64, significant=pl.Boolean,
    )  # fmt: skip


def summary(names: Sequence[str]) -> pl.DataFrame:
    """Letters over all buckets."""
    rows = [(board, name, LETTERS[min(at, 2)]) for board in BOARDS for at, name in enumerate(names)]
    return table(rows, board=pl.String, model=pl.String, letters=pl.String)


Example = Callable[[Sequence[str]], Chart]
EXAMPLES_CHALLENGE: dict[str, Example] = {
    "board": lambda names: CHARTS["board"](places(names), stability(names), buckets=buckets(names)),
    "significance_map": lambda n: CHARTS["significance_map"](pairs(n), summary(n), places(n)),
}
"""By the chart's name, a function from names (of models, or of tasks) to the chart."""
