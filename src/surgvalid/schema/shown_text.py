"""Text from outside, made safe to show on one line."""

from __future__ import annotations

import re
import unicodedata

ELLIPSIS = "…"
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula."""
_STAND_IN = "�"
_ADDRESS = re.compile(r"(https?://)(?:[^/\s]*@)?([^\s?#]*)(?:\?[^\s#]*)?", re.IGNORECASE)


_UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Kinds of characters that steer a terminal or turn text round instead of showing something."""


def visible(text: str) -> str:
    """The text with what a terminal would obey, hide or refuse spelled out; names and answers may be hostile.

    Example:
        >>> visible("two" + chr(27) + "[2Jlines")
        'two\\\\x1b[2Jlines'
    """
    if text.isprintable():
        return text
    return "".join(_seen(letter) for letter in text)


def without_secrets(text: str) -> str:
    """The text with web addresses as they may be kept and shown: without user, password and query.

    Example:
        >>> without_secrets("openai:m@https://me:word@host/v1?key=abc")
        'openai:m@https://host/v1'
    """
    return _ADDRESS.sub(r"\1\2", text) if "://" in text else text


def visible_log(printed: bytes) -> bytes:
    """What a program printed, fit for `cat`: lines that overwrote each other follow each other."""
    text = printed.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    return visible(text).encode()


def as_cell(text: str) -> str:
    """Words of somebody else as a cell of a table: `visible`, on one line, and no formula for a spreadsheet.

    Example:
        >>> as_cell("=1+1" + chr(10) + "more")
        "'=1+1 more"
    """
    words = visible(" ".join(text.split()))
    return f"'{words}" if words.startswith(FORMULA_STARTS) else words


def _seen(letter: str) -> str:
    unseen = letter not in "\n\t" and unicodedata.category(letter) in _UNSEEN
    return letter.encode("unicode_escape", "backslashreplace").decode() if unseen else letter


def plain(text: object, *, limit: int | None = None) -> str:
    """The text on one line, with characters that would hide or reorder it made visible, cut in the middle.

    Example:
        >>> plain("a\\u202eb\\nc")
        'a�b c'
        >>> plain("a very long name", limit=9)
        'a ve…name'
    """
    words = " ".join(str(text).split())
    shown = "".join(_STAND_IN if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co") else char for char in words)
    return shown if limit is None or len(shown) <= limit else _cut(shown, limit)


def _cut(text: str, limit: int) -> str:
    tail = (limit - 1) // 2
    return text[: limit - 1 - tail] + ELLIPSIS + text[len(text) - tail :]
