"""Models by leaderboards as a table: every cell a small image, the value and the range of ranks in words."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

import polars as pl

from surgvalid.report.drawing.scales import AxisScale
from surgvalid.report.drawing.svg import Svg
from surgvalid.report.section import LeaderboardCell, LeaderboardRow, Standings
from surgvalid.report.words import plain

_WIDTH, _HEIGHT = 120, 20
_MARGIN = 0.04


def standings_html(block: Standings, about: Callable[[str], str]) -> str:
    """The table without its title and tools.

    Args:
        block: What it shows.
        about: The attribute by which a row of a model can be hidden.
    """
    scale = _scale(block)
    ticks = [_best(block.beside, number) for number in range(len(block.columns))]
    heads = "".join(
        f'<th scope="col" class="number" aria-sort="none"><button type="button">{_text(head)}'
        f"<small>{_text(count)}</small></button></th>"
        for head, count in block.columns
    )
    model = '<th scope="col" aria-sort="none"><button type="button">Model</button></th>'
    rows = "".join(_row(row, about(row.model), block, scale, ticks) for row in block.rows)
    beside = "".join(_plain_row(row, about(row.model), block.percent) for row in block.beside)
    head = f'<tr><th colspan="{len(block.columns) + 1}" scope="rowgroup">For comparison, without a rank</th></tr>'
    rest = f'<tbody class="beside">{head}{beside}</tbody>'
    chosen = "".join(
        f'<option value="{n}">{_text(head)}</option>' for n, (head, _) in enumerate(block.columns, start=1)
    )
    return (
        f'<p class="choose" hidden><label>Leaderboard <select>{chosen}</select></label></p>'
        f'<div class="scroll" tabindex="0" role="region" aria-label="{_text(block.title)}"><table>'
        f'<caption class="visually-hidden">{_text(block.title)}</caption><thead><tr>{model}{heads}</tr></thead>'
        f"<tbody>{rows}</tbody>{rest if block.beside else ''}</table></div>"
    )


def standings_frame(block: Standings) -> pl.DataFrame:
    """The numbers of the table, a row per model and leaderboard."""
    listed = [
        {"leaderboard": head, "model": row.model, **cell._asdict()}
        for row in (*block.rows, *block.beside)
        for (head, _), cell in zip(block.columns, row.cells, strict=True)
    ]
    return pl.DataFrame(listed, infer_schema_length=None)


def _row(row: LeaderboardRow, mine: str, block: Standings, scale: AxisScale, ticks: list[float | None]) -> str:
    cells = zip(row.cells, ticks, strict=True)
    filled = "".join(_cell(cell, block.percent, scale, tick) for cell, tick in cells)
    return f'<tr{mine}><th scope="row"><b>{_text(row.model)}</b><small>{_text(row.note)}</small></th>{filled}</tr>'


def _cell(cell: LeaderboardCell, percent: bool, scale: AxisScale, tick: float | None) -> str:
    if cell.value is None:
        return "<td>not entered</td>"
    shade = ' class="first"' if cell.may_be_first else ""
    words = f'<span>{value_words(cell.value, percent)}</span><span class="rank">{rank_words(cell)}</span>'
    return f'<td{shade} data-v="{cell.value:.9g}">{_image(cell, scale, tick)}<p>{words}</p></td>'


def _plain_row(row: LeaderboardRow, mine: str, percent: bool) -> str:
    cells = "".join(f"<td>{'' if c.value is None else value_words(c.value, percent)}</td>" for c in row.cells)
    return f'<tr{mine}><th scope="row">{_text(row.model)} <small>{_text(row.note)}</small></th>{cells}</tr>'


def _image(cell: LeaderboardCell, scale: AxisScale, tick: float | None) -> str:
    image, look = Svg(_WIDTH, _HEIGHT), "blue" if cell.may_be_first else "quiet"
    middle = _HEIGHT / 2
    image.line(scale.start, middle, scale.end, middle, "rule")
    if tick is not None:
        image.line(scale(tick), 3, scale(tick), _HEIGHT - 3, "quiet", px=1.5)
    if cell.low is not None and cell.high is not None:
        image.line(scale(cell.low), middle, scale(cell.high), middle, look, px=3)
    image.mark(scale(cell.value or 0.0), middle, look, hollow=not cell.may_be_first, px=5)
    return image.svg(title="", alt="", name="cell").replace('role="img" aria-label=""', 'aria-hidden="true"')


def _scale(block: Standings) -> AxisScale:
    ends = [end for row in (*block.rows, *block.beside) for c in row.cells for end in (c.value, c.low, c.high)]
    known = [end for end in ends if end is not None] or [0.0, 1.0]
    low, high = min(known), max(known)
    space = _MARGIN * ((high - low) or 1.0)
    return AxisScale(low - space, high + space, 4, _WIDTH - 4)


def _best(rows: tuple[LeaderboardRow, ...], column: int) -> float | None:
    return max((value for row in rows if (value := row.cells[column].value) is not None), default=None)


def value_words(value: float, percent: bool) -> str:
    """A value as the table prints it.

    Example:
        >>> value_words(0.754, True), value_words(0.754, False)
        ('75 %', '0.754')
    """
    return f"{100 * value:.0f} %" if percent else f"{value:.3f}"


def rank_words(cell: LeaderboardCell) -> str:
    """The final rank, with the ranks that it could be where these are several.

    Example:
        >>> rank_words(LeaderboardCell(rank=1, rank_low=1, rank_high=3))
        'rank 1 (1 to 3)'
    """
    if cell.rank is None:
        return "no rank"
    if cell.rank_low is None or cell.rank_low == cell.rank == cell.rank_high:
        return f"rank {cell.rank}"
    span = f"{cell.rank_low}" if cell.rank_low == cell.rank_high else f"{cell.rank_low} to {cell.rank_high}"
    return f"rank {cell.rank} ({span})"


def _text(text: str) -> str:
    return escape(plain(text))
