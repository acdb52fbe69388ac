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
from surgvalid.stats.verdict.sentences import amount

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

    def value(self, value: float) -> str:
        """A value."""
        return f"{100 * value:.1f} %" if self.is_accuracy else amount(value, self.facts)

    def gap(self, gap: float) -> str:
        """A difference of two values."""
        return f"{100 * gap:.1f} points" if self.is_accuracy else amount(gap, self.facts)

    def gap_ends(self, low: float, high: float) -> str:
        """The ends of the interval of a difference."""
        if self.is_accuracy:
            return f"{100 * low:.1f} to {100 * high:.1f}"
        return f"{amount(low, self.facts)} to {amount(high, self.facts)}"

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
        start = f"{100 * low:.1f}" if self.is_accuracy else self.value(low)
        return f"{start} to {self.value(high)}"


def measure_of(inputs: ReportInputs) -> Measure:
    """The metric that the report is about."""
    return Measure(MetricFacts(ACCURACY) if inputs.scores is None else inputs.scores.facts_of(inputs.metric))


MOST_NAMES = 6
"""Names that a cell of the table lists."""


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
    gap_low: float | None = None
    gap_high: float | None = None
    videos: int = 0
    """Videos of the track; 0 where it is not known."""

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


def title_of(leads: Sequence[Lead]) -> str:
    """The finding over all leaderboards, as a title."""
    if not leads:
        return "Nobody competes"
    if len(leads) == 1:
        return _short(leads[0])
    return f"{_most(leads)}{_how_firmly(leads)}"


def sentences(lead: Lead, measure: Measure) -> list[str]:
    """One leaderboard in words: who is first and how sure, by how much, and what a tie-break decided."""
    decided = lead.tied > 1 and len(lead.models) == 1
    tie = f" The tie-break decided among {lead.tied} models that were level." if decided else ""
    return [f"On {lead.where}, {_short(lead)}.{tie}", *_margin(lead, measure)]


def leads_of(inputs: ReportInputs) -> list[Lead]:
    """Final rank 1 of every leaderboard of every ranking on which somebody competes."""
    return [
        lead._replace(track=one.label, videos=_videos(one.inputs))
        for one in competitions(inputs)
        for result in one.inputs.of("rank")
        for lead in leaderboard_leads(result)
    ]


def _videos(inputs: ReportInputs) -> int:
    return 0 if inputs.rows.is_empty() else int(inputs.rows["video"].n_unique())


def leaderboard_leads(result: StoredResult) -> list[Lead]:
    """Final rank 1 of every leaderboard of one ranking."""
    return [_lead(result, board) for board in leaderboards_of(result) if competitors(result, board)]


def lead_table(leads: Sequence[Lead], measure: Measure) -> pl.DataFrame:
    """The leads as a table in words, one row per leaderboard."""
    listed = [
        (
            lead.track,
            lead.board,
            names_of(lead.models, most=MOST_NAMES),
            _value(lead, measure),
            _ahead(lead, measure),
            _may_be_best(lead),
        )
        for lead in leads
    ]
    columns = ("track", "board", "first", "value", "ahead", "also")
    frame = pl.DataFrame(listed, schema=dict.fromkeys(columns, pl.String), orient="row")
    return frame if any(lead.track for lead in leads) else frame.drop("track")


def _value(lead: Lead, measure: Measure) -> str:
    if lead.accuracy is None:
        return "shared"
    ends = "" if lead.low is None or lead.high is None else f" ({measure.ends(lead.low, lead.high)})"
    return f"{measure.value(lead.accuracy)}{ends}"


def _ahead(lead: Lead, measure: Measure) -> str:
    """The difference to the next best in a few words."""
    if lead.gap is None:
        return "not known" if lead.next_best else ""
    if not lead.gap:
        return f"level with {names_of([lead.next_best])}"
    way = "ahead of" if lead.gap > 0 else "behind"
    ends = "" if lead.gap_low is None or lead.gap_high is None else f" ({measure.gap_ends(*_gap_ends(lead))})"
    return f"{measure.gap(abs(lead.gap))} {way} {names_of([lead.next_best])}{ends}"


def _gap_ends(lead: Lead) -> tuple[float, float]:
    """The interval of the amount by which the first is ahead, or behind where it is."""
    low, high = lead.gap_low or 0.0, lead.gap_high or 0.0
    return (low, high) if (lead.gap or 0.0) >= 0 else (-high, -low)


def _may_be_best(lead: Lead) -> str:
    if lead.also is None:
        return "not known"
    if len(lead.also) >= lead.rivals - 1 > 1:
        return "every other model"
    return names_of(lead.also, most=MOST_NAMES) if lead.also else "nobody else"


def _short(lead: Lead) -> str:
    names, also = names_of(lead.models), lead.also or ()
    return {
        Firmness.ALONE: f"{names} competes alone, without a model to compare with",
        Firmness.SHARED: f"{names} share final rank 1",
        Firmness.AGAINST: f"{names} comes first by the ranking rule, although {names_of(also)}"
        f" {'is' if len(also) == 1 else 'are'} significantly better on average",
        Firmness.UNKNOWN: f"{names} comes first; how firmly was not computed",
        Firmness.CLEAR: f"{names} is the best of {lead.rivals} models",
        Firmness.OPEN: f"{names} comes first, but with all models compared at once {names_of(also)} may be as good or"
        " better",
        Firmness.NOTHING: f"{names} comes first, but which model does better is open",
    }[lead.firmness]


def _most(leads: Sequence[Lead]) -> str:
    boards = Counter(lead.models for lead in leads).most_common()
    most = [models for models, count in boards if count == boards[0][1]]
    first = f"{names_of(most[0])} {'comes first' if len(most[0]) == 1 else 'share final rank 1'}"
    if len(boards) == 1:
        return f"{first} on {'both' if len(leads) == 2 else f'all {len(leads)}'} leaderboards"
    if len(most) == 1:
        return f"{first} on {boards[0][1]} of {len(leads)} leaderboards"
    listed = names_of([names_of(models) for models in most])
    return f"No model leads: {listed} come first on {boards[0][1]} of {len(leads)} leaderboards each"


def _how_firmly(leads: Sequence[Lead]) -> str:
    clear = sum(lead.firmness is Firmness.CLEAR for lead in leads)
    if clear == len(leads):
        return "; every lead is clear"
    if clear:
        return f"; {'one lead is' if clear == 1 else f'{clear} leads are'} clear"
    if all(lead.firmness in (Firmness.NOTHING, Firmness.ALONE) or len(lead.models) == lead.rivals for lead in leads):
        return ", but which model does better is open"
    return "; no lead is clear"


def _margin(lead: Lead, measure: Measure) -> list[str]:
    """By how much the first is ahead of the best of the others, with the interval."""
    if lead.accuracy is None or len(lead.models) > 1:
        return []
    reach = measure.reaches(lead.accuracy, lead.low, lead.high)
    head = f"{names_of(lead.models)} {reach}, where every kind of question counts the same"
    if lead.gap is None:
        return [f"{head}."]
    if not lead.gap:
        return [f"{head}, exactly as much as {lead.next_best}."]
    more = f"{measure.gap(abs(lead.gap))} {'more' if lead.gap > 0 else 'less'} than {names_of([lead.next_best])}"
    if lead.gap_low is None or lead.gap_high is None:
        return [f"{head}, {more}; so few videos carry no interval of the difference."]
    return [f"{head}, {more} (95 % interval {measure.gap_ends(*_gap_ends(lead))} for this pair alone)."]


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
    row = rows.row(0, named=True)
    return lead._replace(next_best=rival, gap=row["gap"], gap_low=row["low"], gap_high=row["high"])


def _of(frame: pl.DataFrame, model: str, column: str) -> float | None:
    if column not in frame.columns:
        return None
    values = frame.filter(pl.col("model") == model)[column].to_list()
    return values[0] if values else None
