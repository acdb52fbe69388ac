"""Several rankings in one folder: each is a competition with sections of its own, told apart by its name.

A challenge with three tracks has three rankings: `rank/frame`, `rank/segment` and `rank/procedure`. What lies in
folders of the same name (`scores/frame/...`, `floors/frame`) belongs to the same competition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import polars as pl

from surgeval.report.chart import Chart
from surgeval.report.inputs import SCORES, Inputs, StoredResult
from surgeval.report.section import Block, Section, Sheet, Table
from surgeval.report.sections._wording import slug
from surgeval.results.tables import RESULT_FILES
from surgeval.schema.questions import TRACK_LIMITS_S
from surgeval.schema.score_table import ScoreTable

_OF_ONE = ("score", "floors")
"""Kinds of parts that can belong to one competition."""


class Competition(NamedTuple):
    """One ranking with what belongs to it."""

    label: str
    """Empty where there is only one."""
    inputs: Inputs


def competitions(inputs: Inputs) -> list[Competition]:
    """One per ranking; a single one without a name where there are fewer than two."""
    rankings = inputs.of("rank")
    if len(rankings) < 2:
        return [Competition("", inputs)]
    labels = distinct_parts([result.label for result in rankings])
    several = [
        Competition(label, _narrowed(inputs, result, label)) for result, label in zip(rankings, labels, strict=True)
    ]
    known = list(TRACK_LIMITS_S)
    several = sorted(several, key=lambda one: known.index(one.label) if one.label in known else len(known))
    return [several[0], *(Competition(label, _without_files(competing)) for label, competing in several[1:])]


def distinct_parts(paths: Sequence[str]) -> list[str]:
    """What tells the paths apart: without the folders that all begin and all end with.

    Example:
        >>> distinct_parts(["rank/frame", "rank/segment"])
        ['frame', 'segment']
        >>> distinct_parts(["a", "a/b"])
        ['a', 'a/b']
    """
    split = [path.split("/") for path in paths]
    shortest = min(len(words) for words in split)
    start = next((at for at in range(shortest) if len({words[at] for words in split}) > 1), shortest)
    end = next((at for at in range(shortest - start) if len({words[-1 - at] for words in split}) > 1), 0)
    labels = ["/".join(words[start : len(words) - end]) for words in split]
    return labels if all(labels) else list(paths)


def named_after(section: Section, label: str) -> Section:
    """The section with the competition's name in its title and in the names of its figures and tables."""
    if not label:
        return section
    blocks = tuple(_renamed(block, label) for block in section.blocks)
    return replace(section, name=f"{section.name}-{slug(label)}", title=f"{section.title}: {label}", blocks=blocks)


def _renamed(block: Block, label: str) -> Block:
    if isinstance(block, Chart | Table | Sheet):
        return replace(block, name=f"{block.name}-{slug(label)}", title=f"{block.title}, {label}")
    return block


def _narrowed(inputs: Inputs, ranking: StoredResult, label: str) -> Inputs:
    words = set(label.split("/"))
    mine = [result for result in inputs.of(*_OF_ONE) if words <= set(result.label.split("/"))]
    claimed = {result.kind for result in mine}
    kept = [
        result
        for result in inputs.parts
        if result is ranking or result in mine or (result.kind != "rank" and result.kind not in claimed)
    ]
    return replace(inputs, parts=tuple(kept), scores=_own_scores(inputs.scores, mine))


def _without_files(inputs: Inputs) -> Inputs:
    """Without single result files, which belong to no ranking and are shown once."""
    return replace(inputs, parts=tuple(result for result in inputs.parts if result.kind not in RESULT_FILES))


def _own_scores(scores: ScoreTable | None, mine: Sequence[StoredResult]) -> ScoreTable | None:
    """The scores of the cases that the competition asked: who did not take part in it is not missing there."""
    files = [result.path / SCORES for result in mine if result.kind == "score" and (result.path / SCORES).is_file()]
    if scores is None or not files:
        return scores
    cases = pl.concat([pl.read_parquet(path, columns=["case"]).cast(pl.String) for path in files]).unique()
    return replace(scores, frame=scores.frame.join(cases, on="case", how="semi"))
