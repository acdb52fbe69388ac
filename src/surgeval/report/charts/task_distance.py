"""How alike tasks rank the models: a tree and a map of tasks.

The distance of two tasks is 1 - tau-b of their rankings (0: the same order, 2: reversed), or the footrule. The tree
joins, step by step, the two groups whose farthest members are nearest (complete linkage); the map places tasks by
classical scaling, so that distances on paper come as near to the true ones as a plane allows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy.cluster import hierarchy
from scipy.sparse import csgraph
from scipy.spatial.distance import squareform

from surgeval.report.chart import Chart, altair, drawn, nothing_to_show
from surgeval.report.charts._encode import LABEL
from surgeval.report.charts._ranking import at_row, listed, marks, number, row_names, shown_of, tooltips
from surgeval.report.theme import ACCENT, INK, PALETTE, QUIET, SMALLEST_PX, WIDTH_PX, label_px, row_step_px
from surgeval.report.words import plain, short_names

MAP_TASKS = 50
"""Most tasks on a map."""
MAP_PX = 460
SHARED = "no single winner"
OTHER = "another winner"


class Distances(NamedTuple):
    """Tasks and how far apart they are."""

    tasks: list[str]
    matrix: np.ndarray
    words: str
    left_out: tuple[str, ...]
    """Tasks whose ranking is constant, so that it is like no other."""


def _distances(pairs: pl.DataFrame) -> Distances:
    column, words = (
        ("tau_b", "1 − Kendall's tau-b") if "tau_b" in pairs.columns else ("footrule", "Spearman's footrule")
    )
    rows = pairs.select(pl.col("task_a", "task_b").cast(pl.String), pl.col(column).cast(pl.Float64).fill_nan(None))
    given = rows.drop_nulls(column)
    every = list(dict.fromkeys([*rows["task_a"], *rows["task_b"]]))
    known = {*given["task_a"], *given["task_b"]}
    tasks = [task for task in every if task in known]
    place = {task: at for at, task in enumerate(tasks)}
    matrix = np.zeros((len(tasks), len(tasks)))
    for first, second, value in given.iter_rows():
        far = 1 - value if column == "tau_b" else value
        matrix[place[first], place[second]] = matrix[place[second], place[first]] = max(far, 0.0)
    return Distances(tasks, matrix, words, tuple(task for task in every if task not in known))


def _left_out(distances: Distances) -> str:
    if not distances.left_out:
        return ""
    names = listed([plain(task, limit=28) for task in distances.left_out])
    return f" Left out, because all models are equal there: {names}."


def task_dendrogram(
    pairs: pl.DataFrame,
    *,
    name: str = "task-dendrogram",
    title: str = "Which tasks rank alike",
) -> Chart:
    """The tree of tasks: the further left two of them join, the more alike they rank the models.

    Args:
        pairs: Columns `task_a, task_b` and `tau_b` or `footrule`: `kendall` or `footrule` of a ranking.
        name: Of the chart.
        title: Of the chart.
    """
    distances = _distances(pairs)
    if len(distances.tasks) < 2:
        return nothing_to_show(name, title, "there are no two tasks to compare")
    alt = altair()
    tree = hierarchy.linkage(squareform(distances.matrix, checks=False), method="complete")
    shape = hierarchy.dendrogram(tree, no_plot=True)
    order = [distances.tasks[leaf] for leaf in shape["leaves"]]
    labels = list(short_names(order).values())
    rows, step = len(order), row_step_px(len(order))
    top = float(tree[:, 2].max()) or 1.0
    scale = alt.Scale(domain=[-0.01 * top, 1.05 * top], nice=False)
    lines = marks(_branches(shape)).mark_rule(color=ACCENT, strokeWidth=1.6)
    x = alt.X("x:Q", title=f"distance of rankings ({distances.words})", scale=scale)
    picture = alt.layer(
        lines.encode(
            x=x,
            x2=alt.X2("x2:Q"),
            y=at_row("y", rows),
            y2=alt.Y2("y2:Q"),
            tooltip=[alt.Tooltip("distance:Q", format=".3f")],
        ),
        row_names(labels, -0.01 * top, scale, step_px=step),
    ).properties(width=WIDTH_PX, height=rows * step)
    return drawn(
        name, picture, title=title, data=pairs,
        alt=f"Tree of {rows} tasks by the distance of their rankings. Most alike: {_joined(distances, tree)}. All are"
        f" joined at {number(float(tree[:, 2].max()))}.",
        caption=f"Tasks are joined at the largest distance ({distances.words}) between their members (complete"
        f" linkage): 0 means the same order of models. n = {rows} tasks.{_left_out(distances)}",
    )  # fmt: skip


def _branches(shape: dict[str, Any]) -> pl.DataFrame:
    """Three straight lines for every join."""
    rows = []
    for heights, places in zip(shape["dcoord"], shape["icoord"], strict=True):
        at = [(place - 5) / 10 for place in places]
        for one, two in ((0, 1), (1, 2), (2, 3)):
            rows.append((heights[one], heights[two], at[one], at[two], heights[1]))
    return pl.DataFrame(rows, schema=["x", "x2", "y", "y2", "distance"], orient="row")


def _joined(distances: Distances, tree: np.ndarray) -> str:
    pairs = [(int(a), int(b), far) for a, b, far, _ in tree if max(a, b) < len(distances.tasks)]
    names = list(short_names(distances.tasks).values())
    return listed([f"{names[a]} and {names[b]} ({number(far)})" for a, b, far in pairs])


def task_network(
    pairs: pl.DataFrame,
    ranks: pl.DataFrame | None = None,
    *,
    name: str = "task-network",
    title: str = "Map of tasks",
) -> Chart:
    """The map of tasks: near ones rank the models alike; colour and shape say who wins.

    Args:
        pairs: Columns `task_a, task_b` and `tau_b` or `footrule`: `kendall` or `footrule` of a ranking.
        ranks: Columns `task, model, rank`; a task with a single model of rank 1 is coloured by it.
        name: Of the chart.
        title: Of the chart.
    """
    distances = _distances(pairs)
    total = len(distances.tasks)
    if total < 2:
        return nothing_to_show(name, title, "there are no two tasks to compare")
    tasks = distances.tasks[:MAP_TASKS]
    matrix = distances.matrix[: len(tasks), : len(tasks)]
    winners = _winners(ranks, tasks)
    nodes = _nodes(tasks, matrix, winners)
    picture = altair().hconcat(_map(nodes, _edges(nodes, matrix)), _key(nodes), spacing=16)
    phrases = [f"{label}: {count}" for label, count in nodes["winner"].value_counts(sort=True).iter_rows()]
    nearest = np.where(np.eye(len(tasks), dtype=bool), np.inf, matrix)
    first, second = np.unravel_index(np.argmin(nearest), nearest.shape)
    alike = f"{nodes[LABEL][int(first)]} and {nodes[LABEL][int(second)]} ({number(float(nearest.min()))})"
    return drawn(
        name, picture, title=title, data=pairs,
        alt=f"Map of {len(tasks)} tasks by the distance of their rankings. Most alike: {alike}. Tasks won:"
        f" {listed(phrases, 5)}.",
        caption=f"Numbers: tasks; the nearer, the more alike they rank the models (distance: {distances.words}). Lines:"
        f" the shortest tree that joins all. Colour and shape: the only model of rank 1; grey circles: {SHARED}. n ="
        f" {total} tasks.{_left_out(distances)}{shown_of(len(tasks), total, 'tasks')}",
    )  # fmt: skip


def _winners(ranks: pl.DataFrame | None, tasks: list[str]) -> dict[str, str]:
    """The only model of rank 1 on each task that has one."""
    if ranks is None or ranks.is_empty():
        return {}
    first = ranks.filter((pl.col("rank") == 1) & pl.col("task").cast(pl.String).is_in(tasks))
    alone = first.group_by(pl.col("task").cast(pl.String)).agg(pl.col("model").first(), n=pl.len())
    return {task: str(model) for task, model, n in alone.iter_rows() if n == 1}


def _nodes(tasks: list[str], matrix: np.ndarray, winners: dict[str, str]) -> pl.DataFrame:
    often = dict.fromkeys(sorted(winners.values(), key=list(winners.values()).count, reverse=True))
    named = short_names(list(often)[: len(PALETTE) - 1])
    at = _apart(_scaled(matrix))
    labels = short_names(tasks, limit=34)
    return pl.DataFrame(
        {
            "number": [str(number + 1) for number in range(len(tasks))],
            "task": tasks,
            LABEL: [labels[task] for task in tasks],
            "winner": [named.get(winners[task], OTHER) if task in winners else SHARED for task in tasks],
            "x": at[:, 0],
            "y": at[:, 1],
        }
    )


def _scaled(matrix: np.ndarray) -> np.ndarray:
    """Places in the plane by classical scaling, stretched to the map; the same for the same distances."""
    centre = np.eye(len(matrix)) - 1 / len(matrix)
    value, vector = np.linalg.eigh(-0.5 * centre @ matrix**2 @ centre)
    best = np.argsort(value)[::-1][:2]
    at = np.zeros((len(matrix), 2))
    for axis, index in enumerate(best):
        column = vector[:, index] * np.sqrt(max(value[index], 0.0))
        at[:, axis] = column * np.sign(column[np.argmax(np.abs(column))] or 1.0)
    reach = np.abs(at).max() or 1.0
    return at / reach * (MAP_PX / 2 - 20) + MAP_PX / 2


def _apart(at: np.ndarray, gap_px: float = 28.0) -> np.ndarray:
    """The places moved just so far that no two circles cover each other."""
    turn = np.arange(len(at)) * 2.399963
    at = at + 1e-3 * np.column_stack([np.cos(turn), np.sin(turn)])
    for _ in range(600):
        apart = at[:, None, :] - at[None, :, :]
        far = np.hypot(apart[..., 0], apart[..., 1]) + np.eye(len(at)) * 1e9
        push = np.maximum(gap_px - far, 0.0) / 6
        if push.max() < 0.05:
            break
        at = at + (apart / far[..., None] * push[..., None]).sum(axis=1)
        at = np.clip(at, 12, MAP_PX - 12)
    return np.asarray(at)


def _edges(nodes: pl.DataFrame, matrix: np.ndarray) -> pl.DataFrame:
    tree = csgraph.minimum_spanning_tree(matrix + 1e-6).tocoo()  # a distance of 0 would mean that there is no line
    x, y = nodes["x"].to_list(), nodes["y"].to_list()
    rows = [(x[a], y[a], x[b], y[b], float(matrix[a, b])) for a, b in zip(tree.row, tree.col, strict=True)]
    return pl.DataFrame(rows, schema=["x", "y", "x2", "y2", "distance"], orient="row")


def _looks(nodes: pl.DataFrame) -> tuple[Any, Any]:
    alt = altair()
    winners = [name for name in nodes["winner"].unique(maintain_order=True) if name not in (SHARED, OTHER)]
    order = [*winners, *(name for name in (OTHER, SHARED) if name in set(nodes["winner"]))]
    colours = [*_DARK[: len(winners)], *([INK] if OTHER in order else []), *([QUIET] if SHARED in order else [])]
    shapes = [
        *_FULL[: len(winners)],
        *(["diamond"] if OTHER in order else []),
        *(["circle"] if SHARED in order else []),
    ]
    legend = alt.Legend(title="winner", orient="top", columns=3, symbolSize=90, labelLimit=180)
    colour = alt.Color("winner:N", scale=alt.Scale(domain=order, range=colours), legend=legend)
    return colour, alt.Shape("winner:N", scale=alt.Scale(domain=order, range=shapes), legend=legend)


_DARK = ("#0072b2", "#d55e00", "#00795a", "#9c4f7c", "#8a5f00", "#1f6f9c", "#5e3c99")
"""Dark enough for a white number."""
_FULL = ("square", "diamond", "circle", "square", "diamond", "circle", "square")


def _map(nodes: pl.DataFrame, edges: pl.DataFrame) -> Any:
    alt = altair()
    left, right, low, high = (float(end) for column in ("x", "y") for end in _ends(nodes[column]))
    x = alt.X("x:Q", scale=alt.Scale(domain=[left, right], nice=False), axis=None)
    y = alt.Y("y:Q", scale=alt.Scale(domain=[low, high], nice=False), axis=None)
    colour, shape = _looks(nodes)
    lines = marks(edges).mark_rule(color="#bbbbbb", strokeWidth=1.5)
    tips = tooltips((("task", "N", ""), ("winner", "N", "")), nodes.columns)
    circles = marks(nodes).mark_point(filled=True, size=370, opacity=1)
    words = marks(nodes).mark_text(fontSize=SMALLEST_PX, fontWeight="bold", color="white", baseline="middle")
    return alt.layer(
        lines.encode(x=x, y=y, x2=alt.X2("x2:Q"), y2=alt.Y2("y2:Q"), tooltip=[alt.Tooltip("distance:Q", format=".3f")]),
        circles.encode(x=x, y=y, color=colour, shape=shape, tooltip=tips),
        words.encode(x=x, y=y, text=alt.Text("number:N"), tooltip=tips),
    ).properties(width=right - left, height=high - low)


def _ends(places: pl.Series) -> tuple[float, float]:
    """Where the map begins and ends, in pixels: at the outermost circles."""
    given = places.to_list()
    return min(given) - 16, max(given) + 16


def _key(nodes: pl.DataFrame) -> Any:
    """Which number is which task."""
    alt = altair()
    step = max(9, min(18, MAP_PX // nodes.height))
    won = pl.when(pl.col("winner") == SHARED).then(pl.lit("")).otherwise(": " + pl.col("winner"))
    rows = nodes.select(
        words=pl.col("number") + "  " + pl.col(LABEL) + won, at=pl.Series(range(nodes.height)), none=pl.lit(0)
    )
    text = marks(rows).mark_text(align="left", limit=320, fontSize=label_px(step), baseline="middle", color=INK)
    x = alt.X("none:Q", scale=alt.Scale(domain=[0, 1]), axis=None)
    return text.encode(x=x, y=at_row("at", nodes.height), text=alt.Text("words:N")).properties(
        width=320, height=nodes.height * step
    )
