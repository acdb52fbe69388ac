"""From numbers to pixels: the ends of an axis, its round ticks, and how they are written."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from surgvalid.report.drawing.svg import SMALLEST_PX, TEXT_PX, Svg, fitting, text_px

MINUS = "\u2212"
_STEPS = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True, slots=True)
class AxisScale:
    """Numbers from `low` to `high` over the pixels from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """The pixel of a value; what lies outside is drawn at the end."""
        low, high, at = (self._flat(one) for one in (self.low, self.high, value))
        share = (at - low) / ((high - low) or 1.0)
        return self.start + min(max(share, 0.0), 1.0) * (self.end - self.start)

    def _flat(self, value: float) -> float:
        return math.log10(max(value, 1e-12)) if self.log else value

    def ticks(self, most: int) -> list[float]:
        """Round values inside, at most about that many, and two at least.

        Example:
            >>> [round(mark, 1) for mark in AxisScale(0.1, 0.95, 0, 200).ticks(2)]
            [0.2, 0.4, 0.6, 0.8]
        """
        if self.log:
            powers = range(math.floor(self._flat(self.low)), math.ceil(self._flat(self.high)) + 1)
            every = [step * 10.0**power for power in powers for step in (1, 2, 5)]
            inside = [value for value in every if self.low <= value * 1.0001 and value <= self.high * 1.0001]
            return inside if len(inside) <= most else inside[:: -(-len(inside) // most)]
        step = round_step((self.high - self.low) / max(most, 1))
        if math.floor(self.high / step) <= math.ceil(self.low / step):  # one mark alone says nothing of the scale
            step = round_step(0.4 * step)
        first = math.ceil(self.low / step - 1e-9)
        return [number * step for number in range(first, math.floor(self.high / step + 1e-9) + 1)]


def round_step(rough: float) -> float:
    """The next round number.

    Example:
        >>> round_step(0.013), round_step(3), round_step(0)
        (0.02, 5.0, 1.0)
    """
    if not rough > 0 or not math.isfinite(rough):
        return 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    return next(step * power for step in _STEPS if step * power >= rough * 0.999)


def ends_of(values: Iterable[float | None], *, room: float = 0.05, symmetric: bool = False) -> tuple[float, float]:
    """The ends of an axis that holds all values with a little room.

    Example:
        >>> ends_of([0.0, 10.0, None], room=0.1), ends_of([-1.0, 3.0], room=0.5, symmetric=True)
        ((-1.0, 11.0), (-6.0, 6.0))
    """
    known = [float(value) for value in values if value is not None and math.isfinite(value)] or [0.0, 1.0]
    low, high = min(known), max(known)
    if symmetric:
        high = max(abs(low), abs(high))
        low = -high
    space = room * (high - low) or max(abs(high), 0.1) * 0.1
    return low - space, high + space


def log_ends_of(values: Iterable[float | None]) -> tuple[float, float]:
    """The ends of a logarithmic axis; only what is above zero has a place on it.

    Example:
        >>> log_ends_of([1.0, 100.0, 0.0, None])
        (0.8, 125.0)
    """
    known = [value for value in values if value is not None and value > 0 and math.isfinite(value)] or [0.1, 1.0]
    return min(known) / 1.25, max(known) * 1.25


def tick_words(value: float, step: float, *, percent: bool = False) -> str:
    """A tick as it is printed: as many decimals as its step has, with a true minus.

    Example:
        >>> tick_words(-0.02, 0.01), tick_words(0.25, 0.25, percent=True)
        ('−0.02', '25 %')
    """
    if abs(value) < 1e-12:
        return "0 %" if percent else "0"
    shown, size = (100 * value, 100 * step) if percent else (value, step)
    decimals = next((digits for digits in range(7) if abs(size * 10**digits - round(size * 10**digits)) < 1e-6), 6)
    return f"{shown:,.{decimals}f}".replace("-", MINUS) + (" %" if percent else "")


def axis_below(image: Svg, scale: AxisScale, y: float, *, title: str = "", percent: bool = False) -> None:
    """The horizontal axis: line, ticks, their words, the title."""
    room = scale.end - scale.start
    ticks = scale.ticks(max(2, int(room // 85)))
    step = ticks[1] - ticks[0] if len(ticks) > 1 else abs(ticks[0]) if ticks else 1.0
    image.line(scale.start, y, scale.end, y, "edge")
    for value in ticks:
        words = f"{value:g}" if scale.log else tick_words(value, step, percent=percent)
        image.line(scale(value), y, scale(value), y + 4, "edge")
        image.text(scale(value), y + 14, words, "quiet", anchor="middle", size_px=SMALLEST_PX + 1)
    middle = (scale.start + scale.end) / 2
    image.text(middle, y + 33, fitting(title, max(room, 150)), "quiet", anchor="middle")


def axis_left(image: Svg, scale: AxisScale, x: float, right: float, *, title: str = "", percent: bool = False) -> None:
    """The vertical axis: pale lines across, words, the title on top."""
    ticks = scale.ticks(6)
    step = ticks[1] - ticks[0] if len(ticks) > 1 else 1.0
    for value in ticks:
        image.line(x, scale(value), right, scale(value), "rule")
        image.text(x - 7, scale(value), tick_words(value, step, percent=percent), "quiet", anchor="end", size_px=12)
    image.text(max(0, x - 45), scale.end - 16, title, "quiet")


def legend_height(words: Iterable[str], width: float) -> float:
    """The height of a legend whose entries flow over lines."""
    return 22 * (1 + max((line for line, _, _ in flowing(words, width)), default=-1))


def flowing(words: Iterable[str], width: float) -> list[tuple[int, float, str]]:
    """Line, left end and text of every entry of a legend."""
    placed, line, x = [], 0, 0.0
    for text in words:
        shown = fitting(text, width - 24)
        room = 24 + text_px(shown, TEXT_PX) + 18
        if x and x + room > width:
            line, x = line + 1, 0.0
        placed.append((line, x, shown))
        x += room
    return placed
