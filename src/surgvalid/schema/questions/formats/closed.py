"""Closed formats, whose answers are compared by rule: yes or no, counts, shares, times, foreign-object classes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar

from surgvalid.errors import nearest
from surgvalid.schema.procedures.foreign_objects import CLASS_NAMES, NONE
from surgvalid.schema.questions.formats._base import AnswerFormat, Unreadable, Why, parts, shown

_MEANT = {"y": "yes", "true": "yes", "1": "yes", "n": "no", "false": "no", "0": "no"}


@dataclass(frozen=True, slots=True)
class Binary(AnswerFormat):
    """Accepts `yes` and `no` in any case.

    Example:
        >>> Binary().parse("Yes."), Binary().why("Yes, it is").nearest
        (True, 'yes')
    """

    name: ClassVar[str] = "binary"

    def parse(self, text: str) -> bool:
        """True for yes, False for no."""
        word = self.rules.normalize(text).lower()
        if word == "yes":
            return True
        if word == "no":
            return False
        raise Unreadable

    def explain(self, text: str) -> Why:
        """Names the empty answer, and the word that was probably meant."""
        if not text.strip():
            return Why("empty", "the answer is empty; expected yes or no")
        words = re.findall(r"[^\W_]+", text[:1000].lower())
        named = {w for w in words if w in ("yes", "no")} or {_MEANT[w] for w in words[:1] if w in _MEANT}
        guess = named.pop() if len(named) == 1 else None
        return Why("not-yes-or-no", f"expected yes or no alone, got {shown(text)}", guess)


_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    " seventeen eighteen nineteen twenty"
).split()


@dataclass(frozen=True, slots=True)
class Number(AnswerFormat):
    """Accepts digits only; digits of any script count, as in the official toolkit.

    Example:
        >>> Number().parse("003"), Number().why("two clips").nearest
        (3, '2')
    """

    name: ClassVar[str] = "number"

    def parse(self, text: str) -> int:
        """The number. Superscripts pass `isdigit` but not `int`; both failures are the same here."""
        digits = self.rules.normalize(text)
        if not digits.isdigit():
            raise Unreadable
        try:
            return int(digits)
        except ValueError:
            raise Unreadable from None

    def explain(self, text: str) -> Why:
        """Distinguishes empty, over-long, signed or fractional numbers, and words."""
        stripped = self.rules.normalize(text)
        if not stripped:
            return Why("empty", "the answer is empty; expected a whole number in digits")
        if stripped.isdecimal():
            return Why("too-many-digits", f"{len(stripped)} digits are more than the interpreter converts")
        numbers = re.findall(r"[-+]?\d[\d_,]*(?:\.\d+)?", stripped[:1000])
        if len(numbers) == 1:
            return Why("not-a-whole-number", f"expected digits alone, got {shown(text)}", self._from_digits(numbers[0]))
        words = [w for w in re.findall(r"[a-z]+", stripped[:1000].lower()) if w in _WORDS]
        guess = str(_WORDS.index(words[0])) if len(words) == 1 and not numbers else None
        return Why("not-a-whole-number", f"expected digits alone, got {shown(text)}", guess)

    def _from_digits(self, number: str) -> str | None:
        if number.startswith("-"):
            return None
        whole, _, fraction = re.sub(r"[+_,]", "", number).partition(".")
        return self.legal_or_none(whole) if not fraction.strip("0") else None


_SHARE = re.compile(r"(\d+(?:\.\d+)?)\s*%?")


@dataclass(frozen=True, slots=True)
class Percentage(AnswerFormat):
    """Accepts `50`, `50%`, `50.5 %`; agrees within `threshold_pp` (inclusive).

    Example:
        >>> share = Percentage()
        >>> share.compare(share.parse("50%"), share.parse("55"))
        True
    """

    name: ClassVar[str] = "percentage"
    threshold_pp: float = 5.0

    def parse(self, text: str) -> float:
        """The share as a number of percent."""
        match = _SHARE.fullmatch(self.rules.normalize(text))
        if match is None:
            raise Unreadable
        return float(match[1])

    def compare(self, reference: float, response: float) -> bool:
        """Whether the two differ by at most the tolerance. Two infinities differ by NaN: no."""
        if not self.rules.percentage_tolerance:
            return reference == response or abs(reference - response) <= 1e-9
        return abs(reference - response) <= float(self.threshold_pp)

    def explain(self, text: str) -> Why:
        """Points at signs, commas, ranges and missing digits."""
        stripped = self.rules.normalize(text)
        if not stripped:
            return Why("empty", "the answer is empty; expected a share such as 40%")
        numbers = re.findall(r"-?\d*[.,]?\d+", stripped[:1000])
        guess = None
        if len(numbers) == 1 and not numbers[0].startswith("-"):
            number = numbers[0].replace(",", ".")
            guess = self.legal_or_none(("0" if number.startswith(".") else "") + number + "%")
        return Why("not-a-percentage", f"expected a share such as 40%, got {shown(text)}", guess)


_STAMP = re.compile(r"(\d{2}):(\d{2}):(\d{2})")


@dataclass(frozen=True, slots=True)
class Time(AnswerFormat):
    """Accepts timestamps separated by commas; their number must agree, duplicates count.

    Sorted timestamps are compared pair by pair, each within `threshold_seconds` (inclusive).

    Example:
        >>> stamp = Time()
        >>> stamp.compare(stamp.parse("00:01:00, 00:02:00"), stamp.parse("00:02:05, 00:00:55"))
        True
        >>> stamp.why("1:05").nearest
        '00:01:05'
    """

    name: ClassVar[str] = "time"
    threshold_seconds: float = 5.0

    def parse(self, text: str) -> tuple[int, ...]:
        """The timestamps in seconds, sorted."""
        if self.rules.several_times:
            members = parts(self.rules.normalize(text))
            if not members:
                raise Unreadable
        else:
            members = [text.strip()]
        return tuple(sorted(_seconds(member) for member in members))

    def compare(self, reference: tuple[int, ...], response: tuple[int, ...]) -> bool:
        """Whether both list the same number of times and every pair is close enough."""
        if len(reference) != len(response):
            return False
        return all(abs(a - b) <= self.threshold_seconds for a, b in zip(reference, response, strict=True))

    def explain(self, text: str) -> Why:
        """Points at the member that is no timestamp."""
        members = parts(self.rules.normalize(text)) if self.rules.several_times else [text.strip()]
        if not any(members):
            return Why("empty", "the answer is empty; expected hh:mm:ss")
        if not self.rules.several_times and len(parts(text)) > 1:
            return Why("several-times", "this version accepts exactly one timestamp", self._guess(parts(text)[0]))
        bad = next(m for m in members if not _is_stamp(m))
        range_error = _STAMP.fullmatch(bad) is not None
        rule = "time-out-of-range" if range_error else "not-a-time"
        expected = "minutes and seconds below 60" if range_error else "hh:mm:ss"
        return Why(rule, f"expected {expected}, got {shown(bad)}", self._guess(text))

    def _guess(self, text: str) -> str | None:
        if texts := _STAMP.findall(text[:1000]):
            return self.legal_or_none(", ".join(":".join(stamp) for stamp in texts))
        stamps = re.findall(r"(?<![\d:])(?:(\d{1,2}):)?(\d{1,2}):(\d{2})(?![\d:])", text[:1000])
        padded = [f"{int(h or 0):02}:{int(m):02}:{int(s):02}" for h, m, s in stamps]
        return self.legal_or_none(", ".join(padded)) if padded else None


def time_tolerance_s(window_s: float) -> float:
    """The tolerance of a time question from the length of its window, as the official loader sets it.

    One second for a single frame, growing to five at six minutes. The order of the operations is
    the official one, so that the result agrees to the last bit.

    Example:
        >>> time_tolerance_s(0), time_tolerance_s(60), time_tolerance_s(300), time_tolerance_s(3600)
        (1.0, 1.6666666666666667, 4.333333333333334, 5.0)
    """
    return min(5.0, 1 + window_s * (4 / 360))


def _seconds(stamp: str) -> int:
    match = _STAMP.fullmatch(stamp)
    if match is None:
        raise Unreadable
    hours, minutes, seconds = (int(group) for group in match.groups())
    if minutes >= 60 or seconds >= 60:
        raise Unreadable
    return hours * 3600 + minutes * 60 + seconds


def _is_stamp(member: str) -> bool:
    try:
        _seconds(member)
    except Unreadable:
        return False
    return True


@dataclass(frozen=True, slots=True)
class FOClass(AnswerFormat):
    """Accepts class names separated by commas, in any case and order, or `none` alone.

    Example:
        >>> kinds = FOClass()
        >>> sorted(kinds.parse("clip, Sponge, CLIP")), kinds.why("2 clips and a sponge").nearest
        (['Clip', 'Sponge'], 'Clip, Sponge')
    """

    name: ClassVar[str] = "fo_class"
    valid_names: tuple[str, ...] = CLASS_NAMES
    _canonical: dict[str, str] = field(init=False, repr=False, compare=False, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_canonical", {name.lower(): name for name in self.valid_names})

    def parse(self, text: str) -> frozenset[str]:
        """The set of canonical names; `{"None"}` for none."""
        members = parts(self.rules.normalize(text))
        if len(members) == 1 and members[0].lower() == "none":
            return frozenset((NONE,))
        if not members or any(m.lower() == "none" or m.lower() not in self._canonical for m in members):
            raise Unreadable
        return frozenset(self._canonical[m.lower()] for m in members)

    def explain(self, text: str) -> Why:
        """Names the first member that is no class, or the rule on `none`."""
        members = parts(self.rules.normalize(text))
        if not members:
            return Why("empty", "the answer is empty; expected class names or none")
        if any(m.lower() == "none" for m in members):
            return Why("none-with-others", f"none must stand alone, got {shown(text)}")
        stranger = next(m for m in members if m.lower() not in self._canonical)
        return Why("unknown-class", f"{shown(stranger)} is not a class name", self._guess(members))

    def _guess(self, members: list[str]) -> str | None:
        names: list[str] = []
        for member in members[:50]:
            words = re.sub(r"[_\W]+", " ", member[:200]).strip().lower()
            inside = [n for n in self.valid_names if re.search(rf"\b{re.escape(n.lower())}s?\b", words)]
            inside = [n for n in inside if not any(n != other and n in other for other in inside)]
            close = nearest(words, self.valid_names)
            if not (chosen := inside or ([close] if close else [])):
                return None
            names += sorted((name for name in chosen if name not in names), key=lambda n: words.find(n.lower()))
        return self.legal_or_none(", ".join(names))
