"""The verdict: who leads and how firmly, why each model fails, three limitations, what to do next."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from surgvalid.errors import DirectionUnknown, SurgvalidError
from surgvalid.report.figures import picture
from surgvalid.report.inputs import ReportInputs, ceiling_of
from surgvalid.report.limits import gravest, limitations
from surgvalid.report.section import Block, Fold, Point, Points, Prose, ReportTable, Section, WorstCases
from surgvalid.report.sections.buckets import summary_rows
from surgvalid.report.verdict.advice import MOST_ADVICE, NOTHING, advice
from surgvalid.report.verdict.frequencies import contrasts
from surgvalid.report.verdict.leads import Measure, lead_of, leads_of, measure_of, title_of
from surgvalid.report.verdict.overturning import overturning
from surgvalid.report.verdict.reasons import UNKNOWN, reasons, unlisted
from surgvalid.report.verdict.standings import standings
from surgvalid.report.verdict.weaknesses import Examined, weaknesses
from surgvalid.report.verdict_page import opening, steps_of
from surgvalid.report.words import count_of, name_of, names_of, plain, spoken_term
from surgvalid.schema.findings import Finding, Severity
from surgvalid.schema.tables.shown_tables import spelled
from surgvalid.scoring.people import said_of_people
from surgvalid.stats.verdict.sentences import sentences_of
from surgvalid.stats.verdict.sentences import title_of as title_of_verdict
from surgvalid.stats.verdict.study import study_of
from surgvalid.stats.verdict.who_is_better import VerdictQuestion

_DRAWN = 12
"""Models in the image of the first page; the best first."""
_MOST_LIMITS = 12


def section(inputs: ReportInputs) -> Section:
    """The first page of a report: leaderboards, else the main metric as `study` judges it, else what is there."""
    measure, leads, examined = measure_of(inputs), leads_of(inputs), weaknesses(inputs)
    steps: list[str] = []
    last: list[str] = []
    blocks: list[Block]
    if leads or inputs.first("rank") is not None:
        title, spoken = title_of(leads), [lead_of(leads, measure) or compared(inputs)]
        unit = inputs.scores.unit.word if inputs.scores is not None else "video"
        table, last = standings(inputs, measure, unit), overturning(inputs, unit)
        blocks = [*([table] if table is not None else []), _limits(inputs)]
    elif (judged := _studied(inputs, measure)) is not None:
        title, spoken, blocks, steps = judged
    else:
        title, spoken = _of_one_model(inputs, measure) or _of_parts(inputs)
        blocks = [_limits(inputs)]
    spoken = spoken or _tasks(inputs)  # a consensus of ranks names a first one whether or not it is told apart
    first, *rest = spoken or [compared(inputs)]
    rest += [finding.message for finding in said_of_people(ceiling_of(inputs))]
    further = [Prose(" ".join(rest))] if rest else []
    steps = list(dict.fromkeys([*steps, *advice(inputs, examined)]))[:MOST_ADVICE] or [NOTHING]
    after = Points("next", "What to do next", tuple(Point(sentence) for sentence in steps))
    every: list[Block] = [*further, *blocks, *_why(inputs, examined, measure)]
    if last:
        every.append(Points("overturn", "What would overturn it", tuple(map(Point, last))))
    return Section("verdict", title, (*every, after), lead=first, layer="verdict", view="Verdict")


def _studied(inputs: ReportInputs, measure: Measure) -> tuple[str, list[str], list[Block], list[str]] | None:
    """Title, sentence, blocks and steps of the main metric, the same as those of `study`; None without scores.

    A single model that was scored on questions has its primary result instead.
    """
    live, name = inputs.live, plain(inputs.metric, limit=40)
    if live is None or _of_one_model(inputs, measure) is not None:
        return None
    margin, against = (inputs.options.get(name) for name in ("margin", "against"))
    try:
        made = study_of(live.table, VerdictQuestion(inputs.metric, live.missing, margin=margin, against=against))
    except DirectionUnknown:
        return f"Which values of {name} are better was not said (--better)", [], _values(inputs), []
    except SurgvalidError as error:
        why_none = [f"There is no number to judge by ({plain(error, limit=300)})."]
        return "No verdict", why_none, [_limits(inputs)], []
    judged = made.verdict
    judged = replace(judged, metric=replace(judged.metric, name="accuracy")) if measure.is_accuracy else judged
    cases = inputs.rows.select("model", "case", "value")
    blocks = opening(judged, made.tables, cases, [*made.findings, *_noticed(inputs)])
    if inputs.options.get("why"):
        blocks.append(ReportTable("why", "Why each sentence is said", made.tables["why"]))
    return title_of_verdict(judged), [sentences_of(judged)[0]], blocks, steps_of(judged, made.tables)


def _noticed(inputs: ReportInputs) -> list[Finding]:
    """Limitations of the report's inputs, as findings for the one folded line."""
    return [Finding("limit", Severity.WARNING, text) for text in _grave(inputs)]


def compared(inputs: ReportInputs) -> str:
    """What was compared, on how much."""
    models = count_of(len(inputs.models), "model")
    if inputs.rows.is_empty():
        return f"No scores are here, but what {names_of(dict.fromkeys(one.kind for one in inputs.parts))} wrote."
    cases, videos = inputs.rows["case"].n_unique(), inputs.rows["video"].n_unique()
    noun = "question" if inputs.of("score") else "case"
    scores = inputs.scores
    where = ""
    if scores is not None and scores.has_videos and scores.unit.is_known:
        where = f" from {count_of(videos, scores.unit.word)}"
    return f"{models} {'was' if len(inputs.models) == 1 else 'were'} scored on {count_of(cases, noun)}{where}."


_NOTHING = "There are no scores here"


def _of_parts(inputs: ReportInputs) -> tuple[str, list[str]]:
    """Title and sentence where there are no scores."""
    if inputs.rows.is_empty() and (runs := inputs.of("task")):
        number = len({str(run.records.get("run", {}).get("task")) for run in runs})
        title = f"{count_of(len(runs), 'run')} of models on {count_of(number, 'task')}"
        pointer = "Their values stand under Models on tasks; surgvalid task leaderboard sets them beside each other."
        return title, [pointer]
    return _NOTHING, []


def _tasks(inputs: ReportInputs) -> list[str]:
    firsts = []
    for tasks in inputs.of("rank-tasks"):
        frame = tasks.frame("consensus")
        if not frame.is_empty():
            first = frame.filter(pl.col("rank") == frame["rank"].min())["model"]
            rule = plain(tasks.options.get("rule", "the rule"), limit=40)
            firsts.append(f"By {rule}, {names_of(first)} {'is' if len(first) == 1 else 'are'} first.")
    return firsts


def _of_one_model(inputs: ReportInputs, measure: Measure) -> tuple[str, list[str]] | None:
    """What a single model reaches on questions, by one number, with the other one explained where it differs."""
    headline = summary_rows(inputs, "headline")
    if len(inputs.models) != 1 or headline.is_empty() or headline["accuracy"][0] is None:
        return None
    row, model = headline.row(0, named=True), name_of(inputs.models[0])
    title = f"{model} {measure.reaches(row['accuracy'], None, None)}"
    known = row.get("low") is not None and row.get("high") is not None
    ends = f"The 95 % interval is {measure.ends(row['low'], row['high'])}; every" if known else "Every"
    text = f"{ends} kind of question counts the same. There is no other model to compare with."
    overall = inputs.rows["value"].mean() if not inputs.rows.is_empty() else None
    if not isinstance(overall, float) or measure.value(overall) == measure.value(row["accuracy"]):
        return title, [text]
    other = f"Counted question by question it is {measure.value(overall)}, because some kinds are asked more often."
    return title, [f"{text} {other}"]


def _why(inputs: ReportInputs, examined: Examined, measure: Measure) -> list[Block]:
    """Why each model fails, the worst cases of the first that has a weakness; nothing where there is no model."""
    explained = reasons(examined, measure, contrasts(inputs, examined))
    points = tuple(Point(one.sentence, name_of(one.model), one.model, one.term, one.dots) for one in explained)
    if not points or all(one.sentence == UNKNOWN for one in explained):
        return []
    weak = [one for one in explained if one.dots]
    title = "Why each model fails"
    if weak:
        verb = "model has a weakness" if len(weak) == 1 else "models have a weakness"
        title = f"{spelled(len(weak)).capitalize()} {verb} of {'its' if len(weak) == 1 else 'their'} own"
    blocks: list[Block] = [Points("why", title, points, unlisted(examined))]
    if (first := next((one for one in weak if one.term), None)) is not None:
        where = f"{name_of(first.model)} on {spoken_term(first.term)}"
        blocks.append(WorstCases("worst", f"Wrong answers of {where}", first.model, first.term))
    return blocks


def _grave(inputs: ReportInputs) -> list[str]:
    """What limits the claim most, scores that are left out, and where everything is listed."""
    left_out = [] if inputs.live is None else [f"{text.rstrip('.')}." for text in inputs.live.left_out]
    grave, total = gravest(inputs, most=_MOST_LIMITS), len(limitations(inputs))
    return [*grave, *left_out, *([f"Limitations found lists all {total}."] if total > len(grave) else [])]


def _limits(inputs: ReportInputs) -> Fold:
    none = "None that can be found automatically; how cases were chosen cannot be seen from here."
    return Fold("limits", "What limits this", tuple(_grave(inputs) or [none]))


def _values(inputs: ReportInputs) -> list[Block]:
    """The value of every model, where nobody said which values are better."""
    live = inputs.live
    if live is None or live.intervals[0].height < 2:
        return [_limits(inputs)]
    rows = live.intervals[0].select("model", "value", "low", "high").head(_DRAWN)
    rows = rows.with_columns(n=pl.lit(live.table.frame["video"].n_unique(), dtype=pl.Int64))
    shown = {"unit": f"{live.table.unit.word}s", "estimand": f"mean {plain(inputs.metric, limit=40)} over cases"}
    drawn = picture(
        "value_intervals", rows, name="values", title="What each model reaches", largest_is_best=None, **shown
    )
    return [drawn, _limits(inputs)]
