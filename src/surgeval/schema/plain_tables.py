"""A score table from a plain one: which column names models, patients and cases, and which columns are scores.

Long tables have a row per model and case, wide ones a row per case and a column per model; a file of one model has
neither. Columns are taken by their names, then by what only one reading of them allows, and every choice is told.
Where two readings fit, none is taken: the error lists them with the option that chooses.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from surgeval.errors import TableInvalid
from surgeval.schema.metric_facts import facts_by_name, known_as
from surgeval.schema.outcomes import Status
from surgeval.schema.plain_rows import summaries, sums_up, unnamed, without_empty_end, without_spaces
from surgeval.schema.score_ranges import range_problems
from surgeval.schema.table_files import OURS, names_unknown, split_sheet
from surgeval.schema.written_numbers import nearly_numbers, with_numbers

MODELS = {
    "model", "algorithm", "method", "team", "network", "net", "system", "approach", "architecture", "submission",
    "entrant", "classifier", "modell", "algorithmus", "methode", "netz", "netzwerk", "verfahren",
}  # fmt: skip
PATIENTS = {
    "patient": "patient", "patientin": "patient", "subject": "patient", "proband": "patient", "participant": "patient",
    "procedure": "procedure", "surgery": "procedure", "operation": "procedure", "intervention": "procedure",
    "eingriff": "procedure", "video": "video",
}  # fmt: skip
"""From the coarsest to the finest, each with what sentences call it."""
CASES = {
    "case", "frame", "image", "img", "question", "slice", "clip", "sample", "file", "filename", "item", "instance",
    "qid", "q", "time", "timestamp", "second", "fall", "bild", "frage",
}  # fmt: skip
_PATHS = {"path", "image path", "img path", "frame path", "file path"}
"""Name cases where nothing else does; they may differ from model to model."""
_KINDS = {
    "class", "organ", "structure", "tissue", "anatomy", "instrument", "klasse", "struktur", "seed", "repetition",
}  # fmt: skip
_KINDS_OR_MODELS = {"label", "category", "tool", "run"}
"""What a case is scored for, once each: with them rows of one patient are told apart, and they name no models."""
_DESCRIBING = {
    "age", "sex", "gender", "bmi", "weight", "height", "year", "fold", "seed", "epoch", "alter", "geschlecht",
    "center", "centre", "hospital", "site", "zentrum", "klinik",
}  # fmt: skip
"""Numbers that are no scores, whatever they are."""
_METRICS = {"metric", "measure"}
_VALUES = {"value", "score"}
UNNAMED = "score"
"""What the scores of a wide table are of where neither its columns, its file nor the caller says it."""
_NUMBERING = {"", "index", "row", "unnamed 0", "column1"}
_FILLERS = {"id", "name", "no", "nr", "number", "identifier", "index", "idx"}
_MOST_LEVELS = 30
"""Different values of a text column that may name models by its shape alone, or describe cases."""
_FAR = 20.0
"""A numeric column whose typical value is so many times another's is not taken for a score of the same kind."""


class PlainTable(NamedTuple):
    """The rows under our names, and what was taken for what."""

    frame: pl.DataFrame
    taken: tuple[str, ...]
    """One sentence per choice."""
    unit: str = "video"
    """What is independent, in a word: `patient`, `procedure` or `video`."""


class _Roles(NamedTuple):
    """Columns by what they are."""

    model: str | None
    patient: str | None
    case: tuple[str, ...]
    metric: str | None
    scores: tuple[str, ...]
    models: tuple[str, ...]
    """Columns that are models, in a wide table."""
    others: tuple[str, ...] = ()
    """Columns of other metrics, in a wide table."""


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
    roles = _scored(name, frame, _identified(name, frame, columns, taken), columns, models, scores, measured, taken)
    if alone and not (models or scores or roles.models):
        _not_pooled(name, frame, roles)
    whose = [column for column in (roles.model, roles.patient, roles.metric) if column]
    named = [column for column in (roles.patient, *roles.case) if column]
    if problems := [*summaries(frame, named), *unnamed(frame, whose)]:
        raise TableInvalid(name, problems)
    unit = PATIENTS.get(plain_name(roles.patient or ""), "video")
    return PlainTable(_long(name, frame, roles, measured, taken), tuple(taken), unit)


def identifying(headings: Iterable[str], columns: Mapping[str, str] | None = None) -> set[str]:
    """The columns that name models, patients, cases or metrics, by what they are called or by what the caller says.

    Example:
        >>> sorted(identifying(["PatientID", "dice", "arm"], {"model": "arm", "value": "dice"}))
        ['PatientID', 'arm']
    """
    words = {*MODELS, *PATIENTS, *CASES, *_METRICS}
    stated = {theirs for ours, theirs in (columns or {}).items() if ours != "value"}
    return {column for column in headings if plain_name(column) in words} | stated


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


def plain_name(column: str) -> str:
    """A column's name in small words, without those that only say that it is a name.

    Example:
        >>> plain_name("PatientID"), plain_name("video_name"), plain_name("Frame No.")
        ('patient', 'video', 'frame')
    """
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", column)
    kept = [word for word in re.split(r"[\W_]+", words.casefold()) if word]
    return " ".join([word for word in kept if word not in _FILLERS] or kept)


def _identified(name: str, frame: pl.DataFrame, columns: dict[str, str], taken: list[str]) -> _Roles:
    """The columns that say whose and which row it is."""
    by_name: dict[str, list[str]] = {}
    for column in frame.columns:
        by_name.setdefault(plain_name(column), []).append(column)

    def one_of(ours: str, words: set[str]) -> str | None:
        if ours in columns:
            return columns[ours]
        fitting = [column for column in frame.columns if plain_name(column) in words]
        if len(fitting) > 1 and not _say_the_same(frame, fitting):
            raise TableInvalid(name, [_choice(ours, fitting)])
        if len(fitting) > 1:
            taken.append(f"{_listed(fitting[1:])} {_verb(fitting[1:], 'says', 'say')} the same as {fitting[0]!r}")
        return fitting[0] if fitting else None

    patient = columns.get("video") or _patient(name, frame, by_name, taken)
    finer = {*CASES, *PATIENTS} if "video" not in columns else CASES
    rest = [column for word, named in by_name.items() if word in finer for column in named if column != patient]
    case = (
        (columns["case"],)
        if "case" in columns
        else tuple(rest or [c for c in frame.columns if plain_name(c) in _PATHS])
    )
    if patient is None and "case" not in columns and len(case) > 1 and (whole := _holding(frame, case)):
        patient, case = whole, tuple(column for column in case if column != whole)
        taken.append(f"{whole!r} names what belongs together (a patient or a video): it holds several {case[0]!r}")
    return _Roles(one_of("model", MODELS), patient, case, one_of("metric", _METRICS), (), ())


def _say_the_same(frame: pl.DataFrame, columns: Sequence[str]) -> bool:
    """Whether columns name the same things in other words, such as the name and the number of a model."""
    several = frame.select(columns).unique().height
    return several > 1 and all(frame[column].n_unique() == several for column in columns)


def _patient(name: str, frame: pl.DataFrame, by_name: Mapping[str, list[str]], taken: list[str]) -> str | None:
    """The coarsest column that names patients or videos; several must lie within one another."""
    fitting = [column for word in PATIENTS for column in by_name.get(word, ())]
    for coarse, fine in itertools.pairwise(fitting):
        if frame.select(coarse, fine).unique().height != frame[fine].n_unique():
            raise TableInvalid(name, [_choice("video", fitting)])
    if len(fitting) > 1:
        taken.append(f"{fitting[0]!r} is what is independent: {', '.join(map(repr, fitting[1:]))} lies within it")
    return fitting[0] if fitting else None


def _holding(frame: pl.DataFrame, cases: Sequence[str]) -> str | None:
    """The one of some columns of which each value holds several of another's."""
    coarse = [one for one in cases if plain_name(one) == "case" and frame[one].n_unique() * 2 <= frame.height]
    return coarse[0] if len(coarse) == 1 else None


def _choice(ours: str, fitting: Sequence[str]) -> str:
    shown = " or ".join(f"--columns {ours}={column}" for column in fitting)
    return f"several columns may be the {'patient or video' if ours == 'video' else ours}; say which: {shown}"


def _scored(
    name: str, frame: pl.DataFrame, roles: _Roles, columns: dict[str, str], models: tuple[str, ...],
    scores: tuple[str, ...], measured: str | None, taken: list[str],
) -> _Roles:  # fmt: skip
    """The roles with the columns that hold scores, and with the models where these are columns."""
    roles = roles if "case" in columns else _with_kinds(frame, roles, {*models, *scores, columns.get("value", "")})
    if models:
        return roles._replace(models=models, model=None)
    if "value" in columns or scores:
        return _with_model(name, frame, roles._replace(scores=scores or (columns["value"],)), taken)
    used = {roles.model, roles.patient, roles.metric, *roles.case}
    numeric = [
        c for c in frame.columns if _is_score(frame[c]) and c not in used and plain_name(c) not in _NUMBERING | MODELS
    ]
    described = [c for c in numeric if plain_name(c) in _DESCRIBING]
    if described and len(described) < len(numeric):
        numeric = [column for column in numeric if column not in described]
        they = _verb(described, "describes cases and holds", "describe cases and hold")
        taken.append(f"{_listed(described)} {they} no scores")
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
        return _with_model(name, frame, roles._replace(scores=(plain[0],)), taken)
    if known:
        left = [column for column in numeric if column not in known]
        if roles.model is None and len(left) > 1:
            raise TableInvalid(name, [_two_readings(known, left)])
        return _with_model(name, frame, roles._replace(scores=tuple(known)), taken)
    if len(numeric) == 1:
        return _with_model(name, frame, roles._replace(scores=(numeric[0],)), taken)
    if roles.model is not None or _model_by_shape(frame, roles):
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


def _listed(columns: Iterable[str]) -> str:
    return ", ".join(map(repr, columns))


def _verb(columns: Sequence[str], of_one: str, of_several: str) -> str:
    return of_one if len(columns) == 1 else of_several


def _no_model(frame: pl.DataFrame, roles: _Roles, numeric: Sequence[str]) -> str:
    """Why some columns of numbers may be no models though others are, and what to say; empty where all may be."""
    every = f"--models {shlex.quote(','.join(numeric))}"
    summing = [column for column in numeric if sums_up(column.replace("_", " "))]
    if len(summing) == len(numeric):
        return f"several columns may hold the score ({_listed(numeric)}); say which: --scores {shlex.quote(numeric[0])}"
    if summing:
        rest = shlex.quote(",".join(column for column in numeric if column not in summing))
        message = f"{_listed(summing)} may sum up the other columns; say which columns are models: --models {rest}"
        return f"{message}, or all of them: {every}"
    counting = _whole_alone(frame, numeric)
    if alien := _alien(frame, numeric):
        likely = [c for c in numeric if c not in alien and c not in counting] or alien
        others = _listed(column for column in numeric if column not in alien)
        message = f"{_listed(alien)} {_verb(alien, 'is', 'are')} on another scale than {others}; say which columns are"
        return f"{message} models: --models {shlex.quote(','.join(likely))}, or all of them: {every}"
    return _may_count(frame, roles, counting, numeric) if counting else ""


def _odd_cells(
    frame: pl.DataFrame, free: Sequence[str], roles: _Roles, numeric: Sequence[str], known: Sequence[str]
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


def _words(column: str) -> list[str]:
    return [word for word in re.split(r"[_\-. ]+", column) if word]


def _first_and_last(column: str) -> list[str]:
    words = _words(column)
    return [words[0], words[-1]] if len(words) > 1 else []


def _whole_alone(frame: pl.DataFrame, numeric: Sequence[str]) -> list[str]:
    """Columns of whole numbers beside others with decimals; nothing but zeros, or but ones, are scores of a model."""
    columns = {column: frame[column].cast(pl.Float64).drop_nulls() for column in numeric}
    whole = [column for column, cells in columns.items() if (cells == cells.round()).all()]
    alike = {c for c in whole if columns[c].n_unique() == 1 and columns[c][0] in (0.0, 1.0)}
    return [c for c in whole if c not in alike] if len(whole) < len(numeric) else []


def _may_count(frame: pl.DataFrame, roles: _Roles, counting: Sequence[str], numeric: Sequence[str]) -> str:
    others = [column for column in numeric if column not in counting]
    message = f"{_listed(counting)} {_verb(counting, 'holds', 'hold')} whole numbers alone, unlike {_listed(others)}; "
    message += f"say which columns are models: --models {shlex.quote(','.join(others))}"
    if frame.select(pl.col(counting).cast(pl.Float64).is_in([0.0, 1.0]).all()).row(0).count(True):
        return f"{message}, or all of them: --models {shlex.quote(','.join(numeric))}"
    keys = [column for column in (roles.patient, *roles.case) if column]
    if keys and frame.select(keys).is_unique().all():
        return message
    telling = [column for column in counting if frame.select(*keys, column).is_unique().all()]
    return f"{message}, with --columns case={telling[0]} if it numbers cases" if telling else message


def _model_by_shape(frame: pl.DataFrame, roles: _Roles) -> list[str]:
    """Text columns with few values that tell rows of the same case apart."""
    keys = [column for column in (roles.patient, *roles.case, roles.metric) if column]
    if not keys or frame.select(keys).is_unique().all():
        return []
    return [
        column
        for column in frame.columns
        if column not in keys
        and frame[column].dtype in (pl.String, pl.Categorical, pl.Enum)
        and 2 <= frame[column].n_unique() <= _MOST_LEVELS
        and frame.select(*keys, column).is_unique().all()
    ]


def _with_model(name: str, frame: pl.DataFrame, roles: _Roles, taken: list[str]) -> _Roles:
    if roles.model is not None:
        return roles
    shaped = _model_by_shape(frame, roles)
    if len(shaped) > 1:
        raise TableInvalid(name, [_choice("model", shaped)])
    if shaped:
        taken.append(f"{shaped[0]!r} names the models: it alone tells rows of one case apart")
        return roles._replace(model=shaped[0])
    crossed = [] if roles.case else _models_and_cases(frame, roles)
    if len({model for model, _ in crossed}) > 1:
        raise TableInvalid(name, [_choice("model", list(dict.fromkeys(model for model, _ in crossed)))])
    if crossed:
        model, case = crossed[0]
        taken.append(f"{model!r} names the models: it alone tells rows of one case ({case!r}) apart")
        return roles._replace(model=model, case=(case,))
    return roles


def _with_kinds(frame: pl.DataFrame, roles: _Roles, scored: Collection[str]) -> _Roles:
    """The roles with what cases are scored for among what names them, where only that tells rows apart."""
    keys = [column for column in (roles.model, roles.patient, *roles.case, roles.metric) if column]
    if not keys or frame.select(keys).is_unique().all():
        return roles
    words = _KINDS | _KINDS_OR_MODELS if roles.model else _KINDS
    kinds = [c for c in frame.columns if plain_name(c) in words and c not in {*keys, *scored}]
    telling = [column for column in kinds if frame.select(*keys, column).is_unique().all()]
    return roles._replace(case=(*roles.case, telling[0])) if len(telling) == 1 else roles


def _crossing(frame: pl.DataFrame, roles: _Roles) -> list[str]:
    """Columns of text with few values, most of which occur in several patients: they may name models."""
    used = {roles.patient, roles.metric, *roles.case, *roles.scores}
    texts = [c for c in frame.columns if c not in used and frame[c].dtype in (pl.String, pl.Categorical, pl.Enum)]
    few = [column for column in texts if 2 <= frame[column].n_unique() <= _MOST_LEVELS]
    if roles.patient is None:
        return few
    spread = {c: frame.group_by(c).agg(pl.col(roles.patient).n_unique())[roles.patient] for c in few}
    return [column for column in few if float((spread[column] > 1).mean() or 0) > 0.5]  # type: ignore[arg-type]


def _models_and_cases(frame: pl.DataFrame, roles: _Roles) -> list[tuple[str, str]]:
    """Pairs of columns of which the first repeats every case that the second names, once for each of its values."""
    used = {roles.patient, roles.metric, *roles.scores}
    keys = [column for column in (roles.patient, roles.metric) if column]
    named = [c for c in frame.columns if c not in used and not frame[c].dtype.is_float()]
    return [
        (model, case)
        for model in _crossing(frame, roles)
        for case in named
        if case != model
        and frame[case].n_unique() > 1
        and frame.select(*keys, case, model).is_unique().all()
        and frame.select(*keys, case).unique().height * frame[model].n_unique() == frame.height
        and not (frame[case].n_unique() <= frame[model].n_unique() and case in _crossing(frame, roles))
    ]


def _not_pooled(name: str, frame: pl.DataFrame, roles: _Roles) -> None:
    """Refuse to take for one model what may be several, whose rows would be pooled.

    Raises:
        TableInvalid: Rows are not told apart, and a column may name models.
    """
    keys = [column for column in (roles.patient, *roles.case, roles.metric) if column]
    if roles.model is not None or (keys and frame.select(keys).is_unique().all()):
        return
    perhaps = _crossing(frame, roles)
    alone = f"if the table is of one model, say --scores {','.join(roles.scores)}"
    if not keys and (repeated := [column for column in perhaps if frame[column].n_unique() * 2 <= frame.height]):
        readings = " or ".join(f"--columns model={column}" for column in repeated)
        message = (
            f"no column is known to name models: if one does, say {readings}, with video=COLUMN and case=COLUMN for"
        )
        raise TableInvalid(name, [f"{message} patients and cases; {alone}"])
    if keys and perhaps:
        readings = " or ".join(f"--columns model={column},case=COLUMN" for column in perhaps)
        message = f"no column is known to name models, and rows of one {keys[0]!r} repeat: if a column names them, say"
        raise TableInvalid(name, [f"{message} {readings}; {alone}"])


def _long(name: str, frame: pl.DataFrame, roles: _Roles, measured: str | None, taken: list[str]) -> pl.DataFrame:
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
    if plain_name(column) in _NUMBERING or not 1 < levels <= _MOST_LEVELS:
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


def _case(name: str, frame: pl.DataFrame, roles: _Roles, taken: list[str]) -> pl.Expr:
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


def _sentences(roles: _Roles, metric_name: str) -> list[str]:
    sentences = [f"models are named by {roles.model!r}"] if roles.model else []
    sentences += [f"patients (or videos) by {roles.patient!r}"] if roles.patient else []
    sentences += [f"cases by {', '.join(map(repr, roles.case))}"] if roles.case else []
    sentences += [f"scores stand in {', '.join(map(repr, roles.scores))}"] if roles.scores else []
    sentences += [f"the metric is {metric_name!r}, which all these columns begin with"] if metric_name else []
    return sentences
