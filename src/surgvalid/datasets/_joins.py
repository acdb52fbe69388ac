"""What may be brought together: references of one data set, and videos that two data sets share.

Frame numbers mean something only with their clock and rate: a row of a 1-fps file is not that row of a 25-fps file,
every 25th frame is one second only at 25 fps, and an interval is no moment. Combinations that would be wrong are
refused.

Shared videos are known so that nothing is tested on what it was trained on. Counts are from a secondary source. Where
both data sets use the Cholec80 numbers, or a table of numbers is known (the tools of M2CAI16, Endoscapes), the shared
videos follow from the names and are listed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

import polars as pl

from surgvalid.datasets._data_set import STRATA, References
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


def joined(left: References, right: References, *, on_slower: bool = False) -> pl.DataFrame:
    """Two references of the same data set side by side on their cases; names held by both get the task as suffix.

    Frame numbers that count different things never meet: milliseconds are not frames, and a second is not a
    frame at 25 fps. References given at different rates meet only where the caller says so.

    Args:
        left: References of one task.
        right: References of another task of the same data set.
        on_slower: Keep the cases of the slower one; without it different rates are refused.

    Raises:
        Misuse: The two do not fit.
    """
    _refuse_misfit(left, right, on_slower)
    slow, fast = (left, right) if _rate(left) <= _rate(right) else (right, left)
    told_twice = [
        name for name in ("video", "frame", *STRATA) if {name} <= {*slow.table.columns} & {*fast.table.columns}
    ]
    table = slow.table.join(fast.table.drop(told_twice), on="case", how="inner", suffix=f"_{fast.task}")
    if lost := slow.table.join(fast.table, on="case", how="anti").height:
        raise Misuse(
            f"{left.data_set}: {lost} of {slow.table.height} cases of {slow.task!r} have no {fast.task!r}; "
            "check the data set, or join the tables yourself and say what becomes of them"
        )
    return table


def sampled(
    references: References, *, rate_hz: float | None = None, every_frames: int | None = None, first_frame: int = 0
) -> References:
    """References thinned to `rate_hz`, each video by its own frame rate, from frame `first_frame` on.

    Raises:
        Misuse: The videos have different frame rates and a step in frames was asked for, the frame rate is
            not known, or it is no multiple of `rate_hz`.
    """
    if (rate_hz is None) == (every_frames is None):
        raise Misuse("give either rate_hz or every_frames")
    table = references.table
    if "fps" not in table.columns:
        raise Misuse(f"{references.data_set} {references.task!r} has no column 'fps'; its references cannot be thinned")
    rates = sorted(float(value) for value in table["fps"].unique())
    if every_frames is not None and len(rates) > 1:
        frequencies = " and ".join(f"{rate:g}" for rate in rates)
        raise Misuse(
            f"{references.data_set}: every {every_frames}th frame is not one rate, since the videos have {frequencies} "
            "fps; pass rate_hz"
        )
    if every_frames is not None:
        rate_hz = rates[0] / every_frames
    hertz = float(rate_hz or 0.0)
    if hertz <= 0 or any((rate / hertz) % 1 for rate in rates):
        raise Misuse(f"rate_hz must divide {', '.join(f'{rate:g}' for rate in rates)} fps, got {rate_hz}")
    step = (pl.col("fps") / hertz).cast(pl.Int64)
    kept = table.filter((pl.col("frame") - first_frame) % step == 0)
    return replace(references, table=kept, rate_hz=hertz)


def _rate(references: References) -> float:
    return float("inf") if references.rate_hz is None else references.rate_hz


def _refuse_misfit(left: References, right: References, on_slower: bool) -> None:
    if left.data_set != right.data_set:
        raise Misuse(f"references of {left.data_set} and {right.data_set} share no cases; join one data set at a time")
    if left.clock != right.clock:
        raise Misuse(
            f"{left.data_set}: {left.task!r} counts {left.clock}, {right.task!r} counts {right.clock}; "
            "equal numbers are different moments, so they cannot be joined"
        )
    if left.rate_hz != right.rate_hz and not on_slower:
        raise Misuse(
            f"{left.data_set}: {left.task!r} is given at {_shown(left)}, {right.task!r} at {_shown(right)}; "
            "pass on_slower=True to keep the cases of the slower one"
        )
    for one in (left, right):
        if one.table["frame"].null_count():
            raise Misuse(
                f"{one.data_set}: {one.task!r} holds intervals or whole videos, not moments, so its cases are not "
                "those of another task; sample it first"
            )


def _shown(references: References) -> str:
    return "irregular times" if references.rate_hz is None else f"{references.rate_hz:g} Hz"
