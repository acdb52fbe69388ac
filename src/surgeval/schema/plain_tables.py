"""A score table from a plain one: which column names models, patients and cases, and which columns are scores.

Long tables have a row per model and case, wide ones a row per case and a column per model; a file of one model has
neither. Columns are taken by their names, then by what only one reading of them allows, and every choice is told.
Where two readings fit, none is taken: the error lists them with the option that chooses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from surgeval.errors import TableInvalid
from surgeval.schema.metric_facts import facts_by_name, known_as
from surgeval.schema.outcomes import Status
from surgeval.schema.plain_columns import (
    MOST_LEVELS,
    NUMBERING,
    PATIENTS,
    Roles,
    check_not_pooled,
    identified,
    identifying,
    plain_name,
)
from surgeval.schema.plain_rows import summaries, unnamed, without_empty_end, without_spaces
from surgeval.schema.plain_scores import scored
from surgeval.schema.score_ranges import range_problems
from surgeval.schema.table_files import OURS, names_unknown, split_sheet
from surgeval.schema.written_numbers import with_numbers

UNNAMED = "score"
"""What the scores of a wide table are of where neither its columns, its file nor the caller says it."""


class PlainTable(NamedTuple):
    """The rows under our names, and what was taken for what."""

    frame: pl.DataFrame
    taken: tuple[str, ...]
    """One sentence per choice."""
    unit: str = "video"
    """What is independent, in a word: `patient`, `procedure` or `video`."""


def plain_table(
    frames: Mapping[str, pl.DataFrame],
    *,
    columns: Mapping[str, str] | None = None,
    models: Sequence[str] = (),
    scores: Sequence[str] = (),
    measured: str | None = None,
    decimal: str | None = None,
) -> PlainTable:
    """The rows of one or several plain tables as one long table with `model`, `video`, `case`, `metric` and `value`.

    Args:
        frames: By the name of their file; it becomes the name of the model where nothing else names one.
        columns: Our names to theirs, as for `read_score_table`; what is said here is not guessed.
        models: Columns that are models (a wide table).
        scores: Columns that are metrics.
        measured: The metric whose values the columns of a wide table hold.
        decimal: What stands before decimals in written numbers, where a column does not show it.

    Raises:
        TableInvalid: Columns that do not exist, no score, or several readings; each with what to say.

    Example:
        >>> wide = pl.DataFrame({"patient": ["p1", "p2"], "unet": [0.8, 0.7], "swin": [0.9, 0.6]})
        >>> plain_table({"dice.csv": wide}).frame.columns
        ['model', 'video', 'case', 'metric', 'value']
    """
    read = [
        _read(name, frame, dict(columns or {}), tuple(models), tuple(scores), measured, decimal, alone=len(frames) == 1)
        for name, frame in frames.items()
    ]
    long = pl.concat([one.frame for one in read], how="diagonal_relaxed")
    return PlainTable(long, tuple(dict.fromkeys(sentence for one in read for sentence in one.taken)), read[0].unit)


def _read(
    name: str, frame: pl.DataFrame, columns: dict[str, str], models: tuple[str, ...], scores: tuple[str, ...],
    measured: str | None, decimal: str | None, *, alone: bool,
) -> PlainTable:  # fmt: skip
    if unknown := names_unknown(columns, OURS):
        raise TableInvalid(name, unknown)
    frame, left_out = without_empty_end(_with_plain_headings(frame))
    columns, models, scores = _stripped(columns, models, scores)
    stated = [*columns.values(), *models, *scores]
    if absent := [one for one in stated if one not in frame.columns]:
        has = ", ".join(map(repr, frame.columns))
        raise TableInvalid(name, [f"column {one!r} does not exist; the table has {has}" for one in absent])
    texts = identifying(frame.columns, columns)
    frame, spaces = without_spaces(frame, [column for column in frame.columns if column in texts])
    frame, taken, undecided = with_numbers(frame, texts, decimal)
    chosen = {*models, *scores, *filter(None, [columns.get("value")])} or set(undecided)
    if problems := [problem for column, problem in undecided.items() if column in chosen]:
        raise TableInvalid(name, problems)
    taken = [*left_out, *spaces, *taken]
    roles = scored(name, frame, identified(name, frame, columns, taken), columns, models, scores, measured, taken)
    if alone and not (models or scores or roles.models):
        check_not_pooled(name, frame, roles)
    whose = [column for column in (roles.model, roles.patient, roles.metric) if column]
    named = [column for column in (roles.patient, *roles.case) if column]
    if problems := [*summaries(frame, named), *unnamed(frame, whose)]:
        raise TableInvalid(name, problems)
    unit = PATIENTS.get(plain_name(roles.patient or ""), "video")
    return PlainTable(_long(name, frame, roles, measured, taken), tuple(taken), unit)


def _with_plain_headings(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with headings without spaces around them, unless two would be the same."""
    plain = [column.strip() for column in frame.columns]
    return frame.rename(dict(zip(frame.columns, plain, strict=True))) if len(set(plain)) == len(plain) else frame


def _stripped(
    columns: Mapping[str, str], models: Sequence[str], scores: Sequence[str]
) -> tuple[dict[str, str], tuple[str, ...], tuple[str, ...]]:
    """What the caller calls the columns, without spaces around it."""
    named = {ours: theirs.strip() for ours, theirs in columns.items()}
    return named, tuple(one.strip() for one in models), tuple(one.strip() for one in scores)


def _long(name: str, frame: pl.DataFrame, roles: Roles, measured: str | None, taken: list[str]) -> pl.DataFrame:
    """The long table under our names."""
    sheet = split_sheet(Path(name))[1]
    stem = sheet or name.rpartition(".")[0] or name
    scores = roles.models or roles.scores
    identity = {roles.model, roles.patient, roles.metric, *roles.case, *scores, *roles.others}
    rows = frame.with_columns(_case(name, frame, roles, taken).alias("__case__")).with_row_index("__row__", offset=1)
    strata = [c for c in frame.columns if c not in identity and _is_condition(rows, c)]
    keys = [pl.col("__row__"), pl.col("__case__"), *(pl.col(column) for column in strata)]
    keys += [pl.col(roles.patient).cast(pl.String).alias("__video__")] if roles.patient else []
    keys += [pl.col(roles.model).cast(pl.String).alias("__model__")] if roles.model else []
    keys += [pl.col(roles.metric).cast(pl.String).alias("__metric__")] if roles.metric else []
    numbers = [pl.col(column).cast(pl.Float64) for column in scores]
    selected = rows.select(*keys, *numbers)
    index = [column for column in selected.columns if column not in scores]
    long = selected.unpivot(on=list(scores), index=index, variable_name="__column__", value_name="__value__")
    prefix = _common_metric(roles.models)
    model = pl.col("__model__") if roles.model else pl.lit(stem)
    metric = pl.col("__metric__") if roles.metric else pl.col("__column__")
    if roles.models:
        model = (
            pl.col("__column__").str.strip_prefix(prefix).str.strip_chars("_-. ") if prefix else pl.col("__column__")
        )
        metric = pl.lit(measured or (prefix or (stem if known_as(stem) else UNNAMED)).strip("_-. "))
    elif not roles.model:
        taken.append(
            f"no column names a model: the table is one, called {stem!r} after its {'sheet' if sheet else 'file'}"
        )
    taken += _sentences(roles, metric_name=prefix.strip("_-. ") if prefix else "")
    if problems := _out_of_range(long.with_columns(metric.alias("__metric__"))):
        raise TableInvalid(name, problems)
    video = [pl.col("__video__").alias("video")] if roles.patient else []
    wanted = [model.alias("model"), *video, pl.col("__case__").alias("case"), metric.alias("metric")]
    wanted.append(pl.col("__value__").alias("value"))
    if "status" in strata and not roles.models and set(frame["status"].drop_nulls().cast(pl.String)) <= set(Status):
        wanted.append(pl.col("status"))
    return long.select(*wanted, *(pl.col(column) for column in strata if column not in OURS))


def _is_condition(rows: pl.DataFrame, column: str) -> bool:
    """Whether a column divides cases: it has few values, is alike for all models of a case, and names no case."""
    levels = rows[column].n_unique()
    if plain_name(column) in NUMBERING or not 1 < levels <= MOST_LEVELS:
        return False
    cases = rows["__case__"].n_unique()
    names_cases = levels == cases and rows[column].dtype == pl.String
    return column in OURS or (not names_cases and rows.select("__case__", column).unique().height == cases)


def _out_of_range(long: pl.DataFrame) -> list[str]:
    """Scores that their metric cannot take, by the columns and rows in which they stand."""
    scores = long.select("__column__", "__metric__", row="__row__", value="__value__")
    by_metric = scores.group_by("__column__", "__metric__", maintain_order=True)
    return [
        p for (column, name), rows in by_metric for p in range_problems(rows, str(column), facts_by_name(str(name)))
    ]


def _common_metric(models: Sequence[str]) -> str:
    """The name of a metric that all columns begin with, such as `dice_` of `dice_unet`; empty where there is none."""
    heads = {re.split(r"(?<=[_\-. ])", column, maxsplit=1)[0] for column in models}
    head = heads.pop() if len(heads) == 1 else ""
    return head if head and known_as(head.strip("_-. ")) else ""


def _case(name: str, frame: pl.DataFrame, roles: Roles, taken: list[str]) -> pl.Expr:
    """What tells the cases of one patient apart, the patient's name included."""
    given = [column for column in (roles.patient, *roles.case) if column]
    others = [column for column in (roles.model, roles.metric) if column]
    if given and frame.select(*given, *others).is_unique().all():
        return pl.concat_str([pl.col(column).cast(pl.String).fill_null("") for column in given], separator="/")
    if roles.model is None and roles.metric is None:
        taken.append(_counted_apart(frame, given) if roles.case else "each row is a case of its own")
        return pl.int_range(pl.len()).cast(pl.String).str.zfill(len(str(frame.height)))
    if given and (twice := _twice(frame, [*given, *others])):
        raise TableInvalid(name, [twice])
    shown = ", ".join(map(repr, given)) or "no column"
    raise TableInvalid(
        name,
        [
            f"{shown} does not say which rows of the models belong together (rows repeat): "
            "name the column that tells cases of one patient apart, --columns case=COLUMN; where there is none, add one"
        ],
    )


def _counted_apart(frame: pl.DataFrame, keys: Sequence[str]) -> str:
    again = (~frame.select(keys).to_struct().is_first_distinct()).arg_true()
    many = "1 row repeats" if len(again) == 1 else f"{len(again):,} rows repeat"
    return f"{many} the names of another (first: row {again[0] + 1}); each counts as a case of its own"


def _twice(frame: pl.DataFrame, keys: Sequence[str]) -> str:
    """Which rows are repeated cell by cell, in words; empty where other rows repeat too."""
    first = frame.to_struct().is_first_distinct()
    if not frame.filter(first).select(keys).is_unique().all():
        return ""
    again = (~first).arg_true()
    named = frame.select(keys).rows()
    same = named.index(named[again[0]])
    many = "1 row is" if len(again) == 1 else f"{len(again):,} rows are"
    return f"{many} there twice (first: row {again[0] + 1}, the same as row {same + 1}); remove them"


def _sentences(roles: Roles, metric_name: str) -> list[str]:
    sentences = [f"models are named by {roles.model!r}"] if roles.model else []
    sentences += [f"patients (or videos) by {roles.patient!r}"] if roles.patient else []
    sentences += [f"cases by {', '.join(map(repr, roles.case))}"] if roles.case else []
    sentences += [f"scores stand in {', '.join(map(repr, roles.scores))}"] if roles.scores else []
    sentences += [f"the metric is {metric_name!r}, which all these columns begin with"] if metric_name else []
    return sentences
