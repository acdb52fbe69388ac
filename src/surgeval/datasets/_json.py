"""JSON and text files of annotation tools, and what their values spell."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from surgeval.errors import ProcedureInvalid
from surgeval.schema.documents import read_json, read_text

__all__ = ["number", "read_json", "read_text", "rows", "whole", "write_text"]


def write_text(path: str | Path, text: str) -> None:
    """Write UTF-8 text exactly as it is.

    Raises:
        ProcedureInvalid: It holds half a character, which no file can.
    """
    try:
        Path(path).write_bytes(text.encode("utf-8"))
    except UnicodeEncodeError as error:
        excerpt = text[max(0, error.start - 20) : error.end + 20]
        raise ProcedureInvalid(str(path), [f"a text holds what UTF-8 cannot write: {excerpt!a}"]) from None


def number(value: Any) -> float | None:
    """The finite number that `value` is or spells, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        parsed = float(value)
    except (ValueError, OverflowError):
        return None
    return parsed if math.isfinite(parsed) else None


def whole(value: Any) -> int | None:
    """The whole number that `value` is or spells, or None."""
    parsed = number(value)
    return int(parsed) if parsed is not None and parsed.is_integer() and abs(parsed) < 1 << 53 else None


def rows(value: Any) -> list[dict[str, Any]]:
    """The objects in a list; nothing when it is no list."""
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []
