"""The steps of the demo, each with the files it leaves for the next."""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from surgvalid.cli._demo.cast import BASELINES, BLIND, COMPETITORS, HELD_OUT_CENTERS, RULE_BASED, TRAINED
from surgvalid.questions.benchmark import Benchmark
from surgvalid.questions.make import make_questions
from surgvalid.schema.questions.questions import Response
from surgvalid.schema.rows import write_json_rows
from surgvalid.scoring.run import score
from surgvalid.scoring.trivial_baselines import TEXT_PRIOR, TrivialBaselinesResult, trivial_baselines
from surgvalid.simulation.artefacts import BACKGROUND, IMAGE, TICKED_FROM
from surgvalid.simulation.models import answer, conditions_of
from surgvalid.simulation.simulate import Simulation, all_cores, simulate
from surgvalid.stats.mixed.failures import failures
from surgvalid.stats.mixed.report import FailuresResult
from surgvalid.stats.ranking import RankResult, rank
from surgvalid.studies.study_audit import StudyAudit, audit_study

Step = Callable[[int], None]
TRACKS = ("frame", "segment", "procedure")
PROPERTIES = (*BACKGROUND, *IMAGE)
"""Image conditions whose effect on success is asked for."""


@dataclass(frozen=True, slots=True)
class Size:
    """How large the demo is."""

    procedures: int
    per_video: int
    replicates: int
    pictures: bool


FULL = Size(procedures=44, per_video=32, replicates=2000, pictures=True)
QUICK = Size(procedures=42, per_video=26, replicates=500, pictures=False)
"""Without images, and so without the participants that need them."""
MINUTES = (4.0, 5.0)
WIDTH_PX, HEIGHT_PX = 256, 144
TEST_SHARE = 0.6
CLIP_S = 20
"""So much of one procedure is painted as video, to be looked at."""


@dataclass(frozen=True, slots=True)
class Demo:
    """Where everything is, and how large."""

    folder: Path
    size: Size
    seed: int

    def questions(self, split: str, track: str, name: str) -> Path:
        """A file of the benchmark."""
        return self.folder / "questions" / split / track / f"{name}.json"

    def answers(self, track: str, model: str) -> Path:
        """A model's answers."""
        return self.folder / "answers" / track / f"{model}.json"


def simulated(demo: Demo) -> Simulation:
    """The procedures: their true annotations and image conditions."""
    simulation = simulate(demo.size.procedures, seed=demo.seed, minutes=MINUTES, width_px=WIDTH_PX, height_px=HEIGHT_PX)
    simulation.to_dir(demo.folder / "procedures", instruments=False, workers=all_cores(), force=True)
    return simulation


def asked(demo: Demo, step: Step) -> Benchmark:
    """Questions for three tracks; two centres are kept for testing."""
    made = make_questions(
        demo.folder / "procedures" / "procedures",
        per_video=demo.size.per_video,
        test_share=TEST_SHARE,
        ood_centers=HELD_OUT_CENTERS,
        seed=demo.seed,
        progress=step,
    )
    made.to_dir(demo.folder / "questions", force=True)
    return made


def answered(demo: Demo, made: Benchmark) -> None:
    """Answers of the simulated models, and the table of image conditions behind them."""
    tests = [question for question in made.questions if question.split == "test"]
    requests = [question.request for question in tests]
    conditions = conditions_of(requests, _levels(demo.folder / "procedures" / "conditions"))
    _write_properties(conditions, demo.folder / "properties.csv")
    for track in TRACKS:
        asked = [question for question in tests if question.track == track]
        for model in (*COMPETITORS, *BASELINES):
            given = answer(
                model, [q.request for q in asked], [q.reference for q in asked], seed=demo.seed, conditions=conditions
            )
            _write_answers(given.responses, demo.answers(track, model.name))


def _levels(folder: Path) -> Iterator[tuple[str, dict[str, np.ndarray]]]:
    """The image conditions of every procedure, as they were written."""
    for path in sorted(folder.glob("*.parquet")):
        table = pl.read_parquet(path).drop("second")
        yield path.stem, {kind: table[kind].to_numpy() for kind in table.columns}


def _write_properties(conditions: dict[str, dict[str, float]], path: Path) -> None:
    rows = [
        {"case": case, **{name: "yes" if levels.get(name, 0.0) >= TICKED_FROM else "no" for name in PROPERTIES}}
        for case, levels in conditions.items()
    ]
    pl.DataFrame(rows).write_csv(path)


def _write_answers(responses: Sequence[Response], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json_rows((response.as_row() for response in responses), path)


def floored(demo: Demo, track: str) -> TrivialBaselinesResult:
    """What input-blind systems reach; the blind prior enters the competition with its answers."""
    result = trivial_baselines(
        demo.questions("test", track, "requests"),
        demo.questions("test", track, "references"),
        train_requests=demo.questions("train", track, "requests"),
        train_references=demo.questions("train", track, "references"),
        seed=demo.seed,
    )
    result.to_dir(demo.folder / "floors" / track, force=True)
    blind = [Response(case, text, 0.01) for case, text in result.answers[TEXT_PRIOR].items()]
    _write_answers(blind, demo.answers(track, BLIND))
    return result


def scored(demo: Demo, track: str) -> list[str]:
    """Scores of every answer file of a track; returns the models."""
    names = []
    for path in sorted((demo.folder / "answers" / track).glob("*.json")):
        result = score(
            demo.questions("test", track, "requests"),
            demo.questions("test", track, "references"),
            path,
            model=path.stem,
            track=track,
            judges=["exact"],
            replicates=demo.size.replicates,
            seed=demo.seed,
        )
        result.to_dir(demo.folder / "scores" / track / path.stem, force=True)
        names.append(path.stem)
    return names


def ranked(demo: Demo, track: str, models: Sequence[str]) -> RankResult:
    """Both leaderboards of a track, with their stability."""
    tables = [demo.folder / "scores" / track / name / "scores.parquet" for name in models]
    result = rank(
        tables,
        "focus",
        baselines=[model.name for model in BASELINES],
        outside=[name for name in (BLIND, RULE_BASED, TRAINED) if name in models],
        seed=demo.seed,
        replicates=demo.size.replicates,
    )
    result.to_dir(demo.folder / "rank" / track, force=True)
    return result


def explained(demo: Demo) -> FailuresResult:
    """Why the simulated models fail: odds ratios of image conditions, overall and for each model."""
    names = {model.name for model in (*COMPETITORS, *BASELINES)}
    tables = [path for path in sorted((demo.folder / "scores").glob("*/*/scores.parquet")) if path.parent.name in names]
    result = typing.cast(
        "FailuresResult",
        failures(
            list(tables),
            outcome="value",
            fixed=[*PROPERTIES, "ood"],
            random=["model", "video", "template", "case"],
            properties=demo.folder / "properties.csv",
            per_model=True,
            metric="correct",
        ),
    )
    result.to_dir(demo.folder / "failures", force=True)
    return result


def audited(demo: Demo) -> StudyAudit:
    """The demo held against the pitfalls of validation, as far as its folder tells."""
    result = audit_study(demo.folder)
    result.to_dir(demo.folder / "audit", force=True)
    return result
