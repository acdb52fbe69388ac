"""The words of questions and answers: what is asked for, in which format, and how numbers become an answer again.

Needs nothing but Python, so that training, evaluation and the participant read questions in the same way.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache

CLASSES = (
    "Sponge", "Clip", "Specimen Bag", "Silicone Loop", "External Drain", "Needle", "Gallstone", "Specimen", "Mesh",
    "Absorbable Hemostatic Agent",
)  # fmt: skip
COLOURS = ("blue", "green", "pink", "purple", "red", "red-brown", "silver", "transparent", "white", "yellow")
QUADRANTS = ("upper left", "upper right", "lower left", "lower right")
MOST = 15
"""The largest number that can be answered."""
CLOCK = re.compile(r"\b(\d\d):(\d\d):(\d\d)\b")
ENDINGS = (
    ("binary", "yes or no"), ("number", "with a number"), ("percentage", "percentage"), ("times", "all times"),
    ("time", "with a time"), ("classes", "class names"), ("class", "the class name"), ("matching", "in the form"),
)  # fmt: skip
"""Formats by the words with which a question asks for them; those without are free text."""
TIME_WORD, UNKNOWN, NOTHING = "<time>", "<unknown>", "<nothing>"


@dataclass(frozen=True)
class Asked:
    """A question as the model reads it."""

    kind: str
    """binary, number, percentage, time, times, duration, class, classes, choice, list, matching or open."""
    words: tuple[str, ...]
    times_s: tuple[float, ...]
    """Per word: the second that it names, -1 for a word that names none."""
    options: tuple[str, ...] = ()
    each: tuple[str, ...] = ()
    """What a matching question wants an option for."""
    flipped: tuple[bool, bool] = field(default=(False, False))
    """Whether yes and no change places when the image is mirrored left-right, upside down."""


def read(text: str, procedure: str = "") -> Asked:
    """The question in words, its format and its options."""
    body, _, choices = text.partition("Select one:")
    options = tuple(option.strip(" .") for option in choices.split(";")) if choices else ()
    kind = _kind(body, bool(options))
    each: tuple[str, ...] = ()
    if kind == "matching":
        body, _, form = body.partition("Answer in the form")
        each = tuple(re.findall(r"([A-Z][A-Za-z ]*): \.\.\.", form))
        options = QUADRANTS
    words, times = [], []
    for word in _words(body):
        clock = CLOCK.fullmatch(word)
        words.append(TIME_WORD if clock else word)
        times.append(float(_seconds(word)) if clock else -1.0)
    left_of = bool(re.search(r"to the (left|right) of|further (left|right)|from left to right", body))
    words.append(f"procedure {procedure.casefold()}")
    times.append(-1.0)
    return Asked(kind, tuple(words), tuple(times), options, each, (left_of, False))


def _kind(body: str, has_options: bool) -> str:
    low = body.casefold()
    if has_options:
        return "choice"
    kind = next((kind for kind, ending in ENDINGS if ending in low), "open")
    if kind == "time" and re.search(r"how long|how much time|longest|duration", low):
        return "duration"
    if kind == "open" and "quadrant" in low and re.search(r"list every|is each", low):
        return "list"
    return kind


@cache
def _class_pattern() -> re.Pattern[str]:
    names = sorted(CLASSES, key=len, reverse=True)
    return re.compile("|".join(rf"\b({re.escape(name.casefold())})(?:e?s)?\b" for name in names))


def _words(body: str) -> list[str]:
    """Lower case; the name of a class, in the singular or plural, is one word."""
    low = _class_pattern().sub(lambda m: " " + m[m.lastindex or 1].replace(" ", "_") + " ", body.casefold())
    return re.findall(r"\d\d:\d\d:\d\d|[a-z_'-]+|\d+|%", low)


def option_words(option: str) -> list[str]:
    """The words of an option; a time is one word, whichever it is."""
    return [TIME_WORD if CLOCK.fullmatch(word) else word for word in _words(option)]


def _seconds(clock: str) -> int:
    hours, minutes, seconds = map(int, clock.split(":"))
    return 3600 * hours + 60 * minutes + seconds


def clock(second: float) -> str:
    """A second as hh:mm:ss."""
    whole = max(0, round(second))
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"


def seconds_in(text: str) -> list[int]:
    """Every time that a text names, in seconds."""
    return [_seconds(match[0]) for match in CLOCK.finditer(text)]


def mirrored(option: str, *, across: bool) -> str:
    """A place in the image after it was mirrored left-right (across) or upside down; other words stay."""
    pairs = ("left", "right") if across else ("upper", "lower")
    if option not in QUADRANTS:
        return option
    return option.replace(pairs[0], "<").replace(pairs[1], pairs[0]).replace("<", pairs[1])


def target(asked: Asked, answer: str, answers: dict[str, int]) -> int | float | list[int] | None:
    """What the head of the format should say, or None where it cannot say it."""
    if asked.kind == "binary":
        return int(answer.casefold() == "yes")
    if asked.kind == "number":
        return int(answer) if answer.isdigit() and int(answer) <= MOST else None
    if asked.kind == "percentage":
        return float(answer.rstrip("% ")) / 100
    if asked.kind in ("time", "times", "duration"):
        return seconds_in(answer) or None
    if asked.kind == "class":
        return CLASSES.index(answer) if answer in CLASSES else None
    if asked.kind == "classes":
        return [CLASSES.index(name) for name in answer.split(", ") if name in CLASSES]
    if asked.kind == "choice":
        return asked.options.index(answer) if answer in asked.options else None
    return answers.get(answer)


def listed(objects: list[tuple[int, float, float]]) -> str:
    """Every object (class, across, down) with its quadrant, in the form of the references."""
    return "; ".join(sorted(f"{CLASSES[kind]}: {quadrant(x, y)}" for kind, x, y in objects)) or "none"


def quadrant(x: float, y: float) -> str:
    """Where in the image a place lies."""
    return f"{'upper' if y < 0.5 else 'lower'} {'left' if x < 0.5 else 'right'}"
