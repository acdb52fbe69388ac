"""The demo's one real participant: a program that gets images and questions over the protocol.

It is ours, so it runs as a plain process, with the packages of this interpreter; what teams hand in runs in a sandbox.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import surgvalid
from surgvalid.asking.plan import PlanState
from surgvalid.cli._demo.cast import RULE_BASED
from surgvalid.cli._demo.chain import Demo, Step
from surgvalid.submissions.rehearsal import Rehearsal, RehearsalSettings, rehearse
from surgvalid.submissions.results import RESPONSES

PROGRAM = "clock_and_colours.py"
PRIOR = "template_prior.py"
"""Beside the program: what it falls back on, learnt from the training questions."""
TRACK = "frame"
"""The track it enters: one image per question."""


def program() -> Path | None:
    """The participant's file: inside an installed package, or in the repository beside it."""
    package = Path(surgvalid.__file__).parent
    places = (package / "examples" / PROGRAM, package.parents[1] / "examples" / PROGRAM)
    return next((place for place in places if place.is_file()), None)


def run_participant(demo: Demo, path: Path, step: Step) -> Rehearsal:
    """Ask the participant every question of its track, one at a time, on the host's clock; frames must be painted."""
    folder = demo.folder / "submission"
    given = folder / "input"
    for name in ("requests", "references"):
        shutil.copyfile(demo.questions("test", TRACK, name), given / f"{name}.json")
    learnt = [demo.questions("train", TRACK, name) for name in ("requests", "references")]
    shutil.rmtree(folder / "run", ignore_errors=True)
    settings = RehearsalSettings(track=TRACK, state=PlanState.FREE, replicates=demo.size.replicates, judges=["exact"])
    command = [sys.executable, str(path), *map(str, learnt)]
    rehearsal = rehearse(given, out=folder / "run", command=command, engine="process", progress=step, settings=settings)
    target = demo.answers(TRACK, RULE_BASED)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(folder / "run" / RESPONSES, target)
    return rehearsal
