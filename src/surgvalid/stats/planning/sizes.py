"""A plan for a width or a difference: videos and questions that reach it, curves, and the sentences that say so."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from surgvalid.results.tables import planning as tables
from surgvalid.schema.findings import Finding
from surgvalid.schema.metric_facts import QUESTION_METRICS
from surgvalid.schema.statistic_rules import remark
from surgvalid.stats.draws import stream
from surgvalid.stats.intervals.sign_flip_interval import videos_needed
from surgvalid.stats.intervals.video_jackknife import FEWEST_VIDEOS
from surgvalid.stats.planning import closed_forms as forms
from surgvalid.stats.planning.settings import Planned, PlanSettings, out_of_reach, variances_row
from surgvalid.stats.planning.simulated import Design, difference_found, widths
from surgvalid.stats.planning.sources import Source

QUESTIONS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
FEWEST_SIMULATED = 200
SIMULATED_POINTS = 6
MOST_SIMULATED = 2000
"""Videos beyond which nothing is simulated: the closed form holds there."""
MOST_STEPS = 6


class Answer(NamedTuple):
    """The size of one study."""

    held: int | None
    """Videos that hold the subgroup, or all."""
    videos: int | None
    low: int | None
    high: int | None


def closed_answer(source: Source, settings: PlanSettings) -> Answer:
    """The size of a study for a width or a difference in closed form, with as many questions per video as there are."""
    return _Work(source, settings).answer(source.spread.questions)


def size_plan(source: Source, settings: PlanSettings) -> Planned:
    """The plan for a width or a difference."""
    work = _Work(source, settings)
    main = settings.questions[0] if settings.questions else source.spread.questions
    answer, shares, raised = work.checked(float(main))
    rows = [work.row(float(main), answer, shares)]
    others = [n for n in _other_questions(settings, float(main)) if source.spread.divisible]
    rows += [work.row(float(n), work.answer(float(n)), None) for n in others]
    unreached = [] if answer.videos is not None else [out_of_reach(forms.MOST_VIDEOS)]
    frames = {
        "sizes": tables.SIZES.frame(rows),
        "curve": tables.CURVE.frame(work.curve(float(main), answer)),
        "trade": tables.TRADE.frame(work.trade(float(main), answer) if source.spread.divisible else []),
        "components": tables.COMPONENTS.frame([_components(source, settings)]),
    }
    codes, verdict = zip(*work.sentences(rows, answer), strict=True)
    if source.metric is not None and source.metric.name not in QUESTION_METRICS and not source.zero_one:
        verdict = tuple(re.sub(r"\bquestion(s?)\b", r"case\1", text) for text in verdict)
    numbers = f"{settings.goal} = {settings.effect or settings.width:g}; power = {settings.power:g}; " + "; ".join(
        f"{name} = {number:.6g}" for name, number in _components(source, settings).items() if isinstance(number, float)
    )
    grounds = tuple((_RULES[code][0], numbers, _RULES[code][1]) for code in codes)
    return Planned(frames, verdict, work.prose(), (*source.findings, *raised, *unreached), grounds)


_T = "closed form of the paired t-test or of the jackknife's width (power.t.test; Kelley and Maxwell 2003)"
_RULES = {
    "answer": ("the fewest videos at which the chance of the goal is the one asked for, held by simulation", _T),
    "none": ("the chance of the goal stays below the one asked for up to the largest number looked at", _T),
    "range": (
        "both variances of the pilot drawn, and the answer for each pair of them",
        "chi-square pivots",
    ),
    "questions": ("variance between videos plus that within over the questions", "Kish 1965"),
    "cost": ("the number of questions looked at with the lowest cost of videos and questions together", "--cost"),
}
"""Behind each sentence: the rule, and where it comes from."""


class _Work:
    """One source under one goal."""

    def __init__(self, source: Source, settings: PlanSettings) -> None:
        self.source, self.settings = source, settings
        rng = stream(settings.seed, "plan", "pilot")
        self.drawn = source.spread.drawn(rng)
        self.shares = None
        if source.holding is not None:
            held, every = source.holding
            self.shares = rng.beta(held + 0.5, every - held + 0.5, 1000)

    def chance(self, videos: int, variance: float) -> np.ndarray:
        """Of reaching the goal."""
        source, asked = self.source, self.settings
        if asked.width is not None:
            return forms.width_chance(
                asked.width,
                source.value,
                variance,
                videos,
                freedom=source.spread.freedom,
                level=asked.level,
                low=source.low,
                high=source.high,
            )
        return forms.difference_chance(
            source.value, variance, videos, freedom=source.spread.freedom, alpha=asked.alpha, tests=asked.tests
        )

    def variances(self, questions: float) -> tuple[float, float | None, float | None]:
        """Of one video's share in the value, and both ends of its range given the pilot."""
        variance = float(self.source.spread.variance(questions)[0])
        if self.drawn is None:
            return variance, None, None
        whole = self.drawn.variance(questions)
        ends = ((1 - self.settings.certainty) / 2, (1 + self.settings.certainty) / 2)
        low, high = np.quantile(whole, ends)
        return variance, float(low), float(high)

    def answer(self, questions: float) -> Answer:
        """The fewest videos with so many questions each."""
        variance, low, high = self.variances(questions)
        held = self.fewest(variance)
        ends = [None if end is None else self.fewest(end) for end in (low, high)]
        if self.source.share >= 1 and self.shares is None:
            return Answer(held, held, *ends)
        certainty = self.settings.certainty
        shares = (self.source.share,) * 3
        if self.shares is not None:
            shares = (self.source.share, *np.quantile(self.shares, ((1 + certainty) / 2, (1 - certainty) / 2)).tolist())
        every = [
            None if number is None else forms.total_for(number, share, certainty)
            for number, share in zip((held, *ends), shares, strict=True)
        ]
        return Answer(held, *every)

    def fewest(self, variance: float) -> int | None:
        """The fewest videos at a variance; None where no number does."""
        if not math.isfinite(variance) or not (self.settings.width or self.source.value):
            return None
        return forms.fewest_videos(lambda v: float(self.chance(v, variance)), self.settings.power, least=self.least)

    @property
    def least(self) -> int:
        """Fewer videos cannot reach the goal, whatever they show."""
        if self.settings.width is not None:
            return FEWEST_VIDEOS
        return videos_needed(self.settings.tests, alpha=self.settings.alpha)

    def checked(self, questions: float) -> tuple[Answer, tuple[float, float] | None, list[Finding]]:
        """The answer, raised until simulated studies reach the goal as often as asked for."""
        answer = self.answer(questions)
        if answer.held is None or not self.source.tested or answer.held > MOST_SIMULATED:
            return answer, None, []
        asked, held = self.settings.power, answer.held
        for step in range(MOST_STEPS):
            share = self.simulated(held, questions, self.settings.simulations, f"answer {step}")
            error = math.sqrt(share * (1 - share) / self.settings.simulations)
            if share >= asked - 3 * error or held > MOST_SIMULATED:
                break
            held = max(held + 1, round(held * min(1 + (asked - share), 1.5)))
        if held == answer.held:
            return answer, (share, error), []
        text = (
            f"{answer.held} videos by the closed form, with which simulated studies reach the goal too rarely (few "
            f"videos or coarse scores): {held} are given."
        )
        scaled = [None if end is None else max(end, round(end * held / answer.held)) for end in answer[1:]]
        return Answer(held, *scaled), (share, error), [remark("raised-by-simulation", text)]

    def simulated(self, videos: int, questions: float, studies: int, purpose: str) -> float:
        """The share of simulated studies that reach the goal."""
        source, asked = self.source, self.settings
        rng = stream(asked.seed, "plan", purpose, str(videos))
        design = Design(source.spread, videos, questions, source.value, source.zero_one, source.low, source.high)
        if asked.width is not None:
            return float((widths(design, studies, rng, level=asked.level) <= asked.width).mean())
        return difference_found(design, studies, rng, alpha=asked.alpha / asked.tests)

    def row(self, questions: float, answer: Answer, shares: tuple[float, float] | None) -> dict[str, Any]:
        """A row of the table of sizes."""
        asked, every = self.settings, answer.videos
        costs = (asked.cost_video or 0.0) + (asked.cost_question or 0.0) * questions
        return {
            "goal": asked.goal,
            "questions": questions,
            "videos": every,
            "low": answer.low,
            "high": answer.high,
            "subgroup_videos": answer.held if self.source.share < 1 else None,
            "total_questions": None if every is None else every * questions,
            "design_effect": self.source.spread.design_effect(questions) if self.source.spread.divisible else None,
            "cost": None if every is None or not asked.has_costs else every * costs,
            "simulated": shares and shares[0],
            "simulated_error": shares and shares[1],
        }

    def curve(self, questions: float, answer: Answer) -> list[dict[str, Any]]:
        """The chance of reaching the goal by the number of videos (that hold the subgroup)."""
        end = answer.held or 100
        asked = self.settings
        numbers = sorted(set(asked.videos or _spaced(self.least, max(2 * end, self.least + 5), 24)))
        variance, low, high = self.variances(questions)
        simulated = self._simulated_points(numbers, questions)
        return [
            {
                "goal": asked.goal,
                "videos": number,
                "questions": questions,
                "chance": float(self.chance(number, variance)),
                "low": None if high is None else float(self.chance(number, high)),
                "high": None if low is None else float(self.chance(number, low)),
                "simulated": simulated.get(number),
            }
            for number in numbers
        ]

    def _simulated_points(self, numbers: Sequence[int], questions: float) -> dict[int, float]:
        if not self.source.tested:
            return {}
        studies = max(FEWEST_SIMULATED, self.settings.simulations // 4)
        near = [number for number in numbers if number <= MOST_SIMULATED]
        chosen = near if self.settings.videos else near[:: max(1, len(near) // SIMULATED_POINTS)]
        return {number: self.simulated(number, questions, studies, "curve") for number in chosen}

    def trade(self, questions: float, answer: Answer) -> list[dict[str, Any]]:
        """What a study of so many videos and questions reaches."""
        middle = answer.held or 40
        numbers = sorted({max(self.least, round(middle * factor)) for factor in (0.25, 0.5, 1, 2, 4)})
        rows = []
        for videos in numbers:
            for n in sorted({*QUESTIONS, round(questions)}):
                rows.append(
                    {
                        "videos": videos,
                        "questions": float(n),
                        "total_questions": float(videos * n),
                        "reach": self.reach(videos, n),
                        "reach_of": self.settings.goal,
                    }
                )
        return rows

    def reach(self, videos: int, questions: float) -> float:
        """The expected width, or the smallest difference found with the power asked for."""
        source, asked = self.source, self.settings
        variance = float(source.spread.variance(questions)[0])
        error, df = math.sqrt(variance / videos), max(source.spread.freedom * videos - 1, 1.0)
        if asked.width is not None:
            ends = {"low": source.low, "high": source.high}
            return float(forms.expected_width(error, source.value, df, level=asked.level, **ends))
        return smallest_difference(
            variance, videos, freedom=source.spread.freedom, alpha=asked.alpha, tests=asked.tests, power=asked.power
        )

    def sentences(self, rows: Sequence[dict[str, Any]], answer: Answer) -> Iterable[tuple[str, str]]:
        """The verdict, one sentence each, after its code in `_RULES`."""
        asked, source, main = self.settings, self.source, rows[0]
        goal = self._goal_words()
        if answer.videos is None or answer.held is None:
            yield "none", f"No number of {source.unit}s reaches the goal: {goal}."
            return
        sub = (
            f", of which {answer.held:,} or more then hold {self._subgroup_words()} with {asked.certainty:.0%} "
            "certainty,"
            if source.share < 1
            else ""
        )
        yield (
            "answer",
            f"{answer.videos:,} {source.unit}s with {_count(main['questions'], source.parts)} each{sub} are enough to "
            f"{goal} in {asked.power:.0%} of such studies.",
        )
        if answer.low is not None or answer.high is not None:
            yield "range", self._range_words(answer)
        if source.spread.divisible:
            yield "questions", self._frames_words(rows[0], answer)
        priced = [row for row in rows if row["cost"] is not None]
        if priced:
            best = min(priced, key=lambda row: (row["cost"], row["questions"]))
            yield (
                "cost",
                f"Of the numbers of questions looked at, {_count(best['questions'])} per {source.unit} cost least: "
                f"{best['videos']:,} {source.unit}s, {best['cost']:,.0f} in all (as planned: {main['cost']:,.0f}).",
            )

    def _goal_words(self) -> str:
        asked, source = self.settings, self.source
        name = source.metric.name if source.metric else "the value"
        if asked.width is not None:
            return f"have a {asked.level:.0%} interval of {name} no wider than {asked.width:g}"
        between = f" between {source.models[0]} and {source.models[1]}" if source.models else ""
        corrected = f", corrected for {asked.tests} comparisons" if asked.tests > 1 else ""
        of = f" in {name}" if source.metric else ""
        tested = f"(exact sign-flip test{corrected})"
        if asked.margin is not None and asked.difference is None:
            whom = f"{source.models[0]} is not worse than {source.models[1]}" if source.models else "one is not worse"
            if source.models and not asked.models:
                whom = f"one of {' and '.join(sorted(source.models))} is not worse than the other"
            return f"show that {whom}{of} by more than {asked.margin:g}, where both are equal {tested}"
        if asked.margin is not None:
            return f"show that a true difference of {asked.difference:g}{of}{between} exceeds {asked.margin:g} {tested}"
        return f"find a true difference of {abs(source.value):.3g}{of}{between} {tested}"

    def _subgroup_words(self) -> str:
        return f"the subgroup {self.settings.subgroup}" if self.settings.subgroup else "the subgroup"

    def _range_words(self, answer: Answer) -> str:
        high = f"no number of {self.source.unit}s that can be named" if answer.high is None else f"{answer.high:,}"
        low = "more than can be named" if answer.low is None else f"{answer.low:,}"
        held = " with the subgroup" if self.source.holding else ""
        return (
            f"The pilot of {self.source.videos} {self.source.unit}s{held} is a sample too: the number may be "
            f"anything from {low} to {high} ({self.settings.certainty:.0%} range); the upper end is the safe one."
        )

    def _frames_words(self, main: dict[str, Any], answer: Answer) -> str:
        spread, n, unit = self.source.spread, main["questions"], self.source.unit
        worth = n / spread.design_effect(n)
        more, endless = self.answer(10 * n).videos, self.fewest(float(spread.between[0]))
        limit = (
            f"; below {endless:,} {unit}s no number of questions would do"
            if endless is not None and endless > self.least and self.source.share >= 1
            else ""
        )
        save = "none" if more is None or more >= answer.videos else f"{answer.videos - more:,}"  # type: ignore[operator]
        return (
            f"{_count(n)} of one {unit} are worth {worth:.1f} independent ones. Ten times as many questions per {unit} "
            f"would save {save} of the {answer.videos:,} {unit}s{limit}."
        )

    def prose(self) -> str:
        """How the plan was made."""
        asked, source = self.settings, self.source
        where = (
            f"measured on a pilot of {source.videos} {source.unit}s ({', '.join(source.models)})"
            if source.models
            else f"stated (SD {asked.sd:g} of single questions, intraclass correlation {asked.icc:g})"
        )
        form = (
            "the distribution of the jackknife's standard error on the scale of the interval"
            if asked.width is not None
            else "the noncentral t distribution"
        )
        ranges = " Ranges draw both variances of the pilot from their chi-square pivots." if self.drawn else ""
        return (
            f"The spread between and within videos was {where}. The chance of reaching the goal comes from {form}; "
            f"{asked.simulations:,} studies were simulated at the answer and judged by the interval or the exact test "
            f"of this package (seed {asked.seed}).{ranges}"
        )


def smallest_difference(
    variance: float, videos: int, *, freedom: float, alpha: float, tests: int, power: float
) -> float:
    """The smallest true difference that so many videos find with that power; infinite where they can find none."""

    def lacking(difference: float) -> float:
        return power - float(
            forms.difference_chance(difference, variance, videos, freedom=freedom, alpha=alpha, tests=tests)
        )

    error = math.sqrt(variance / videos)
    if error <= 0 or lacking(200 * error) > 0:
        return math.inf
    return float(brentq(lacking, 0.0, 200 * error, xtol=1e-9 * error))


def _components(source: Source, settings: PlanSettings) -> dict[str, Any]:
    return {
        "source": "stated" if settings.stated else "pilot",
        "models": ", ".join(source.models),
        "metric": source.metric.name if source.metric else None,
        "value": source.value,
        **variances_row(source.spread),
        "videos": source.videos,
        "df": source.spread.df,
        "share": source.share if source.share < 1 else None,
    }


def _other_questions(settings: PlanSettings, main: float) -> list[int]:
    asked = settings.questions[1:] or QUESTIONS
    return [n for n in dict.fromkeys(asked) if abs(n - main) > 0.5 and (settings.questions[1:] or n <= 20 * main + 20)]


def _spaced(least: int, most: int, count: int) -> list[int]:
    return sorted({round(number) for number in np.geomspace(max(least, 2), most, count).tolist()})


def _count(questions: float, parts: str = "") -> str:
    shown = f"{questions:,.0f}" if abs(questions - round(questions)) < 0.05 else f"{questions:,.1f}"
    return f"{shown} values of {parts!r}" if parts else f"{shown} question{'' if shown == '1' else 's'}"
