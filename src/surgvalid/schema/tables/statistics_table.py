"""The statistics table: per model, video and metric what `prepare` gave, the second currency of the waist.

A score table cannot carry a pooled metric: the false alarms per image of all videos are not the mean of the videos'
own, and no weights that a later verb could guess make them so. The statistics can, because they are what the value is
made of: `combine` gives the value of all videos, of some, and without each.

One row per model, metric, video and array; `numbers` holds the array in rows, `shape` and `dtype` its form. What
belongs to all videos together (the order of all scores, say) stands in rows without a video. `opened` and `options`
say how `open_metric` makes the metric again. `cases` says how much of the material a video is, where that is known:
unequal videos leave fewer degrees of freedom.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from surgvalid.errors import FileUnreadable, TableInvalid
from surgvalid.schema.metric_facts import Packed
from surgvalid.schema.tables.tabular import first_line

STATISTICS_FILE = "statistics.parquet"
MOST_NUMBERS = 4_000_000
"""Of one model and metric: 32 MB before compression. What is larger is not written, and that is said."""
_KINDS = "biuf"
SCHEMA: dict[str, Any] = {
    "model": pl.String,
    "metric": pl.String,
    "video": pl.String,
    "opened": pl.String,
    "options": pl.String,
    "array": pl.String,
    "dtype": pl.String,
    "shape": pl.List(pl.Int64),
    "numbers": pl.List(pl.Float64),
    "cases": pl.Int64,
}


class Recipe(NamedTuple):
    """How a metric is opened again."""

    opened: str
    """Its name in the catalogue, which a table may have another name for."""
    options: str
    """As JSON."""

    @property
    def arguments(self) -> dict[str, Any]:
        """The options as data."""
        options: dict[str, Any] = json.loads(self.options)
        return options


class VideoStatistics(NamedTuple):
    """The statistics of one model under one metric."""

    videos: tuple[str, ...]
    packed: Packed
    cases: tuple[int, ...] = ()
    """Of each video; empty where not known."""


@dataclass(frozen=True)
class StatisticsTable:
    """The statistics of some models under some metrics."""

    frame: pl.DataFrame

    @classmethod
    def of(cls, model: str, metrics: Mapping[str, tuple[Recipe, VideoStatistics]]) -> StatisticsTable:
        """The table of one model, from the recipe and statistics of each metric."""
        frames = [_frame(model, name, *given) for name, given in metrics.items()]
        return cls(pl.concat(frames) if frames else pl.DataFrame(schema=SCHEMA))

    def models(self, metric: str) -> list[str]:
        """The models that have statistics under a metric."""
        rows = self.frame.filter((pl.col("metric") == metric) & pl.col("video").is_not_null())
        return rows["model"].unique(maintain_order=True).to_list()

    def recipe(self, metric: str) -> Recipe:
        """How the metric is opened again; the metric has statistics."""
        return Recipe(*self.frame.filter(pl.col("metric") == metric).select("opened", "options").row(0))

    def of_model(self, model: str, metric: str) -> VideoStatistics:
        """The statistics of one model under one metric, read once."""
        made: dict[Any, VideoStatistics] = self.__dict__.setdefault("_made", {})
        if (model, metric) not in made:
            rows = self.frame.filter((pl.col("model") == model) & (pl.col("metric") == metric))
            made[model, metric] = _statistics(rows, f"{model}, {metric}")
        return made[model, metric]

    def to_dir(self, path: str | Path) -> None:
        """Write `statistics.parquet` into the folder, where there are any statistics."""
        if self.frame.height:
            self.frame.write_parquet(Path(path) / STATISTICS_FILE, compression="zstd")


def stacked_statistics(tables: Mapping[str, StatisticsTable]) -> StatisticsTable | None:
    """All statistics in one table, by the place that each comes from.

    Videos of one model and metric may lie in several places, unless something of theirs belongs to all videos of one
    place together: then they cannot be combined, and are left out.

    Raises:
        TableInvalid: With every metric that was opened with different options, and every video that is there twice.
    """
    frames = [table.frame.with_columns(pl.lit(place).alias("place")) for place, table in tables.items()]
    if not frames:
        return None
    rows = pl.concat(frames)
    if problems := [*_contradictions(rows), *_repeats(rows)]:
        raise TableInvalid(", ".join(tables), problems)
    key = ["model", "metric"]
    apart = rows.group_by(key).agg(pl.col("place").n_unique() > 1, pl.col("video").is_null().any().alias("shared"))
    gone = apart.filter(pl.col("place") & pl.col("shared")).select(key)
    return StatisticsTable(rows.join(gone, on=key, how="anti", maintain_order="left").drop("place"))


def statistics_beside(path: Path) -> StatisticsTable | None:
    """The statistics in the folder of a score table, given as the folder or as its `scores.parquet`; None without any.

    Raises:
        FileUnreadable: The file is no statistics table.
    """
    file = path / STATISTICS_FILE if path.is_dir() else path.with_name(STATISTICS_FILE)
    if not file.is_file() or not (path.is_dir() or path.name == "scores.parquet"):
        return None
    try:
        frame = pl.read_parquet(file)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise FileUnreadable(str(file), [first_line(error)]) from None
    if "cases" not in frame.columns:  # written before the number was kept
        frame = frame.with_columns(pl.lit(None, dtype=pl.Int64).alias("cases"))
    if dict(frame.schema) != SCHEMA:
        listed = ", ".join(f"{name} ({kind})" for name, kind in frame.schema.items())
        raise FileUnreadable(str(file), [f"expected the columns {', '.join(SCHEMA)}, got {listed}"])
    if bad := [text for text in frame["options"].unique().to_list() if not _is_object(text)]:
        raise FileUnreadable(str(file), [f"options are no JSON object: {text!r:.80}" for text in bad])
    return StatisticsTable(frame)


def numbers_in(packed: Packed) -> int:
    """How many numbers packed statistics are."""
    return sum(array.size for arrays in (packed.shared, *packed.units) for array in arrays.values())


def _frame(model: str, metric: str, recipe: Recipe, given: VideoStatistics) -> pl.DataFrame:
    places: Iterable[tuple[str | None, Mapping[str, np.ndarray]]] = [
        (None, given.packed.shared),
        *zip(given.videos, given.packed.units, strict=True),
    ]
    rows = [(video, name, np.asarray(array)) for video, arrays in places for name, array in arrays.items()]
    cases = dict(zip(given.videos, given.cases, strict=True)) if given.cases else {}
    flat = [pl.Series(np.ravel(array).astype(np.float64)).implode() for _, _, array in rows]
    columns: dict[str, Any] = {
        "model": [model] * len(rows),
        "metric": [metric] * len(rows),
        "video": [video for video, _, _ in rows],
        "opened": [recipe.opened] * len(rows),
        "options": [recipe.options] * len(rows),
        "array": [name for _, name, _ in rows],
        "dtype": [array.dtype.str for _, _, array in rows],
        "shape": [list(array.shape) for _, _, array in rows],
        "numbers": pl.concat(flat),
        "cases": [cases.get(video) if video is not None else None for video, _, _ in rows],
    }
    return pl.DataFrame([pl.Series(name, values, dtype=SCHEMA[name]) for name, values in columns.items()])


def _statistics(rows: pl.DataFrame, where: str) -> VideoStatistics:
    shared: dict[str, np.ndarray] = {}
    units: dict[str, dict[str, np.ndarray]] = {}
    cases: dict[str, int | None] = {}
    try:
        for row in rows.select("video", "array", "dtype", "shape", "numbers", "cases").iter_rows():
            video, name, dtype, shape, numbers, number = row
            cases[video] = number
            target = shared if video is None else units.setdefault(video, {})
            target[name] = _array(dtype, shape, numbers)
    except (TypeError, ValueError, OverflowError) as error:
        raise TableInvalid(f"{STATISTICS_FILE} ({where})", [first_line(error)]) from None
    sizes = [number for video in units if (number := cases[video]) is not None]
    known = tuple(sizes) if len(sizes) == len(units) else ()
    return VideoStatistics(tuple(units), Packed(shared, list(units.values())), known)


def _array(dtype: str, shape: Sequence[int], numbers: Sequence[float]) -> np.ndarray:
    kind = np.dtype(dtype)
    if kind.kind not in _KINDS:
        raise ValueError(f"an array of {dtype!r} is none of numbers")
    return np.asarray(numbers, dtype=np.float64).astype(kind).reshape(tuple(shape))


def _contradictions(rows: pl.DataFrame) -> list[str]:
    recipes = rows.group_by("metric", maintain_order=True).agg(
        pl.struct("opened", "options").unique(maintain_order=True).alias("recipes")
    )
    return [
        f"metric {row['metric']!r} was computed with different options: "
        + " and ".join(f"{one['opened']} {one['options']}" for one in row["recipes"][:3])
        for row in recipes.filter(pl.col("recipes").list.len() > 1).iter_rows(named=True)
    ]


def _repeats(rows: pl.DataFrame) -> list[str]:
    key = ["model", "metric", "video"]
    places = (
        rows.drop_nulls("video").group_by(key, maintain_order=True).agg(pl.col("place").unique(maintain_order=True))
    )
    return [
        f"statistics of model {row['model']!r}, metric {row['metric']!r}, video {row['video']!r} are in "
        + " and in ".join(row["place"][:3])
        for row in places.filter(pl.col("place").list.len() > 1).head(20).iter_rows(named=True)
    ]


def _is_object(text: Any) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (TypeError, ValueError):
        return False
