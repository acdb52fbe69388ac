"""Jobs under leases: claimed in fair order, kept by heartbeats, reported once, claimed again when a worker is lost.

A claim gives a fencing number that only grows. A worker that was believed lost and comes back has an older one, and
its report is refused. Fair order: first those whose owner has the fewest jobs under way, then the oldest.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from datetime import datetime, timedelta

from django.db.models import Count, F, IntegerField, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from surgvalid.host.acting import acting, now
from surgvalid.host.acts.boards import board_facts
from surgvalid.host.acts.challenge import current_challenge
from surgvalid.host.acts.refused import Refused
from surgvalid.host.acts.submissions import move
from surgvalid.host.runs.models import Job, JobKind, JobState, Submission, WorkerToken
from surgvalid.submissions.stages import Stage

LEASE_S = float(os.environ.get("SURGVALID_HOST_LEASE_S", "120"))
"""Until a worker must be heard of again; workers are heard of four times as often."""


def waiting_jobs(at: datetime) -> QuerySet[Job]:
    """Jobs that may be claimed: those that wait, and those whose worker was not heard of in time."""
    lapsed = Q(state=JobState.CLAIMED, lease_until__lte=at)
    return Job.objects.filter(Q(state=JobState.WAITING) | lapsed)


def in_fair_order(jobs: QuerySet[Job], at: datetime) -> QuerySet[Job]:
    """Those first whose owner has the fewest jobs under way, then the oldest."""
    under_way = (
        Job.objects.filter(owner=OuterRef("owner"), state=JobState.CLAIMED, lease_until__gt=at)
        .order_by()
        .values("owner")
        .annotate(count=Count("*"))
        .values("count")
    )
    counted = jobs.annotate(under_way=Coalesce(Subquery(under_way, output_field=IntegerField()), 0))
    return counted.order_by("under_way", "made_at", "pk")


def claim(
    worker: WorkerToken, *, duties: Collection[str] = (), gpu_memory_mb: int = 0, lease_s: float = LEASE_S
) -> Job | None:
    """The job that this worker is to do now, with its fencing number; None where nothing waits for it.

    Args:
        worker: Its token says what it may do.
        duties: Fewer of them, where the worker wants only these.
        gpu_memory_mb: Of its GPU.
        lease_s: Until it must be heard of.
    """
    allowed = set(worker.duties) & set(duties or worker.duties)
    at = now()
    if not _fitting(worker, allowed, gpu_memory_mb, at).exists():
        return None
    with acting(f"worker-{worker.pk}", "claim-job") as doing:
        _give_up_lapsed(doing.at)
        job = in_fair_order(_fitting(worker, allowed, gpu_memory_mb, doing.at), doing.at).first()
        if job is None:
            doing.about("job-none")
            return None
        job.state, job.worker = JobState.CLAIMED, worker
        job.fencing, job.attempts, job.progress = job.fencing + 1, job.attempts + 1, 0
        job.beat_at, job.lease_until = doing.at, doing.at + timedelta(seconds=lease_s)
        job.save()
        if job.kind == JobKind.INFERENCE:
            _note_start(job, doing.at)
        if job.kind == JobKind.BOARD:
            job.facts = board_facts(current_challenge().phase(job.phase))
            job.save(update_fields=("facts",))
        doing.about(f"job-{job.pk}", kind=str(job.kind), fencing=job.fencing, attempt=job.attempts)
    return job


def _fitting(worker: WorkerToken, allowed: set[str], gpu_memory_mb: int, at: datetime) -> QuerySet[Job]:
    jobs = waiting_jobs(at).filter(kind__in=sorted(allowed), gpu_memory_mb__lte=gpu_memory_mb)
    return jobs.filter(phase__in=worker.phases) if worker.phases else jobs


def _note_start(job: Job, at: datetime) -> None:
    submission = Submission.objects.get(pk=job.submission_id)
    if submission.stage == Stage.QUEUED.value:
        move(submission, Stage.RUNNING, at)
    if job.run.started_at is None:
        job.run.started_at = at
        job.run.save(update_fields=("started_at",))


def _give_up_lapsed(at: datetime) -> None:
    """Fail jobs whose workers were lost too often; their submissions failed on our side."""
    lost = Job.objects.filter(state=JobState.CLAIMED, lease_until__lte=at, attempts__gte=F("most_attempts"))
    for job in lost:
        fail(job, "worker-lost", at)


def fail(job: Job, code: str, at: datetime) -> None:
    """A job that nobody tries again, inside an act; what it was done for failed on our side."""
    job.state, job.code, job.lease_until = JobState.FAILED, code, None
    job.save()
    if job.submission_id is None:
        return
    Job.objects.filter(run=job.run_id, state=JobState.WAITING).exclude(run=None).update(state=JobState.CANCELLED)
    submission = Submission.objects.get(pk=job.submission_id)
    submission.codes = sorted({*submission.codes, code})
    move(submission, Stage.FAILED_INFRA, at, reason=code)


def beat(worker: WorkerToken, number: int, fencing: int, *, progress: int = 0, lease_s: float = LEASE_S) -> Job:
    """A job whose lease goes on. No act: nothing is decided.

    Raises:
        Refused: The lease was lost, or the job was cancelled: the worker drops it.
    """
    at = now()
    kept = Job.objects.filter(pk=number, worker=worker, fencing=fencing, state=JobState.CLAIMED).update(
        beat_at=at, lease_until=at + timedelta(seconds=lease_s), progress=progress
    )
    if not kept:
        raise Refused("lease-lost", f"job {number} is not under way with fencing number {fencing}.")
    return Job.objects.get(pk=number)


def claimed(worker: WorkerToken, number: int, fencing: int) -> Job:
    """The job of a worker, while it has it.

    Raises:
        Refused: It never had it, or lost it.
    """
    job = Job.objects.filter(pk=number, worker=worker, fencing=fencing, state=JobState.CLAIMED).first()
    if job is None:
        raise Refused("lease-lost", f"job {number} is not under way with fencing number {fencing}.")
    return job


def claims() -> list[tuple[int, int]]:
    """Every job under way, with the fencing number that its worker has."""
    return list(Job.objects.filter(state=JobState.CLAIMED).values_list("pk", "fencing"))


def is_reported(worker: WorkerToken, number: int, fencing: int) -> bool:
    """Whether this very report came before: the answer to it may have been lost on the way."""
    return Job.objects.filter(pk=number, worker=worker, fencing=fencing, state=JobState.DONE).exists()


def put_back(worker: WorkerToken, number: int, fencing: int, *, code: str) -> Job:
    """A job that a worker could not do, for somebody else to try; failed for good after too many attempts."""
    with acting(f"worker-{worker.pk}", "put-job-back", f"job-{number}", code=code, fencing=fencing) as doing:
        job = claimed(worker, number, fencing)
        if job.attempts >= job.most_attempts:
            fail(job, code, doing.at)
        else:
            job.state, job.code, job.lease_until, job.worker = JobState.WAITING, code, None, None
            job.save()
    return job
