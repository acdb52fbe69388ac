"""Answers that are wrong in a plausible way: legal in their format, and never counted as right by it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from surgeval.schema.foreign_objects import NONE
from surgeval.schema.formats import AnswerFormat
from surgeval.schema.questions import Reference, Request

Drawer = Callable[[Reference, Request, tuple[str, ...], np.random.Generator], str]
_TRIES = 40


def wrong_answer(
    reference: Reference, request: Request, form: AnswerFormat, class_names: tuple[str, ...], rng: np.random.Generator
) -> str:
    """A wrong answer to the question. Where the format lets nothing wrong be said, an empty answer."""
    drawer = _DRAWERS.get(reference.format, _free_text)
    for _ in range(_TRIES):
        text = drawer(reference, request, class_names, rng)
        if not form.reads(text):
            continue
        if form.judged:
            if text.strip().casefold() != reference.answer.strip().casefold():
                return text
        elif not form.reads(reference.answer) or not form.compare(form.parse(reference.answer), form.parse(text)):
            return text
    return ""


def _binary(reference: Reference, _r: Request, _c: tuple[str, ...], _g: np.random.Generator) -> str:
    return "no" if reference.answer.strip().lower().startswith("yes") else "yes"


def _number(reference: Reference, _r: Request, _c: tuple[str, ...], rng: np.random.Generator) -> str:
    """Mostly off by one or two, as counts go wrong."""
    digits = "".join(letter for letter in reference.answer if letter.isdigit())[:9]
    return str(max(int(digits or 0) + int(rng.choice([-3, -2, -1, -1, -1, 1, 1, 1, 2, 3])), 0))


def _percentage(_reference: Reference, _r: Request, _c: tuple[str, ...], rng: np.random.Generator) -> str:
    return f"{int(rng.integers(0, 101))}%"


def _fo_class(reference: Reference, _r: Request, class_names: tuple[str, ...], rng: np.random.Generator) -> str:
    """One class too many, one too few, or one taken for another."""
    named = [name.strip() for name in reference.answer.split(",") if name.strip().lower() != NONE.lower()]
    others = [name for name in class_names if name.lower() not in {name.lower() for name in named}]
    kind = int(rng.integers(3))
    if named and kind != 0:
        named.pop(int(rng.integers(len(named))))
    if others and kind != 1:
        named.append(others[int(rng.integers(len(others)))])
    return ", ".join(named) or NONE


def _time(reference: Reference, request: Request, _c: tuple[str, ...], rng: np.random.Generator) -> str:
    """As many times as wanted, somewhere in the window."""
    count = max(reference.answer.count(",") + 1, 1)
    low, high = int(request.start_s), max(int(request.end_s), int(request.start_s) + 60)
    seconds = sorted(int(second) for second in rng.integers(low, high + 1, count))
    return ", ".join(f"{s // 3600:02d}:{s // 60 % 60:02d}:{s % 60:02d}" for s in seconds)


def _free_text(_reference: Reference, _r: Request, class_names: tuple[str, ...], rng: np.random.Generator) -> str:
    sayings = (
        "This cannot be seen in the video.",
        f"Because of the {class_names[int(rng.integers(len(class_names)))].lower()} that was used before.",
        "It was removed through the umbilical port.",
        "Nothing happens.",
        "In the left lower part of the image.",
    )
    return sayings[int(rng.integers(len(sayings)))]


def _multiple_choice(
    reference: Reference, request: Request, class_names: tuple[str, ...], rng: np.random.Generator
) -> str:
    """Another one of the options that the question spells out, or of the letters."""
    letters = [letter for letter in "ABCDE" if f"{letter})" in request.question or f"({letter}" in request.question]
    if len(reference.answer.strip()) == 1 and len(letters) > 1:
        return letters[int(rng.integers(len(letters)))]
    after = request.question.rsplit(":", 1)[-1].strip(" .?")
    options = [choice.strip(" .?'\"") for choice in after.replace(" or ", ", ").replace(";", ",").split(",")]
    listed = [option for option in options if option and option.casefold() != reference.answer.strip().casefold()]
    if len(options) > 1 and len(listed) < len(options):
        return listed[int(rng.integers(len(listed)))] if listed else "none of these"
    return _free_text(reference, request, class_names, rng)


def _matching(reference: Reference, request: Request, _c: tuple[str, ...], rng: np.random.Generator) -> str:
    """One of the pairs matched wrongly, with another of the choices that the question spells out."""
    pairs = [pair.rsplit(": ", 1) for pair in reference.answer.split("; ")]
    after = request.question.rsplit("one of ", 1)[-1].removesuffix(" for each.")
    choices = [choice.strip() for choice in after.split(",")] if "one of " in request.question else []
    at = int(rng.integers(len(pairs)))
    others = [choice for choice in choices if choice != pairs[at][-1]]
    if others:
        pairs[at][-1] = others[int(rng.integers(len(others)))]
    return "; ".join(": ".join(pair) for pair in pairs)


_DRAWERS: Mapping[str, Drawer] = {
    "binary": _binary,
    "number": _number,
    "percentage": _percentage,
    "fo_class": _fo_class,
    "time": _time,
    "multiple_choice": _multiple_choice,
    "matching": _matching,
}
