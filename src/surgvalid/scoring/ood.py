"""Out of distribution: which questions are, by a declared rule, and the gap that a model has there.

In or out of distribution: as the file says, or derived by a declared rule.

The challenge defines OOD "with respect to procedure type and question"; its public data mark nothing,
and its participants disagreed on what it means. So the rule is named, applied to what training data
contain, and shown beside what the file states.

The out-of-distribution gap of one model: the same capabilities on both sides, each counting once.

A bucket is a capability group, in or out of distribution. Groups with questions on one side only cannot enter a gap
and are listed with the reason; `stats.balanced_gap` has the definition and the interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from surgvalid.errors import Misuse, UnknownName
from surgvalid.results.tables.scoring import OOD_GAP
from surgvalid.schema.findings import Finding, Severity
from surgvalid.schema.procedures.foreign_objects import CLASS_NAMES
from surgvalid.schema.questions.question_files import QuestionSet
from surgvalid.schema.questions.questions import Reference, Request
from surgvalid.schema.questions.taxonomy import Capability
from surgvalid.scoring.blind_questions import template_of
from surgvalid.scoring.slices import bucket_name
from surgvalid.stats.comparing.class_contrasts import BalancedGap, balanced_gap
from surgvalid.stats.intervals.few_videos import no_variation
from surgvalid.stats.intervals.interval import known
from surgvalid.stats.intervals.sign_flip_interval import FEWEST_TESTED
from surgvalid.stats.intervals.video_jackknife import FEWEST_VIDEOS

OodRule = Literal["stated", "procedure", "template", "either", "center"]
RULES: tuple[OodRule, ...] = ("stated", "procedure", "template", "either", "center")


@dataclass(frozen=True, slots=True)
class SeenSides:
    """What the training data contain."""

    procedures: frozenset[str]
    templates: frozenset[str]
    centers: frozenset[str]

    @classmethod
    def of(
        cls,
        requests: Sequence[Request],
        references: Sequence[Reference] = (),
        class_names: tuple[str, ...] = CLASS_NAMES,
    ) -> SeenSides:
        """What these training questions contain."""
        centers = frozenset(str(r.strata["center"]) for r in references if "center" in r.strata)
        templates = frozenset(template_of(r.question, class_names=class_names) for r in requests)
        return cls(frozenset(_folded(r.procedure) for r in requests), templates, centers)


def derived_ood(questions: QuestionSet, rule: str, seen: SeenSides | None) -> list[bool | None]:
    """For every question, in the order of the references, whether it is out of distribution under `rule`.

    Args:
        questions: The question set.
        rule: `stated` (what the file says), `procedure`, `template`, `either` of the two, `center`.
        seen: What the training data contain; needed by every rule but `stated`.

    Raises:
        UnknownName: No such rule.
        Misuse: The rule needs training data, or centres that are not there.
    """
    if rule not in RULES:
        raise UnknownName("rule for OOD", rule, RULES)
    if rule == "stated":
        return list(questions.references.columns["ood"])
    if seen is None:
        raise Misuse(f"the OOD rule {rule!r} needs the training questions; pass --train-requests")
    if rule == "center" and not seen.centers:
        raise Misuse("the OOD rule 'center' needs training references with a 'center'; pass --train-references")
    return [_is_unseen(questions, case, rule, seen) for case in questions.references]


def _is_unseen(questions: QuestionSet, case: str, rule: str, seen: SeenSides) -> bool | None:
    request = questions.requests[case]
    if rule == "center":
        center = questions.references[case].strata.get("center")
        return None if center is None else center not in seen.centers
    new_procedure = _folded(request.procedure) not in seen.procedures
    if rule == "procedure":
        return new_procedure
    new_template = template_of(request.question, class_names=questions.class_names) not in seen.templates
    return new_template if rule == "template" else new_procedure or new_template


def _folded(name: str) -> str:
    return " ".join(name.casefold().split())


SHARED = "(mean over the capabilities on both sides)"
REPEATED = "(mean over those in two or more videos on both sides)"
_SIDES = ("in distribution", "out of distribution")


class OodGap(NamedTuple):
    """Means over capabilities first, then every capability, and what must be known about them."""

    table: pl.DataFrame
    findings: tuple[Finding, ...]


class _Rows(NamedTuple):
    """Scored questions of some capabilities; `second` is out of distribution."""

    values: np.ndarray
    videos: np.ndarray
    classes: np.ndarray
    second: np.ndarray
    names: Sequence[str]

    def only(self, classes: Sequence[int]) -> _Rows:
        """The rows of these classes."""
        kept = np.isin(self.classes, classes)
        return _Rows(self.values[kept], self.videos[kept], self.classes[kept], self.second[kept], self.names)

    def gap(self, level: float) -> BalancedGap:
        """Out of distribution minus in distribution."""
        return balanced_gap(self.values, self.videos, self.classes, self.second, level=level)


def ood_gap(
    values: np.ndarray, videos: np.ndarray, buckets: Mapping[str, np.ndarray], *, level: float = 0.95
) -> OodGap:
    """The gap of one model over the capabilities on both sides, and of every capability.

    Args:
        values: 1 right, 0 wrong, NaN not scored, per question.
        videos: Code of each question's video.
        buckets: Indices of the questions of each bucket.
        level: Of the intervals.
    """
    rows = _rows(values, videos, buckets)
    whole = rows.gap(level)
    empty = [words for side, words in enumerate(_SIDES) if not (rows.second == bool(side)).any()]
    if empty or not whole.classes:
        why = f"no question is {empty[0]}" if empty else "no capability has questions on both sides"
        severity = Severity.NOTE if empty else Severity.WARNING
        finding = Finding("no-ood-gap", severity, f"No out-of-distribution gap: {why}.")
        return OodGap(OOD_GAP.frame(_alone(rows, whole, level)), (finding,))
    lines = [_line(SHARED, rows.only(whole.classes), whole)]
    firm = [place for place in whole.classes if place not in whole.single]
    if whole.single and firm:
        chosen = rows.only(firm)
        lines.append(_line(REPEATED, chosen, chosen.gap(level)))
    return OodGap(OOD_GAP.frame([*lines, *_alone(rows, whole, level)]), tuple(_findings(rows, whole)))


def _rows(values: np.ndarray, videos: np.ndarray, buckets: Mapping[str, np.ndarray]) -> _Rows:
    groups = Capability.groups()
    picked = [
        (place, second, rows[np.isfinite(values[rows])])
        for place, group in enumerate(groups)
        for second in (False, True)
        if (rows := buckets.get(bucket_name(group, second))) is not None
    ]
    index = np.concatenate([rows for _, _, rows in picked]) if picked else np.empty(0, dtype=np.intp)
    sizes = [len(rows) for _, _, rows in picked]
    classes = np.repeat(np.array([place for place, _, _ in picked], dtype=np.int64), sizes)
    second = np.repeat(np.array([side for _, side, _ in picked], dtype=bool), sizes)
    return _Rows(values[index], videos[index], classes, second, [group.value for group in groups])


def _alone(rows: _Rows, whole: BalancedGap, level: float) -> list[dict[str, Any]]:
    """Every capability by itself; one with a side only has the accuracy of that side."""
    lines = []
    for place in np.unique(rows.classes).tolist():
        chosen = rows.only([place])
        line = _line(rows.names[place], chosen, chosen.gap(level))
        if place not in whole.classes:
            side = int(chosen.second[0])
            line[("id_accuracy", "ood_accuracy")[side]] = float(chosen.values.mean())
            line["note"] = f"questions {_SIDES[side]} only: not in the mean"
        lines.append(line)
    return lines


def _line(name: str, rows: _Rows, gap: BalancedGap) -> dict[str, Any]:
    counts = [rows.second == side for side in (False, True)]
    sizes = {
        f"{what}_{side}": number
        for side, held in zip(("id", "ood"), counts, strict=True)
        for what, number in (("questions", int(held.sum())), ("videos", len(np.unique(rows.videos[held]))))
    }
    return {
        "capability": name,
        "id_accuracy": known(gap.first),
        "ood_accuracy": known(gap.second),
        "gap": known(gap.value),
        "low": known(gap.low),
        "high": known(gap.high),
        "df": known(gap.df),
        **sizes,
        "method": "none" if np.isnan(gap.low) else "jackknife",
        "note": _why_none(rows, gap),
    }


def _why_none(rows: _Rows, gap: BalancedGap) -> str | None:
    if np.isnan(gap.value) or not np.isnan(gap.low):
        return None
    if gap.single and len(gap.classes) > 1:
        return f"in one video only on a side: {', '.join(rows.names[place] for place in gap.single)}"
    if min(gap.videos) < FEWEST_VIDEOS:
        return f"{gap.videos[0]} videos in and {gap.videos[1]} out of distribution: no interval below {FEWEST_VIDEOS}"
    return "in one video only on a side" if gap.single else no_variation().message


def _findings(rows: _Rows, whole: BalancedGap) -> list[Finding]:
    shared = [rows.names[place] for place in whole.classes]
    others = [rows.names[place] for place in np.unique(rows.classes).tolist() if place not in whole.classes]
    findings = []
    if others:
        text = (
            f"The out-of-distribution gap is over {len(shared)} capabilities with questions on both sides "
            f"({', '.join(shared)}); without those on one side only ({', '.join(others)})."
        )
        findings.append(Finding("ood-gap-shared", Severity.NOTE, text))
    if (why := _why_none(rows, whole)) is not None:
        text = f"The out-of-distribution gap has no interval: {why.removesuffix('.')}."
        findings.append(Finding("ood-gap-open", Severity.WARNING, text))
    elif min(whole.videos) < FEWEST_TESTED:
        text = (
            f"The out-of-distribution gap rests on {min(whole.videos)} videos on its smaller side "
            f"({whole.df:.1f} degrees of freedom)."
        )
        findings.append(Finding("few-videos", Severity.WARNING, text))
    return findings
