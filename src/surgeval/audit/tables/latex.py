"""Tables in LaTeX: `tabular` and its kin, with `multicolumn`, `multirow`, rules of booktabs and bold type."""

from __future__ import annotations

import re
from collections.abc import Iterator

from surgeval.audit.tables.layout import Grid

_TABULAR = re.compile(r"\\begin\{(tabular[*xy]?|longtable|tabulary)\}(.*?)\\end\{\1\}", re.DOTALL)
_COMMENT = re.compile(r"(?<!\\)%.*")
_RULES = re.compile(
    r"\\(?:toprule|bottomrule|hline|midrule|addlinespace|cmidrule|cline|specialrule)(?:\([a-z]*\))?(?:\{[^}]*\})*"
)
_SPACING = re.compile(r"\\\\(?:\s*\[[^\]]*\])?|\\tabularnewline")
_BOLD = re.compile(
    r"\\(?:textbf|mathbf|bm|boldsymbol)\s*\{([^{}]*)\}|\{\s*\\(?:bf|bfseries)\s+([^{}]*)\}|\\(?:bf|bfseries)\s+([^&{}]*)"
)
_WRAPPED = re.compile(
    r"\\(?:underline|uline|textit|emph|textrm|mathrm|text|textsc|mbox|textsuperscript|makecell|shortstack)\s*(?:\[[^\]]*\])?\{([^{}]*)\}"
)
_DROPPED = re.compile(
    r"\\(?:cellcolor|rowcolor|color|textcolor|label|cite[tp]?|footnotemark|vspace|hspace|rule)\s*(?:\[[^\]]*\])?\{[^{}]*\}"
)
_MULTICOLUMN = re.compile(r"\\multicolumn\s*\{(\d+)\}\s*\{[^{}]*\}\s*\{(.*)\}\s*$", re.DOTALL)
_MULTIROW = re.compile(
    r"\\multirow\s*(?:\[[^\]]*\])?\s*\{-?\d+\}\s*(?:\[[^\]]*\])?\s*\{[^{}]*\}\s*\{(.*)\}\s*$", re.DOTALL
)
_SYMBOLS = {
    r"\pm": "±",
    r"\%": "%",
    r"\&": "&",
    r"\#": "#",
    r"\_": "_",
    "~": " ",
    r"\,": " ",
    r"\;": " ",
    "--": "-",
    "$": "",
}


def latex_grids(text: str) -> Iterator[Grid]:
    """The grids of a LaTeX source, in order, each with the caption nearest to it."""
    source = _COMMENT.sub("", text)
    for number, match in enumerate(_TABULAR.finditer(source), start=1):
        yield Grid(_caption(source, match.start(), match.end(), number), *_rows(_without_format(match[2])))


def _caption(source: str, start: int, end: int, number: int) -> str:
    """The caption of the float around a tabular, numbered in order as LaTeX would."""
    opened, closed = source.rfind(r"\begin{table", 0, start), source.find(r"\end{table", end)
    inside = source[opened:closed] if opened >= 0 and closed >= 0 else ""
    at = inside.find(r"\caption")
    if at < 0:
        return ""
    return f"Table {number}. {_words(_braced(inside, inside.find('{', at)))}"


def _braced(text: str, start: int) -> str:
    """What stands between a brace and the one that closes it."""
    depth = 0
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return text[start + 1 : at]
    return text[start + 1 :]


def _without_format(body: str) -> str:
    """The body without the widths and the column format after `begin`."""
    rest = re.sub(r"^\s*\[[^\]]*\]", "", body).lstrip()
    while rest.startswith("{"):
        rest = rest[len(_braced(rest, 0)) + 2 :].lstrip()
    return rest


def _rows(body: str) -> tuple[list[list[str]], int | None]:
    """The rows, and how many stand above the first rule between rows."""
    rows: list[list[str]] = []
    headings = None
    for line in _SPACING.split(body):
        if rows and headings is None and re.search(r"\\(?:midrule|hline)", line.split("&")[0]):
            headings = len(rows)
        bare = _RULES.sub("", line).strip()
        if bare:
            rows.append([text for cell in re.split(r"(?<!\\)&", bare) for text in _spanned(cell.strip())])
    return rows, headings


def _spanned(cell: str) -> list[str]:
    """The texts of a cell: one, or as many as it spans, the first of which says it all."""
    if match := _MULTICOLUMN.match(cell):
        return [_words(match[2]), *[""] * (int(match[1]) - 1)]
    return [_words(cell)]


def _words(cell: str) -> str:
    if match := _MULTIROW.match(cell.strip()):
        cell = match[1]
    before = None
    while before != cell:
        before = cell
        cell = _BOLD.sub(
            lambda match: f"**{next(group for group in match.groups() if group is not None).strip()}**", cell
        )
        cell = _WRAPPED.sub(r"\1", _DROPPED.sub("", cell))
    for command, symbol in _SYMBOLS.items():
        cell = cell.replace(command, symbol)
    return " ".join(re.sub(r"\\[a-zA-Z]+\*?|[{}]", " ", cell).replace("** **", "").split())
