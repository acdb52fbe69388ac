"""A chart: one image with its words and its data, for pages, prints, files and notebooks.

The image is drawn by our own small writer in the width that it is shown in. It asks nobody for anything, and names of
models and answers are never more than text in it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from surgvalid.errors import Misuse
from surgvalid.report.drawing.svg import LIGHT, Svg, fitting
from surgvalid.report.words import csv_text

WIDE_PX, NARROW_PX = 920, 350
"""Widths that images are drawn in: for a screen or a print, and for a phone."""


class ChartImage(Protocol):
    """What can be drawn in a width."""

    def draw(self, width: float) -> Svg:
        """The image in that width."""
        ...


@dataclass(frozen=True, slots=True)
class Chart:
    """An image, what it says in words, and the numbers it was drawn from."""

    name: str
    """Small letters, digits and hyphens; names the files it is saved as."""
    title: str
    alt: str
    """The text alternative: what a reader who cannot see the image has to know, with the main numbers."""
    caption: str
    """What is shown: estimand, unit, n, what bars and colours mean."""
    data: pl.DataFrame
    """The numbers behind the image, as `Save CSV` gives them."""
    image: ChartImage = field(repr=False)

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", self.name):
            raise Misuse(f"a chart's name is small letters, digits and hyphens, got {self.name!r}")

    def svg(self) -> str:
        """The image as a file, with its colours and its text alternative inside."""
        return self.image.draw(WIDE_PX).svg(title=self.title, alt=self.alt, colours=LIGHT)

    def inline(self, width: int = WIDE_PX, *, name: str = "") -> str:
        """The image for a page that gives it its colours; `name` is its class there."""
        return self.image.draw(width).svg(title=self.title, alt=self.alt, name=name)

    def csv(self) -> str:
        """The numbers as CSV; text that a spreadsheet would run as a formula stays text."""
        return csv_text(self.data)

    def save(self, path: str | Path) -> Path:
        """Write the image as SVG, or its numbers as CSV, decided by the file's ending.

        Raises:
            Misuse: Another ending.
        """
        path = Path(path)
        if path.suffix.lower() not in (".svg", ".csv"):
            raise Misuse(f"{path}: unknown kind of file {path.suffix!r}; expected .svg or .csv")
        path.write_text(self.svg() if path.suffix.lower() == ".svg" else self.csv(), encoding="utf-8")
        return path

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """What a notebook shows: the image, or its words where it cannot show images."""
        return {"image/svg+xml": self.svg(), "text/plain": f"{self.title}: {self.alt}"}


class _Words:
    """A sentence in place of an image."""

    def __init__(self, words: str) -> None:
        self.words = words

    def draw(self, width: float) -> Svg:
        image = Svg(width, 40)
        image.text(0, 20, fitting(self.words, width), "quiet")
        return image


def nothing_to_show(name: str, title: str, why: str) -> Chart:
    """The chart that stands where there is no data: it says why."""
    words = f"Nothing to show: {why}"
    return Chart(name, title, words, "", pl.DataFrame(), _Words(words))
