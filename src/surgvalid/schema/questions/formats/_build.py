"""From a format's name and parameters, as files carry them, to the format."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from surgvalid.errors import Misuse, UnknownName
from surgvalid.schema.questions.formats._base import AnswerFormat, Rules, shown
from surgvalid.schema.questions.formats._pattern import why_unsupported
from surgvalid.schema.questions.formats.closed import Binary, FOClass, Number, Percentage, Time
from surgvalid.schema.questions.formats.free_text import Matching, MultipleChoice, OpenEnded

FORMATS: dict[str, type[AnswerFormat]] = {
    kind.name: kind for kind in (Binary, Number, Percentage, FOClass, OpenEnded, Matching, MultipleChoice, Time)
}
"""Every format by the name that files use for it."""

JUDGED = frozenset(name for name, kind in FORMATS.items() if kind.judged)
"""Formats whose answers a judge compares."""


class BadParameters(Misuse):
    """Parameters that the format does not know, lacks or cannot use."""


def parameters_of(name: str) -> tuple[str, ...]:
    """The parameters of the format called `name`."""
    return tuple(f.name for f in fields(FORMATS[name]) if f.init and f.name != "rules")


def build_format(
    name: object,
    parameters: Mapping[str, Any] | None = None,
    *,
    class_names: tuple[str, ...] | None = None,
    rules: Rules | None = None,
    check_kinds: bool = True,
) -> AnswerFormat:
    """The answer format called `name`, with its parameters.

    Args:
        name: One of `FORMATS`.
        parameters: As in a reference's `format_kwargs`.
        class_names: Legal foreign-object classes where the parameters do not list them.
        rules: Version differences; the default is toolkit 0.4.0.
        check_kinds: Refuse parameters of the wrong kind here. The official profile does not: there
            they fail, or happen to work, only when an answer is compared.

    Raises:
        UnknownName: No such format.
        BadParameters: A parameter is unknown, missing or of the wrong kind; all are listed.

    Example:
        >>> build_format("time", {"threshold_seconds": 2}).threshold_seconds
        2
    """
    if not isinstance(name, str) or name not in FORMATS:
        raise UnknownName("answer format", name, FORMATS)
    given = dict(parameters or {})
    if problems := _problems(name, given, check_kinds):
        raise BadParameters(f"answer format {name!r}: {'; '.join(problems)}")
    if name == FOClass.name:
        given.setdefault("valid_names", class_names or FOClass().valid_names)
        given["valid_names"] = tuple(given["valid_names"])
    return FORMATS[name](rules=rules or Rules(), **given)


def choices_of(name: str, slots: Mapping[str, Any] | None) -> tuple[str, ...]:
    """What a question lets one choose from, by its format and what its blanks hold; empty where it does not say so."""
    if name == Binary.name:
        return "yes", "no"
    return tuple((slots or {}).get("options", ())) if name == MultipleChoice.name else ()


def why_no_answer(name: str, parameters: Mapping[str, Any] | None, choices: Sequence[str], text: str) -> str | None:
    """Why a text cannot be the right answer of a question, or None."""
    if why := build_format(name, parameters).why(text):
        return f"{text!r} is no answer of the format {name!r}: {why.message}"
    if name == MultipleChoice.name and choices and text not in choices:
        return f"{text!r} is none of {'; '.join(choices)}"
    return None


def _problems(name: str, given: Mapping[str, Any], check_kinds: bool) -> list[str]:
    known = parameters_of(name)
    problems = [f"unknown parameter {key!r} (known: {', '.join(known) or 'none'})" for key in given if key not in known]
    if "pattern" in known and "pattern" not in given:
        problems.append("the parameter 'pattern' is missing")
    return problems + [
        f"parameter {key!r} must be {_EXPECTED[key]}, got {shown(repr(value))[1:-1]}"
        for key, value in given.items()
        if check_kinds and key in known and not _is_fit(key, value)
    ]


_EXPECTED = {
    "threshold_pp": "a finite number",
    "threshold_seconds": "a finite number",
    "max_length": "a whole number",
    "pattern": "a regular expression without back-references, atomic groups or possessive repeats",
    "valid_names": "a list of names",
}


def _is_fit(key: str, value: Any) -> bool:
    if key == "pattern":
        return isinstance(value, str) and _compiles(value)
    if key == "valid_names":
        return isinstance(value, list | tuple) and bool(value) and all(isinstance(v, str) for v in value)
    if key == "max_length":
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, int | float) and not isinstance(value, bool) and _is_finite(value)


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
        return why_unsupported(pattern) is None
    except (re.error, RecursionError, OverflowError):
        return False
