"""Labels, sets of labels and scores per frame: what the table holds decides which metrics can be computed.

    one label      columns `reference` and `prediction`, or `score:<class>` (the largest is the prediction)
    several labels columns `reference:<class>` with 0 and 1, and `prediction:<class>` or `score:<class>`
An empty `prediction` is a case without an answer: it is kept and counts as wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from surgvalid.errors import InputInvalid, Misuse
from surgvalid.evaluation.alignment.classes import renamings
from surgvalid.evaluation.companions import policy_notes, reliability_table, with_trivial_baselines
from surgvalid.evaluation.measure import ClassJob, EvaluationMaterial, MeasureJob, material_of, open_chosen
from surgvalid.evaluation.predictions.labels import holds_labels, in_order_of, matched_videos, read_labels, unlisted
from surgvalid.evaluation.records import MOMENTS, checked_rows, in_order, joined, numbers, read_records, texts
from surgvalid.evaluation.sanity.labels import label_checks
from surgvalid.evaluation.sanity.sanity_finding import Looked, SanityFinding, both
from surgvalid.evaluation.shards import Cut, Gathered, stacked
from surgvalid.metrics import CLASSIFICATION, METRICS
from surgvalid.metrics.classification.averages import ClassAverage, LabelBalancedAccuracy
from surgvalid.metrics.classification.cases import NO_ANSWER, LabelCases, ScoreCases, SetCases
from surgvalid.metrics.classification.ranking import AreaUnderROC, MeanAveragePrecision
from surgvalid.schema.findings import Severity
from surgvalid.schema.metric_facts import KNOWN_METRICS, Metric, MetricFacts
from surgvalid.schema.outcomes import Status

LABEL_DEFAULT = ("accuracy", "balanced_accuracy", "macro_precision", "macro_recall", "macro_f1", "mcc")
SET_DEFAULT = ("label_accuracy", "label_balanced_accuracy", "macro_precision", "macro_recall", "macro_f1")
SCORE_DEFAULT = ("mean_ap", "macro_auroc")
_SHOWN_CLASSES = 20
_NAMED = "Numbers are named by --prediction-labels in the model's order, other names by --format renamed=A:B+C:D."
_KEPT = ("moment", "has_scores", "has_decisions", "form")
"""What a shard says of its rows beside their classes."""
EXACT = MetricFacts("set_exact", conventions={"score": "1 where the sets are equal, else 0"})


@dataclass(frozen=True)
class LabelledRows:
    """Rows whose columns were checked; any part of them makes cases."""

    frame: pl.DataFrame
    moment: str
    classes: tuple[str, ...]
    single: bool
    has_scores: bool
    has_decisions: bool
    form: str = ""
    """What the predictions were interpreted as, where they were no table."""

    def gathered(self, cut: Cut | None, **facts: Any) -> Gathered | None:
        """The rows as a shard leaves them; nothing where there are no shards."""
        if cut is None:
            return None
        whole = {name: getattr(self, name) for name in _KEPT}
        return Gathered({**whole, "classes": list(self.classes), **facts}, {"rows": self.frame}, tuple(cut.seen))

    def cases(self, rows: pl.DataFrame, *, scores: bool) -> Any:
        """Cases of some rows, units being videos."""
        video = rows["video"].rank("dense").to_numpy()
        if self.single:
            reference = self.codes(rows["reference"])
            if scores:
                return ScoreCases(reference, rows.select(self._named("score")).to_numpy(), unit=video)
            return LabelCases(reference, self.codes(rows["prediction"]), len(self.classes), unit=video)
        members = rows.select(self._named("reference")).to_numpy() == 1
        if scores:
            return ScoreCases(members, rows.select(self._named("score")).to_numpy(), unit=video)
        return SetCases(members, rows.select(self._named("prediction")).to_numpy() == 1, unit=video)

    def codes(self, column: pl.Series) -> np.ndarray:
        """Labels as places in the classes, `NO_ANSWER` for an empty cell."""
        place = {label: index for index, label in enumerate(self.classes)}
        coded = column.replace_strict(place, default=NO_ANSWER, return_dtype=pl.Int64)
        return coded.fill_null(NO_ANSWER).to_numpy().astype(np.intp)

    def _named(self, prefix: str) -> list[str]:
        return [f"{prefix}:{label}" for label in self.classes]


def rows_of_shards(parts: Sequence[Gathered]) -> LabelledRows:
    """The rows of all shards, as they would have been read at once."""
    facts, frame = parts[0].facts, stacked(parts, "rows").sort("video", parts[0].facts["moment"])
    listed = [one.facts["classes"] for one in parts]
    alike = all(one == listed[0] for one in listed)
    classes = listed[0] if alike else sorted({label for one in listed for label in one})
    kept = {name: facts[name] for name in _KEPT}
    return LabelledRows(frame, classes=tuple(classes), single="reference" in frame.columns, **kept)


def read_labelled(
    predictions: Any,
    references: Any = None,
    *,
    classes: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    prediction_labels: Sequence[str] = (),
    renamed: str | None = None,
    cut: Cut | None = None,
) -> LabelledRows:
    """Checked rows of one table, or of references and predictions joined.

    Args:
        predictions: A table, or what `surgvalid.evaluation.predictions.labels` reads.
        references: The same; left out where the predictions' table holds both.
        classes: The declared classes.
        columns: Our names of columns to theirs.
        prediction_labels: Names of the numbers 0, 1, ... that the predictions hold.
        renamed: What predictions call some classes, and what these are, as `A:B+B:A`.
        cut: Which videos; all if left out.

    Raises:
        InputInvalid: With every problem.
    """
    declared = [str(label) for label in classes]
    frame, form = _predicted(predictions, columns, declared)
    frame = _with_names(frame, prediction_labels)
    if renamed:
        frame, form = _under_names(frame, renamed), f"{form or 'a table'}; renamed {renamed}"
    if references is None:
        frame = _of_cut(frame, cut)
        frame, moment = checked_rows(frame, "predictions")
        frame = in_order(frame, moment)
    else:
        ours = _referenced(references, columns, declared)
        frame, more = _moments_of(ours, frame) if form else (frame, "")
        form = f"{form}; {more}" if more else form
        ours, frame = _of_cut(ours, cut), _of_cut(frame, cut)
        frame = joined(ours, frame, wanted=("prediction", "score"))
        moment = checked_rows(frame, "rows")[1]
    return replace(_labelled(frame, moment, declared), form=f"Predictions were read as {form}." if form else "")


def _of_cut(frame: pl.DataFrame, cut: Cut | None) -> pl.DataFrame:
    if cut is None:
        return frame
    rows = cut.rows(frame)
    cut.check(rows.height)
    return rows


def _predicted(predictions: Any, columns: Mapping[str, str] | None, classes: Sequence[str]) -> tuple[pl.DataFrame, str]:
    """The predictions as a table, and what they were interpreted as where they were none."""
    if isinstance(predictions, str | Path) and holds_labels(Path(predictions)):
        labels = read_labels(Path(predictions), classes)
        return unlisted(read_records(labels.frame, columns), classes), labels.form
    frame = read_records(predictions, columns)
    return unlisted(frame, classes), ""


def _referenced(references: Any, columns: Mapping[str, str] | None, classes: Sequence[str]) -> pl.DataFrame:
    """The references as a table, from whatever predictions may be in; rows without a number are counted from 0."""
    frame, form = _predicted(references, columns, classes)
    if form and "reference" not in frame.columns:
        frame = frame.rename({"prediction": "reference", "place": "frame"}, strict=False)
    return frame


def _with_names(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Predictions by the names of their numbers, where the caller gives them."""
    if not names or "prediction" not in frame.columns:
        return frame
    by_number = {str(place): str(name) for place, name in enumerate(names)}
    predicted = texts(frame["prediction"])
    if strange := sorted(set(predicted.drop_nulls()) - set(by_number)):
        message = f"predictions {', '.join(strange[:5])} are no numbers from 0 to {len(names) - 1}"
        raise InputInvalid("predictions", [f"{message}, which --prediction-labels names"])
    return frame.with_columns(predicted.replace(by_number).alias("prediction"))


def _under_names(frame: pl.DataFrame, renamed: str) -> pl.DataFrame:
    """Predictions under other names: labels, and columns of classes."""
    columns = {name: name.split(":", 1) for name in frame.columns if name.startswith(("prediction:", "score:"))}
    labels = texts(frame["prediction"]) if "prediction" in frame.columns else pl.Series("prediction", [], pl.String)
    others = renamings(renamed, {*labels.drop_nulls(), *(label for _, label in columns.values())})
    moved = {name: f"{prefix}:{others.get(label, label)}" for name, (prefix, label) in columns.items()}
    if len(set(moved.values())) < len(moved):
        raise Misuse(f"--format renamed={renamed} gives two columns of scores one name")
    frame = frame.rename(moved)
    return frame.with_columns(labels.replace(others)) if "prediction" in frame.columns else frame


def _moments_of(ours: pl.DataFrame, frame: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """Predictions under the names and moments of the references."""
    if "video" not in ours.columns or "video" not in frame.columns:
        return frame, ""
    frame, form = matched_videos(ours["video"].cast(pl.String).unique().to_list(), frame)
    if "place" in frame.columns:
        moment = next((name for name in MOMENTS if name in ours.columns), "frame")
        frame = in_order_of(ours, frame, moment)
    return frame, form


def _labelled(frame: pl.DataFrame, moment: str, classes: list[str]) -> LabelledRows:
    by_prefix = {prefix: _classes_of(frame, prefix) for prefix in ("reference", "prediction", "score")}
    single = "reference" in frame.columns
    problems: list[str] = []
    if not single and not by_prefix["reference"]:
        problems.append("no column 'reference' and no columns 'reference:<class>'; name yours with --columns")
    decided = ("prediction" in frame.columns) if single else bool(by_prefix["prediction"])
    if not decided and not by_prefix["score"]:
        wanted = "'prediction'" if single else "'prediction:<class>'"
        problems.append(f"no column {wanted} and no columns 'score:<class>'; name yours with --columns")
    if problems:
        raise InputInvalid("rows", problems)
    frame = frame.with_columns(texts(frame[name]).alias(name) for name in ("reference", "prediction") if name in frame)
    declared = classes or _found_classes(frame, by_prefix, single)
    frame = _checked_columns(frame, declared, by_prefix, single, problems)
    if problems:
        raise InputInvalid("rows", problems)
    if single and not decided:
        best = frame.select(f"score:{label}" for label in declared).to_numpy().argmax(axis=1)
        frame = frame.with_columns(pl.Series("prediction", [declared[place] for place in best]))
    return LabelledRows(frame, moment, tuple(declared), single, bool(by_prefix["score"]), decided or single)


def _classes_of(frame: pl.DataFrame, prefix: str) -> list[str]:
    parts = [name.split(":", 1) for name in frame.columns if ":" in name]
    return [name[1] for name in parts if name[0] == prefix]


def _found_classes(frame: pl.DataFrame, classes: Mapping[str, list[str]], single: bool) -> list[str]:
    if not single:
        return classes["reference"]
    if classes["score"]:
        return classes["score"]
    names = [name for name in ("reference", "prediction") if name in frame.columns]
    return sorted({label for name in names for label in frame[name].drop_nulls().to_list()})


def _checked_columns(
    frame: pl.DataFrame, declared: Sequence[str], classes: Mapping[str, list[str]], single: bool, problems: list[str]
) -> pl.DataFrame:
    for prefix in ("reference", "prediction", "score"):
        if classes[prefix] and set(classes[prefix]) != set(declared) and not (single and prefix != "score"):
            problems.append(
                f"columns '{prefix}:<class>' name {', '.join(classes[prefix])}, "
                f"but the classes are {', '.join(declared)}"
            )
    if problems:
        return frame
    if classes["score"]:
        frame = _as_numbers(frame, "score", declared, problems)
    if single:
        return _checked_labels(frame, declared, problems)
    for prefix in ("reference", "prediction"):
        if classes[prefix]:
            frame = _as_numbers(frame, prefix, declared, problems)
            names = [f"{prefix}:{label}" for label in declared]
            strange = [name for name in names if not frame[name].is_in((0.0, 1.0)).all()]
            problems += [f"column {name!r} holds something else than 0 and 1" for name in strange]
    return frame


def _as_numbers(frame: pl.DataFrame, prefix: str, classes: Sequence[str], problems: list[str]) -> pl.DataFrame:
    """The table with the columns of classes as numbers."""
    names = [f"{prefix}:{label}" for label in classes]
    values = numbers(frame, names, f"{prefix}s" if prefix == "score" else prefix, problems)
    return frame.with_columns(pl.Series(name, values[:, place]) for place, name in enumerate(names))


def _checked_labels(frame: pl.DataFrame, declared: Sequence[str], problems: list[str]) -> pl.DataFrame:
    for name in ("reference", "prediction"):
        if name not in frame.columns:
            continue
        strange = frame[name].drop_nulls().filter(~frame[name].drop_nulls().is_in(list(declared)))
        if len(strange):
            listed = ", ".join(strange.unique().sort().to_list()[:5])
            known = ", ".join(declared[:_SHOWN_CLASSES]) + (", ..." if len(declared) > _SHOWN_CLASSES else "")
            mend = f". {_NAMED}" if name == "prediction" and listed[:1].isdecimal() else ""
            problems.append(
                f"column {name!r}: {len(strange)} labels ({listed}) are not among the classes ({known}){mend}"
            )
    if empty := frame["reference"].null_count():
        problems.append(f"column 'reference' is empty in {empty} rows; leave rows without a reference out")
    return frame


def material(
    predictions: Any,
    references: Any = None,
    *,
    metrics: Sequence[str] = (),
    classes: Sequence[str] = (),
    labels: str = "supported",
    by: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    prediction_labels: Sequence[str] = (),
    renamed: str | None = None,
    cut: Cut | None = None,
) -> EvaluationMaterial:
    """What a table of labels, sets or scores offers for measuring."""
    rows = read_labelled(
        predictions,
        references,
        classes=classes,
        columns=columns,
        prediction_labels=prediction_labels,
        renamed=renamed,
        cut=cut,
    )
    gathered = rows.gathered(cut, labels=labels, declared=bool(classes))
    return replace(_material(rows, metrics, by, labels, declared=bool(classes)), gathered=gathered)


def rejoined(parts: Sequence[Gathered], metrics: Sequence[str], by: Sequence[str]) -> EvaluationMaterial:
    """The same of all shards."""
    facts = parts[0].facts
    return _material(rows_of_shards(parts), metrics, by, facts["labels"], declared=facts["declared"])


def _material(
    rows: LabelledRows, metrics: Sequence[str], by: Sequence[str], labels: str, *, declared: bool
) -> EvaluationMaterial:
    opened = open_chosen(metrics, _default(rows), CLASSIFICATION, ("labels", "sets", "scores"), labels=labels)
    _need(rows, opened)

    def build(rows_here: pl.DataFrame) -> tuple[MeasureJob, ...]:
        forms = {form: rows.cases(rows_here, scores=form) for form in set(map(_from_scores, opened))}
        return with_trivial_baselines(
            [MeasureJob(name, one, forms[_from_scores(name)]) for name, one in opened.items()]
        )

    made = material_of(rows.frame, by, build)
    notes = [rows.form] if rows.form else []
    if not declared:
        notes.append(f"Classes were taken from the data: {', '.join(rows.classes)}. Declare them with --classes.")
    if rows.single and (unanswered := rows.frame["prediction"].null_count()):
        notes.append(f"{unanswered} cases have no prediction and count as wrong.")
    notes += policy_notes(made.jobs)
    return replace(
        made,
        class_jobs=_per_class(rows),
        scores=case_scores(rows, by) if rows.has_decisions else None,
        score_facts={"correct": KNOWN_METRICS["correct"], "set_exact": EXACT},
        extra_tables={"reliability": reliability_table(made.jobs, rows.classes)},
        notes=tuple(notes),
        looked=checks_of(rows),
    )


def checks_of(rows: LabelledRows) -> Looked:
    """The checks of labels and of scores, as far as there are both."""
    forms = [scores for scores, there in ((False, rows.has_decisions), (True, rows.has_scores)) if there]
    looked: Looked = {"labels-renamed": strange} if (strange := _strangers(rows)) else {}
    for scores in forms:
        if not strange:
            looked = both(looked, label_checks(rows.cases(rows.frame, scores=scores), rows.classes))
    return looked


def _strangers(rows: LabelledRows) -> SanityFinding | None:
    """Whether predictions and references have no label in common, as '1.0' and '1' have none."""
    if not rows.single:
        return None
    ours, theirs = (rows.frame[name].drop_nulls().unique().sort() for name in ("reference", "prediction"))
    if theirs.is_empty() or theirs.is_in(ours.implode()).any():
        return None
    shown = [", ".join(side.head(5).to_list()) for side in (ours, theirs)]
    evidence = f"No predicted label ({shown[1]}) occurs in the references ({shown[0]})."
    return SanityFinding("labels-renamed", Severity.ERROR, evidence, _NAMED)


def _default(rows: LabelledRows) -> tuple[str, ...]:
    decided = (LABEL_DEFAULT if rows.single else SET_DEFAULT) if rows.has_decisions else ()
    return (*decided, *(SCORE_DEFAULT if rows.has_scores else ()))


def _from_scores(name: str) -> bool:
    """Whether a metric needs scores; the others need decisions."""
    return "scores" in METRICS[name].takes


def _need(rows: LabelledRows, opened: Mapping[str, Metric]) -> None:
    if not rows.has_scores and (lacking := [name for name in opened if _from_scores(name)]):
        raise Misuse(f"{', '.join(lacking)} need scores; the table has no columns 'score:<class>'")
    if not rows.has_decisions and (lacking := [name for name in opened if not _from_scores(name)]):
        raise Misuse(f"{', '.join(lacking)} need decisions; the table has no columns 'prediction:<class>'")


def _per_class(rows: LabelledRows) -> tuple[ClassJob, ...]:
    jobs: list[ClassJob] = []
    if rows.has_decisions:
        cases = rows.cases(rows.frame, scores=False)
        counts = _references(cases.reference, len(rows.classes))
        jobs += [ClassJob(m, ClassAverage(m), cases, rows.classes, counts) for m in ("precision", "recall", "f1")]
        if not rows.single:
            jobs.append(ClassJob("balanced_accuracy", LabelBalancedAccuracy(), cases, rows.classes, counts))
    if rows.has_scores:
        cases = rows.cases(rows.frame, scores=True)
        counts = _references(cases.reference, len(rows.classes))
        jobs.append(ClassJob("ap", MeanAveragePrecision(), cases, rows.classes, counts))
        jobs.append(ClassJob("auroc", AreaUnderROC(), cases, rows.classes, counts))
    return tuple(jobs)


def _references(reference: np.ndarray, classes: int) -> list[int]:
    if reference.ndim == 2:
        return [int(count) for count in reference.sum(axis=0)]
    return [int(count) for count in np.bincount(reference, minlength=classes)]


def case_scores(rows: LabelledRows, by: Sequence[str]) -> pl.DataFrame:
    """Whether every case is right, as rows of a score table."""
    frame = rows.frame
    case = pl.concat_str("video", pl.col(rows.moment).cast(pl.String), separator="/")
    if rows.single:
        right = (frame["reference"] == frame["prediction"]).fill_null(False)
        missing = frame["prediction"].is_null()
    else:
        cases = rows.cases(frame, scores=False)
        right = pl.Series((cases.reference == cases.prediction).all(axis=1))
        missing = pl.Series([False] * frame.height)
    status = pl.when(missing).then(pl.lit(Status.MISSING.value)).otherwise(pl.lit(Status.ANSWERED.value))
    return frame.select(case.alias("case"), "video", *by).with_columns(
        pl.lit("correct" if rows.single else "set_exact").alias("metric"),
        right.cast(pl.Float64).alias("value"),
        status.alias("status"),
    )
