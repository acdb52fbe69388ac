"""Run a container in the official batch way: all questions at once, one answer file at the end.

The host can measure only the whole batch. Under the `pooled` rule that is what counts. Under the
`per-question` rule there is nothing but the latency that the container itself wrote down; it is interpreted as
told and marked "not verified".
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from surgvalid.asking.driver import aliases_of, digest_of, working_folders
from surgvalid.asking.fingerprint import media_mark
from surgvalid.asking.journal import Journal, Record
from surgvalid.asking.messages import ExchangeOutcome
from surgvalid.asking.meter import Progress, advance, expect
from surgvalid.asking.session import Participant
from surgvalid.errors import EngineFailed, Misuse, OutputRefused, ProgramMissing, UnknownName
from surgvalid.sandbox import Engine, Mount, Running
from surgvalid.schema.documents import is_whole
from surgvalid.schema.questions.questions import Request, Response
from surgvalid.submissions.batch_files import (
    LAYOUTS,
    SATURATION,
    SETUP_S,
    allowance_s,
    batch_names,
    forfeited,
    most_bytes,
    read_answers,
    write_batch,
)
from surgvalid.submissions.inputs import QuestionFolder

BUDGETS = ("per-question", "pooled")
NOT_VERIFIED = "latency as reported by the container, not verified"
_ANSWER, _MOST_ANSWER_BYTES = "answer.json", 64 * 2**20
_FIRST_POLL_S, _LAST_POLL_S = 0.01, 0.25
_NAMED = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRules:
    """The settings of a run in batches."""

    share_s: float
    """Seconds per question: its limit, or its part of the pool."""
    layout: str = "folder"
    budget: str = "pooled"
    batch_size: int | None = None
    """Questions per container start; all at once without one."""
    setup_s: float = SETUP_S
    saturation: float = SATURATION
    seed: int = 0

    def __post_init__(self) -> None:
        if self.layout not in LAYOUTS:
            raise UnknownName("layout", self.layout, LAYOUTS)
        if self.budget not in BUDGETS:
            raise UnknownName("budget rule", self.budget, BUDGETS)
        if not self.share_s > 0 or (self.batch_size is not None and self.batch_size < 1):
            raise Misuse("share_s and batch_size must be above 0")


class _Ended(NamedTuple):
    """How a batch ended."""

    used_s: float
    detail: str
    """Empty when the container ended by itself with exit code 0."""
    answers: bytes | None
    why_no_answers: str


def run_batches(
    inputs: QuestionFolder,
    *,
    engine: Engine,
    entrant: Participant,
    rules: BatchRules,
    out: Path,
    buckets: Mapping[str, str] | None = None,
    progress: Progress = None,
) -> Path:
    """The folder with the journal of the run; a batch that was finished earlier is not run again.

    Args:
        inputs: Questions with their media.
        engine: What runs the container.
        entrant: What is run.
        rules: Layout and budget.
        out: Of this run alone.
        buckets: The bucket of each case, over which forfeits are spread; the procedure without one.
        progress: Called with the number of further questions that have an outcome.
    """
    engine.check(entrant.launch((), {}))
    aliases = aliases_of(out)
    identity = {
        "dialect": "batch",
        "engine": engine.name,
        "entrant": entrant.as_dict(),
        "rules": asdict(rules),
        "questions": digest_of(inputs.requests),
        "alias_key": aliases.key.hex(),
        "media": media_mark(
            (f"{case}/{kind}", path) for case, kinds in inputs.media.items() for kind, path in kinds.items()
        ),
    }
    with Journal(out, identity) as journal, working_folders(out) as (root, _):
        done = journal.done()
        facts = {"questions": len(inputs.requests), "done": len(done), "swept": list(engine.sweep())}
        journal.event("resumed" if journal.resumed else "begun", **facts)
        expect(progress, sum(case in inputs.media and case not in done for case in (r.case for r in inputs.requests)))
        names = batch_names(inputs.requests, aliases)
        for number, batch in enumerate(_batches(inputs, rules), start=1):
            if all(request.case in done for request in batch):
                continue
            write_batch(
                root / f"input-{number}",
                batch,
                inputs.media,
                names,
                layout=rules.layout,
                definitions=inputs.definitions_file,
            )
            ended = _run(engine, entrant, rules, root, number, len(batch), journal)
            for record in _records(batch, ended, names, rules, buckets or {}, journal):
                if record.case not in done:
                    journal.add(record)
                    advance(progress, failed=record.outcome is not ExchangeOutcome.OK)
        for case, why in inputs.problems.items():
            if case not in done:
                journal.add(Record(case, _video(inputs, case), ExchangeOutcome.NOT_ASKED, detail=why))
        journal.event("finished")
    return out


def _batches(inputs: QuestionFolder, rules: BatchRules) -> list[list[Request]]:
    usable = [request for request in inputs.requests if request.case in inputs.media]
    size = rules.batch_size or max(1, len(usable))
    return [usable[start : start + size] for start in range(0, len(usable), size)]


def _video(inputs: QuestionFolder, case: str) -> str:
    return next(request.video for request in inputs.requests if request.case == case)


def _run(
    engine: Engine, entrant: Participant, rules: BatchRules, root: Path, number: int, questions: int, journal: Journal
) -> _Ended:
    output = root / f"output-{number}"
    output.mkdir(exist_ok=True)
    output.chmod(0o777)
    mounts = (Mount.input(root / f"input-{number}"), Mount.output(output))
    places = {"SURG_INPUT": engine.inside(mounts[0]), "SURG_OUTPUT": engine.inside(mounts[1])}
    env = {name: place for name, place in places.items() if place != f"/{name[5:].lower()}"}
    allowed_s = allowance_s(questions, rules.share_s, setup_s=rules.setup_s)
    start = time.monotonic()
    try:
        running = engine.start(entrant.launch(mounts, env, engine.inside))
    except ProgramMissing as error:
        journal.event("batch", number=number, questions=questions, used_s=0.0, allowed_s=allowed_s, detail=str(error))
        return _Ended(0.0, str(error), None, "it was never started")
    with running:
        in_time = _wait(running, start + allowed_s * (1 + rules.saturation))
        used_s = time.monotonic() - start
        detail = "" if in_time else f"stopped after {used_s:.1f} s, {rules.saturation:.0%} beyond its {allowed_s:g} s"
        peak_mb, logs = running.peak_memory_mb(), running.logs()
        if in_time and running.out_of_memory():
            detail = "ended by the memory limit"
        elif in_time and running.exit_code() != 0:
            detail = f"ended with exit code {running.exit_code()}"
        death = running.kill()
        answers, why = _fetched(running, journal.folder / f"answer-{number}.json", most_bytes(questions))
    journal.keep_log(logs, in_trouble=bool(detail) or answers is None)
    journal.event(
        "batch",
        number=number,
        questions=questions,
        used_s=round(used_s, 3),
        allowed_s=allowed_s,
        detail=detail,
        peak_memory_mb=peak_mb,
        id=death.id,
        evidence=death.evidence,
        input=_names_in(mounts[0].source),
    )
    return _Ended(used_s, detail, answers, why)


def _names_in(folder: Path) -> list[str]:
    """What the container found in its input, as far as a participant wants to know; folders end in a stroke."""
    names = sorted(f"{path.name}/" if path.is_dir() else path.name for path in folder.iterdir())
    return names[:_NAMED]


def _wait(running: Running, deadline: float) -> bool:
    pause_s = _FIRST_POLL_S
    while running.alive():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause_s)
        pause_s = min(1.5 * pause_s, _LAST_POLL_S)
    return True


def _fetched(running: Running, target: Path, max_bytes: int) -> tuple[bytes | None, str]:
    """The answer file, copied among our own files, or why there is none."""
    try:
        data = running.read_output(_ANSWER, max_bytes=min(max_bytes, _MOST_ANSWER_BYTES))
        target.write_bytes(data)
    except FileNotFoundError:
        return None, _without_answer(running)
    except (OutputRefused, EngineFailed) as error:
        return None, str(error)
    return data, ""


def _without_answer(running: Running) -> str:
    try:
        names = ", ".join(running.output_names()[:5]) or "nothing"
    except FileNotFoundError as error:
        return str(error)
    return f"there is no {_ANSWER} in /output (found: {names})"


def _records(
    batch: Sequence[Request],
    ended: _Ended,
    names: Mapping[str, str],
    rules: BatchRules,
    buckets: Mapping[str, str],
    journal: Journal,
) -> list[Record]:
    by_name, why = _answers(ended, frozenset(names[request.case] for request in batch), journal)
    lost = _forfeits(batch, ended, rules, buckets)
    if lost:
        journal.event("forfeited", cases=sorted(lost))
    records = []
    for request in batch:
        given = by_name.get(names[request.case], [])
        records.append(_record(request, given, why, ended, rules, request.case in lost, len(batch)))
    return records


def _answers(ended: _Ended, names: frozenset[str], journal: Journal) -> tuple[dict[str, list[Response]], str]:
    if ended.answers is None:
        return {}, ended.why_no_answers
    answers = read_answers(ended.answers, names)
    if answers.complaints or answers.strange:
        journal.event("answer_file", findings=answers.complaints, strange_rows=answers.strange)
    if answers.problem:
        return {}, f"{_ANSWER}: {answers.problem}"
    return answers.by_name, f"{_ANSWER} has no answer to it"


def _forfeits(batch: Sequence[Request], ended: _Ended, rules: BatchRules, buckets: Mapping[str, str]) -> frozenset[str]:
    if rules.budget != "pooled":
        return frozenset()
    spread = {request.case: buckets.get(request.case, request.procedure) for request in batch}
    allowed_s = allowance_s(len(batch), rules.share_s, setup_s=rules.setup_s)
    return forfeited(spread, ended.used_s, allowed_s, saturation=rules.saturation)


def _record(
    request: Request,
    given: list[Response],
    why: str,
    ended: _Ended,
    rules: BatchRules,
    is_forfeited: bool,
    questions: int,
) -> Record:
    def outcome(what: ExchangeOutcome, detail: str, latency_s: float = 0.0, content: str | None = None) -> Record:
        return Record(request.case, request.video, what, latency_s, content, detail)

    if is_forfeited:
        return outcome(ExchangeOutcome.TIMEOUT, f"forfeited: the batch took {ended.used_s:.1f} s", rules.share_s * 2)
    if not given:
        reason = f"{why} ({ended.detail})" if ended.detail else why
        return outcome(
            ExchangeOutcome.CRASHED if ended.detail and ended.answers is None else ExchangeOutcome.INVALID, reason
        )
    content = given[0].content
    if len(given) > 1:
        return outcome(ExchangeOutcome.INVALID, f"{_ANSWER} answers it {len(given)} times")
    if content is None or not is_whole(content):
        return outcome(ExchangeOutcome.INVALID, "its content is no text")
    if rules.budget == "pooled":
        return outcome(ExchangeOutcome.OK, "", ended.used_s / questions, content)
    told_s = given[0].latency_s
    if not told_s <= rules.share_s:
        return outcome(ExchangeOutcome.TIMEOUT, NOT_VERIFIED, told_s if math.isfinite(told_s) else rules.share_s * 2)
    return outcome(ExchangeOutcome.OK, NOT_VERIFIED, told_s, content)
