"""Scoring profiles: which rules decide whether an answer is right.

`native` is ours, with every deviation from the official toolkit declared on one page of the
documentation. The official profiles reproduce a version of the toolkit, its defects included.
"""

from __future__ import annotations

from dataclasses import dataclass

from surgeval.errors import Misuse, UnknownName
from surgeval.schema.formats import Rules
from surgeval.schema.questions import TRACK_LIMITS_S


@dataclass(frozen=True, slots=True)
class Profile:
    """One way of scoring."""

    name: str
    official: bool
    rules: Rules
    summary: str


PROFILES: dict[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile("native", False, Rules(), "our rules: flags instead of aborts, strict verdicts, cluster intervals"),
        Profile("orena-focus-0.4.0", True, Rules(), "the official toolkit 0.4.0, byte for byte"),
        Profile(
            "orena-focus-6302fca",
            True,
            Rules(trailing_period=False, percentage_tolerance=False, several_times=False),
            "an older toolkit: no trailing period, equal percentages, one timestamp; files as in 0.4.0",
        ),
    )
}


def profile_named(name: str) -> Profile:
    """The profile called `name`."""
    if name not in PROFILES:
        raise UnknownName("profile", name, PROFILES)
    return PROFILES[name]


def latency_limit_s(track: str | None, max_latency_s: float | None) -> float | None:
    """The limit in force, from a track's name or a number of seconds.

    Raises:
        Misuse: Both are given, or the number is no time.
        UnknownName: No such track.

    Example:
        >>> latency_limit_s("segment", None)
        15.0
    """
    if track is None:
        if max_latency_s is not None and not max_latency_s >= 0:
            raise Misuse(f"the latency limit must be a number of seconds, got {max_latency_s!r}")
        return max_latency_s
    if max_latency_s is not None:
        raise Misuse("give either a track or a latency limit, not both")
    if track not in TRACK_LIMITS_S:
        raise UnknownName("track", track, TRACK_LIMITS_S)
    return TRACK_LIMITS_S[track]
