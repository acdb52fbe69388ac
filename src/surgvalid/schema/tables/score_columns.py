"""Which columns of a plain table name models and metrics, which hold scores, and whether these are metrics or models.

Columns are taken by their names, then by what only one reading of them allows. Where two readings fit, none is taken:
the error lists them with the option that chooses.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import polars as pl

from surgvalid.errors import TableInvalid
from surgvalid.schema.metric_facts import facts_by_name, known_as
from surgvalid.schema.tables.column_words import (
    DESCRIBING,
    METRICS,
    MODELS,
    NUMBERING,
    PARTS,
    PERHAPS_MODELS,
    REPEATS,
    is_class,
    is_unit,
    named_by,
    plain_name,
    quoted,
    verb,
    without_brackets,
)
from surgvalid.schema.tables.read_rows import telling_kinds
from surgvalid.schema.tables.summary_rows import summing, sums_up
from surgvalid.schema.tables.table_files import ROLE_OPTIONS
from surgvalid.schema.tables.tabular import told_apart_by
from surgvalid.schema.tables.units import Decided
from surgvalid.schema.tables.written_numbers import nearly_numbers

MOST_LEVELS = 30
"""Different values of a text column that may name models by its shape alone, or describe cases."""
_VALUES = {"value", "score"}
_OF = set("total n count questions cases of denominator gesamt".split())
"""What columns are called that hold of how many something was counted."""
_FAR = 20.0
"""A numeric column whose typical value is so many times another's is not read as a score of the same kind."""
_FEWEST_ACROSS = 6
"""Columns of numbered names from which on a row per model is a table on its side."""


class ColumnRoles(NamedTuple):
    """Columns by what they are."""

    decided: Decided
    model: str | None
    metric: str | None
    parts: tuple[str, ...] = ()
    """What a case is scored for, once each: with them rows of one case are told apart."""
    repeats: tuple[str, ...] = ()
    scores: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    """Columns that are models, in a wide table."""
    named: Mapping[str, tuple[str, str]] = {}
    """Of columns that name both: the metric and the model (or the class, where another column names models)."""

    @property
    def keys(self) -> list[str]:
        """The columns that say which case a row is about."""
        unit, finer, groups, _ = self.decided
        columns = [unit.column if groups is None else "", *finer, *self.parts, *self.repeats, self.metric]
        return [column for column in dict.fromkeys(columns) if column]

    @property
    def used(self) -> set[str | None]:
        """The columns that name a row or hold its scores."""
        return {self.model, *self.keys, *self.scores, *self.models}


def roles_by_name(
    name: str, frame: pl.DataFrame, decided: Decided, columns: Mapping[str, str], taken: list[str]
) -> ColumnRoles:
    """The columns that name models and metrics."""

    def one_of(ours: str, words: set[str]) -> str | None:
        if ours in columns:
            return columns[ours]
        fitting = [column for column in named_by(frame.columns, words) if column not in columns.values()]
        if len(fitting) > 1 and not _say_the_same(frame, fitting):
            raise TableInvalid(name, [choice(ours, fitting)])
        if len(fitting) > 1:
            taken.append(f"{quoted(fitting[1:])} {verb(fitting[1:], 'says', 'say')} the same as {fitting[0]!r}")
        return fitting[0] if fitting else None

    repeats = tuple(filter(None, [columns.get("repeat")]))
    return ColumnRoles(decided, one_of("model", MODELS), one_of("metric", METRICS), repeats=repeats)


def _say_the_same(frame: pl.DataFrame, columns: Sequence[str]) -> bool:
    """Whether columns name the same things in other words, such as the name and the number of a model."""
    several = frame.select(columns).unique().height
    return several > 1 and all(frame[column].n_unique() == several for column in columns)


def choice(ours: str, fitting: Sequence[str]) -> str:
    """The question which of several columns it is, with the option for each."""
    option = f"{ROLE_OPTIONS[ours]} " if ours in ROLE_OPTIONS else f"--columns {ours}="
    shown = " or ".join(f"{option}{shlex.quote(column)}" for column in fitting)
    return f"several columns may be the {ours}; say which: {shown}"


def _with_parts(frame: pl.DataFrame, roles: ColumnRoles, scored: Sequence[str]) -> ColumnRoles:
    """The roles with the parts and repeats of a case that alone tell its rows apart."""
    keys = [*roles.keys, *([roles.model] if roles.model else [])]
    words = {*PARTS, *REPEATS} if roles.model else {*PARTS, *REPEATS} - PERHAPS_MODELS
    kinds = [column for column in named_by(frame.columns, words) if column not in {*keys, *scored}]
    parts, repeats = telling_kinds(frame, keys, kinds)
    return roles._replace(parts=(*roles.parts, *parts), repeats=(*roles.repeats, *repeats))


def with_model(name: str, frame: pl.DataFrame, roles: ColumnRoles, taken: list[str]) -> ColumnRoles:
    """The roles with the column that names models, where its shape alone says so."""
    if roles.model is not None:
        return roles
    shaped = models_by_shape(frame, roles)
    if len(shaped) > 1:
        raise TableInvalid(name, [choice("model", shaped)])
    if shaped:
        taken.append(f"{shaped[0]!r} names the models: it alone tells rows of one case apart")
        return roles._replace(model=shaped[0])
    crossed = [] if roles.decided.finer else _models_and_cases(frame, roles)
    if len({model for model, _ in crossed}) > 1:
        raise TableInvalid(name, [choice("model", list(dict.fromkeys(model for model, _ in crossed)))])
    if crossed:
        model, case = crossed[0]
        taken.append(f"{model!r} names the models: it alone tells rows of one case ({case!r}) apart")
        return roles._replace(model=model, decided=roles.decided._replace(finer=(case,)))
    return roles


def models_by_shape(frame: pl.DataFrame, roles: ColumnRoles) -> list[str]:
    """Text columns with few values that tell rows of the same case apart."""
    keys = roles.keys
    if not keys or told_apart_by(frame, keys):
        return []
    return [column for column in _few_texts(frame, keys) if told_apart_by(frame, [*keys, column])]


def _few_texts(frame: pl.DataFrame, used: Collection[str]) -> list[str]:
    """The other columns of text with few values."""
    texts = [c for c in frame.columns if c not in used and frame[c].dtype in (pl.String, pl.Categorical, pl.Enum)]
    return [column for column in texts if 2 <= frame[column].n_unique() <= MOST_LEVELS]


def _crossing(frame: pl.DataFrame, roles: ColumnRoles) -> list[str]:
    """Columns of text with few values, most of which occur in several patients: they may name models."""
    few, patient = _few_texts(frame, {*roles.keys, *roles.scores}), roles.decided.unit.column
    if not patient:
        return few
    spread = {c: frame.group_by(c).agg(pl.col(patient).n_unique())[patient] for c in few}
    return [column for column in few if float((spread[column] > 1).mean() or 0) > 0.5]  # type: ignore[arg-type]


def _models_and_cases(frame: pl.DataFrame, roles: ColumnRoles) -> list[tuple[str, str]]:
    """Pairs of columns of which the first repeats every case that the second names, once for each of its values."""
    keys = [column for column in (roles.decided.unit.column, roles.metric) if column]
    used = {*keys, *roles.scores}
    named = [c for c in frame.columns if c not in used and not frame[c].dtype.is_float()]
    return [
        (model, case)
        for model in _crossing(frame, roles)
        for case in named
        if case != model
        and frame[case].n_unique() > 1
        and told_apart_by(frame, [*keys, case, model])
        and frame.select(*keys, case).unique().height * frame[model].n_unique() == frame.height
        and not (frame[case].n_unique() <= frame[model].n_unique() and case in _crossing(frame, roles))
    ]


def check_not_pooled(name: str, frame: pl.DataFrame, roles: ColumnRoles) -> None:
    """Refuse to read as one model what may be several, whose rows would be pooled.

    Raises:
        TableInvalid: Rows are not told apart, and a column may name models.
    """
    keys = roles.keys
    if roles.model is not None or (keys and told_apart_by(frame, keys)):
        return
    perhaps = [one for one in _crossing(frame, roles) if keys or frame[one].n_unique() * 2 <= frame.height]
    if not perhaps:
        return
    readings = " or ".join(f"--model-column {shlex.quote(column)}" for column in perhaps)
    repeat = f", and rows of one {keys[0]!r} repeat" if keys else ""
    whose = "--case COLUMN for cases" if keys else "--unit COLUMN and --case COLUMN for patients and cases"
    alone = f"if the table is of one model, say --score {shlex.quote(','.join(roles.scores))}"
    message = f"no column is known to name models{repeat}: if one does, say {readings}, with {whose}; {alone}"
    raise TableInvalid(name, [message])


def with_scores(
    name: str,
    frame: pl.DataFrame,
    roles: ColumnRoles,
    columns: Mapping[str, str],
    models: tuple[str, ...],
    scores: tuple[str, ...],
    taken: list[str],
    metrics: Collection[str] = (),
) -> ColumnRoles:
    """The roles with the columns that hold scores, and with the models where these are columns.

    Args:
        name: Of the table, for problems.
        frame: Its rows.
        roles: The columns that are known to name something.
        columns: What was said of columns.
        models: Columns that are models, where that was said.
        scores: Columns that are metrics, where that was said.
        taken: What was read as what; more is added.
        metrics: Metrics that were asked for or directed, each the name of a column beside those of known names.
    """
    roles = _with_parts(frame, roles, [*models, *scores, columns.get("value", "")])
    if models:
        return roles._replace(models=models, model=None, named=_metric_and_model(models))
    if "value" in columns or scores:
        return with_model(name, frame, roles._replace(scores=scores or (columns["value"],)), taken)
    numeric, known = _numeric(name, frame, roles, taken)
    remarks = {column: without_brackets(column) for column in known}
    behind = {column: heading for column, (heading, inside) in remarks.items() if inside and not is_unit(inside)}
    alone = roles.model is None or len(behind) == len(known)
    behind = behind if alone and len(set(behind.values())) < len(behind) else {}  # `Dice (ours)` beside `Dice (UNet)`
    known = [column for column in known if column not in behind]
    plain = [column for column in numeric if plain_name(column) in _VALUES]
    if len(plain) == 1 and (roles.metric or not known):
        return with_model(name, frame, roles._replace(scores=(plain[0],)), taken)
    if known or roles.model:
        known += [
            column
            for column in numeric
            if column not in {*known, *behind} and {column, without_brackets(column)[0]} & {*metrics}
        ]
    if known:
        left = [column for column in numeric if column not in known]
        if roles.model is None and len(left) > 1:
            raise TableInvalid(name, [_two_readings(known, left)])
        return with_model(name, frame, roles._replace(scores=tuple(known)), taken)
    if len(numeric) == 1:
        return with_model(name, frame, roles._replace(scores=(numeric[0],)), taken)
    named = _metric_and_model(numeric)
    of_classes = roles.model is None and any(is_class(rest) for _, rest in named.values())
    if of_classes:
        how = f"if they are models: --models {shlex.quote(','.join(numeric))}"
        taken.append(f"{quoted(numeric)} are classes of one model; {how}")
    if named and (roles.model is not None or of_classes):
        sums = summing([rest for _, rest in named.values()])
        kept = tuple(column for column in numeric if named[column][1] not in sums)
        if kept and sums:
            taken.append(f"{quoted(column for column in numeric if column not in kept)}: they sum up the other classes")
        if kept:
            return roles._replace(scores=kept, named={column: named[column] for column in kept})
    if roles.model is not None or models_by_shape(frame, roles):
        raise TableInvalid(name, [_which_score(numeric)])
    if not (named or roles.keys) and (crossed := _models_and_cases(frame, roles)):
        raise TableInvalid(name, [_metrics_or_models(numeric, *crossed[0])])
    for metric in dict.fromkeys(metric for metric, _ in named.values()) if named else [""]:
        of_metric = [column for column in numeric if not named or named[column][0] == metric]
        if problem := _no_model(frame, roles, of_metric):
            raise TableInvalid(name, [problem])
    each = "a model" if not named else "a metric of a model"
    taken.append(f"each of the columns {quoted(numeric)} is {each}, each row a case")
    return roles._replace(models=tuple(numeric), named=named)


def _numeric(name: str, frame: pl.DataFrame, roles: ColumnRoles, taken: list[str]) -> tuple[list[str], list[str]]:
    """The columns of numbers that may be scores, and those of them whose metric is known.

    Raises:
        TableInvalid: There is none, or some hold what is no number.
    """
    used = {roles.model, *roles.keys}
    free = [column for column in frame.columns if column not in used]
    numeric = [c for c in free if _is_score(frame[c]) and plain_name(c) not in NUMBERING | MODELS]
    described = [column for column in numeric if plain_name(column).split(" ")[0] in DESCRIBING]
    if described and len(described) < len(numeric):
        numeric = [column for column in numeric if column not in described]
        they = verb(described, "describes cases and holds", "describe cases and hold")
        taken.append(f"{quoted(described)} {they} no scores")
    known = [column for column in numeric if known_as(without_brackets(column)[0])]
    if counts := _counts(frame, free, known):
        raise TableInvalid(name, [counts])
    if not numeric:
        raise TableInvalid(name, nearly_numbers(frame, free) or [_no_numbers(frame)])
    if odd := _odd_cells(frame, free, roles, numeric, known):
        raise TableInvalid(name, odd)
    return numeric, known


def _counts(frame: pl.DataFrame, free: Sequence[str], known: Sequence[str]) -> str:
    """What to do where a share is written as a count beside the number that it is one of; empty where none is."""
    whole = [column for column in free if frame[column].dtype.is_integer() and plain_name(column) in _OF]
    for column in (one for one in known if frame[one].dtype.is_integer() and facts_by_name(one).high == 1.0):
        for total in whole:
            if frame[column].max() > 1 and (frame[column] <= frame[total]).all():  # type: ignore[operator]
                return f"{column!r} holds counts out of {total!r}: write shares, {column} / {total}, into a column"
    return ""


def _no_numbers(frame: pl.DataFrame) -> str:
    first = {c: frame[c].drop_nulls().head(1).cast(pl.String).to_list() for c in frame.columns}
    shown = ", ".join(f"{c!r} ({first[c][0]!r})" if first[c] else repr(c) for c in frame.columns)
    if any("±" in texts[0] or "+/-" in texts[0] for texts in first.values() if texts):
        return f"this is a summary, not scores ({shown}): bring one row per patient and model"
    return f"no column of numbers that could be a score; the table has {shown}"


def _metric_and_model(columns: Sequence[str]) -> dict[str, tuple[str, str]]:
    """The metric and the rest of headings such as `dice_unet`, `UNet HD95 (mm)`; nothing unless all have both.

    Example:
        >>> _metric_and_model(["dice_unet", "my net Dice [%]", "Dice (ours)"])
        {'dice_unet': ('dice', 'unet'), 'my net Dice [%]': ('Dice', 'my net'), 'Dice (ours)': ('Dice', 'ours')}
    """
    chosen = {}
    for column in columns:
        heading, inside = without_brackets(column)
        halves = [(heading, inside), (inside, heading)] if inside and not is_unit(inside) else []
        cuts = [match.span() for match in re.finditer(r"[_\-. ]+", heading)]
        halves += [(heading[:end], heading[start:]) for end, start in cuts[2::-1]]
        halves += [(heading[start:], heading[:end]) for end, start in cuts[-3:]]
        if fitting := [(metric, rest) for metric, rest in halves if known_as(metric) and rest]:
            chosen[column] = fitting[0]
    return chosen if len(chosen) == len(columns) else {}


def on_its_side(frame: pl.DataFrame) -> pl.DataFrame | None:
    """A table with a row per model and a column per patient, set upright; None where it is no such table.

    Example:
        >>> wide = pl.DataFrame({"model": ["a", "b"], **{f"P{n}": [0.5, 0.75] for n in range(6)}})
        >>> on_its_side(wide).columns
        ['model', 'patient', 'score']
    """
    model = named_by(frame.columns, MODELS)
    across = [column for column in frame.columns if column not in model]
    stems = {re.sub(r"\d+$", "", column) for column in across}
    numbers = all(frame[column].dtype.is_numeric() and column[-1:].isdecimal() for column in across)
    if len(model) != 1 or len(across) < _FEWEST_ACROSS or len(stems) != 1 or not numbers:
        return None
    if frame[model[0]].n_unique() < frame.height:
        return None
    called = "patient" if stems.pop().strip("_-. ").casefold() in ("p", "pat", "patient", "subject") else "case"
    return frame.unpivot(on=across, index=model[0], variable_name=called, value_name="score")


def _no_model(frame: pl.DataFrame, roles: ColumnRoles, numeric: Sequence[str]) -> str:
    """Why some columns of numbers may be no models though others are, and what to say; empty where all may be."""
    every = f"--models {shlex.quote(','.join(numeric))}"
    sums = [column for column in numeric if sums_up(column.replace("_", " "))]
    if len(sums) == len(numeric):
        return _which_score(numeric)
    if sums:
        rest = shlex.quote(",".join(column for column in numeric if column not in sums))
        message = f"{quoted(sums)} may sum up the other columns; say which columns are models: --models {rest}"
        return f"{message}, or all of them: {every}"
    counting = _whole_alone(frame, numeric)
    if alien := _alien(frame, numeric):
        likely = [c for c in numeric if c not in alien and c not in counting] or alien
        others = quoted(column for column in numeric if column not in alien)
        message = f"{quoted(alien)} {verb(alien, 'is', 'are')} on another scale than {others}; say which columns are"
        return f"{message} models: --models {shlex.quote(','.join(likely))}, or all of them: {every}"
    return _may_count(frame, roles, counting, numeric) if counting else ""


def _odd_cells(
    frame: pl.DataFrame, free: Sequence[str], roles: ColumnRoles, numeric: Sequence[str], known: Sequence[str]
) -> list[str]:
    """What is wrong with columns that would be scores but for some cells; without them they would count as texts."""
    named = [column for column in free if known_as(column) or plain_name(column) in _VALUES]
    if roles.model or roles.metric or known:
        option, others = "--score", known or numeric
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


def _which_score(numeric: Sequence[str]) -> str:
    shown = " or ".join(f"--score {shlex.quote(column)}" for column in numeric[:3])
    return f"several columns may hold the score ({quoted(numeric)}); say which: {shown}"


def _metrics_or_models(numeric: Sequence[str], model: str, case: str) -> str:
    columns = shlex.quote(",".join(numeric))
    return (
        f"two readings fit: {quoted(numeric)} as scores of the models that {model!r} names (--model-column "
        f"{shlex.quote(model)} --unit {shlex.quote(case)} --score {columns}), or columns as models (--models {columns})"
    )


def _two_readings(known: Sequence[str], left: Sequence[str]) -> str:
    return (
        f"two readings fit: {', '.join(map(repr, known))} as metrics of one model (--score "
        f"{shlex.quote(','.join(known))}), or columns as models (--models {shlex.quote(','.join([*known, *left]))})"
    )


def _is_score(column: pl.Series) -> bool:
    return column.dtype.is_numeric() or column.dtype == pl.Boolean


def _alien(frame: pl.DataFrame, numeric: Sequence[str]) -> list[str]:
    """Columns whose typical value is far from that of the smallest."""
    typical = {column: float(frame[column].cast(pl.Float64).abs().median() or 0.0) for column in numeric}  # type: ignore[arg-type]
    least = min((value for value in typical.values() if value > 0), default=0.0)
    return [column for column, value in typical.items() if least and value > _FAR * least]


def _whole_alone(frame: pl.DataFrame, numeric: Sequence[str]) -> list[str]:
    """Columns of whole numbers beside others with decimals; nothing but zeros, or but ones, are scores of a model."""
    columns = {column: frame[column].cast(pl.Float64).drop_nulls() for column in numeric}
    whole = [column for column, cells in columns.items() if (cells == cells.round()).all()]
    alike = {c for c in whole if columns[c].n_unique() == 1 and columns[c][0] in (0.0, 1.0)}
    return [c for c in whole if c not in alike] if len(whole) < len(numeric) else []


def _may_count(frame: pl.DataFrame, roles: ColumnRoles, counting: Sequence[str], numeric: Sequence[str]) -> str:
    others = [column for column in numeric if column not in counting]
    message = f"{quoted(counting)} {verb(counting, 'holds', 'hold')} whole numbers alone, unlike {quoted(others)}; "
    message += f"say which columns are models: --models {shlex.quote(','.join(others))}"
    if frame.select(pl.col(counting).cast(pl.Float64).is_in([0.0, 1.0]).all()).row(0).count(True):
        return f"{message}, or all of them: --models {shlex.quote(','.join(numeric))}"
    keys = roles.keys
    if keys and told_apart_by(frame, keys):
        return message
    telling = [column for column in counting if told_apart_by(frame, [*keys, column])]
    return f"{message}, with --case {telling[0]} if it numbers cases" if telling else message
