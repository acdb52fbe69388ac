"""What is asked of a plan, checked as a whole."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from surgeval.errors import InputInvalid

GOALS = ("width", "difference", "order")
_SHARES = ("power", "level", "certainty", "share", "icc")
_POSITIVE = ("width", "difference", "sd", "step")
_COSTS = ("cost_video", "cost_question")


@dataclass(frozen=True)
class PlanSettings:
    """The options of a plan."""

    width: float | None = None
    difference: float | None = None
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
        """One of `GOALS`; the seen difference of two models where none is named."""
        return "width" if self.width is not None else "order" if self.order else "difference"

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
    problems = [*_numbers(settings), *_goals(settings, pilot), *_sources(settings, pilot)]
    if problems:
        raise InputInvalid("plan", problems)


def _numbers(settings: PlanSettings) -> list[str]:
    problems = [
        f"{_option(name)} must lie between 0 and 1, got {given:g}"
        for name in _SHARES
        if (given := getattr(settings, name)) is not None and not _inside(name, given)
    ]
    problems += [
        f"{_option(name)} must be a positive number, got {given:g}"
        for name in _POSITIVE
        if (given := getattr(settings, name)) is not None and not (math.isfinite(given) and given > 0)
    ]
    problems += [
        f"{_option(name)} must be 0 or more, got {given:g}"
        for name in _COSTS
        if (given := getattr(settings, name)) is not None and not (math.isfinite(given) and given >= 0)
    ]
    problems += _whole("questions", settings.questions, 1) + _whole("videos", settings.videos, 2)
    problems += _whole("tests", [settings.tests], 1) + _whole("buckets", [settings.buckets], 1)
    problems += _whole("entries", [] if settings.entries is None else [settings.entries], 2)
    if not 100 <= settings.simulations <= 100_000:
        problems.append(f"--simulations must lie between 100 and 100,000, got {settings.simulations}")
    if settings.value is not None and not math.isfinite(settings.value):
        problems.append(f"--value must be a number, got {settings.value}")
    return problems


def _inside(name: str, given: float) -> bool:
    return 0 <= given <= 1 if name == "icc" else 0 < given <= 1 if name == "share" else 0 < given < 1


def _goals(settings: PlanSettings, pilot: bool) -> list[str]:
    named = [
        _option(name) for name, given in
        (("width", settings.width), ("difference", settings.difference), ("order", settings.order or None))
        if given is not None
    ]  # fmt: skip
    problems = [f"name one goal, got {', '.join(named)}"] if len(named) > 1 else []
    if not named and not (pilot and len(settings.models) == 2):
        problems.append(
            "name a goal: --width W (of an interval), --difference D (to be found) or --order; with a pilot and "
            "--models A,B the difference as it was seen is taken"
        )
    if settings.goal != "difference" and settings.tests != 1:
        problems.append(
            "--tests is for --difference: an interval is one, and --order corrects over all pairs by itself"
        )
    if settings.goal == "difference" and settings.value is not None:
        problems.append("--value is for --width and --order; state --difference")
    if settings.order and settings.cost_question is not None:
        problems.append("--cost-question: --order plans videos with the questions that they have")
    return problems


def _sources(settings: PlanSettings, pilot: bool) -> list[str]:
    problems = []
    if pilot and settings.stated:
        problems.append("give a pilot or --sd, not both: the spread is measured on the one and stated by the other")
    if not pilot and not settings.stated:
        problems.append("give a pilot (a score table), or state --sd and --icc")
    for name in ("icc",):
        if settings.stated and getattr(settings, name) is None:
            problems.append("--icc: state which share of the variance lies between videos (0: none, 1: all)")
    if settings.stated and not settings.questions:
        problems.append("--questions: state how many questions (frames, cases) each video has")
    if pilot:
        problems += [
            f"{_option(name)} is for plans without a pilot"
            for name in ("icc", "share", "entries", "step")
            if getattr(settings, name) is not None
        ]
        if settings.order and settings.questions:
            problems.append("--questions: --order draws the videos of the pilot with the questions that they have")
    else:
        problems += [
            f"{_option(name)} names something in a pilot, and there is none"
            for name in ("models", "subgroup")
            if getattr(settings, name)
        ]
    if settings.stated and settings.order and (settings.entries is None or settings.step is None):
        problems.append("--order without a pilot: state --entries K and the --step between neighbours")
    if settings.order and (settings.share is not None or settings.subgroup is not None):
        problems.append("--order takes no subgroup: its buckets are subgroups already")
    if settings.subgroup is not None and not all(settings.subgroup.partition("=")[::2]):
        problems.append(f"--subgroup expects COLUMN=VALUE, got {settings.subgroup!r}")
    return problems


def _whole(name: str, given: Sequence[int], least: int) -> list[str]:
    bad = [number for number in given if not least <= number <= 1_000_000]
    return [f"{_option(name)} must be {least} or more, got {', '.join(map(str, bad))}"] if bad else []


def _option(name: str) -> str:
    return "--share-of-videos" if name == "share" else f"--{name.replace('_', '-')}"
