"""Two models on the same patients: a line from the one to the other for every patient, beside rows of differences."""

from __future__ import annotations

from dataclasses import dataclass

from surgvalid.report.drawing.rows import STACKED_PX, RowsImage
from surgvalid.report.drawing.scales import AxisScale, ends_of, tick_words
from surgvalid.report.drawing.svg import Svg, fitting

_SHARE = 0.27
"""Of the width, for the lines."""
_TOP_PX = 46


@dataclass(frozen=True, slots=True)
class SlopesAndRows:
    """Values of each patient by both models, and the differences; on a phone the differences alone."""

    first: str
    second: str
    """The model on the right, which the sentence is about."""
    values: tuple[tuple[str, float, float], ...]
    """Patient, value by the first and by the second model."""
    axis: str
    rows: RowsImage
    means: tuple[float | None, float | None] = (None, None)
    """What each model reaches, where it is told elsewhere too."""

    def draw(self, width: float) -> Svg:
        """The image in that width."""
        if width < STACKED_PX:
            return self.rows.draw(width)
        room = _SHARE * width
        differences = self.rows.draw(width - room - 28)
        image = Svg(width, max(differences.height, 240))
        self._lines(image, room, image.height - 44)
        image.place(differences, room + 28, 0)
        return image

    def _lines(self, image: Svg, room: float, foot: float) -> None:
        low, high = ends_of([value for _, a, b in self.values for value in (a, b)])
        up, left, right = AxisScale(low, high, foot, _TOP_PX), 60.0, room - 16
        ticks = up.ticks(5)
        for value in ticks:
            image.line(44, up(value), room, up(value), "rule")
            words = tick_words(value, ticks[1] - ticks[0] if len(ticks) > 1 else 1.0)
            image.text(38, up(value), words, "quiet", anchor="end", size_px=12)
        for name, a, b in self.values:
            with image.group(name):
                image.line(left, up(a), right, up(b), "edge", px=1.2)
                image.mark(left, up(a), "warm", px=3.6, words=f"{name}, {self.first}: {a:.3f}", value=a)
                image.mark(right, up(b), "blue", px=3.6, words=f"{name}, {self.second}: {b:.3f}", value=b)
        half = (right - left) / 2 + 20
        image.text(left, 12, fitting(self.first, half), "warm", anchor="middle", bold=True)
        image.text(right + 14, 12, fitting(self.second, half), "blue", anchor="end", bold=True)
        for x, anchor, mean in ((left, "middle", self.means[0]), (right + 14, "end", self.means[1])):
            image.text(x, 29, "" if mean is None else f"mean {mean:.3f}", "quiet", anchor=anchor, size_px=12)
        image.text(room / 2 + 18, foot + 33, fitting(self.axis, room), "quiet", anchor="middle")
