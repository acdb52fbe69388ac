"""How large a study has to be: the plan, and the page that shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from surgvalid.errors import TooFewVideos, UnknownName
from surgvalid.report.figures import picture
from surgvalid.report.html import page
from surgvalid.report.section import Block, Note, Prose, ReportTable, Section
from surgvalid.results.request import requested
from surgvalid.results.result import Result, as_table
from surgvalid.results.tables.studies import WHY
from surgvalid.schema.findings import Severity
from surgvalid.schema.tables.missing import Missing
from surgvalid.schema.tables.table_facts import Directions
from surgvalid.stats.planning.orders import order_plan
from surgvalid.stats.planning.settings import PlanSettings, check_plan
from surgvalid.stats.planning.sizes import size_plan
from surgvalid.stats.planning.sources import in_shares, of_pilot, stated
from surgvalid.stats.ranking import RankOptions

_GOALS = {
    "first": "The best model alone in final rank 1",
    "podium": "The first three final ranks firm",
    "order": "The whole order firm",
}


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class PlanResult(Result):
    """Tables `sizes`, `curve`, `trade` and `components`, and the answer in sentences."""

    page = "plan.html"

    verdict: tuple[str, ...]
    power: float
    wanted: float | None
    """The width or the difference that was asked for."""
    grounds: tuple[tuple[str, str, str], ...] = ()
    """Rule, numbers and source behind each sentence."""
    why: bool = False

    @property
    def title(self) -> str:
        """The answer in sentences."""
        return "\n".join(self.verdict)

    @property
    def videos(self) -> int | None:
        """The answer: how many videos; None where no number is enough."""
        number: int | None = self.table["videos"][0]
        return number

    @property
    def shown(self) -> pl.DataFrame:
        """The sizes without columns that are empty."""
        return _given(self.table)

    def screen(self) -> Mapping[str, pl.DataFrame]:
        """The sizes below the answer, and why where that was asked for."""
        return {self.title: self.shown, **({"Why": WHY.frame(self._reasons())} if self.why else {})}

    def _reasons(self) -> list[dict[str, str]]:
        rows = zip(self.verdict, self.grounds, strict=True)
        return [
            {"sentence": one, "rule": rule, "numbers": numbers, "source": source}
            for one, (rule, numbers, source) in rows
        ]

    def facts(self) -> dict[str, Any]:
        """The answer as plain data."""
        return {"verdict": list(self.verdict), **({"why": self._reasons()} if self.why else {})}

    def html(self) -> str:
        """The page, complete in itself."""
        return page(self.verdict[0], "Plan", self._facts, _sections(self))

    @property
    def _facts(self) -> str:
        row = self.tables["components"].row(0, named=True)
        return f"from a pilot of {row['videos']:,} videos" if row["source"] == "pilot" else "from a stated spread"


@requested("plan")
def plan(
    table: Any = None,
    *,
    width: float | None = None,
    difference: float | None = None,
    margin: float | None = None,
    order: bool = False,
    models: Sequence[str] = (),
    subgroup: str | None = None,
    share: float | None = None,
    sd: float | None = None,
    icc: float | None = None,
    value: float | None = None,
    entries: int | None = None,
    buckets: int = 10,
    step: float | None = None,
    questions: int | Sequence[int] = (),
    videos: int | Sequence[int] = (),
    power: float = 0.8,
    level: float = 0.95,
    tests: int = 1,
    certainty: float = 0.8,
    cost_video: float | None = None,
    cost_question: float | None = None,
    simulations: int = 1000,
    seed: int = 42,
    estimand: str = "rows",
    metric: str | None = None,
    better: Directions = None,
    missing: Missing = None,
    columns: Mapping[str, str] | None = None,
    why: bool = False,
) -> PlanResult:
    """How many videos, and questions per video, a study needs to reach one goal.

    Args:
        table: A pilot: a score table as for `interval`. Without one, `sd` and `icc` are stated.
        width: Goal: an interval no wider than this, from end to end.
        difference: Goal: this true difference of two models is found by the exact sign-flip test.
        margin: Goal: two models that are equal are shown not to be worse by more than this; with a larger `difference`
            that this is exceeded.
        order: Goal: the FOCUS rule orders the models firmly (before ties are broken).
        models: Of the pilot: one for `width`, two for `difference`; those that compete for `order`, all if left out.
        subgroup: `COLUMN=VALUE` of the pilot: the goal is about these cases alone.
        share: Without a pilot: the share of videos that hold the subgroup.
        sd: Stated SD of single questions: of scores for `width`, of paired differences for `difference` and `order`.
        icc: Stated share of that variance that lies between videos.
        value: Expected value of a score between 0 and 1, for `width`; that of the best model for `order`.
        entries: Without a pilot: the number of models for `order`.
        buckets: Without a pilot: the number of buckets for `order`.
        step: Without a pilot: the difference between neighbours for `order`.
        questions: Per video; the first number is planned for, others are set beside it. By default as in the pilot.
        videos: Numbers of videos to look at; chosen by the answer if left out.
        power: The share of studies that must reach the goal.
        level: Coverage of intervals; tests have one minus it.
        tests: How many comparisons share the level of the test.
        certainty: Coverage of the range that a pilot leaves open, and of the number of videos with a subgroup.
        cost_video: Of one video, in any money.
        cost_question: Of one question.
        simulations: How many studies are simulated at the answer.
        seed: Of everything that is drawn.
        estimand: As for `interval`.
        metric: As for `interval`.
        better: As for `interval`.
        missing: As for `interval`.
        columns: As for `interval`.
        why: Show the rule, the numbers and the source behind each sentence.

    Raises:
        InputInvalid: With every problem of what was asked.
        UnknownName: A model, column or value that the pilot does not have.

    Example:
        >>> result = plan(difference=0.05, sd=0.4, icc=0.1, questions=[20], simulations=200)
        >>> result.videos
        75
    """
    settings = PlanSettings(
        width=width,
        difference=difference,
        margin=margin,
        order=order,
        models=tuple(models),
        subgroup=subgroup,
        share=share,
        sd=sd,
        icc=icc,
        value=value,
        entries=entries,
        buckets=buckets,
        step=step,
        questions=_several(questions),
        videos=tuple(sorted(set(_several(videos)))),
        power=power,
        level=level,
        tests=tests,
        certainty=certainty,
        cost_video=cost_video,
        cost_question=cost_question,
        simulations=simulations,
        seed=seed,
    )
    pilot = table is not None and not (isinstance(table, list | tuple) and not table)
    check_plan(settings, pilot=pilot)
    scores = as_table(table, columns, better=better, metric=metric) if pilot else None
    settings, points = in_shares(settings, scores, metric)
    if order and scores is not None and models:
        for name in models:
            if name not in scores.models:
                raise UnknownName("model", name, scores.models)
        scores = replace(scores, frame=scores.frame.filter(pl.col("model").is_in(list(models))))
    if order:
        options = RankOptions(metric=metric, missing=missing, alpha=settings.alpha, seed=seed)
        made = order_plan(scores, settings, options)
    elif scores is None:
        made = size_plan(stated(settings), settings)
    else:
        try:
            source = of_pilot(scores, settings, metric=metric, missing=missing, estimand=estimand)
        except TooFewVideos:
            text = (
                "the pilot has one video, which does not show how far videos lie apart; add videos, or leave the pilot "
                "out and state the spread (sd=..., icc=...; --assume sd=...,icc=...)"
            )
            raise TooFewVideos(scores.unit.called(text)) from None
        made = size_plan(source, settings)
    goal = made.tables["components"]["value"][0] if settings.goal == "difference" else settings.width
    return PlanResult(
        tables={name: frame for name, frame in made.tables.items() if name != "trade" or frame.height},
        main="sizes",
        prose=made.prose,
        findings=(*points, *made.findings),
        verdict=made.verdict,
        power=power,
        wanted=None if goal is None else abs(goal),
        grounds=made.grounds,
        why=why,
    )


def _several(numbers: int | Sequence[int]) -> tuple[int, ...]:
    return (numbers,) if isinstance(numbers, int) else tuple(numbers)


def _sections(result: PlanResult) -> list[Section]:
    warned = [Note(one.text) for one in result.findings if one.severity is not Severity.NOTE]
    notes = [Prose(one.text) for one in result.findings if one.severity is Severity.NOTE]
    sizes = ReportTable("sizes", "Sizes that reach the goal", result.shown, "The first row is the answer.", digits=2)
    first: list[Block] = [*(Prose(sentence) for sentence in result.verdict[1:]), *_curves(result), sizes, *warned]
    sections = [Section("answer", "How large", tuple(first))]
    if "trade" in result.tables:
        drawn = picture("plan_trade", result.tables["trade"], wanted=result.wanted)
        sections.append(Section("trade", "Videos or frames", (drawn,)))
    rests = ReportTable("components", "What the plan rests on", _given(result.tables["components"]))
    return [*sections, Section("methods", "How it was made", (rests, Prose(result.prose), *notes))]


def _curves(result: PlanResult) -> list[Block]:
    answers = dict(zip(result.table["goal"].to_list(), result.table["videos"].to_list(), strict=False))
    drawn = []
    held = result.table["subgroup_videos"][0]
    for goal in result.tables["curve"]["goal"].unique(maintain_order=True).to_list():
        videos = held if held is not None else answers.get(goal) if goal in _GOALS else result.videos
        title = _GOALS.get(
            goal, "What more videos bring" if held is None else "What more videos with the subgroup bring"
        )
        options = {"goal": goal, "wanted": result.power, "videos": videos, "title": title}
        name = f"plan-curve-{goal}"
        drawn.append(picture("plan_curve", result.tables["curve"], name=name, **options))
    return drawn


def _given(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select(name for name in frame.columns if frame[name].null_count() < frame.height)
