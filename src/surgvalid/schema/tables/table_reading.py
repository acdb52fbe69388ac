"""The one entrance for tables of scores: whose rows these are, what is independent, what the numbers are.

Every verb reads through `read_scores`: files and folders that the project wrote, strangers' tables, tables in memory.
Long tables have a row per model and case, wide ones a row per case and a column per model; a file of one model has
neither. Columns are read by their names, then by what only one reading of them allows, and every choice is apart. Where
two readings fit, none is taken: the error lists them with the option that chooses.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from surgvalid.errors import Misuse, TableInvalid
from surgvalid.schema.metric_facts import MetricFacts, facts_by_name, known_as, range_problems, same_metric
from surgvalid.schema.outcomes import Status
from surgvalid.schema.tables.column_words import (
    CLINICS,
    IMAGES,
    MODELS,
    NUMBERING,
    PATIENTS,
    PLACES,
    identifying,
    is_unit,
    named_by,
    plain_name,
    quoted,
    verb,
    without_brackets,
)
from surgvalid.schema.tables.harness_logs import HarnessLog, alike, finished, joined, logs_in
from surgvalid.schema.tables.missing import usual_rules
from surgvalid.schema.tables.read_rows import (
    UNREAD,
    ReadAs,
    averaged,
    group_evidence,
    is_quantity,
    part_lines,
    rescaled,
)
from surgvalid.schema.tables.score_columns import (
    MOST_LEVELS,
    ColumnRoles,
    check_not_pooled,
    on_its_side,
    roles_by_name,
    with_scores,
)
from surgvalid.schema.tables.score_table import ScoreTable, read_score_table
from surgvalid.schema.tables.splits import rows_of_tests
from surgvalid.schema.tables.summary_rows import sums_up, unnamed, without_empty_end, without_spaces, without_summaries
from surgvalid.schema.tables.table_facts import Directions
from surgvalid.schema.tables.table_files import OURS, ROLES, names_unknown, read_frame, renamed, split_sheet
from surgvalid.schema.tables.tabular import as_frame, mixed_kinds, told_apart_by
from surgvalid.schema.tables.units import (
    NOT_SAID,
    Interpreted,
    Unit,
    names_no_column,
    spelled_apart,
    spelled_as_one,
    unit_of,
)
from surgvalid.schema.tables.written_numbers import with_numbers

UNNAMED = "score"
"""What the scores of a wide table are of where neither its columns, its file nor the caller says it."""
NAMING = tuple("model case video metric value".split())
"""Of our names those that are no conditions, also where another column says the same."""
MORE_ROLES = ("unit", "repeat", "condition")
"""Roles that a caller may give columns beside our names."""


_NOTED: ContextVar[list[Interpreted] | None] = ContextVar("_NOTED", default=None)


@contextmanager
def noted_readings() -> Iterator[list[Interpreted]]:
    """What tables read while it is open were interpreted as, so that a result can tell it without its verb's help."""
    noted: list[Interpreted] = []
    token = _NOTED.set(noted)
    try:
        yield noted
    finally:
        _NOTED.reset(token)


def note_readings(lines: Sequence[Interpreted]) -> None:
    """Tell the result that is being made what a table was interpreted as."""
    if (noted := _NOTED.get()) is not None:
        noted.extend(line for line in lines if line not in noted)


class TableReading(NamedTuple):
    """A table of scores, and what in it was interpreted as what."""

    table: ScoreTable
    """Its `video` is the unit."""
    metric: str
    """The primary one."""
    interpreted: tuple[Interpreted, ...]
    shared: int
    """Units in which all models have scores of it."""

    @property
    def unit(self) -> Unit:
        """What counts as independent."""
        return self.table.unit

    @property
    def units(self) -> int | None:
        """How many there are that all models share; None where nothing says what is independent."""
        return self.shared if self.unit.is_known else None


def read_scores(
    source: Any,
    *,
    unit: str | None = None,
    case: str | None = None,
    model: str | None = None,
    scores: Sequence[str] = (),
    models: Sequence[str] = (),
    condition: Sequence[str] = (),
    repeat: str | None = None,
    metric: str | None = None,
    better: Directions = None,
    sheet: str | None = None,
    decimal: str | None = None,
    columns: Mapping[str, str] | None = None,
    pooled: bool = False,
) -> TableReading:
    """A table of scores with its unit, from one, from anything tabular, or from files and folders.

    Args:
        source: What it is made of.
        unit: What is independent: a column, `case`, or `prefix:N` (the first N parts of the names of cases).
        case: The column that names cases.
        model: The column that names models.
        scores: Columns that are metrics.
        models: Columns that are models (a wide table).
        condition: Columns that describe cases and name nothing.
        repeat: The column that numbers repeated measurements.
        metric: The metric that is looked at; in a wide table, whose values the columns hold.
        better: The direction of metrics where it is unknown.
        sheet: Of a workbook with several.
        decimal: What stands before decimals in written numbers, where a column does not show it.
        columns: Our names to theirs, and `unit`, `repeat`, `condition`; what is stated here is not guessed.
        pooled: Whether rows that nothing tells apart are cases of their own, where models are not compared.

    Raises:
        TableInvalid: Two readings fit, or none; each with what to say.
        FileUnreadable: A file is missing, or is no table.

    Example:
        >>> wide = {"patient": ["p1", "p2"], "unet": [0.8, 0.7], "swin": [0.9, 0.6]}
        >>> reading = read_scores(wide, better="larger")
        >>> reading.unit.word, reading.units, reading.table.models
        ('patient', 2, ['unet', 'swin'])
    """
    roles = {"unit": unit, "case": case, "model": model, "repeat": repeat}
    stated = {**(columns or {}), **{ours: theirs for ours, theirs in roles.items() if theirs}}
    if names_no_column(stated.get("video", "")):
        stated["unit"] = stated.pop("video")
    conditions = [*condition, *filter(None, stated.pop("condition", "").split(","))]
    metrics = (*filter(None, [metric]), *(better if isinstance(better, Mapping) else ()))
    options = PlainOptions(tuple(models), tuple(scores), metric, decimal, tuple(conditions), pooled, metrics)
    if isinstance(source, ScoreTable):
        table = source if "unit" not in stated else source.by_unit(stated["unit"])
    else:
        table = _table(source, stated, options, sheet)
    table = _with_primary(table.directed(better, metric if metric in table.metrics else None))
    return _with_coverage(table, metric)


_LOGGED = re.compile(r"_\d+_[0-9a-f]{20}\.table(?=\.json$)")
"""Step and hash in what Weights & Biases calls the file of a table."""


class PlainOptions(NamedTuple):
    """What the caller says about the scores of a table that is not under our names."""

    models: tuple[str, ...] = ()
    scores: tuple[str, ...] = ()
    measured: str | None = None
    decimal: str | None = None
    conditions: tuple[str, ...] = ()
    pooled: bool = False
    metrics: tuple[str, ...] = ()
    """That were asked for, or of which the direction was said."""


def are_paths(source: Any) -> bool:
    """Whether a source is a path or several, rather than a table in memory."""
    several = source if isinstance(source, list | tuple) else [source]
    return bool(several) and all(isinstance(one, str | Path) for one in several)


def _table(source: Any, stated: Mapping[str, str], options: PlainOptions, sheet: str | None) -> ScoreTable:
    """The table of rows under our names, or of a plain table."""
    if isinstance(source, list | tuple) and not source:
        raise Misuse("no table was given")
    ours = {name: theirs for name, theirs in stated.items() if name not in MORE_ROLES}
    paths = (
        [Path(one) for one in (source if isinstance(source, list | tuple) else [source])] if are_paths(source) else []
    )
    held = {path: logs_in(path) for path in paths}
    every = finished({file: log for some in held.values() for file, log in some.items()})
    if logs := {file: log for file, log in every.items() if log.scorers}:
        files = [file for path, some in held.items() for file in some or [path] if not some or file in every]
        return _of_logs(files, alike(logs, stated.get("unit")), stated, options)
    read = {str(path): frame_in(path, stated, sheet) for path in paths} or {"table": as_frame(source)}
    tested = {name: rows_of_tests(frame, options.conditions) for name, frame in read.items()}
    frames = {name: frame for name, (frame, _) in tested.items()}
    table = _of_frames(source, paths, frames, ours, stated, options)
    left_out = [line for _, lines in tested.values() for line in lines]
    return replace(table, read_as=replace(table.read_as, interpreted=table.read_as.lines_with(*left_out)))


def _of_frames(
    source: Any,
    paths: list[Path],
    frames: Mapping[str, pl.DataFrame],
    ours: Mapping[str, str],
    stated: Mapping[str, str],
    options: PlainOptions,
) -> ScoreTable:
    """The table of rows under our names, or of a plain table, by the file of each."""
    if not (options.models or options.scores) and all(_is_ours(frame, ours) for frame in frames.values()):
        if not paths and (mixed := mixed_kinds(source, ours)):
            raise TableInvalid("score table", mixed)
        unit = stated.get("unit")
        if paths:
            table = read_score_table(paths, columns=ours, unit=unit, frames=list(frames.values()))
        else:
            table = ScoreTable.of(frames["table"], columns=ours, unit=unit)
        says_why = table.read_as.says_why and any("status" in frame.columns for frame in frames.values())
        return replace(table, read_as=replace(table.read_as, says_why=says_why))
    names = _distinct_names(paths) or ["table"]
    return plain_score_table(dict(zip(names, frames.values(), strict=True)), stated, options)


def _of_logs(
    paths: list[Path], logs: Mapping[Path, HarnessLog], stated: Mapping[str, str], options: PlainOptions
) -> ScoreTable:
    """The table of logs of a harness, which say themselves what is what."""
    log = joined([*logs.values()])
    if len(log.scorers) > 1 and options.measured is None:
        where = {name: path.name for path, one in logs.items() for name in one.scorers}
        several = ", ".join(f"{name!r} in {file}" for name, file in where.items())
        raise Misuse(f"scored in {len(where)} ways ({several}); choose one with metric (--metric)")
    frames = [logs[path].frame if path in logs else read_frame(path) for path in paths]
    patients = named_by(log.frame.columns, PATIENTS)  # who comes back in several videos is known better than by them
    unit = stated.get("unit") or (None if patients else log.unit)
    columns = {ours: theirs for ours, theirs in stated.items() if ours not in MORE_ROLES}
    kept = [frame.select([name for name in frame.columns if name in {*log.frame.columns, *OURS}]) for frame in frames]
    table = read_score_table(paths, columns=columns, unit=unit, frames=kept)
    read_as = replace(table.read_as, interpreted=table.read_as.lines_with(*log.lines), says_why=False)
    same = [name for name in table.strata if name == table.unit.column]
    return replace(table, frame=table.frame.drop(same), read_as=read_as)


def _distinct_names(paths: Sequence[Path]) -> list[str]:
    """What tables without a column of models are called: their files, or the folders that tell files of one name apart.

    Example:
        >>> _distinct_names([Path("runs/a/table.csv"), Path("runs/b/table.csv")])
        ['a.csv', 'b.csv']
    """
    names = [_LOGGED.sub("", path.name) for path in paths]
    if len(set(names)) == len(paths):
        return names
    parts = [path.resolve().parent.parts[::-1] for path in paths]
    for level in range(min(map(len, parts))):
        if len({one[level] for one in parts}) == len(paths):
            return [f"{one[level]}{path.suffix}" for one, path in zip(parts, paths, strict=True)]
    raise Misuse("two files have the same name; models of a file without a model column are named after it")


def _is_ours(frame: pl.DataFrame, columns: Mapping[str, str]) -> bool:
    """Whether rows are under our names, the caller's included; images whose patients nobody names are no cases."""
    names = {*frame.columns, *(ours for ours, theirs in columns.items() if theirs in frame.columns)}
    images = named_by([columns.get("case", "")], IMAGES) if not names & {"video", "unit"} else []
    return {"model", "case", "value"} <= names and not images


def frame_in(path: Path, stated: Mapping[str, str], sheet: str | None) -> pl.DataFrame:
    """The table in a file before anything in it is interpreted; patient 007 stays 007."""
    frame = read_frame(path, sheet=sheet, semicolons=True)
    given = {theirs for ours, theirs in stated.items() if ours != "value"}
    named = {*OURS, *given} if _is_ours(frame, stated) else identifying(frame.columns, given)
    texts = named - {"value", stated.get("value", "value")}
    if not any(frame[name].dtype.is_numeric() for name in texts if name in frame.columns):
        return frame
    return read_frame(path, texts, sheet=sheet, semicolons=True)


def plain_score_table(
    frames: Mapping[str, pl.DataFrame], stated: Mapping[str, str], options: PlainOptions
) -> ScoreTable:
    """The table of one or several plain ones."""
    read = [_PlainFrame(name, frame, dict(stated), options, alone=len(frames) == 1) for name, frame in frames.items()]
    facts = {name: one for plain in read for name, one in plain.facts.items()}
    long = _one_heading(pl.concat([one.frame for one in read], how="diagonal_relaxed"), facts)
    lines = tuple(dict.fromkeys(line for one in read for line in one.lines))
    percent = tuple(dict.fromkeys(name for plain in read for name in plain.percent))
    says_why = "status" in long.columns
    read_as = ReadAs(read[0].unit, lines, says_why=says_why, percent=percent, roles=read[0].roles)
    return ScoreTable.of(long, where=", ".join(frames), facts=facts, read_as=read_as)


def _one_heading(long: pl.DataFrame, facts: Mapping[str, MetricFacts]) -> pl.DataFrame:
    """The rows with a metric called as it was first, where headings mean the same, such as `Dice` and `DSC`.

    Two of them with scores of one case and model stay apart.
    """
    first: dict[tuple[str, str], str] = {}
    same = {}
    for name in long["metric"].unique(maintain_order=True).drop_nulls():
        unit = facts.get(name, facts_by_name(name)).unit
        same[name] = first.setdefault((same_metric(name), unit), name)
    key = [name for name in ("model", "video", "case", "metric") if name in long.columns]
    once = long.with_columns(pl.col("metric").replace(same))
    return once if told_apart_by(once, key) else long


class _PlainFrame:
    """One plain table while it is read."""

    def __init__(
        self, name: str, frame: pl.DataFrame, stated: dict[str, str], options: PlainOptions, *, alone: bool
    ) -> None:
        self.name, self.options = name, options
        self.taken: list[str] = []
        self.facts: dict[str, MetricFacts] = {}
        self.roles: dict[str, str] = {}
        self.percent: list[str] = []
        stated = {ours: theirs.strip() for ours, theirs in stated.items()}
        if unknown := names_unknown(stated, (*OURS, *ROLES, *MORE_ROLES)):
            raise TableInvalid(name, unknown)
        frame = self._plain(frame)
        models, scores = (tuple(one.strip() for one in some) for some in (options.models, options.scores))
        columns = [theirs for ours, theirs in stated.items() if ours != "unit"]
        if absent := [one for one in [*columns, *models, *scores, *options.conditions] if one not in frame.columns]:
            has = quoted(frame.columns)
            raise TableInvalid(name, [f"column {one!r} does not exist; the table has {has}" for one in absent])
        if (repeat := stated.get("repeat")) in NAMING:
            raise TableInvalid(name, [f"column {repeat!r} cannot number repeats under that name; rename it"])
        frame = renamed(frame, {ours: stated.pop(ours) for ours in list(stated) if ours in ROLES}, name)
        guessed = [c for c in named_by(frame.drop(options.conditions).columns, MODELS) if c not in stated.values()]
        model = stated.get("model") or next(iter(guessed), None)
        named = identifying(frame.columns, stated.values()) - {model, stated.get("value")}
        rows = [column for column in frame.columns if column in named or plain_name(column) in NUMBERING]
        frame, left_out = without_summaries(frame, rows)
        self.taken += left_out
        frame = self._numbers(frame, stated, {*models, *scores})
        free = frame.drop(options.conditions)
        naming = frame.drop([*options.conditions, *models, *scores, *filter(None, [stated.get("value")])])
        whole = stated.get("unit") or stated.get("video")
        decided = unit_of(name, naming, stated=whole, case=stated.get("case"), model=model)
        frame = spelled_as_one(frame, decided, model)
        roles = roles_by_name(name, free, decided, stated, self.taken)
        roles = with_scores(name, free, roles, stated, models, scores, self.taken, options.metrics)
        if alone and not (models or scores or roles.models):
            check_not_pooled(name, free, roles)
        whose = [column for column in (roles.model, decided.unit.column, roles.metric) if column]
        if problems := unnamed(frame, whose):
            raise TableInvalid(name, problems)
        self.unit = decided.unit
        apart = [*named_by(frame.columns, PLACES), *filter(None, [roles.model])]
        self.lines: list[Interpreted] = [*decided.spoken, *spelled_apart(frame, apart)]
        self.frame = self._long(frame, roles)
        self.lines += [Interpreted("columns", "", sentence) for sentence in self.taken]

    def _plain(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The table with headings without spaces around them, upright, and without empty rows at its end."""
        plain = [column.strip() for column in frame.columns]
        if len(set(plain)) == len(plain):
            frame = frame.rename(dict(zip(frame.columns, plain, strict=True)))
        frame, left_out = without_empty_end(frame)
        self.taken += left_out
        if (upright := on_its_side(frame)) is not None:
            self.taken.append("each row is a model, each column a case")
            return upright.rename({"score": self.options.measured or "score"})
        return frame

    def _numbers(self, frame: pl.DataFrame, stated: Mapping[str, str], chosen: set[str]) -> pl.DataFrame:
        texts = identifying(frame.columns, [theirs for ours, theirs in stated.items() if ours != "value"])
        frame, spaces = without_spaces(frame, [column for column in frame.columns if column in texts])
        frame, numbers, undecided, self.signed = with_numbers(frame, texts, self.options.decimal)
        chosen = {*chosen, *filter(None, [stated.get("value")])} or set(undecided)
        if problems := [problem for column, problem in undecided.items() if column in chosen]:
            raise TableInvalid(self.name, problems)
        self.taken += [*spaces, *numbers]
        return frame

    def _long(self, frame: pl.DataFrame, roles: ColumnRoles) -> pl.DataFrame:
        """The long table under our names."""
        rows = self._with_units(frame, roles)
        strata = self._conditions(rows, roles)
        self.roles = _columns_by_role(roles, strata)
        long = self._in_range(self._unpivoted(rows, roles, strata))
        if roles.named and not roles.models:  # a column for each class
            classes = {name: rest for name, (_, rest) in roles.named.items()}
            long = long.with_columns(pl.col("__column__").replace_strict(classes).alias("class"))
            long = long.with_columns(pl.concat_str("case", "class", separator="/").alias("case"))
            self.lines += part_lines(["class"])
            strata.append("class")
        key = [name for name in ("model", "video", "case", "metric") if name in long.columns]
        wanted = [*key, "value", *roles.repeats]
        known = set(frame["status"].drop_nulls().cast(pl.String)) <= set(Status) if "status" in strata else False
        wanted += ["status"] if known and not roles.models else []
        long = long.select(*wanted, *(name for name in strata if name not in OURS))
        long, spoken = averaged(long, key, roles.repeats)
        self.lines += [*spoken, *part_lines(roles.parts), *self._shown(roles), *self._unused(rows, roles, strata)]
        return long

    def _unused(self, rows: pl.DataFrame, roles: ColumnRoles, strata: Sequence[str]) -> list[Interpreted]:
        """Said of columns of numbers that are neither scores nor conditions, so that nobody believes they counted."""
        used = {*roles.used, roles.decided.unit.column, *strata, *NAMING, "status", "__row__"}
        rest = [name for name in rows.columns if name not in used and plain_name(name) not in NUMBERING]
        rest = [name for name in rest if rows[name].dtype.is_numeric() and rows[name].n_unique() > 1]
        apart = rows.group_by("__case__").agg(pl.col(rest).n_unique()) if roles.model else rows.clear()
        remarks = {UNREAD: [one for one in rest if apart[one].max() not in (None, 1) and _is_unread(rows[one])]}
        remarks["columns"] = [name for name in rest if name not in remarks[UNREAD]]
        how = "a metric among them is one with --better NAME=larger or NAME=smaller"
        return [
            Interpreted(code, ", ".join(names), f"not used: {quoted(names)}; {how}")
            for code, names in remarks.items()
            if names
        ]

    def _with_units(self, frame: pl.DataFrame, roles: ColumnRoles) -> pl.DataFrame:
        """The rows with their number, case and, where it is more than the case, unit."""
        unit, finer, groups, _ = roles.decided
        rows = frame.with_columns(self._case(frame, roles).alias("__case__")).with_row_index("__row__", offset=1)
        if not unit.is_known:
            return rows.with_columns(pl.lit(NOT_SAID).alias("__video__"))
        if groups is not None:
            return rows.with_columns(groups.alias("__video__"))
        if unit.column and (finer != (unit.column,) or roles.parts or (roles.named and not roles.models)):
            return rows.with_columns(pl.col(unit.column).cast(pl.String).alias("__video__"))
        return rows

    def _unpivoted(self, rows: pl.DataFrame, roles: ColumnRoles, strata: Sequence[str]) -> pl.DataFrame:
        """A row for every score, with `__row__` and `__column__` where it stands."""
        scores, kept = roles.models or roles.scores, [*strata, *roles.repeats]
        ours = {"__case__": "case", "__video__": "video", roles.model: "model", roles.metric: "metric"}
        long = rows.select(
            "__row__",
            *(pl.col(name).cast(pl.String).alias(called) for name, called in ours.items() if name in rows.columns),
            *(pl.col(column).alias(f"__{column}") for column in kept),
            *(pl.col(column).cast(pl.Float64) for column in scores),
        )
        index = [column for column in long.columns if column not in scores]
        long = long.unpivot(on=list(scores), index=index, variable_name="__column__", value_name="__value__")
        for name, called in zip(("model", "metric"), self._names(roles), strict=True):
            if name not in long.columns:
                long = long.with_columns(pl.col("__column__").replace_strict(called).alias(name))
        return long.rename({f"__{name}": name for name in kept} | {"__value__": "value"})

    def _in_range(self, long: pl.DataFrame) -> pl.DataFrame:
        """The rows with percentages as shares.

        Raises:
            TableInvalid: Scores that their metric cannot take, by the columns and rows in which they stand.
        """
        metrics = long["metric"].unique(maintain_order=True).drop_nulls()
        known = {name: self.facts.get(name) or facts_by_name(name) for name in metrics}
        signed = long.filter(pl.col("__column__").is_in(self.signed))["metric"].unique().to_list()
        long, scaled = rescaled(long, known)
        self.percent += [*signed, *(line.column for line in scaled if line.code == "scale")]
        self.lines += scaled
        scores = long.select("__column__", "metric", row="__row__", value="value")
        by_metric = scores.group_by("__column__", "metric", maintain_order=True)
        problems = [
            problem
            for (column, name), rows in by_metric
            for problem in range_problems(rows, str(column), known.get(str(name)) or facts_by_name(str(name)))
        ]
        if problems:
            raise TableInvalid(self.name, problems)
        return long

    def _names(self, roles: ColumnRoles) -> tuple[dict[str, str], dict[str, str]]:
        """The model and the metric of every column of scores, where no column names them."""
        sheet = split_sheet(Path(self.name))[1]
        stem = sheet or self.name.rpartition(".")[0] or self.name
        if roles.models:
            of_all = self.options.measured if not roles.named else None
            unnamed_metric = of_all or (stem if known_as(stem) else UNNAMED)
            named = roles.named or {column: (unnamed_metric, column) for column in roles.models}
            called = {same_metric(metric): metric for metric, _ in reversed(list(named.values()))}
            metrics = {column: called[same_metric(metric)] for column, (metric, _) in named.items()}
            of_columns = self._measured(metrics) if roles.named else metrics  # what is behind a model is no unit
            return {column: model for column, (_, model) in named.items()}, of_columns
        if not roles.model:
            after = "sheet" if sheet else "file"
            self.taken.append(f"no column names a model: the table is one, called {stem!r} after its {after}")
        stems = {column: without_brackets(column)[0] for column in roles.scores}
        if roles.named:
            stems = {column: metric for column, (metric, _) in roles.named.items()}
        elif len(set(stems.values())) < len(stems):
            stems = {column: column for column in stems}
        return dict.fromkeys(roles.scores, stem), self._measured(stems)

    def _measured(self, metrics: dict[str, str]) -> dict[str, str]:
        """The metrics of columns; what stands in brackets behind their names is their unit."""
        for column, metric in metrics.items():
            unit = without_brackets(column)[1]
            if unit != "%" and is_unit(unit) and known_as(metric) and metric not in self.facts:
                self.facts[metric] = replace(facts_by_name(metric), unit=unit)
        return metrics

    def _conditions(self, rows: pl.DataFrame, roles: ColumnRoles) -> list[str]:
        """Columns that divide cases: few values, alike for all models of a case, and no names of cases."""
        used = {*roles.used, "__case__", "__row__", "__video__", *NAMING}
        used -= {*named_by(rows.columns, CLINICS)}  # also where patients are numbered within each
        kept = [column for column in rows.columns if column not in used and self._is_condition(rows, column)]
        types = [line.column for line in roles.decided.spoken if line.code == "type"]
        return list(dict.fromkeys([*roles.parts, *kept, *(column for column in types if column not in used)]))

    def _is_condition(self, rows: pl.DataFrame, column: str) -> bool:
        levels, cases = rows[column].n_unique(), rows["__case__"].n_unique()
        if column in self.options.conditions:
            return True
        if plain_name(column) in NUMBERING or levels < 2 or (levels > MOST_LEVELS and not is_quantity(rows[column])):
            return False
        names_cases = levels == cases and rows[column].dtype == pl.String
        return column in OURS or (not names_cases and rows.select("__case__", column).unique().height == cases)

    def _case(self, frame: pl.DataFrame, roles: ColumnRoles) -> pl.Expr:
        """What tells the cases of one unit apart, the unit's name included."""
        given = [column for column in roles.keys if column not in (roles.metric, *roles.repeats)]
        others = [column for column in (roles.model, roles.metric, *roles.repeats) if column]
        if given and told_apart_by(frame, [*given, *others]):
            return pl.concat_str([pl.col(column).cast(pl.String).fill_null("") for column in given], separator="/")
        if self.options.pooled or (roles.model is None and roles.metric is None):
            finer = [column for column in roles.decided.finer if column != roles.decided.unit.column]
            again = bool(finer) and bool(given) and not told_apart_by(frame, given)
            self.taken.append(_counted_apart(frame, given) if again else "each row is a case of its own")
            return pl.int_range(pl.len()).cast(pl.String).str.zfill(len(str(frame.height)))
        rest = [column for column in frame.columns if column not in roles.used]
        raise TableInvalid(
            self.name, [_not_told_apart(frame, given, [*given, *others], rest, known=roles.decided.unit.is_known)]
        )

    def _shown(self, roles: ColumnRoles) -> list[Interpreted]:
        lines = [Interpreted("columns", roles.model, f"models are named by {roles.model!r}")] if roles.model else []
        if roles.scores:
            lines.append(Interpreted("columns", "", f"scores stand in {quoted(roles.scores)}"))
        if roles.models and roles.named:
            held = list(dict.fromkeys(metric for metric, _ in roles.named.values()))
            lines.append(
                Interpreted("columns", "", f"the metric is {' or '.join(map(repr, held))}, as the columns say")
            )
        return lines


def _columns_by_role(roles: ColumnRoles, strata: Sequence[str]) -> dict[str, str]:
    """What each column is; one that is several things is the last of them."""
    unit, finer, groups, _ = roles.decided
    named = {
        "condition": strata,
        "part": roles.parts,
        "repeat": roles.repeats,
        "metric": [roles.metric],
        "score": roles.scores,
        "model scores": roles.models,
        "model": [roles.model],
        "unit": [unit.column] if groups is None else [],
        "case": [column for column in finer if column != unit.column or groups is not None],
    }
    return {column: role for role, columns in named.items() for column in columns if column}


def _is_unread(column: pl.Series) -> bool:
    """Whether numbers that differ between models may be a metric: they have decimals, and sum up nothing."""
    return bool((column % 1 != 0).any()) and not sums_up(column.name.replace("_", " "))


def _counted_apart(frame: pl.DataFrame, keys: Sequence[str]) -> str:
    again = (~frame.select(keys).to_struct().is_first_distinct()).arg_true()
    many = "1 row repeats" if len(again) == 1 else f"{len(again):,} rows repeat"
    return f"{many} the names of another (first: row {again[0] + 1}); each counts as a case of its own"


def _not_told_apart(
    frame: pl.DataFrame, given: Sequence[str], keys: Sequence[str], rest: Sequence[str], *, known: bool
) -> str:
    """Why rows of the models cannot be put side by side, and what to do."""
    first = frame.to_struct().is_first_distinct()
    again = (~(first if not first.all() else frame.select(keys).to_struct().is_first_distinct())).arg_true()
    if again.is_empty():
        return "no column names cases, so that nothing belongs together: say which names patients, --unit COLUMN"
    named = frame.select(keys).rows()
    row = int(again[0])
    same = named.index(named[row])
    if given and told_apart_by(frame.filter(first), keys):
        many = "1 row is" if len(again) == 1 else f"{len(again):,} rows are"
        return f"{many} there twice (first: row {row + 1}, the same as row {same + 1}); remove them"
    unsaid = f"{quoted(given)} {verb(given, 'does', 'do')} not say" if given else "no column says"
    several = [column for column in rest if 2 * frame[column].n_unique() <= frame.height]
    telling = [column for column in several if told_apart_by(frame, [*keys, column])]
    says = (
        "name the column that tells cases of one patient apart, --case COLUMN; where there is none, add one, or remove "
        "the row that does not hold"
    )
    if telling:
        one, repeat = shlex.quote(telling[0]), shlex.quote(f"repeat={telling[0]}")
        whose = "" if known else f"--unit {one} if it names patients or videos, "
        says = f"they differ in {quoted(telling)}: say {whose}--case {one} if it tells cases of one patient apart, "
        says += f"--columns {repeat} if it numbers measurements of one case"
    return (
        f"{unsaid} which rows of the models belong together (rows repeat; first duplicates: rows "
        f"{same + 1} and {row + 1}): {says}"
    )


def _with_primary(table: ScoreTable) -> ScoreTable:
    """The table with a primary metric where it has several: the first ratio, else overlap, else distance."""
    if len(table.metrics) < 2 or table.main in table.metrics:
        return table
    known = {name: table.facts_of(name) for name in table.metrics}
    known = {name: facts for name, facts in known.items() if facts.better is not None}
    if not known:
        return table
    return replace(table, main=min(known, key=lambda name: _preference(known[name])))


def _preference(facts: MetricFacts) -> int:
    """Ratios such as Dice and accuracy first, then overlap, then what has no upper end."""
    if facts.better == "smaller" or facts.high != 1.0:
        return 2
    return 1 if known_as(facts.name) in ("iou", "miou_per_image", "miou_pooled") else 0


def _with_coverage(table: ScoreTable, metric: str | None) -> TableReading:
    """The table with what is missing and shared in its primary metric."""
    name = metric if metric in table.metrics else table.main or table.metrics[0]
    others, unit, lines = [one for one in table.metrics if one != name], table.unit, []
    if table.main == name and others and not metric:
        text = f"{name!r} is the primary metric; the table scores {quoted(others)} too"
        lines.append(Interpreted("metric", name, text))
    codes = {line.code for line in table.read_as.interpreted}
    if unit.level == "E4" and "evidence" not in codes and (evidence := group_evidence(table.frame, name)):
        lines.append(Interpreted("evidence", unit.column, evidence))
    if "unit" not in codes:
        count = table.frame["video"].n_unique()
        lines.append(Interpreted("unit", unit.column, f"{count:,} {unit.word}s are independent"))
    shared, spoken = coverage(table, name)
    interpreted = table.read_as.lines_with(*spoken, *lines)
    if interpreted != table.read_as.interpreted:  # else it stays the one whose matrices are made
        table = replace(table, read_as=replace(table.read_as, interpreted=interpreted))
    note_readings(interpreted)
    return TableReading(table, name, interpreted, shared)


def coverage(table: ScoreTable, metric: str) -> tuple[int, list[Interpreted]]:
    """The units in which all models have scores of a metric; scores and units that some of them lack, in words."""
    rows = table.frame.filter(pl.col("metric") == metric)
    key = [name for name in ("task", "case") if name in rows.columns]
    cases, scored = rows.select(*key, "video").unique(), rows.filter(pl.col("value").is_not_null())
    units = cases["video"].n_unique()
    if len(table.models) * rows.n_unique(key) == scored.height:
        return units, []
    by_model = {str(model): some for (model,), some in scored.group_by("model")}
    held = {model: by_model.get(model, scored.clear()).select(*key, "video") for model in table.models}
    rule = usual_rules(table.facts_of(metric), says_why=table.read_as.says_why)[Status.MISSING]
    leaves, how = rule == "drop-case", f"they count as the {rule} value"
    asked = {m: (cases.join(some, on="video", how="semi") if leaves else cases).height for m, some in held.items()}
    absent = {model: asked[model] - some.n_unique(key) for model, some in held.items()}
    counted = [f"{count:,} score{'s' * (count > 1)} of {model}" for model, count in absent.items() if count]
    spoken = []
    if counted:
        text = f"not there: {', '.join(counted)}; {'a comparison leaves those cases out' if leaves else how}"
        spoken.append(Interpreted("missing", metric, text))
    if not leaves:
        return units, spoken
    has = {model: set(some["video"]) for model, some in held.items()}
    common = len(set.intersection(*has.values()))
    lacking = {model: units - len(some) for model, some in has.items() if len(some) < units}
    if lacking and table.unit.is_known and table.has_videos:
        word, counted = table.unit.word, [f"{model} has no scores in {count:,}" for model, count in lacking.items()]
        where = _all_of(table, has[next(iter(lacking))]) if len(lacking) == 1 else ""
        text = f"compared on {common:,} of {units:,} {word}s; {', '.join(counted)}{where}"
        spoken.append(Interpreted("shared", metric, text))
    return common, spoken


def _all_of(table: ScoreTable, units: set[str]) -> str:
    """The condition that holds of exactly the other units, where one does."""
    gone = ~pl.col("video").is_in(list(units))
    for column in table.strata:
        levels = table.frame.filter(gone)[column].unique()
        if len(levels) == 1 and not table.frame.filter(~gone)[column].eq(levels[0]).any():
            return f" (all of {column} {levels[0]})"
    return ""
