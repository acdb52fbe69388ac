"""JSON and text files of annotation tools, opened with errors that say what to do."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from surgeval.errors import FileUnreadable, ProcedureInvalid

MOST_BYTES = 2 << 30
"""Larger files are refused."""


def read_text(path: str | Path) -> str:
    """The text of a UTF-8 file, with or without byte order mark.

    Raises:
        FileUnreadable: No such file, too large, or not UTF-8.
    """
    path = Path(path)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise FileUnreadable(str(path), [f"{path.stat().st_size} bytes; at most {MOST_BYTES} are read"])
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise FileUnreadable(str(path), [error.strerror or "cannot be opened"]) from None
    except UnicodeDecodeError as error:
        raise FileUnreadable(str(path), [f"not UTF-8 text (byte {error.start}); save it as UTF-8"]) from None


def read_json(path: str | Path) -> Any:
    """The JSON document at `path`.

    Raises:
        FileUnreadable: It cannot be read as UTF-8 JSON.
    """
    text = read_text(path)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise FileUnreadable(str(path), [f"line {error.lineno} column {error.colno}: {error.msg}"]) from None
    except (RecursionError, ValueError) as error:
        raise FileUnreadable(str(path), [f"no usable JSON ({str(error).splitlines()[0]})"]) from None


def write_text(path: str | Path, text: str) -> None:
    """Write UTF-8 text exactly as it is.

    Raises:
        ProcedureInvalid: It holds half a character, which no file can.
    """
    try:
        Path(path).write_bytes(text.encode("utf-8"))
    except UnicodeEncodeError as error:
        part = text[max(0, error.start - 20) : error.end + 20]
        raise ProcedureInvalid(str(path), [f"a text holds what UTF-8 cannot write: {part!a}"]) from None


def number(value: Any) -> float | None:
    """The finite number that `value` is or spells, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def whole(value: Any) -> int | None:
    """The whole number that `value` is or spells, or None."""
    found = number(value)
    return int(found) if found is not None and found.is_integer() and abs(found) < 1 << 53 else None


def rows(value: Any) -> list[dict[str, Any]]:
    """The objects in a list; nothing when it is no list."""
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []
