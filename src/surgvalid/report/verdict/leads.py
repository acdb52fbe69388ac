"""Who leads every leaderboard, how firmly and by how much, in sentences.

A lead is clear where no other model can have the first rank by mean accuracy, all models held together at 95 %
(`summary.csv` of a ranking). How often a model is first when videos are drawn again is not said here: it reads as the
probability of being the best, and is none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import Enum, auto
from typing import NamedTuple

import polars as pl

from surgvalid.report.inputs import ReportInputs, StoredResult, competitions
from surgvalid.report.wording import competitors, leaderboards_of, on_leaderboard, perhaps_best
from surgvalid.report.words import names_of, plain
from surgvalid.schema.metric_facts import MetricFacts
from surgvalid.schema.tables.shown_tables import spelled
from surgvalid.stats.verdict.sentences import amount, gap_amount

ACCURACY = "correct"


class Measure(NamedTuple):
    """A metric in words.

    Example:
        >>> accuracy = Measure(MetricFacts("correct"))
        >>> accuracy.reaches(0.729, 0.6, 0.83)
        'answers 72.9 % of the questions rightly (95 % interval 60.0 to 83.0 %)'
        >>> Measure(MetricFacts("dsc")).reaches(0.8123, None, None)
        'reaches dsc 0.812'
    """

    facts: MetricFacts

    @property
    def is_accuracy(self) -> bool:
        """Whether values are shares of right answers."""
        return self.facts.name == ACCURACY

    @property
    def worded(self) -> MetricFacts:
        """The facts by which numbers are written."""
        return self.facts.as_share() if self.is_accuracy else self.facts

    def value(self, value: float) -> str:
        """A value."""
        return amount(value, self.worded)

    def gap(self, gap: float) -> str:
        """A difference of two values."""
        return gap_amount(gap, self.worded)

    def reaches(self, value: float, low: float | None, high: float | None) -> str:
        """What a model reaches, with the interval where there is one."""
        name = plain(self.facts.name, limit=40)
        text = f"answers {self.value(value)} of the questions rightly" if self.is_accuracy else ""
        text = text or f"reaches {name} {self.value(value)}"
        if low is None or high is None:
            return text
        return f"{text} (95 % interval {self.ends(low, high)})"

    def ends(self, low: float, high: float) -> str:
        """The ends of the interval of a value."""
        return f"{amount(low, self.worded, unit='')} to {self.value(high)}"


def measure_of(inputs: ReportInputs) -> Measure:
    """The metric that the report is about."""
    return Measure(MetricFacts(ACCURACY) if inputs.scores is None else inputs.scores.facts_of(inputs.metric))


class Firmness(Enum):
    """How sure final rank 1 of a leaderboard is."""

    ALONE = auto()
    SHARED = auto()
    AGAINST = auto()
    """The ranking rule and the mean accuracy name different models, and the difference is significant."""
    UNKNOWN = auto()
    CLEAR = auto()
    OPEN = auto()
    NOTHING = auto()
    """Every competitor may be the best."""


class Lead(NamedTuple):
    """Final rank 1 of one leaderboard."""

    board: str
    models: tuple[str, ...]
    """Several where final rank 1 is shared."""
    rivals: int
    """Competitors, the first included."""
    track: str = ""
    """Empty where there is one ranking only."""
    accuracy: float | None = None
    low: float | None = None
    high: float | None = None
    tied: int = 1
    """How many models have the leader's score before the tie-break; 1 where it leads without one."""
    also: tuple[str, ...] | None = None
    """Other models that may be the best by mean accuracy; None where it is not known."""
    beaten: bool = False
    """Whether the leader itself is told apart from the best by mean accuracy."""
    next_best: str = ""
    """The other competitor with the highest mean accuracy."""
    gap: float | None = None
    """By how much the leader is ahead of it on average; negative where it is behind."""

    @property
    def firmness(self) -> Firmness:
        """How sure final rank 1 is."""
        if self.rivals == 1:
            return Firmness.ALONE
        if len(self.models) > 1:
            return Firmness.SHARED
        if self.beaten:
            return Firmness.AGAINST
        if self.also is None:
            return Firmness.UNKNOWN
        if not self.also:
            return Firmness.CLEAR
        return Firmness.NOTHING if len(self.also) >= self.rivals - 1 else Firmness.OPEN

    @property
    def where(self) -> str:
        """The leaderboard in words."""
        return (
            f"the {self.board} leaderboard of the {self.track} track" if self.track else f"the {self.board} leaderboard"
        )

    @property
    def may_be_first(self) -> tuple[str, ...] | None:
        """Every model that may be first by mean accuracy; None where it is not known."""
        if self.also is None:
            return None
        return self.also if self.beaten else (*self.models, *self.also)


def title_of(leads: Sequence[Lead]) -> str:
    """The finding over all leaderboards, as a title."""
    if not leads:
        return "Nobody competes"
    if len(leads) == 1:
        return _of_one(leads[0])
    if all(lead.firmness is Firmness.ALONE for lead in leads):
        return "Every model competes alone"
    clear = Counter(lead.models[0] for lead in leads if lead.firmness is Firmness.CLEAR)
    number = len(leads)
    if not clear:
        on = "either of the two" if number == 2 else f"any of the {spelled(number)}"
        known = any(lead.also is not None for lead in leads)
        return f"No clear winner on {on} leaderboards" if known else "How firm the ranks are was not computed"
    most = [model for model, count in clear.items() if count == max(clear.values())]
    count = clear[most[0]]
    if count == number:
        return f"{names_of(most)} is the best on {'both' if number == 2 else f'all {spelled(number)}'} leaderboards"
    if len(most) == 1:
        return f"{names_of(most)} is clearly the best on {count} of {number} leaderboards"
    return f"{names_of(most)} are each clearly the best on {count} of {number} leaderboards"


def _of_one(lead: Lead) -> str:
    names = names_of(lead.models)
    return {
        Firmness.ALONE: f"{names} competes alone",
        Firmness.SHARED: f"{names} share rank 1",
        Firmness.AGAINST: f"{names} ranks first, but others are better on average",
        Firmness.UNKNOWN: f"{names} ranks first; how firmly was not computed",
        Firmness.CLEAR: f"{names} is the best of {lead.rivals} models",
        Firmness.OPEN: f"No clear winner: {names} ranks first",
        Firmness.NOTHING: f"No clear winner: {names} ranks first",
    }[lead.firmness]


def lead_of(leads: Sequence[Lead], measure: Measure) -> str:
    """The finding in a sentence or two: how many may be first, who ranks first, and where the two contradict."""
    if not leads:
        return ""
    spoken = [_in_numbers(leads[0], measure)] if len(leads) == 1 else [*_how_many(leads), _who(leads)]
    against = [lead for lead in leads if lead.firmness is Firmness.AGAINST]
    if against:
        others = names_of(dict.fromkeys(model for lead in against for model in lead.also or ()))
        where = "On " + names_of([lead.where for lead in against]) if len(leads) > 1 else "By the mean"
        spoken.append(f"{where}, {others} may be the best and {names_of(_firsts(against))}, first by the rule, is not.")
    return " ".join(spoken)


def _how_many(leads: Sequence[Lead]) -> list[str]:
    """How many models may be first on each leaderboard; nothing where it is not known everywhere."""
    known = [lead.may_be_first for lead in leads if lead.may_be_first is not None]
    if len(known) < len(leads):
        return []
    counts, rivals = [len(models) for models in known], max(lead.rivals for lead in leads)
    least, most = spelled(min(counts)), spelled(max(counts))
    span = least if least == most else f"{least} to {most}"
    verb = "model may" if most == "one" else f"of the {spelled(rivals)} models may"
    return [f"On each, {span} {verb} be first."]


def _who(leads: Sequence[Lead]) -> str:
    """Who ranks first most often by the rule, and who may be first most often where that is somebody else."""
    ranked = Counter(model for lead in leads for model in lead.models)
    able = Counter(model for lead in leads for model in lead.may_be_first or ())
    first, count = ranked.most_common(1)[0]
    most = [model for model, times in able.items() if times == max(able.values())]
    text = f"{names_of([first])} ranks first on {count} of {len(leads)}"
    if not most or most == [first]:
        return f"{text}."
    return f"{text}; {names_of(most)} may be first on {max(able.values())}."


def _firsts(leads: Sequence[Lead]) -> list[str]:
    return list(dict.fromkeys(model for lead in leads for model in lead.models))


def _in_numbers(lead: Lead, measure: Measure) -> str:
    """What the first of the only leaderboard reaches, by how much more than the next, and who else may be first."""
    others = [model for model in lead.also or () if model not in lead.models]
    held = f" With all {lead.rivals} models compared at once, {names_of(others)} may be first too." if others else ""
    held = "" if lead.firmness is Firmness.AGAINST else held
    if lead.accuracy is None or len(lead.models) > 1:
        return f"{names_of(lead.models)} have the same score by the ranking rule.{held}"
    text = f"{names_of(lead.models)} {measure.reaches(lead.accuracy, lead.low, lead.high)}"
    if lead.gap is not None and lead.gap:
        text += f", {measure.gap(abs(lead.gap))} {'more' if lead.gap > 0 else 'less'} than {names_of([lead.next_best])}"
    elif lead.gap is not None:
        text += f", exactly as much as {names_of([lead.next_best])}"
    tie = f" A tie-break decided among {lead.tied} models that were level." if lead.tied > 1 else ""
    return f"{text}.{held}{tie}"


def leads_of(inputs: ReportInputs) -> list[Lead]:
    """Final rank 1 of every leaderboard of every ranking on which somebody competes."""
    return [
        lead._replace(track=one.label)
        for one in competitions(inputs)
        for result in one.inputs.of("rank")
        for lead in leaderboard_leads(result)
    ]


def leaderboard_leads(result: StoredResult) -> list[Lead]:
    """Final rank 1 of every leaderboard of one ranking."""
    return [_lead(result, board) for board in leaderboards_of(result) if competitors(result, board)]


def _lead(result: StoredResult, board: str) -> Lead:
    members = competitors(result, board)
    places = on_leaderboard(result, "places", board).filter(pl.col("model").is_in(members))
    first = places.filter(pl.col("place") == places["place"].min())
    models = tuple(first["model"].to_list())
    winner, alone = first.row(0, named=True), len(models) == 1
    tied = places.filter(pl.col("copeland") == winner["copeland"]).height if winner["win_rate"] is not None else 1
    summary = on_leaderboard(result, "summary", board)
    low, high = (_of(summary, models[0], name) if alone else None for name in ("macro_low", "macro_high"))
    inside = perhaps_best(summary)
    lead = Lead(
        board,
        models,
        len(members),
        accuracy=winner["macro_accuracy"] if alone else None,
        low=low,
        high=high,
        tied=max(tied, 1),
        also=None if inside is None else tuple(model for model in inside if model not in models),
        beaten=bool(inside) and not set(models) & set(inside or ()),
    )
    return _with_next_best(lead, result, places) if alone else lead


def _with_next_best(lead: Lead, result: StoredResult, places: pl.DataFrame) -> Lead:
    leader = lead.models[0]
    others = places.filter(pl.col("model") != leader).sort("macro_accuracy", descending=True, nulls_last=True)
    if others.is_empty() or others["macro_accuracy"][0] is None:
        return lead
    rival = others["model"][0]
    gaps = on_leaderboard(result, "leads", lead.board)
    rows = gaps.filter((pl.col("model") == leader) & (pl.col("other") == rival)) if "other" in gaps.columns else gaps
    if rows.is_empty():
        return lead._replace(next_best=rival)
    return lead._replace(next_best=rival, gap=rows["gap"][0])


def _of(frame: pl.DataFrame, model: str, column: str) -> float | None:
    if column not in frame.columns:
        return None
    values = frame.filter(pl.col("model") == model)[column].to_list()
    return values[0] if values else None
