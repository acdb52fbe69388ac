"""Questions as a blind system sees them: text, procedure and window, with the reference beside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from surgeval.schema.formats import JUDGED, AnswerFormat, Percentage, Time, Unreadable, tidied
from surgeval.schema.question_files import QuestionSet
from surgeval.scoring.slices import bucket_name
from surgeval.scoring.templates import templates_of


@dataclass(frozen=True, slots=True)
class BlindQuestion:
    """One question without its video."""

    case: str
    video: str
    procedure: str
    template: str
    start_s: float
    format: str
    answer_format: AnswerFormat
    value: Any | None
    """The parsed reference; None when it breaks its own format, so that the question cannot be scored."""
    bucket: str
    ood_stated: bool

    @property
    def answer(self) -> str | None:
        """The reference in one canonical spelling: equal references have equal answers."""
        return None if self.value is None else canonical(self.format, self.value)

    @property
    def tolerance(self) -> float:
        """How far a right answer may be off, in the unit of the format; 0 where it must be equal."""
        if isinstance(self.answer_format, Time):
            return float(self.answer_format.threshold_seconds)
        return float(self.answer_format.threshold_pp) if isinstance(self.answer_format, Percentage) else 0.0

    def score(self, text: str | None) -> float | None:
        """1 if `text` answers the question, else 0; None when it cannot be scored.

        Free text must equal the reference when both are tidied.
        """
        if self.value is None:
            return None
        given = None if text is None else _value(self.answer_format, text)
        if given is None:
            return 0.0
        if self.format in JUDGED:
            return float(tidied(given) == tidied(self.value))
        return float(self.answer_format.compare(self.value, given))


def blind_questions(questions: QuestionSet) -> list[BlindQuestion]:
    """Every question that has a reference, in the order of the references."""
    references = list(questions.references.values())
    asked = [questions.requests[reference.case] for reference in references]
    templates = templates_of((request.question for request in asked), class_names=questions.class_names)
    blind = []
    for reference, request, template in zip(references, asked, templates, strict=True):
        answer_format = questions.format_of(reference)
        blind.append(
            BlindQuestion(
                case=reference.case,
                video=request.video,
                procedure=" ".join(request.procedure.casefold().split()),
                template=template,
                start_s=request.start_s,
                format=reference.format,
                answer_format=answer_format,
                value=_value(answer_format, reference.answer),
                bucket=bucket_name(reference.capability, reference.ood),
                ood_stated=reference.ood is not None,
            )
        )
    return blind


def canonical(format_name: str, value: Any) -> str:
    """The text that stands for a parsed value.

    Example:
        >>> canonical("time", (65, 3600)), canonical("fo_class", frozenset({"Mesh", "Clip"}))
        ('00:01:05, 01:00:00', 'Clip, Mesh')
    """
    if format_name == "binary":
        return "yes" if value else "no"
    if format_name == "time":
        return clock(value)
    if format_name == "percentage":
        return f"{value:.6f}".rstrip("0").rstrip(".") + "%"
    if format_name == "fo_class":
        return ", ".join(sorted(value))
    if format_name in ("open_ended", "multiple_choice"):
        return tidied(value)
    return str(value)


def clock(seconds: Sequence[float]) -> str:
    """Timestamps as hh:mm:ss, separated by commas; never beyond what two digits of hours hold."""
    whole = [int(min(max(s, 0), 359_999)) for s in seconds]
    return ", ".join(f"{s // 3600:02}:{s // 60 % 60:02}:{s % 60:02}" for s in whole)


def _value(answer_format: AnswerFormat, text: str) -> Any | None:
    try:
        return answer_format.parse(text)
    except Unreadable:
        return None
