"""Text and JSON documents that are read whole, opened with errors that say what to do.

Long lists of rows are read by `rows` instead, piece by piece.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from surgvalid.errors import FileUnreadable

MOST_BYTES = 2 << 30
"""Larger files are refused."""
_STEERING = re.compile(
    "[\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)
"""Characters that a terminal obeys or that turn text round, beyond those that JSON always escapes."""


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


def read_toml(path: str | Path) -> dict[str, Any]:
    """The TOML document at `path`.

    Raises:
        FileUnreadable: It cannot be read as UTF-8 TOML.
    """
    text = read_text(path)
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise FileUnreadable(str(path), [f"it is no TOML file ({error})"]) from None


def json_text(data: Any, *, indent: int | None = None) -> str:
    """Data as JSON that any file can hold and any terminal show: letters as they are, what steers a terminal escaped.

    Everything beyond ASCII is escaped where half a character is among it. Either way the same data are read back.

    Example:
        >>> json_text({"candidate": chr(0xD800)})
        '{"candidate": "\\\\ud800"}'
    """
    text = json.dumps(data, indent=indent, ensure_ascii=False, default=str)
    if not is_whole(text):
        return json.dumps(data, indent=indent, default=str)
    return _STEERING.sub(lambda match: json.dumps(match.group())[1:-1], text)


def is_whole(text: str) -> bool:
    """Whether UTF-8 can hold the text; half a character (a lone surrogate, as JSON may spell it) it cannot."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
