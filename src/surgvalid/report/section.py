"""What a report is made of: sections of prose, notes, charts and tables, in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, NamedTuple

import polars as pl

from surgvalid.report.chart import Chart
from surgvalid.schema.tables.units import Unit


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
class ReportTable:
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
    """Whether it starts folded, because an image says the same; in print it is shortened."""


@dataclass(frozen=True, slots=True)
class Point:
    """One sentence of a list."""

    text: str
    label: str = ""
    """Stands before it, such as the name of a model."""
    model: str = ""
    """The model that it is about; its wrong answers are one click away."""
    term: str = ""
    """The property that it is about."""
    dots: tuple[tuple[int, str], ...] = ()
    """Natural frequencies beside it: how many of 100, and of what."""


@dataclass(frozen=True, slots=True)
class Points:
    """A short list of sentences under a heading."""

    name: str
    title: str
    points: tuple[Point, ...]
    rest: str = ""
    """What is said below the list."""


@dataclass(frozen=True, slots=True)
class Fold:
    """One folded line that opens to a list: the first of it is on the line, the rest is counted."""

    name: str
    title: str
    items: tuple[str, ...]


class LeaderboardCell(NamedTuple):
    """What one model reaches on one leaderboard."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    rank: int | None = None
    """Its final rank by the ranking rule; None out of competition."""
    rank_low: int | None = None
    rank_high: int | None = None
    may_be_first: bool = False


class LeaderboardRow(NamedTuple):
    """One model over all leaderboards."""

    model: str
    note: str
    cells: tuple[LeaderboardCell, ...]


@dataclass(frozen=True, slots=True)
class Standings:
    """Models by leaderboards: value, interval and range of ranks in every cell."""

    name: str
    title: str
    caption: str
    columns: tuple[tuple[str, str], ...]
    """The leaderboard, and how many questions it rests on."""
    rows: tuple[LeaderboardRow, ...]
    beside: tuple[LeaderboardRow, ...] = ()
    """Models without a rank, for comparison."""
    percent: bool = True


@dataclass(frozen=True, slots=True)
class WorstCases:
    """Place of the first cases that one model has wrong; a script shows them from those of the browser."""

    name: str
    title: str
    model: str
    term: str = ""


@dataclass(frozen=True, slots=True)
class Browser:
    """Cases to look through one by one; a page shows them, print names how many there are."""

    name: str
    title: str
    caption: str
    cases: tuple[Mapping[str, Any], ...] = field(repr=False)
    """As `report.cases.collect` makes them, in order."""
    has_frames: bool = False
    """Whether they name images that lie beside the page."""


Block = Prose | Note | ReportTable | Chart | Points | Fold | Standings | WorstCases | Browser
Layer = Literal["", "verdict", "explore", "appendix"]


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report with a heading; it can be folded."""

    name: str
    title: str
    blocks: tuple[Block, ...]
    folded: bool = False
    """Whether it starts folded."""
    lead: str = ""
    """Of the first page: the finding in one sentence; its title is then that of the page."""
    layer: Layer = ""
    """Where a report has it: first page, instrument or appendix; empty on pages without layers."""
    view: str = ""
    """What the switch of the instrument calls it."""
    track: str = ""
    """The ranking that it is about, where there are several."""
    boards: tuple[str, ...] = ()
    """For each block the leaderboard that it is about, empty for all; no entries where leaderboards play no part."""

    @property
    def is_missing(self) -> bool:
        """Whether it says nothing but that something is missing."""
        return all(isinstance(block, Note) and block.kind == "missing" for block in self.blocks)


def of_leaderboards(name: str, title: str, blocks: Iterable[tuple[Block, str]]) -> Section:
    """A section whose blocks are each about one leaderboard, or about all where it is empty."""
    pairs = list(blocks)
    return Section(name, title, tuple(block for block, _ in pairs), boards=tuple(board for _, board in pairs))


_WORDED = set("title text items caption alt points rest lead blocks".split())


def in_words_of(piece: Any, unit: Unit) -> Any:
    """A section, or a part of one, in which what is independent is called as its table calls it."""
    if isinstance(piece, str):
        return unit.called(piece)
    if isinstance(piece, tuple):
        return tuple(in_words_of(one, unit) for one in piece)
    changed = {one.name: in_words_of(getattr(piece, one.name), unit) for one in fields(piece) if one.name in _WORDED}
    if isinstance(piece, ReportTable) and (many := unit.called("videos")) not in piece.frame.columns:
        changed["labels"] = {"video": unit.called("video"), "videos": many, **piece.labels}
    return replace(piece, **changed)
