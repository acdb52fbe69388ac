"""Small tables, in the columns that `surgeval rank` writes, for every chart of a challenge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, permutations

import polars as pl

from surgeval.report.chart import Chart
from surgeval.report.charts import CHARTS

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
    """Places one up or down."""
    rows = [
        (board, name, max(1.0, at), min(float(len(names)), at + 2.0))
        for board in BOARDS
        for at, name in enumerate(names)
        if at != 1 or len(names) < 3
    ]
    return table(rows, board=pl.String, model=pl.String, place_low=pl.Float64, place_high=pl.Float64)


def place_shares(names: Sequence[str]) -> pl.DataFrame:
    """Each model mostly at its place, sometimes one further."""
    rows = []
    for board in BOARDS:
        for at, name in enumerate(names):
            rows += [(board, name, at + 1, 0.8), (board, name, min(at + 2, len(names) + 1), 0.2)]
    return table(rows, board=pl.String, model=pl.String, place=pl.Int64, share=pl.Float64)


def buckets(names: Sequence[str]) -> pl.DataFrame:
    """Four buckets per board."""
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


def dominance(names: Sequence[str]) -> pl.DataFrame:
    """Everyone dominates those further back, except the next."""
    rows = [
        (board, names[i], names[j], 3.0 if j > i + 1 else 0.0, 3.0 if i > j + 1 else 0.0, j > i + 1)
        for board in BOARDS
        for i, j in permutations(range(len(names)), 2)
    ]
    return table(
        rows, board=pl.String, model_a=pl.String, model_b=pl.String, buckets_a_ahead=pl.Float64,
        buckets_b_ahead=pl.Float64, a_dominates_b=pl.Boolean,
    )  # fmt: skip


def sensitivity(names: Sequence[str]) -> pl.DataFrame:
    """Three rules: as given, pairs sharing a place, and the reverse."""
    rows = [
        (board, name, at + 1, at - at % 2 + 1, len(names) - at) for board in BOARDS for at, name in enumerate(names)
    ]
    return table(rows, board=pl.String, model=pl.String, pairwise=pl.Int64, wins=pl.Int64, accuracy=pl.Int64)


def scores(names: Sequence[str]) -> pl.DataFrame:
    """Thirty cases of ten videos per model and task."""
    rows = [
        (task, name, f"c{case}", f"v{case // 3}", ((at * 13 + case * 7) % 100) / 100)
        for task in ("grasping", "cutting")
        for at, name in enumerate(names)
        for case in range(30)
    ]
    return table(rows, task=pl.String, model=pl.String, case=pl.String, video=pl.String, value=pl.Float64)


def taus(names: Sequence[str]) -> pl.DataFrame:
    """Tasks with a firm, a loose and sometimes no ranking."""
    rows = [(name, tau, share) for name in names for tau, share in ((-0.2, 0.1), (0.6, 0.3), (1.0, 0.5), (None, 0.1))]
    return table(rows, task=pl.String, tau_b=pl.Float64, share=pl.Float64)


def kendall(names: Sequence[str]) -> pl.DataFrame:
    """Tasks in three groups that rank alike."""
    rows = [
        (names[i], names[j], 0.9 - 0.01 * (abs(i - j) % 7) if i % 3 == j % 3 else -0.2)
        for i, j in combinations(range(len(names)), 2)
    ]
    return table(rows, task_a=pl.String, task_b=pl.String, tau_b=pl.Float64)


def winners(names: Sequence[str]) -> pl.DataFrame:
    """Each task won by a model of its own name; two share the first."""
    rows = [(name, f"{name} winner", 1) for name in names] + [(name, "second", 1) for name in names[:1]]
    return table(rows, task=pl.String, model=pl.String, rank=pl.Int64)


Example = Callable[[Sequence[str]], Chart]
EXAMPLES_CHALLENGE: dict[str, Example] = {
    "board": lambda names: CHARTS["board"](places(names), stability(names), buckets=buckets(names)),
    "place_frequencies": lambda n: CHARTS["place_frequencies"](place_shares(n), stability(n), places(n)),
    "place_shares": lambda names: CHARTS["place_shares"](place_shares(names), places(names)),
    "places_by_rule": lambda names: CHARTS["places_by_rule"](sensitivity(names)),
    "podium": lambda names: CHARTS["podium"](buckets(names), places(names)),
    "ranking_heat_map": lambda names: CHARTS["ranking_heat_map"](buckets(names), places(names)),
    "significance_map": lambda n: CHARTS["significance_map"](pairs(n), summary(n), places(n)),
    "dominance_matrix": lambda names: CHARTS["dominance_matrix"](dominance(names), places(names)),
    "bucket_matrix": lambda names: CHARTS["bucket_matrix"](buckets(names), places(names)),
    "pair_differences": lambda names: CHARTS["pair_differences"](pairs(names)),
    "task_boxes": lambda names: CHARTS["task_boxes"](scores(names)),
    "tau_violin": lambda names: CHARTS["tau_violin"](taus(names)),
    "task_dendrogram": lambda names: CHARTS["task_dendrogram"](kendall(names)),
    "task_network": lambda names: CHARTS["task_network"](kendall(names), winners(names)),
}
"""By the chart's name, a function from names (of models, or of tasks) to the chart."""
