"""Joining and thinning references, with the combinations that would be wrong refused.

Frame numbers mean something only with their clock and rate: a row of a 1-fps file is not that row of a 25-fps file,
every 25th frame is one second only at 25 fps, and an interval is no moment.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from surgeval.datasets._data_set import STRATA, References
from surgeval.errors import Misuse


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
