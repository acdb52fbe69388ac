"""Summary: what was compared, who leads, and how firm that is, in three sentences."""

from __future__ import annotations

import polars as pl

from surgeval.report.competitions import Competition, competitions
from surgeval.report.inputs import Inputs, Part
from surgeval.report.limits import limitations
from surgeval.report.section import Block, Note, Prose, Section
from surgeval.report.sections._pictures import picture
from surgeval.report.sections._wording import boards_of, count_of, name_of, names_of, on_board, percent, slug
from surgeval.report.sections.buckets import summary_rows
from surgeval.report.words import plain

TITLE = "Summary"


def section(inputs: Inputs) -> Section:
    """The headline in words, one picture, and the number of limitations."""
    paragraphs = [" ".join(sentence for sentence in part if sentence) for part in _paragraphs(inputs)]
    blocks: list[Block] = [Prose(text) for text in paragraphs if text]
    blocks += _pictures(inputs)
    if found := len(limitations(inputs)):
        verb = "is" if found == 1 else "are"
        text = f"{count_of(found, 'limitation')} of these results {verb} listed below; read before you quote a number."
        blocks.append(Note(text, "hint"))
    return Section("summary", TITLE, tuple(blocks))


def compared(inputs: Inputs) -> str:
    """What was compared, on how much."""
    models = count_of(len(inputs.models), "model")
    if inputs.rows.is_empty():
        return f"This report covers {models}." if inputs.models else "This folder holds no scores."
    cases, videos = inputs.rows["case"].n_unique(), inputs.rows["video"].n_unique()
    noun = "question" if inputs.of("score") else "case"
    where = f" from {count_of(videos, 'video')}" if inputs.scores is not None and inputs.scores.has_videos else ""
    verb = "was scored" if len(inputs.models) == 1 else "were compared"
    return f"{models} {verb} on {count_of(cases, noun)}{where}."


def _paragraphs(inputs: Inputs) -> list[list[str]]:
    """One paragraph, or one more for each of several competitions."""
    found = [(one.label, [b for part in one.inputs.of("rank") for b in _boards(part)]) for one in competitions(inputs)]
    if len(found) > 1:
        return [[compared(inputs)], *([f"{label}:", *boards] for label, boards in found)]
    return [[compared(inputs), *(found[0][1] or _without_boards(inputs))]]


def _boards(part: Part) -> list[str]:
    return [_board(part, board) for board in boards_of(part)]


def _without_boards(inputs: Inputs) -> list[str]:
    tasks = inputs.first("rank-tasks")
    if tasks is not None and not tasks.table("consensus").is_empty():
        frame = tasks.table("consensus")
        first = frame.filter(pl.col("rank") == frame["rank"].min())["model"]
        rule = tasks.options.get("rule", "the rule")
        return [f"By {rule}, {names_of(first)} {'is' if len(first) == 1 else 'are'} first."]
    return _by_value(inputs)


def _board(part: Part, board: str) -> str:
    places = on_board(part, "places", board).filter(~pl.col("baseline").fill_null(False))
    if places.is_empty():
        return ""
    first = places.filter(pl.col("place") == places["place"].min())["model"].to_list()
    text = f"On the {board} board {names_of(first)} {'leads' if len(first) == 1 else 'lead together'}"
    stability = on_board(part, "stability", board)
    if len(first) == 1 and "p_first" in stability.columns:
        sure = stability.filter(pl.col("model") == first[0])["p_first"].to_list()
        if sure and sure[0] is not None:
            text += f" and is first in {percent(sure[0])} of the resamples"
    summary = on_board(part, "summary", board)
    if "in_confidence_set" in summary.columns:
        others = summary.filter(pl.col("in_confidence_set").fill_null(False) & ~pl.col("model").is_in(first)).height
        text += (
            f"; {others} more cannot be told apart from the best" if others else "; all others are told apart from it"
        )
    return text + "."


def _by_value(inputs: Inputs) -> list[str]:
    live = inputs.live
    if live is None:
        return []
    frame, why = live.intervals
    if frame.is_empty():
        return [f"Intervals could not be computed ({why})."]
    rows = frame.sort("value", descending=_largest_is_best(inputs), nulls_last=True).to_dicts()
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
    """The headline of every model with its interval, once for each competition; else values of the main metric."""
    return [block for one in competitions(inputs) for block in _headline(one)] or _values(inputs)


def _headline(competition: Competition) -> list[Block]:
    headline = summary_rows(competition.inputs, "headline")
    if headline.is_empty() or headline["ci_low"].null_count() == headline.height:
        return []
    rows = headline.unique("model", keep="first", maintain_order=True).with_columns(value=pl.col("accuracy"))
    rows = rows.with_columns(n=pl.col("videos")) if "videos" in rows.columns else rows
    estimand, title = "headline accuracy, mean over buckets", "Headline accuracy"
    label = competition.label
    name = f"headline-{slug(label)}" if label else "headline"
    return [
        picture("value_intervals", rows, name=name, title=f"{title}, {label}" if label else title, estimand=estimand)
    ]


def _values(inputs: Inputs) -> list[Block]:
    live = inputs.live
    if live is None or live.intervals[0].is_empty():
        return []
    unit = "videos" if live.table.has_videos else "cases"
    rows = live.intervals[0].select("model", "value", ci_low="low", ci_high="high")
    rows = rows.with_columns(n=pl.lit(live.table.frame["video"].n_unique(), dtype=pl.Int64))
    return [
        picture(
            "value_intervals", rows, name="values", title=f"Values of {_measure(inputs)}", unit=unit,
            estimand=f"{_measure(inputs)} over cases", largest_is_best=_largest_is_best(inputs),
        )
    ]  # fmt: skip


def _measure(inputs: Inputs) -> str:
    return "accuracy" if inputs.metric == "correct" else f"mean {plain(inputs.metric, limit=40)}"


def _largest_is_best(inputs: Inputs) -> bool:
    facts = inputs.scores.facts.get(inputs.metric) if inputs.scores is not None else None
    return facts is None or facts.larger_is_better
