"""Names that strangers choose and everybody reads: only letters that can be seen, and one spelling for one look."""

from __future__ import annotations

import unicodedata

from surgeval.host.acts.refused import Refused

_UNSEEN = ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | {
    chr(code) for first, last in ((0x180B, 0x180F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
    for code in range(first, last + 1)
}  # fmt: skip
"""Characters that Unicode counts as letters or marks and that show nothing: fillers and selectors of variants."""


def readable(text: str, *, what: str) -> str:
    """The text as it is stored: in the spelling that Unicode calls compatible, with single spaces.

    Raises:
        Refused: It has characters that nobody sees, by which it could look like another one.
    """
    words = " ".join(unicodedata.normalize("NFKC", text).split())
    hidden = sorted({one for one in words if unicodedata.category(one) in _UNSEEN or one in _BLANK})
    if hidden:
        codes = ", ".join(f"U+{ord(one):04X}" for one in hidden[:5])
        raise Refused("letters-unseen", f"{what} has characters that cannot be seen ({codes}). Type it without them.")
    return words


def look(name: str) -> str:
    """What two names share that differ by case and spelling alone."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
