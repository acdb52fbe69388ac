"""Summary: what was compared, who leads, and how firm that is, in three sentences."""

from __future__ import annotations

from collections import Counter

import polars as pl

from surgeval.report.competitions import Competition, competitions
from surgeval.report.inputs import Inputs
from surgeval.report.limits import limitations
from surgeval.report.section import Block, Note, Prose, Section, Table
from surgeval.report.sections._leaders import Leader, leader_table, leaders
from surgeval.report.sections._pictures import picture
from surgeval.report.sections._wording import count_of, name_of, names_of, slug
from surgeval.report.sections.buckets import summary_rows
from surgeval.report.words import plain

TITLE = "Summary"
_SIDE_BY_SIDE = 4
"""Competitions that fit beside each other in one picture."""


def section(inputs: Inputs) -> Section:
    """The headline in words, one picture, and the number of limitations."""
    paragraphs = [" ".join(sentence for sentence in sentences if sentence) for sentences in _paragraphs(inputs)]
    blocks: list[Block] = [Prose(text) for text in paragraphs if text]
    if inputs.live is not None and (left_out := inputs.live.left_out):
        blocks.append(
            Note("Scores that the values below leave out:", items=tuple(text.rstrip(".") for text in left_out))
        )
    blocks += [*_table(inputs), *_pictures(inputs)]
    if count := len(limitations(inputs)):
        verb = "is" if count == 1 else "are"
        text = f"{count_of(count, 'limitation')} of these results {verb} listed below; read before you quote a number."
        blocks.append(Note(text, "hint"))
    return Section("summary", TITLE, tuple(blocks))


def compared(inputs: Inputs) -> str:
    """What was compared, on how much."""
    models = count_of(len(inputs.models), "model")
    if inputs.rows.is_empty():
        verbs = names_of(dict.fromkeys(result.kind for result in inputs.parts))
        return f"This report covers {models}." if inputs.models else f"No scores are here, but what {verbs} wrote."
    cases, videos = inputs.rows["case"].n_unique(), inputs.rows["video"].n_unique()
    noun = "question" if inputs.of("score") else "case"
    where = f" from {count_of(videos, 'video')}" if inputs.scores is not None and inputs.scores.has_videos else ""
    verb = "was scored" if len(inputs.models) == 1 else "were compared"
    return f"{models} {verb} on {count_of(cases, noun)}{where}."


def _paragraphs(inputs: Inputs) -> list[list[str]]:
    """What was compared and who leads; of several competitions, who leads how many boards."""
    leading = _leaders(inputs)
    if len({label for label, _ in leading}) > 1:
        return [[compared(inputs), *_counted([leader for _, leader in leading])]]
    return [[compared(inputs), *([leader.sentence for _, leader in leading] or _without_boards(inputs))]]


def _leaders(inputs: Inputs) -> list[tuple[str, Leader]]:
    return [
        (one.label, leader)
        for one in competitions(inputs)
        for result in one.inputs.of("rank")
        for leader in leaders(result)
    ]


def _counted(every_leader: list[Leader]) -> list[str]:
    """Who leads how many boards, and on how many that is firm."""
    boards = Counter(names_of(leader.models) for leader in every_leader).most_common()
    phrases = [f"{name} leads {count} of {len(every_leader)} boards" for name, count in boards[:1]]
    phrases += [f"{name} {count}" for name, count in boards[1:]]
    shared = sum(bool(leader.also) for leader in every_leader)
    ties = sum(leader.tied > 1 for leader in every_leader)
    firm = f"On {shared} of {len(every_leader)} boards others cannot be told apart from the best"
    return [
        ", ".join(phrases) + ".",
        firm + (f"; {count_of(ties, 'first place')} rest on tie-breaks." if ties else "."),
    ]


def _table(inputs: Inputs) -> list[Block]:
    """The leaders of several competitions, side by side."""
    leading = _leaders(inputs)
    if len({label for label, _ in leading}) < 2:
        return []
    caption = (
        "Macro accuracy: mean over buckets of the share of questions answered rightly, with its 95 % interval over"
        " videos. First in resamples: how often the rule, tie-break included, puts it first when whole videos are drawn"
        " again; that is no probability of being the best. Not told apart: other models that may be the best by macro"
        " accuracy over all buckets."
    )
    labels = {"macro_low": "from", "macro_high": "to", "p_first": "first in resamples"}
    return [Table("leaders", "Who leads, and how firmly", leader_table(leading), caption, labels=labels)]


def _without_boards(inputs: Inputs) -> list[str]:
    tasks = inputs.first("rank-tasks")
    if tasks is not None and not tasks.frame("consensus").is_empty():
        frame = tasks.frame("consensus")
        first = frame.filter(pl.col("rank") == frame["rank"].min())["model"]
        rule = tasks.options.get("rule", "the rule")
        return [f"By {rule}, {names_of(first)} {'is' if len(first) == 1 else 'are'} first."]
    return _by_value(inputs)


def _by_value(inputs: Inputs) -> list[str]:
    live = inputs.live
    if live is None:
        return []
    frame, why = live.intervals
    if frame.is_empty():
        return [f"Intervals could not be computed ({why})."]
    if inputs.better is None and frame.height > 1:
        return [
            f"Which values of {plain(inputs.metric, limit=40)} are better was not said (--better), so no model leads."
        ]
    rows = frame.sort("value", descending=inputs.better != "smaller", nulls_last=True).to_dicts()
    top = rows[0]
    if top["value"] is None:
        return []
    ends = f" [{top['low']:.3f}, {top['high']:.3f}]" if top["low"] is not None and top["high"] is not None else ""
    best = "a" if len(rows) == 1 else "the best"
    measure = _measure(inputs)
    article = "an" if best == "a" and measure[0] == "a" else best
    text = f"{name_of(top['model'])} has {article} {measure} of {top['value']:.3f}{ends}"
    if len(rows) == 1:
        return [text + " (95 % interval over videos)."]
    return [text + " (95 % interval over videos); no ranking was asked for, so this is no claim of superiority."]


def _pictures(inputs: Inputs) -> list[Block]:
    """The headline of every model with its interval, competitions side by side; else values of the main metric."""
    headlines = [_headline(one) for one in competitions(inputs)]
    rows = [frame for frame in headlines if not frame.is_empty()]
    if not rows:
        return _values(inputs)
    estimand, title = "headline accuracy, mean over buckets", "Headline accuracy"
    if len(rows) <= _SIDE_BY_SIDE:
        both = pl.concat(rows, how="diagonal_relaxed")
        return [picture("value_intervals", both, name="headline", title=title, estimand=estimand)]
    return [
        picture("value_intervals", frame.drop("panel"), name=f"headline-{slug(label)}", title=f"{title}, {label}",
                estimand=estimand)
        for frame, label in ((frame, str(frame["panel"][0])) for frame in rows)
    ]  # fmt: skip


def _headline(competition: Competition) -> pl.DataFrame:
    headline = summary_rows(competition.inputs, "headline")
    if headline.is_empty() or headline["low"].null_count() == headline.height:
        return pl.DataFrame()
    rows = headline.unique("model", keep="first", maintain_order=True).with_columns(value=pl.col("accuracy"))
    rows = rows.with_columns(n=pl.col("videos")) if "videos" in rows.columns else rows
    return rows.with_columns(panel=pl.lit(competition.label)) if competition.label else rows


def _values(inputs: Inputs) -> list[Block]:
    live = inputs.live
    if live is None or live.intervals[0].is_empty():
        return []
    unit = "videos" if live.table.has_videos else "cases"
    rows = live.intervals[0].select("model", "value", "low", "high")
    rows = rows.with_columns(n=pl.lit(live.table.frame["video"].n_unique(), dtype=pl.Int64))
    return [
        picture(
            "value_intervals", rows, name="values", title=f"Values of {_measure(inputs)}", unit=unit,
            estimand=f"{_measure(inputs)} over cases",
            largest_is_best={"larger": True, "smaller": False}.get(inputs.better or ""),
        )
    ]  # fmt: skip


def _measure(inputs: Inputs) -> str:
    return "accuracy" if inputs.metric == "correct" else f"mean {plain(inputs.metric, limit=40)}"
