"""The measured error of the reader: on the labelled replies, in total and per path.

The numbers stand in `measured.json`, which the suite makes anew and compares. The set holds many more hard forms than
a run does, so these are rates of the reader on the set and not of a run: what follows from them is a sensitivity,
never an interval. The reader was written with the set before its author's eyes, so its error on new replies is larger;
`UNSEEN` is what version 10 made, at first contact, of three sets together: ordinary replies (291), recorded ones (234)
and replies written to mislead (146), of which most errors come (tests/data/replies/README.md).
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from surgvalid.asking.reading.reader import PARSER_VERSION

FILE = Path(__file__).with_name("measured.json")
UNSEEN = {"replies": 671, "wrongly_read": 8, "with_value": 414, "wrongly_lost": 19}


@cache
def measured() -> dict[str, Any]:
    """Version of the reader, digest of the set, and counts in total, per kind and per path."""
    content: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return content


def reader_error() -> dict[str, Any]:
    """What stands beside a score: how many labelled replies this reader reads wrongly or loses.

    Example:
        >>> error = reader_error()
        >>> error["wrongly_read"] <= 0.005, error["wrongly_lost"] <= 0.04
        (True, True)
    """
    total = measured()["total"]
    return {
        "reader": PARSER_VERSION,
        "labelled_replies": total["replies"],
        "wrongly_read": total["wrongly_read"] / total["replies"],
        "wrongly_lost": total["wrongly_lost"] / total["with_value"],
        "unseen_wrongly_read": UNSEEN["wrongly_read"] / UNSEEN["replies"],
        "unseen_wrongly_lost": UNSEEN["wrongly_lost"] / UNSEEN["with_value"],
    }
