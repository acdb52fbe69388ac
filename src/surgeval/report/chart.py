"""A chart: one declarative picture with its words and its data, for pages, prints and notebooks.

The picture is a Vega-Lite specification. It carries its data, so that the page needs no network, and never an
expression built from anybody's text: names of models and answers are data only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl

from surgeval.errors import ExtraNeeded, Misuse
from surgeval.report.theme import CONFIG
from surgeval.report.words import csv_text

PRINTED_SCALE = 2.0
"""Pixels of a saved picture per pixel on the screen."""


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture, what it says in words, and the numbers it was drawn from."""

    name: str
    """Small letters, digits and hyphens; names the files it is saved as."""
    title: str
    alt: str
    """The text alternative: what a reader who cannot see the picture has to know, with the main numbers."""
    caption: str
    """What is shown: estimand, unit, n, what bars and colours mean."""
    data: pl.DataFrame
    """The numbers behind the picture, as `Save CSV` gives them."""
    spec: Mapping[str, Any] = field(repr=False)
    """The complete Vega-Lite specification."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", self.name):
            raise Misuse(f"a chart's name is small letters, digits and hyphens, got {self.name!r}")

    def svg(self) -> str:
        """The picture as SVG, with its text alternative inside."""
        drawn = str(renderer().vegalite_to_svg(dict(self.spec), allowed_base_urls=[]))
        head, tag, tail = drawn.partition(">")
        words = f"<title>{escape(self.title)}</title><desc>{escape(self.alt)}</desc>"
        return f'{head} role="img"{tag}{words}{tail}'

    def png(self, *, scale: float = PRINTED_SCALE) -> bytes:
        """The picture as PNG."""
        return bytes(renderer().vegalite_to_png(dict(self.spec), scale=scale, allowed_base_urls=[]))

    def csv(self) -> str:
        """The numbers as CSV; text that a spreadsheet would run as a formula stays text."""
        return csv_text(self.data)

    def save(self, path: str | Path) -> Path:
        """Write the picture as SVG or PNG, or its numbers as CSV, decided by the file's ending.

        Raises:
            Misuse: Another ending.
        """
        path = Path(path)
        ending = path.suffix.lower()
        if ending == ".png":
            path.write_bytes(self.png())
        elif ending in (".svg", ".csv"):
            path.write_text(self.svg() if ending == ".svg" else self.csv(), encoding="utf-8")
        else:
            raise Misuse(f"{path}: unknown kind of file {path.suffix!r}; expected .svg, .png or .csv")
        return path

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """What a notebook shows: the picture, or its words where it cannot show pictures."""
        return {"image/svg+xml": self.svg(), "text/plain": f"{self.title}: {self.alt}"}


def renderer() -> ModuleType:
    """The package that draws Vega-Lite without a browser.

    Raises:
        ExtraNeeded: It is not installed.
    """
    try:
        import vl_convert
    except ModuleNotFoundError:
        raise ExtraNeeded("a chart", "vl-convert-python", "report") from None
    return vl_convert


def altair() -> ModuleType:
    """The package that writes Vega-Lite.

    Raises:
        ExtraNeeded: It is not installed.
    """
    try:
        import altair as package
    except ModuleNotFoundError:
        raise ExtraNeeded("a chart", "altair", "report") from None
    return package


def drawn(name: str, picture: Any, *, title: str, alt: str, caption: str, data: pl.DataFrame) -> Chart:
    """The chart of an Altair picture, in the house's looks."""
    spec = picture.to_dict(validate=False)  # slow; that every chart can be drawn is shown by tests
    spec.pop("$schema", None)  # an address that nothing has to fetch
    spec["datasets"] = {key: list(values) for key, values in spec.get("datasets", {}).items()}
    spec["config"] = CONFIG
    spec.setdefault("background", "white")
    return Chart(name, title, alt, caption, data, spec)


def nothing_to_show(name: str, title: str, why: str) -> Chart:
    """The chart that stands where there is no data: it says why."""
    alt = altair()
    words = alt.Chart(alt.Data(values=[{"why": f"Nothing to show: {why}"}]), width=560, height=60)
    picture = words.mark_text(fontSize=13, color="#555555", limit=540).encode(text=alt.Text("why:N"))
    return drawn(name, picture, title=title, alt=f"Nothing to show: {why}", caption="", data=pl.DataFrame())
