"""The demo's one real participant: a program in a sandbox that gets images and questions over the protocol.

bubblewrap shows its command nothing of this machine but `/usr`, so the program, the two packages it imports and,
where it lives elsewhere, the interpreter are laid out in one folder (as links where the disk allows) that becomes
`/app`. Without bubblewrap, or where an interpreter does not bear being moved, the program runs as a plain process, and
the demo says so.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import surgvalid
from surgvalid.asking.plan import PlanState
from surgvalid.cli._demo.cast import RULE_BASED
from surgvalid.cli._demo.chain import Demo, Step
from surgvalid.errors import ExtraNeeded
from surgvalid.sandbox import open_engine
from surgvalid.submissions.rehearsal import Rehearsal, RehearsalSettings, rehearse
from surgvalid.submissions.results import RESPONSES

PROGRAM = "clock_and_colours.py"
PRIOR = "template_prior.py"
"""Beside the program: what it falls back on, learnt from the training questions."""
TRACK = "frame"
"""The track it enters: one image per question."""
_IMPORTS = ("av", "numpy")
_START = (
    "import runpy, sys; sys.path[:0] = ['/app', '/app/packages']; del sys.argv[0]; "
    "runpy.run_path(sys.argv[0], run_name='__main__')"
)
_NOT_NEEDED = shutil.ignore_patterns("test", "tests", "__pycache__", "site-packages", "idlelib", "ensurepip", "*.a")


class Ran(NamedTuple):
    """The rehearsal and the engine it ran in."""

    rehearsal: Rehearsal
    engine: str


def program() -> Path | None:
    """The participant's file: inside an installed package, or in the repository beside it."""
    package = Path(surgvalid.__file__).parent
    places = (package / "examples" / PROGRAM, package.parents[1] / "examples" / PROGRAM)
    return next((place for place in places if place.is_file()), None)


def run_participant(demo: Demo, path: Path, step: Step) -> Ran:
    """Ask the participant every question of its track, one at a time, on the host's clock; frames must be painted."""
    folder = demo.folder / "submission"
    given = folder / "input"
    for name in ("requests", "references"):
        shutil.copyfile(demo.questions("test", TRACK, name), given / f"{name}.json")
    learnt = [demo.questions("train", TRACK, name) for name in ("requests", "references")]
    ways = [_as_process(path, learnt)]
    if open_engine("bubblewrap").available() is None:
        ways.insert(0, _in_bubblewrap(path, learnt, folder / "app"))
    for way in ways:
        shutil.rmtree(folder / "run", ignore_errors=True)
        rehearsal = rehearse(
            given,
            out=folder / "run",
            command=way.command,
            code=way.code,
            engine=way.engine,
            progress=step,
            settings=RehearsalSettings(
                track=TRACK, state=PlanState.FREE, replicates=demo.size.replicates, judges=["exact"]
            ),
        )
        if rehearsal.run.answered:
            break
    shutil.rmtree(folder / "app", ignore_errors=True)
    target = demo.answers(TRACK, RULE_BASED)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(folder / "run" / RESPONSES, target)
    return Ran(rehearsal, way.engine)


class _Way(NamedTuple):
    engine: str
    command: list[str]
    code: Path | None


def _as_process(path: Path, learnt: Sequence[Path]) -> _Way:
    return _Way("process", [sys.executable, str(path), *map(str, learnt)], None)


def _in_bubblewrap(path: Path, learnt: Sequence[Path], app: Path) -> _Way:
    """The command that runs the program inside, and the folder that has all it needs."""
    shutil.rmtree(app, ignore_errors=True)
    (app / "packages").mkdir(parents=True)
    for file in (path, path.with_name(PRIOR), Path(surgvalid.__file__).parent / "submissions" / "serve.py", *learnt):
        shutil.copyfile(file, app / file.name)
    for name in _IMPORTS:
        for place in _package_folders(name):
            shutil.copytree(place, app / "packages" / place.name, copy_function=_link, ignore=_NOT_NEEDED)
    interpreter = Path(sys.executable).resolve()
    start = [str(interpreter)]
    if not interpreter.is_relative_to("/usr"):
        # Its own shared library is looked for where it was built, so the loader is told where it lies now.
        moved = _moved_interpreter(interpreter, app / "python")
        start = ["/usr/bin/env", "LD_LIBRARY_PATH=/app/python/lib", str(moved)]
    return _Way(
        "bubblewrap", [*start, "-I", "-B", "-c", _START, *(f"/app/{file.name}" for file in (path, *learnt))], app
    )


def _package_folders(name: str) -> list[Path]:
    """The package, and the libraries that its wheel brought along."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise ExtraNeeded("the demo's participant", name, "video")
    package = Path(spec.origin).parent
    return [place for place in (package, package.with_name(f"{name}.libs")) if place.is_dir()]


def _moved_interpreter(interpreter: Path, target: Path) -> Path:
    """Where the interpreter is inside, after its own files were laid out below `target`."""
    library = f"lib/python{sys.version_info.major}.{sys.version_info.minor}"
    shutil.copytree(Path(sys.base_prefix) / library, target / library, copy_function=_link, ignore=_NOT_NEEDED)
    for shared in (Path(sys.base_prefix) / "lib").glob("libpython*.so*"):
        _link(str(shared), str(target / "lib" / shared.name))
    (target / "bin").mkdir()
    _link(str(interpreter), str(target / "bin" / interpreter.name))
    return Path("/app/python/bin") / interpreter.name


def _link(source: str, target: str) -> None:
    """A second name for the file where the disk allows, else a copy."""
    try:
        os.link(source, target, follow_symlinks=True)
    except OSError:
        shutil.copy2(source, target)
