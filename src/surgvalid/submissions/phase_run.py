"""Run a submission as a phase says: intake, then every question of a shard, and never a reference.

Scoring is another program on another machine (`phase_scores`), so nothing here reads references: a folder that holds
any is refused.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from surgvalid.asking.driver import neutral_folder, run_tasks
from surgvalid.asking.journal import append_event, is_at_work
from surgvalid.asking.meter import Progress
from surgvalid.asking.plan import AskedTask, PlanState
from surgvalid.asking.session import OpenSession, Participant, open_session
from surgvalid.errors import EngineFailed, ImageRefused, InputInvalid, Misuse, RunInterrupted
from surgvalid.results.manifest import MANIFEST, manifest_of, write_manifest
from surgvalid.results.request import VerbRequest, plain_value
from surgvalid.sandbox import Engine, Launch, held_image
from surgvalid.schema.shard import WHOLE, Shard
from surgvalid.submissions.evidence import canary_place, canary_s, canary_verdict, doubled, image_facts, machine_facts
from surgvalid.submissions.gc_invoke import open_invoke_session
from surgvalid.submissions.handing_in import handed_in_image
from surgvalid.submissions.inputs import QuestionFolder, read_inputs
from surgvalid.submissions.intake import phase_engine, weights_size_mb
from surgvalid.submissions.machine_rules import check_gpu, check_machine
from surgvalid.submissions.phase import SubmissionPhase
from surgvalid.submissions.phase_status import PHASE, is_finished, shard_folder, write_phase
from surgvalid.submissions.stages import Stage, note_stage, why_held

_WAYS: dict[str, OpenSession] = {"server": open_session, "gc-invoke": partial(open_invoke_session)}


def run_submission(
    phase: SubmissionPhase,
    questions: str | Path,
    *,
    out: str | Path,
    image: str | Path | None = None,
    command: Sequence[str] = (),
    code: str | Path | None = None,
    weights: str | Path | None = None,
    engine: str | Engine | None = None,
    runtime: str | None = None,
    gpu: str | None = None,
    shard: Shard = WHOLE,
    compliance: int = 0,
    progress: Progress = None,
) -> Path:
    """The folder of a shard with one outcome per question, after it was asked everything; what was begun goes on.

    Args:
        phase: Limits, budgets and engines.
        questions: A folder of requests and media without references.
        out: Of this submission; each shard has a folder in it.
        image: The archive that the team handed in, where `take_submission` did not store it in the folder.
        command: Instead of an image, a command of this machine, for engines that run those.
        code: A folder that the command needs.
        weights: A folder of weights, where the phase takes any.
        engine: One of the phase's; the first that works without one.
        runtime: Of podman or docker, instead of the usual one.
        gpu: The GPU to give, by index or UUID, where the phase has one.
        shard: Which videos.
        compliance: Instead, ask so many questions twice under other names; see `surgvalid.submissions.evidence`.
        progress: Called with the number of further questions that have an outcome.

    Raises:
        ImageRefused: Intake does not let the image in.
        InputInvalid: Questions have no video or frame, which is no fault of a submission; the folder is not claimed.
        Misuse: Something does not fit the phase or the machine; the folder is not claimed.
        RunInterrupted: The run had to stop and can go on.
    """
    folder = Path(out)
    if held := why_held(folder):
        raise Misuse(f"{held}; nothing more is run unless it is reinstated")
    image = _image_to_run(folder, image, command)
    check_gpu(phase, gpu)
    launch = Launch(image=None if image is None else str(image), command=tuple(command), gpu=gpu, hidden=phase.hidden)
    if engine is None or isinstance(engine, str):
        engine = phase_engine(phase, engine, runtime, launch=launch)
    engine.check(launch)
    check_machine(phase, engine)
    if weights is not None:
        weights_size_mb(Path(weights), phase)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(TemporaryDirectory(prefix="surgvalid-")))
        inputs = _inputs(Path(questions), scratch / "unpacked")
        tasks = [task for task in inputs.tasks() if shard.holds(task.request.video)]
        if problems := [f"{task.request.case}: {task.why_no_media}" for task in tasks if task.media is None]:
            raise InputInvalid(str(questions), problems)
        home = folder
        if compliance:
            (scratch / "again").mkdir()
            tasks = doubled(tasks, compliance, scratch / "again", seed=phase.budget.seed)
            phase, folder = replace(phase, budget=replace(phase.budget, state=PlanState.FREE)), folder / "compliance"
        write_phase(folder, phase)
        try:
            stored = None if image is None else stack.enter_context(held_image(engine, image, phase.image))
        except ImageRefused as error:
            note_stage(folder, Stage.INTAKE_REFUSED, code="image-refused", problems=error.problems)
            raise
        entrant = Participant(
            image=stored,
            command=tuple(command),
            gpu=gpu,
            limits=phase.run,
            hidden=phase.hidden,
            code=None if code is None else Path(code),
            weights=stack.enter_context(_linked(None if weights is None else Path(weights))),
        )
        place = _asked(phase, tasks, engine, entrant, folder, shard, progress, stop=lambda: why_held(home))
    options = {
        "command": list(command),
        "runtime": runtime,
        "gpu": gpu,
        "shard": str(shard),
        "compliance": compliance,
    }
    settled = {"phase": phase.as_dict(), "engine": engine.name, "seed": phase.budget.seed}
    request = VerbRequest(
        "submission run",
        options,
        given={"questions": plain_value(questions)},
        inputs={"questions": [inputs.requests_file]},
        settled=settled,
    )
    write_manifest(place / MANIFEST, manifest_of(request))
    return place


def _image_to_run(folder: Path, image: str | Path | None, command: Sequence[str]) -> Path | None:
    """The image that was handed in or is named; None where a command is run.

    Raises:
        Misuse: There is neither, or both.
    """
    stored = handed_in_image(folder)
    if stored is not None and (image is not None or command):
        raise Misuse(f"{folder} holds the image that was handed in; leave out what else to run")
    if stored is None and (image is None) == (not command):
        raise Misuse("give either an image or a command, or hand an image in first")
    return stored if image is None else Path(image)


@contextmanager
def _linked(weights: Path | None) -> Iterator[Path | None]:
    """The weights under a name that says nothing of whose they are, where their disk has a place for that."""
    place = None if weights is None else neutral_folder(weights)
    if weights is None or place is None or place == weights:
        yield weights
        return
    try:
        yield Path(shutil.copytree(weights, place / "weights", copy_function=os.link))
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _asked(
    phase: SubmissionPhase,
    tasks: list[AskedTask],
    engine: Engine,
    entrant: Participant,
    folder: Path,
    shard: Shard,
    progress: Progress,
    *,
    stop: Callable[[], str],
) -> Path:
    place = shard_folder(folder, shard.number, shard.of)
    asked = partial(
        run_tasks,
        tasks,
        engine=engine,
        entrant=entrant,
        rules=phase.budget,
        out=place,
        progress=progress,
        stop=stop,
        open_with=_WAYS[phase.protocol],
        dialect=f"{phase.protocol} {PHASE} {phase.digest()}",
        warm_up=phase.warm_up_task(),
    )
    if place.is_dir() and is_at_work(place):  # before the canary, which would slow the run that is under way
        raise Misuse(f"{place}: another process is at work in it; wait for it")
    if is_finished(place):  # nothing is asked and nothing measured: the stage stays what it is
        return asked()
    note_stage(folder, Stage.RUNNING, shard=str(shard), engine=engine.name, image=entrant.image)
    facts = machine_facts(engine.name) | image_facts(engine.facts(entrant.image) if entrant.image else None)
    try:
        before_s = canary_s(engine, entrant.limits)
        asked()
    except (RunInterrupted, EngineFailed) as error:
        if not stop():
            note_stage(folder, Stage.FAILED_INFRA, code="interrupted", detail=str(error))
        raise
    append_event(place, "evidence", **_canary(engine, entrant, before_s, phase.fairness.canary_percent), **facts)
    note_stage(folder, Stage.INFERRED, shard=str(shard))
    return place


def _canary(engine: Engine, entrant: Participant, before_s: float, percent: float) -> dict[str, Any]:
    """The canary before and after, and its verdict; one that could not be run afterwards costs the verdict alone."""
    after_s = None
    with suppress(EngineFailed):
        after_s = canary_s(engine, entrant.limits)
    verdict = canary_verdict(before_s, after_s, percent=percent)
    place = canary_place(engine)
    return {"canary": place, "canary_before_s": before_s, "canary_after_s": after_s, "verdict": verdict}


def _inputs(questions: Path, scratch: Path) -> QuestionFolder:
    if left := sorted(str(path.relative_to(questions)) for path in questions.rglob("*") if _may_be_references(path)):
        raise Misuse(f"{questions} holds {', '.join(left)}; no references where submissions run: move them away")
    return read_inputs(questions, scratch=scratch)


def _may_be_references(path: Path) -> bool:
    return path.name.casefold().startswith("reference")
