"""What is asked of a plan, checked as a whole; what every plan gives back, and what is said of all of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from surgvalid.errors import InputInvalid
from surgvalid.schema.findings import Finding
from surgvalid.schema.statistic_rules import remark
from surgvalid.stats.planning.spread import Spread

SMALL_PILOT = 10


class Planned(NamedTuple):
    """A plan."""

    tables: dict[str, pl.DataFrame]
    verdict: tuple[str, ...]
    """Sentences, the answer first."""
    prose: str
    findings: tuple[Finding, ...]
    grounds: tuple[tuple[str, str, str], ...]
    """Rule, numbers and source behind each sentence."""


def small_pilot(videos: int) -> Finding:
    """Said of pilots below `SMALL_PILOT` videos."""
    text = f"The pilot has {videos} videos: how far videos lie apart is hardly known, and with it every number here."
    return remark("pilot-small", text)


def out_of_reach(videos: int) -> Finding:
    """Said where no number up to that one is enough."""
    return remark("out-of-reach", f"No number of videos up to {videos:,} reaches the goal.")


def variances_row(spread: Spread) -> dict[str, Any]:
    """The columns of a spread in the table of components."""
    return {
        "between_sd": math.sqrt(float(spread.between[0])),
        "within_sd": math.sqrt(float(spread.within[0])) if spread.divisible else None,
        "icc": spread.icc if spread.divisible else None,
        "questions": spread.questions,
    }


_SHARE = "lie between 0 and 1"
_RANGES: tuple[tuple[tuple[str, ...], str, Callable[[float], bool]], ...] = (
    (("power", "level", "certainty"), _SHARE, lambda given: 0 < given < 1),
    (("share",), _SHARE, lambda given: 0 < given <= 1),
    (("icc",), _SHARE, lambda given: 0 <= given <= 1),
    (("width", "difference", "margin", "sd", "step"), "be a positive number", lambda given: 0 < given < math.inf),
    (("cost_video", "cost_question"), "be 0 or more", lambda given: 0 <= given < math.inf),
)
"""Options, what their numbers must do, and whether one does."""


@dataclass(frozen=True)
class PlanSettings:
    """The options of a plan."""

    width: float | None = None
    difference: float | None = None
    margin: float | None = None
    order: bool = False
    models: tuple[str, ...] = ()
    subgroup: str | None = None
    share: float | None = None
    sd: float | None = None
    icc: float | None = None
    value: float | None = None
    entries: int | None = None
    buckets: int = 10
    step: float | None = None
    questions: tuple[int, ...] = ()
    videos: tuple[int, ...] = ()
    power: float = 0.8
    level: float = 0.95
    tests: int = 1
    certainty: float = 0.8
    cost_video: float | None = None
    cost_question: float | None = None
    simulations: int = 1000
    seed: int = 42

    @property
    def goal(self) -> str:
        """`width`, `difference` or `order`."""
        return "width" if self.width is not None else "order" if self.order else "difference"

    @property
    def effect(self) -> float | None:
        """What the test must find: the difference, what of it exceeds the margin, or the margin of equal models."""
        if self.margin is None:
            return self.difference
        return self.margin if self.difference is None else self.difference - self.margin

    @property
    def alpha(self) -> float:
        """The level of the tests."""
        return 1 - self.level

    @property
    def stated(self) -> bool:
        """Whether the spread is stated and not measured."""
        return self.sd is not None

    @property
    def has_costs(self) -> bool:
        """Whether anything costs anything."""
        return self.cost_video is not None or self.cost_question is not None


def check_plan(settings: PlanSettings, *, pilot: bool) -> None:
    """Refuse what cannot be planned.

    Raises:
        InputInvalid: With every problem.
    """
    problems = [*_numbers(settings), *_goals(settings), *_sources(settings, pilot)]
    if problems:
        raise InputInvalid("plan", problems)


def _numbers(settings: PlanSettings) -> list[str]:
    problems = [
        f"{_option(name)} must {rule}, got {given:g}"
        for names, rule, holds in _RANGES
        for name in names
        if (given := getattr(settings, name)) is not None and not holds(given)
    ]
    problems += _whole("questions", settings.questions, 1) + _whole("videos", settings.videos, 2)
    problems += _whole("tests", [settings.tests], 1) + _whole("buckets", [settings.buckets], 1)
    problems += _whole("entries", [] if settings.entries is None else [settings.entries], 2)
    if not 100 <= settings.simulations <= 100_000:
        problems.append(f"--simulations must lie between 100 and 100,000, got {settings.simulations}")
    if settings.value is not None and not math.isfinite(settings.value):
        problems.append(f"--assume value must be a number, got {settings.value}")
    return problems


def _goals(settings: PlanSettings) -> list[str]:
    named = [
        _option(name)
        for name, given in (
            ("width", settings.width),
            ("difference", settings.effect),
            ("order", settings.order or None),
        )
        if given is not None
    ]
    problems = [f"name one goal, got {', '.join(named)}"] if len(named) > 1 else []
    if not named:
        problems.append(
            "name a goal: --width W (of an interval), --difference D (to be found), --margin M (not worse by more "
            "than that) or --order; the difference that a pilot happened to show is none"
        )
    if settings.margin is not None and settings.difference is not None and not settings.difference > settings.margin:
        problems.append(
            f"--difference {settings.difference:g} does not exceed --margin {settings.margin:g}, so no study can show "
            "that it does; leave --difference out to plan for 'not worse by more than the margin'"
        )
    if settings.goal != "difference" and settings.tests != 1:
        problems.append(
            "--tests is for --difference: an interval is one, and --order corrects over all pairs by itself"
        )
    if settings.goal == "difference" and settings.value is not None:
        problems.append("--assume value is for --width and --order; state --difference")
    if settings.order and settings.cost_question is not None:
        problems.append("--cost question: --order plans videos with the questions that they have")
    return problems


def _sources(settings: PlanSettings, pilot: bool) -> list[str]:
    problems = []
    if pilot and settings.stated:
        problems.append(
            "give a pilot or --assume sd=, not both: the spread is measured on the one and stated by the other"
        )
    if not pilot and not settings.stated:
        problems.append("give a pilot (a score table), or state --assume sd=...,icc=...")
    if settings.stated and settings.icc is None:
        problems.append("--assume icc: state which share of the variance lies between videos (0: none, 1: all)")
    if settings.stated and not settings.questions:
        problems.append("--per-video: state how many questions (frames, cases) each video has")
    if pilot:
        problems += [
            f"{_option(name)} is for plans without a pilot"
            for name in ("icc", "share", "entries", "step")
            if getattr(settings, name) is not None
        ]
        if settings.order and settings.questions:
            problems.append("--per-video: --order draws the videos of the pilot with the questions that they have")
    else:
        problems += [
            f"{_option(name)} names something in a pilot, and there is none"
            for name in ("models", "subgroup")
            if getattr(settings, name)
        ]
    if settings.stated and settings.order and (settings.entries is None or settings.step is None):
        problems.append(
            "--order without a pilot: state --assume models=K,step=D, D being the difference between neighbours"
        )
    if settings.order and (settings.share is not None or settings.subgroup is not None):
        problems.append("--order takes no subgroup: its buckets are subgroups already")
    if settings.subgroup is not None and not all(settings.subgroup.partition("=")[::2]):
        problems.append(f"--by expects COLUMN=VALUE, got {settings.subgroup!r}")
    return problems


def _whole(name: str, given: Sequence[int], least: int) -> list[str]:
    bad = [number for number in given if not least <= number <= 1_000_000]
    return [f"{_option(name)} must be {least} or more, got {', '.join(map(str, bad))}"] if bad else []


_WRITTEN = {"cost_question": "--cost question", "cost_video": "--cost video", "entries": "--assume models"}
_WRITTEN |= {"questions": "--per-video", "videos": "--video-counts", "subgroup": "--by"}
_ASSUMED = "share sd icc value buckets step"


def _option(name: str) -> str:
    return _WRITTEN.get(name, f"--{'assume ' * (name in _ASSUMED)}{name}")
