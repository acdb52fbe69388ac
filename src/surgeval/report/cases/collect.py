"""The cases to look at: wrong answers, or the worst scores, those first that an analysis explains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from surgeval.errors import SurgevalError
from surgeval.report.cases.originals import originals
from surgeval.report.cases.properties import has_term, properties_of
from surgeval.report.inputs import Inputs
from surgeval.report.sections._wording import bucket_label
from surgeval.report.verdict.weaknesses import Effect, harmful_effects
from surgeval.report.words import plain
from surgeval.schema.question_files import load_questions, load_responses
from surgeval.schema.questions import Request

MOST_CASES = 1_500
"""Cases that a page carries; `surgeval report serve` has all."""
_WORST = 200
"""Cases per model that count as its worst, where scores are no right or wrong."""
_LONGEST = 400
"""Letters of a question or an answer."""


class Texts(NamedTuple):
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
    texts: Texts


def collect(inputs: Inputs, *, most: int | None = MOST_CASES) -> Collected:
    """Every case that some model has wrong (or among its worst), those first that a found weakness explains."""
    if inputs.rows.is_empty() or inputs.better is None:
        return Collected([], 0, [], Texts({}, {}, {}))
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


def _wrong(inputs: Inputs) -> pl.Expr:
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
    inputs: Inputs, cases: Sequence[str], rows: pl.DataFrame, known: pl.DataFrame, explained: pl.DataFrame, texts: Texts
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
    case: str, rows: Sequence[Mapping[str, Any]], levels: Mapping[str, Any], why: list[list[Any]],
    numbers: Mapping[str, int], texts: Texts,
) -> dict[str, Any]:  # fmt: skip
    """One case with short names of its parts, since a page carries many."""
    first, request = rows[0], texts.requests.get(case)
    kind = first.get("group") or first.get("capability") or first.get("task")
    made: dict[str, Any] = {
        "c": plain(case, limit=80), "v": plain(first["video"], limit=80),
        "t": plain(first.get("track") or "", limit=40),
        "k": bucket_label(str(kind), None) if kind else "", "w": why,
        "p": {name: plain(level, limit=40) for name, level in levels.items() if name != "case" and level is not None},
        "a": [_answer(row, numbers, texts) for row in rows],
    }  # fmt: skip
    if request is not None:
        made |= {"q": plain(request.question, limit=_LONGEST), "s": [request.start_s, request.end_s]}
    if case in texts.references:
        made["r"] = plain(texts.references[case], limit=_LONGEST)
    return made


def _answer(row: Mapping[str, Any], numbers: Mapping[str, int], texts: Texts) -> list[Any]:
    """Model, value, its words, seconds, what became of it, and whether it is wrong."""
    answer = texts.responses.get((row["model"], row["case"]))
    latency, value = row.get("latency"), row["value"]
    return [
        numbers[row["model"]], None if value is None else round(value, 4),
        None if answer is None else plain(answer, limit=_LONGEST), None if latency is None else round(latency, 2),
        row.get("status") or "", int(row["wrong"]),
    ]  # fmt: skip


def _texts(inputs: Inputs) -> Texts:
    """Questions, references and answers of every scoring whose files are still there, unchanged."""
    texts = Texts({}, {}, {})
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
    except SurgevalError:
        return
    answers = {case: reference.answer for case, reference in loaded.references.items()}
    yield from ((request, answers.get(case)) for case, request in loaded.requests.items())


def _responses(path: str) -> Iterator[tuple[str, str]]:
    try:
        loaded = load_responses(path)
    except SurgevalError:
        return
    yield from ((one.case, one.content) for one in loaded.responses if one.content is not None)
