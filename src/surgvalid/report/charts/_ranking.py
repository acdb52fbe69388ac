"""What the charts of rankings share: one leaderboard or task of a table, and the order of models."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import polars as pl

from surgvalid.errors import UnknownName
from surgvalid.report.words import plain, short_names

BUCKET = "bucket"
"""The column that `with_bucket` adds."""
CONSENSUS = "(consensus)"
"""What a ranking calls the consensus over tasks."""
NAMES = "board task capability model model_a model_b".split()
"""The columns that hold names."""


class ChartPart(NamedTuple):
    """One leaderboard or task of a table."""

    frame: pl.DataFrame
    name: str | None
    """None where the table is not divided."""
    kind: str
    """`board`, `task` or empty."""

    @property
    def suffix(self) -> str:
        """For titles: which part this is.

        Example:
            >>> ChartPart(pl.DataFrame(), "technical", "board").suffix
            ', technical leaderboard'
        """
        if self.name is None:
            return ""
        if self.name == CONSENSUS:
            return ", consensus over tasks"
        words = plain(self.name, limit=40)
        return f", {words} leaderboard" if self.kind == "board" else f", task {words}"


def named(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with all names as text, also where a file of numbers made numbers of them."""
    names = [column for column in NAMES if column in frame.columns]
    return frame.with_columns(pl.col(names).cast(pl.String).fill_null("(none)"))


def part_of(frame: pl.DataFrame, name: str | None = None) -> ChartPart:
    """The rows of the named leaderboard or task, or of the first one.

    Raises:
        UnknownName: No such leaderboard or task.
    """
    kind = next((column for column in ("board", "task") if column in frame.columns), "")
    if not kind or frame.is_empty():
        return ChartPart(named(frame), None, "")
    frame = named(frame)
    known = frame[kind].unique(maintain_order=True).to_list()
    if name is not None and name not in known:
        raise UnknownName("leaderboard" if kind == "board" else kind, name, known)
    chosen = known[0] if name is None else name
    return ChartPart(frame.filter(pl.col(kind) == chosen), chosen, kind)


def same_part(frame: pl.DataFrame | None, chosen: ChartPart) -> pl.DataFrame | None:
    """The rows of another table that belong to the same leaderboard or task; None where there are none."""
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
    """The models in the order of the table of final ranks, then those that it does not know, as they come."""
    given = list(dict.fromkeys(models))
    if places is None or places.is_empty():
        return given
    column = "place" if "place" in places.columns else "rank"
    ranked = places.sort(column, maintain_order=True)["model"]
    return [model for model in dict.fromkeys([*ranked, *given]) if model in set(given)]


def model_labels(models: Iterable[str], places: pl.DataFrame | None) -> dict[str, str]:
    """A short label for every model; baselines, where the table of final ranks knows them, are called so."""
    labels = short_names(models)
    if places is None or "baseline" not in places.columns:
        return labels
    outside = set(places.filter("baseline")["model"])
    return {model: f"{label}, baseline" if model in outside else label for model, label in labels.items()}


def shown_of(shown: int, total: int) -> str:
    """The sentence that says that only some rows are shown; empty where all are.

    Example:
        >>> shown_of(10, 100)
        ' Shown: the first 10 of 100 models; the saved numbers have all.'
    """
    return "" if shown >= total else f" Shown: the first {shown} of {total} models; the saved numbers have all."


def listed(items: Sequence[str], most: int = 3) -> str:
    """The first few items in words.

    Example:
        >>> listed(["a", "b", "c", "d"], 2)
        'a; b; and 2 more'
    """
    more = len(items) - most
    return "; ".join([*items[:most], *([f"and {more} more"] if more > 0 else [])])


def bucket_evidence(buckets: pl.DataFrame | None) -> str:
    """How many questions and videos stand behind a leaderboard, for captions; empty where that is not known."""
    if buckets is None or buckets.is_empty() or not {"questions", "videos"} <= set(buckets.columns):
        return ""
    each = with_bucket(buckets).unique(BUCKET)
    few, many = min(each["videos"].to_list()), max(each["videos"].to_list())
    videos = f"{few}" if few == many else f"{few} to {many}"
    return f" n = {each['questions'].sum():,} questions in {each.height} buckets of {videos} videos."
