"""The verdict: who leads and how firmly, why each model fails, three limitations, what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from surgvalid.errors import DirectionUnknown, SurgvalidError
from surgvalid.report.figures import picture, reach_title
from surgvalid.report.inputs import Competition, ReportInputs, competitions
from surgvalid.report.limits import gravest, limitations
from surgvalid.report.section import Block, Note, Point, Points, Prose, ReportTable, Section
from surgvalid.report.sections.buckets import summary_rows
from surgvalid.report.verdict.advice import advice
from surgvalid.report.verdict.leads import Lead, Measure, lead_table, leads_of, measure_of, sentences, title_of
from surgvalid.report.verdict.reasons import reasons, unlisted
from surgvalid.report.verdict.weaknesses import Examined, weaknesses
from surgvalid.report.words import count_of, name_of, names_of, plain, slug
from surgvalid.schema.metric_facts import MetricFacts
from surgvalid.stats.verdict.grounds import why_of
from surgvalid.stats.verdict.sentences import reaches, sentences_of
from surgvalid.stats.verdict.sentences import title_of as title_of_verdict
from surgvalid.stats.verdict.who_is_better import VerdictQuestion, verdict

_SIDE_BY_SIDE = 4
"""Competitions that fit beside each other in one image."""
_DRAWN = 12
"""Models in the image of the first page; the best first."""
_FEW_BOARDS = 2
"""Leaderboards that sentences are made of; more of them are a table."""
_CAPTION = (
    "Values count every kind of question the same; in brackets 95 % intervals over videos, those of differences for"
    " that pair alone. Who is behind on average can still come first by the ranking rule. May be the best too: models"
    " that these videos cannot tell from the best, all models held together at 95 %."
)


def section(inputs: ReportInputs) -> Section:
    """The first page of a report."""
    measure, leads, examined = measure_of(inputs), leads_of(inputs), weaknesses(inputs)
    title, spoken, power = _lead(inputs, leads, measure)
    blocks: list[Block] = [Prose(" ".join([compared(inputs), *spoken]))]
    if inputs.live is not None and (left_out := inputs.live.left_out):
        blocks.append(Note("Scores that the values below leave out:", items=tuple(t.rstrip(".") for t in left_out)))
    if len(leads) > _FEW_BOARDS:
        labels = {
            "value": "accuracy" if measure.is_accuracy else plain(inputs.metric, limit=40),
            "ahead": "against the next best",
            "also": "may be the best too",
        }
        table = lead_table(leads, measure)
        blocks.append(ReportTable("leads", "Who comes first, and how firmly", table, _CAPTION, labels=labels))
    blocks += [*_pictures(inputs, measure), *_why(examined, measure)]
    blocks += [
        _limits(inputs),
        Points("next", "What to do next", tuple(Point(sentence) for sentence in advice(inputs, examined, power))),
    ]
    return Section("verdict", title, tuple(blocks), layer="verdict", view="Verdict")


def compared(inputs: ReportInputs) -> str:
    """What was compared, on how much."""
    models = count_of(len(inputs.models), "model")
    if inputs.rows.is_empty():
        verbs = names_of(dict.fromkeys(result.kind for result in inputs.parts))
        if inputs.of("task"):
            return ""
        return f"This report covers {models}." if inputs.models else f"No scores are here, but what {verbs} wrote."
    cases, videos = inputs.rows["case"].n_unique(), inputs.rows["video"].n_unique()
    noun = "question" if inputs.of("score") else "case"
    scores = inputs.scores
    where = ""
    if scores is not None and scores.has_videos and scores.unit.is_known:
        where = f" from {count_of(videos, scores.unit.word)}"
    return f"{models} {'was' if len(inputs.models) == 1 else 'were'} scored on {count_of(cases, noun)}{where}."


def _lead(inputs: ReportInputs, leads: Sequence[Lead], measure: Measure) -> tuple[str, list[str], list[str]]:
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
        return (
            title,
            ["Their values stand under Models on tasks; surgvalid task leaderboard sets them beside each other."],
            [],
        )
    if len(inputs.models) > 1 and inputs.live is not None:
        title, lines, sizes = _by_value(inputs, measure)
        return title, [*spoken, *lines], sizes
    lines = _one_model(inputs, measure)
    return (lines[0].rstrip("."), [*spoken, *lines[1:2]], lines[2:]) if lines else (_NOTHING, spoken, [])


_NOTHING = "There are no scores here"


def _tasks(inputs: ReportInputs) -> list[str]:
    firsts = []
    for tasks in inputs.of("rank-tasks"):
        frame = tasks.frame("consensus")
        if not frame.is_empty():
            first = frame.filter(pl.col("rank") == frame["rank"].min())["model"]
            rule = plain(tasks.options.get("rule", "the rule"), limit=40)
            firsts.append(f"By {rule}, {names_of(first)} {'is' if len(first) == 1 else 'are'} first.")
    return firsts


def _one_model(inputs: ReportInputs, measure: Measure) -> list[str]:
    """What a single model reaches; of questions one number, with the other one explained where it differs."""
    headline = summary_rows(inputs, "headline")
    if headline.is_empty() or headline["accuracy"][0] is None:
        return _alone(inputs, measure)
    row, model = headline.row(0, named=True), name_of(inputs.models[0])
    reach = measure.reaches(row["accuracy"], row.get("low"), row.get("high"))
    text = f"{model} {reach}, where every kind of question counts the same"
    overall = inputs.rows["value"].mean() if not inputs.rows.is_empty() else None
    if not isinstance(overall, float) or measure.value(overall) == measure.value(row["accuracy"]):
        return [text, "There is no other model to compare with."]
    other = f"Counted question by question it is {measure.value(overall)}, because some kinds are asked more often."
    return [text, f"{other} There is no other model to compare with."]


def _alone(inputs: ReportInputs, measure: Measure) -> list[str]:
    """What the only model reaches by the main metric."""
    if inputs.live is None:
        return []
    try:
        row = inputs.live.clustered.table.row(0, named=True)
    except SurgvalidError as error:
        return ["One model, without an interval", f"Intervals could not be computed ({plain(error, limit=300)})."]
    if row["value"] is None:
        return [f"No model has a value of {plain(inputs.metric, limit=40)}"]
    return [reaches(row, _named(measure), inputs.live.table.unit.word)]


def _by_value(inputs: ReportInputs, measure: Measure) -> tuple[str, list[str], list[str]]:
    """Title, sentences and needed sizes of the verdict on the main metric, or why there is none."""
    live, name = inputs.live, plain(inputs.metric, limit=40)
    if live is None:
        return _NOTHING, [], []
    margin, against = (inputs.options.get(name) for name in ("margin", "against"))
    question = VerdictQuestion(inputs.metric, live.missing, margin=margin, against=against)
    try:
        judged = verdict(live.table, question)
    except DirectionUnknown:
        return f"Which values of {name} are better was not said (--better)", [], []
    except SurgvalidError as error:
        return "No verdict", [f"The models could not be compared ({plain(error, limit=300)})."], []
    judged = replace(judged, metric=_named(measure))
    lines = sentences_of(judged)
    if inputs.options.get("why"):
        why = why_of(judged)
        lines = tuple(f"{one['sentence']} ({one['rule']}; {one['numbers']}; {one['source']}.)" for one in why)
    spoken = dict(zip((one.code for one in judged.statements), lines, strict=True))
    sizes = [spoken.pop("size")] if "size" in spoken else []
    return title_of_verdict(judged), list(spoken.values()), sizes


def _named(measure: Measure) -> MetricFacts:
    return replace(measure.facts, name="accuracy") if measure.is_accuracy else measure.facts


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


def _limits(inputs: ReportInputs) -> Points:
    grave, total = gravest(inputs), len(limitations(inputs))
    more = total - len(grave)
    rest = f"{more} more {'is' if more == 1 else 'are'} listed further down." if more > 0 else ""
    none = "None that can be found automatically; how cases were chosen cannot be seen from here."
    return Points("limits", "What limits this most", tuple(Point(text) for text in grave or [none]), rest)


def _pictures(inputs: ReportInputs, measure: Measure) -> list[Block]:
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
        picture(
            "value_intervals",
            frame.drop("panel"),
            name=f"headline-{slug(label)}",
            estimand=estimand,
            title=f"{reach_title(frame.drop('panel'))}, {label}",
        )
        for frame, label in ((frame, str(frame["panel"][0])) for frame in rows)
    ]


def _headline(competition: Competition) -> pl.DataFrame:
    headline = summary_rows(competition.inputs, "headline")
    if headline.is_empty() or headline["low"].null_count() == headline.height or headline["model"].n_unique() < 2:
        return pl.DataFrame()
    rows = headline.unique("model", keep="first", maintain_order=True).with_columns(value=pl.col("accuracy"))
    rows = rows.sort("value", descending=True, nulls_last=True).head(_DRAWN)
    rows = rows.with_columns(n=pl.col("videos")) if "videos" in rows.columns else rows
    return rows.with_columns(panel=pl.lit(competition.label)) if competition.label else rows


def _values(inputs: ReportInputs, measure: Measure) -> list[Block]:
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
            "value_intervals",
            rows,
            name="values",
            title=reach_title(rows, larger=larger),
            unit=unit,
            estimand=f"{name} over cases",
            largest_is_best=larger,
        )
    ]
