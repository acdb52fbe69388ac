"""Readings into scores, under every rule for answers that could not be read.

    wrong      a case without an answer is wrong: another class than the reference, the opposite of every label, no
               overlap, no box. The primary metric.
    excluded   only cases that were answered count.
    study      what the study put in their place: a default class, no label, the span (0, 0).
Metrics are those of `surgvalid evaluate`, with intervals over videos and the conventions that they were computed under.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from surgvalid.asking.reading import ReplyRead, ReplyReading
from surgvalid.datasets import STRATA
from surgvalid.errors import FileUnreadable
from surgvalid.evaluation.data_sets import PreparedReferences
from surgvalid.evaluation.measure import EvaluationMaterial, MeasureJob, MeasureSettings, material_of, measure
from surgvalid.evaluation.predictions.mask_files import PngFiles, pixels_of
from surgvalid.evaluation.result import EvaluationResult
from surgvalid.evaluation.run import result_of
from surgvalid.metrics import open_metric
from surgvalid.metrics.detection.masks import mask_of_polygons
from surgvalid.metrics.times import IntervalCases
from surgvalid.results.tables.tasks import POLICIES
from surgvalid.schema.findings import Finding
from surgvalid.schema.outcomes import Status
from surgvalid.tasks.cases import SPAN, Cases
from surgvalid.tasks.task import TaskForm, TaskInstance
from surgvalid.video.images import image_size

LABEL_POLICIES = ("supported", "declared", "union")
_KINDS = {
    TaskForm.CHOICE: "classification",
    TaskForm.LABELS: "classification",
    TaskForm.BOXES: "detection",
    TaskForm.MASKS: "segmentation",
}


class Policy(StrEnum):
    """What becomes of a case without an answer."""

    WRONG = "wrong"
    EXCLUDED = "excluded"
    STUDY = "study"


@dataclass(frozen=True)
class Scoring:
    """The cases of a run and how their answers were read."""

    task: TaskInstance
    cases: Cases
    readings: Mapping[str, ReplyReading]
    root: Path
    settings: MeasureSettings

    @property
    def decides(self) -> bool:
        """Whether any answer holds a decision, and not numbers alone."""
        return any(one.value is not None for one in self.readings.values()) or not self.gives_scores

    @property
    def gives_scores(self) -> bool:
        """Whether answers hold a number per class."""
        return any(one.scores is not None for one in self.readings.values())

    @property
    def headline(self) -> str:
        """The metric that stands for the run."""
        scored = self.task.scored
        return scored.headline if self.decides or not scored.of_scores else scored.of_scores[0]

    def metrics(self) -> tuple[str, ...]:
        """The metrics that these answers can be measured with, the primary metric first."""
        scored = self.task.scored
        of_scores = scored.of_scores if self.task.answer.form is TaskForm.LABELS and self.gives_scores else ()
        return (*(scored.names if self.decides else ()), *of_scores)

    def material(self, policy: Policy = Policy.WRONG, labels: str | None = None) -> EvaluationMaterial | None:
        """What there is to measure under a policy; None where no case is left."""
        table = self.cases.table
        if policy is Policy.EXCLUDED:
            table = table.filter(pl.Series([self._complete(case) for case in table["case"]], dtype=pl.Boolean))
        if table.is_empty():
            return None
        return _MAKERS[self.task.answer.form](self, table, policy, labels or self.task.scored.labels)

    def result(self, model: str, conventions: Mapping[str, str], findings: Sequence[Finding | str]) -> EvaluationResult:
        """Everything that can be said of the run under the primary policy."""
        material = self.material()
        if material is None:
            raise AssertionError("a run has cases")
        counted = {"answers that could not be read": "count as wrong", **conventions}
        if self.cases.unit != "video":
            counted["independent unit"] = self.cases.unit
        prepared = PreparedReferences(None, {}, counted, notes=tuple(findings), clusters=self.cases.clusters)
        kind = _KINDS.get(self.task.answer.form, "spans")
        settings = self.settings._replace(clusters=self.cases.clusters)
        return result_of(kind, model, material, settings, prepared, self.metrics(), _quiet)

    def policies(self) -> pl.DataFrame:
        """Every metric under every policy, and under every rule for which classes count."""
        labelled = self.task.answer.form in (TaskForm.CHOICE, TaskForm.LABELS)
        runs = [(Policy.WRONG, name) for name in (LABEL_POLICIES if labelled else ("",))]
        runs.append((Policy.EXCLUDED, self.task.scored.labels if labelled else ""))
        if self.task.study:
            runs.append((Policy.STUDY, self.task.scored.published_labels if labelled else ""))
        rows: list[dict[str, Any]] = []
        for policy, labels in runs:
            rows += self._policy_rows(policy, labels)
        return POLICIES.frame(rows)

    def reading_row(self, reading_policy: str, model: str, metric: str) -> dict[str, Any]:
        """A metric of these readings, unread answers counted as wrong; empty where nothing that it needs was read."""
        rows = self._policy_rows(Policy.WRONG, self.task.scored.labels if self.task.answer.classes else "")
        row = next((row for row in rows if row["metric"] == metric), {})
        usable = sum(one.usable for one in self.readings.values())
        kept = {key: row.get(key) for key in ("value", "low", "high", "cases")}
        return {"reading_policy": reading_policy, "model": model, "metric": metric, **kept, "usable": usable}

    def _policy_rows(self, policy: Policy, labels: str) -> list[dict[str, Any]]:
        about = {"policy": str(policy), "labels": labels}
        material = self.material(policy, labels or None)
        if material is None:
            blank = dict.fromkeys(("value", "low", "high"))
            return [{**about, "metric": name, **blank, "cases": 0, "videos": 0} for name in self.metrics()]
        settings = self.settings._replace(clusters=self.cases.clusters)
        jobs = tuple(job._replace(floors=()) for job in material.jobs if job.name in self.metrics())
        kept = measure(replace(material, jobs=jobs, class_jobs=(), scores=None), settings, _quiet).metrics
        columns = ("metric", "value", "low", "high", "videos")
        return [{**about, **row, "cases": material.cases} for row in kept.select(columns).iter_rows(named=True)]

    def _complete(self, case: str) -> bool:
        reading = self.readings[case]
        if not reading.usable:
            return False
        return not isinstance(reading.value, dict) or None not in reading.value.values()


def _quiet(_: int) -> None:
    """Nobody is told."""


# --- one class, or any number of them ------------------------------------------------------------


def _choice(run: Scoring, table: pl.DataFrame, policy: Policy, labels: str) -> EvaluationMaterial:
    answer = run.task.answer
    given = [run.readings[case].value for case in table["case"]]
    classes = list(answer.classes)
    if policy is Policy.STUDY:
        given = [answer.default if one is None else one for one in given]
        classes += [answer.default] if answer.default in given and answer.default not in classes else []
    columns = [pl.Series("reference", table["reference"]), pl.Series("prediction", given, dtype=pl.String)]
    return _classification(run, _rows(table, columns), classes, labels)


def _labels(run: Scoring, table: pl.DataFrame, policy: Policy, labels: str) -> EvaluationMaterial:
    answer, readings = run.task.answer, [run.readings[case] for case in table["case"]]
    columns: list[pl.Series] = [table[f"reference:{name}"] for name in answer.classes]
    if run.decides:
        for name in answer.classes:
            columns.append(pl.Series(f"prediction:{name}", _decisions(table, readings, name, policy), dtype=pl.Int64))
    if run.gives_scores:
        for name in answer.classes:
            columns.append(pl.Series(f"score:{name}", _numbers(table, readings, name, policy), dtype=pl.Float64))
    return _classification(run, _rows(table, columns), list(answer.classes), labels)


def _decisions(table: pl.DataFrame, readings: Sequence[ReplyReading], name: str, policy: Policy) -> list[int]:
    """Whether a class is there: as answered; without an answer the opposite of the reference, or the study's no."""
    decided = []
    for reference, reading in zip(table[f"reference:{name}"], readings, strict=True):
        value = reading.value if isinstance(reading.value, dict) else {}
        if policy is Policy.STUDY:
            whole = bool(value) and None not in value.values()
            decided.append(int(bool(value.get(name))) if whole else 0)
        else:
            decided.append(1 - reference if value.get(name) is None else int(value[name]))
    return decided


def _numbers(table: pl.DataFrame, readings: Sequence[ReplyReading], name: str, policy: Policy) -> list[float]:
    """The number of a class: as given; without one the worst that any case has, on the wrong side of the reference."""
    given = [reading.scores.get(name) if reading.scores else None for reading in readings]
    known = [one for one in given if one is not None] or [0.0]
    low, high = min(known), max(known)
    numbers = []
    for reference, number in zip(table[f"reference:{name}"], given, strict=True):
        lost = low if reference or policy is Policy.STUDY else high
        numbers.append(lost if number is None else number)
    return numbers


def _rows(table: pl.DataFrame, columns: Sequence[pl.Series]) -> pl.DataFrame:
    """Video, moment, strata and further columns, as `evaluate` takes them."""
    by_frame = "frame" in table.columns and not table["frame"].null_count()
    by_frame = by_frame and not table.select("video", "frame").is_duplicated().any()
    strata = [name for name in STRATA if name in table.columns]
    return table.select("video", "frame" if by_frame else "case", *strata).with_columns(columns)


def _classification(run: Scoring, rows: pl.DataFrame, classes: list[str], labels: str) -> EvaluationMaterial:
    build = import_module("surgvalid.evaluation.classification").material
    made: EvaluationMaterial = build(rows, metrics=run.metrics(), classes=classes, labels=labels, by=_strata(rows))
    # Answers were read as classes of the task, so one that no reference has is wrong and not misnamed.
    return replace(made, looked={code: one for code, one in made.looked.items() if code != "labels-renamed"})


def _strata(rows: pl.DataFrame) -> tuple[str, ...]:
    """The columns that divide the cases."""
    return tuple(name for name in STRATA if name in rows.columns and rows[name].n_unique() > 1)


# --- spans ---------------------------------------------------------------------------------------


def _spans(run: Scoring, table: pl.DataFrame, policy: Policy, _: str) -> EvaluationMaterial:
    """The temporal IoU of every case; (0, 0) has no length and so overlaps nothing, as no answer does."""
    given = [run.readings[case].value for case in table["case"]]
    if policy is Policy.STUDY:
        given = [(0.0, 0.0) if one is None else one for one in given]
    rows = table.with_columns(
        pl.Series("given", [[] if one is None else list(one) for one in given], dtype=pl.List(pl.Float64))
    )

    def build(here: pl.DataFrame) -> list[MeasureJob]:
        reference = [[(start, end)] for start, end in here.select(SPAN).rows()]
        prediction = [[(one[0], one[1])] if one else [] for one in here["given"].to_list()]
        cases = IntervalCases(reference, prediction, unit=here["video"].to_list())
        return [MeasureJob(name, open_metric(name), cases, floors=()) for name in run.task.scored.names]

    strata = _strata(rows)
    made = material_of(rows, strata, build)
    first = made.jobs[0]
    scores = rows.select("case", "video").with_columns(
        pl.lit(first.name).alias("metric"),
        pl.Series("value", first.metric.scores(first.cases)),  # type: ignore[attr-defined]
        pl.Series("status", [_status(run.readings[case]) for case in rows["case"]]),
    )
    scores = scores.with_columns(rows[name] for name in strata)
    return replace(made, scores=scores, score_facts={first.name: first.metric.facts})


def _status(reading: ReplyReading) -> str:
    words = {
        ReplyRead.REFUSED: Status.REFUSED,
        ReplyRead.FAILED: Status.UNREADABLE,
        ReplyRead.CUT: Status.UNREADABLE,
        ReplyRead.NO_ANSWER: Status.FAILED,
    }
    return words.get(reading.status, Status.ANSWERED).value


# --- boxes and masks -----------------------------------------------------------------------------


def _boxes(run: Scoring, table: pl.DataFrame, _: Policy, __: str) -> EvaluationMaterial:
    """Every image counts, also those without a predicted box; without an answer there is none."""
    ids = {one["name"]: one["id"] for one in run.cases.boxes["categories"]}
    kept = set(table["image_key"])
    references = {
        **run.cases.boxes,
        "images": [one for one in run.cases.boxes["images"] if one["id"] in kept],
        "annotations": [one for one in run.cases.boxes["annotations"] if one["image_id"] in kept],
    }
    predictions = [
        {"image_id": key, "category_id": ids[box.name], "bbox": [box.x_px, box.y_px, box.width_px, box.height_px]}
        for case, key in table.select("case", "image_key").rows()
        for box in run.readings[case].value or []
    ]
    build = import_module("surgvalid.evaluation.detection").material
    made: EvaluationMaterial = build(predictions, references, metrics=run.metrics(), video_column="video")
    return made


def _masks(run: Scoring, table: pl.DataFrame, _: Policy, __: str) -> EvaluationMaterial:
    """The outlines of every case as a mask of the size of its reference; without an answer an empty one."""
    answer, column = run.task.answer, run.task.answer.column
    names = [Path(name).with_suffix("").as_posix() for name in table[column]]
    files = {name: run.root / place for name, place in zip(names, table[column], strict=True)}
    codes = dict(zip(answer.classes, answer.mask_codes, strict=True))
    outlines = {name: run.readings[case].value or {} for name, case in zip(names, table["case"], strict=True)}
    predictions = DrawnMasks(outlines, codes, files)
    strata = [name for name in STRATA if name in table.columns]
    build = import_module("surgvalid.evaluation.segmentation").material
    made: EvaluationMaterial = build(
        predictions,
        PngFiles(files),
        metrics=run.metrics(),
        classes=tuple(dict.fromkeys(answer.mask_codes)),
        recoded=dict(run.cases.recoded) or None,
        video_of=dict(zip(names, table["video"].to_list(), strict=True)),
        properties=table.select(pl.Series("case", names), *strata),
        by=_strata(table),
    )
    return made


class DrawnMasks(Mapping[str, np.ndarray]):
    """Outlines as masks of the sizes of their references, each drawn when it is asked for."""

    def __init__(self, outlines: Mapping[str, Any], codes: Mapping[str, int], files: Mapping[str, Path]) -> None:
        self.outlines, self.codes, self.files = outlines, codes, files

    def __iter__(self) -> Iterator[str]:
        return iter(self.outlines)

    def __len__(self) -> int:
        return len(self.outlines)

    def __getitem__(self, name: str) -> np.ndarray:
        size = image_size(self.files[name])
        if size is None:
            raise FileUnreadable(str(self.files[name]), ["not a PNG file"])
        width, height = size
        mask = np.zeros((height, width), dtype=np.uint8)
        for label, polygons in self.outlines[name].items():
            corners = [[axis for x, y in polygon for axis in (x * width, y * height)] for polygon in polygons]
            if corners:
                mask[pixels_of(mask_of_polygons(corners, height=height, width=width)) > 0] = self.codes[label]
        return mask


_MAKERS = {
    TaskForm.CHOICE: _choice,
    TaskForm.LABELS: _labels,
    TaskForm.SPAN: _spans,
    TaskForm.BOXES: _boxes,
    TaskForm.MASKS: _masks,
}
