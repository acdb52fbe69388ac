"""Why each model fails, in one plain sentence with its evidence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from surgvalid.report.verdict.leads import Measure
from surgvalid.report.verdict.weaknesses import Behind, Effect, Examined, Lost, Weaknesses
from surgvalid.report.wording import bucket_label
from surgvalid.report.words import count_of, names_of, percent, plain, spoken_term
from surgvalid.schema.outcomes import Status
from surgvalid.schema.tables.shown_tables import p_phrase

LOST_FROM = 0.05
"""Share of questions from which answers that never came are a reason."""
MOST_CAUSES = 2
"""Causes of one sort that a sentence names."""
_LOST = {
    Status.TIMED_OUT: "came too late",
    Status.REFUSED: "were refused",
    Status.UNREADABLE: "could not be read",
    Status.FAILED: "ended in a failure of the model",
    Status.MISSING: "are missing",
    Status.NOT_ASKED: "were never asked for",
    Status.INFRASTRUCTURE: "were lost with the machine",
}


class FailureReason(NamedTuple):
    """Why one model fails, or that it is not known."""

    model: str
    sentence: str
    is_known: bool
    term: str = ""
    """The property that explains most; empty where there is none."""


def reasons(examined: Examined, measure: Measure) -> list[FailureReason]:
    """One sentence per model."""
    return [_reason(one, examined, measure) for one in examined.models]


def _reason(one: Weaknesses, examined: Examined, measure: Measure) -> FailureReason:
    causes = [*_lost(one, examined), *_effects(one, examined, measure), *_behind(one, examined, measure)]
    tracks = f"it took no part in {names_of(one.elsewhere)}; " if one.elsewhere else ""
    if not causes:
        return FailureReason(one.model, tracks + _unexplained(one, examined, measure), False)
    return FailureReason(one.model, f"{tracks}{'; '.join(causes)}.", True, one.effects[0].term if one.effects else "")


def _lost(one: Weaknesses, examined: Examined) -> Iterator[str]:
    skipped = names_of([spoken_kind(kind, examined.column) for kind in one.skipped]) if one.skipped else ""
    for place, lost in enumerate([lost for lost in one.lost if lost.share >= LOST_FROM or skipped][:MOST_CAUSES]):
        among = f", among them all on {skipped}" if skipped and not place else ""
        what = _LOST.get(lost.status, lost.status.value)
        yield f"{percent(lost.share)} of its answers {what}{_of_wrong(one, lost)}{among}"


def _of_wrong(one: Weaknesses, lost: Lost) -> str:
    return "" if one.wrong is None else f" ({percent(lost.of_wrong)} of all it has wrong)"


def _effects(one: Weaknesses, examined: Examined, measure: Measure) -> Iterator[str]:
    for effect in one.effects[:MOST_CAUSES]:
        yield f"it fails on {_evident(effect, examined, measure)}"


def _evident(effect: Effect, examined: Examined, measure: Measure) -> str:
    return f"{spoken_term(effect.term)} ({_size(effect, measure)}; {_corrected(effect.p, examined.effects)})"


def _size(effect: Effect, measure: Measure) -> str:
    ends = "" if effect.low is None or effect.high is None else f", 95 % interval {effect.low:.2f} to {effect.high:.2f}"
    if effect.odds_ratio is not None:
        return f"odds of a right answer {effect.odds_ratio:.2f} times those elsewhere{ends}"
    return f"{plain(measure.facts.name, limit=40)} changes by {effect.estimate:+.2f} on the fitted scale{ends}"


def _corrected(p: float, tests: int) -> str:
    return f"{p_phrase(p)} after correction over {count_of(tests, 'effect')}" if tests > 1 else p_phrase(p)


def _behind(one: Weaknesses, examined: Examined, measure: Measure) -> Iterator[str]:
    if not one.behind:
        return
    if len(one.behind) == one.kinds > 1:
        least, most = (measure.gap(end(kind.difference for kind in one.behind)) for end in (min, max))
        every = "both" if one.kinds == 2 else f"all {one.kinds}"
        by = f"by {least}" if least == most else f"by {least} at least and {most} at most"
        yield f"it is behind {_others(examined)} on {every} {_kinds(examined)} examined, {by}"
        return
    named = [f"{spoken_kind(kind.kind, examined.column)} ({_gap(kind, measure)})" for kind in one.behind[:MOST_CAUSES]]
    yield f"it is behind {_others(examined)} on {' and '.join(named)}"


def _others(examined: Examined) -> str:
    """Whom a model is compared with: the other one, or the mean of all others."""
    return "the other model" if len(examined.models) + examined.more == 2 else "the mean of the other models"


def _gap(kind: Behind, measure: Measure) -> str:
    gap = f"by {measure.gap(kind.difference)}"
    return (
        gap
        if kind.low is None or kind.high is None
        else f"{gap}, 95 % interval {measure.gap_ends(kind.low, kind.high)}"
    )


def _unexplained(one: Weaknesses, examined: Examined, measure: Measure) -> str:
    looked = []
    if one.properties:
        looked.append(count_of(one.properties, "property").replace("propertys", "properties"))
    if one.kinds:
        looked.append(f"{one.kinds} {_kinds(examined)}")
    if not looked:
        return "why it fails is not known: nothing in the folder explains it."
    wrong = "" if one.wrong is None else f"it has {percent(one.wrong)} of the questions wrong, and "
    of = f"of {' and '.join(looked)} none stands out after correction"
    if one.nearest is None:
        return f"{wrong}no weakness of its own shows: {of}."
    return f"{wrong}no weakness of its own is certain: {of}; the nearest is {_evident(one.nearest, examined, measure)}."


def _kinds(examined: Examined) -> str:
    return "kinds of question" if examined.column in ("group", "capability", "task") else "conditions"


def spoken_kind(kind: str, column: str) -> str:
    """A kind of question, or the level of a condition, in words.

    Example:
        >>> spoken_kind("aggregation", "group"), spoken_kind("B", "center")
        ('aggregation', 'center B')
    """
    if column in ("group", "capability"):
        label = bucket_label(kind, None)
        return label[:1].lower() + label[1:]
    return plain(kind, limit=40) if column == "task" else f"{column.replace('_', ' ')} {plain(kind, limit=40)}"


def unlisted(examined: Examined) -> str:
    """What is said of models beyond those explained; empty where all are."""
    if not examined.more:
        return ""
    are = "is" if examined.more == 1 else "are"
    return f"The first {len(examined.models)} models by final rank; {examined.more} more {are} in the tables below."
