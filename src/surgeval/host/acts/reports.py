"""What workers report. Each report is taken once, from the worker that has the job, and moves the submission on."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from surgeval.errors import InputInvalid
from surgeval.host.acts.boards import board_folder, keep_boards
from surgeval.host.acts.jobs import claimed, is_reported
from surgeval.host.acts.report_checks import PHASE_FILE, Reported, made_boards, report_problems, shard_name
from surgeval.host.acts.submissions import move, queue_board, queue_run, queue_scoring, run_folder
from surgeval.host.log.acting import Acting, acting
from surgeval.host.runs.models import Job, JobState, Kind, RunRecord, Submission, WorkerToken
from surgeval.results.manifest import MANIFEST, sha256_of
from surgeval.submissions.phase_status import status_of
from surgeval.submissions.stages import SCORES, Stage


@dataclass(frozen=True, kw_only=True)
class Report:
    """What came back: facts, and a folder of what the job wrote."""

    facts: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None


def report(worker: WorkerToken, number: int, fencing: int, content: Report) -> Job:
    """The job, done. The same report again changes nothing.

    Raises:
        Refused: The worker has the job no more.
        InputInvalid: The report is not as it must be; lists every problem, and the job is the worker's still.
    """
    if is_reported(worker, number, fencing):
        return Job.objects.get(pk=number)
    _check(claimed(worker, number, fencing), content)
    with acting(f"worker-{worker.pk}", "report-job", f"job-{number}", fencing=fencing) as doing:
        job = claimed(worker, number, fencing)
        job.state, job.lease_until, job.code = JobState.DONE, None, content.facts.get("code", "")[:60]
        job.save()
        _REPORTS[Kind(job.kind)](job, content, doing)
        doing.about(doing.subject, kind=str(job.kind))
    return job


def _check(job: Job, content: Report) -> None:
    run = _run(job) if job.run_id is not None else None
    place = None if run is None else run_folder(run.submission, run.number)
    if problems := report_problems(Reported(job, content.facts, content.folder, place)):
        raise InputInvalid(f"report of job {job.pk}", problems)


def _intake(job: Job, content: Report, doing: Acting) -> None:
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


def _inference(job: Job, content: Report, doing: Acting) -> None:
    run = _run(job)
    if content.folder is not None:
        _take_shard(run_folder(run.submission, run.number), content.folder, shard_name(job))
    if Job.objects.filter(run=run, kind=Kind.INFERENCE).exclude(state=JobState.DONE).exists():
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


def _scoring(job: Job, content: Report, doing: Acting) -> None:
    run = _run(job)
    place = run_folder(run.submission, run.number) / SCORES
    if content.folder is not None:
        if place.exists():
            place.rename(place.with_name(f".{SCORES}.{len(list(place.parent.glob(f'.{SCORES}.*')))}"))
        (content.folder / SCORES).rename(place)
    run.values = {board: float(value) for board, value in content.facts.get("values", {}).items()}
    run.references_digest = content.facts.get("references_digest", "")[:64]
    run.scored_at, run.scores_digest = doing.at, sha256_of(place / MANIFEST)
    run.save()
    submission = Submission.objects.get(pk=job.submission_id)
    submission.values = run.values
    move(submission, Stage.SCORED, doing.at)
    queue_board(submission.phase, doing.at)
    doing.about(doing.subject, submission=submission.pk, run=run.number, scores=run.scores_digest)


def _board(job: Job, content: Report, doing: Acting) -> None:
    kept = keep_boards(job, (made_boards(content.folder) or {}) if content.folder else {}, doing)
    for snapshot in kept:
        place = board_folder(snapshot)
        shutil.rmtree(place, ignore_errors=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(str(content.folder) + f"/{snapshot.board}", place)


def _run(job: Job) -> RunRecord:
    return RunRecord.objects.select_related("submission").get(pk=job.run_id)


_REPORTS: dict[Kind, Callable[[Job, Report, Acting], None]] = {
    Kind.INTAKE: _intake,
    Kind.INFERENCE: _inference,
    Kind.SCORING: _scoring,
    Kind.BOARD: _board,
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
