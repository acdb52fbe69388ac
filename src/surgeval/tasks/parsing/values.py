"""Single values in answers: truth values with or without a probability, and times."""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

_YES = frozenset({"true", "yes", "1", "present", "visible", "achieved", "met", "fulfilled", "positive", "y", "1.0"})
_NO = frozenset(
    {"false", "no", "0", "absent", "not present", "not visible", "not achieved", "not met", "unmet", "negative", "n"}
    | {"0.0", "none", "not fulfilled", "invisible"}
)
_CLOCK = re.compile(r"(?<![\d:.])(?:(\d{1,2}):)?(\d{1,3}):(\d{2}(?:\.\d+)?)(?![\d:])")
_SECONDS = re.compile(r"(?<![\d:.])(\d+(?:\.\d+)?)\s*(?:s|sec|secs|second|seconds)\b", re.IGNORECASE)
_FRAME = re.compile(r"(?:frame\s*(?:no\.?|number|#)?\s*)(\d+)", re.IGNORECASE)
_PLAIN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*")
_HALF = 0.5


class Truth(NamedTuple):
    """Whether something holds, and how probable the answer calls it."""

    holds: bool
    probability: float | None = None


def truth(value: Any) -> Truth | None:
    """The truth value that a value of an answer stands for; None where it stands for none.

    Example:
        >>> truth("Yes"), truth(0.8), truth("maybe")
        (Truth(holds=True, probability=None), Truth(holds=True, probability=0.8), None)
    """
    if isinstance(value, bool):
        return Truth(value)
    if isinstance(value, str):
        word = value.strip().strip(".!").casefold()
        if word in _YES or word in _NO:
            return Truth(word in _YES)
        try:
            value = float(word.removesuffix("%")) / (100 if word.endswith("%") else 1)
        except ValueError:
            return None
    if not isinstance(value, int | float) or not math.isfinite(value) or not 0 <= value <= 1:
        return None
    return Truth(bool(value)) if value in (0, 1) else Truth(value >= _HALF, float(value))


def seconds_of(value: Any, *, frames_s: tuple[float, ...] = ()) -> float | None:
    """The time in seconds that a value stands for; None where it stands for none, or for several.

    Args:
        value: A number of seconds, or a text: MM:SS, HH:MM:SS, `12 s`, a number.
        frames_s: The real times of the frames, where the prompt asked for numbers of frames: a whole number is one.

    Example:
        >>> seconds_of("01:30"), seconds_of("1:02:03.5"), seconds_of("frame 2", frames_s=(0.0, 5.0, 10.0))
        (90.0, 3723.5, 10.0)
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return _of_number(float(value), frames_s)
    text = str(value)
    frame = _FRAME.search(text)
    clocks = [_of_clock(match) for match in _CLOCK.finditer(text)]
    if len(clocks) == 1:
        return clocks[0]
    if clocks:
        return None
    if frame:
        return _of_number(float(frame[1]), frames_s) if frames_s else None
    stated = _SECONDS.findall(text)
    if len(stated) == 1:
        return float(stated[0])
    plain = _PLAIN.fullmatch(text)
    return _of_number(float(plain[1]), frames_s) if plain and not stated else None


def clocks_in(text: str) -> list[float]:
    """Every time MM:SS or HH:MM:SS of a text, in seconds."""
    return [_of_clock(match) for match in _CLOCK.finditer(text)]


def _of_clock(match: re.Match[str]) -> float:
    return int(match[1] or 0) * 3600 + int(match[2]) * 60 + float(match[3])


def _of_number(number: float, frames_s: tuple[float, ...]) -> float | None:
    if not math.isfinite(number) or number < 0:
        return None
    if not frames_s:
        return number
    place = int(number)
    return frames_s[min(place, len(frames_s) - 1)] if number == place and place <= len(frames_s) else None
