"""Text and JSON documents that are read whole, opened with errors that say what to do.

Long lists of rows are read by `rows` instead, piece by piece.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from surgeval.errors import FileUnreadable

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
    except FileNotFoundError:
        raise FileUnreadable(str(path), ["no such file"]) from None
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


def json_text(data: Any, *, indent: int | None = None) -> str:
    """Data as JSON that any file can hold: letters as they are, but escaped where half a character is among them.

    Example:
        >>> json_text({"candidate": chr(0xD800)})
        '{"candidate": "\\\\ud800"}'
    """
    text = json.dumps(data, indent=indent, ensure_ascii=False, default=str)
    return text if is_whole(text) else json.dumps(data, indent=indent, default=str)


def is_whole(text: str) -> bool:
    """Whether UTF-8 can hold the text; half a character (a lone surrogate, as JSON may spell it) it cannot."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
