"""How intervals are made: the settings that every statistic of a table shares, and what they may be.

Public functions take them as keywords of their own, since the command line is built from their signatures; inside
they travel as one `IntervalSettings`, so that a setting is checked, recorded and described in one place.
"""

from __future__ import annotations

from typing import NamedTuple

from surgvalid.errors import Misuse, UnknownName
from surgvalid.schema.findings import Finding
from surgvalid.schema.statistic_rules import remark
from surgvalid.stats.draws import check_replicates, check_seed
from surgvalid.stats.intervals.nesting import ROWS, Resample, label_of, levels_of
from surgvalid.stats.intervals.statistic import Statistic

AUTO = "auto"
"""Chooses a method that holds with few videos and draws nothing."""
BOOTSTRAP = "bootstrap"
"""Percentiles of resampled videos."""
METHODS = (AUTO, BOOTSTRAP)


class IntervalSettings(NamedTuple):
    """How intervals are made."""

    statistic: str = "mean"
    resample: Resample = "cluster"
    estimand: str = "rows"
    level: float = 0.95
    replicates: int = 1000
    method: str = AUTO
    seed: int = 42

    @property
    def draws(self) -> bool:
        """Whether random numbers are used."""
        return self.method != AUTO

    @property
    def recorded(self) -> dict[str, object]:
        """The columns of a result that say how its intervals were made."""
        return {
            "level": self.level,
            "replicates": self.replicates if self.draws else None,
            "seed": self.seed if self.draws else None,
        }


def check_settings(settings: IntervalSettings) -> IntervalSettings:
    """The settings, unless they cannot mean anything.

    Raises:
        Misuse: With the first thing wrong.
    """
    Statistic.read(settings.statistic)
    check_level(settings.level)
    levels_of(settings.resample)
    if settings.method not in METHODS:
        raise UnknownName("interval method", settings.method, METHODS)
    check_replicates(settings.replicates)
    check_seed(settings.seed)
    return settings


def check_level(level: float) -> None:
    """Refuse a level that is no probability strictly between 0 and 1."""
    if not 0 < level < 1:
        raise Misuse(f"level must lie between 0 and 1, got {level!r}; for 95 % pass 0.95")


def percent(level: float) -> str:
    """A level as prose says it, unrounded.

    Example:
        >>> percent(0.95), percent(0.975)
        ('95%', '97.5%')
    """
    return f"{100 * level:g}%"


def unused(settings: IntervalSettings) -> list[Finding]:
    """What was asked for and has no effect: rows within videos, which only the bootstrap draws."""
    levels = levels_of(settings.resample)
    if settings.draws or levels == (ROWS,) or levels[-1] != ROWS:
        return []
    text = (
        f"resample {label_of(levels)!r}: method 'auto' draws nothing and takes each {levels[0]} as one unit; rows "
        "within are drawn by the method bootstrap."
    )
    return [remark("resample-unused", text)]
