"""The report as one HTML file that asks nobody for anything.

Images are SVG in the page's own colours, so that it is complete without script, in the dark and in print. What a reader
meets at once is drawn twice, for a screen and for a phone. Tables to save lie compressed in the page. The script runs
by its hash only (content security policy), so that even a hole in the escaping would run nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

import polars as pl

from surgvalid.report.chart import NARROW_PX, WIDE_PX, Chart
from surgvalid.report.drawing.scales import MINUS
from surgvalid.report.drawing.svg import Svg, page_colours
from surgvalid.report.section import (
    Block,
    Browser,
    Fold,
    Note,
    Point,
    Points,
    Prose,
    ReportTable,
    Section,
    Standings,
    WorstCases,
)
from surgvalid.report.standings_table import standings_frame, standings_html
from surgvalid.report.words import column_words, csv_text, plain
from surgvalid.results.manifest import version_of
from surgvalid.schema.tables.shown_tables import shown_column

SAVED_ROWS = 5_000
"""Rows of a table that the page carries for `Save CSV`; the folder has all."""
_SHORT = 24
"""Letters of a cell that stay on one line."""
_KIND_OF_NOTE = {"limitation": "Limitation", "missing": "Not here", "hint": "Hint"}


def made_with() -> str:
    """The line at the end of every page."""
    return f"Made with surgvalid {version_of('surgvalid')}. Complete in itself: it asks no server for anything."


def page(
    title: str,
    kind: str,
    facts: str,
    sections: Sequence[Section],
    *,
    lead: str = "",
    models: Sequence[str] = (),
) -> str:
    """The whole page.

    Args:
        title: The heading.
        kind: What sort of report it is; stands small above the heading.
        facts: One line below the heading.
        sections: In order; those with a layer go to the verdict, the instrument or the appendix.
        lead: The finding in one sentence, between heading and facts.
        models: That can be shown or hidden.
    """
    writer = _Writer(models)
    body = _body(writer, sections, models)
    script = _asset("page.js")
    policy = _policy(script, frames=writer.has_frames)
    return "".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
            '<meta name="referrer" content="no-referrer">\n<link rel="icon" href="data:,">\n',
            f"<title>{_text(title)}</title>\n<style>\n{page_colours()}{_asset('page.css')}</style>\n</head>\n<body>\n",
            '<a class="skip" href="#main">To the report</a>\n',
            '<div class="page">\n',
            f'<header class="masthead"><p class="kind">{_text(kind)}</p><h1>{_text(title)}</h1>',
            f'<p class="lead">{_text(lead)}</p>' if lead else "",
            f'<p class="facts">{_text(facts)}</p></header>\n',
            f'<main id="main">\n{body}</main>\n<footer>{_text(made_with())}</footer>\n</div>\n',
            f'<script type="text/plain" id="payload">{_packed(_json(writer.payload))}</script>\n',
            f"<script>{script}</script>\n</body>\n</html>\n",
        ]
    )


class _Writer:
    """Writes blocks and collects what the page must carry for them."""

    def __init__(self, models: Sequence[str] = ()) -> None:
        self.figures = 0
        self.tables = 0
        self.has_frames = False
        self.is_seen_at_once = True
        self.numbers = {model: number for number, model in enumerate(models)}
        self.payload: dict[str, Any] = {"csv": {}, "models": list(models)}

    def section(self, section: Section, number: int) -> str:
        """A section that can be folded."""
        head = f'<h2><span class="no">{number}</span>{_text(section.title)}</h2>'
        return self._folding(section, head, is_open=not section.folded)

    def verdict(self, section: Section) -> str:
        """The first page: nothing of it can be folded away."""
        self.is_seen_at_once = True
        blocks = "\n".join(self.block(block) for block in section.blocks)
        head = f"<h2>{_text(section.title)}</h2>" if section.title else ""
        return f'<section id="{escape(section.name)}" class="verdict">{head}\n{blocks}</section>\n'

    def view(self, section: Section, *, is_open: bool) -> str:
        """A view of the instrument; without script it is a section that can be folded."""
        names = {"view": section.view, "track": section.track}
        data = "".join(f' data-{name}="{_text(value)}"' for name, value in names.items() if value)
        return self._folding(section, f'<h3 class="view">{_text(section.title)}</h3>', is_open=is_open, data=data)

    def appended(self, section: Section) -> str:
        """A section of the appendix."""
        return self._folding(section, f'<h3 class="view">{_text(section.title)}</h3>', is_open=False)

    def _folding(self, section: Section, head: str, *, is_open: bool, data: str = "") -> str:
        boards = section.boards or ("",) * len(section.blocks)
        self.is_seen_at_once = is_open
        blocks = "\n".join(_of_board(self.block(b), board) for b, board in zip(section.blocks, boards, strict=True))
        state = " open" if is_open else ""
        name = escape(section.name)
        return f'<section id="{name}"{data}><details{state}><summary>{head}</summary>\n{blocks}\n</details></section>\n'

    def block(self, block: Block) -> str:
        """One block."""
        if isinstance(block, Prose):
            return "".join(f"<p>{_text(paragraph)}</p>" for paragraph in block.text.split("\n\n"))
        if isinstance(block, Note):
            label = f"<b>{_KIND_OF_NOTE[block.kind]}</b>"
            items = "".join(f"<li>{_text(item)}</li>" for item in block.items)
            listed = f"<ul>{items}</ul>" if items else ""
            return f'<div class="note {block.kind}" role="note">{label}{_text(block.text)}{listed}</div>'
        if isinstance(block, Points):
            return self.points(block)
        if isinstance(block, Fold):
            return _fold(block)
        if isinstance(block, Browser):
            return self.browser(block)
        if isinstance(block, Standings):
            return self.standings(block)
        if isinstance(block, WorstCases):
            about = self._why(block.model, block.term)
            return (
                f'<div class="points worst" id="{escape(block.name)}"{about} hidden><h3>{_text(block.title)}</h3></div>'
            )
        return self.table(block) if isinstance(block, ReportTable) else self.chart(block)

    def browser(self, browser: Browser) -> str:
        """Cases that the script of the page shows; without script the folder has to do."""
        self.payload["cases"] = list(browser.cases)
        self.has_frames = browser.has_frames
        selects = "".join(
            f'<label>{label} <select data-filter="{name}"><option value="">all</option></select></label>'
            for name, label in (("model", "Model"), ("property", "Property"), ("kind", "Kind"), ("video", "Video"))
        )
        return (
            f'<p>{_text(browser.caption)}</p><div class="browser" hidden><div class="filters">{selects}</div>'
            '<p class="because"></p><p class="found" role="status"></p><ol class="cases"></ol>'
            '<p><button type="button" class="more">Show more</button></p></div>'
            "<noscript><p>Cases are shown where scripts may run.</p></noscript>"
        )

    def standings(self, block: Standings) -> str:
        """Models by leaderboards; a phone shows one leaderboard at a time."""
        self.tables += 1
        name = f"table-{self.tables}"
        self.payload["csv"][name] = csv_text(standings_frame(block))
        body = standings_html(block, lambda model: self._of_models([model]))
        caption = f'<p class="caption">{_text(block.caption)}</p><div class="tools">{_buttons("csv")}</div>'
        return f'<div class="table standings" id="{name}" data-name="{escape(block.name)}">{body}{caption}</div>'

    def points(self, points: Points) -> str:
        """A short list; those with dots lie side by side, and names of models lead to their wrong answers."""
        dotted, plainly = ([p for p in points.points if bool(p.dots) is has] for has in (True, False))
        items = "".join(f"<li{self._of_models([p.model])}>{self._label(p)}{_text(p.text)}</li>" for p in plainly)
        beside = "".join(
            f"<li{self._of_models([p.model])}>{_dots(p)}<p>{self._label(p)}{_text(p.text)}</p></li>" for p in dotted
        )
        rest = f'<p class="caption">{_text(points.rest)}</p>' if points.rest else ""
        listed = (f'<ul class="dotted">{beside}</ul>' if beside else "") + (f"<ul>{items}</ul>" if items else "")
        return f'<div class="points" id="{escape(points.name)}"><h3>{_text(points.title)}</h3>{listed}{rest}</div>'

    def _label(self, point: Point) -> str:
        if not point.label:
            return ""
        if point.model not in self.numbers:
            return f"<b>{_text(point.label)}:</b> "
        return f'<a href="#cases"{self._why(point.model, point.term)}>{_text(point.label)}</a>: '

    def _why(self, model: str, term: str) -> str:
        """Which cases are meant: those that a model has wrong, with a property where one is named."""
        named = f' data-term="{_text(term)}"' if term else ""
        return f' data-why="{self.numbers.get(model, "")}"{named}'

    def _of_models(self, models: Iterable[object]) -> str:
        """Which models a row is about, by number, so that it can be hidden with them."""
        numbers = [str(number) for model in models if (number := self.numbers.get(str(model))) is not None]
        return f' data-m="{" ".join(numbers)}"' if numbers else ""

    def chart(self, chart: Chart) -> str:
        """A figure: the image, for a phone too where it is seen at once, its words, and buttons to save it."""
        self.figures += 1
        name = f"figure-{self.figures}"
        narrow = chart.inline(NARROW_PX, name="narrow") if self.is_seen_at_once else ""
        images = chart.inline(WIDE_PX, name="wide" if narrow else "") + narrow
        self.payload["csv"][name] = csv_text(chart.data.head(SAVED_ROWS))
        return (
            f'<figure class="chart" id="{name}" data-name="{escape(chart.name)}">'
            f'<h3><span class="no">Figure {self.figures}</span>{_text(chart.title)}</h3>'
            f'<div class="picture" tabindex="0" role="group" aria-label="{_text(chart.title)}">'
            f"{images}</div>"
            '<p class="more-right" aria-hidden="true">The image goes on to the right: swipe or scroll it.</p>'
            f"<figcaption>{_text(chart.caption)}{_cut_short(chart.data)}</figcaption>"
            f'<div class="tools">{_buttons("svg", "png", "csv")}'
            f"<details><summary>In words</summary>{_text(chart.alt)}</details></div></figure>"
        )

    def table(self, table: ReportTable) -> str:
        """A table with heads that sort it."""
        self.tables += 1
        name, shown = f"table-{self.tables}", table.frame.head(table.shown_rows)
        self.payload["csv"][name] = csv_text(table.frame.head(SAVED_ROWS))
        numeric = [shown.schema[column].is_numeric() for column in shown.columns]
        heads = "".join(
            f'<th scope="col" aria-sort="none"{_number_class(number)}><button type="button">'
            f"{_text(table.labels.get(column, column_words(column)))}</button></th>"
            for column, number in zip(shown.columns, numeric, strict=True)
        )
        cells = [_cells(shown[column], table.digits) for column in shown.columns]
        about = self._row_models(shown)
        rows = "".join(
            f"<tr{mine}>{''.join(row)}</tr>" for mine, row in zip(about, zip(*cells, strict=True), strict=True)
        )
        more = table.frame.height - shown.height
        rest = f" {shown.height:,} of {table.frame.height:,} rows are shown." if more > 0 else ""
        caption = f'<p class="caption">{_text(table.caption + rest)}{_cut_short(table.frame)}</p>'
        title = f'<h3><span class="no">Table {self.tables}</span>{_text(table.title)}</h3>'
        body = (
            f'<div class="scroll" tabindex="0" role="region" aria-label="{_text(table.title)}">'
            f'<table><caption class="visually-hidden">{_text(table.title)}</caption>'
            f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
            f'{caption if len(caption) > 30 else ""}<div class="tools">{_buttons("csv")}</div>'
        )
        if table.folded:
            body, title = f"<details><summary>{title}</summary>{body}</details>", ""
        return f'<div class="table" id="{name}" data-name="{escape(table.name)}">{title}{body}</div>'

    def _row_models(self, frame: pl.DataFrame) -> list[str]:
        columns = [name for name in ("model", "model_a", "model_b") if name in frame.columns and self.numbers]
        if not columns:
            return [""] * frame.height
        return [self._of_models(row) for row in frame.select(columns).iter_rows()]


def _dots(point: Point) -> str:
    """Squares of a hundred dots, the number and what it is of below each."""
    return "".join(
        f'<figure class="dots">{_hundred(number)}<figcaption><b>{number}</b> {_text(words)}</figcaption></figure>'
        for number, words in point.dots
    )


def _hundred(number: int) -> str:
    image = Svg(100, 100)
    for row in range(10):  # a dashed line with round ends is a row of dots
        y, full = 10 * row + 5, min(max(number - 10 * row, 0), 10)
        for look, first, last in (("warm", 0, full), ("rule", full, 10)):
            if first < last:
                image.line(10 * first + 5, y, 10 * last - 4.9, y, look, px=7.6, dash="0 10")
    return image.svg(title="", alt=f"{number} of 100", name="hundred")


def _fold(fold: Fold) -> str:
    more = f" \u00b7 {len(fold.items) - 1} more" if len(fold.items) > 1 else ""
    items = "".join(f"<li>{_text(item)}</li>" for item in fold.items)
    brief = plain(re.split(r"[.:;] ", fold.items[0].rstrip("."))[0], limit=110) if fold.items else ""
    first = f"<b>{_text(fold.title)}:</b> {_text(brief)}{more}" if fold.items else ""
    return f'<details class="fold" id="{escape(fold.name)}"><summary>{first}</summary><ul>{items}</ul></details>'


def _of_board(block: str, board: str) -> str:
    return f'<div class="of-board" data-board="{_text(board)}">{block}</div>' if board else block


def _body(writer: _Writer, sections: Sequence[Section], models: Sequence[str]) -> str:
    """The sections without a layer one after the other, or the verdict, the instrument and the appendix."""
    flat = [section for section in sections if not section.layer]
    layers = {layer: [s for s in sections if s.layer == layer] for layer in ("verdict", "explore", "appendix")}
    layers["explore"].sort(key=lambda section: section.is_missing)  # what is open first has something to show
    parts = [writer.section(section, number) for number, section in enumerate(flat, start=1)]
    parts += [writer.verdict(section) for section in layers["verdict"]]
    if layers["explore"]:
        views = "".join(writer.view(s, is_open=number == 0) for number, s in enumerate(layers["explore"]))
        parts.append(
            f'<section id="explore"><h2>Look closer</h2>{_switches(layers["explore"], models)}{views}</section>\n'
        )
    if layers["appendix"]:
        rest = "".join(writer.appended(section) for section in layers["appendix"])
        head = "Appendix" if layers["explore"] else "In full"
        parts.append(f'<section id="appendix"><h2>{head}</h2>{rest}</section>\n')
    return "".join(parts)


def _switches(sections: Sequence[Section], models: Sequence[str]) -> str:
    """The controls of the instrument; they appear where a script can follow them."""
    tracks = dict.fromkeys(section.track for section in sections if section.track)
    boards = dict.fromkeys(board for section in sections for board in section.boards if board)
    views = dict.fromkeys(section.view for section in sections)
    groups = [("track", "Track", tracks), ("board", "Leaderboard", boards), ("view", "What to see", views)]
    rows = "".join(_switch(name, label, list(values)) for name, label, values in groups if len(values) > 1)
    return f'<div class="switches" hidden>{rows}{_model_boxes(models) if len(models) > 1 else ""}</div>\n'


def _switch(name: str, label: str, values: Sequence[str]) -> str:
    buttons = "".join(
        f'<button type="button" data-choose="{name}" data-value="{_text(value)}" aria-pressed="false">'
        f"{_text(value)}</button>"
        for value in values
    )
    return f'<div class="switch" role="group" aria-label="{label}" data-of="{name}"><span>{label}</span>{buttons}</div>'


def _model_boxes(models: Sequence[str]) -> str:
    boxes = "".join(
        f'<label><input type="checkbox" data-model="{number}" checked>{_text(model)}</label>'
        for number, model in enumerate(models)
    )
    return (
        f'<details class="models"><summary>Models: <span id="shown-models">all {len(models)} shown</span></summary>'
        '<p><button type="button" id="all-models">Show all</button> '
        f'<button type="button" id="no-models">Hide all</button></p><div>{boxes}</div></details>'
    )


def _cells(column: pl.Series, digits: int) -> list[str]:
    texts = [escape(plain(text)) for text in shown_column(column, digits=digits)]
    if not column.dtype.is_numeric():
        return [f'<td class="long">{text}</td>' if len(text) > _SHORT else f"<td>{text}</td>" for text in texts]
    raw = [None if value is None or value != value else f"{value:.6g}" for value in column]
    exact = ["" if value in (None, text) else f'="{value}"' for value, text in zip(raw, texts, strict=True)]
    return [f"<td data-v{value}>{text}</td>" for value, text in zip(exact, texts, strict=True)]


def _buttons(*kinds: str) -> str:
    return "".join(f'<button type="button" data-save="{kind}">Save {kind.upper()}</button>' for kind in kinds)


def _number_class(number: bool) -> str:
    return ' class="number"' if number else ""


def _cut_short(frame: pl.DataFrame) -> str:
    if frame.height <= SAVED_ROWS:
        return ""
    return f" Save CSV gives the first {SAVED_ROWS:,} of {frame.height:,} rows; the reported folder has all."


def _text(text: str) -> str:
    """Text as the page shows it; before a number a hyphen is a minus."""
    return re.sub(r"(?<![^\s(])-(?=\.?\d)", MINUS, escape(plain(text)))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _packed(text: str) -> str:
    """The text compressed and in letters that no parser stumbles over."""
    return base64.b64encode(zlib.compress(text.encode("utf-8", "replace"), 9)).decode("ascii")


def _policy(script: str, *, frames: bool = False) -> str:
    """The content security policy: no network, no code but this script; images beside the page where it has any."""
    beside = " 'self' file:" if frames else ""
    return (
        f"default-src 'none'; script-src 'sha256-{_sha256(script)}'; style-src 'unsafe-inline';"
        f" img-src data: blob:{beside};"
        " base-uri 'none'; form-action 'none'"
    )


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


@cache
def _asset(name: str) -> str:
    return files("surgvalid.report").joinpath("assets", name).read_text(encoding="utf-8")
