"""A folder as a challenge leaves it: simulated procedures, questions, six scored models, leaderboards, reasons, trivial
baselines.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path

import polars as pl

from surgvalid.questions.make import make_questions
from surgvalid.schema.questions.questions import Response
from surgvalid.schema.rows import write_json_rows
from surgvalid.schema.tables.score_table import read_score_table
from surgvalid.scoring.run import score
from surgvalid.scoring.trivial_baselines import trivial_baselines
from surgvalid.simulation import SimulatedModel, answer, conditions_of, simulate
from surgvalid.stats.mixed.failures import failures
from surgvalid.stats.ranking import rank

HOSTILE_NAME = "</script><script>window.hacked=1</script> #let $x^2$ =1+1"
HOSTILE_ANSWER = '"><img src=x onerror="window.hacked=2"> #panic("x") $\\frac{1}{2}$ @cite \\input{/etc/passwd}'
MODELS = (
    SimulatedModel("atlas", 0.86, sensitivity={"background_smoke": -3.0}, video_sd=0.7, own_video_sd=0.4),
    SimulatedModel("borea", 0.82, ood_shift=-0.8, video_sd=0.7, own_video_sd=0.4),
    SimulatedModel("cirrus", 0.80, video_sd=0.7, own_video_sd=0.9, refuses=0.05),
    SimulatedModel("delphi", 0.66, video_sd=0.7, own_video_sd=0.4, latency_s=9.0),
    SimulatedModel(HOSTILE_NAME, 0.60, video_sd=0.7, own_video_sd=0.4),
    SimulatedModel("baseline", 0.40, video_sd=0.7),
)  # fmt: skip


@cache
def shared_challenge() -> Path:
    """Such a folder, made once per process; tests read it and change copies only."""
    root = Path(tempfile.mkdtemp(prefix="surgvalid-challenge-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    return challenge_folder(root / "endo_challenge")


def challenge_folder(root: Path, *, procedures: int = 20, per_video: int = 12, seed: int = 7) -> Path:
    """Write everything a challenge leaves behind into the folder, and return it."""
    root.mkdir(parents=True, exist_ok=True)
    scenes = simulate(procedures, seed=seed, minutes=(3, 4), width_px=160, height_px=90)
    scenes.to_dir(root / "procedures")
    made = make_questions(
        scenes.procedures(), tracks=["segment"], per_video=per_video, test_share=1.0,
        ood_centers=["Center D", "Center E", "Center F"], seed=seed,
    )  # fmt: skip
    made.to_dir(root / "questions")
    requests, references = made.requests, made.references
    write_json_rows((r.as_row() for r in requests), root / "requests.json")
    write_json_rows((r.as_row() for r in references), root / "references.json")
    conditions = conditions_of(requests, scenes.conditions())
    for number, model in enumerate(MODELS):
        given = answer(model, requests, references, seed=seed, conditions=conditions).responses
        if model.name == HOSTILE_NAME:
            given = [replace(r, content=HOSTILE_ANSWER) if i % 9 == 0 else r for i, r in enumerate(given)][:-5]
        _score(root, number, model.name, given)
    sources = [root / f"model-{number}" for number, _ in enumerate(MODELS)]
    table = read_score_table(sources)
    files = [source / "scores.parquet" for source in sources]
    rank(files, replicates=200, baselines=["baseline"], seed=seed).to_dir(root / "rank")
    _failures(root, table.frame, conditions)
    trivial_baselines(root / "requests.json", root / "references.json", results=files).to_dir(root / "floors")
    return root


def _score(root: Path, number: int, name: str, given: list[Response]) -> None:
    path = root / "answers" / f"{number}.json"
    path.parent.mkdir(exist_ok=True)
    write_json_rows((response.as_row() for response in given), path)
    questions = (root / "requests.json", root / "references.json", path)
    score(*questions, model=name, track="segment", judges=["exact"], replicates=200).to_dir(root / f"model-{number}")


def _failures(root: Path, frame: pl.DataFrame, conditions: dict[str, dict[str, float]]) -> None:
    smoke = [{"case": case, "smoke": strengths["background_smoke"]} for case, strengths in conditions.items()]
    rows = frame.filter(metric="correct").select("model", "case", "video", "value", "ood", "clinical")
    found = failures(
        rows, outcome="value", fixed=["smoke", "ood", "clinical"], random=["model", "video", "case"],
        properties=pl.DataFrame(smoke), per_model=True,
    )  # fmt: skip
    found.to_dir(root / "failures")
