"""The report as a paginated PDF, set by typst: a compiler in a wheel, no browser and no LaTeX.

The template is a fixed file. All content reaches it as strings in a JSON document, never as markup, so that a model's
answer with `#`, `$`, `@` or a backslash in it is printed as it is. Equal reports give equal files.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import polars as pl

from surgeval.errors import ExtraNeeded, InputInvalid
from surgeval.report.chart import Chart, renderer
from surgeval.report.section import Block, Browser, Note, Points, Prose, Section, Sheet, Table
from surgeval.report.words import column_words, plain
from surgeval.schema.shown_tables import shown_column

PRINTED_ROWS = 30
FOLDED_ROWS = 10
"""Longer tables that start folded are left to the page."""
PRINTED_COLUMNS = 12
_FIXED_DATE = datetime(2000, 1, 1, tzinfo=UTC)
_LABELS = {"limitation": "Limitation", "missing": "Not here", "hint": "Hint"}
_FONTS = ("Liberation Sans", "Arial", "Helvetica", "DejaVu Sans", "Noto Sans CJK SC", "Noto Emoji", "Libertinus Serif")
_LONG_WORD = 14
_NARROW = 6
"""Letters that fit into the narrowest column of a table."""
_BREAK = "\u200b"
_WIDEST = 34.0
"""Letters for which a column of text gets room; longer text breaks into lines."""


def pdf(title: str, kind: str, facts: str, sections: Sequence[Section], *, footer: str = "") -> bytes:
    """The report as the bytes of a PDF; see `html.page` for the arguments.

    Raises:
        ExtraNeeded: typst is not installed.
    """
    typst = typst_package()
    with TemporaryDirectory(prefix="surgeval-report-") as name:
        folder = Path(name)
        writer = _Writer(folder)
        data = {
            "title": _text(title), "short_title": plain(title, limit=70), "kind": _text(kind), "facts": _text(facts),
            "footer": plain(footer, limit=110), "fonts": list(_FONTS),
            "sections": [{"title": _text(s.title), "blocks": writer.blocks(s)} for s in sections],
        }  # fmt: skip
        (folder / "data.json").write_text(json.dumps(data, ensure_ascii=True), encoding="utf-8")
        template = files("surgeval.report").joinpath("assets", "report.typ").read_text(encoding="utf-8")
        (folder / "report.typ").write_text(template, encoding="utf-8")
        try:
            made = typst.compile(
                folder / "report.typ", root=folder, format="pdf", timestamp=int(_FIXED_DATE.timestamp())
            )
        except typst.TypstError as error:
            raise InputInvalid("report", [f"the PDF could not be set ({plain(error, limit=300)})"]) from None
        return bytes(made)


class _Writer:
    """Turns blocks into plain data and writes pictures beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.figures = 0

    def blocks(self, section: Section) -> list[dict[str, Any]]:
        """The blocks of a section; long tables that a picture stands for are named at its end instead."""
        kept = [block for block in section.blocks if not _only_on_the_page(block)]
        return [self.block(block) for block in [*kept, *_named(section.blocks)]]

    def block(self, block: Block) -> dict[str, Any]:
        """One block as data."""
        if isinstance(block, Prose):
            return {"what": "prose", "parts": [_text(paragraph) for paragraph in block.text.split("\n\n")]}
        if isinstance(block, Note):
            return {
                "what": "note", "kind": block.kind, "label": _LABELS[block.kind], "text": _text(block.text),
                "items": [_text(item) for item in block.items],
            }  # fmt: skip
        if isinstance(block, Sheet):
            return self.sheet(block)
        if isinstance(block, Browser):
            return {"what": "prose", "parts": [_text(f"{block.caption} They are on the page.")]}
        if isinstance(block, Points):
            items = [{"label": _text(p.label), "text": _text(p.text)} for p in block.points]
            return {"what": "points", "title": _text(block.title), "items": items, "rest": _text(block.rest)}
        return listing(block) if isinstance(block, Table) else self.chart(block)

    def sheet(self, sheet: Sheet) -> dict[str, Any]:
        """A contact sheet: its pictures become files."""
        self.figures += 1
        names = [f"figure-{self.figures}-{number}.png" for number, _ in enumerate(sheet.pictures)]
        for name, (_, data) in zip(names, sheet.pictures, strict=True):
            (self.folder / name).write_bytes(data)
        return {
            "what": "sheet", "files": names, "title": _text(sheet.title), "caption": _text(sheet.caption),
            "alt": plain(sheet.alt),
        }  # fmt: skip

    def chart(self, chart: Chart) -> dict[str, Any]:
        """A figure: its picture becomes a file."""
        self.figures += 1
        name = f"figure-{self.figures}.pdf"
        (self.folder / name).write_bytes(bytes(renderer().vegalite_to_pdf(dict(chart.spec), allowed_base_urls=[])))
        return {
            "what": "chart", "file": name, "title": _text(chart.title), "caption": _text(chart.caption),
            "alt": plain(chart.alt),
        }  # fmt: skip


def _only_on_the_page(block: Block) -> bool:
    """Whether print leaves the table out: a picture says the same, and the first rows of many say nothing."""
    return isinstance(block, Table) and block.folded and block.frame.height > FOLDED_ROWS


def _named(blocks: Sequence[Block]) -> list[Block]:
    titles = [f"{b.title} ({b.frame.height:,} rows)" for b in blocks if isinstance(b, Table) and _only_on_the_page(b)]
    return [Note(f"On the page, not in print: {'; '.join(titles)}.", "hint")] if titles else []


def listing(table: Table) -> dict[str, Any]:
    """A table as data: the first rows and as many columns as a page holds; the caption says what is left out."""
    frame = table.frame.head(min(table.shown_rows, PRINTED_ROWS))
    frame = frame.select(frame.columns[:PRINTED_COLUMNS])
    columns = [shown_column(frame[name], digits=table.digits) for name in frame.columns]
    numeric = [frame.schema[name].is_numeric() for name in frame.columns]
    heads = [table.labels.get(name, column_words(name)) for name in frame.columns]
    return {
        "what": "listing",
        "title": _text(table.title),
        "caption": _text(" ".join(sentence for sentence in (table.caption, _left_out(table, frame)) if sentence)),
        "heads": [_text(head, every=_NARROW) for head in heads],
        "numeric": numeric,
        "columns": [_share(head, column) for head, column in zip(heads, columns, strict=True)],
        "rows": [[_text(cell, every=_NARROW) for cell in row] for row in zip(*columns, strict=True)],
        "size": 8 if frame.width <= 7 else 7 if frame.width <= 10 else 6,
    }


def _share(head: str, column: Sequence[str]) -> float:
    """How much of the width a column gets: by its longest entry, or the longest word of its head."""
    longest = max((len(cell) for cell in column), default=0)
    word = max((len(word) for word in head.split()), default=1)
    return max(min(float(longest), _WIDEST), 1.15 * min(word, _LONG_WORD)) + 1.5


def _left_out(table: Table, frame: pl.DataFrame) -> str:
    counts = []
    if frame.height < table.frame.height:
        counts.append(f"{frame.height} of {table.frame.height:,} rows")
    if frame.width < table.frame.width:
        counts.append(f"{frame.width} of {table.frame.width} columns")
    return f"Printed: {' and '.join(counts)}." if counts else ""


def _text(text: str, *, every: int = _LONG_WORD) -> str:
    """The text on one line, with places to break words that no line could hold."""
    return " ".join(_broken(word, every) for word in plain(text).split(" "))


def _broken(word: str, every: int) -> str:
    if len(word) <= _LONG_WORD:
        return word
    return _BREAK.join(word[i : i + every] for i in range(0, len(word), every))


def typst_package() -> ModuleType:
    """The package that sets pages.

    Raises:
        ExtraNeeded: It is not installed.
    """
    try:
        import typst
    except ModuleNotFoundError:
        raise ExtraNeeded("a PDF", "typst", "report") from None
    return typst
