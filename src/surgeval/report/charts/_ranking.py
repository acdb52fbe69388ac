"""What the charts of rankings share: one board or task of a table, the order of models, cells with readable text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import polars as pl

from surgeval.errors import UnknownName
from surgeval.report.chart import altair
from surgeval.report.charts._encode import LABEL, chart_data
from surgeval.report.theme import INK, label_px, row_step_px
from surgeval.report.words import column_words, plain, short_names

BUCKET = "bucket"
"""The column that `with_bucket` adds."""
CONSENSUS = "(consensus)"
"""What a ranking calls the consensus over tasks."""
NAMES = ("board", "task", "capability", "model", "model_a", "model_b")
"""The columns that hold names."""


class Part(NamedTuple):
    """One board or task of a table."""

    frame: pl.DataFrame
    name: str | None
    """None where the table is not divided."""
    kind: str
    """`board`, `task` or empty."""

    @property
    def suffix(self) -> str:
        """For titles: which part this is.

        Example:
            >>> Part(pl.DataFrame(), "technical", "board").suffix
            ', technical board'
        """
        if self.name is None:
            return ""
        if self.name == CONSENSUS:
            return ", consensus over tasks"
        words = plain(self.name, limit=40)
        return f", {words} board" if self.kind == "board" else f", task {words}"


def named(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with all names as text, also where a file of numbers made numbers of them."""
    names = [column for column in NAMES if column in frame.columns]
    return frame.with_columns(pl.col(names).cast(pl.String).fill_null("(none)"))


def part_of(frame: pl.DataFrame, name: str | None = None) -> Part:
    """The rows of the named board or task, or of the first one.

    Raises:
        UnknownName: No such board or task.
    """
    kind = next((column for column in ("board", "task") if column in frame.columns), "")
    if not kind or frame.is_empty():
        return Part(named(frame), None, "")
    frame = named(frame)
    known = frame[kind].unique(maintain_order=True).to_list()
    if name is not None and name not in known:
        raise UnknownName(kind, name, known)
    chosen = known[0] if name is None else name
    return Part(frame.filter(pl.col(kind) == chosen), chosen, kind)


def same_part(frame: pl.DataFrame | None, chosen: Part) -> pl.DataFrame | None:
    """The rows of another table that belong to the same board or task; None where there are none."""
    if frame is None:
        return None
    rows = named(frame)
    if chosen.kind in rows.columns:
        rows = rows.filter(pl.col(chosen.kind) == chosen.name)
    return None if rows.is_empty() else rows


def with_bucket(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with a column `bucket`: capability and distribution, or the task.

    Example:
        >>> with_bucket(pl.DataFrame({"capability": ["object_recognition"], "ood": [True]}))["bucket"].to_list()
        ['object recognition, OOD']
    """
    if "capability" not in frame.columns:
        task = pl.col("task") if "task" in frame.columns else pl.lit("overall")
        return frame.with_columns(task.alias(BUCKET))
    side = pl.when(pl.col("ood").cast(pl.Boolean)).then(pl.lit("OOD")).otherwise(pl.lit("ID"))
    words = pl.col("capability").str.replace_all("_", " ", literal=True)
    return frame.with_columns((words + ", " + side).alias(BUCKET))


def ordered_models(models: Iterable[str], places: pl.DataFrame | None) -> list[str]:
    """The models in the order of the table of places, then those that it does not know, as they come."""
    given = list(dict.fromkeys(models))
    if places is None or places.is_empty():
        return given
    column = "place" if "place" in places.columns else "rank"
    ranked = places.sort(column, maintain_order=True)["model"]
    return [model for model in dict.fromkeys([*ranked, *given]) if model in set(given)]


def model_labels(models: Iterable[str], places: pl.DataFrame | None) -> dict[str, str]:
    """A short label for every model; baselines, where the table of places knows them, are called so."""
    labels = short_names(models)
    if places is None or "baseline" not in places.columns:
        return labels
    outside = set(places.filter("baseline")["model"])
    return {model: f"{label}, baseline" if model in outside else label for model, label in labels.items()}


def shown_of(shown: int, total: int, what: str = "models") -> str:
    """The sentence that says that only some rows are shown; empty where all are.

    Example:
        >>> shown_of(10, 100)
        ' Shown: the first 10 of 100 models; the saved numbers have all.'
    """
    return "" if shown >= total else f" Shown: the first {shown} of {total} {what}; the saved numbers have all."


def listed(items: Sequence[str], most: int = 3) -> str:
    """The first few items in words.

    Example:
        >>> listed(["a", "b", "c", "d"], 2)
        'a; b; and 2 more'
    """
    more = len(items) - most
    return "; ".join([*items[:most], *([f"and {more} more"] if more > 0 else [])])


def number(value: float | None, digits: int = 3) -> str:
    """The value as printed in words."""
    return "not known" if value is None or value != value else f"{value:.{digits}f}"


def bucket_evidence(buckets: pl.DataFrame | None) -> str:
    """How many questions and videos stand behind a board, for captions; empty where that is not known."""
    if buckets is None or buckets.is_empty() or not {"questions", "videos"} <= set(buckets.columns):
        return ""
    each = with_bucket(buckets).unique(BUCKET)
    few, many = min(each["videos"].to_list()), max(each["videos"].to_list())
    videos = f"{few}" if few == many else f"{few} to {many}"
    return f" n = {each['questions'].sum():,} questions in {each.height} buckets of {videos} videos."


def dark_ink(light: pl.Expr) -> pl.Expr:
    """The colour of text on a cell: dark where the cell is light."""
    return pl.when(light).then(pl.lit(INK)).otherwise(pl.lit("#ffffff"))


def own_colour(field: str) -> Any:
    """The colour that stands in the data."""
    return altair().Color(f"{field}:N", scale=None, legend=None)


def in_rows(order: Sequence[str], *, field: str = LABEL, labels: bool = True, limit_px: int = 260) -> Any:
    """The vertical axis with one row per label, in that order also where layers have different rows."""
    alt = altair()
    size = label_px(row_step_px(len(order)))
    axis = alt.Axis(labelFontSize=size, labelOverlap=False, ticks=False, domain=False, labelLimit=limit_px)
    scale = alt.Scale(domain=list(order))
    return alt.Y(f"{field}:N", sort=list(order), scale=scale, title=None, axis=axis if labels else None)


def marks(frame: pl.DataFrame) -> Any:
    """A layer that still lacks its mark; sizes belong to the picture that it becomes part of."""
    return altair().Chart(chart_data(frame))


def tooltips(columns: Iterable[tuple[str, str, str]], known: Iterable[str]) -> list[Any]:
    """Tooltips of those columns (name, kind, number format) that the table has."""
    alt = altair()
    heads = ((column, kind, form, column_words(column)) for column, kind, form in columns if column in set(known))
    return [alt.Tooltip(f"{column}:{kind}", format=form, title=head) for column, kind, form, head in heads]


def at_row(field: str, rows: int) -> Any:
    """The vertical position in rows counted from 0 at the top, for marks that stand between or across rows."""
    alt = altair()
    return alt.Y(f"{field}:Q", scale=alt.Scale(domain=[rows - 0.5, -0.5], nice=False), axis=None)


def row_names(labels: Sequence[str], left: float, x_scale: Any, *, step_px: int) -> Any:
    """The labels of rows that are counted, to the left of the chart."""
    alt = altair()
    names = pl.DataFrame({"at": range(len(labels)), LABEL: list(labels), "edge": [left] * len(labels)})
    text = marks(names).mark_text(align="right", dx=-8, fontSize=label_px(step_px), baseline="middle", color=INK)
    x = alt.X("edge:Q", scale=x_scale)
    return text.encode(y=at_row("at", len(labels)), x=x, text=alt.Text(f"{LABEL}:N"))


def padded(values: Iterable[float | None], share: float = 0.03) -> list[float]:
    """The ends of an axis that holds all values with a little room.

    Example:
        >>> padded([0.0, 10.0, None], share=0.1)
        [-1.0, 11.0]
    """
    given = [value for value in values if value is not None] or [0.0]
    room = share * (max(given) - min(given)) or 0.01
    return [min(given) - room, max(given) + room]
