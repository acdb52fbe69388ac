"""Every verb that writes tables, run on something tiny: verb to a function that gives its tables by name."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from docs.validate_failure_loop import PROPERTIES, hidden_harm_answers

import surgvalid
from data_set_files import cholec80
from judge_cases import always
from nested_tables import nested_frame
from ranking_tables import focus_table
from scripted_model import ScriptedModel
from small_questions import MODELS, answers, questions
from surgvalid.audit.label_errors import suspected_label_errors
from surgvalid.evaluation.endoscapes_board import boards
from surgvalid.evaluation.measure import Measured
from surgvalid.evaluation.result import EvaluationResult
from surgvalid.questions.stages.ceiling import Scorable, human_ceiling
from surgvalid.questions.stages.history import Action, History, HistoryEntry
from surgvalid.report.section import Section
from surgvalid.results import TableResult
from surgvalid.results.tables import TABLES
from surgvalid.schema.questions.taxonomy import Capability
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.scoring.trivial_baselines import margins, trivial_baselines
from surgvalid.studies.preregistration import EXAMPLE
from surgvalid.studies.supplement.supplement import tables_of
from surgvalid.submissions.intake import check_submission
from surgvalid.submissions.phase import phase_of
from surgvalid.submissions.phase_run import run_submission
from surgvalid.submissions.phase_status import submission_status
from surgvalid.submissions.starter import new_pack
from surgvalid.tasks import open_task
from surgvalid.video.images import write_png
from task_folders import build

Tables = dict[str, pl.DataFrame]
VIDEOS = ("u", "v", "w")


def _score() -> Tables:
    requests, references = questions()
    given = answers("steady", requests, references, seed=1)
    result = surgvalid.score(requests, references, given, judges=["exact", always("kind", True)], replicates=10)
    kinds = {"split": "test", "track": "frame", "template": "class-visible", "capability": "1a"}
    asked = Scorable("q", "v", "binary", {}, "yes", kinds)
    said = History((HistoryEntry("q", Action.ANSWERED, "anna", "1", "answer", "", "yes"),))
    return {**result.tables, "ceiling": human_ceiling([asked], said)[0]}


def _floors() -> Tables:
    requests, references = questions()
    result = trivial_baselines(requests, references, train_requests=requests, train_references=references)
    given = answers("steady", requests, references, seed=1)
    scored = surgvalid.score(requests, references, given, judges=["exact"], replicates=10).scores
    return {"floors": result.table, "templates": result.templates, "unseen_templates": result.unseen,
            "margins": margins(result.cases, scored)}  # fmt: skip


def _diff() -> Tables:
    requests, references = questions()
    with tempfile.TemporaryDirectory() as folder:
        for name, replicates in (("steady", 10), ("moody", 20)):
            given = answers(name, requests, references, seed=1)
            result = surgvalid.score(requests, references, given, judges=["exact"], replicates=replicates)
            result.to_dir(Path(folder, name))
        return dict(surgvalid.diff(Path(folder, "steady"), Path(folder, "moody")).tables)


def _rank() -> Tables:
    table = focus_table(3, videos=8, per_video=12)
    return dict(surgvalid.rank(table, replicates=5, baselines=["C"], prize_pool=100.0).tables)


def _rank_tasks() -> Tables:
    frame = nested_frame(videos=6).rename({"view": "task"})
    return dict(surgvalid.rank(frame, rule="test-then-rank", replicates=5).tables)


def _failures() -> Tables:
    frame = nested_frame(videos=6, rows=8).with_columns(smoke=(pl.col("view") == "smoke").cast(pl.Int64))
    frame = frame.with_columns(
        phase=pl.Series(["a", "b", "c", "b", "a"]).gather(pl.int_range(frame.height, eager=True) % 5)
    )
    found = surgvalid.failures(
        frame, outcome="value", fixed=["smoke", "phase"], random=["model", "video"], per_model=True, cluster="video",
        leave_out=["model"], recommend=True, strengths=True, risk=_one_row_per_case(frame),
    )  # fmt: skip
    overlap = pl.when(pl.col("value") == 1).then(0.5 + 0.01 * (pl.int_range(pl.len()) % 40)).otherwise(0.0)
    scores = surgvalid.failures(
        frame.with_columns(dice=overlap), outcome="dice", fixed=["smoke"], random=["model", "video"],
        family="ordered-beta",
    )  # fmt: skip
    hidden = surgvalid.failures(
        hidden_harm_answers("pair", 100), outcome="right", fixed=PROPERTIES, random=["model", "video"], recommend=True
    )
    with tempfile.TemporaryDirectory() as folder:
        found.to_dir(folder)
        scores.to_dir(Path(folder) / "scores")
        for name in ("hidden_harms", "property_curves"):
            hidden.tables[name].write_csv(Path(folder) / f"{name}.csv")
        return {path.stem: pl.read_csv(path) for path in (*Path(folder, "scores").glob("*.csv"),
                                                          *Path(folder).glob("*.csv"))}  # fmt: skip


def _one_row_per_case(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.unique("case", keep="first", maintain_order=True).select("case", "smoke", "phase")


def _failure_change() -> Tables:
    frame = nested_frame(videos=6, rows=8).with_columns(smoke=(pl.col("view") == "smoke").cast(pl.Int64))
    rounds = [frame.filter(pl.col("model") == name) for name in ("M0", "M1")]
    return dict(
        surgvalid.failure_change(*rounds, outcome="value", fixed=["smoke"], random=["model", "video", "case"]).tables
    )


def _failure_table() -> Tables:
    frame = nested_frame(videos=6, rows=8).with_columns(smoke=(pl.col("view") == "smoke").cast(pl.Int64))
    return _named(
        surgvalid.failures(
            frame, form="symbols", outcomes={"right": "value"}, fixed=["smoke"], random=["model", "video"]
        )
    )


def _evaluated(evaluate: Callable[..., EvaluationResult]) -> Tables:
    """Labels with a calibration error and a stratum; boxes, of which one has the number 0; and masks."""
    rng = np.random.default_rng(1)
    at = {"video": np.repeat(VIDEOS, 20), "frame": np.tile(np.arange(20), 3)}
    labels = {**at, "smoke": [0, 1] * 30, **{f"reference:{name}": (rng.random(60) < 0.5) * 1 for name in "ab"}}
    labels |= {f"score:{name}": rng.random(60) for name in "ab"}
    metrics = ["mean_ap", "classwise_ece"]
    tables = evaluate("classification", labels, None, metrics=metrics, by=["smoke"], replicates=5).tables
    images = [{"id": n, "video": VIDEOS[n % 3]} for n in range(6)]
    objects = [{"id": n, "image_id": n, "category_id": 1, "bbox": [n, n, 10, 10]} for n in range(6)]
    dataset = {"images": images, "categories": [{"id": 1, "name": "tool"}], "annotations": objects}
    found = [{**one, "score": 0.5} for one in objects]
    boxes = evaluate("detection", found, dataset, metrics=["coco_ap"], replicates=5).tables
    masks = {f"{video}/0": rng.integers(0, 3, (6, 7)) for video in VIDEOS}
    drawn = evaluate("segmentation", masks, masks, metrics=["mi_dsc"], replicates=5).tables
    of_boxes = {name: boxes[name] for name in ("coco_summary", "detection_errors", "detections", "compat")}
    return {**tables, **of_boxes, "instances": drawn["instances"]}


def _evaluate() -> Tables:
    """What every kind writes, and the leaderboards."""
    tables = _evaluated(surgvalid.evaluate)
    measured = Measured(tables["metrics"], tables["per_video"], tables["per_class"], {}, {}, {}, {}, {})
    return {**tables, **boards("mine", measured, {"cvs_map", "bbox_map", "segm_map"})}


def _combine() -> Tables:
    return {**_evaluated(_from_one_shard), **_from_sites()}


def _from_sites() -> Tables:
    frames = {"video": list("uuvvww"), "frame": [0, 1] * 3, "reference": list("ababab"), "prediction": list("abaabb")}
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for model in MODELS:
            made = surgvalid.evaluate("classification", frames, model=model, metrics=["accuracy"], share=True)
            files.append(
                surgvalid.share(made, Path(folder) / f"{model}.parquet", site="here", minimum_cases=1, cell_size=1)
            )
        return dict(surgvalid.combine(files).tables)


def _plan() -> Tables:
    return dict(surgvalid.plan(difference=0.2, sd=0.4, icc=0.1, questions=[10], simulations=100).tables)


def _preregister() -> Tables:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "plan.toml"
        file.write_text(EXAMPLE, encoding="utf-8")
        return dict(surgvalid.preregister(file).tables)


def _monitor() -> Tables:
    rows = nested_frame(videos=7).with_columns(date=pl.col("video").rank("dense"))
    return dict(surgvalid.monitor(rows, since="5").tables)


def _from_one_shard(*given: Any, **options: Any) -> EvaluationResult:
    with tempfile.TemporaryDirectory() as folder:
        surgvalid.evaluate(*given, shard="1/1", **options).to_dir(folder)
        return surgvalid.combine([folder])


def _labelled() -> pl.DataFrame:
    """A score table with everything that some verb asks for."""
    return nested_frame(videos=7).with_columns(
        capability=pl.col("view"), secondary=pl.lit("a;b"), response=pl.col("value").cast(pl.String)
    )


def _named(result: TableResult) -> Tables:
    """The tables of a result, the main one as the file that a user names."""
    return {"result" if name == result.stem else name: frame for name, frame in result.tables.items()}


def _ratings() -> Tables:
    rows = {"rater": list("ab") * 6, "unit": [str(n // 2) for n in range(12)], "label": list("121222112211")}
    found = surgvalid.agreement(rows, rater="rater", label="label", unit="unit", tolerance=0.5, replicates=5)
    return {"result": found.table, "tolerance": found.tables["tolerance"]}


@cache
def _sections() -> tuple[Section, ...]:
    """The sections of a small supplement in which every table occurs."""
    requests, references = questions()
    several = [
        replace(one, secondaries=(Capability.DURATION_ESTIMATION,) * (place % 2))
        for place, one in enumerate(references)
    ]
    with tempfile.TemporaryDirectory() as folder:
        for model in MODELS:
            given = answers(model, requests, several, seed=1)
            scored = surgvalid.score(requests, several, given, model=model, judges=["exact"], replicates=10)
            scored.to_dir(Path(folder) / model)
        return surgvalid.supplement([Path(folder) / model for model in MODELS], replicates=10).sections


def _study() -> Tables:
    wide = {"patient": list("abcdefg"), "unet": [0.8, 0.7, 0.9, 0.8, 0.6, 0.8, 0.7], "view": ["x", "y"] * 3 + ["x"]}
    other = [0.7, 0.6, 0.8, 0.8, 0.5, 0.6, 0.6]
    return dict(surgvalid.study(pl.DataFrame({**wide, "swin": other}), metric="dice").tables)


def _audit() -> Tables:
    study = surgvalid.audit_study(ScoreTable.of(nested_frame()), pitfalls=["P1.1", "P1.2"]).tables
    with tempfile.TemporaryDirectory() as folder:
        cholec80(Path(folder))
        card = surgvalid.data_set_card("cholec80", folder, tasks=["phase"]).tables
    cells = {"A": "0.09", "wR": "0.40"}
    rows = [{"table": "1", "row": "ours", "column": name, "value": text} for name, text in cells.items()]
    printed = surgvalid.audit_tables(rows, kind="multi-class").tables
    return {**study, "label_errors": suspected_label_errors(_one_wrong_reference()), **card, **printed}


def _one_wrong_reference() -> pl.DataFrame:
    """Six models that agree on sixty cases, on the first of them against the reference."""
    truth = [("a", "b", "c")[n % 3] for n in range(60)]
    cases = {"case": [f"q{n}" for n in range(60)], "video": [f"v{n % 6}" for n in range(60)]}
    frame = pl.DataFrame({**cases, "reference": ["b", *truth[1:]], "prediction": truth})
    return pl.concat([frame.with_columns(model=pl.lit(f"m{number}")) for number in range(6)])


def _ask() -> Tables:
    requests, _ = questions()
    with tempfile.TemporaryDirectory() as folder:
        for video in {request.video for request in requests}:
            write_png(np.full((16, 24, 3), 90, np.uint8), Path(folder) / f"{video}.png")
        return dict(surgvalid.ask("constant:yes", requests, videos=folder, track="frame").tables)


def _rehearsal() -> Tables:
    with tempfile.TemporaryDirectory() as folder:
        pack = Path(folder) / "pack"
        new_pack(pack)
        command = [sys.executable, str(pack / "app.py")]
        return dict(
            surgvalid.rehearse(pack / "example_input", out=pack / "out", command=command, engine="process").tables
        )


def _submission() -> Tables:
    with tempfile.TemporaryDirectory() as folder:
        pack, run = Path(folder) / "pack", Path(folder) / "run"
        new_pack(pack)
        (pack / "example_input" / "references.json").unlink()
        phase = phase_of({"name": "p", "track": "frame", "engines": ["process"], "budget": {"state": "free"}})
        run_submission(phase, pack / "example_input", out=run, command=[sys.executable, str(pack / "app.py")])
        return {**check_submission(phase).tables, **submission_status(run, phase).tables}


@cache
def _task_folder() -> tuple[Path, Path]:
    """A folder with cases of one's own, and the task on it."""
    folder = Path(tempfile.mkdtemp())
    task = open_task("severity-im")
    return build(task, folder / "mine"), folder


def _task() -> Tables:
    root, folder = _task_folder()
    with tempfile.TemporaryDirectory() as runs:
        for shots in (0, 1):
            model = ScriptedModel(lambda _: "1")
            result = surgvalid.run_task(
                "severity-im", model=model, root=root, frames=folder, shots=shots, name=f"m{shots}"
            )
            result.to_dir(Path(runs, str(shots)))
        board = surgvalid.task_board([runs], contrast="shots")
    kept = set(TABLES["task"])
    return {name: frame for name, frame in {**result.tables, **board.tables}.items() if name in kept}


MAKERS: dict[str, Callable[[], Tables]] = {
    "ask": _ask,
    "score": _score,
    "audit": _audit,
    "floors": _floors,
    "diff": _diff,
    "rank": _rank,
    "rank-tasks": _rank_tasks,
    "failures": _failures,
    "failure-change": _failure_change,
    "failure-table": _failure_table,
    "evaluate": _evaluate,
    "combine": _combine,
    "simulate": lambda: {"procedures": surgvalid.simulate(1, minutes=(1, 1), width_px=160, height_px=90).table},
    "interval": lambda: {"result": surgvalid.interval(nested_frame(), by=["view"], replicates=5).table},
    "compare": lambda: {"result": surgvalid.compare(nested_frame(), "M0", "M1", replicates=5).table},
    "strata": lambda: {"result": surgvalid.strata(nested_frame(), by=["view"], replicates=5).table},
    "aggregate": lambda: {"result": surgvalid.aggregate(nested_frame(), phase="view").table},
    "agreement": _ratings,
    "adjusted": lambda: _named(surgvalid.failures(_labelled(), fixed=["view"], marginal=True)),
    "cooccurrence": lambda: _named(surgvalid.cooccurrence(_labelled(), replicates=5)),
    "dependence": lambda: _named(surgvalid.dependence(_labelled(), by=["view"], replicates=5)),
    "ensembles": lambda: _named(surgvalid.ensembles(_labelled(), by=["view"], replicates=5)),
    "profiles": lambda: _named(surgvalid.profiles(_labelled(), by=["view"])),
    "supplement": lambda: tables_of(_sections()),
    "study": _study,
    "plan": _plan,
    "preregister": _preregister,
    "monitor": _monitor,
    "rehearse": _rehearsal,
    "submission": _submission,
    "task": _task,
}
