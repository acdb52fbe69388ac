"""Blocks of reasoning in a reply, such as `<think>...</think>`, taken out in time that grows with its length.

A pattern `<think>.*?</think>` looks for the end of every beginning, to the end of the text where there is none: a
megabyte of beginnings would take minutes, and whoever is asked writes what he likes.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence


def without_blocks(text: str, names: Sequence[str], *, put: str = "", any_end: bool = False) -> str:
    """The text without its blocks; what begins and never ends stays.

    Args:
        text: A reply.
        names: Of the tags, in any case.
        put: In the place of each block.
        any_end: Whether a block may end with another of the names than it began with.

    Example:
        >>> without_blocks("<think>Is it? <think></think>Yes <THINK>no", ["think"])
        'Yes <THINK>no'
    """
    either = "|".join(map(re.escape, names))
    ends: dict[str, list[re.Match[str]]] = {}
    for end in re.finditer(rf"</({either})>", text, re.IGNORECASE | re.ASCII):
        ends.setdefault("" if any_end else end[1].lower(), []).append(end)
    kept, at = [], 0
    for begin in re.finditer(rf"<({either})>", text, re.IGNORECASE | re.ASCII) if ends else ():
        fitting = ends.get("" if any_end else begin[1].lower(), [])
        place = bisect_left(fitting, begin.end(), key=re.Match.start)
        if begin.start() >= at and place < len(fitting):
            kept += [text[at : begin.start()], put]
            at = fitting[place].end()
    return "".join([*kept, text[at:]])
