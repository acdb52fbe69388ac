"""How every picture looks: colours that survive greyscale and colour blindness, sizes that fit 3 or 100 rows.

Colours are those of Okabe and Ito (2008), ordered so that neighbours differ in lightness; a second cue (shape,
position or text) always stands beside colour. Surfaces use cividis, which grows evenly lighter for everybody: light
is always more. Letters are never smaller than `SMALLEST_PX`.
"""

from __future__ import annotations

from typing import Any

INK = "#222222"
QUIET = "#777777"
RULE = "#dddddd"
ACCENT = "#0072b2"
CONTRAST = "#d55e00"
"""The colour for what warns or is worse; never alone, always with a sign or word."""
PALETTE = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7", "#000000", "#f0e442")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left")
SURFACE = "cividis"
DIVERGING = ("#b35806", "#f7f7f7", "#2166ac")
"""Worse, equal, better: orange to blue through white; its ends differ in lightness from the middle."""
WIDTH_PX = 560
SMALLEST_PX = 11
"""Of letters in pictures, as they are drawn."""
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"

CONFIG: dict[str, Any] = {
    "font": FONT,
    "aria": False,  # the figure has its text alternative; ten thousand marks need none of their own
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK,
        "titleColor": INK,
        "titleFontWeight": "normal",
        "gridColor": "#eeeeee",
        "domainColor": "#999999",
        "tickColor": "#999999",
        "labelLimit": 260,
        "labelFontSize": 11,
        "titleFontSize": 12,
        "labelFlush": False,  # a label under its tick; pushed inwards it runs into its neighbour
    },
    "legend": {"labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": "normal", "labelLimit": 240},
    "header": {"labelFontSize": 12, "titleFontSize": 12, "labelLimit": 260},
    "range": {"category": list(PALETTE), "symbol": list(SHAPES), "heatmap": {"scheme": SURFACE}},
    "title": {"fontSize": 13, "anchor": "start", "fontWeight": "bold", "color": INK},
}


def row_step_px(rows: int) -> int:
    """Height of one row, so that three rows do not drown and the names of a hundred can still be read.

    Example:
        >>> row_step_px(3), row_step_px(40), row_step_px(100)
        (26, 16, 13)
    """
    return 26 if rows <= 12 else 20 if rows <= 25 else 16 if rows <= 45 else 13


def label_px(step_px: int) -> int:
    """Size of the label beside a row of that height; it is never too small to read."""
    return max(SMALLEST_PX, min(12, step_px - 2))
