"""Question templates: the question with everything masked that varies from case to case.

Two questions share a template when they differ only in times, durations, numbers, quoted words or
foreign-object classes. What is masked, in order of precedence at each place:
    <quoted>    "..." and '...' in straight or curly quotes (an apostrophe inside a word is none)
    <time>      hh:mm:ss, mm:ss, with or without a fraction
    <duration>  a number (digits or words) with a unit: 12 s, 2.5 minutes, two hours, 2 min 30 s
    <object>    a class name, singular or plural, in any case
    <number>    digits (1,000; 2.5; 3rd; 40%) and the words zero to twenty, thirty ... ninety, hundred
The rest is lower-cased with single spaces. The words first, last and once stay: they change what is
asked. The result depends on the text and the class names alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from surgeval.schema.foreign_objects import CLASS_NAMES

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
