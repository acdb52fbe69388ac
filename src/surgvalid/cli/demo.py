"""`surgvalid demo`: a whole challenge in a few minutes, on simulated procedures."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from surgvalid.cli._console import emit, emit_table, new_folder, progress_bar, talk
from surgvalid.errors import ExtraNeeded

if TYPE_CHECKING:
    from surgvalid.cli._demo.chain import Demo
    from surgvalid.questions.benchmark import Benchmark
    from surgvalid.report.section import Section
    from surgvalid.simulation.simulate import Simulation

_PARTS = ("procedures", "questions", "answers", "submission", "scores", "floors", "rank", "failures", "audit")


def demo(out: Path | None, seed: int, quick: bool, pdf: bool, force: bool) -> None:
    """Simulate, ask, answer, score, rank, explain and report."""
    from surgvalid.cli._demo import chain
    from surgvalid.cli._demo.cast import WHO
    from surgvalid.cli._demo.truth import clue_table, clues

    _check_needs(pdf=pdf, pictures=not quick)
    folder = _fresh(out or Path("demo-out"), force)
    run = chain.Demo(folder, chain.QUICK if quick else chain.FULL, seed)
    say = _Speaker(8 if run.size.pictures else 6)
    with say.step("simulating procedures", run.size.procedures):
        simulation = chain.simulated(run)
    with say.step("making questions from their annotations", run.size.procedures) as step:
        made = chain.asked(run, step)
    with say.step("letting models of known skill answer"):
        chain.answered(run, made)
    _asked_for_real(run, simulation, made, say)
    with say.step("scoring and ranking three tracks", len(chain.TRACKS)) as step:
        for track in chain.TRACKS:
            chain.floored(run, track)
            chain.ranked(run, track, chain.scored(run, track))
            step(1)
    with say.step("asking why models fail"):
        why = chain.explained(run)
    with say.step("writing the report"):
        chain.audited(run)
        page, verdict = _report(folder, pdf=pdf)
    emit(f"{verdict.title}. {verdict.lead}\n\n{WHO}\n")
    emit_table(clue_table(clues(run, why)), title="What was planted, and what was found of it:")
    emit("")
    emit(f"report: {page}")
    talk(_LOOK.format(folder=folder))


_LOOK = """What to look at first:
  1. {folder}/report.html: the verdict, then `Wrong answers` of each model.
  2. {folder}/questions/data_card.md: what the questions are, and what blind systems reach on them.
  3. {folder}/scores/*/*/lint.json: what is wrong with each answer file."""


def _check_needs(*, pdf: bool, pictures: bool) -> None:
    """What the last steps need is looked for before the first one.

    Raises:
        ExtraNeeded: The package that draws procedures, or the one that writes videos, is not installed.
        Misuse: No browser that can print is installed.
    """
    from surgvalid.simulation.renderer import check_drawing

    if pdf:
        from surgvalid.report.pdf import printing_browser

        printing_browser()
    check_drawing()
    if pictures and find_spec("av") is None:
        raise ExtraNeeded("the demo's images (--quick does without)", "av", "video")


def _fresh(out: Path, force: bool) -> Path:
    """The folder, without the files of an earlier demo."""
    new_folder(out, force=force, files=("report.html", *_PARTS))
    for name in _PARTS:
        shutil.rmtree(out / name, ignore_errors=True)
    return out


def _asked_for_real(run: Demo, simulation: Simulation, made: Benchmark, say: _Speaker) -> None:
    """Paint what is asked about and let the participants that are programs see it, where images are wanted."""
    from surgvalid.cli._demo import painting
    from surgvalid.cli._demo.participant import programs, run_participant

    if not run.size.pictures:
        return
    entrants = programs()
    with say.step("painting images", painting.pieces(made)) as step:
        painting.paint(run, simulation, made, step)
    asked = sum((question.split, question.track) == ("test", "frame") for question in made.questions)
    names = " and ".join(one.name for one in entrants)
    with say.step(f"asking {names} over the protocol", asked * len(entrants)) as step:
        for one, path in entrants.items():
            facts = run_participant(run, one, path, step).run
            talk(
                f"      {one.name}: {facts.answered} of {facts.questions} answered, slowest {facts.max_s:.3f} s of 5 s"
            )


class _Speaker:
    """Says which step runs and how long it took."""

    def __init__(self, steps: int) -> None:
        self.number, self.steps = 0, steps

    @contextmanager
    def step(self, what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        """A numbered step with a bar."""
        self.number += 1
        began = time.monotonic()
        talk(f"[{self.number}/{self.steps}] {what} ...")
        with progress_bar(what, total) as step:
            yield step
        talk(f"      {time.monotonic() - began:.1f} s")


def _report(folder: Path, *, pdf: bool) -> tuple[Path, Section]:
    """Write the page, and the PDF where wanted; the page and its verdict."""
    from surgvalid.cli._console import manifest_path
    from surgvalid.report.report import make_report
    from surgvalid.results.manifest import write_manifest

    made = make_report(folder, title="A challenge on simulated procedures")
    write_manifest(manifest_path(folder / "report.html"), made.manifest)
    if pdf:
        made.to_pdf(folder / "report.pdf")
    return made.to_html(folder / "report.html"), made.sections[0]
