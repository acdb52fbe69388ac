"""Responses into a result: each read by the form of the task, then scored under every policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from surgeval.models import Can, Outcome, RunCounts
from surgeval.results.request import Request
from surgeval.schema.findings import Finding, Severity
from surgeval.schema.outcomes import Status
from surgeval.schema.score_table import ScoreTable
from surgeval.scoring.evaluate.measure import Settings
from surgeval.tasks.asking import BETWEEN
from surgeval.tasks.parsing.label_sets import read_yes_no
from surgeval.tasks.parsing.reader import PARSER_VERSION, AnswerReader, Context
from surgeval.tasks.parsing.reading import Read, Reading
from surgeval.tasks.prepare import Prepared, TaskOptions
from surgeval.tasks.prompts import Asks
from surgeval.tasks.result import Response, TaskResult, answers_table, costs_table, readings_table
from surgeval.tasks.scores import Scoring
from surgeval.tasks.task import Form, TaskInstance


@dataclass(frozen=True)
class RunAbout:
    """Who was asked."""

    name: str
    spec: str
    revision: str
    can: Can


class Reader:
    """Reads the outcomes of a prepared task."""

    def __init__(self, prepared: Prepared, options: TaskOptions, boxes: str | None) -> None:
        self.prepared, self.options, self.boxes = prepared, options, boxes
        self.reader = AnswerReader(prepared.task.answer)

    def readings(
        self, outcomes: Mapping[str, Sequence[Outcome]], again: Mapping[str, Outcome] | None = None
    ) -> dict[str, Reading]:
        """The reading of every case, by name."""
        per_class = self.prepared.asking.text.asks is Asks.PER_CLASS
        readings = {}
        for case in self.prepared.cases.table["case"]:
            asked = outcomes.get(case, ())
            reading = self._per_class(asked) if per_class else self._once(case, asked[0] if asked else None)
            further = (again or {}).get(case)
            if reading.status is Read.FAILED and further is not None:
                second = self._once(case, further)
                reading = replace(second, status=Read.REPAIRED) if second.usable else reading
            readings[case] = reading
        return readings

    def _once(self, case: str, outcome: Outcome | None) -> Reading:
        if outcome is None or not outcome.answered:
            return _without_answer(outcome)
        form, scores = self.prepared.task.answer.form, dict(outcome.scores) if outcome.scores else None
        classes = self.prepared.task.answer.classes
        if scores is not None and set(scores) != set(classes):
            scores = None
        if not outcome.text and scores is not None:
            best = max(classes, key=lambda name: scores[name]) if form is Form.CHOICE else None
            return Reading(Read.OK, best, scores=scores)
        reading = self.reader.read(outcome.text, self._context(case, outcome))
        return replace(reading, scores=reading.scores or scores) if scores else reading

    def _per_class(self, asked: Sequence[Outcome]) -> Reading:
        classes = self.prepared.task.answer.classes
        if len(asked) != len(classes) or not any(one.answered for one in asked):
            return _without_answer(next((one for one in asked if not one.answered), None))
        values = {name: read_yes_no(one.text) if one.answered else None
                  for name, one in zip(classes, asked, strict=True)}  # fmt: skip
        if all(value is None for value in values.values()):
            return Reading(Read.FAILED, problem="no answer is yes or no")
        silent = [name for name, value in values.items() if value is None]
        notes = (f"neither yes nor no for {', '.join(silent)}",) if silent else ()
        return Reading(Read.REPAIRED if silent else Read.OK, values, notes=notes)

    def _context(self, case: str, outcome: Outcome) -> Context:
        media = self.prepared.asking.media[case]
        moments = media.moments
        wants_size = self.prepared.task.answer.form is Form.BOXES
        return Context(
            duration_s=None if moments is None else moments.duration_s,
            frames_s=() if moments is None else moments.of_clip_s, boxes=self.boxes,
            size_px=media.size_px if wants_size else None, shown_px=outcome.shown_px,
            missing_keys=self.options.missing_keys, lenient=self.options.lenient,
        )  # fmt: skip


def _without_answer(outcome: Outcome | None) -> Reading:
    if outcome is not None and outcome.status is Status.REFUSED:
        return Reading(Read.REFUSED, problem=outcome.reason or "refused")
    reason = "not asked" if outcome is None else outcome.reason or outcome.status.value
    return Reading(Read.NO_ANSWER, problem=reason)


def result_of_responses(
    prepared: Prepared, responses: Sequence[Response], about: RunAbout, options: TaskOptions, *, counts: RunCounts,
    level: float, root: str | Path,
) -> TaskResult:  # fmt: skip
    """The result of what a model said: read, scored under every policy, with what was noticed."""
    outcomes: dict[str, list[Outcome]] = {}
    for one in responses:
        if not one.again:
            outcomes.setdefault(one.id.rpartition(BETWEEN)[0] if _is_split(prepared) else one.id, []).append(
                one.outcome
            )
    again = {one.id: one.outcome for one in responses if one.again}
    readings = Reader(prepared, options, about.can.boxes).readings(outcomes, again)
    scoring = Scoring(prepared.task, prepared.cases, readings, Path(root), Settings(level=level))
    task, text = prepared.task, prepared.asking.text
    conventions = {
        "task": task.name, "videos": prepared.cases.which, "prompt": text.id, "shots": str(options.shots),
        "media": f"{prepared.plan.text} ({prepared.plan.digest})", "parser": PARSER_VERSION,
    }  # fmt: skip
    made = scoring.result(about.name, conventions, [*prepared.findings, *_lost(readings), *counts.notices()])
    tables = {
        "metrics": made.tables["metrics"],
        "policies": scoring.policies(),
        "readings": readings_table(prepared.cases.table, readings),
        "answers": answers_table(prepared.cases.table, readings, outcomes),
        "costs": costs_table(about.name, counts, responses),
        **{key: frame for key, frame in made.tables.items() if key != "metrics"},
    }
    record = {
        "task": task.name, "file": task.file, "model": about.name, "spec": about.spec, "revision": about.revision,
        "can": asdict(about.can), "prompt": text.id, "version": text.version, "family": text.family,
        "faults": list(text.faults), "shots": options.shots, "headline": scoring.headline,
        "parser": PARSER_VERSION, "media": {"plan": prepared.plan.text, "digest": prepared.plan.digest},
        "counts": counts.as_dict(), "options": _plain(options), "root": str(root), "level": level,
    }  # fmt: skip
    prose = f" Task {task.name} ({task.citation or task.title}); prompt {text.id}; {options.shots} shots."
    return TaskResult(
        kind=made.kind, model=about.name, task=task.name, headline=scoring.headline, tables=tables, main="metrics",
        records={**made.records, "run": record}, prose=made.prose + prose, findings=made.findings,
        scores=_named(made.scores, task, options, scoring.headline), boards=made.boards, responses=tuple(responses),
        counts=counts, request=Request(settled={"model": about.spec, "revision": about.revision}),
    )  # fmt: skip


def _is_split(prepared: Prepared) -> bool:
    return prepared.asking.text.asks is Asks.PER_CLASS


def _plain(options: TaskOptions) -> dict[str, Any]:
    return {**asdict(options), "videos": list(options.videos)}


def _lost(readings: Mapping[str, Reading]) -> list[Finding]:
    lost = [one for one in readings.values() if not one.usable]
    if not lost:
        return []
    severity = Severity.ERROR if len(lost) == len(readings) else Severity.WARNING
    message = f"{len(lost):,} of {len(readings):,} cases have no answer and count as wrong (first: {lost[0].problem})"
    return [Finding("nothing-came" if severity is Severity.ERROR else "answers-lost", severity, message)]


def _named(scores: ScoreTable, task: TaskInstance, options: TaskOptions, headline: str) -> ScoreTable:
    """The scores with their task, which keeps tables of several tasks apart."""
    frame = scores.frame.with_columns(pl.lit(task.name).alias("task"), pl.lit(options.shots).alias("shots"))
    return replace(scores, frame=frame, main=headline if headline in scores.metrics else scores.main)
