"""The verdict: who leads and how firmly, why each model fails, three limitations, what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from surgeval.errors import DirectionUnknown, SurgevalError
from surgeval.report.competitions import Competition, competitions
from surgeval.report.inputs import Inputs
from surgeval.report.limits import gravest, limitations
from surgeval.report.section import Block, Note, Point, Points, Prose, Section, Table
from surgeval.report.sections._pictures import picture
from surgeval.report.sections._titles import reach_title
from surgeval.report.sections._wording import count_of, name_of, names_of, slug
from surgeval.report.sections.buckets import summary_rows
from surgeval.report.verdict.advice import advice
from surgeval.report.verdict.leads import Lead, lead_table, leads_of, sentences, title_of
from surgeval.report.verdict.measure import Measure, measure_of
from surgeval.report.verdict.reasons import reasons, unlisted
from surgeval.report.verdict.weaknesses import Examined, weaknesses
from surgeval.report.words import plain
from surgeval.scoring.study import pairs_with_best
from surgeval.scoring.verdict import verdict

_SIDE_BY_SIDE = 4
"""Competitions that fit beside each other in one picture."""
_DRAWN = 12
"""Models in the picture of the first page; the best first."""
_FEW_BOARDS = 2
"""Boards that sentences are made of; more of them are a table."""
_CAPTION = (
    "Values count every kind of question the same; in brackets 95 % intervals over videos, those of differences for"
    " that pair alone. Who is behind on average can still come first by the rule of places. May be the best too: models"
    " that these videos cannot tell from the best, all models held together at 95 %."
)


def section(inputs: Inputs) -> Section:
    """The first page of a report."""
    measure, leads, examined = measure_of(inputs), leads_of(inputs), weaknesses(inputs)
    title, spoken, power = _lead(inputs, leads, measure)
    blocks: list[Block] = [Prose(" ".join([compared(inputs), *spoken]))]
    if inputs.live is not None and (left_out := inputs.live.left_out):
        blocks.append(Note("Scores that the values below leave out:", items=tuple(t.rstrip(".") for t in left_out)))
    if len(leads) > _FEW_BOARDS:
        labels = {"value": "accuracy" if measure.is_accuracy else plain(inputs.metric, limit=40),
                  "ahead": "against the next best", "also": "may be the best too"}  # fmt: skip
        table = lead_table(leads, measure)
        blocks.append(Table("leads", "Who comes first, and how firmly", table, _CAPTION, labels=labels))
    blocks += [*_pictures(inputs, measure), *_why(examined, measure)]
    blocks += [_limits(inputs), Points("next", "What to do next", tuple(
        Point(sentence) for sentence in advice(inputs, leads, examined, power)))]  # fmt: skip
    return Section("verdict", title, tuple(blocks), layer="verdict", view="Verdict")


def compared(inputs: Inputs) -> str:
    """What was compared, on how much."""
    models = count_of(len(inputs.models), "model")
    if inputs.rows.is_empty():
        verbs = names_of(dict.fromkeys(result.kind for result in inputs.parts))
        if inputs.of("task"):
            return ""
        return f"This report covers {models}." if inputs.models else f"No scores are here, but what {verbs} wrote."
    cases, videos = inputs.rows["case"].n_unique(), inputs.rows["video"].n_unique()
    noun = "question" if inputs.of("score") else "case"
    where = f" from {count_of(videos, 'video')}" if inputs.scores is not None and inputs.scores.has_videos else ""
    verb = "was scored" if len(inputs.models) == 1 else "were compared"
    return f"{models} {verb} on {count_of(cases, noun)}{where}."


def _lead(inputs: Inputs, leads: Sequence[Lead], measure: Measure) -> tuple[str, list[str], list[str]]:
    """The title, the sentences below it, and what is said on how much data would be needed."""
    if leads:
        few = leads if len(leads) <= _FEW_BOARDS else ()
        return title_of(leads), [sentence for lead in few for sentence in sentences(lead, measure)], []
    tasks = inputs.first("rank-tasks")
    spoken = _tasks(inputs) if tasks is not None else []
    if inputs.first("rank") is not None:
        return title_of(leads), spoken, []
    if inputs.rows.is_empty() and (runs := inputs.of("task")):
        number = len({str(run.records.get("run", {}).get("task")) for run in runs})
        title = f"{count_of(len(runs), 'run')} of models on {count_of(number, 'task')}"
        return title, ["Their values stand under Models on tasks; surgeval task board sets them beside each other."], []
    lines = _one_model(inputs, measure) if len(inputs.models) == 1 else _by_value(inputs, measure)
    return (lines[0].rstrip("."), [*spoken, *lines[1:2]], lines[2:]) if lines else (_NOTHING, spoken, [])


_NOTHING = "Nothing can be concluded: there are no scores here"


def _tasks(inputs: Inputs) -> list[str]:
    firsts = []
    for tasks in inputs.of("rank-tasks"):
        frame = tasks.frame("consensus")
        if not frame.is_empty():
            first = frame.filter(pl.col("rank") == frame["rank"].min())["model"]
            rule = plain(tasks.options.get("rule", "the rule"), limit=40)
            firsts.append(f"By {rule}, {names_of(first)} {'is' if len(first) == 1 else 'are'} first.")
    return firsts


def _one_model(inputs: Inputs, measure: Measure) -> list[str]:
    """What a single model reaches; of questions one number, with the other one explained where it differs."""
    headline = summary_rows(inputs, "headline")
    if headline.is_empty() or headline["accuracy"][0] is None:
        return _by_value(inputs, measure)
    row, model = headline.row(0, named=True), name_of(inputs.models[0])
    reach = measure.reaches(row["accuracy"], row.get("low"), row.get("high"))
    text = f"{model} {reach}, where every kind of question counts the same"
    overall = inputs.rows["value"].mean() if not inputs.rows.is_empty() else None
    if not isinstance(overall, float) or measure.value(overall) == measure.value(row["accuracy"]):
        return [text, "There is no other model to compare with."]
    other = f"Counted question by question it is {measure.value(overall)}, because some kinds are asked more often."
    return [text, f"{other} There is no other model to compare with."]


def _by_value(inputs: Inputs, measure: Measure) -> list[str]:
    """The sentences of `study` about the main metric, or why nothing can be concluded."""
    live = inputs.live
    if live is None:
        return []
    name = plain(inputs.metric, limit=40)
    if inputs.better is None and len(inputs.models) > 1:
        return [f"Which values of {name} are better was not said (--better), so nothing can be concluded"]
    try:
        values = live.clustered.table.sort(
            pl.col("value") * (-measure.facts.sign if inputs.better else -1), maintain_order=True, nulls_last=True
        )
        pairs = pairs_with_best(
            live.small, values["model"].to_list(), {"metric": inputs.metric, "missing": live.missing}
        )
    except DirectionUnknown:
        return [f"Which values of {name} are better was not said (--better), so nothing can be concluded"]
    except SurgevalError as error:
        return ["Nothing can be concluded", f"Intervals could not be computed ({plain(error, limit=300)})."]
    if values["value"][0] is None:
        return [f"Nothing can be concluded: no model has a value of {name}"]
    facts = replace(measure.facts, name="accuracy") if measure.is_accuracy else measure.facts
    return verdict(values, pairs, facts, unit="video" if live.table.has_videos else "case")


def _why(examined: Examined, measure: Measure) -> list[Block]:
    """Why each model fails; nothing where there is no model."""
    points = tuple(
        Point(reason.sentence, name_of(reason.model), reason.model, reason.term)
        for reason in reasons(examined, measure)
    )
    if len(points) > 1 and len({point.text for point in points}) == 1:
        points = (Point(f"Of every model: {points[0].text}"),)
    title = "Why each model fails" if len(examined.models) > 1 else "Why it fails"
    return [Points("why", title, points, unlisted(examined))] if points else []


def _limits(inputs: Inputs) -> Points:
    grave, total = gravest(inputs), len(limitations(inputs))
    more = total - len(grave)
    rest = f"{more} more {'is' if more == 1 else 'are'} listed further down." if more > 0 else ""
    none = "None that can be found automatically; how cases were chosen cannot be seen from here."
    return Points("limits", "What limits this most", tuple(Point(text) for text in grave or [none]), rest)


def _pictures(inputs: Inputs, measure: Measure) -> list[Block]:
    """The value of every model with its interval, competitions side by side."""
    headlines = [_headline(one) for one in competitions(inputs)]
    rows = [frame for frame in headlines if not frame.is_empty()]
    if not rows:
        return _values(inputs, measure)
    estimand = "accuracy, every kind of question counting the same"
    if len(rows) <= _SIDE_BY_SIDE:
        both = pl.concat(rows, how="diagonal_relaxed")
        return [picture("value_intervals", both, name="headline", title=reach_title(both), estimand=estimand)]
    return [
        picture("value_intervals", frame.drop("panel"), name=f"headline-{slug(label)}", estimand=estimand,
                title=f"{reach_title(frame.drop('panel'))}, {label}")
        for frame, label in ((frame, str(frame["panel"][0])) for frame in rows)
    ]  # fmt: skip


def _headline(competition: Competition) -> pl.DataFrame:
    headline = summary_rows(competition.inputs, "headline")
    if headline.is_empty() or headline["low"].null_count() == headline.height or headline["model"].n_unique() < 2:
        return pl.DataFrame()
    rows = headline.unique("model", keep="first", maintain_order=True).with_columns(value=pl.col("accuracy"))
    rows = rows.sort("value", descending=True, nulls_last=True).head(_DRAWN)
    rows = rows.with_columns(n=pl.col("videos")) if "videos" in rows.columns else rows
    return rows.with_columns(panel=pl.lit(competition.label)) if competition.label else rows


def _values(inputs: Inputs, measure: Measure) -> list[Block]:
    live = inputs.live
    if live is None or live.intervals[0].height < 2:
        return []
    unit = "videos" if live.table.has_videos else "cases"
    rows = live.intervals[0].select("model", "value", "low", "high")
    if inputs.better is not None:
        rows = rows.sort("value", descending=inputs.better == "larger", nulls_last=True).head(_DRAWN)
    rows = rows.with_columns(n=pl.lit(live.table.frame["video"].n_unique(), dtype=pl.Int64))
    name = "accuracy" if measure.is_accuracy else f"mean {plain(inputs.metric, limit=40)}"
    larger = {"larger": True, "smaller": False}.get(inputs.better or "")
    return [
        picture(
            "value_intervals", rows, name="values", title=reach_title(rows, larger=larger), unit=unit,
            estimand=f"{name} over cases", largest_is_best=larger,
        )
    ]  # fmt: skip
