"""Curves and points over two axes: calibration, shares within a limit, what more videos bring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from surgvalid.report.drawing.scales import (
    AxisScale,
    axis_below,
    axis_left,
    ends_of,
    flowing,
    legend_height,
    log_ends_of,
)
from surgvalid.report.drawing.svg import Svg

_HEIGHT_PX = 300
_LEFT_PX = 62


class PlotCurve(NamedTuple):
    """A line through points, or points alone."""

    words: str
    points: tuple[tuple[float, float], ...]
    look: str = "blue"
    dash: str = ""
    shape: str = "circle"
    """`none` draws the line alone."""
    joined: bool = True


@dataclass(frozen=True, slots=True)
class Curves:
    """Several curves on common axes."""

    curves: tuple[PlotCurve, ...]
    x_axis: str
    y_axis: str
    x_ends: tuple[float, float] | None = None
    y_ends: tuple[float, float] | None = None
    log: bool = False
    x_percent: bool = False
    y_percent: bool = False
    diagonal: bool = False
    levels: tuple[float, ...] = ()
    """Dashed lines across at these values."""
    uprights: tuple[float, ...] = ()
    band: tuple[tuple[float, float, float], ...] = ()
    """Horizontal value, lower and upper end of a range around the first curve."""

    def draw(self, width: float) -> Svg:
        """The image in that width."""
        named = [curve for curve in self.curves if curve.words]
        legend = named if len(named) > 1 else []
        top = legend_height([curve.words for curve in legend], width) + 30
        image = Svg(width, top + _HEIGHT_PX + 46)
        for curve, (line, x, words) in zip(legend, flowing([c.words for c in legend], width), strict=True):
            y = 11 + 22 * line
            if curve.joined:
                image.line(x, y, x + 18, y, curve.look, px=2, dash=curve.dash)
            if curve.shape != "none":
                image.mark(x + 9, y, curve.look, shape=curve.shape, px=3.6)
            image.text(x + 23, y, words, "quiet")
        low, high = self.y_ends or ends_of(
            [
                *(y for curve in self.curves for _, y in curve.points),
                *self.levels,
                *(e for b in self.band for e in b[1:]),
            ]
        )
        up = AxisScale(low, high, top + _HEIGHT_PX, top)
        along = [*(x for curve in self.curves for x, _ in curve.points), *self.uprights]
        start, end = self.x_ends or (log_ends_of(along) if self.log else ends_of(along, room=0.02))
        across = AxisScale(start, end, _LEFT_PX, min(width - 12, _LEFT_PX + 420 if self.diagonal else width), self.log)
        axis_left(image, up, _LEFT_PX, across.end, title=self.y_axis, percent=self.y_percent)
        axis_below(image, across, top + _HEIGHT_PX, title=self.x_axis, percent=self.x_percent)
        self._marks(image, across, up)
        return image

    def _marks(self, image: Svg, across: AxisScale, up: AxisScale) -> None:
        for level in self.levels:
            image.line(across.start, up(level), across.end, up(level), "quiet", dash="5 4")
        for upright in self.uprights:
            image.line(across(upright), up.start, across(upright), up.end, "warm", px=1.5, dash="5 4")
        if self.diagonal:
            image.line(across(up.low), up.start, across(up.high), up.end, "quiet", dash="5 4")
        if self.band:
            edge = [(across(x), up(low)) for x, low, _ in self.band]
            edge += [(across(x), up(high)) for x, _, high in reversed(self.band)]
            image.area(edge, self.curves[0].look if self.curves else "blue")
        for curve in self.curves:
            with image.group(curve.words):
                placed = [(across(x), up(y)) for x, y in curve.points]
                if curve.joined and len(placed) > 1:
                    image.path(placed, curve.look, dash=curve.dash)
                if curve.shape != "none":
                    for (x, y), (_, value) in zip(placed, curve.points, strict=True):
                        image.mark(x, y, curve.look, shape=curve.shape, px=3.6, words=curve.words, value=value)
