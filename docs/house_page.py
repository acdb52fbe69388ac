"""The page of the house, `docs/house.md`, with its drawing: rooms in their layers, their size, what they stand on.

Sizes are counted in tokens of Python without comments, docstrings and layout, which no formatting changes. The contract
test on `design/budget.toml` counts with the same functions.
"""

from __future__ import annotations

import ast
import io
import tokenize
import tomllib
from collections import defaultdict
from functools import cache
from html import escape
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "surgvalid"
PAGE = Path(__file__).parent / "house.md"
DRAWING = Path(__file__).parent / "figures" / "house.svg"
_LAYOUT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
}  # fmt: skip
_HEAD = """# The house

Made by `make docs` from the code; a test keeps it true. The package is an hourglass around the score table
(`design/0001-hourglass.md`): what lies above the waist knows surgery, video and models, `stats` knows tables only. A
subpackage imports only from those below it, and from another one only what its `__init__` lists in `__all__`;
everything else of it may be changed without asking. How large each may become is law in `design/budget.toml`.

![Subpackages in their layers, the width of a box by its size](figures/house.svg)

| subpackage | what it is for | thousand tokens | modules | imports |
|---|---|---:|---:|---|
"""


class Room(NamedTuple):
    """A subpackage as it is now."""

    name: str
    what: str
    tokens: int
    modules: int
    imports: tuple[str, ...]


def in_thousands(tokens: int) -> str:
    """A size as the page prints it; exact numbers are in the budget, and would change with every line."""
    return f"{round(tokens, -3) // 1000:,}"


def tokens_in(text: str) -> int:
    """Tokens of a module without comments, docstrings and layout; names in a text that is split count as a tuple's.

    Example:
        >>> tokens_in('def f(x):\\n    "What comes back."\\n    return x  # a reason')
        8
        >>> tokens_in('NAMES = ("video", "case", "model")'), tokens_in('NAMES = "video case model".split()')
        (9, 9)
    """
    nodes = list(ast.walk(ast.parse(text)))
    bodies = (getattr(node, "body", None) for node in nodes)
    documentation = {
        (line.lineno, line.col_offset)
        for body in bodies
        if isinstance(body, list)
        for line in body
        if isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant) and isinstance(line.value.value, str)
    }
    listed = tokenize.generate_tokens(io.StringIO(text).readline)
    hidden = sum(2 * len(node.func.value.value.split()) - 4 for node in nodes if _is_split(node))  # type: ignore[attr-defined]
    return hidden + sum(token.type not in _LAYOUT and token.start not in documentation for token in listed)


def _is_split(node: ast.AST) -> bool:
    """Whether names stand in one text, which would hide them from being counted."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str()), attr="split"), args=[]):
            return True
    return False


@cache
def rooms() -> tuple[Room, ...]:
    """Every subpackage in the order of its layer, the highest first; single modules at the top come last."""
    texts: dict[str, list[str]] = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).parts
        texts[parts[0] if len(parts) > 1 else path.stem].append(path.read_text(encoding="utf-8"))
    order = [name for layer in layers() for name in layer]
    return tuple(
        Room(name, _what(name), sum(map(tokens_in, texts[name])), len(texts[name]), _imports(name, texts[name], order))
        for name in sorted(texts, key=lambda name: order.index(name) if name in order else len(order))
    )


def layers() -> list[list[str]]:
    """The layers that import-linter checks, the highest first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    listed = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    return [[name.strip() for name in layer.split("|")] for layer in listed]


def _what(name: str) -> str:
    path = SOURCE / name / "__init__.py"
    text = (path if path.exists() else SOURCE / f"{name}.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0].rstrip(".")


def _imports(name: str, texts: list[str], order: list[str]) -> tuple[str, ...]:
    used = set()
    for text in texts:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("surgvalid."):
                used.add((node.module or "").split(".")[1])
    return tuple(other for other in order if other in used - {name})


def page() -> str:
    """The page as the code is now; the drawing is written beside it."""
    DRAWING.write_text(drawing(), encoding="utf-8")
    rows = [
        f"| `{room.name}` | {room.what} | {in_thousands(room.tokens)} | {room.modules} | {', '.join(room.imports)} |"
        for room in rooms()
    ]
    total = f"| | | {in_thousands(sum(room.tokens for room in rooms()))} | {sum(room.modules for room in rooms())} | |"
    return _HEAD + "\n".join([*rows, total]) + "\n"


def drawing() -> str:
    """The layers as rows of boxes, the highest on top, each box as wide as its subpackage is large."""
    sizes = {room.name: round(room.tokens, -3) for room in rooms()}
    shown = [[name for name in layer if name in sizes] for layer in layers()]
    width, height, gap, least = 960, 30, 6, 74
    widest = max(sum(sizes[name] for name in layer) for layer in shown)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {len(shown) * (height + gap) + gap}" role="img"'
        ' font-family="system-ui, sans-serif" font-size="12">',
        "<title>Subpackages in their layers, the width of a box by its size</title>",
    ]
    for row, layer in enumerate(shown):
        room_for = width - 2 * gap - (len(layer) - 1) * gap - least * len(layer)
        widths = [least + room_for * sizes[name] / widest for name in layer]
        left, top = (width - sum(widths) - gap * (len(layer) - 1)) / 2, gap + row * (height + gap)
        for name, wide in zip(layer, widths, strict=True):
            fill = "#f2c14e" if name in ("schema", "stats") else "#dbe7f3"
            lines.append(f'<rect x="{left:.0f}" y="{top}" width="{wide:.0f}" height="{height}" rx="4" fill="{fill}"/>')
            middle = f'x="{left + wide / 2:.0f}" y="{top + 20}" text-anchor="middle"'
            lines.append(f'<text {middle} fill="#1d2733">{escape(name)}</text>')
            left += wide + gap
    return "\n".join([*lines, "</svg>", ""])
