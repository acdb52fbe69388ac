"""What a report is made of: sections of prose, notes, charts and tables, in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import polars as pl

from surgeval.report.chart import Chart


@dataclass(frozen=True, slots=True)
class Prose:
    """A paragraph."""

    text: str


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence that must not be overlooked: a limitation found, or a part that is missing."""

    text: str
    kind: Literal["limitation", "missing", "hint"] = "limitation"
    items: tuple[str, ...] = ()
    """What the sentence lists, where it ends in a colon."""

    @property
    def sentence(self) -> str:
        """The sentence with what it lists, on one line."""
        return f"{self.text} {'; '.join(self.items)}." if self.items else self.text


@dataclass(frozen=True, slots=True)
class Table:
    """A table that can be sorted on the page and saved as CSV."""

    name: str
    title: str
    frame: pl.DataFrame
    caption: str = ""
    digits: int = 3
    labels: Mapping[str, str] = field(default_factory=dict)
    """Heads of columns, where the column's name does not say enough."""
    shown_rows: int = 200
    """Rows on the page and in print; the saved CSV has all."""
    folded: bool = False
    """Whether it starts folded, because a picture says the same; in print it is shortened."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A contact sheet: small pictures side by side."""

    name: str
    title: str
    alt: str
    caption: str
    pictures: tuple[tuple[str, bytes], ...] = field(repr=False)
    """Label and PNG file of each."""


Block = Prose | Note | Table | Chart | Sheet


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report with a heading; it can be folded."""

    name: str
    title: str
    blocks: tuple[Block, ...]
    folded: bool = False
    """Whether it starts folded."""
