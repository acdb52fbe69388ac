"""A small writer of SVG: lines, dots, boxes and text by classes of colour, so that one image follows every page.

On a page the classes take the page's colours, light or dark, from variables; a file carries its colours with it. Names
of models and answers enter as escaped text and never as anything else. Colours are those of Okabe and Ito, darkened for
light ground and lightened for dark; a second cue (shape, fill, dash or text) always stands beside colour.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape

from surgvalid.report.words import ELLIPSIS, plain

LIGHT: Mapping[str, str] = {
    "ink": "#16202c",
    "quiet": "#566373",
    "ground": "#ffffff",
    "rule": "#d5dce4",
    "blue": "#0072b2",
    "warm": "#c25100",
    "band": "#e9eef3",
    "edge": "#7d8b9a",
    "c2": "#00795a",
    "c3": "#9b4f81",
    "c4": "#7a6000",
    "c5": "#4b5bc0",
}
DARK: Mapping[str, str] = {
    "ink": "#e9eef4",
    "quiet": "#a3b0be",
    "ground": "#11161d",
    "rule": "#2d3743",
    "blue": "#5bb8ef",
    "warm": "#f0984f",
    "band": "#202a36",
    "edge": "#66758a",
    "c2": "#3fc79a",
    "c3": "#e08fc0",
    "c4": "#d9bd45",
    "c5": "#9aa5ff",
}
"""The same names on dark ground."""
SERIES = ("blue", "warm", "c2", "c3", "c4", "c5", "quiet")
"""Colours of lines side by side."""
DASHES = ("", "6 3", "2 2", "8 2 2 2", "10 4", "4 1", "1 3")
SHAPES = ("circle", "square", "diamond", "right", "left", "up", "down")
FONT = '-apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, "Liberation Sans", sans-serif'
"""One family for text and images; their letters are about as wide as `text_px` says."""
TEXT_PX = 13
SMALLEST_PX = 11
"""Of letters, as they are drawn."""
_NARROW, _WIDE = "iljtfrI.,:;'|!()[] -", "mwMW@%"
_CORNERS: Mapping[str, tuple[tuple[float, float], ...]] = {
    "square": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    "diamond": ((0, -1.6), (1.6, 0), (0, 1.6), (-1.6, 0)),
    "right": ((-0.9, -1.1), (1.2, 0), (-0.9, 1.1)),
    "left": ((0.9, -1.1), (-1.2, 0), (0.9, 1.1)),
    "up": ((-1.1, 0.9), (0, -1.2), (1.1, 0.9)),
    "down": ((-1.1, -0.9), (0, 1.2), (1.1, -0.9)),
    "tick": ((-0.22, -1.7), (0.22, -1.7), (0.22, 1.7), (-0.22, 1.7)),
}


def style(colours: Mapping[str, str]) -> str:
    """The rules of style that give every class its colour.

    Example:
        >>> style({"blue": "#0072b2"})
        '.f-blue{fill:#0072b2}.s-blue{stroke:#0072b2}'
    """
    return "".join(f".f-{name}{{fill:{colour}}}.s-{name}{{stroke:{colour}}}" for name, colour in colours.items())


def variables(colours: Mapping[str, str]) -> str:
    """The colours as variables of a page."""
    return "".join(f"--{name}:{colour};" for name, colour in colours.items())


def page_colours() -> str:
    """The colours and letters of a page, light and dark, and the classes that use them; print is always light."""
    named = style({name: f"var(--{name})" for name in LIGHT})
    dark = f"@media screen and (prefers-color-scheme:dark){{:root{{{variables(DARK)}}}}}"
    return f":root{{{variables(LIGHT)}--font:{FONT}}}\n{dark}\n{named}\n"


def text_px(words: str, size_px: float = TEXT_PX) -> float:
    """About how wide a text is; letters of other scripts take a whole square.

    Example:
        >>> round(text_px("model a")), round(text_px("ill")), round(text_px("模型"))
        (48, 12, 26)
    """
    return size_px * sum(
        0.3
        if char in _NARROW
        else 0.86
        if char in _WIDE
        else 1.0
        if ord(char) > 0x2E80
        else 0.65
        if char.isupper()
        else 0.56
        for char in words
    )


def fitting(words: str, room_px: float, size_px: float = TEXT_PX) -> str:
    """The words, cut to the room there is; nothing where not even three letters fit.

    Example:
        >>> fitting("a long name of a model", 60)
        'a long n…'
    """
    if text_px(words, size_px) <= room_px:
        return words
    kept = words
    while kept and text_px(kept + ELLIPSIS, size_px) > room_px:
        kept = kept[:-1]
    return kept.rstrip() + ELLIPSIS if len(kept) > 2 else ""


class Svg:
    """An image that is being drawn; sizes are in pixels."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self.elements: list[str] = []

    @contextmanager
    def group(self, of: str) -> Iterator[None]:
        """What is drawn meanwhile belongs together; a page can hide it by the name that it is of."""
        self.elements.append(f'<g data-of="{escape(plain(of))}">')
        yield
        self.elements.append("</g>")

    def place(self, other: Svg, x: float, y: float) -> None:
        """Another image within this one."""
        self.elements += [f'<g transform="translate({_n(x)} {_n(y)})">', *other.elements, "</g>"]

    def line(self, x1: float, y1: float, x2: float, y2: float, look: str, *, px: float = 1, dash: str = "") -> None:
        """A straight line."""
        ends = f'x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}"'
        self.elements.append(f'<line class="s-{look}" {ends}{_stroke(px, dash)}/>')

    def path(self, points: Sequence[tuple[float, float]], look: str, *, px: float = 2, dash: str = "") -> None:
        """A line through points."""
        listed = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
        self.elements.append(f'<polyline class="s-{look}" fill="none" points="{listed}"{_stroke(px, dash)}/>')

    def area(self, points: Sequence[tuple[float, float]], look: str) -> None:
        """A filled area, pale."""
        listed = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
        self.elements.append(f'<polygon class="f-{look}" fill-opacity=".2" points="{listed}"/>')

    def box(
        self, x: float, y: float, width: float, height: float, look: str, *, opacity: float = 1, words: str = ""
    ) -> None:
        """A filled box; `words` are shown to whoever points at it."""
        shade = "" if opacity == 1 else f' fill-opacity="{_n(opacity)}"'
        size = f'x="{_n(x)}" y="{_n(y)}" width="{_n(max(width, 0))}" height="{_n(height)}"'
        self.elements.append(_held(f'<rect class="f-{look}" {size}{shade}', "rect", words))

    def mark(
        self,
        x: float,
        y: float,
        look: str,
        *,
        shape: str = "circle",
        px: float = 4.5,
        hollow: bool = False,
        words: str = "",
        value: float | None = None,
    ) -> None:
        """A mark; it carries the value that it stands for."""
        data = "" if value is None else f' data-v="{value:.9g}"'
        inside = f'class="f-ground s-{look}" stroke-width="1.8"' if hollow else f'class="f-{look}"'
        if shape == "circle":
            self.elements.append(
                _held(f'<circle {inside} cx="{_n(x)}" cy="{_n(y)}" r="{_n(px)}"{data}', "circle", words)
            )
            return
        corners = " ".join(f"{_n(x + px * dx)},{_n(y + px * dy)}" for dx, dy in _CORNERS[shape])
        self.elements.append(_held(f'<polygon {inside} points="{corners}"{data}', "polygon", words))

    def text(
        self,
        x: float,
        y: float,
        words: str,
        look: str = "ink",
        *,
        anchor: str = "start",
        size_px: float = TEXT_PX,
        bold: bool = False,
        turn: float = 0,
    ) -> None:
        """Words on one line; `y` is the middle of the line."""
        if not words:
            return
        at = f'x="{_n(x)}" y="{_n(y + 0.35 * size_px)}"'
        more = "" if anchor == "start" else f' text-anchor="{anchor}"'
        more += "" if size_px == TEXT_PX else f' font-size="{_n(size_px)}"'
        more += ' font-weight="650"' if bold else ""
        more += f' transform="rotate({_n(turn)} {_n(x)} {_n(y)})"' if turn else ""
        self.elements.append(f'<text class="f-{look}" {at}{more}>{escape(plain(words))}</text>')

    def svg(self, *, title: str, alt: str, colours: Mapping[str, str] | None = None, name: str = "") -> str:
        """The image; with `colours` it stands by itself, without it takes those of its page."""
        size = f'viewBox="0 0 {_n(self.width)} {_n(self.height)}"'
        spoken = f'role="img" aria-label="{escape(plain(alt))}"'
        body = "".join(self.elements)
        if colours is None:
            return f'<svg class="plot {name}" {size} width="{_n(self.width)}" {spoken}>{body}</svg>'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} width="{_n(self.width)}" height="{_n(self.height)}"'
        font = f'role="img" font-family="{escape(FONT)}" font-size="{TEXT_PX}"'
        words = f"<title>{escape(plain(title))}</title><desc>{escape(plain(alt))}</desc>"
        ground = f'<rect width="100%" height="100%" fill="{colours["ground"]}"/>'
        return f"{head} {font}>{words}<style>{style(colours)}</style>{ground}{body}</svg>"


def _stroke(px: float, dash: str) -> str:
    return ("" if px == 1 else f' stroke-width="{_n(px)}"') + (f' stroke-dasharray="{dash}"' if dash else "")


def _held(start: str, tag: str, words: str) -> str:
    return f"{start}><title>{escape(plain(words))}</title></{tag}>" if words else f"{start}/>"


def _n(value: float) -> str:
    """A number with one decimal at most; finite, whatever was asked for."""
    return f"{value if math.isfinite(value) else 0:.1f}".removesuffix(".0")
