"""Truth values: what stands for yes and for no."""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

from surgvalid.asking.reading.candidates import is_aside
from surgvalid.asking.reading.objects import KeyedPairs

_YES = frozenset(
    (
        "1|1.0|achieved|correct|detected|fulfilled|in use|is met|is present|ja|met|oui|positive|present|"
        "satisfied|seen|si|sichtbar|true|used|verdadero|visible|vorhanden|vrai|wahr|x|y|yes|yep|yeah|yup|yes present|"
        "erfüllt|sí|☑|✅|✓|✔|可见|存在|是|是的|有|满足"
    ).split("|")
)
_NO = frozenset(
    (
        "0|0.0|absent|falsch|false|falso|faux|fehlt|invisible|missing|is not met|is not present|n|nein|nope|nah|"
        "negative|nicht vorhanden|no|no hay|non|none|not achieved|not detected|not fulfilled|not in use|not met|"
        "not present|not satisfied|not seen|not used|not visible|unmet|nicht erfüllt|×|☐|✕|✗|✘|❌|不|"
        "不可见|不是|不满足|否|无|未满足|没有"
    ).split("|")
)
_HALF = 0.5


class Truth(NamedTuple):
    """Whether something holds, and how probable the reply calls it."""

    holds: bool
    probability: float | None = None


def truth(value: Any) -> Truth | None:
    """The truth value that a value stands for; None where it stands for none.

    Example:
        >>> truth("Yes"), truth(0.8), truth("maybe")
        (Truth(holds=True, probability=None), Truth(holds=True, probability=0.8), None)
    """
    if isinstance(value, bool):
        return Truth(value)
    if isinstance(value, list) and not isinstance(value, KeyedPairs) and len(value) == 1:
        return truth(value[0])
    if isinstance(value, KeyedPairs):
        held = [one for key, inner in value if not is_aside(key) and (one := truth(inner)) is not None]
        return held[0] if len(held) == 1 else None
    if isinstance(value, str):
        word = value.strip("*`_\"'“” \t.!()\ufe0f").casefold()
        if word in _YES or word in _NO:
            return Truth(word in _YES)
        first, apart, rest = _apart(word)
        if apart and first in _YES | _NO and not set(re.findall(r"\w+", rest)) & (_YES | _NO):
            return Truth(first in _YES)
        try:
            value = float(word.removesuffix("%")) / (100 if word.endswith("%") else 1)
        except ValueError:
            return None
    if not isinstance(value, int | float) or not math.isfinite(value) or not 0 <= value <= 1:
        return None
    return Truth(bool(value)) if value in (0, 1) else Truth(value >= _HALF, float(value))


def _apart(word: str) -> tuple[str, bool, str]:
    """What stands before a reason, whether there is one, and the reason."""
    pieces = re.split(r"\s*[,(;:–—。]\s*|\s-\s", word, maxsplit=1)
    return pieces[0].strip(), len(pieces) > 1, pieces[-1]
