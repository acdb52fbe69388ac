"""Trivial floors: how far systems come that never look at the video.

Predictors, from coarse to fine: one constant answer per format, per template, per (template,
procedure), and a text-only prior. They are fitted on training questions where those are given;
otherwise on the same questions, always without the video of the question they answer (the text prior
in at most ten video-disjoint folds, which is the same with up to ten videos). A group without any
other question falls back to the next coarser constant. Beside them stand oracle constants: the best
constants in hindsight, fitted on the very answers they are scored on. No honest constant of that kind
does better (answers that list several times aside, where the search is not exhaustive); they are a
bound, not a floor.

Free text counts as right when it equals the reference after tidying, which is what the exact judge
asks. A judge that accepts more can only raise the floors of judged formats.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from surgeval.errors import Misuse
from surgeval.results.manifest import Manifest
from surgeval.results.tables import scoring as tables
from surgeval.schema.foreign_objects import CLASS_NAMES
from surgeval.schema.question_files import QuestionSet, Sources, load_questions, split_source
from surgeval.schema.questions import Response
from surgeval.schema.rows import write_json_rows
from surgeval.scoring.best_constant import GroupConstants, best_constants
from surgeval.scoring.blind_questions import BlindQuestion, blind_questions
from surgeval.scoring.slices import HEADLINE, Slices
from surgeval.scoring.template_facts import template_table, unseen_table
from surgeval.scoring.text_prior import TextPrior
from surgeval.stats.draws import stream

Key = Callable[[BlindQuestion], Hashable]
Answers = dict[str, str]
Fitted = dict[Hashable, GroupConstants]

LEVELS: dict[str, Key] = {
    "constant-per-format": lambda q: q.format,
    "constant-per-template": lambda q: (q.format, q.template),
    "constant-per-template-and-procedure": lambda q: (q.format, q.template, q.procedure),
}
"""Constant predictors, coarse to fine, by what their questions share."""

TEXT_PRIOR = "text-prior"
FLOORS = (*LEVELS, TEXT_PRIOR)
"""The honest predictors."""
ORACLES = tuple(f"oracle-{name}" for name in LEVELS)
"""The same constants fitted in hindsight."""

FILES = ("floors.csv", "templates.csv", "unseen_templates.csv", "margins.csv", "floor_answers", "manifest.json")
"""Everything that `surgeval floors` may write."""
FOLDS = 10
"""Most parts into which the videos are dealt for the text prior when there is no training set."""


@dataclass(frozen=True)
class FloorsResult:
    """What trivial systems reach on a question set."""

    table: pl.DataFrame
    """`floor, level, name, accuracy, accuracy_videos, right, questions, videos`."""
    templates: pl.DataFrame
    """One row per (format, template): how many questions, videos and possible answers it has."""
    unseen: pl.DataFrame
    """Per slice, the questions whose template is not in the training set; empty without one."""
    cases: pl.DataFrame
    """`case, video, format, bucket, template`, then 1, 0 or null (not scored) per predictor."""
    answers: Mapping[str, Answers]
    """Per predictor: case to answer; a question it cannot answer is absent."""
    fit: str
    notes: tuple[str, ...] = ()
    manifest: Manifest = field(default_factory=lambda: Manifest("floors", {}))

    @property
    def wide(self) -> pl.DataFrame:
        """One row per slice, one column per predictor: the accuracies side by side."""
        keys = ["level", "name", "questions", "videos"]
        return self.table.pivot("floor", index=keys, values="accuracy")

    def best(self, level: str = HEADLINE[0], name: str = HEADLINE[1]) -> tuple[str, float]:
        """The best honest floor of a slice and its accuracy; NaN where nothing could be scored."""
        rows = self.table.filter(pl.col("floor").is_in(FLOORS), level=level, name=name)
        top = rows.sort("accuracy", descending=True, nulls_last=True, maintain_order=True).row(0, named=True)
        return top["floor"], math.nan if top["accuracy"] is None else top["accuracy"]

    def to_dir(self, path: str | Path) -> None:
        """Write the tables, `manifest.json`, and every predictor's answers as an official answer file."""
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        self.table.write_csv(folder / "floors.csv")
        self.templates.write_csv(folder / "templates.csv")
        if not self.unseen.is_empty():
            self.unseen.write_csv(folder / "unseen_templates.csv")
        for predictor, answers in self.answers.items():
            place = folder / "floor_answers" / predictor
            place.mkdir(parents=True, exist_ok=True)
            write_json_rows((Response(case, text).as_row() for case, text in answers.items()), place / "answer.json")
        self.manifest.to_dir(folder)

    def as_dict(self) -> dict[str, Any]:
        """The result as plain data."""
        return {
            "fit": self.fit,
            "floors": self.table.to_dicts(),
            "single_answer_templates": self.templates.filter("single_answer").to_dicts(),
            "unseen_templates": self.unseen.to_dicts(),
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        name, value = self.best()
        single = self.templates.filter("single_answer")
        lines = [
            f"Floors of {self.cases.height} questions, {self.cases['video'].n_unique()} videos (fit: {self.fit})",
            f"  best floor, headline: {value:.4f} ({name})",
            f"  templates: {self.templates.height}, of which {single.height} have a single possible answer"
            f" ({single['questions'].sum()} questions)",
        ]
        rows = (
            self.table.filter(pl.col("level").is_in(["headline", "overall"])).fill_null(math.nan).iter_rows(named=True)
        )
        lines += [f"  {row['floor']:<44} {row['level']:<9} {row['accuracy']:.4f}" for row in rows]
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])


def floors(
    requests: Sources,
    references: Sources,
    *,
    train_requests: Sources | None = None,
    train_references: Sources | None = None,
    class_names: tuple[str, ...] | None = None,
    seed: int = 0,
) -> FloorsResult:
    """What systems reach that never look at the video: see the head of this module.

    Args:
        requests: Files or objects of the questions.
        references: Their references.
        train_requests: Questions to fit on, with `train_references`. Without them every question is
            answered from the other videos of its own set.
        train_references: References of the training questions.
        class_names: Foreign-object classes, where they differ from the ten known ones.
        seed: Deals the videos into folds for the text prior; nothing else is random.

    Raises:
        QuestionsInvalid: With every problem found in the questions.
        Misuse: There is no question, or only half of a training set.
    """
    if (train_requests is None) != (train_references is None):
        raise Misuse("a training set needs both requests and references (--train-requests, --train-references)")
    asked = load_questions(requests, references, class_names=class_names)
    questions = blind_questions(asked)
    if not questions:
        raise Misuse("there is no question with a reference, so there is no floor")
    training = None
    if train_requests is not None and train_references is not None:
        training = blind_questions(load_questions(train_requests, train_references, class_names=class_names))
    hindsight = [_fitted(questions, key) for key in LEVELS.values()]
    fitted = hindsight if training is None else [_fitted(training, key) for key in LEVELS.values()]
    answers = _constant_answers(questions, fitted, leave_out=training is None)
    answers[TEXT_PRIOR] = _prior_answers(questions, training, seed)
    answers |= _oracle_answers(questions, hindsight)
    cases = _case_table(questions, answers)
    notes = _notes(asked, questions, training)
    sources = {"requests": requests, "references": references}
    sources |= {"train_requests": train_requests or (), "train_references": train_references or ()}
    return FloorsResult(
        table=_floor_table(cases, tuple(answers)),
        templates=template_table(questions, training),
        unseen=unseen_table(questions, training),
        cases=cases,
        answers={name: _given(questions, texts) for name, texts in answers.items()},
        fit="leave-one-video-out" if training is None else "training set",
        notes=notes,
        manifest=_manifest(asked, sources, seed, notes),
    )


# --- answers -------------------------------------------------------------------------------------


def _constant_answers(
    questions: Sequence[BlindQuestion], fitted: Sequence[Fitted], *, leave_out: bool
) -> dict[str, list[str | None]]:
    """The constants for each question, from coarse to fine; where a finer one is unknown the coarser stays."""
    answers: dict[str, list[str | None]] = {}
    coarser: list[str | None] = [None] * len(questions)
    for (name, key), groups in zip(LEVELS.items(), fitted, strict=True):
        own = [_constant_for(groups.get(key(question)), question, leave_out) for question in questions]
        coarser = [fine if fine is not None else coarse for fine, coarse in zip(own, coarser, strict=True)]
        answers[name] = coarser
    return answers


def _oracle_answers(questions: Sequence[BlindQuestion], fitted: Sequence[Fitted]) -> dict[str, list[str | None]]:
    levels = zip(ORACLES, LEVELS.values(), fitted, strict=True)
    return {name: [_constant_for(groups[key(q)], q, False) for q in questions] for name, key, groups in levels}


def _fitted(questions: Sequence[BlindQuestion], key: Key) -> Fitted:
    groups: dict[Hashable, list[BlindQuestion]] = {}
    for question in questions:
        groups.setdefault(key(question), []).append(question)
    return {name: best_constants(members) for name, members in groups.items()}


def _constant_for(group: GroupConstants | None, question: BlindQuestion, leave_out: bool) -> str | None:
    if group is None:
        return None
    constant = group.without.get(question.video, group.overall) if leave_out else group.overall
    return constant.text if constant else None


def _prior_answers(
    questions: Sequence[BlindQuestion], training: Sequence[BlindQuestion] | None, seed: int
) -> list[str | None]:
    if training is not None:
        return TextPrior(training).answers(questions)
    videos = sorted({question.video for question in questions})
    dealt = stream(seed, "floors", "text-prior").permutation(len(videos)) % min(FOLDS, len(videos))
    fold = {video: int(number) for video, number in zip(videos, dealt, strict=True)}
    answers: list[str | None] = [None] * len(questions)
    for number in sorted(set(fold.values())):
        rows = [row for row, question in enumerate(questions) if fold[question.video] == number]
        prior = TextPrior([question for question in questions if fold[question.video] != number])
        for row, text in zip(rows, prior.answers([questions[row] for row in rows]), strict=True):
            answers[row] = text
    return answers


def _given(questions: Sequence[BlindQuestion], texts: Sequence[str | None]) -> Answers:
    return {q.case: text for q, text in zip(questions, texts, strict=True) if text is not None}


# --- tables --------------------------------------------------------------------------------------


def _case_table(questions: Sequence[BlindQuestion], answers: Mapping[str, Sequence[str | None]]) -> pl.DataFrame:
    named = ("case", "video", "format", "bucket", "template")
    columns: dict[str, Any] = {name: [getattr(question, name) for question in questions] for name in named}
    for predictor, texts in answers.items():
        columns[predictor] = [q.score(text) for q, text in zip(questions, texts, strict=True)]
    return pl.DataFrame(columns, schema_overrides=dict.fromkeys(answers, pl.Float64))


def _floor_table(cases: pl.DataFrame, predictors: Sequence[str]) -> pl.DataFrame:
    slices = Slices(cases["video"].to_list(), cases["bucket"].to_list(), cases["format"].to_list())
    rows = [
        {
            "floor": predictor,
            "level": level,
            "name": name,
            "accuracy": value.rows,
            "accuracy_videos": value.videos,
            "right": value.right,
            "questions": value.questions,
            "videos": value.video_count,
        }
        for predictor in predictors
        for (level, name), value in slices.values(cases[predictor].to_numpy()).items()
    ]
    return tables.FLOORS.frame(rows).with_columns(pl.col(pl.Float64).fill_nan(None))


def _notes(
    asked: QuestionSet, questions: Sequence[BlindQuestion], training: Sequence[BlindQuestion] | None
) -> tuple[str, ...]:
    notes = [finding.message for finding in asked.findings if finding.code == "no-reference"]
    if unreadable := [question.case for question in questions if question.value is None]:
        notes.append(f"{len(unreadable)} references break their own format (first: {unreadable[0]}); not scored")
    if unstated := sum(not question.ood_stated for question in questions):
        notes.append(f"{unstated} questions do not say whether they are out of distribution; they count as ID")
    if judged := sum(question.answer_format.judged for question in questions):
        notes.append(f"{judged} free-text questions count as right on equality only; a judge may accept more")
    videos = {question.video for question in questions}
    if training is None and len(videos) == 1:
        notes.append("there is a single video, so nothing can be learnt from others: the floors are empty")
    if training is not None and (shared := sorted(videos & {question.video for question in training})):
        notes.append(f"{len(shared)} videos are in the training set too (first: {shared[0]}); their floors leak")
    return tuple(notes)


def _manifest(asked: QuestionSet, sources: Mapping[str, Sources], seed: int, notes: Sequence[str]) -> Manifest:
    options: dict[str, Any] = {}
    files: list[Path] = []
    for name, source in sources.items():
        listed = [source] if isinstance(source, str | Path) else list(source)
        named = [split_source(member) for member in listed if isinstance(member, str | Path)]
        files += [path for _, path in named]
        options[name] = [path.name if space is None else f"{space}={path.name}" for space, path in named]
    options["class_names"] = None if asked.class_names == CLASS_NAMES else list(asked.class_names)
    return Manifest("floors", options, files, {"text-prior folds": seed}, notes)
