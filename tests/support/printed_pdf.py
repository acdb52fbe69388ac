"""PDFs of printed tables: captions and rows as a paper sets them, made with typst."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

from surgvalid.audit.tables.layout import Grid

_PAGE = '#set page(width: {width}pt, height: 700pt, margin: 40pt)\n#set text(size: 9pt, font: "Libertinus Serif")\n'


def printed_pdf(path: Path, grids: Iterable[Grid], *, prose: str = "", width: int = 900) -> Path:
    """Write a PDF with a caption above each table, rules only above and below its headings."""
    import typst

    source = _PAGE.format(width=width) + _text(prose)
    for grid in grids:
        columns = max(map(len, grid.rows), default=0)
        cells = ", ".join(_cell(text) for row in grid.rows for text in [*row, *[""] * (columns - len(row))])
        table = f"#table(columns: {columns}, stroke: none, inset: 4pt, {cells})" if grid.rows else ""
        source += f"\n#block(breakable: false)[{_text(grid.caption.lstrip('# '))}\n\n{table}]\n#v(14pt)\n"
    path.with_suffix(".typ").write_text(source, encoding="utf-8")
    path.write_bytes(typst.compile(str(path.with_suffix(".typ"))))
    return path


def _text(words: str) -> str:
    return f"#{json.dumps(words, ensure_ascii=False)}" if words else ""


def _cell(text: str) -> str:
    bold = re.search(r"<b>|\*\*", text) is not None
    plain = re.sub(r"</?b>|\*\*", "", text)
    return f"[#{'strong(' if bold else ''}{json.dumps(plain, ensure_ascii=False)}{')' if bold else ''}]"
