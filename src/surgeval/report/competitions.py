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

_OWN = ("score", "floors")
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
    labels = distinct_parts([part.label for part in rankings])
    found = [Competition(label, _narrowed(inputs, part, label)) for part, label in zip(rankings, labels, strict=True)]
    known = list(TRACK_LIMITS_S)
    found = sorted(found, key=lambda one: known.index(one.label) if one.label in known else len(known))
    return [found[0], *(Competition(label, _without_files(own)) for label, own in found[1:])]


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
    found = ["/".join(words[start : len(words) - end]) for words in split]
    return found if all(found) else list(paths)


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
    mine = [part for part in inputs.of(*_OWN) if words <= set(part.label.split("/"))]
    claimed = {part.kind for part in mine}
    kept = [
        part
        for part in inputs.parts
        if part is ranking or part in mine or (part.kind != "rank" and part.kind not in claimed)
    ]
    return replace(inputs, parts=tuple(kept), scores=_own_scores(inputs.scores, mine))


def _without_files(inputs: Inputs) -> Inputs:
    """Without single result files, which belong to no ranking and are shown once."""
    return replace(inputs, parts=tuple(part for part in inputs.parts if part.kind not in RESULT_FILES))


def _own_scores(scores: ScoreTable | None, mine: Sequence[StoredResult]) -> ScoreTable | None:
    """The scores of the cases that the competition asked: who did not take part in it is not missing there."""
    files = [part.path / SCORES for part in mine if part.kind == "score" and (part.path / SCORES).is_file()]
    if scores is None or not files:
        return scores
    cases = pl.concat([pl.read_parquet(path, columns=["case"]).cast(pl.String) for path in files]).unique()
    return replace(scores, frame=scores.frame.join(cases, on="case", how="semi"))
