"""Responses into a result: each read by the form of the task, then scored under every policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from surgvalid.asking.reading import PARSER_VERSION, ReadingPolicy, ReplyRead, ReplyReading, ReplySchema, read_reply
from surgvalid.asking.reading.measured import reader_error
from surgvalid.evaluation.measure import MeasureSettings
from surgvalid.models import Can, Outcome, RunCounts, SightTest
from surgvalid.results.request import VerbRequest
from surgvalid.results.tables.tasks import READING_POLICIES
from surgvalid.schema.findings import Finding, Severity
from surgvalid.schema.outcomes import Status
from surgvalid.schema.tables.read_rows import SIGHT
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.schema.tables.units import Interpreted
from surgvalid.tasks.asking import BETWEEN
from surgvalid.tasks.prepare import PreparedTask, TaskOptions
from surgvalid.tasks.prompts import Asks
from surgvalid.tasks.result import TaskResponse, TaskResult, answers_table, costs_table, paths_table, readings_table
from surgvalid.tasks.scores import Scoring
from surgvalid.tasks.task import TaskAnswerForm, TaskForm, TaskInstance
from surgvalid.tasks.unfinished import held_back, unasked_cases


@dataclass(frozen=True)
class RunAbout:
    """Who was asked."""

    name: str
    spec: str
    revision: str
    can: Can
    sight: SightTest | None = None
    """What is known of whether it sees, where it was shown images."""


class ReplyReader:
    """Reads the outcomes of a prepared task."""

    def __init__(self, prepared: PreparedTask, options: TaskOptions, boxes: str | None) -> None:
        self.prepared, self.options, self.boxes = prepared, options, boxes
        self.schema = replace(reply_schema(prepared.task.answer), boxes=boxes, missing_keys=options.missing_keys)

    def readings(
        self, outcomes: Mapping[str, Sequence[Outcome]], again: Mapping[str, Outcome] | None = None
    ) -> dict[str, ReplyReading]:
        """The reading of every case, by name."""
        per_class = self.prepared.asking.text.asks is Asks.PER_CLASS
        readings = {}
        for case in self.prepared.cases.table["case"]:
            asked = outcomes.get(case, ())
            reading = self._per_class(asked) if per_class else self._once(case, asked[0] if asked else None)
            further = (again or {}).get(case)
            if reading.status is ReplyRead.FAILED and further is not None:
                second = self._once(case, further)
                reading = replace(second, status=ReplyRead.REPAIRED) if second.usable else reading
            readings[case] = reading
        return readings

    def _once(self, case: str, outcome: Outcome | None) -> ReplyReading:
        if outcome is None or not outcome.answered:
            return _without_answer(outcome)
        form, scores = self.prepared.task.answer.form, dict(outcome.scores) if outcome.scores else None
        classes = self.prepared.task.answer.classes
        if scores is not None and set(scores) != set(classes):
            scores = None
        if not outcome.text and scores is not None:
            best = max(classes, key=lambda name: scores[name]) if form is TaskForm.CHOICE else None
            return ReplyReading(ReplyRead.OK, best, scores=scores)
        reading = self._read(outcome, self._schema(case, outcome))
        if self.schema.form == "lists" and reading.usable:
            reading = replace(reading, value={name: name in reading.value for name in classes})
        return replace(reading, scores=reading.scores or scores) if scores else reading

    def _per_class(self, asked: Sequence[Outcome]) -> ReplyReading:
        classes = self.prepared.task.answer.classes
        if len(asked) != len(classes) or not any(one.answered for one in asked):
            return _without_answer(next((one for one in asked if not one.answered), None))
        questions = zip(classes, self.prepared.asking.text.texts, strict=True)
        schemas = [
            ReplySchema("yes_no", (name,), synonyms=self.schema.synonyms, asked=text) for name, text in questions
        ]
        readings = [
            self._read(one, schema) if one.answered else _without_answer(one)
            for one, schema in zip(asked, schemas, strict=True)
        ]
        values = {name: one.value if one.usable else None for name, one in zip(classes, readings, strict=True)}
        if all(value is None for value in values.values()):
            return readings[0]
        silent = [name for name, value in values.items() if value is None]
        notes = (f"neither yes nor no for {', '.join(silent)}",) if silent else ()
        exact = not silent and all(one.status is ReplyRead.OK for one in readings)
        path = next((one.path for one in readings if one.status is ReplyRead.REPAIRED), readings[0].path)
        return ReplyReading(ReplyRead.OK if exact else ReplyRead.REPAIRED, values, notes=notes, path=path)

    def _read(self, outcome: Outcome, schema: ReplySchema) -> ReplyReading:
        return read_reply(outcome.text, schema, finish=outcome.finish or "stop", policy=self.options.policy)

    def _schema(self, case: str, outcome: Outcome) -> ReplySchema:
        """The schema of the task with what is known of a case."""
        if self.schema.form not in ("span", "boxes"):
            return self.schema
        media = self.prepared.asking.media[case]
        moments = media.moments
        frames_s = moments.of_clip_s if moments is not None and self.prepared.task.answer.frames_prompted else ()
        return replace(
            self.schema,
            duration_s=None if moments is None else moments.duration_s,
            frames_s=tuple(frames_s),
            size_px=media.size_px if self.schema.form == "boxes" else None,
            shown_px=outcome.shown_px,
        )


def reply_schema(answer: TaskAnswerForm) -> ReplySchema:
    """What the reader of replies must know of a task.

    Example:
        >>> reply_schema(TaskAnswerForm(form=TaskForm.CHOICE, classes=("G1", "G10"), column="gesture")).form
        'choice'
    """
    return ReplySchema(
        "lists" if answer.form is TaskForm.LABELS and answer.lists else answer.form.value,
        classes=answer.classes,
        synonyms=answer.synonyms,
        numbered_from=answer.numbered_from,
        key=answer.key,
        ordered=answer.ordered,
    )


def _without_answer(outcome: Outcome | None) -> ReplyReading:
    if outcome is not None and outcome.status is Status.REFUSED:
        return ReplyReading(ReplyRead.REFUSED, problem=outcome.reason or "refused")
    reason = "not asked" if outcome is None else outcome.reason or outcome.status.value
    return ReplyReading(ReplyRead.NO_ANSWER, problem=reason)


def result_of_responses(
    prepared: PreparedTask,
    responses: Sequence[TaskResponse],
    about: RunAbout,
    options: TaskOptions,
    *,
    counts: RunCounts,
    level: float,
    root: str | Path,
) -> TaskResult:
    """The result of what a model said: read, scored under every policy, with what was noticed."""
    outcomes: dict[str, list[Outcome]] = {}
    for one in responses:
        if not one.again:
            outcomes.setdefault(one.id.rpartition(BETWEEN)[0] if _is_split(prepared) else one.id, []).append(
                one.outcome
            )
    again = {one.id: one.outcome for one in responses if one.again}
    by_policy = {
        policy: ReplyReader(prepared, replace(options, policy=policy), about.can.boxes).readings(outcomes, again)
        for policy in dict.fromkeys((*ReadingPolicy, ReadingPolicy(options.policy)))
    }
    readings = by_policy[ReadingPolicy(options.policy)]
    settings = MeasureSettings(level=level)
    scoring = Scoring(prepared.task, prepared.cases, readings, Path(root), settings)
    task, text = prepared.task, prepared.asking.text
    conventions = {
        "task": task.name,
        "videos": prepared.cases.which,
        "prompt": text.id,
        "shots": str(options.shots),
        "media": f"{prepared.plan.text} ({prepared.plan.digest})",
        "parser": PARSER_VERSION,
    }
    unasked = unasked_cases(prepared.cases.table["case"].to_list(), outcomes)
    lost = _lost({case: reading for case, reading in readings.items() if case not in unasked})
    sight = about.sight
    findings = [*prepared.findings, *(sight.findings if sight else ()), *lost, *counts.notices()]
    made, policies = scoring.result(about.name, conventions, findings), scoring.policies()
    if unasked:
        made = held_back(made, policies, scoring, unasked, findings)
    tables = {
        "metrics": made.tables["metrics"],
        "policies": made.tables.get("policies", policies),
        "readings": readings_table(prepared.cases.table, readings),
        "reading_policies": _reading_policies(scoring, {} if unasked else by_policy, about.name),
        "reading_paths": paths_table(readings),
        "answers": answers_table(prepared.cases.table, readings, outcomes),
        "costs": costs_table(about.name, counts, responses),
        **{key: frame for key, frame in made.tables.items() if key not in ("metrics", "policies")},
    }
    record = {
        "task": task.name,
        "file": task.file,
        "model": about.name,
        "spec": about.spec,
        "revision": about.revision,
        "can": asdict(about.can),
        "prompt": text.id,
        "version": text.version,
        "family": text.family,
        "faults": list(text.faults),
        "shots": options.shots,
        "headline": scoring.headline,
        "parser": PARSER_VERSION,
        "reader_error": reader_error(),
        "media": {"plan": prepared.plan.text, "digest": prepared.plan.digest},
        "counts": counts.as_dict(),
        "sight": None if sight is None else sight.as_dict(),
        "options": _plain(options),
        "root": str(root),
        "level": level,
    }
    error = reader_error()
    prose = (
        f" Task {task.name} ({task.citation or task.title}); prompt {text.id}; {options.shots} shots. Replies were "
        f"read by reader {PARSER_VERSION}, policy {options.policy}; of {error['labelled_replies']} labelled replies, "
        f"which it was written with, it reads {error['wrongly_read']:.1%} wrongly and loses "
        f"{error['wrongly_lost']:.1%} of those with a value; of new ones an earlier state of it read "
        f"{error['unseen_wrongly_read']:.1%} wrongly and lost {error['unseen_wrongly_lost']:.1%}."
    )
    if sight is not None:
        prose += f" Before the first case {sight.sentence} ({sight.requests} requests, which no cost counts)."
    return TaskResult(
        kind=made.kind,
        model=about.name,
        task=task.name,
        headline=scoring.headline,
        tables=tables,
        main="metrics",
        records={**made.records, "run": record},
        prose=made.prose + prose,
        findings=made.findings,
        scores=_named(made.scores, task, options, scoring.headline, sight),
        boards=made.boards,
        responses=tuple(responses),
        counts=counts,
        request=VerbRequest(settled={"model": about.spec, "revision": about.revision}),
    )


def _reading_policies(
    scoring: Scoring, by_policy: Mapping[ReadingPolicy, Mapping[str, ReplyReading]], model: str
) -> pl.DataFrame:
    """The primary metric under every policy of reading, and the rows that the study printed of it."""
    rows = [
        replace(scoring, readings=readings).reading_row(str(policy), model, scoring.headline)
        for policy, readings in by_policy.items()
    ]
    rows += [
        {
            "reading_policy": "published",
            "model": one.model,
            "metric": scoring.headline,
            "value": one.values[scoring.headline],
            **dict.fromkeys(("low", "high", "cases", "usable")),
        }
        for one in scoring.task.published.rows
        if scoring.headline in one.values
    ]
    return READING_POLICIES.frame(rows)


def _is_split(prepared: PreparedTask) -> bool:
    return prepared.asking.text.asks is Asks.PER_CLASS


def _plain(options: TaskOptions) -> dict[str, Any]:
    return {**asdict(options), "videos": list(options.videos)}


def _lost(readings: Mapping[str, ReplyReading]) -> list[Finding]:
    lost = [one for one in readings.values() if not one.usable]
    if not lost:
        return []
    severity = Severity.ERROR if len(lost) == len(readings) else Severity.WARNING
    message = f"{len(lost):,} of {len(readings):,} cases have no answer and count as wrong (first: {lost[0].problem})"
    return [Finding("nothing-came" if severity is Severity.ERROR else "answers-lost", severity, message)]


def _named(
    scores: ScoreTable, task: TaskInstance, options: TaskOptions, headline: str, sight: SightTest | None
) -> ScoreTable:
    """The scores with their task, which keeps tables of several tasks apart, and with what is said of their model."""
    marks = [Interpreted(SIGHT, "", f"{scores.models[0]}: {one.message}") for one in (sight.findings if sight else ())]
    scores = replace(scores, read_as=scores.read_as.marked(*marks))
    frame = scores.frame.with_columns(pl.lit(task.name).alias("task"), pl.lit(options.shots).alias("shots"))
    return replace(scores, frame=frame, main=headline if headline in scores.metrics else scores.main)
