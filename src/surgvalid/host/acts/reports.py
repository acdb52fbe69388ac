"""What workers report. Each report is taken once, from the worker that has the job, and moves the submission on.

All that is wrong with a report is said before anything is changed by it.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from surgvalid.errors import InputInvalid
from surgvalid.host import places
from surgvalid.host.acting import Acting, acting
from surgvalid.host.acts.boards import board_folder, keep_boards, ladder_of
from surgvalid.host.acts.challenge import current_challenge
from surgvalid.host.acts.jobs import claimed, is_reported
from surgvalid.host.acts.submissions import move, queue_board, queue_run, queue_scoring, run_folder
from surgvalid.host.runs.models import Job, JobKind, JobState, RunRecord, Submission, WorkerToken
from surgvalid.results.manifest import MANIFEST, sha256_of
from surgvalid.submissions.phase_status import status_of
from surgvalid.submissions.stages import SCORES, Stage

BOARDS, PHASE_FILE = "boards.json", "phase.json"
_SHOWN = 60


class Reported(NamedTuple):
    """A report, and what it is about."""

    job: Job
    facts: Mapping[str, Any]
    folder: Path | None
    """What the worker sent, where it sent anything."""
    run: Path | None
    """Where the run of the job is kept, where it has one."""


def report_problems(report: Reported) -> list[str]:
    """The problems of a report; a fact that is not there is none."""
    return [*_texts(report.facts, "code"), *_CHECKS[JobKind(report.job.kind)](report)]


def shard_name(job: Job) -> str:
    """The folder of the job's shard."""
    return "shard-{}-of-{}".format(*job.shard.split("/"))


def made_boards(folder: Path) -> dict[str, Any] | None:
    """The leaderboards that a worker sent, or None where these are no JSON object, or hold what a database does not
    keep.
    """
    try:
        boards = json.loads((folder / BOARDS).read_text(encoding="utf-8"), parse_constant=_no_number)
    except (OSError, ValueError, RecursionError):
        return None
    return boards if isinstance(boards, dict) else None


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number")


def _intake(report: Reported) -> Iterator[str]:
    facts = report.facts
    yield from _texts(facts, "image_digest")
    listed = facts.get("problems", [])
    if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
        yield f"problems must be a list of texts; got {_shown(listed)}"


def _inference(report: Reported) -> Iterator[str]:
    job, _, folder, run = report
    if folder is None or run is None:
        return
    if not (folder / shard_name(job)).is_dir():
        yield f"the output holds no {shard_name(job)}"
    if not (folder / PHASE_FILE).is_file() and not (run / PHASE_FILE).exists():
        yield f"the output holds no {PHASE_FILE}"


def _scoring(report: Reported) -> Iterator[str]:
    facts, folder = report.facts, report.folder
    yield from _texts(facts, "references_digest")
    values = facts.get("values", {})
    if not isinstance(values, dict):
        yield f"values must be numbers by leaderboard; got {_shown(values)}"
    else:
        for board, value in values.items():
            if not _is_number(value):
                yield f"values of {board[:_SHOWN]} must be a finite number; got {_shown(value)}"
    if folder is not None and not (folder / SCORES / MANIFEST).is_file():
        yield f"the output holds no {SCORES}/{MANIFEST}"


def _board(report: Reported) -> Iterator[str]:
    job, folder = report.job, report.folder
    if folder is None:
        return
    if (boards := made_boards(folder)) is None:
        yield f"{BOARDS} is no JSON object, or holds what is no number"
        return
    for board in sorted(boards.keys() & job.facts["boards"].keys()):
        content = boards[board]
        tables = content.get("tables") if isinstance(content, dict) else None
        if not isinstance(tables, dict) or not all(_is_table(rows) for rows in tables.values()):
            yield f"{BOARDS}: {board} has no tables of rows"
        elif not isinstance(content.get("findings", []), list):
            yield f"{BOARDS}: findings of {board} must be a list; got {_shown(content['findings'])}"
        if not (folder / board).is_dir():
            yield f"the output holds no {board}"


def _is_table(rows: Any) -> bool:
    return isinstance(rows, list) and all(isinstance(row, dict) for row in rows)


def _texts(facts: Mapping[str, Any], *names: str) -> Iterator[str]:
    for name in names:
        if not isinstance(facts.get(name, ""), str):
            yield f"{name} must be a text; got {_shown(facts[name])}"


def _is_number(value: Any) -> bool:
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:_SHOWN]


_CHECKS: dict[JobKind, Callable[[Reported], Iterator[str]]] = {
    JobKind.INTAKE: _intake,
    JobKind.INFERENCE: _inference,
    JobKind.SCORING: _scoring,
    JobKind.BOARD: _board,
}


@dataclass(frozen=True, kw_only=True)
class WorkerReport:
    """What came back: facts, and a folder of what the job wrote."""

    facts: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    """What is in the folder, by place, with digests."""


def report(worker: WorkerToken, number: int, fencing: int, content: WorkerReport) -> Job:
    """The job, done. The same report again changes nothing.

    Raises:
        Refused: The worker has the job no more.
        InputInvalid: The report is not as it must be; lists every problem, and the job is the worker's still.
    """
    if is_reported(worker, number, fencing):
        return Job.objects.get(pk=number)
    _check(claimed(worker, number, fencing), content)
    if content.folder is not None:
        content = replace(content, files=places.listing(content.folder))
    with acting(f"worker-{worker.pk}", "report-job", f"job-{number}", fencing=fencing) as doing:
        job = claimed(worker, number, fencing)
        job.state, job.lease_until, job.code = JobState.DONE, None, content.facts.get("code", "")[:60]
        job.save()
        _REPORTS[JobKind(job.kind)](job, content, doing)
        doing.about(doing.subject, kind=str(job.kind))
    return job


def _check(job: Job, content: WorkerReport) -> None:
    run = _run(job) if job.run_id is not None else None
    place = None if run is None else run_folder(run.submission, run.number)
    if problems := report_problems(Reported(job, content.facts, content.folder, place)):
        raise InputInvalid(f"report of job {job.pk}", problems)


def _take_intake(job: Job, content: WorkerReport, doing: Acting) -> None:
    submission = Submission.objects.get(pk=job.submission_id)
    submission.image_digest = content.facts.get("image_digest", "")[:80]
    problems = [one[:500] for one in content.facts.get("problems", [])][:50]
    doing.about(doing.subject, submission=submission.pk, refused=bool(problems), image=submission.image_digest)
    if problems:
        submission.problems, submission.codes = problems, ["handed-in-refused"]
        move(submission, Stage.INTAKE_REFUSED, doing.at)
        return
    move(submission, Stage.INTAKE_OK, doing.at)
    queue_run(submission, doing.at)
    move(submission, Stage.QUEUED, doing.at)


def _take_inference(job: Job, content: WorkerReport, doing: Acting) -> None:
    run = _run(job)
    if content.folder is not None:
        place, name = run_folder(run.submission, run.number), shard_name(job)
        _take_shard(place, content.folder, name)
        run.files = _replaced(run.files, content.files, name) | {PHASE_FILE: sha256_of(place / PHASE_FILE)}
        run.save()
    if Job.objects.filter(run=run, kind=JobKind.INFERENCE).exclude(state=JobState.DONE).exists():
        return
    status = status_of(run_folder(run.submission, run.number))
    submission = Submission.objects.get(pk=job.submission_id)
    run.inferred_at, run.answered = doing.at, sum(one.get("outcomes", {}).get("ok", 0) for one in status["shards"])
    run.save()
    submission.codes, submission.answered = status["codes"], run.answered
    doing.about(doing.subject, submission=submission.pk, answered=run.answered, codes=status["codes"])
    if all(one["stage"] == Stage.FAILED_PARTICIPANT.value for one in status["shards"]):
        move(submission, Stage.FAILED_PARTICIPANT, doing.at)
        return
    move(submission, Stage.INFERRED, doing.at)
    queue_scoring(run, doing.at)


def _take_shard(place: Path, folder: Path, name: str) -> None:
    """Move what a worker sent into the folder of the run; what an earlier attempt left there is replaced."""
    place.mkdir(parents=True, exist_ok=True)
    old = place / name
    if old.exists():
        old.rename(place / f".{name}.{len(list(place.glob(f'.{name}.*')))}")
    (folder / name).rename(old)
    if not (place / PHASE_FILE).exists():
        (folder / PHASE_FILE).rename(place / PHASE_FILE)


def _take_scoring(job: Job, content: WorkerReport, doing: Acting) -> None:
    run = _run(job)
    place = run_folder(run.submission, run.number) / SCORES
    if content.folder is not None:
        if place.exists():
            place.rename(place.with_name(f".{SCORES}.{len(list(place.parent.glob(f'.{SCORES}.*')))}"))
        (content.folder / SCORES).rename(place)
        run.files = _replaced(run.files, content.files, SCORES)
    run.values = {board: float(value) for board, value in content.facts.get("values", {}).items()}
    run.references_digest = content.facts.get("references_digest", "")[:64]
    run.scored_at, run.scores_digest = doing.at, sha256_of(place / MANIFEST)
    run.save()
    submission = Submission.objects.get(pk=job.submission_id)
    submission.values = run.values
    phase = current_challenge().phase(submission.phase)
    if phase.counted == "ladder" and not submission.baseline:
        submission.ladder = ladder_of(phase, submission, place)
    move(submission, Stage.SCORED, doing.at)
    queue_board(submission.phase, doing.at)
    doing.about(doing.subject, submission=submission.pk, run=run.number, scores=run.scores_digest)


def _replaced(old: Mapping[str, str], new: Mapping[str, str], folder: str) -> dict[str, str]:
    """The files of a run, of which one folder is now another."""
    kept = {one: digest for one, digest in old.items() if not one.startswith(f"{folder}/")}
    return kept | {one: digest for one, digest in new.items() if one.startswith(f"{folder}/")}


def _take_board(job: Job, content: WorkerReport, doing: Acting) -> None:
    made = (made_boards(content.folder) or {}) if content.folder else {}
    kept = keep_boards(job, made, doing, files=content.files)
    for snapshot in kept:
        place = board_folder(snapshot)
        shutil.rmtree(place, ignore_errors=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(str(content.folder) + f"/{snapshot.board}", place)


def _run(job: Job) -> RunRecord:
    return RunRecord.objects.select_related("submission").get(pk=job.run_id)


_REPORTS: dict[JobKind, Callable[[Job, WorkerReport, Acting], None]] = {
    JobKind.INTAKE: _take_intake,
    JobKind.INFERENCE: _take_inference,
    JobKind.SCORING: _take_scoring,
    JobKind.BOARD: _take_board,
}


def fail_by_team(worker: WorkerToken, number: int, fencing: int, *, code: str, problems: list[str]) -> Job:
    """A job that ended by the team's own doing, such as an image that an engine does not let in."""
    with acting(f"worker-{worker.pk}", "report-job", f"job-{number}", fencing=fencing, code=code) as doing:
        job = claimed(worker, number, fencing)
        job.state, job.lease_until, job.code = JobState.DONE, None, code[:60]
        job.save()
        _end_by_team(job, code, problems, doing.at)
    return job


def _end_by_team(job: Job, code: str, problems: list[str], at: datetime) -> None:
    Job.objects.filter(run=job.run_id, state__in=(JobState.WAITING, JobState.CLAIMED)).exclude(run=None).update(
        state=JobState.CANCELLED, lease_until=None
    )
    submission = Submission.objects.get(pk=job.submission_id)
    submission.codes, submission.problems = sorted({*submission.codes, code}), [one[:500] for one in problems[:50]]
    move(submission, Stage.FAILED_PARTICIPANT, at, reason=code)
