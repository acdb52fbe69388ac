"""Run a submission as a phase says: intake, then every question of a shard, and never a reference.

`check_submission` looks at what a team hands in without running it. `run_submission` runs it. Scoring is another
program on another machine (`phase_scores`), so nothing here reads references: a folder that holds any is refused.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from surgeval.asking.driver import neutral_folder, run_tasks
from surgeval.asking.fingerprint import folder_mark
from surgeval.asking.journal import append_event
from surgeval.asking.meter import Progress
from surgeval.asking.plan import State, Task
from surgeval.asking.session import Entrant, OpenSession, open_session
from surgeval.errors import ImageRefused, InputInvalid, Misuse, RunInterrupted, SurgevalError
from surgeval.sandbox import Engine, Launch, held_image, inspect_image, open_engine
from surgeval.schema.findings import Finding, Severity
from surgeval.schema.shard import WHOLE, Shard
from surgeval.submissions.compliance import doubled
from surgeval.submissions.description import read_description
from surgeval.submissions.evidence import canary_s, canary_verdict, machine_facts
from surgeval.submissions.gc_invoke import open_invoke_session
from surgeval.submissions.inputs import read_inputs
from surgeval.submissions.phase import Phase
from surgeval.submissions.phase_status import PHASE, Stage, note_stage, shard_folder, write_phase

_WAYS: dict[str, OpenSession] = {"server": open_session, "gc-invoke": partial(open_invoke_session)}


def check_submission(
    phase: Phase,
    *,
    image: Path | None = None,
    weights: Path | None = None,
    description: Path | None = None,
    engine: str | None = None,
) -> tuple[Finding, ...]:
    """Everything that keeps a submission from being run in a phase, and notes on what was let in.

    Nothing of the submission is run, and nothing is stored.
    """
    findings: list[Finding] = []
    if image is not None:
        findings += _judged("image-refused", lambda: _image_notes(image, phase))
    if weights is not None:
        findings += _judged("weights-refused", lambda: _weights_notes(weights, phase))
    if description is not None:
        findings += _judged("description-refused", lambda: _description_notes(description))
    findings += _judged("engine-refused", lambda: _engine_notes(phase, engine))
    return tuple(findings)


def _judged(code: str, look: Callable[[], Iterable[str]]) -> list[Finding]:
    """The notes of a look, or its refusals, one finding each."""
    try:
        return [Finding(code.replace("refused", "taken"), Severity.NOTE, note) for note in look()]
    except InputInvalid as error:
        return [Finding(code, Severity.ERROR, problem) for problem in error.problems]
    except (SurgevalError, OSError) as error:
        return [Finding(code, Severity.ERROR, str(error))]


def _image_notes(image: Path, phase: Phase) -> list[str]:
    facts = inspect_image(image, phase.image)
    sentence = f"{facts.size_mb:.0f} MB, {facts.layers} layers, {facts.digest}; stored and run as {facts.clean_digest}"
    return [sentence, *facts.notes]


def _weights_notes(weights: Path, phase: Phase) -> list[str]:
    return [f"{weights_problems(weights, phase):.0f} MB, {folder_mark(weights)}"]


def _description_notes(description: Path) -> list[str]:
    return [f"{document.name}: {len(document.data):,} bytes" for document in read_description(description)]


def _engine_notes(phase: Phase, engine: str | None) -> list[str]:
    chosen = phase_engine(phase, engine)
    return [f"{chosen.name} can be used here; {problem}" for problem in chosen.problems()]


def weights_problems(weights: Path, phase: Phase) -> float:
    """The megabytes of a folder of weights that a phase takes.

    Raises:
        InputInvalid: With a sentence per problem.
    """
    if not weights.is_dir():
        raise InputInvalid(str(weights), ["it is no folder"])
    files = [path for path in weights.rglob("*") if path.is_file() or path.is_symlink()]
    size_mb = sum(path.lstat().st_size for path in files) / 2**20
    problems = [f"{path.relative_to(weights)} is a link" for path in files if path.is_symlink()]
    closed = [path for path in (weights, *weights.rglob("*")) if not path.is_symlink() and not _is_open(path)]
    if closed:
        problems.append(f"{closed[0].name} and {len(closed) - 1} more cannot be read by everyone; `chmod -R a+rX` them")
    if size_mb > phase.weights.size_mb:
        problems.append(f"it has {size_mb:.0f} MB; allowed are {phase.weights.size_mb}")
    if len(files) > phase.weights.files:
        problems.append(f"it has {len(files)} files; allowed are {phase.weights.files}")
    if problems:
        raise InputInvalid(str(weights), problems)
    return size_mb


def _is_open(path: Path) -> bool:
    """Whether anyone may read it: the program inside is nobody's user."""
    needed = 0o005 if path.is_dir() else 0o004
    return path.stat().st_mode & needed == needed


def phase_engine(phase: Phase, name: str | None = None, runtime: str | None = None) -> Engine:
    """The engine of a phase that works on this machine.

    Raises:
        Misuse: None does, or the one named is not among those of the phase.
    """
    if name is not None and name not in phase.engines:
        raise Misuse(f"phase {phase.name!r} runs in {', '.join(phase.engines)}; got {name!r}")
    reasons = []
    for one in (name,) if name else phase.engines:
        opened = open_engine(one, runtime=runtime)
        if (problem := opened.available()) is None:
            return opened
        reasons.append(f"{one}: {problem}")
    raise Misuse(f"no engine of phase {phase.name!r} can be used here: {'; '.join(reasons)}")


def run_submission(
    phase: Phase,
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
        image: The archive that the team handed in.
        command: Instead of an image, a command of this machine, for engines that run those.
        code: A folder that the command needs.
        weights: A folder of weights, where the phase takes any.
        engine: One of the phase's; the first that works without one.
        runtime: Of podman or docker, instead of the usual one.
        gpu: The GPU to give, by index or UUID, where the phase has one.
        shard: Which videos.
        compliance: Instead, ask so many questions twice under other names; see `surgeval.submissions.compliance`.
        progress: Called with the number of further questions that have an outcome.

    Raises:
        ImageRefused: Intake does not let the image in.
        Misuse: Something does not fit the phase or the machine; the folder is not claimed.
        RunInterrupted: The run had to stop and can go on.
    """
    chosen = phase_engine(phase, engine, runtime) if engine is None or isinstance(engine, str) else engine
    if (image is None) == (not command):
        raise Misuse("give either an image or a command")
    if (gpu is None) != (phase.gpu.count == 0):
        wanted = "none" if phase.gpu.count == 0 else "one; name it"
        raise Misuse(f"phase {phase.name!r} gives a container {wanted} GPU; got {gpu!r}")
    if weights is not None:
        weights_problems(Path(weights), phase)
    chosen.check(
        Launch(image=None if image is None else str(image), command=tuple(command), gpu=gpu, hidden=phase.hidden)
    )
    folder = Path(out)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(TemporaryDirectory(prefix="surgeval-")))
        tasks = _tasks(Path(questions), shard, scratch / "unpacked")
        if compliance:
            (scratch / "again").mkdir()
            tasks = doubled(tasks, compliance, scratch / "again", seed=phase.budget.seed)
            phase, folder = replace(phase, budget=replace(phase.budget, state=State.FREE)), folder / "compliance"
        write_phase(folder, phase)
        try:
            stored = None if image is None else stack.enter_context(held_image(chosen, Path(image), phase.image))
        except ImageRefused as error:
            note_stage(folder, Stage.INTAKE_REFUSED, code="image-refused", problems=error.problems)
            raise
        entrant = Entrant(
            image=stored, command=tuple(command), gpu=gpu, limits=phase.run, hidden=phase.hidden,
            code=None if code is None else Path(code),
            weights=stack.enter_context(_linked(None if weights is None else Path(weights))),
        )  # fmt: skip
        return _asked(phase, tasks, chosen, entrant, folder, shard, progress)


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
    phase: Phase,
    tasks: list[Task],
    engine: Engine,
    entrant: Entrant,
    folder: Path,
    shard: Shard,
    progress: Progress,
) -> Path:
    place = shard_folder(folder, shard.number, shard.of)
    note_stage(folder, Stage.RUNNING, shard=f"{shard.number}/{shard.of}", engine=engine.name, image=entrant.image)
    before_s = canary_s()
    facts = machine_facts(engine.name)
    try:
        run_tasks(
            tasks, engine=engine, entrant=entrant, rules=phase.budget, out=place, open_with=_WAYS[phase.protocol],
            dialect=f"{phase.protocol} {PHASE} {phase.digest()}", warm_up=phase.warm_up_task(), progress=progress,
        )  # fmt: skip
    except RunInterrupted as error:
        note_stage(folder, Stage.FAILED_INFRA, code="interrupted", detail=str(error))
        raise
    after_s = canary_s()
    verdict = canary_verdict(before_s, after_s, percent=phase.fairness.canary_percent)
    append_event(place, "evidence", canary_before_s=before_s, canary_after_s=after_s, verdict=verdict, **facts)
    note_stage(folder, Stage.INFERRED, shard=f"{shard.number}/{shard.of}")
    return place


def _tasks(questions: Path, shard: Shard, scratch: Path) -> list[Task]:
    if left := sorted(path.name for path in questions.glob("[Rr]eference*")):
        raise Misuse(f"{questions} holds {', '.join(left)}; no references where submissions run: move them away")
    return [task for task in read_inputs(questions, scratch=scratch).tasks() if shard.holds(task.request.video)]
