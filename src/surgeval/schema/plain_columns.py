"""Which columns of a plain table say whose row it is: those of models, patients, cases and metrics.

They are taken by their names, then by what only one reading of them allows.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import polars as pl

from surgeval.errors import TableInvalid

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
_METRICS = {"metric", "measure"}
_FILLERS = {"id", "name", "no", "nr", "number", "identifier", "index", "idx"}
MOST_LEVELS = 30
"""Different values of a text column that may name models by its shape alone, or describe cases."""
NUMBERING = {"", "index", "row", "unnamed 0", "column1"}
"""What columns are called that only number rows."""


class Roles(NamedTuple):
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


def identifying(headings: Iterable[str], columns: Mapping[str, str] | None = None) -> set[str]:
    """The columns that name models, patients, cases or metrics, by what they are called or by what the caller says.

    Example:
        >>> sorted(identifying(["PatientID", "dice", "arm"], {"model": "arm", "value": "dice"}))
        ['PatientID', 'arm']
    """
    words = {*MODELS, *PATIENTS, *CASES, *_METRICS}
    stated = {theirs for ours, theirs in (columns or {}).items() if ours != "value"}
    return {column for column in headings if plain_name(column) in words} | stated


def plain_name(column: str) -> str:
    """A column's name in small words, without those that only say that it is a name.

    Example:
        >>> plain_name("PatientID"), plain_name("video_name"), plain_name("Frame No.")
        ('patient', 'video', 'frame')
    """
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", column)
    kept = [word for word in re.split(r"[\W_]+", words.casefold()) if word]
    return " ".join([word for word in kept if word not in _FILLERS] or kept)


def identified(name: str, frame: pl.DataFrame, columns: dict[str, str], taken: list[str]) -> Roles:
    """The columns that say whose and which row it is."""
    by_name: dict[str, list[str]] = {}
    for column in frame.columns:
        by_name.setdefault(plain_name(column), []).append(column)

    def one_of(ours: str, words: set[str]) -> str | None:
        if ours in columns:
            return columns[ours]
        fitting = [column for column in frame.columns if plain_name(column) in words]
        if len(fitting) > 1 and not _say_the_same(frame, fitting):
            raise TableInvalid(name, [choice(ours, fitting)])
        if len(fitting) > 1:
            taken.append(f"{quoted(fitting[1:])} {verb(fitting[1:], 'says', 'say')} the same as {fitting[0]!r}")
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
    return Roles(one_of("model", MODELS), patient, case, one_of("metric", _METRICS), (), ())


def _say_the_same(frame: pl.DataFrame, columns: Sequence[str]) -> bool:
    """Whether columns name the same things in other words, such as the name and the number of a model."""
    several = frame.select(columns).unique().height
    return several > 1 and all(frame[column].n_unique() == several for column in columns)


def _patient(name: str, frame: pl.DataFrame, by_name: Mapping[str, list[str]], taken: list[str]) -> str | None:
    """The coarsest column that names patients or videos; several must lie within one another."""
    fitting = [column for word in PATIENTS for column in by_name.get(word, ())]
    for coarse, fine in itertools.pairwise(fitting):
        if frame.select(coarse, fine).unique().height != frame[fine].n_unique():
            raise TableInvalid(name, [choice("video", fitting)])
    if len(fitting) > 1:
        taken.append(f"{fitting[0]!r} is what is independent: {', '.join(map(repr, fitting[1:]))} lies within it")
    return fitting[0] if fitting else None


def _holding(frame: pl.DataFrame, cases: Sequence[str]) -> str | None:
    """The one of some columns of which each value holds several of another's."""
    coarse = [one for one in cases if plain_name(one) == "case" and frame[one].n_unique() * 2 <= frame.height]
    return coarse[0] if len(coarse) == 1 else None


def choice(ours: str, fitting: Sequence[str]) -> str:
    """The question which of several columns it is, with the option for each."""
    shown = " or ".join(f"--columns {ours}={column}" for column in fitting)
    return f"several columns may be the {'patient or video' if ours == 'video' else ours}; say which: {shown}"


def with_kinds(frame: pl.DataFrame, roles: Roles, scored: Collection[str]) -> Roles:
    """The roles with what cases are scored for among what names them, where only that tells rows apart."""
    keys = [column for column in (roles.model, roles.patient, *roles.case, roles.metric) if column]
    if not keys or frame.select(keys).is_unique().all():
        return roles
    words = _KINDS | _KINDS_OR_MODELS if roles.model else _KINDS
    kinds = [c for c in frame.columns if plain_name(c) in words and c not in {*keys, *scored}]
    telling = [column for column in kinds if frame.select(*keys, column).is_unique().all()]
    return roles._replace(case=(*roles.case, telling[0])) if len(telling) == 1 else roles


def with_model(name: str, frame: pl.DataFrame, roles: Roles, taken: list[str]) -> Roles:
    """The roles with the column that names models, where its shape alone says so."""
    if roles.model is not None:
        return roles
    shaped = models_by_shape(frame, roles)
    if len(shaped) > 1:
        raise TableInvalid(name, [choice("model", shaped)])
    if shaped:
        taken.append(f"{shaped[0]!r} names the models: it alone tells rows of one case apart")
        return roles._replace(model=shaped[0])
    crossed = [] if roles.case else _models_and_cases(frame, roles)
    if len({model for model, _ in crossed}) > 1:
        raise TableInvalid(name, [choice("model", list(dict.fromkeys(model for model, _ in crossed)))])
    if crossed:
        model, case = crossed[0]
        taken.append(f"{model!r} names the models: it alone tells rows of one case ({case!r}) apart")
        return roles._replace(model=model, case=(case,))
    return roles


def models_by_shape(frame: pl.DataFrame, roles: Roles) -> list[str]:
    """Text columns with few values that tell rows of the same case apart."""
    keys = [column for column in (roles.patient, *roles.case, roles.metric) if column]
    if not keys or frame.select(keys).is_unique().all():
        return []
    return [
        column
        for column in frame.columns
        if column not in keys
        and frame[column].dtype in (pl.String, pl.Categorical, pl.Enum)
        and 2 <= frame[column].n_unique() <= MOST_LEVELS
        and frame.select(*keys, column).is_unique().all()
    ]


def _crossing(frame: pl.DataFrame, roles: Roles) -> list[str]:
    """Columns of text with few values, most of which occur in several patients: they may name models."""
    used = {roles.patient, roles.metric, *roles.case, *roles.scores}
    texts = [c for c in frame.columns if c not in used and frame[c].dtype in (pl.String, pl.Categorical, pl.Enum)]
    few = [column for column in texts if 2 <= frame[column].n_unique() <= MOST_LEVELS]
    if roles.patient is None:
        return few
    spread = {c: frame.group_by(c).agg(pl.col(roles.patient).n_unique())[roles.patient] for c in few}
    return [column for column in few if float((spread[column] > 1).mean() or 0) > 0.5]  # type: ignore[arg-type]


def _models_and_cases(frame: pl.DataFrame, roles: Roles) -> list[tuple[str, str]]:
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


def check_not_pooled(name: str, frame: pl.DataFrame, roles: Roles) -> None:
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


def quoted(columns: Iterable[str]) -> str:
    """The names of columns in a sentence."""
    return ", ".join(map(repr, columns))


def verb(columns: Sequence[str], of_one: str, of_several: str) -> str:
    """The form of a verb that so many columns ask for."""
    return of_one if len(columns) == 1 else of_several
