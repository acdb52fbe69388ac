"""The cases to look at: wrong answers, or the worst scores, those first that an analysis explains.

What is known about each case comes from strata of the score table and from the tables that analyses were given. Files
that a run read are found again where they lay, or below the folder that is reported. A manifest may come from anywhere,
so a file that it names is read only where its hash is the recorded one: nobody can make a report show a file whose
content he does not know already.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from surgvalid.errors import SurgvalidError
from surgvalid.report.inputs import ReportInputs
from surgvalid.report.section import Browser, Section
from surgvalid.report.verdict.weaknesses import Effect, harmful_effects
from surgvalid.report.wording import bucket_label, missing
from surgvalid.report.words import count_of, plain
from surgvalid.results.manifest import sha256_of
from surgvalid.results.reading import StoredResult
from surgvalid.schema.questions.question_files import load_questions, load_responses
from surgvalid.schema.questions.questions import Request
from surgvalid.schema.tables.table_files import read_frame

_LEVELS = ("yes", "true", "1", "1.0")
_NUMBERED = "above the median"


def properties_of(inputs: ReportInputs) -> pl.DataFrame:
    """One row per case: `case` and a column of text per property."""
    rows = inputs.rows
    columns = inputs.live.strata_columns if inputs.live is not None else []
    frame = rows.select("case", *columns).unique("case", keep="first", maintain_order=True)
    for table in _given(inputs):
        new = [name for name in table.columns if name == "case" or name not in frame.columns]
        frame = frame.join(table.select(new).unique("case", keep="first"), on="case", how="left", maintain_order="left")
    return frame.with_columns(_as_text(frame[name]) for name in frame.columns)


def _given(inputs: ReportInputs) -> list[pl.DataFrame]:
    tables = []
    for result in inputs.of("failures"):
        for path in originals(result, "properties", inputs.source):
            try:
                table = read_frame(Path(path.partition("=")[2] or path))
            except (SurgvalidError, pl.exceptions.PolarsError, OSError):
                continue
            if "case" in table.columns:
                tables.append(table.with_columns(pl.col("case").cast(pl.String)))
    return tables


def _as_text(column: pl.Series) -> pl.Series:
    """Levels as text; numbers as whether they are above the median, as an effect of a number is felt there."""
    if column.dtype == pl.Boolean:
        return column.replace_strict({True: "yes", False: "no"}, return_dtype=pl.String)
    if column.dtype.is_float():
        middle = column.median()
        above = (column > middle).replace_strict({True: _NUMBERED, False: "below it"}, return_dtype=pl.String)
        return above.alias(column.name)
    return column.cast(pl.String)


def has_term(term: str, columns: list[str]) -> pl.Expr | None:
    """Whether a case has what a term of a mixed model stands for; None where no column tells.

    Example:
        >>> frame = pl.DataFrame({"smoke": ["yes", "no"]})
        >>> frame.select(has_term("smoke[yes]", frame.columns))["smoke"].to_list()
        [True, False]
    """
    name, bracket, level = term.partition("[")
    if name not in columns:
        return None
    wanted = [level.rstrip("]")] if bracket else [*_LEVELS, _NUMBERED]
    return pl.col(name).is_in(wanted).fill_null(False)


MOST_CASES = 300
"""Cases that a page carries; `surgvalid report serve` has all."""
_WORST = 200
"""Cases per model that count as its worst, where scores are no right or wrong."""
_LONGEST = 400
"""Letters of a question or an answer."""


class CaseTexts(NamedTuple):
    """What was asked and answered, as far as its files were found again."""

    requests: dict[str, Request]
    references: dict[str, str]
    responses: dict[tuple[str, str], str]


class Collected(NamedTuple):
    """Cases as plain data, in the order in which they are shown."""

    cases: list[dict[str, Any]]
    total: int
    """Of all cases that some model has wrong."""
    properties: list[str]
    texts: CaseTexts


def collect(inputs: ReportInputs, *, most: int | None = MOST_CASES) -> Collected:
    """Every case that some model has wrong (or among its worst), those first that a found weakness explains."""
    if inputs.rows.is_empty() or inputs.better is None:
        return Collected([], 0, [], CaseTexts({}, {}, {}))
    rows = inputs.rows.with_columns(wrong=_wrong(inputs))
    known = properties_of(inputs)
    explained = _explained(rows, known, harmful_effects(inputs))
    order = rows.group_by("case").agg(pl.col("wrong").sum().alias("times")).filter(pl.col("times") > 0)
    order = order.join(explained.group_by("case").agg(pl.len().alias("why")), on="case", how="left")
    order = order.sort(pl.col("why").fill_null(0), "times", "case", descending=[True, True, False])
    kept = order.head(most) if most is not None else order
    texts = _texts(inputs)
    mine = rows.join(kept.select("case"), on="case", how="semi")
    listed = _listed(inputs, kept["case"].to_list(), mine, known, explained, texts)
    return Collected(listed, order.height, [name for name in known.columns if name != "case"], texts)


def _wrong(inputs: ReportInputs) -> pl.Expr:
    """Whether an answer is wrong; of other scores, whether it is among the worst of its model."""
    if inputs.metric == "correct":
        return (pl.col("value") < 1).fill_null(False)
    value = pl.col("value") if inputs.better == "larger" else -pl.col("value")
    place = value.rank("ordinal").over("model")
    return ((place <= _WORST) & (place <= pl.len().over("model") / 2)).fill_null(False)


def _explained(rows: pl.DataFrame, known: pl.DataFrame, harmful: Mapping[str, Sequence[Effect]]) -> pl.DataFrame:
    """`case, model, term` of every wrong answer that has the property which harms its model."""
    frames = []
    for model, effects in harmful.items():
        for effect in effects:
            condition = has_term(effect.term, known.columns)
            if condition is not None:
                cases = known.filter(condition).select("case")
                mine = rows.filter((pl.col("model") == model) & pl.col("wrong"))
                harmed = mine.join(cases, on="case", how="semi").select("case", "model", term=pl.lit(effect.term))
                frames.append(harmed)
    empty = pl.DataFrame(schema={"case": pl.String, "model": pl.String, "term": pl.String})
    return pl.concat([empty, *frames])


def _listed(
    inputs: ReportInputs,
    cases: Sequence[str],
    rows: pl.DataFrame,
    known: pl.DataFrame,
    explained: pl.DataFrame,
    texts: CaseTexts,
) -> list[dict[str, Any]]:
    numbers = {model: number for number, model in enumerate(inputs.models)}
    levels = {row["case"]: row for row in known.join(rows.select("case"), on="case", how="semi").iter_rows(named=True)}
    why: dict[str, list[list[Any]]] = {}
    for case, model, term in explained.iter_rows():
        why.setdefault(case, []).append([numbers[model], term])
    by_case: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows.iter_rows(named=True):
        by_case.setdefault(row["case"], []).append(row)
    return [_case(case, by_case[case], levels.get(case, {}), why.get(case, []), numbers, texts) for case in cases]


def _case(
    case: str,
    rows: Sequence[Mapping[str, Any]],
    levels: Mapping[str, Any],
    why: list[list[Any]],
    numbers: Mapping[str, int],
    texts: CaseTexts,
) -> dict[str, Any]:
    """One case with short names of its parts, since a page carries many."""
    first, request = rows[0], texts.requests.get(case)
    kind = first.get("group") or first.get("capability") or first.get("task")
    made: dict[str, Any] = {
        "c": plain(case, limit=80),
        "v": plain(first["video"], limit=80),
        "t": plain(first.get("track") or "", limit=40),
        "k": bucket_label(str(kind), None) if kind else "",
        "w": why,
        "p": {name: plain(level, limit=40) for name, level in levels.items() if name != "case" and level is not None},
        "a": [_answer(row, numbers, texts) for row in rows],
    }
    if request is not None:
        made |= {"q": plain(request.question, limit=_LONGEST), "s": [request.start_s, request.end_s]}
    if case in texts.references:
        made["r"] = plain(texts.references[case], limit=_LONGEST)
    return made


def _answer(row: Mapping[str, Any], numbers: Mapping[str, int], texts: CaseTexts) -> list[Any]:
    """Model, value, its words, seconds, what became of it, and whether it is wrong."""
    answer = texts.responses.get((row["model"], row["case"]))
    latency, value = row.get("latency"), row["value"]
    return [
        numbers[row["model"]],
        None if value is None else round(value, 4),
        None if answer is None else plain(answer, limit=_LONGEST),
        None if latency is None else round(latency, 2),
        row.get("status") or "",
        int(row["wrong"]),
    ]


def _texts(inputs: ReportInputs) -> CaseTexts:
    """Questions, references and answers of every scoring whose files are still there, unchanged."""
    texts = CaseTexts({}, {}, {})
    asked: set[tuple[str, ...]] = set()
    for result in inputs.of("score"):
        requests, references = (originals(result, name, inputs.source) for name in ("requests", "references"))
        if requests and tuple(requests) not in asked:
            asked.add(tuple(requests))
            for request, answer in _questions(requests, references):
                texts.requests[request.case] = request
                if answer is not None:
                    texts.references[request.case] = answer
        model = str(result.options.get("model", result.label))
        for path in originals(result, "responses", inputs.source):
            texts.responses.update({(model, case): answer for case, answer in _responses(path)})
    return texts


def _questions(requests: Sequence[str], references: Sequence[str]) -> Iterator[tuple[Request, str | None]]:
    try:
        loaded = load_questions(list(requests), list(references))
    except SurgvalidError:
        return
    answers = {case: reference.answer for case, reference in loaded.references.items()}
    yield from ((request, answers.get(case)) for case, request in loaded.requests.items())


def _responses(path: str) -> Iterator[tuple[str, str]]:
    try:
        loaded = load_responses(path)
    except SurgvalidError:
        return
    yield from ((one.case, one.content) for one in loaded.responses if one.content is not None)


TITLE = "Wrong answers one by one"


def section(inputs: ReportInputs) -> Section:
    """Cases to look through, those first that a found weakness explains."""
    made = collect(inputs)
    if not made.cases:
        return missing("cases", TITLE, "There are no scored cases.", "surgvalid score ... --out DIR/MODEL")
    are_answers = inputs.metric == "correct"
    noun = "question" if are_answers else "case"
    what = "that at least one model has wrong" if are_answers else "that are among the worst of at least one model"
    shown = f"{len(made.cases):,} of " if len(made.cases) < made.total else ""
    text = f"{shown}{count_of(made.total, noun)} {what}; those first that a weakness found above explains."
    if not made.texts.requests and are_answers:
        text += " What was asked and answered is not shown: the files of the scorings were moved or changed."
    title = TITLE if are_answers else "The worst cases one by one"
    return Section("cases", title, (Browser("cases", title, text, tuple(made.cases)),))


MOST_BYTES = 300_000_000
MOST_FILES = 20_000
"""Of one folder."""


def originals(result: StoredResult, parameter: str, source: Path) -> list[str]:
    """The files given as that parameter, as `FILE` or `NAME=FILE`; those that are gone or changed are left out.

    Args:
        result: The run.
        parameter: Such as `requests`.
        source: The folder that is reported.
    """
    hashes = _hashes(result, parameter)
    home = source if source.is_dir() else source.parent
    files = []
    for word in _words(result.request.given.get(parameter)):
        name, path = _split(word)
        place = next((place for place in _places(path, home) if _is_that(place, hashes)), None)
        if place is not None:
            files.append(f"{name}={place}" if name else str(place))
    return files


def originals_below(result: StoredResult, parameter: str, source: Path) -> Path | None:
    """The file or folder given as that parameter, where all that a run read of it is there unchanged; None otherwise.

    Args:
        result: The run.
        parameter: Such as `predictions`.
        source: The folder that is reported.
    """
    if files := originals(result, parameter, source):
        return Path(files[0])
    given, hashes = result.request.given.get(parameter), _hashes(result, parameter)
    home = source if source.is_dir() else source.parent
    for place in _places(Path(given), home) if isinstance(given, str) and hashes else ():
        if place.is_dir() and not place.is_symlink() and _are_those(place, hashes):
            return place
    return None


def _are_those(folder: Path, hashes: set[Any]) -> bool:
    """Whether the folder holds as many files as were read, each with a recorded content."""
    files = []
    for below, _, names in os.walk(folder, followlinks=False):
        files += [Path(below, name) for name in names]
        if len(files) > MOST_FILES:
            return False
    return all(_is_that(file, hashes) for file in files)


def _hashes(result: StoredResult, parameter: str) -> set[Any]:
    listed = result.stored.get("inputs")
    rows = listed if isinstance(listed, list) else []
    return {row.get("sha256") for row in rows if isinstance(row, Mapping) and row.get("parameter") == parameter}


def _words(given: Any) -> Iterator[str]:
    if isinstance(given, str):
        yield given
    elif isinstance(given, Mapping):
        yield from (f"{name}={path}" for name, path in given.items() if isinstance(path, str))
    elif isinstance(given, Sequence):
        yield from (word for word in given if isinstance(word, str))


def _split(word: str) -> tuple[str, Path]:
    name, equals, path = word.partition("=")
    return (name, Path(path)) if equals and "/" not in name else ("", Path(word))


def _places(path: Path, home: Path) -> Iterator[Path]:
    """Where it may lie: as it was given, below the folder, and there without the folders it was given with."""
    yield path
    if not path.is_absolute():
        yield home.parent / path
    parts = path.parts
    yield from (home.joinpath(*parts[start:]) for start in range(len(parts)))


def _is_that(place: Path, hashes: set[Any]) -> bool:
    try:
        if place.is_symlink() or not place.is_file() or place.stat().st_size > MOST_BYTES:
            return False
        return digest(place, place.stat().st_mtime_ns) in hashes
    except OSError:
        return False


@cache
def digest(path: Path, _: int) -> str:
    """The SHA-256 of a file, computed once for every time at which it was written."""
    return sha256_of(path)
