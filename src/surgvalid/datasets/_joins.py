"""References thinned to a rate, and videos that two data sets share.

Frame numbers mean something only with their rate: every 25th frame is one second only at 25 fps.

Shared videos are known so that nothing is tested on what it was trained on. Counts are from a secondary source. Where
both data sets use the Cholec80 numbers, or a table of numbers is known (the tools of M2CAI16, Endoscapes), the shared
videos follow from the names and are listed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

import polars as pl

from surgvalid.datasets._data_set import References
from surgvalid.errors import Misuse

_SHARED_COUNTS = (
    ("cholec80", "cholect50", 45),
    ("cholec80", "cholecseg8k", 17),
    ("cholec80", "cholectrack20", 15),
    ("cholec80", "endoscapes2023", 6),
    ("cholect50", "endoscapes2023", 6),
    ("cholect50", "cholectrack20", 14),
)
_UNSHARED = ("cholec80", "heichole")
_SAME_VIDEOS = (
    ("cholec80", "cholect45", 45),
    ("cholec80", "cholec80_cvs", 80),
    ("cholec80", "cholec80_vqa", 40),
    ("cholec80", "m2cai16", 15),
    ("cholect45", "cholect50", 45),
    ("cholect45", "ssg_vqa", 45),
    ("grasp", "psi_ava", 8),
    ("endovis18_vqa", "endovis2018", 14),
)
"""Overlaps that follow from how the data set was made."""

CHOLEC80_NUMBERED = (
    *("cholec80", "cholect45", "cholect50", "cholecseg8k", "cholectrack20", "cholec80_cvs", "cholec80_vqa"),
    *("cholecinstanceseg", "ssg_vqa"),
)
"""Data sets whose videos carry Cholec80 numbers."""
ENDOSCAPES_NUMBERS = {1: 67, 2: 68, 3: 70, 4: 71, 7: 72, 10: 96, 33: 110, 121: 66, 127: 103}
"""Videos of Endoscapes that are in Cholec80 or CholecT50, by the numbers of these; none is in its test part."""
M2CAI16_NUMBERS = {**{n: n + 66 for n in range(1, 11)}, 11: 61, 12: 62, 13: 64, 14: 65, 15: 66}
"""Videos of the tool set of M2CAI16 by their Cholec80 numbers."""
_TRANSLATED = {"endoscapes2023": ENDOSCAPES_NUMBERS, "m2cai16": M2CAI16_NUMBERS}
"""Data sets with numbers of their own -> the Cholec80 numbers of the videos that they share."""


def leakage_table() -> pl.DataFrame:
    """Known overlaps: columns data_set_a, data_set_b, shared_videos, by_number, source.

    `by_number` says whether the shared videos follow from their numbers (`shared_videos` then names them).
    A pair that is not listed is unknown, not free of overlap.
    """
    rows = [(*row, "secondary source") for row in _SHARED_COUNTS]
    rows += [(*_UNSHARED, 0, "secondary source")]
    rows += [(*row, "how the data set was made") for row in _SAME_VIDEOS]
    table = pl.DataFrame(rows, schema=["data_set_a", "data_set_b", "shared_videos", "source"], orient="row")
    known = [*CHOLEC80_NUMBERED, *_TRANSLATED]
    both = pl.col("data_set_a").is_in(known) & pl.col("data_set_b").is_in(known)
    return table.with_columns(both.alias("by_number")).sort("data_set_a", "data_set_b")


def shared_videos(data_set_a: str, videos_a: Iterable[str], data_set_b: str, videos_b: Iterable[str]) -> list[str]:
    """The videos of `videos_a` that are also among `videos_b`, recognised by their Cholec80 numbers.

    Raises:
        Misuse: The videos of one of the two carry no Cholec80 numbers, so nothing can be said from names.

    Example:
        >>> shared_videos("cholec80", ["video01", "video03"], "cholect50", ["VID01", "VID02"])
        ['video01']
    """
    if data_set_a == data_set_b:
        return sorted(set(videos_a) & set(videos_b))
    for name in (data_set_a, data_set_b):
        if name not in CHOLEC80_NUMBERED and name not in _TRANSLATED:
            known = ", ".join((*CHOLEC80_NUMBERED, *_TRANSLATED))
            raise Misuse(f"videos of {name!r} carry no Cholec80 numbers; overlap is known by name for {known}")
    numbers = {_number(data_set_b, video) for video in videos_b} - {None}
    return [video for video in videos_a if _number(data_set_a, video) in numbers]


def _number(data_set: str, video: str) -> int | None:
    """The Cholec80 number of a video; None for one of another data set that is known not to be shared."""
    match = re.search(r"([0-9]{1,12})$", video)
    if match is None:
        raise Misuse(f"video {video!r} ends in no number")
    if data_set == "m2cai16" and "workflow" in video:
        return None
    table = _TRANSLATED.get(data_set)
    return int(match[1]) if table is None else table.get(int(match[1]))


def sampled(references: References, *, rate_hz: float, first_frame: int = 0) -> References:
    """References thinned to `rate_hz`, each video by its own frame rate, from frame `first_frame` on.

    Raises:
        Misuse: The frame rate is not known, or it is no multiple of `rate_hz`.
    """
    table = references.table
    if "fps" not in table.columns:
        raise Misuse(f"{references.data_set} {references.task!r} has no column 'fps'; its references cannot be thinned")
    rates = sorted(float(value) for value in table["fps"].unique())
    if rate_hz <= 0 or any((rate / rate_hz) % 1 for rate in rates):
        raise Misuse(f"rate_hz must divide {', '.join(f'{rate:g}' for rate in rates)} fps, got {rate_hz}")
    step = (pl.col("fps") / rate_hz).cast(pl.Int64)
    kept = table.filter((pl.col("frame") - first_frame) % step == 0)
    return replace(references, table=kept, rate_hz=rate_hz)
