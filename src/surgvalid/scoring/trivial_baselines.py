"""Trivial baselines: how far input-blind systems come, and how much better models are.

Trivial baselines: how far input-blind systems come.

Predictors, from coarse to fine: one constant answer per format, per template, per (template,
procedure), and a text-only prior. They are fitted on training questions where those are given;
otherwise on the same questions, always without the video of the question they answer (the text prior
in at most ten video-disjoint folds, which is the same with up to ten videos). A group without any
other question falls back to the next coarser constant. Beside them stand oracle constants: the best
constants in hindsight, fitted on the very answers they are scored on. No honest constant of that kind
does better (answers that list several times aside, where the search is not exhaustive); they are a
bound, not a trivial baseline.

Free text counts as right when it equals the reference after tidying, which is what the exact judge
asks. A judge that accepts more can only raise the trivial baselines of judged formats.

Margins: how much better a model is than the best input-blind system.

Per slice, model and trivial baselines are compared on the same questions: those the model has a score for. A
question the model has no row for counts as wrong; one that was not scored (no verdict, or a reference
that breaks its own format) is left out on both sides and counted. The trivial baseline is the best honest one of
that very slice, so margins are cautious; the best oracle constant stands beside it. No interval is
given here: score a trivial baseline's answer file as a model and compare the two with `surgvalid analyse compare`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from surgvalid.errors import Misuse, TableInvalid
from surgvalid.results.request import requested
from surgvalid.results.result import Result, as_table
from surgvalid.results.tables import scoring as tables
from surgvalid.results.tables.scoring import MARGINS
from surgvalid.schema.findings import as_findings
from surgvalid.schema.questions.question_files import QuestionSet, Sources, load_questions
from surgvalid.schema.questions.questions import Response
from surgvalid.schema.rows import write_json_rows
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.scoring.blind_predictors import GroupConstants, TextPrior, best_constants
from surgvalid.scoring.blind_questions import BlindQuestion, blind_questions, template_table, unseen_table
from surgvalid.scoring.slices import HEADLINE, Slices
from surgvalid.stats.draws import stream

DESCRIBED = ("case", "video", "format", "bucket", "template")
"""Columns that describe a question; every other one is a trivial baseline."""


def margins(cases: pl.DataFrame, score_table: ScoreTable) -> pl.DataFrame:
    """Per model and slice: its accuracy, the best trivial baseline, and the margin between them.

    Args:
        cases: The scores of every trivial baseline on every question, as `TrivialBaselinesResult.cases` has them.
        score_table: The models.

    Raises:
        TableInvalid: The table has no metric `correct`, or shares no question with the trivial baselines.
    """
    if "correct" not in score_table.metrics:
        raise TableInvalid("score table", [f"no metric 'correct'; it has {', '.join(score_table.metrics)}"])
    scores = score_table.frame.filter(metric="correct").select("model", "case", "value")
    if scores.join(cases, on="case", how="semi").is_empty():
        raise TableInvalid("score table", ["none of its cases is among the questions of the trivial baselines"])
    slices = Slices(cases["video"].to_list(), cases["bucket"].to_list(), cases["format"].to_list())
    rows: list[dict[str, Any]] = []
    for model in score_table.models:
        answered = scores.filter(model=model).select("case", "value", present=pl.lit(True))
        joined = cases.select("case").join(answered, on="case", how="left", maintain_order="left")
        rows += _rows(model, joined, cases, slices)
    return MARGINS.frame(rows)


def _rows(model: str, joined: pl.DataFrame, cases: pl.DataFrame, slices: Slices) -> list[dict[str, Any]]:
    predictors = [name for name in cases.columns if name not in DESCRIBED]
    floors = [name for name in predictors if not name.startswith("oracle-")]
    missing = joined["present"].is_null().to_numpy()
    answered = joined["value"].cast(pl.Float64).to_numpy().copy()
    answered[missing] = 0.0
    unscored = np.isnan(answered) | cases[floors[0]].is_null().to_numpy()
    values = slices.values(np.where(unscored, np.nan, answered))
    lacking = slices.values(np.where(unscored, np.nan, missing))
    left_out = slices.values(unscored.astype(float))
    honest = {name: slices.values(_paired(cases, name, unscored)) for name in floors}
    oracle = [slices.values(_paired(cases, name, unscored)) for name in predictors if name not in floors]
    rows = []
    for where, value in values.items():
        if not value.questions:
            continue
        best = max(floors, key=lambda name: (honest[name][where].rows, -floors.index(name)))
        floor, bound = honest[best][where].rows, max(each[where].rows for each in oracle)
        margin = value.rows - floor
        rows.append(
            {
                "model": model,
                "level": where[0],
                "name": where[1],
                "accuracy": value.rows,
                "best_floor": best,
                "floor_accuracy": floor,
                "margin": _or_none(margin),
                "oracle_accuracy": bound,
                "questions": value.questions,
                "videos": value.video_count,
                "missing": lacking[where].right,
                "not_scored": left_out[where].right,
            }
        )
    return rows


def _paired(cases: pl.DataFrame, predictor: str, unscored: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    return np.where(unscored, np.nan, cases[predictor].to_numpy())


def _or_none(number: float) -> float | None:
    return None if math.isnan(number) else number


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
BASELINES = (*LEVELS, TEXT_PRIOR)
"""The honest predictors."""
ORACLES = tuple(f"oracle-{name}" for name in LEVELS)
"""The same constants fitted in hindsight."""

SHORT = {
    name: name.replace("constant-per-", "").replace("template-and-", "+").replace("-prior", "") for name in BASELINES
}
SHORT |= {f"oracle-{name}": f"oracle:{SHORT[name]}" for name in LEVELS}
"""Headings of columns that fit a terminal."""
FOLDS = 10
"""Most parts into which the videos are dealt for the text prior when there is no training set."""


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class TrivialBaselinesResult(Result):
    """What trivial systems reach on a question set.

    `table` has `floor, level, name, accuracy, accuracy_videos, right, questions, videos`.
    """

    cases: pl.DataFrame
    """`case, video, format, bucket, template`, then 1, 0 or null (not scored) per predictor."""
    answers: Mapping[str, Answers]
    """Per predictor: case to answer; a question it cannot answer is absent."""
    fit: str

    @property
    def templates(self) -> pl.DataFrame:
        """One row per (format, template): how many questions, videos and possible answers it has."""
        return self.tables["templates"]

    @property
    def unseen(self) -> pl.DataFrame:
        """Per slice, the questions whose template is not in the training set; empty without one."""
        return self.tables.get("unseen_templates", pl.DataFrame())

    @property
    def wide(self) -> pl.DataFrame:
        """One row per slice, one column per predictor: the accuracies side by side."""
        keys = ["level", "name", "questions", "videos"]
        return self.table.pivot("floor", index=keys, values="accuracy")

    def best(self, level: str = HEADLINE[0], name: str = HEADLINE[1]) -> tuple[str, float]:
        """The best honest trivial baseline of a slice and its accuracy; NaN where nothing could be scored."""
        rows = self.table.filter(pl.col("floor").is_in(BASELINES), level=level, name=name)
        top = rows.sort("accuracy", descending=True, nulls_last=True, maintain_order=True).row(0, named=True)
        return top["floor"], math.nan if top["accuracy"] is None else top["accuracy"]

    @property
    def title(self) -> str:
        """The best trivial baseline, the templates, and every trivial baseline over all questions."""
        name, value = self.best()
        single = self.templates.filter("single_answer")
        lines = [
            f"Trivial baselines of {self.cases.height} questions, {self.cases['video'].n_unique()} videos (fit: "
            f"{self.fit})",
            f"  best trivial baseline, primary result: {value:.4f} ({name})",
            f"  templates: {self.templates.height}, of which {single.height} have a single possible answer"
            f" ({single['questions'].sum()} questions)",
        ]
        return "\n".join(lines)

    @property
    def shown(self) -> pl.DataFrame:
        """Every trivial baseline over all questions."""
        return self.table.filter(pl.col("level").is_in(["headline", "overall"]))

    def screen(self) -> Mapping[str, pl.DataFrame]:
        """The trivial baselines side by side, how many templates have one answer, and what else there is."""
        titles = {
            "unseen_templates": "Questions whose template the training set never shows",
            "margins": "Margin of each model over the best trivial baseline of the slice",
        }
        return {
            f"Trivial baselines (fit: {self.fit}); oracle = fitted in hindsight, a bound": self.wide.rename(SHORT),
            "Templates": template_counts(self.templates),
            **{title: self.tables[name] for name, title in titles.items() if name in self.tables},
        }

    def as_dict(self) -> dict[str, Any]:
        """The result as plain data; of the templates those with a single possible answer."""
        data = super().as_dict()
        data["single_answer_templates"] = [row for row in data.pop("templates") if row["single_answer"]]
        return {"fit": self.fit, "unseen_templates": [], **data}

    def write(self, folder: Path) -> None:
        """Write the tables, and every predictor's answers as an official answer file."""
        super().write(folder)
        for predictor, answers in self.answers.items():
            place = folder / "floor_answers" / predictor
            place.mkdir(parents=True, exist_ok=True)
            write_json_rows((Response(case, text).as_row() for case, text in answers.items()), place / "answer.json")


def template_counts(templates: pl.DataFrame) -> pl.DataFrame:
    """How many templates have a single possible answer, and how many questions those have."""
    single = templates.filter("single_answer")
    repeated = single.filter(pl.col("questions") > 1)
    return pl.DataFrame(
        {
            "templates": ["all", "single possible answer", "of these, asked more than once"],
            "count": [templates.height, single.height, repeated.height],
            "questions": [int(frame["questions"].sum()) for frame in (templates, single, repeated)],
        }
    )


@requested("floors", files=("requests", "references", "train_requests", "train_references", "results"))
def trivial_baselines(
    requests: Sources,
    references: Sources,
    *,
    train_requests: Sources | None = None,
    train_references: Sources | None = None,
    results: Any = None,
    class_names: tuple[str, ...] | None = None,
    seed: int = 42,
) -> TrivialBaselinesResult:
    """What input-blind systems reach: see the head of this module.

    Args:
        requests: Files or objects of the questions.
        references: Their references.
        train_requests: Questions to fit on, with `train_references`. Without them every question is
            answered from the other videos of its own set.
        train_references: References of the training questions.
        results: A score table of models, or files of one; the margins of the models over the trivial baselines are
            added.
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
        raise Misuse("there is no question with a reference, so there is no trivial baseline")
    training = None
    if train_requests is not None and train_references is not None:
        training = blind_questions(load_questions(train_requests, train_references, class_names=class_names))
    hindsight = [_fitted(questions, key) for key in LEVELS.values()]
    fitted = hindsight if training is None else [_fitted(training, key) for key in LEVELS.values()]
    answers = _constant_answers(questions, fitted, leave_out=training is None)
    answers[TEXT_PRIOR] = _prior_answers(questions, training, seed)
    answers |= _oracle_answers(questions, hindsight)
    cases = _case_table(questions, answers)
    tables = {
        "floors": _floor_table(cases, tuple(answers)),
        "templates": template_table(questions, training),
        "unseen_templates": unseen_table(questions, training),
        "margins": pl.DataFrame() if results is None else margins(cases, as_table(results)),
    }
    return TrivialBaselinesResult(
        tables={name: frame for name, frame in tables.items() if not frame.is_empty()},
        cases=cases,
        answers={name: _given(questions, texts) for name, texts in answers.items()},
        fit="leave-one-video-out" if training is None else "training set",
        findings=as_findings(_notes(asked, questions, training)),
    )


# --- answers -------------------------------------------------------------------------------------


def _constant_answers(
    questions: Sequence[BlindQuestion], fitted: Sequence[Fitted], *, leave_out: bool
) -> dict[str, list[str | None]]:
    """The constants for each question, from coarse to fine; where a finer one is unknown the coarser stays."""
    answers: dict[str, list[str | None]] = {}
    coarser: list[str | None] = [None] * len(questions)
    for (name, key), groups in zip(LEVELS.items(), fitted, strict=True):
        finest = [_constant_for(groups.get(key(question)), question, leave_out) for question in questions]
        coarser = [fine if fine is not None else coarse for fine, coarse in zip(finest, coarser, strict=True)]
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
    columns: dict[str, Any] = {name: [getattr(question, name) for question in questions] for name in DESCRIBED}
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
        notes.append("there is a single video, so nothing can be learnt from others: the trivial baselines are empty")
    if training is not None and (shared := sorted(videos & {question.video for question in training})):
        notes.append(
            f"{len(shared)} videos are in the training set too (first: {shared[0]}); their trivial baselines leak"
        )
    return tuple(notes)
