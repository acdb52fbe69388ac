"""Numbers, shares, moments and stretches of time in replies, in digits and words of five languages."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty",
    "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
    "zéro un deux trois quatre cinq six sept huit neuf dix onze douze",
    "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce",
    "零 一 二 三 四 五 六 七 八 九 十 十一 十二",
)
_TENS = (
    "twenty thirty forty fifty sixty seventy eighty ninety hundred",
    "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig hundert",
    "vingt trente quarante cinquante soixante",
    "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa cien",
    "二十 三十 四十 五十 六十 七十 八十 九十",
)
NUMBER_WORDS: dict[str, int] = {
    word: number for line in _WORDS for number, word in enumerate(line.split()) if word not in ("null", "un")
} | {"两": 2, "单": 1, "single": 1}
NUMBER_WORDS |= {word: 10 * number for line in _TENS for number, word in enumerate(line.split(), 2)}
_LATIN = sorted(
    (word for word in NUMBER_WORDS if word.isalpha() and not "\u4e00" <= word[0] <= "\u9fff"), key=len, reverse=True
)
_WORD = re.compile(
    rf"\b(?:{'|'.join(_LATIN)})\b|[零一二三四五六七八九十两]{{1,2}}(?![共些样起直般定旦])", re.IGNORECASE
)
_SHARE_WORDS = re.compile(r"\s*(?:percent|per cent|prozent|pour ?cents?|por ciento|pct)\b", re.IGNORECASE)


def with_digits(text: str) -> str:
    """The text with numbers in words as digits.

    Example:
        >>> with_digits("I count three, drei or 三")
        'I count 3, 3 or 3'
    """
    digits = _WORD.sub(lambda match: str(NUMBER_WORDS.get(match[0].casefold(), match[0])), text)
    return re.sub(r"\b([2-9])0-([1-9])\b", r"\1\2", digits)


def with_shares(text: str) -> str:
    """The text with every percent sign close to its number."""
    text = re.sub(r"百分之([\d.]+|[一二三四五六七八九十]+)", r"\1%", text.replace("\\%", "%"))
    return re.sub(r"(\d)\s+%", r"\1%", _SHARE_WORDS.sub("%", text))


CLOCK = re.compile(r"(?<![\d.])(?<!\d:)(?P<sign>[-−])?(?:(\d{1,3}):)?(\d{1,3}):(\d{2}(?:\.\d+)?)(?![\d:])")
_UNITS = re.compile(
    r"(?<![\d:.a-zA-Z])(?P<sign>[-−])?(?:(?P<h>\d+(?:\.\d+)?)\s*(?:h|hours?|hrs?|std|stunden?|heures?|horas?"
    r"|小时)\b\s*(?:and|und|et|y)?\s*)?(?:(?P<m>\d+(?:\.\d+)?)\s*(?:m|min|mins|minutes?|minuten?|minutos?"
    r"|分钟?)(?![a-zà-ÿ])\s*,?\s*(?:and|und|et|y)?\s*)?(?:(?P<s>\d+(?:\.\d+)?)\s*(?:s|secs?|seconds?|sekunden?"
    r"|secondes?|segundos?|秒)(?![a-zà-ÿ]))?",
    re.IGNORECASE,
)
_SECOND = re.compile(
    r"\b(?:seconds?|sekunden?|secondes?|segundos?) (\d+(?:\.\d+)?)(?![\d:])(?!\s*(?:s|m)\w*\b)", re.IGNORECASE
)
_OF_DAY = re.compile(r"\s?[ap]\.?m\b(?!\s+\w)", re.IGNORECASE)
_MOST_SECONDS = 60


class Moment(NamedTuple):
    """A time in a text."""

    seconds: float | None
    """None where there is no such time: before 0, with 60 seconds or more, or of the day."""
    start: int
    end: int
    other: float | None = None
    """What it is as hours and minutes, where it has two numbers."""


def moments(text: str) -> list[Moment]:
    """Every time of a text: clock times, and numbers with units.

    Example:
        >>> [one.seconds for one in moments("from 01:30 to 2 min 5 s, not 00:75:00")]
        [90.0, 125.0, None]
    """
    clocks = [_of_clock(match) for match in CLOCK.finditer(text)]
    taken = [(one.start, one.end) for one in clocks]
    units = [
        _of_units(match) for match in _UNITS.finditer(text) if match[0].strip() and any(match[name] for name in "hms")
    ]
    units += [Moment(float(match[1]), match.start(), match.end()) for match in _SECOND.finditer(text)]
    apart = [one for one in units if all(one.end <= start or one.start >= end for start, end in taken)]
    return sorted([*clocks, *apart], key=lambda one: one.start)


def _of_clock(match: re.Match[str]) -> Moment:
    hours, minutes, seconds = match[2], int(match[3]), float(match[4])
    if match["sign"] and not match.string[: match.start()].rstrip()[-1:].isdigit():
        return Moment(None, match.start(), match.end())
    if _OF_DAY.match(match.string, match.end()):
        return Moment(None, match.start(), match.end())
    if seconds >= _MOST_SECONDS or (hours is not None and minutes >= _MOST_SECONDS):
        return Moment(None, match.start(), match.end())
    other = None if hours is not None or "." in match[4] else minutes * 3600 + seconds * 60
    return Moment(int(hours or 0) * 3600 + minutes * 60 + seconds, match.start(), match.end(), other)


def _of_units(match: re.Match[str]) -> Moment:
    total = sum(float(match[name] or 0) * size for name, size in (("h", 3600), ("m", 60), ("s", 1)))
    return Moment(None if match["sign"] else total, match.start(), match.end())


_FRAME = re.compile(r"(?:frame\s*(?:no\.?|number|#)?\s*)(\d+)", re.IGNORECASE)
_PLAIN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*")


def seconds_of(value: Any, *, frames_s: Sequence[float] = ()) -> float | None:
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
    times = moments(text)
    if len(times) == 1:
        return times[0].seconds
    if times:
        return None
    if frame := _FRAME.search(text):
        return _of_number(float(frame[1]), frames_s) if frames_s else None
    plain = _PLAIN.fullmatch(text)
    return _of_number(float(plain[1]), frames_s) if plain else None


def _of_number(number: float, frames_s: Sequence[float]) -> float | None:
    if not math.isfinite(number) or number < 0:
        return None
    if not frames_s:
        return number
    place = int(number)
    return frames_s[min(place, len(frames_s) - 1)] if number == place and place <= len(frames_s) else None
