"""Ask every question of a run, store each answer as it comes, and leave nothing running.

The driver survives what it drives. A program that hangs, crashes, lies or never starts costs the questions
it was asked, and restarts are counted. A failure on our side (engine, disk, staging) is told apart and is the
only reason to ask a question again. The process may be killed at any moment: the next run with the same
settings goes on after the last stored answer.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from surgvalid.asking.fingerprint import media_mark
from surgvalid.asking.journal import GAVE_UP, START_FAILED, STARTED, Journal, Record, Restarts, stored_run
from surgvalid.asking.messages import ExchangeOutcome
from surgvalid.asking.meter import Progress, advance, expect
from surgvalid.asking.plan import Aliases, AskedTask, AskingRules, StagedMedia, sessions_of, uses_of
from surgvalid.asking.session import Answered, OpenSession, Participant, Session, StartUp, Workplace, open_session
from surgvalid.errors import EngineFailed, Misuse, ProgramMissing, RunInterrupted
from surgvalid.sandbox import Engine, GpuWatch, Mount, Running, Usage, watched_gpu
from surgvalid.schema.questions.questions import Request

WORK = ".work"
_MOST_SOCKET_PATH = 90
_SOCKETS, _NOTE = "sg-", "folders"
_NEUTRAL = ("/var/tmp", "/tmp")
_MOST_FAILURES_IN_A_ROW = 3


def run_tasks(
    tasks: Iterable[AskedTask],
    *,
    engine: Engine,
    entrant: Participant,
    rules: AskingRules,
    out: Path,
    open_with: OpenSession = open_session,
    dialect: str = "1",
    warm_up: AskedTask | None = None,
    progress: Progress = None,
    stop: Callable[[], str] | None = None,
) -> Path:
    """The folder with the journal of the run: one final outcome per task.

    Args:
        tasks: What to ask. Their order does not matter; the seed of the rules decides.
        engine: What runs the container.
        entrant: What is run.
        rules: Frozen with the run.
        out: Of this run alone. If it holds the same run already, that run goes on.
        open_with: How a container is started and asked.
        dialect: The name of that way, for the description of the run.
        warm_up: Asked first in every container, on the start-up clock; its answer counts for nothing.
        progress: Called with the number of further questions that have an outcome; a `Meter` hears of failures too.
        stop: Asked before every question why the run must stop now; nothing where it may go on.

    Raises:
        Misuse: `out` holds another run.
        RunInterrupted: The run had to stop (full disk, engine gone, told to); it can go on later.
    """
    known = list(tasks)
    engine.check(entrant.launch((), {}))
    aliases = aliases_of(out)
    identity = {
        "dialect": dialect,
        "engine": engine.name,
        "entrant": entrant.as_dict(),
        "rules": asdict(rules),
        "questions": digest_of([task.request for task in known]),
        "alias_key": aliases.key.hex(),
        "media": media_mark((task.request.case, task.media) for task in known),
        "warm_up": None if warm_up is None else media_mark([(warm_up.request.question, warm_up.media)]),
    }
    with Journal(out, identity) as journal, working_folders(out) as (root, sockets), watched_gpu(entrant.gpu) as gpu:
        done = journal.done()
        groups = sessions_of(known, state=rules.state, seed=rules.seed)
        todo = [[task for task in group if task.request.case not in done] for group in groups]
        current = next((group for group, left in zip(groups, todo, strict=True) if left), [])
        restarts = Restarts(most=rules.most_restarts, most_unready=rules.most_unready)
        restarts.restore(out, {task.request.case for task in current})
        todo = [group for group in todo if group]
        _announce(journal, engine, len(known), len(done), todo)
        expect(progress, len(known))
        if done:
            advance(progress, len(done), reused=True)
        host = _Host(engine, entrant, rules, journal, restarts, aliases, root, sockets, open_with, warm_up, gpu)
        host.run(todo, progress, stop)
    return out


class _Host:
    """The state of a run: which container is up, and what became of it."""

    def __init__(
        self,
        engine: Engine,
        entrant: Participant,
        rules: AskingRules,
        journal: Journal,
        restarts: Restarts,
        aliases: Aliases,
        root: Path,
        sockets: Path,
        open_with: OpenSession,
        warm_up: AskedTask | None,
        gpu: GpuWatch,
    ) -> None:
        self.engine, self.entrant, self.rules, self.journal = engine, entrant, rules, journal
        self.restarts, self.aliases, self.open_with, self.warm_up = restarts, aliases, open_with, warm_up
        self.staged = StagedMedia(root)
        self.root, self.sockets, self.gpu = root, sockets, gpu
        self.inside = engine.inside(Mount.input(self.staged.input))
        self.session: Session | None = None
        self.failures_in_a_row = 0
        self.in_trouble = False
        """Whether the container that is up has lost an answer, or given an empty one."""

    def run(self, groups: Sequence[Sequence[AskedTask]], progress: Progress, stop: Callable[[], str] | None) -> None:
        uses = dict(uses_of(groups))
        try:
            for group in groups:
                for task in group:
                    if stop is not None and (why := stop()):
                        raise RunInterrupted(f"{why}. Answers so far are in {self.journal.folder}")
                    record = self._outcome_of(task)
                    self.journal.add(record)
                    self._forget_media(task, uses)
                    advance(progress, failed=record.outcome is not ExchangeOutcome.OK)
                    self._stop_when_we_keep_failing(record)
                self._end_session(grace_s=self.rules.stop_s)
                self.restarts.next_group()
        finally:
            self._end_session()
            self.staged.clear()
        self.journal.event("finished", sessions=self.restarts.sessions, restarts=self.restarts.spent.total())

    def _outcome_of(self, task: AskedTask) -> Record:
        if task.media is None:
            return self._record(
                task, ExchangeOutcome.NOT_ASKED, task.why_no_media or "there is no video or frame for it"
            )
        record = self._record(task, ExchangeOutcome.INFRA_ERROR, "never tried")
        for attempt in range(1, self.rules.most_repeats + 2):
            try:
                record = self._asked(task, attempt)
            except (EngineFailed, OSError) as error:
                record = self._record(task, ExchangeOutcome.INFRA_ERROR, str(error), attempt)
                self._after_our_failure(task, record)
                continue
            break
        return record

    def _asked(self, task: AskedTask, attempt: int) -> Record:
        assert task.media is not None
        name = self.aliases.file_name(task.media)
        self.staged.stage(task.media, name)
        session = self._ready_session(task.request)
        if session is None:
            return self._record(task, ExchangeOutcome.CRASHED, self.restarts.refusal(task.request.video), attempt)
        question = self.aliases.question(task, self.rules, self.inside)
        before = session.running.usage()
        self.gpu.begin()
        given = session.ask(question, before=lambda: self.staged.show(name))
        used = _used(session.running, before) | self.gpu.seen()
        record = self._record(task, given.outcome, given.detail, attempt, given, used)
        self.in_trouble |= not (given.content or "").strip()
        if not given.usable or given.replace:
            what, why = ("replaced", given.replace) if given.usable else ("unusable", given.detail)
            self.journal.event(what, session=self.sessions, after=task.request.case, detail=why)
            self._end_session()
        if record.broke:
            self.restarts.lost_in = task.request.video
        return record

    @property
    def sessions(self) -> int:
        """Containers so far."""
        return self.restarts.sessions

    def _ready_session(self, request: Request) -> Session | None:
        """A container that reports ready, started if need be; None when no restart is left for this video."""
        while self.session is None:
            if why := self.restarts.refusal(request.video):
                if self.restarts.give_up(request.video):
                    self.journal.event(GAVE_UP, video=request.video, detail=why)
                break
            self._start(request)
        return self.session

    def _start(self, request: Request) -> None:
        planned = self.restarts.is_planned(request.video)
        self.staged.withdraw()
        self.restarts.sessions += 1
        place = self._workplace()
        asked_at = time.monotonic()
        try:
            self.session = self.open_with(self.engine, self.entrant, self.rules, place)
        except ProgramMissing as error:
            self._note_start(request, planned, StartUp(False, 0.0, str(error)), time.monotonic() - asked_at)
            return
        engine_s = time.monotonic() - asked_at
        report = self._warmed_up(self.session.wait_until_ready())
        self._note_start(request, planned, report, engine_s)
        self.in_trouble = not report.ready
        if not report.ready:
            self._end_session()

    def _note_start(self, request: Request, planned: bool, report: StartUp, engine_s: float) -> None:
        running = None if self.session is None else self.session.running
        self.journal.event(
            STARTED if report.ready else START_FAILED,
            session=self.sessions,
            id=running and running.id,
            case=request.case,
            video=request.video,
            planned=planned,
            engine_s=round(engine_s, 4),
            seconds=round(report.seconds, 4),
            detail=report.detail,
            name=report.name,
            unenforced=[str(lack) for lack in running.unenforced] if running else [],
        )
        self.restarts.note_start(request.video, ready=report.ready, planned=planned)

    def _warmed_up(self, report: StartUp) -> StartUp:
        """How the start went with the warm-up question, where there is one; it is answered on the same clock."""
        if self.warm_up is None or self.warm_up.media is None or self.session is None or not report.ready:
            return report
        name = self.aliases.file_name(self.warm_up.media)
        self.staged.stage(self.warm_up.media, name)
        left_s = max(self.rules.start_up_s - report.seconds, self.rules.budget_s)
        question = replace(self.aliases.question(self.warm_up, self.rules, self.inside), budget_s=left_s)
        try:
            given = self.session.ask(question, before=lambda: self.staged.show(name))
        finally:
            self.staged.hide(name)
        self.journal.event("warmed_up", session=self.sessions, outcome=given.outcome.value, seconds=given.latency_s)
        if given.usable and not given.replace:
            return report
        return report._replace(ready=False, detail=f"the warm-up question ended it: {given.detail}")

    def _workplace(self) -> Workplace:
        output, sockets = self.root / f"output-{self.sessions}", self.sockets / str(self.sessions)
        for folder in (output, sockets):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(mode=0o777)
            folder.chmod(0o777)
        return Workplace(self.staged.input, output, sockets)

    def _end_session(self, *, grace_s: float = 0.0) -> None:
        """End the container and store the proof of its death."""
        session, self.session = self.session, None
        if session is None:
            return
        with session:
            logs = session.running.logs()
            death = session.end(grace_s=grace_s)
        self.journal.keep_log(logs, in_trouble=self.in_trouble)
        self.journal.event(
            "ended",
            session=self.sessions,
            id=death.id,
            exit_code=death.exit_code,
            evidence=death.evidence,
            peak_memory_mb=session.peak_memory_mb,
        )
        shutil.rmtree(self.root / f"output-{self.sessions}", ignore_errors=True)
        shutil.rmtree(self.sockets / str(self.sessions), ignore_errors=True)

    def _after_our_failure(self, task: AskedTask, record: Record) -> None:
        self.journal.event("infra_error", case=task.request.case, attempt=record.attempt, detail=record.detail)
        try:
            self._end_session()
        except EngineFailed as error:
            raise RunInterrupted(f"a container may still run: {error}. Answers so far are in {self.journal.folder}")

    def _stop_when_we_keep_failing(self, record: Record) -> None:
        failed = record.outcome is ExchangeOutcome.INFRA_ERROR
        self.failures_in_a_row = self.failures_in_a_row + 1 if failed else 0
        if self.failures_in_a_row >= _MOST_FAILURES_IN_A_ROW:
            raise RunInterrupted(
                f"{self.failures_in_a_row} questions in a row failed on our side (last: {record.detail}). "
                "Repair that and run the same command again: those questions are asked anew"
            )

    def _forget_media(self, task: AskedTask, uses: dict[Path, int]) -> None:
        if task.media is None:
            return
        uses[task.media] -= 1
        if not uses[task.media]:
            self.staged.hide(self.aliases.file_name(task.media))
            del uses[task.media]

    def _record(
        self,
        task: AskedTask,
        outcome: ExchangeOutcome,
        detail: str,
        attempt: int = 1,
        given: Answered | None = None,
        used: Mapping[str, float] | None = None,
    ) -> Record:
        return Record(
            case=task.request.case,
            video=task.request.video,
            outcome=outcome,
            latency_s=0.0 if given is None else given.latency_s,
            content=None if given is None else given.content,
            detail=detail,
            extra=None if given is None else given.extra,
            session=self.sessions,
            attempt=attempt,
            usage=used or None,
            broke=given is not None and not given.usable,
        )


def _used(running: Running, before: Usage) -> dict[str, float]:
    """What a container used for an answer, as far as the kernel says; its peak of memory is that since its start."""
    used, peak_mb = running.usage().since(before), running.peak_memory_mb() if before.cpu_s is not None else None
    return used if peak_mb is None else {**used, "peak_memory_mb": round(peak_mb, 1)}


def _announce(journal: Journal, engine: Engine, known: int, done: int, todo: Sequence[Sequence[AskedTask]]) -> None:
    swept = engine.sweep()
    facts: dict[str, Any] = {"questions": known, "done": done, "swept": list(swept)}
    if journal.resumed and todo:
        facts["perhaps_asked_before"] = todo[0][0].request.case
    journal.event("resumed" if journal.resumed else "begun", **facts)


def aliases_of(out: Path) -> Aliases:
    """The names of the run in a folder, or new ones where there is none."""
    stored = stored_run(out)
    key = "" if stored is None else str(stored.get("alias_key", ""))
    try:
        return Aliases(bytes.fromhex(key) or None)
    except ValueError:
        raise Misuse(f"{out} holds another run; choose another folder; a rehearsal starts over with --force") from None


def digest_of(requests: Sequence[Request]) -> str:
    """A hash of the questions, whatever their order."""
    rows = sorted(json.dumps(request.as_row(), sort_keys=True) for request in requests)
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()


@contextmanager
def working_folders(out: Path) -> Iterator[tuple[Path, Path]]:
    """The working folder (videos are linked there), and a short one for sockets.

    What is mounted shows inside by the name that it has here, so both have names that say nothing of team, phase or
    place, where the disk of the answers has such a place. They are noted beside the answers.
    """
    notes = out / WORK
    _clear_after_a_killed_host(notes)
    notes.mkdir(parents=True)
    root = neutral_folder(notes)
    sockets = Path(tempfile.mkdtemp(prefix=_SOCKETS))
    if len(str(sockets)) > _MOST_SOCKET_PATH:
        sockets.rmdir()
        sockets = Path(tempfile.mkdtemp(prefix=_SOCKETS, dir="/tmp"))
    sockets.chmod(0o755)
    (notes / _NOTE).write_text(f"{sockets}\n{root}", encoding="utf-8")
    try:
        yield root, sockets
    finally:
        for folder in (sockets, root, notes):
            shutil.rmtree(folder, ignore_errors=True)


def neutral_folder(beside: Path) -> Path:
    """A folder on the disk of another one, so that files can be linked, under a name that says nothing."""
    for place in _NEUTRAL:
        with suppress(OSError):
            if os.stat(place).st_dev == beside.stat().st_dev:
                made = Path(tempfile.mkdtemp(prefix=_SOCKETS, dir=place))
                made.chmod(0o755)
                return made
    return beside


def _clear_after_a_killed_host(notes: Path) -> None:
    """Remove what a host that was killed could not: its working folder and its sockets, as it noted them."""
    allowed = {Path(tempfile.gettempdir()), *map(Path, _NEUTRAL)}
    with suppress(OSError, UnicodeDecodeError, ValueError):
        for line in (notes / _NOTE).read_text(encoding="utf-8").splitlines():
            if Path(line).name.startswith(_SOCKETS) and Path(line).parent in allowed:
                shutil.rmtree(line, ignore_errors=True)
    shutil.rmtree(notes, ignore_errors=True)
