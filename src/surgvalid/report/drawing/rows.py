"""Rows with marks: values and differences with their intervals, single patients, stretches of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from surgvalid.report.drawing.scales import AxisScale, axis_below, ends_of, flowing, legend_height, log_ends_of
from surgvalid.report.drawing.svg import SMALLEST_PX, TEXT_PX, Svg, fitting, text_px

STACKED_PX = 600
"""Below this width names stand above their rows."""


class Mark(NamedTuple):
    """A point, a bar or both in one row."""

    row: int
    x: float | None = None
    low: float | None = None
    high: float | None = None
    look: str = "blue"
    shape: str = "circle"
    """As the writer knows them; `none` draws the bar alone."""
    hollow: bool = False
    shift: float = 0
    """Up or down within the row, in shares of its height."""
    px: float = 2
    """Thickness of the bar."""
    words: str = ""


class Key(NamedTuple):
    """An entry of the legend."""

    words: str
    look: str = "blue"
    shape: str = "circle"
    hollow: bool = False


class Upright(NamedTuple):
    """A vertical line at a value."""

    at: float
    look: str = "edge"
    dash: str = ""


@dataclass(frozen=True, slots=True)
class RowsImage:
    """One row per name, marks along one axis, columns of text beside them."""

    labels: tuple[str, ...]
    marks: tuple[Mark, ...]
    axis: str = ""
    beside: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Head and texts of each column to the right."""
    uprights: tuple[Upright, ...] = ()
    band: tuple[float, float, str] | None = None
    """A shaded range with its words, such as a margin of relevance."""
    legend: tuple[Key, ...] = ()
    sides: tuple[str, str] | None = None
    """What the left and the right end of the axis mean."""
    log: bool = False
    percent: bool = False
    symmetric: bool = False
    strong: int = 0
    """How many rows from the top stand apart, in bold."""

    def draw(self, width: float) -> Svg:
        """The image in that width."""
        stacked = width < STACKED_PX
        count = max(len(self.labels), 1)
        size = TEXT_PX if count <= 45 else SMALLEST_PX
        step = (26 if count <= 12 else 21 if count <= 45 else 14) + (18 if stacked else 0)
        columns = [max([text_px(head, 12), *(text_px(t, size) for t in texts)]) + 18 for head, texts in self.beside]
        left = 0 if stacked else min(max((text_px(name, size) for name in self.labels), default=0) + 14, 0.32 * width)
        right = width - (0 if stacked else sum(columns)) - (6 if stacked or not columns else 0)
        top = legend_height([key.words for key in self.legend], width) + 10
        top += 20 if (self.beside and not stacked) or self.band else 0
        foot = top + step * count
        image = Svg(width, foot + 44 + (20 if self.sides else 0))
        for key, (line, x, words) in zip(self.legend, flowing([one.words for one in self.legend], width), strict=True):
            image.mark(x + 8, 11 + 22 * line, key.look, shape=key.shape, hollow=key.hollow)
            image.text(x + 20, 11 + 22 * line, words, "quiet")
        scale = self._scale(left, right)
        self._ground(image, scale, top, foot)
        heads = zip(self.beside, _starts(right, columns), strict=True)
        for (head, _), x in heads if not stacked else ():
            image.text(x, top - 10, head, "quiet", size_px=12)
        for row, name in enumerate(self.labels):
            y = top + step * row
            with image.group(name):
                if stacked:
                    self._name_above(image, row, y + 8, size)
                else:
                    self._name_beside(image, row, y + step / 2, left, _starts(right, columns), size)
                for mark in self.marks:
                    if mark.row == row:
                        _drawn(image, mark, scale, y + step / 2 + (8 if stacked else 0), step - (18 if stacked else 0))
        return image

    def _scale(self, left: float, right: float) -> AxisScale:
        values = [value for mark in self.marks for value in (mark.x, mark.low, mark.high)]
        values += [line.at for line in self.uprights] + ([*self.band[:2]] if self.band else [])
        low, high = log_ends_of(values) if self.log else ends_of(values, symmetric=self.symmetric)
        return AxisScale(low, high, left + 8, right - 8, self.log)

    def _ground(self, image: Svg, scale: AxisScale, top: float, foot: float) -> None:
        if self.band:
            low, high, words = self.band
            image.box(scale(low), top, scale(high) - scale(low), foot - top, "band")
            for end in (low, high):
                image.line(scale(end), top, scale(end), foot, "edge", dash="3 3")
            room = scale.end - scale.start
            image.text(
                (scale(low) + scale(high)) / 2, top - 9, fitting(words, room), "quiet", anchor="middle", size_px=12
            )
        for upright in self.uprights:
            image.line(scale(upright.at), top, scale(upright.at), foot, upright.look, dash=upright.dash)
        axis_below(image, scale, foot, title=self.axis, percent=self.percent)
        if self.sides:
            first, second = self.sides
            half = (scale.end - scale.start) / 2 - 6
            image.text(scale.start, foot + 52, fitting(f"\u2190 {first}", half), "warm", bold=True)
            image.text(scale.end, foot + 52, fitting(f"{second} \u2192", half), "blue", bold=True, anchor="end")

    def _name_above(self, image: Svg, row: int, y: float, size: float) -> None:
        texts = "  ".join(texts[row] for _, texts in self.beside[:1])
        room = image.width - text_px(texts, size) - 16
        image.text(0, y, fitting(self.labels[row], room, size), size_px=size, bold=row < self.strong)
        image.text(image.width, y, texts, "quiet", anchor="end", size_px=size)

    def _name_beside(self, image: Svg, row: int, y: float, left: float, starts: list[float], size: float) -> None:
        bold = row < self.strong
        image.text(left - 8, y, fitting(self.labels[row], left - 8, size), anchor="end", size_px=size, bold=bold)
        for (_, texts), x in zip(self.beside, starts, strict=True):
            image.text(x, y, texts[row], size_px=size, bold=bold)


def _starts(right: float, columns: list[float]) -> list[float]:
    """Where each column of text begins."""
    return [right + 12 + sum(columns[:number]) for number in range(len(columns))]


def _drawn(image: Svg, mark: Mark, scale: AxisScale, y: float, step: float) -> None:
    at = y + mark.shift * step
    if mark.low is not None and mark.high is not None:
        image.line(scale(mark.low), at, scale(mark.high), at, mark.look, px=mark.px)
    if mark.x is not None and mark.shape != "none":
        px = 4.5 if step >= 20 else 3.4
        image.mark(
            scale(mark.x), at, mark.look, shape=mark.shape, px=px, hollow=mark.hollow, words=mark.words, value=mark.x
        )
