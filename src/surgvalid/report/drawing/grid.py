"""Grids of cells: who beats whom, kinds of question by model, agreement of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from surgvalid.report.drawing.svg import SMALLEST_PX, TEXT_PX, Svg, fitting, text_px

_DEEPEST = 0.5
"""Opacity of the strongest shade: text can be read on it in light and dark."""


class GridCell(NamedTuple):
    """A cell: its text, its shade between -1 (the second colour) and 1 (the first), what pointing at it shows."""

    row: int
    column: int
    text: str = ""
    shade: float = 0.0
    words: str = ""


@dataclass(frozen=True, slots=True)
class GridImage:
    """Named rows and columns with a cell where they meet."""

    labels: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[GridCell, ...]
    across: str = ""
    """What the columns are."""
    beside: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def draw(self, width: float) -> Svg:
        """The image in that width; on a narrow one names of columns stand upright."""
        rows, count = max(len(self.labels), 1), max(len(self.columns), 1)
        step = 26 if rows <= 25 else 16
        size = TEXT_PX if step > 20 else SMALLEST_PX
        left = min(max((text_px(name, size) for name in self.labels), default=0) + 12, 0.34 * width)
        texts = [max([text_px(head, 12), *(text_px(t, size) for t in lines)]) + 16 for head, lines in self.beside]
        room = min(110.0, (width - left - sum(texts)) / count)
        longest = max((text_px(name, 12) for name in self.columns), default=0)
        turned = longest > room - 6
        top = (min(longest, 150) * 0.87 + 20 if turned else 22) + (20 if self.across else 0)
        right = min(150.0, longest) * 0.5 if turned else 0
        image = Svg(width, top + rows * step + 6)
        image.text(left, 10, fitting(self.across, width - left), "quiet", size_px=12)
        for number, name in enumerate(self.columns):
            x = left + room * (number + 0.5)
            if turned:
                over = left + room * count + right > width and not self.beside
                image.text(x, top - 6, fitting(name, 150, 12), size_px=12, turn=-90 if over else -60)
            else:
                image.text(x, top - 10, name, anchor="middle", size_px=12)
        for number, name in enumerate(self.labels):
            y = top + step * (number + 0.5)
            image.text(left - 8, y, fitting(name, left - 8, size), anchor="end", size_px=size)
        for cell in self.cells:
            self._cell(image, cell, left + room * cell.column, top + step * cell.row, room, step)
        x = left + room * count + 10
        for (head, lines), wide in zip(self.beside, texts, strict=True):
            image.text(x, top - 10, head, "quiet", size_px=12)
            for number, words in enumerate(lines):
                image.text(x, top + step * (number + 0.5), words, size_px=size)
            x += wide
        return image

    @staticmethod
    def _cell(image: Svg, cell: GridCell, x: float, y: float, room: float, step: float) -> None:
        look = "band" if not cell.shade else "blue" if cell.shade > 0 else "warm"
        depth = 1.0 if not cell.shade else _DEEPEST * min(abs(cell.shade), 1.0) + 0.04
        image.box(x + 0.5, y + 0.5, room - 1, step - 1, look, opacity=depth, words=cell.words)
        if text_px(cell.text, 12) <= room:
            image.text(x + room / 2, y + step / 2, cell.text, anchor="middle", size_px=12 if step > 20 else SMALLEST_PX)
