"""Tables of `monitor`."""

from __future__ import annotations

from surgeval.results.tables.table import Table, number, text, whole, yes_no

CHANGES = Table(
    "changes", "One thing that is watched, alarms first.",
    kind=text("value, stratum (value in a stratum), mix (share of cases) or property (mean of a number)"),
    column=text("empty for a value over all cases"), level=text("of the column; empty where it is a number"),
    model=text("empty where no model plays a part"), validation=number("before"), new=number("since"),
    change=number("new minus validation"),
    low=number("of the interval of the change, for this check alone", needed=False),
    high=number(needed=False), p_value=number("of the permutation test over videos, for this check alone"),
    p_adjusted=number("for all checks together"), alarm=yes_no("whether it is at most the level of the look"),
    verdict=text("worse, better, more or less; empty without an alarm"),
    min_detectable=number("change that would raise an alarm four times in five, at most", needed=False),
    videos_validation=whole, videos_new=whole,
)  # fmt: skip
WATCHED = Table(
    "videos", "One video of one model, in the order of time.",
    model=text, video=text, time=text, period=text("validation or new"), value=number(needed=False), cases=whole,
)  # fmt: skip
MONITOR = (CHANGES, WATCHED)
