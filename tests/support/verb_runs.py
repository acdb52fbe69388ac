"""One small run of every verb that writes a folder of results, from the same few inputs."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from typer.testing import CliRunner

import surgvalid
from data_set_files import cholec80
from small_questions import MODELS, answers, questions
from surgvalid.cli import build_app
from surgvalid.schema.rows import write_json_rows
from surgvalid.studies.preregistration import EXAMPLE
from surgvalid.submissions.intake import check_submission
from surgvalid.submissions.phase import read_phase
from surgvalid.submissions.phase_run import run_submission
from surgvalid.submissions.phase_status import submission_status
from surgvalid.submissions.starter import new_pack
from surgvalid.video.images import write_png

QUESTIONS = ["--requests", "requests.json", "--references", "references.json"]
MIXED = ["--outcome", "value", "--fixed", "ood", "--random", "model,video", "--metric", "correct"]
FOLDER_VERBS: dict[str, list[str]] = {
    "score": ["score", *QUESTIONS, "--responses", "moody.json", "--judge", "exact", "--resamples", "20"],
    "score official": [
        "score", *QUESTIONS, "--responses", "moody.json", "--judge", "exact", "--resamples", "20", "--profile",
        "orena-focus-0.4.0",
    ],
    "ask": [
        "task", "ask", "--model", "constant:yes", "--requests", "requests.json", "--videos", "films",
        "--track", "frame",
    ],
    "rank": ["rank", "steady", "moody", "--resamples", "20", "--prize-pool", "100"],
    "rank mean": ["rank", "steady", "moody", "--rule", "mean-then-rank", "--resamples", "20", "--missing", "0"],
    "failures": ["analyse", "failures", "steady", "moody", *MIXED],
    "failures per model": [
        "analyse", "failures", "steady", "moody", *MIXED, "--with", "per_model", "--leave-out", "video",
    ],
    "failures next": [
        "analyse", "failures", "steady", "moody", *MIXED, "--recommend", "0.2", "--with", "strengths",
    ],
    "failure change": [
        "analyse", "failures", "--before", "steady", "--after", "moody", "--outcome", "value", "--fixed", "ood",
        "--random",
        "model,video,case", "--metric", "correct",
    ],
    "floors": ["score", "baselines", *QUESTIONS],
    "diff": ["score", "diff", "steady", "moody"],
    "lint": ["score", "lint", *QUESTIONS, "--responses", "moody.json"],
    "supplement": ["report", "supplement", "steady", "moody", "--resamples", "20"],
    "evaluate": [
        "evaluate", "classification", "--predictions", "frames.csv", "--metric", "accuracy", "--resamples", "20",
    ],
    "combine": ["evaluate", "combine", "shard"],
    "study": ["study", "wide.csv", "--metric", "dice"],
    "audit": ["audit", "steady", "--pitfall", "P1.2", "--pitfall", "P3.4", "--pitfall", "P3.5"],
    "audit card": ["audit", "card", "cholec80", "cholec80", "--task", "phase"],
    "combine sites": ["evaluate", "combine", "north.parquet", "south.parquet"],
    "plan": ["plan", "pilot.csv", "--difference", "0.1", "--better", "larger", "--simulations", "100"],
    "preregister": ["plan", "register", "plan.toml"],
    "monitor": [
        "monitor", "pilot.csv", "--since", "5",
        "--time-column", "day", "--better", "larger",
    ],
    "audit tables": ["audit", "tables", "printed.md", "--facts", "kind=multi-class"],
    "submission check": ["submission", "check", "--phase", "phase.toml", "--description", "method.md"],
    "submission status": ["host", "phase", "status", "--phase", "phase.toml", "--run", "run"],
    "task board": [
        "task", "leaderboard", "--task", "phase-c80", "--contrast", "models", "--models", "GPT-4o,CLIP",
    ],
}  # fmt: skip
"""The words of a run, without its output."""
MADE_IN_PYTHON: dict[str, Callable[[], Any]] = {
    "task board": lambda: surgvalid.task_board(
        [], tasks=["phase-c80"], contrast="models", first=["GPT-4o"], second=["CLIP"]
    ),
    "score": lambda: surgvalid.score(
        "requests.json", "references.json", "moody.json", judges=["exact"], replicates=20
    ),
    "score official": lambda: surgvalid.score(
        "requests.json", "references.json", "moody.json", judges=["exact"], replicates=20, profile="orena-focus-0.4.0"
    ),
    "ask": lambda: surgvalid.ask("constant:yes", "requests.json", videos="films", track="frame"),
    "rank": lambda: surgvalid.rank(["steady", "moody"], replicates=20, prize_pool=100),
    "rank mean": lambda: surgvalid.rank(["steady", "moody"], "mean-then-rank", replicates=20, missing=0.0),
    "failures": lambda: surgvalid.failures(
        ["steady", "moody"], outcome="value", fixed=["ood"], random=["model", "video"], metric="correct"
    ),
    "failures per model": lambda: surgvalid.failures(
        ["steady", "moody"], outcome="value", fixed=["ood"], random=["model", "video"], metric="correct",
        per_model=True, leave_out=["video"],
    ),
    "failures next": lambda: surgvalid.failures(
        ["steady", "moody"], outcome="value", fixed=["ood"], random=["model", "video"], metric="correct",
        recommend=True, improvement=0.2, strengths=True,
    ),
    "failure change": lambda: surgvalid.failure_change(
        ["steady"], ["moody"], outcome="value", fixed=["ood"], random=["model", "video", "case"], metric="correct"
    ),
    "floors": lambda: surgvalid.trivial_baselines("requests.json", "references.json"),
    "diff": lambda: surgvalid.diff("steady", "moody"),
    "lint": lambda: surgvalid.lint("requests.json", "moody.json", "references.json"),
    "supplement": lambda: surgvalid.supplement(["steady", "moody"], replicates=20),
    "evaluate": lambda: surgvalid.evaluate("classification", "frames.csv", metrics=["accuracy"], replicates=20),
    "combine": lambda: surgvalid.combine(["shard"]),
    "study": lambda: surgvalid.study("wide.csv", metric="dice"),
    "audit": lambda: surgvalid.audit_study("steady", pitfalls=["P1.2", "P3.4", "P3.5"]),
    "audit card": lambda: surgvalid.data_set_card("cholec80", "cholec80", tasks=["phase"]),
    "combine sites": lambda: surgvalid.combine(["north.parquet", "south.parquet"]),
    "plan": lambda: surgvalid.plan(["pilot.csv"], difference=0.1, better="larger", simulations=100),
    "preregister": lambda: surgvalid.preregister("plan.toml"),
    "monitor": lambda: surgvalid.monitor(
        ["pilot.csv"], since="5", time_column="day", better="larger"
    ),
    "audit tables": lambda: surgvalid.audit_tables(["printed.md"], kind="multi-class"),
    "submission check": lambda: check_submission("phase.toml", description="method.md"),
    "submission status": lambda: submission_status("run", read_phase("phase.toml")),
}  # fmt: skip
"""The same runs in Python."""


@cache
def inputs_folder() -> Path:
    """A folder with questions, two models' answers and scores, and a table of frames; not to be written into."""
    root = Path(tempfile.mkdtemp(prefix="surgvalid-verbs-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    requests, references = questions()
    write_json_rows((request.as_row() for request in requests), root / "requests.json")
    write_json_rows((reference.as_row() for reference in references), root / "references.json")
    for model in MODELS:
        write_json_rows((r.as_row() for r in answers(model, requests, references, seed=42)), root / f"{model}.json")
        sources = (root / "requests.json", root / "references.json", root / f"{model}.json")
        surgvalid.score(*sources, model=model, judges=["exact"], replicates=20).to_dir(root / model)
    frames = {"video": list("uuvvww"), "frame": [0, 1] * 3, "reference": list("ababab"), "prediction": list("abaabb")}
    pl.DataFrame(frames).write_csv(root / "frames.csv")
    surgvalid.evaluate("classification", frames, replicates=20, shard="1/1").to_dir(root / "shard")
    wide = {
        "patient": list("abcdefg"),
        "unet": [0.8, 0.7, 0.9, 0.8, 0.6, 0.8, 0.7],
        "swin": [0.7, 0.6, 0.8, 0.8, 0.5, 0.6, 0.6],
    }
    pl.DataFrame(wide).write_csv(root / "wide.csv")
    for site in ("north", "south"):
        made = surgvalid.evaluate("classification", frames, metrics=["accuracy"], share=True)
        surgvalid.share(made, root / f"{site}.parquet", site=site, minimum_cases=1, cell_size=1)
    pilot = [
        {"model": model, "case": f"{day}-{case}", "video": f"v{day}", "day": day, "metric": "score",
         "value": 0.5 + 0.03 * (day * 7 % 5) + 0.02 * (case * day % 3) + lift * (1 + day % 2)}
        for day in range(9) for case in range(3) for model, lift in (("unet", 0.1), ("swin", 0.0))
    ]  # fmt: skip
    pl.DataFrame(pilot).write_csv(root / "pilot.csv")
    (root / "plan.toml").write_text(EXAMPLE, encoding="utf-8")
    (root / "films").mkdir()
    for video in {request.video for request in requests}:
        write_png(np.full((16, 24, 3), 90, np.uint8), root / "films" / f"{video}.png")
    (root / "printed.md").write_text("| Model | A | wR |\n|---|---|---|\n| CLIP | 0.09 | 0.40 |\n", encoding="utf-8")
    cholec80(root / "cholec80")
    _submission(root)
    return root


def _submission(root: Path) -> None:
    """A phase, a method description, and the run of a submission."""
    (root / "phase.toml").write_text('name = "p"\ntrack = "frame"\nengines = ["process"]\n[budget]\nstate = "free"\n')
    (root / "method.md").write_text("A very good method.\n")
    new_pack(root / "pack")
    (root / "pack" / "example_input" / "references.json").unlink()
    command = [sys.executable, str(root / "pack" / "app.py")]
    run_submission(read_phase(root / "phase.toml"), root / "pack" / "example_input", out=root / "run", command=command)


def run_verb(name: str, out: Path, *more: str) -> None:
    """Run a verb of `FOLDER_VERBS` on the shared inputs; `diff`, `lint` and `audit` end with 1 on findings."""
    here = os.getcwd()
    os.chdir(inputs_folder())
    try:
        done = CliRunner().invoke(build_app(), [*FOLDER_VERBS[name], "--out", str(out), *more])
    finally:
        os.chdir(here)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code in (0, 1), done.output


def files_in(folder: Path) -> set[str]:
    """The files in a folder, as seen from it."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
