"""How well people do on the questions: the ceiling, from answers that were given before the reference was shown.

An answer is scored as that of a model is; answers in free words need a judge and are only counted. Raters are crossed
with questions, so a question counts once, with the share of its raters that were right, and the interval comes from
the patients, or videos where nobody tells them (a jackknife over whole ones; none below three). Two people who answer
alike less often than `LEAST_ALIKE` on a template disagree about what is asked: the template is named for withdrawal.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import polars as pl

from surgvalid.questions.blind_guesses import share_over_videos
from surgvalid.questions.stages.history import Action, History
from surgvalid.results.tables.scoring import CEILING
from surgvalid.schema.findings import Finding, Severity
from surgvalid.schema.questions.formats import JUDGED, AnswerFormat, build_format, tidied

LEAST_ALIKE = 0.7
LEAST_PAIRS = 5
"""Fewer questions that two people answered say nothing of a template."""
_NEEDS_JUDGE = ("open_ended", "matching")


class Scorable(NamedTuple):
    """A question, as far as an answer to it can be scored and counted."""

    case: str
    patient: str
    """Or the video, where nobody tells the patient."""
    format: str
    parameters: Mapping[str, Any] | None
    right: str
    kinds: Mapping[str, str]
    """Its split, track, template and capability."""


def human_ceiling(asked: Iterable[Scorable], history: History) -> tuple[pl.DataFrame, list[Finding]]:
    """The accuracy of people on questions: overall, by part, track, template, capability and rater."""
    answers, unsure = defaultdict[str, dict[str, str]](dict), set[tuple[str, str]]()
    for entry in history.entries:
        if entry.action is Action.ANSWERED:
            answers[entry.item].setdefault(entry.who, entry.after)
        elif entry.action is Action.UNSURE:
            unsure.add((entry.item, entry.who))
    people = {who for given in answers.values() for who in given}
    untold = sum(who in people and who not in answers[item] for item, who in unsure)
    rows, alike, unjudged = list[dict[str, Any]](), defaultdict[str, list[bool]](list), 0
    for one in asked:
        given = answers.get(one.case, {})
        if given and one.format in _NEEDS_JUDGE:
            unjudged += len(given)
        elif given:
            kind = build_format(one.format, one.parameters)
            alike[one.kinds["template"]] += [_equal(kind, a, b) for a, b in combinations(given.values(), 2)]
            place = f"{one.kinds['split']}/{one.kinds['track']}"
            about = {"qID": one.case, "video": one.patient, "part": place, **one.kinds}
            rows += [{**about, "rater": who, "right": _equal(kind, one.right, text)} for who, text in given.items()]
    return CEILING.frame(list(_levels(rows))), list(_remarks(alike, unjudged, untold))


def _equal(kind: AnswerFormat, one: str, other: str) -> bool:
    if not (kind.reads(one) and kind.reads(other)):
        return False
    if kind.name in JUDGED:
        return tidied(one) == tidied(other)
    return bool(kind.compare(kind.parse(one), kind.parse(other)))


def _levels(rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    if rows:
        yield {"level": "overall", "name": "", **_accuracy(rows)}
    for level in ("part", "track", "template", "capability", "rater"):
        for name in sorted({str(row[level]) for row in rows}):
            yield {"level": level, "name": name, **_accuracy([row for row in rows if str(row[level]) == name])}


def _accuracy(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    of_question: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for row in rows:
        of_question[row["video"], row["qID"]].append(row["right"])
    shares = share_over_videos((video, sum(right) / len(right)) for (video, _), right in of_question.items())
    people = {"raters": len({row["rater"] for row in rows}), "questions": len(of_question)}
    return people | dict(zip(("videos", "accuracy", "low", "high"), shares, strict=True))


def _remarks(alike: Mapping[str, Sequence[bool]], unjudged: int, untold: int) -> Iterator[Finding]:
    for template, same in sorted(alike.items()):
        if len(same) >= LEAST_PAIRS and sum(same) < LEAST_ALIKE * len(same):
            text = f"{template}: people answer alike {sum(same)} of {len(same)} times before they see the reference"
            yield Finding("ceiling-disagreement", Severity.WARNING, f"{text}; withdraw it or word it anew")
    if unjudged:
        text = f"{unjudged} answers of people are in free words; they need a judge and are not in the ceiling"
        yield Finding("ceiling-unjudged", Severity.NOTE, text)
    if untold:
        text = f"{untold} times somebody could not tell from the image and gave no answer; that is not in the ceiling"
        yield Finding("ceiling-untold", Severity.NOTE, text)
