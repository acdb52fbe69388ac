"""What a chart draws: its rows with their marks and texts, its cells, its curves."""

from __future__ import annotations

from surgvalid.report.chart import Chart
from surgvalid.report.drawing.curves import Curves, PlotCurve
from surgvalid.report.drawing.grid import GridCell, GridImage
from surgvalid.report.drawing.rows import Mark, RowsImage


def row_order(chart: Chart) -> list[str]:
    """The names of the rows from top to bottom."""
    assert isinstance(chart.image, RowsImage | GridImage)
    return list(chart.image.labels)


def marks_of(chart: Chart, *shapes: str) -> list[tuple[str, Mark]]:
    """The marks with the names of their rows; only those of some shapes where these are named."""
    assert isinstance(chart.image, RowsImage)
    marks = chart.image.marks
    return [(chart.image.labels[mark.row], mark) for mark in marks if not shapes or mark.shape in shapes]


def beside(chart: Chart, head: str = "") -> dict[str, str]:
    """The texts of the column of that head, by the names of the rows."""
    assert isinstance(chart.image, RowsImage | GridImage)
    return dict(zip(chart.image.labels, dict(chart.image.beside)[head], strict=True))


def cells_of(chart: Chart) -> dict[tuple[str, str], GridCell]:
    """The cells by the names of row and column."""
    image = chart.image
    assert isinstance(image, GridImage)
    return {(image.labels[cell.row], image.columns[cell.column]): cell for cell in image.cells}


def curves_of(chart: Chart) -> dict[str, PlotCurve]:
    """The curves by name."""
    assert isinstance(chart.image, Curves)
    return {curve.words: curve for curve in chart.image.curves if curve.words}
