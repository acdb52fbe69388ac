"""Text from outside, made safe to show on one line."""

from __future__ import annotations

import unicodedata

ELLIPSIS = "…"
_STAND_IN = "�"


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
