"""Why each model fails, in one plain sentence with its evidence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from surgvalid.report.verdict.frequencies import FEWEST_CASES, CaseGroup, Contrasts, WeakAndElsewhere
from surgvalid.report.verdict.leads import Measure
from surgvalid.report.verdict.weaknesses import Behind, Examined, Lost, Weaknesses
from surgvalid.report.wording import bucket_label
from surgvalid.report.words import SPOKEN_KINDS, count_of, names_of, percent, plain, spoken_term
from surgvalid.schema.outcomes import Status

LOST_FROM = 0.05
"""Share of questions from which answers that never came are a reason."""
MOST_CAUSES = 2
"""Causes of one sort that a sentence names."""
UNKNOWN = "why it fails is not known: nothing in the folder explains it."
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
    dots: tuple[tuple[int, str], ...] = ()
    """Of 100 answers so many are wrong, where it is weak and elsewhere."""


def reasons(examined: Examined, measure: Measure, counted: Contrasts) -> list[FailureReason]:
    """One sentence per model.

    Args:
        examined: What was contrast.
        measure: What is scored.
        counted: How each model does where it is weak, and elsewhere.
    """
    return [_reason(one, examined, measure, counted) for one in examined.models]


def _reason(one: Weaknesses, examined: Examined, measure: Measure, counted: Contrasts) -> FailureReason:
    causes = [
        *_lost(one, examined),
        *_effects(one, measure, counted),
        *_behind(one, examined, measure, counted),
    ]
    tracks = f"it took no part in {names_of(one.elsewhere)}; " if one.elsewhere else ""
    if not causes:
        return FailureReason(one.model, tracks + _unexplained(one, examined), False)
    term = one.effects[0].term if one.effects else ""
    return FailureReason(one.model, f"{tracks}{'; '.join(causes)}.", True, term, _dots(one, examined, measure, counted))


def _dots(one: Weaknesses, examined: Examined, measure: Measure, counted: Contrasts) -> tuple[tuple[int, str], ...]:
    """Two squares of a hundred for the first cause that the counts bear out; none where cases are too few."""
    named = [(effect.term, spoken_term(effect.term)) for effect in one.effects]
    if len(one.behind) < one.kinds:
        named += [(behind.kind, spoken_kind(behind.kind, examined.column)) for behind in one.behind]
    for key, words in named[:1] if measure.is_accuracy else ():
        contrast = counted.get((one.model, key))
        if (
            contrast is not None
            and _bears_out(contrast)
            and min(contrast.there.cases, contrast.elsewhere.cases) >= FEWEST_CASES
        ):
            return (_wrong_of_100(contrast.there), words), (_wrong_of_100(contrast.elsewhere), "elsewhere")
    return ()


def _bears_out(contrast: WeakAndElsewhere) -> bool:
    """Whether plain counts show the weakness too; where they do not, other properties explain it."""
    return _wrong_of_100(contrast.there) > _wrong_of_100(contrast.elsewhere)


def _wrong_of_100(group: CaseGroup) -> int:
    return round(100 * (1 - group.value))


def _lost(one: Weaknesses, examined: Examined) -> Iterator[str]:
    skipped = names_of([spoken_kind(kind, examined.column) for kind in one.skipped]) if one.skipped else ""
    for place, lost in enumerate([lost for lost in one.lost if lost.share >= LOST_FROM or skipped][:MOST_CAUSES]):
        among = f", among them all on {skipped}" if skipped and not place else ""
        what = _LOST.get(lost.status, lost.status.value)
        yield f"{percent(lost.share)} of its answers {what}{_of_wrong(one, lost)}{among}"


def _of_wrong(one: Weaknesses, lost: Lost) -> str:
    return "" if one.wrong is None else f" ({percent(lost.of_wrong)} of all it has wrong)"


def _effects(one: Weaknesses, measure: Measure, counted: Contrasts) -> Iterator[str]:
    for effect in one.effects[:MOST_CAUSES]:
        yield f"it fails on {spoken_term(effect.term)}{_in_counts(counted.get((one.model, effect.term)), measure)}"


def _in_counts(contrast: WeakAndElsewhere | None, measure: Measure) -> str:
    """How the model does there and elsewhere, in numbers of cases; nothing where counts alone do not show it."""
    if contrast is None:
        return ""
    there, elsewhere = contrast
    if not measure.is_accuracy:
        return f" ({measure.value(there.value)} there, {measure.value(elsewhere.value)} elsewhere)"
    if not _bears_out(contrast):
        return ", once other properties are held fixed"
    if there.cases < FEWEST_CASES:
        wrong = round(there.cases * (1 - there.value))
        return f" ({wrong} of {count_of(there.cases, 'question')} wrong)"
    return (
        f": of 100 such questions it gets {_wrong_of_100(there)} wrong, of 100 others {_wrong_of_100(elsewhere)}"
        f" ({there.cases:,} and {elsewhere.cases:,} questions)"
    )


def _behind(one: Weaknesses, examined: Examined, measure: Measure, counted: Contrasts) -> Iterator[str]:
    if not one.behind:
        return
    if len(one.behind) == one.kinds > 1:
        least, most = (measure.gap(end(kind.difference for kind in one.behind)) for end in (min, max))
        every = "both" if one.kinds == 2 else f"all {one.kinds}"
        by = f"by {least}" if least == most else f"by {least} at least and {most} at most"
        yield f"it is behind {_others(examined)} on {every} {_kinds(examined)} examined, {by}"
        return
    first, *more = one.behind[:MOST_CAUSES]
    named = " and ".join(
        f"{spoken_kind(kind.kind, examined.column)} ({_gap(kind, measure)})" for kind in (first, *more)
    )
    wrong = "" if more or one.effects else _in_counts(counted.get((one.model, first.kind)), measure)
    yield f"it is behind {_others(examined)} on {named}{wrong if wrong.startswith(':') else ''}"


def _others(examined: Examined) -> str:
    """Whom a model is compared with: the other one, or the mean of all others."""
    return "the other model" if len(examined.models) + examined.more == 2 else "the mean of the other models"


def _gap(kind: Behind, measure: Measure) -> str:
    return f"by {measure.gap(kind.difference)}"


def _unexplained(one: Weaknesses, examined: Examined) -> str:
    looked = []
    if one.properties:
        looked.append(count_of(one.properties, "property").replace("propertys", "properties"))
    if one.kinds:
        looked.append(f"{one.kinds} {_kinds(examined)}")
    if not looked:
        return UNKNOWN
    return f"it shows no weakness of its own ({' and '.join(looked)} examined)."


def _kinds(examined: Examined) -> str:
    return "kinds of question" if examined.column in ("group", "capability", "task") else "conditions"


def spoken_kind(kind: str, column: str) -> str:
    """A kind of question, or the level of a condition, in words.

    Example:
        >>> spoken_kind("aggregation", "group"), spoken_kind("B", "center")
        ('counting', 'center B')
    """
    if kind in SPOKEN_KINDS and column in ("group", "capability"):
        return SPOKEN_KINDS[kind]
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
