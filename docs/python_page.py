"""The page of public Python names, from their signatures and docstrings."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

PAGE = Path(__file__).parent / "reference" / "python.md"
_HEAD = """# Python

Made by `make docs` from the code; a test keeps it true. Everything here is imported from `surgvalid` itself, on first
use. Verbs of the command line and functions of the same name do the same; results have `.table` (polars), can be
written to a folder, and show themselves in a notebook.
"""


def page() -> str:
    """The page as the package describes itself now."""
    import surgvalid

    members = {name: getattr(surgvalid, name) for name in surgvalid.__all__}
    functions = [name for name, member in members.items() if not inspect.isclass(member)]
    classes = [name for name in members if name not in functions]
    parts = [_HEAD, "## Functions\n", *(described(name, members[name]) for name in functions)]
    return "\n".join([*parts, "## Classes\n", *(_class(name, members[name]) for name in classes)])


def described(name: str, member: object, *, level: int = 3) -> str:
    """A function's heading, signature and docstring as Markdown."""
    return f"{'#' * level} {name}\n\n```text\n{name}{_signature(member)}\n```\n\n{_text(member)}\n"


def _class(name: str, member: object) -> str:
    names = [key for key, value in vars(member).items() if not key.startswith("_") and _is_shown(value)]
    lines = [f"- `{key}`: {_first(getattr(member, key))}" for key in names if _first(getattr(member, key))]
    return f"### {name}\n\n{_text(member)}\n" + ("\n" + "\n".join(lines) + "\n" if lines else "")


def _is_shown(value: object) -> bool:
    return inspect.isfunction(value) or isinstance(value, property | classmethod | staticmethod)


def _signature(member: object) -> str:
    """The signature, one argument per line where it is long; annotations as they are written."""
    found = inspect.signature(member)  # type: ignore[arg-type]
    parts: list[str] = []
    starred = False
    for parameter in found.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
        starred = starred or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        parts.append(f"{parameter.name}: {_annotation(parameter.annotation)}{default}")
    after = f" -> {_annotation(found.return_annotation)}"
    line = f"({', '.join(parts)}){after}"
    return line if len(line) <= 90 else "(\n    " + ",\n    ".join(parts) + f",\n){after}"


def _annotation(annotation: object) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))


def _text(member: object) -> str:
    """The docstring as Markdown: argument lists as lists, examples as code."""
    doc = inspect.getdoc(member) or ""
    head, *rest = re.split(r"^(Args|Returns|Raises|Example|Examples):\n", doc, flags=re.MULTILINE)
    parts = [head.strip()]
    for title, body in zip(rest[::2], rest[1::2], strict=True):
        body = inspect.cleandoc("\n" + body)
        parts.append(_example(body) if title.startswith("Example") else f"{title}:\n\n{_items(body)}")
    return "\n\n".join(part for part in parts if part)


def _example(body: str) -> str:
    return f"```text\n{body.strip()}\n```"


def _items(body: str) -> str:
    found = re.findall(r"^(\S[^:\n]*): (.*(?:\n[ ]+.*)*)", body, flags=re.MULTILINE)
    return "\n".join(f"- `{name}`: {' '.join(text.split())}" for name, text in found) or body


def _first(member: object) -> str:
    doc = inspect.getdoc(member) or ""
    return " ".join(doc.split("\n\n")[0].split())
