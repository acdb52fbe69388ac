"""The score table: one row per (model, case, metric), the waist of the hourglass.

Everything to its left knows surgery, everything to its right knows statistics. Reading validates the
whole table and lists every problem; filling holes is always an explicit choice and always reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from surgvalid.errors import Misuse, TableInvalid, UnknownName
from surgvalid.schema.metric_facts import MetricFacts, facts_by_name, known_as, range_problems
from surgvalid.schema.outcomes import Status
from surgvalid.schema.tables.column_words import without_brackets
from surgvalid.schema.tables.missing import Missing as Missing
from surgvalid.schema.tables.missing import missing_rules
from surgvalid.schema.tables.read_rows import ReadAs, rescaled, told_apart, with_unit
from surgvalid.schema.tables.score_matrix import ScoreMatrix as ScoreMatrix
from surgvalid.schema.tables.score_matrix import score_matrix
from surgvalid.schema.tables.statistics_table import StatisticsTable, stacked_statistics, statistics_beside
from surgvalid.schema.tables.table_facts import (
    FACTS_FILE,
    Directions,
    TableFacts,
    against_names,
    directed,
    facts_beside,
    merged,
    of_other_releases,
)
from surgvalid.schema.tables.table_files import OURS, ROLE_OPTIONS, read_frame, renamed, stacked
from surgvalid.schema.tables.tabular import as_frame, first_line, mixed_kinds
from surgvalid.schema.tables.units import Unit

KEY = ("model", "case", "metric", "task")
FIXED = OURS


@dataclass(frozen=True)
class ScoreTable:
    """A validated score table.

    Example:
        >>> table = ScoreTable.of({"model": ["A", "B"], "case": ["q1", "q1"], "value": [1, 0]})
        >>> table.models, table.has_videos
        (['A', 'B'], False)
    """

    frame: pl.DataFrame
    has_videos: bool = True
    """False when the table named no video, so that each case stands for itself."""
    facts: Mapping[str, MetricFacts] = field(default_factory=dict)
    """Of the metrics of which somebody stated them; see `facts_of`."""
    main: str | None = None
    """The metric to take where none is chosen: the one that was asked for when the table was made."""
    statistics: StatisticsTable | None = None
    """What pooled metrics are made of, where that is known; see `surgvalid.schema.tables.statistics_table`."""
    read_as: ReadAs = field(default_factory=ReadAs)
    """What was interpreted as what when the table was read."""

    @classmethod
    def of(
        cls,
        data: Any,
        *,
        columns: Mapping[str, str] | None = None,
        where: str = "score table",
        facts: Mapping[str, MetricFacts] | None = None,
        better: Directions = None,
        main: str | None = None,
        statistics: StatisticsTable | None = None,
        unit: str | None = None,
        read_as: ReadAs | None = None,
    ) -> ScoreTable:
        """A table from anything tabular: polars, pandas, Arrow, a dictionary of columns.

        Args:
            data: The rows.
            columns: Our name to theirs, such as `{"model": "algorithm", "video": "patient"}`.
            where: What to call the table in error messages.
            facts: Of its metrics; what is not here is known by the name of the metric or unknown.
            better: `larger` or `smaller`, or one of them for each metric whose direction is unknown.
            main: The metric to take where none is chosen.
            statistics: What its pooled metrics are made of.
            unit: What is independent, where somebody says it: a column, `case`, or `prefix:N`.
            read_as: How the rows were read, where that is done.

        Raises:
            TableInvalid: With every problem found.
        """
        columns = columns or {}
        if mixed := mixed_kinds(data, columns):
            raise TableInvalid(where, mixed)
        frame = renamed(as_frame(data), columns, where)
        return cls._checked(frame, columns, where, facts, main, statistics, unit, read_as).directed(better)

    @classmethod
    def _checked(
        cls,
        frame: pl.DataFrame,
        columns: Mapping[str, str],
        where: str,
        facts: Mapping[str, MetricFacts] | None,
        main: str | None,
        statistics: StatisticsTable | None,
        unit: str | None = None,
        read_as: ReadAs | None = None,
    ) -> ScoreTable:
        """The table of rows under our names; problems name the columns of the user."""
        if problems := _absent(frame):
            raise TableInvalid(where, problems)
        if read_as is None:
            frame, read_as = with_unit(frame, where, unit)
        frame, repeated = told_apart(frame)
        try:
            frame, has_videos = _completed(frame, where, columns.get("value", "value"))
        except pl.exceptions.PolarsError as error:
            raise TableInvalid(where, [first_line(error)]) from None
        names = frame["metric"].drop_nulls().unique(maintain_order=True).cast(pl.String).to_list()
        stated = {name: facts[name] for name in names if facts and name in facts}
        known = {name: stated[name] if name in stated else facts_by_name(name) for name in names}
        frame, scaled = rescaled(frame, known)
        problems = _problems(frame, known, columns)
        if read_as.unit is None:  # a patient may be seen in two centers, a video not
            problems += _several_centers(frame)
        if problems:
            raise TableInvalid(where, problems)
        frame = frame.drop("__printed__")
        strata = [name for name in frame.columns if name not in FIXED]
        order = [name for name in FIXED if name in frame.columns] + strata
        has_videos = has_videos and read_as.has_videos
        percent = (*read_as.percent, *(one.column for one in scaled if one.code == "scale"))
        lines = read_as.lines_with(*repeated, *scaled)
        read_as = replace(read_as, interpreted=lines, has_videos=has_videos, percent=percent)
        main = main if main in known else None
        return cls(frame.select(order), has_videos, stated, main, statistics, read_as)

    @property
    def unit(self) -> Unit:
        """What counts as independent: as it was read, else the video, else the case."""
        if self.read_as.unit is not None:
            return self.read_as.unit
        return Unit() if self.has_videos else Unit("case", "case", "E3", True)

    def by_unit(self, unit: str) -> ScoreTable:
        """The table with another unit: a column, `case`, or `prefix:N`."""
        frame, read_as = with_unit(self.frame, "score table", unit)
        has_videos = "video" in frame.columns
        frame = frame if has_videos else frame.with_columns(pl.col("case").alias("video"))
        order = [*(name for name in FIXED if name in frame.columns), *(n for n in frame.columns if n not in FIXED)]
        kept = [line for line in self.read_as.interpreted if line.code not in ("unit", "type")]
        read_as = replace(self.read_as, unit=read_as.unit, interpreted=read_as.lines_with(*kept), has_videos=has_videos)
        return replace(self, frame=frame.select(order), has_videos=has_videos, read_as=read_as)

    @property
    def models(self) -> list[str]:
        """The models, in order of appearance."""
        return self.frame["model"].unique(maintain_order=True).to_list()

    @property
    def metrics(self) -> list[str]:
        """The metrics, in order of appearance."""
        return self.frame["metric"].unique(maintain_order=True).to_list()

    @property
    def strata(self) -> list[str]:
        """The columns that describe cases rather than identify them."""
        return [name for name in self.frame.columns if name not in FIXED]

    def matrix(self, metric: str | None = None, *, missing: Missing = None) -> ScoreMatrix:
        """The scores of one metric as an array of cases by models, made once; not to be written into.

        Args:
            metric: May be left out where the table has only one, or has `correct`.
            missing: What a score that is not there counts as, whether its row is empty or absent: `worst`, `drop-case`,
                `drop-score`, `error` or a number, for all or by status; see `surgvalid.schema.tables.missing`.

        Raises:
            UnknownName: The table has no such metric.
            Misuse: The table has several, and none was chosen.
            TableInvalid: Scores are not there, and the rule is an error or the worst value unknown.
        """
        name = self.chosen_metric(metric)
        made: dict[Any, ScoreMatrix] = self.__dict__.setdefault("_made", {})
        key = (name, tuple(missing_rules(missing).values()))
        if key not in made:
            rows = self.frame.filter(pl.col("metric") == name)
            made[key] = score_matrix(
                rows, self.facts_of(name), self.strata, missing, unit=self.unit, says_why=self.read_as.says_why
            )
            made[key].values.flags.writeable = False
        return made[key]

    def chosen_metric(self, metric: str | None = None) -> str:
        """The metric of that name; without one the main metric of the table, its only one, or `correct`.

        Raises:
            UnknownName: The table has no such metric.
            Misuse: The table has several, and none was chosen.
        """
        if metric is None and (self.main in self.metrics or "correct" in self.metrics):
            return self.main if self.main in self.metrics else "correct"
        if metric is None and len(self.metrics) > 1:
            listed = ", ".join(map(repr, self.metrics))
            raise Misuse(f"the table has {len(self.metrics)} metrics ({listed}); choose one with metric (--metric)")
        if metric is not None and metric not in self.metrics:
            alike = [name for name in self.metrics if (known := known_as(name)) and known == known_as(metric)]
            alike += [name for name in self.metrics if name == without_brackets(metric)[0] and name not in alike]
            if len(alike) == 1:
                return alike[0]
            raise UnknownName("metric", metric, self.metrics)
        return metric or self.metrics[0]

    def facts_of(self, metric: str) -> MetricFacts:
        """The facts of one metric: as stated, or as far as its name says them; the direction may be unknown."""
        return self.facts[metric] if metric in self.facts else facts_by_name(metric)

    def as_share(self, metric: str, number: float | None) -> float | None:
        """A difference that is written as the scores of a metric were: of percentages in percent points, as a share."""
        return number / 100 if number is not None and metric in self.read_as.percent else number

    def directed(self, better: Directions, metric: str | None = None) -> ScoreTable:
        """The table with the directions that somebody stated.

        Args:
            better: `larger` or `smaller`, or one of them by the name of each metric.
            metric: The one that a bare word is about; all that could be meant if left out.

        Raises:
            UnknownName: A direction that is none, or a metric that the table does not have.
            Misuse: A direction against what is known.
        """
        if not better:
            return self
        facts = {name: self.facts_of(name) for name in self.metrics}
        if isinstance(better, Mapping):  # by the heading, whose bracket holds the unit
            better = {name if name in facts else without_brackets(name)[0]: one for name, one in better.items()}
        unknown = [name for name, one in facts.items() if one.better is None]
        chosen = [metric] if metric is not None else unknown or self.metrics
        return replace(self, facts={**self.facts, **directed(facts, better, chosen)})

    def to_dir(self, path: str | Path) -> None:
        """Write `scores.parquet`, `metrics.json` (the facts), and `statistics.parquet` where there are statistics."""
        known = {name: self.facts_of(name) for name in self.metrics}
        facts = TableFacts(known, self.main, self.read_as.unmarked, self.read_as.marks)
        self.frame.write_parquet(Path(path) / "scores.parquet", metadata=facts.metadata())
        (Path(path) / FACTS_FILE).write_text(facts.as_text() + "\n", encoding="utf-8")
        if self.statistics is not None:
            self.statistics.to_dir(path)

    def __repr__(self) -> str:
        videos = self.frame["video"].n_unique() if self.has_videos else "no"
        cases = self.frame["case"].n_unique()
        return (
            f"ScoreTable({len(self.models)} models, {cases} cases, {videos} videos, metrics: {', '.join(self.metrics)})"
        )


def read_score_table(
    sources: str | Path | Sequence[str | Path],
    *,
    columns: Mapping[str, str] | None = None,
    unit: str | None = None,
    frames: Sequence[pl.DataFrame] | None = None,
) -> ScoreTable:
    """A table from one or more CSV or Parquet files, or folders written by `surgvalid score` or `evaluate`.

    Facts of its metrics are those that the files carry (see `table_facts`), then what the names of the metrics say.

    Raises:
        FileUnreadable: A file is missing or of an unknown kind.
        TableInvalid: With every problem found in all files together.
    """
    paths = [Path(p) for p in ([sources] if isinstance(sources, str | Path) else sources)]
    if not paths:
        raise Misuse("no score table was given")
    texts = {*FIXED, *(columns or {}).values()} - {"value", (columns or {}).get("value", "value")}
    rows = frames if frames is not None else [read_frame(path, texts) for path in paths]
    frames = [renamed(frame, columns or {}, path.name) for path, frame in zip(paths, rows, strict=True)]
    where = ", ".join(path.name for path in paths)
    names = [f"{path.name}: " if len(paths) > 1 else "" for path in paths]
    if problems := [name + problem for name, frame in zip(names, frames, strict=True) for problem in _absent(frame)]:
        raise TableInvalid(where, problems)
    beside = {str(path): facts_beside(path) for path in paths}
    carried = merged(beside)
    without = {str(path): _metrics_without(frame, beside[str(path)]) for path, frame in zip(paths, frames, strict=True)}
    models = {path: frame["model"].unique().to_list() for path, frame in zip(paths, frames, strict=True)}
    if problems := [*against_names(carried, without), *of_other_releases(models)]:
        raise TableInvalid(where, problems)
    name = (columns or {}).get("value", "value")
    frames = [_with_defaults(frame, name) for frame in frames]
    if problems := _one_name_for_two(frames, [str(path) for path in paths]):
        raise TableInvalid(where, problems)
    whole = stacked(frames, where)
    places = {str(path): table for path in paths if (table := statistics_beside(path)) is not None}
    # Statistics know no task: those of several tasks on the same videos would be mistaken for one.
    of_one_task = "task" not in whole.columns or whole["task"].n_unique() == 1
    statistics = stacked_statistics(places) if of_one_task else None
    read_as = None if unit else carried.read_as
    made = ScoreTable._checked(whole, columns or {}, where, carried.metrics, carried.main, statistics, unit, read_as)
    return replace(made, read_as=made.read_as.marked(*carried.marks))


def _one_name_for_two(frames: Sequence[pl.DataFrame], places: Sequence[str]) -> list[str]:
    """Models of one name whose scores of the same cases lie in two files: two models, or one that was given twice."""
    if len(frames) < 2:
        return []
    key = [name for name in KEY if all(name in frame.columns for frame in frames)]
    named = [
        frame.select(pl.col(key).cast(pl.String)).unique().with_columns(place=pl.lit(place))
        for frame, place in zip(frames, places, strict=True)
    ]
    in_several = pl.concat(named).group_by(key).agg(pl.col("place").sort()).filter(pl.col("place").list.len() > 1)
    return [
        f"{' and '.join(held[:3])} both hold {count:,} scores of model {model!r}; of two runs give one, and if these"
        " are two models, give each its name with --model where its scores are made"
        for model, held, count in in_several.group_by("model", "place").len().sort("model", "place").iter_rows()
    ]


def _metrics_without(frame: pl.DataFrame, beside: TableFacts) -> list[str]:
    """The metrics of a table whose facts are not beside it."""
    names = (
        frame["metric"].drop_nulls().unique(maintain_order=True).cast(pl.String) if "metric" in frame.columns else ()
    )
    return [name for name in names if name not in beside.metrics]


def _absent(frame: pl.DataFrame) -> list[str]:
    """The columns that every score table needs and this one lacks."""
    if not (absent := [name for name in ("model", "case", "value") if name not in frame.columns]):
        return []
    names = ", ".join(map(repr, absent))
    lacking = f"column {names} is missing" if len(absent) == 1 else f"columns {names} are missing"
    has = ", ".join(map(repr, frame.columns)) or "none"
    return [f"{lacking}; the table has {has}; say which is which: columns ({ROLE_OPTIONS[absent[0]]} YOURS)"]


def _completed(frame: pl.DataFrame, where: str, name: str) -> tuple[pl.DataFrame, bool]:
    if frame.is_empty():
        raise TableInvalid(where, ["the table has no rows"])
    has_videos = "video" in frame.columns
    value = pl.col("value")
    number = value if frame.schema["value"].is_numeric() else value.cast(pl.String).replace({"": None})
    additions = [
        pl.col("model").cast(pl.String),
        pl.col("case").cast(pl.String),
        (pl.col("video") if has_videos else pl.col("case").alias("video")).cast(pl.String),
        value.cast(pl.Float64) if frame.schema["value"] == pl.Boolean else number.cast(pl.Float64, strict=False),
        (pl.lit(None, pl.String) if number is value else number).alias("__printed__"),
    ]
    frame = frame.with_columns(additions)
    frame = frame.with_columns(pl.col("value").fill_nan(None))
    frame = _with_defaults(frame, name)
    default = (
        pl.when(pl.col("value").is_null()).then(pl.lit(Status.MISSING.value)).otherwise(pl.lit(Status.ANSWERED.value))
    )
    return frame.with_columns(pl.coalesce(pl.col("status").cast(pl.String), default).alias("status")), has_videos


def _with_defaults(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """The table with its metric and status named, where it names none; done before tables are stacked.

    The metric has the name of the user's own column: what `value` means, nobody but the user knows.
    """
    if "metric" not in frame.columns:
        frame = frame.with_columns(pl.lit(name).alias("metric"))
    return frame if "status" in frame.columns else frame.with_columns(pl.lit(None, pl.String).alias("status"))


def _problems(frame: pl.DataFrame, facts: Mapping[str, MetricFacts], columns: Mapping[str, str]) -> list[str]:
    frame = frame.with_row_index("row", offset=1)
    value = columns.get("value", "value")
    problems = [*_nulls(frame, columns), *_not_numbers(frame, value)]
    for check in (_unknown_statuses, _repeats, _several_videos):
        problems += check(frame)
    return problems + _out_of_range(frame, facts, value)


def _nulls(frame: pl.DataFrame, columns: Mapping[str, str]) -> list[str]:
    return [
        f"column {columns.get(name, name)!r} is empty in {len(rows)} rows (first: row {rows[0]})"
        for name in ("model", "case", "video", "metric")
        if len(rows := frame.filter(pl.col(name).is_null() | (pl.col(name) == ""))["row"])
    ]


def _not_numbers(frame: pl.DataFrame, column: str) -> list[str]:
    bad = frame.filter(
        pl.col("value").is_null()
        & pl.col("__printed__").is_not_null()
        & ~pl.col("__printed__").str.to_lowercase().is_in(["nan", "null", "na", "none"])
    )
    if bad.is_empty():
        return []
    row, text = bad.select("row", "__printed__").row(0)
    return [f"column {column!r} has {bad.height} entries that are no numbers (first: row {row}, {text!r})"]


def _unknown_statuses(frame: pl.DataFrame) -> list[str]:
    known = [status.value for status in Status]
    bad = frame.filter(~pl.col("status").is_in(known))
    return [f"status {status!r} is not one of {', '.join(known)}" for status in bad["status"].unique().sort()]


def _repeats(frame: pl.DataFrame) -> list[str]:
    key = [name for name in KEY if name in frame.columns]
    telling = [name for name in key if name == "case" or frame[name].n_unique() > 1]
    again = frame.select(*key, "row").filter(frame.select(telling).is_duplicated())
    repeated = again.group_by(key, maintain_order=True).agg(pl.col("row"))
    problems = []
    for row in repeated.head(20).iter_rows(named=True):
        rows = row.pop("row")
        names = ", ".join(f"{name}={value}" for name, value in row.items() if name != "metric" or value != "correct")
        shown = " and ".join(map(str, rows[:2])) if len(rows) == 2 else ", ".join(map(str, rows[:4])) + " ..."
        problems.append(f"rows {shown} repeat ({names})")
    if repeated.height > 20:
        problems.append(f"{repeated.height - 20} more combinations of {', '.join(key)} repeat")
    return problems


def _several_videos(frame: pl.DataFrame) -> list[str]:
    key = [name for name in ("case", "task") if name in frame.columns]
    return _several(frame, key, "video", "case")


def _several_centers(frame: pl.DataFrame) -> list[str]:
    return _several(frame, ["video"], "center", "video") if "center" in frame.columns else []


def _several(frame: pl.DataFrame, key: Sequence[str], column: str, what: str) -> list[str]:
    pairs = frame.select(*key, column).drop_nulls(column).unique(maintain_order=True)
    bad = pairs.filter(pairs.select(key).is_duplicated()).group_by(key, maintain_order=True).agg(pl.col(column))
    return [
        f"{what} {row[key[0]]!r} has {len(row[column])} different {column}s ({', '.join(map(str, row[column][:3]))})"
        for row in bad.head(20).iter_rows(named=True)
    ]


def _out_of_range(frame: pl.DataFrame, facts: Mapping[str, MetricFacts], column: str) -> list[str]:
    by_metric = frame.select("metric", "row", "value").group_by("metric", maintain_order=True)
    return [problem for (name,), rows in by_metric for problem in range_problems(rows, column, facts[str(name)])]
