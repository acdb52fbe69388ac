"""Videos that two public data sets share, so that nothing is tested on what it was trained on.

Counts are from a secondary source; where both data sets use the Cholec80 numbers the shared videos follow
from the names and are listed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import polars as pl

from surgeval.errors import Misuse

_SHARED_COUNTS = (
    ("cholec80", "cholect50", 45),
    ("cholec80", "cholecseg8k", 17),
    ("cholec80", "cholectrack20", 15),
    ("cholec80", "endoscapes2023", 6),
    ("cholect50", "endoscapes2023", 6),
    ("cholect50", "cholectrack20", 14),
)
_UNSHARED = ("cholec80", "heichole")
_SAME_VIDEOS = (("cholec80", "cholect45", 45), ("cholec80", "cholec80_cvs", 80), ("cholect45", "cholect50", 45))
"""Overlaps that follow from how the data set was made."""

CHOLEC80_NUMBERED = ("cholec80", "cholect45", "cholect50", "cholecseg8k", "cholectrack20", "cholec80_cvs")
"""Data sets whose videos carry Cholec80 numbers."""


def leakage_table() -> pl.DataFrame:
    """Known overlaps: columns data_set_a, data_set_b, shared_videos, by_number, source.

    `by_number` says whether the shared videos follow from their numbers (`shared_videos` then names them).
    A pair that is not listed is unknown, not free of overlap.
    """
    rows = [(*row, "secondary source") for row in _SHARED_COUNTS]
    rows += [(*_UNSHARED, 0, "secondary source")]
    rows += [(*row, "how the data set was made") for row in _SAME_VIDEOS]
    table = pl.DataFrame(rows, schema=["data_set_a", "data_set_b", "shared_videos", "source"], orient="row")
    both = pl.col("data_set_a").is_in(CHOLEC80_NUMBERED) & pl.col("data_set_b").is_in(CHOLEC80_NUMBERED)
    return table.with_columns(both.alias("by_number")).sort("data_set_a", "data_set_b")


def shared_videos(data_set_a: str, videos_a: Iterable[str], data_set_b: str, videos_b: Iterable[str]) -> list[str]:
    """The videos of `videos_a` that are also among `videos_b`, recognised by their Cholec80 numbers.

    Raises:
        Misuse: The videos of one of the two carry no Cholec80 numbers, so nothing can be said from names.

    Example:
        >>> shared_videos("cholec80", ["video01", "video03"], "cholect50", ["VID01", "VID02"])
        ['video01']
    """
    if data_set_a != data_set_b:
        for name in (data_set_a, data_set_b):
            if name not in CHOLEC80_NUMBERED:
                known = ", ".join(CHOLEC80_NUMBERED)
                raise Misuse(f"videos of {name!r} carry no Cholec80 numbers; overlap is known by name for {known}")
    else:
        return sorted(set(videos_a) & set(videos_b))
    numbers = {_number(video) for video in videos_b}
    return [video for video in videos_a if _number(video) in numbers]


def _number(video: str) -> int:
    match = re.search(r"([0-9]{1,12})$", video)
    if match is None:
        raise Misuse(f"video {video!r} ends in no number")
    return int(match[1])
