"""Questions as a blind system sees them: text, procedure and window, and what their templates give away.

Question templates: the question with everything masked that varies from case to case.

Two questions share a template when they differ only in times, durations, numbers, quoted words or
foreign-object classes. What is masked, in order of precedence at each place:
    <quoted>    "..." and '...' in straight or curly quotes (an apostrophe inside a word is none)
    <time>      hh:mm:ss, mm:ss, with or without a fraction
    <duration>  a number (digits or words) with a unit: 12 s, 2.5 minutes, two hours, 2 min 30 s
    <object>    a class name, singular or plural, in any case
    <number>    digits (1,000; 2.5; 3rd; 40%) and the words zero to twenty, thirty ... ninety, hundred
The rest is lower-cased with single spaces. The words first, last and once stay: they change what is
asked. The result depends on the text and the class names alone.

What the templates of a question set give away: single possible answers, and what training never showed.

A template with a single possible answer tests memory of the template, not sight of the video. Answers
are told apart by their values, so spelling does not count; a template that is asked once has one answer
by necessity, which is why the number of questions stands beside it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import polars as pl

from surgvalid.results.tables import scoring as tables
from surgvalid.schema.procedures.foreign_objects import CLASS_NAMES
from surgvalid.schema.questions.formats import JUDGED, AnswerFormat, Percentage, Time, Unreadable, tidied
from surgvalid.schema.questions.question_files import QuestionSet
from surgvalid.scoring.slices import OVERALL, bucket_name

_WORDS = (
    "zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen"
    "|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred"
)
_DIGITS = r"\d+(?:[.,]\d+)*"
_UNIT = r"(?:hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s|milliseconds?|ms)"
_AMOUNT = rf"(?:{_DIGITS}[\s-]?{_UNIT}|(?:{_WORDS})[\s-]{_UNIT})\b"
_WORD_NUMBER = rf"(?:{_WORDS})(?:-(?:{_WORDS}))?\b"

_QUOTED = r"\"[^\"]{0,400}\"|“[^”]{0,400}”|‘[^’]{0,400}’(?!\w)|(?<!\w)'[^']{0,400}'(?!\w)"
_TIME = r"\d{1,2}:\d{2}(?::\d{2})?(?:\.\d+)?"
_DURATION = rf"{_AMOUNT}(?:\s(?:and\s)?{_AMOUNT})*"
_NUMBER = rf"{_DIGITS}(?:st|nd|rd|th)?(?:\s?%)?|{_WORD_NUMBER}"


def template_of(question: str, *, class_names: Sequence[str] = CLASS_NAMES) -> str:
    """The template of one question.

    Example:
        >>> template_of("How many Clips are visible at 00:12:05 for at least 3 s?")
        'how many <object> are visible at <time> for at least <duration>?'
    """
    return templates_of([question], class_names=class_names)[0]


def templates_of(questions: Iterable[str], *, class_names: Sequence[str] = CLASS_NAMES) -> list[str]:
    """The template of each question; equal questions are masked once.

    Example:
        >>> len(set(templates_of(["Is a needle seen?", "Is a mesh seen?", "Is a clip gone?"])))
        2
    """
    pattern = _pattern(tuple(class_names))
    known: dict[str, str] = {}
    names = []
    for question in questions:
        template = known.get(question)
        if template is None:
            template = known[question] = pattern.sub(_mask, " ".join(question.lower().split()))
        names.append(template)
    return names


def _mask(match: re.Match[str]) -> str:
    return f"<{match.lastgroup}>"


@lru_cache(maxsize=32)
def _pattern(class_names: tuple[str, ...]) -> re.Pattern[str]:
    """One expression for everything that is masked. Longer class names go first (specimen bag, specimen)."""
    names = {tuple(re.findall(r"[^\s_-]+", name.lower())) for name in class_names} - {()}
    objects = "|".join(_object(words) for words in sorted(names, key=lambda words: (-len(" ".join(words)), words)))
    parts = [rf"(?P<quoted>{_QUOTED})"]
    starts_word = [f"(?P<time>{_TIME})", f"(?P<duration>{_DURATION})"]
    starts_word += [f"(?P<object>(?:{objects})(?!\\w))"] if objects else []
    starts_word += [f"(?P<number>{_NUMBER})"]
    parts.append(rf"(?<!\w)(?:{'|'.join(starts_word)})")
    return re.compile("|".join(parts))


def _object(words: tuple[str, ...]) -> str:
    """The class name with any separator between its words, singular or plural."""
    plain = r"[\s_-]".join(re.escape(word) for word in words)
    if words[-1].endswith("y"):
        return f"{plain[:-1]}(?:y|ies)"
    return f"{plain}(?:es|s)?(?:\\(e?s\\))?"


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


def template_table(questions: Sequence[BlindQuestion], training: Sequence[BlindQuestion] | None) -> pl.DataFrame:
    """One row per (format, template), the largest first; `unseen` is null without a training set."""
    groups: dict[tuple[str, str], list[BlindQuestion]] = {}
    for question in questions:
        groups.setdefault((question.format, question.template), []).append(question)
    seen = None if training is None else {question.template for question in training}
    rows = []
    for (name, template), members in groups.items():
        counts = Counter(answer for question in members if (answer := question.answer) is not None)
        commonest, times = min(counts.items(), key=lambda item: (-item[1], item[0]), default=(None, 0))
        videos = len({question.video for question in members})
        unseen = None if seen is None else template not in seen
        rows.append(
            {
                "format": name,
                "template": template,
                "questions": len(members),
                "videos": videos,
                "answers": len(counts),
                "single_answer": len(counts) == 1,
                "commonest": commonest,
                "commonest_share": times / len(members),
                "unseen": unseen,
            }
        )
    frame = tables.TEMPLATES.frame(rows)
    return frame.sort(["questions", "format", "template"], descending=[True, False, False])


def unseen_table(questions: Sequence[BlindQuestion], training: Sequence[BlindQuestion] | None) -> pl.DataFrame:
    """Per slice, how many questions have a template that the training set never shows."""
    if training is None:
        return tables.UNSEEN_TEMPLATES.frame([])
    seen = {question.template for question in training}
    totals: Counter[tuple[str, str]] = Counter()
    strangers: Counter[tuple[str, str]] = Counter()
    for question in questions:
        for name in (OVERALL, ("bucket", question.bucket), ("format", question.format)):
            totals[name] += 1
            strangers[name] += question.template not in seen
    order = [OVERALL, *sorted(name for name in totals if name != OVERALL)]
    rows = [
        {
            "level": name[0],
            "name": name[1],
            "questions": totals[name],
            "unseen": strangers[name],
            "share": strangers[name] / totals[name],
        }
        for name in order
    ]
    return tables.UNSEEN_TEMPLATES.frame(rows)
