"""The demo's real participants: programs that get images and questions over the protocol.

They are ours, so they run as plain processes, with the packages of this interpreter; what teams hand in runs in a
sandbox.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import surgvalid
from surgvalid.asking.plan import PlanState
from surgvalid.cli._demo.cast import RULE_BASED, TRAINED
from surgvalid.cli._demo.chain import Demo, Step
from surgvalid.errors import FileUnreadable
from surgvalid.submissions.rehearsal import Rehearsal, RehearsalSettings, rehearse
from surgvalid.submissions.results import RESPONSES

PRIOR = "template_prior.py"
"""Beside the rules: what they fall back on, learnt from the training questions."""
TRACK = "frame"
"""The track they enter: one image per question."""


@dataclass(frozen=True, slots=True)
class Entrant:
    """A participant of examples/."""

    name: str
    program: str
    learns: bool = False
    """Whether it is given the training questions; else it brings what it learned."""
    needs: str = ""
    """A package without which it stays away."""


ENTRANTS = (
    Entrant(RULE_BASED, "clock_and_colours.py", learns=True),
    Entrant(TRAINED, "sees/app.py", needs="onnxruntime"),
)


def programs() -> dict[Entrant, Path]:
    """The file of each participant that can run here: inside an installed package, or in the repository beside it.

    Raises:
        FileUnreadable: Neither has them.
    """
    package = Path(surgvalid.__file__).parent
    places = (package / "examples", package.parents[1] / "examples")
    folder = next((place for place in places if all((place / one.program).is_file() for one in ENTRANTS)), None)
    if folder is None:
        raise FileUnreadable(
            "examples", ["the demo's participants are not installed; clone the repository, or use --quick"]
        )
    here = (one for one in ENTRANTS if not one.needs or importlib.util.find_spec(one.needs) is not None)
    return {one: folder / one.program for one in here}


def run_participant(demo: Demo, entrant: Entrant, path: Path, step: Step) -> Rehearsal:
    """Ask a participant every question of its track, one at a time, on the host's clock; frames must be painted."""
    folder = demo.folder / "submission"
    given, run = folder / "input", folder / entrant.name
    for kind in ("requests", "references"):
        shutil.copyfile(demo.questions("test", TRACK, kind), given / f"{kind}.json")
    shutil.rmtree(run, ignore_errors=True)
    settings = RehearsalSettings(track=TRACK, state=PlanState.FREE, replicates=demo.size.replicates, judges=["exact"])
    command = [sys.executable, str(path)]
    if entrant.learns:
        command += [str(demo.questions("train", TRACK, kind)) for kind in ("requests", "references")]
    rehearsal = rehearse(given, out=run, command=command, engine="process", progress=step, settings=settings)
    target = demo.answers(TRACK, entrant.name)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(run / RESPONSES, target)
    return rehearsal
