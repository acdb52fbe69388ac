"""`rehearse`: run one's own container or command as the organisers would, and hear everything about it.

It is the same driver, protocol and clock that a challenge uses; only the data is one's own, so texts of the
container may be shown. Nothing is overwritten: a second call with the same settings goes on where the first
one stopped.
"""

from __future__ import annotations

import math
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any

from surgvalid.asking.driver import run_tasks
from surgvalid.asking.journal import LOG, TROUBLE_LOG
from surgvalid.asking.plan import AskedTask, AskingRules, PlanState
from surgvalid.asking.session import OpenSession, Participant, open_session, open_tcp_session
from surgvalid.errors import Misuse, UnknownName
from surgvalid.judges import Judge
from surgvalid.results.manifest import MANIFEST, manifest_of, write_manifest
from surgvalid.results.request import VerbRequest, plain_value
from surgvalid.results.result import Result
from surgvalid.results.tables.scoring import REHEARSE
from surgvalid.sandbox import Engine, Guarantee, ImageLimits, Launch, Limits, held_image, open_engine
from surgvalid.schema.findings import Finding, Severity
from surgvalid.schema.questions.questions import TRACK_LIMITS_S
from surgvalid.scoring.result import ScoreResult
from surgvalid.scoring.run import score
from surgvalid.submissions.batch import BUDGETS, BatchRules, run_batches
from surgvalid.submissions.gc_invoke import PORT, open_invoke_session
from surgvalid.submissions.inputs import QuestionFolder, read_inputs
from surgvalid.submissions.intake import weights_size_mb
from surgvalid.submissions.machine_rules import check_gpu_count, lacking_here, other_gpu, promised
from surgvalid.submissions.phase import SubmissionPhase
from surgvalid.submissions.rehearsal_report import Findings, findings_of, report_text
from surgvalid.submissions.results import RunFacts, run_facts, write_records, write_responses

PROTOCOLS = ("server", "server-tcp", "batch", "gc-invoke")
_SCRATCH = ".unpacked-"
_RULED = ("rules", "warm_up", "phase")
_IMAGE_ENGINES = ("podman", "docker")


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalSettings:
    """How a rehearsal is run; the defaults are those of the track."""

    protocol: str = "server"
    layout: str = "folder"
    budget: str = "per-question"
    track: str | None = None
    """Without one: `frame` where the input has only frames, else `procedure`."""
    budget_s: float | None = None
    """Seconds per question instead of the track's."""
    state: PlanState = PlanState.PER_VIDEO
    seed: int = 42
    start_up_s: float = 600.0
    clock: bool = False
    """Show the video with a burned-in clock where there are both."""
    batch_size: int | None = None
    setup_s: float = 120.0
    health_s: float = 10.0
    port: int = PORT
    replicates: int = 1000
    rules: AskingRules | None = None
    """The rules of a phase, instead of `track`, `budget_s`, `state`, `seed`, `start_up_s` and `health_s`."""
    warm_up: AskedTask | None = None
    phase: SubmissionPhase | None = None
    """Whose limits of weights and rules of GPUs hold."""
    judges: Sequence[str | Judge] = field(default=())
    store: str | Path | None = None
    """Keeps verdicts between runs, as in `score`."""

    def __post_init__(self) -> None:
        if self.protocol not in PROTOCOLS:
            raise UnknownName("protocol", self.protocol, PROTOCOLS)
        if self.budget not in BUDGETS:
            raise UnknownName("budget rule", self.budget, BUDGETS)
        if self.budget == "pooled" and self.protocol != "batch":
            raise Misuse("a pooled budget needs --rules protocol=batch: only there do questions share a clock")
        if self.track is not None and self.track not in TRACK_LIMITS_S:
            raise UnknownName("track", self.track, TRACK_LIMITS_S)


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Rehearsal(Result):
    """What a rehearsal found: table `outcomes`; the report is its prose.

    The run wrote its folder while it went on, so that it can go on after an interruption; `to_dir` copies it.
    """

    folder: Path
    run: RunFacts
    score: ScoreResult | None
    """None where the input has no references."""

    @property
    def is_worrying(self) -> bool:
        """Whether anything was found that loses a score."""
        return any(finding.severity is Severity.ERROR for finding in self.findings)

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data."""
        facts = self.run
        times = {"p50_s": facts.p50_s, "p95_s": facts.p95_s, "max_s": facts.max_s}
        return {
            "questions": facts.questions,
            "outcomes": dict(facts.outcomes),
            "latency": {name: None if math.isnan(value) else value for name, value in times.items()},
            "peak_memory_mb": facts.peak_memory_mb,
            "batches": [dict(batch) for batch in facts.batches],
            "score": None if self.score is None else self.score.headline,
            "findings": [finding.as_dict() for finding in self.findings],
        }

    @property
    def title(self) -> str:
        """How many questions were answered."""
        return f"Rehearsal({self.run.answered} of {self.run.questions} answered, {len(self.findings)} findings)"

    def write(self, folder: Path) -> None:
        """Copy what the run wrote, and write the outcomes and the report beside it."""
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        super().write(folder)


def rehearse(
    input_folder: str | Path,
    *,
    out: str | Path,
    image: str | Path | None = None,
    command: Sequence[str] = (),
    code: str | Path | None = None,
    weights: str | Path | None = None,
    engine: str | Engine | None = None,
    runtime: str | None = None,
    limits: Limits | None = None,
    image_limits: ImageLimits | None = None,
    gpu: str | None = None,
    settings: RehearsalSettings | None = None,
    progress: Callable[[int], None] | None = None,
) -> Rehearsal:
    """The rehearsal of an image archive or a command on the questions of a folder.

    Args:
        input_folder: Requests, media and, if scores are wanted, references; see `read_inputs`.
        out: Folder for answers, events and scores; an interrupted rehearsal in it goes on.
        image: An archive from `docker save` or an OCI archive.
        command: Instead of an image, a command of this machine.
        code: A folder that the command needs, read-only at /app in engines that show nothing else.
        weights: A folder with the model's weights, read-only where SURG_WEIGHTS says.
        engine: By name; `process` for a command, podman or docker for an image without one.
        runtime: Of podman or docker, instead of the usual one: `runc` or `crun`.
        limits: Memory, processes and so on.
        image_limits: Of the archive.
        gpu: One GPU by index or UUID.
        settings: Protocol, layout, budget and the rest.
        progress: Called with the number of further questions that have an outcome.

    Raises:
        FileUnreadable: The input cannot be read.
        RunInterrupted: The run had to stop and can go on.
    """
    chosen, settings, folder = _engine(engine, image, runtime), settings or RehearsalSettings(), Path(out)
    if (image is None) == (not command):
        raise Misuse("give either an image or a command")
    notes = () if settings.phase is None else tuple(phase_notes(settings.phase, chosen, weights=weights, gpu=gpu))
    chosen.check(Launch(image=None if image is None else str(image), command=tuple(command), gpu=gpu))
    with ExitStack() as stack:
        inputs = read_inputs(Path(input_folder), scratch=stack.enter_context(_scratch(folder)))
        stored = None if image is None else stack.enter_context(held_image(chosen, Path(image), image_limits))
        entrant = Participant(
            image=stored,
            command=tuple(command),
            gpu=gpu,
            limits=limits or Limits(),
            code=None if code is None else Path(code),
            weights=None if weights is None else Path(weights),
        )
        rules = _rules(inputs, settings)
        _run(inputs, chosen, entrant, rules, settings, folder, progress)
    return _rehearsed(inputs, rules, settings, chosen, folder, limits or Limits(), notes)


@contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    """A folder of this call alone; what calls left that were killed is removed, for nobody holds its lock."""
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob(f"{_SCRATCH}*"):
        with suppress(OSError), _held(left):
            shutil.rmtree(left)
    made = Path(tempfile.mkdtemp(prefix=_SCRATCH, dir=folder))
    with _held(made):
        try:
            yield made
        finally:
            shutil.rmtree(made, ignore_errors=True)


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    import fcntl  # only what runs programs needs it, and that is no Windows machine

    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _engine(engine: str | Engine | None, image: str | Path | None, runtime: str | None) -> Engine:
    if engine is not None and not isinstance(engine, str):
        return engine
    names = (engine,) if engine else ("process",) if image is None else _IMAGE_ENGINES
    problems = []
    for name in names:
        opened = open_engine(name, runtime=runtime)
        problem = opened.available()
        if problem is None:
            return opened
        problems.append(f"{name}: {problem}")
    raise Misuse(f"no engine can be used here: {'; '.join(problems)}")


def phase_settings(phase: SubmissionPhase, **changes: Any) -> RehearsalSettings:
    """The settings of a rehearsal as organisers would run it in a phase; `changes` are of judges and scores."""
    return RehearsalSettings(
        protocol=phase.protocol, rules=phase.budget, warm_up=phase.warm_up_task(), phase=phase, **changes
    )


def phase_notes(
    phase: SubmissionPhase, engine: Engine, *, weights: str | Path | None, gpu: str | None
) -> Iterator[Finding]:
    """What of a rehearsal is not as it will be in the phase; what is not here can only be told of.

    Raises:
        InputInvalid: The phase takes no such weights.
        Misuse: A GPU was named, and the phase has none.
    """
    if weights is not None:
        weights_size_mb(Path(weights), phase)
    if gpu is not None:
        check_gpu_count(phase, gpu)
    reason = "none was given here" if gpu is None else other_gpu(phase.gpu, gpu)
    if phase.gpu.count and reason:
        text = f"the phase gives {promised(phase.gpu)}; {reason}. Latencies and memory will be others there"
        yield Finding("other-gpu", Severity.WARNING, text)
    if engine.name not in phase.engines:
        text = f"the phase runs in {' or '.join(phase.engines)}; this was {engine.name}"
        held = "" if Guarantee.MEMORY in engine.guarantees else ", which holds none of its limits but that of the log"
        yield Finding("other-engine", Severity.WARNING, f"{text}{held}. What works here may fail there")
    if lacking := "; ".join(lacking_here(phase.run)):
        text = f"the phase gives more than this machine has: {lacking}. Latencies will be others there"
        yield Finding("smaller-machine", Severity.WARNING, text)


def _rules(inputs: QuestionFolder, settings: RehearsalSettings) -> AskingRules:
    if settings.rules is not None:
        return settings.rules
    track = settings.track or ("frame" if inputs.has_only_frames else "procedure")
    return AskingRules.of_track(
        track,
        budget_s=settings.budget_s or TRACK_LIMITS_S[track],
        state=settings.state,
        seed=settings.seed,
        start_up_s=settings.start_up_s,
        health_s=settings.health_s,
    )


def _run(
    inputs: QuestionFolder,
    engine: Engine,
    entrant: Participant,
    rules: AskingRules,
    settings: RehearsalSettings,
    out: Path,
    progress: Callable[[int], None] | None,
) -> None:
    if settings.protocol == "batch":
        batch = BatchRules(
            share_s=rules.budget_s,
            layout=settings.layout,
            budget=settings.budget,
            batch_size=settings.batch_size,
            setup_s=settings.setup_s,
            seed=settings.seed,
        )
        run_batches(
            inputs, engine=engine, entrant=entrant, rules=batch, out=out, buckets=_buckets(inputs), progress=progress
        )
        return
    ways: dict[str, OpenSession] = {
        "server": open_session,
        "server-tcp": open_tcp_session,
        "gc-invoke": partial(open_invoke_session, port=settings.port),
    }
    run_tasks(
        inputs.tasks(clock=settings.clock),
        engine=engine,
        entrant=entrant,
        rules=rules,
        out=out,
        open_with=ways[settings.protocol],
        dialect=settings.protocol,
        warm_up=settings.warm_up,
        progress=progress,
    )


def _buckets(inputs: QuestionFolder) -> dict[str, str]:
    """The bucket of each case, where references tell."""
    return {known.case: f"{known.capability.group}/{bool(known.ood)}" for known in inputs.references}


def _rehearsed(
    inputs: QuestionFolder,
    rules: AskingRules,
    settings: RehearsalSettings,
    engine: Engine,
    folder: Path,
    limits: Limits,
    notes: Findings,
) -> Rehearsal:
    pooled = settings.budget == "pooled"
    write_responses(folder, with_late=not pooled)
    responses = write_records(folder)
    facts = run_facts(folder)
    log = _tail(folder / TROUBLE_LOG) or _tail(folder / LOG)
    findings = (*notes, *findings_of(facts, inputs, protocol=settings.protocol, log=log))
    result = None
    if inputs.references_file is not None:
        result = score(
            inputs.requests_file,
            inputs.references_file,
            responses,
            model="rehearsal",
            replicates=settings.replicates,
            max_latency_s=None if pooled else rules.budget_s,
            judges=settings.judges,
            store=settings.store,
            definitions=inputs.definitions_file,
        )
        result.to_dir(folder / "scores", force=True)
    text = report_text(
        facts,
        findings,
        rules,
        protocol=settings.protocol,
        pooled=pooled,
        setup_s=settings.setup_s,
        engine=engine.name,
        memory_mb=limits.memory_mb,
        score=result,
    )
    files = [path for path in (inputs.requests_file, inputs.references_file) if path is not None]
    options = {one.name: plain_value(getattr(settings, one.name)) for one in fields(settings) if one.name not in _RULED}
    settled = {"track": rules.track, "budget_s": rules.budget_s, "state": rules.state.value, "engine": engine.name}
    request = VerbRequest("rehearse", options, inputs={"input_folder": files}, settled=settled)
    write_manifest(folder / MANIFEST, manifest_of(request, findings=findings))
    outcomes = REHEARSE.frame({"outcome": list(facts.outcomes), "questions": list(facts.outcomes.values())})
    return Rehearsal(
        tables={"outcomes": outcomes},
        prose=text,
        findings=findings,
        request=request,
        folder=folder,
        run=facts,
        score=result,
    )


def _tail(path: Path, lines: int = 12) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []
    return [line[:200] for line in text.splitlines() if line.strip()][-lines:]
