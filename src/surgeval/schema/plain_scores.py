"""Which columns of a plain table hold scores, and whether these columns are metrics or models."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

import polars as pl

from surgeval.errors import TableInvalid
from surgeval.schema.metric_facts import known_as
from surgeval.schema.plain_columns import (
    MODELS,
    NUMBERING,
    Roles,
    models_by_shape,
    plain_name,
    quoted,
    verb,
    with_kinds,
    with_model,
)
from surgeval.schema.plain_rows import sums_up
from surgeval.schema.written_numbers import nearly_numbers

_DESCRIBING = {
    "age", "sex", "gender", "bmi", "weight", "height", "year", "fold", "seed", "epoch", "alter", "geschlecht",
    "center", "centre", "hospital", "site", "zentrum", "klinik",
}  # fmt: skip
"""Numbers that are no scores, whatever they are."""
_VALUES = {"value", "score"}
_FAR = 20.0
"""A numeric column whose typical value is so many times another's is not taken for a score of the same kind."""


def scored(
    name: str, frame: pl.DataFrame, roles: Roles, columns: dict[str, str], models: tuple[str, ...],
    scores: tuple[str, ...], measured: str | None, taken: list[str],
) -> Roles:  # fmt: skip
    """The roles with the columns that hold scores, and with the models where these are columns."""
    roles = roles if "case" in columns else with_kinds(frame, roles, {*models, *scores, columns.get("value", "")})
    if models:
        return roles._replace(models=models, model=None)
    if "value" in columns or scores:
        return with_model(name, frame, roles._replace(scores=scores or (columns["value"],)), taken)
    used = {roles.model, roles.patient, roles.metric, *roles.case}
    numeric = [
        c for c in frame.columns if _is_score(frame[c]) and c not in used and plain_name(c) not in NUMBERING | MODELS
    ]
    described = [c for c in numeric if plain_name(c) in _DESCRIBING]
    if described and len(described) < len(numeric):
        numeric = [column for column in numeric if column not in described]
        they = verb(described, "describes cases and holds", "describe cases and hold")
        taken.append(f"{quoted(described)} {they} no scores")
    plain = [c for c in numeric if plain_name(c) in _VALUES]
    known = [c for c in numeric if known_as(c)]
    if not numeric:
        first = {c: frame[c].drop_nulls().head(1).cast(pl.String).to_list() for c in frame.columns}
        shown = ", ".join(f"{c!r} ({first[c][0]!r})" if first[c] else repr(c) for c in frame.columns)
        nearly = nearly_numbers(frame, [column for column in frame.columns if column not in used])
        raise TableInvalid(name, nearly or [f"no column of numbers that could be a score; the table has {shown}"])
    if odd := _odd_cells(frame, [c for c in frame.columns if c not in used], roles, numeric, known):
        raise TableInvalid(name, odd)
    if len(plain) == 1 and (roles.metric or not known):
        return with_model(name, frame, roles._replace(scores=(plain[0],)), taken)
    if known:
        left = [column for column in numeric if column not in known]
        if roles.model is None and len(left) > 1:
            raise TableInvalid(name, [_two_readings(known, left)])
        return with_model(name, frame, roles._replace(scores=tuple(known)), taken)
    if len(numeric) == 1:
        return with_model(name, frame, roles._replace(scores=(numeric[0],)), taken)
    if roles.model is not None or models_by_shape(frame, roles):
        listed = ", ".join(map(repr, numeric))
        raise TableInvalid(name, [f"several columns may hold the score ({listed}); say which: --scores {numeric[0]}"])
    measuring = _of_one_metric(name, numeric, measured)
    if others := tuple(column for column in numeric if column not in measuring):
        taken.append(f"{', '.join(map(repr, others))} of other metrics are left out")
    numeric, roles = measuring, roles._replace(others=others)
    if problem := _no_model(frame, roles, numeric):
        raise TableInvalid(name, [problem])
    taken.append(f"each of the columns {', '.join(map(repr, numeric))} is a model, each row a case")
    return roles._replace(models=tuple(numeric))


def _no_model(frame: pl.DataFrame, roles: Roles, numeric: Sequence[str]) -> str:
    """Why some columns of numbers may be no models though others are, and what to say; empty where all may be."""
    every = f"--models {shlex.quote(','.join(numeric))}"
    summing = [column for column in numeric if sums_up(column.replace("_", " "))]
    if len(summing) == len(numeric):
        return f"several columns may hold the score ({quoted(numeric)}); say which: --scores {shlex.quote(numeric[0])}"
    if summing:
        rest = shlex.quote(",".join(column for column in numeric if column not in summing))
        message = f"{quoted(summing)} may sum up the other columns; say which columns are models: --models {rest}"
        return f"{message}, or all of them: {every}"
    counting = _whole_alone(frame, numeric)
    if alien := _alien(frame, numeric):
        likely = [c for c in numeric if c not in alien and c not in counting] or alien
        others = quoted(column for column in numeric if column not in alien)
        message = f"{quoted(alien)} {verb(alien, 'is', 'are')} on another scale than {others}; say which columns are"
        return f"{message} models: --models {shlex.quote(','.join(likely))}, or all of them: {every}"
    return _may_count(frame, roles, counting, numeric) if counting else ""


def _odd_cells(
    frame: pl.DataFrame, free: Sequence[str], roles: Roles, numeric: Sequence[str], known: Sequence[str]
) -> list[str]:
    """What is wrong with columns that would be scores but for some cells; without them they would count as texts."""
    named = [column for column in free if known_as(column) or plain_name(column) in _VALUES]
    if roles.model or roles.metric or known:
        option, others = "--scores", known or numeric
    else:
        option, others = "--models", numeric
        whole = not _with_decimals(frame, numeric)
        named += [column for column in free if column not in named and (whole or _with_decimals(frame, [column]))]
    without = f"or leave the column out: {option} {shlex.quote(','.join(others))}"
    return [f"{problem}, {without}" for problem in nearly_numbers(frame, named)]


def _with_decimals(frame: pl.DataFrame, columns: Sequence[str]) -> list[str]:
    """Columns in which most cells have decimals."""
    cells = {column: frame[column].drop_nulls().cast(pl.String) for column in columns}
    shares = {c: texts.str.contains(r"^[+-]?\d+[.,]\d*[1-9]").mean() for c, texts in cells.items()}
    return [column for column, share in shares.items() if float(share or 0) > 0.5]  # type: ignore[arg-type]


def _two_readings(known: Sequence[str], left: Sequence[str]) -> str:
    return (
        f"two readings fit: {', '.join(map(repr, known))} as metrics of one model (--scores {','.join(known)}), or "
        f"columns as models (--models {','.join([*known, *left])})"
    )


def _is_score(column: pl.Series) -> bool:
    return column.dtype.is_numeric() or column.dtype == pl.Boolean


def _alien(frame: pl.DataFrame, numeric: Sequence[str]) -> list[str]:
    """Columns whose typical value is far from that of the smallest."""
    typical = {column: float(frame[column].cast(pl.Float64).abs().median() or 0.0) for column in numeric}  # type: ignore[arg-type]
    least = min((value for value in typical.values() if value > 0), default=0.0)
    return [column for column, value in typical.items() if least and value > _FAR * least]


def _of_one_metric(name: str, numeric: Sequence[str], measured: str | None) -> list[str]:
    """Of columns such as `dice_unet` and `hd95_unet`, those of the metric that is measured; else all.

    Raises:
        TableInvalid: They are of several metrics, and nobody says which is measured.
    """
    metrics = {column: next(filter(known_as, _first_and_last(column)), "") for column in numeric}
    held = {known_as(metric): metric for metric in metrics.values() if metric}
    if len(held) < 2:
        return list(numeric)
    if measured is None or known_as(measured) not in held:
        options = " or ".join(f"--metric {metric}" for metric in held.values())
        raise TableInvalid(name, [f"columns hold several metrics; say which: {options}"])
    return [column for column, metric in metrics.items() if metric and known_as(metric) == known_as(measured)]


def _first_and_last(column: str) -> list[str]:
    words = _words(column)
    return [words[0], words[-1]] if len(words) > 1 else []


def _words(column: str) -> list[str]:
    return [word for word in re.split(r"[_\-. ]+", column) if word]


def _whole_alone(frame: pl.DataFrame, numeric: Sequence[str]) -> list[str]:
    """Columns of whole numbers beside others with decimals; nothing but zeros, or but ones, are scores of a model."""
    columns = {column: frame[column].cast(pl.Float64).drop_nulls() for column in numeric}
    whole = [column for column, cells in columns.items() if (cells == cells.round()).all()]
    alike = {c for c in whole if columns[c].n_unique() == 1 and columns[c][0] in (0.0, 1.0)}
    return [c for c in whole if c not in alike] if len(whole) < len(numeric) else []


def _may_count(frame: pl.DataFrame, roles: Roles, counting: Sequence[str], numeric: Sequence[str]) -> str:
    others = [column for column in numeric if column not in counting]
    message = f"{quoted(counting)} {verb(counting, 'holds', 'hold')} whole numbers alone, unlike {quoted(others)}; "
    message += f"say which columns are models: --models {shlex.quote(','.join(others))}"
    if frame.select(pl.col(counting).cast(pl.Float64).is_in([0.0, 1.0]).all()).row(0).count(True):
        return f"{message}, or all of them: --models {shlex.quote(','.join(numeric))}"
    keys = [column for column in (roles.patient, *roles.case) if column]
    if keys and frame.select(keys).is_unique().all():
        return message
    telling = [column for column in counting if frame.select(*keys, column).is_unique().all()]
    return f"{message}, with --columns case={telling[0]} if it numbers cases" if telling else message
