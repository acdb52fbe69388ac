"""Jobs: no double claim, a lost worker's job is claimed again, late reports are refused, owners take turns."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from host_service import PRE, Clock, Service, at_once
from surgvalid.host.acting import log_problems
from surgvalid.host.acts import jobs, reports, submissions, tokens
from surgvalid.host.acts.challenge import current_challenge
from surgvalid.host.acts.quotas import usage_of
from surgvalid.host.acts.refused import Refused
from surgvalid.host.runs.models import Job, JobKind, JobState, LogEntry, Submission, WorkerToken

pytestmark = pytest.mark.database
NUMBERS = count(1)


def queue(phase: str, owner: str, at: datetime, **facts: Any) -> Job:
    return Job.objects.create(kind=JobKind.INTAKE, phase=phase, owner=owner, made_at=at, most_attempts=99, **facts)


def machine(clock: Clock) -> type[RuleBasedStateMachine]:
    class Queue(RuleBasedStateMachine):
        """What workers may do in any order, beside a plain record of who has what."""

        def __init__(self) -> None:
            super().__init__()
            self.phase = f"p{next(NUMBERS)}"
            self.workers = [
                tokens.make_worker_token("system", f"{self.phase}-{n}", ["intake"], phases=[self.phase])[0]
                for n in range(3)
            ]
            self.holders: dict[int, tuple[int, int, datetime]] = {}
            """Job to worker, fencing number and end of lease."""
            self.old: list[tuple[int, int, int]] = []
            self.ended: set[int] = set()
            self.fencing: dict[int, int] = {}

        @rule(owner=st.sampled_from("abc"))
        def someone_hands_in(self, owner: str) -> None:
            queue(self.phase, f"{self.phase}-{owner}", clock.forward(seconds=1))

        @rule(seconds=st.sampled_from((1, 50, 130)))
        def time_passes(self, seconds: int) -> None:
            clock.forward(seconds=seconds)

        @rule(n=st.integers(0, 2))
        def a_worker_claims(self, n: int) -> None:
            free = [
                job for job in Job.objects.filter(phase=self.phase).order_by("made_at")
                if job.pk not in self.ended and (job.pk not in self.holders or self.holders[job.pk][2] <= clock.at)
            ]  # fmt: skip
            busy = Counter(
                Job.objects.get(pk=pk).owner for pk, (_, _, until) in self.holders.items() if until > clock.at
            )
            job = jobs.claim(self.workers[n])
            if not free:
                assert job is None
                return
            assert job is not None
            assert job.pk == min(free, key=lambda one: (busy[one.owner], one.made_at)).pk
            assert job.fencing == self.fencing.get(job.pk, 0) + 1
            if job.pk in self.holders:
                self.old.append((job.pk, *self.holders[job.pk][:2]))
            self.fencing[job.pk] = job.fencing
            self.holders[job.pk] = (n, job.fencing, clock.at + timedelta(seconds=jobs.LEASE_S))

        @rule(data=st.data())
        def a_worker_is_heard_of(self, data: Any) -> None:
            if self.holders:
                pk = data.draw(st.sampled_from(sorted(self.holders)))
                n, fencing, _ = self.holders[pk]
                jobs.beat(self.workers[n], pk, fencing)
                self.holders[pk] = (n, fencing, clock.at + timedelta(seconds=jobs.LEASE_S))

        @rule(data=st.data(), well=st.booleans())
        def a_worker_reports(self, data: Any, well: bool) -> None:
            if not self.holders:
                return
            pk = data.draw(st.sampled_from(sorted(self.holders)))
            n, fencing, _ = self.holders.pop(pk)
            if well:
                reports.report(self.workers[n], pk, fencing, reports.WorkerReport())
                reports.report(
                    self.workers[n], pk, fencing, reports.WorkerReport()
                )  # the answer was lost; nothing happens
                self.ended.add(pk)
            else:
                jobs.put_back(self.workers[n], pk, fencing, code="engine-failed")
                self.old.append((pk, n, fencing))

        @rule(data=st.data())
        def a_lost_worker_comes_back(self, data: Any) -> None:
            if self.old:
                pk, n, fencing = data.draw(st.sampled_from(self.old))
                for late in (jobs.beat, lambda *a: reports.report(*a, reports.WorkerReport())):
                    with pytest.raises(Refused, match="not under way"):
                        late(self.workers[n], pk, fencing)  # type: ignore[operator]

        @rule(data=st.data())
        def a_stranger_reports(self, data: Any) -> None:
            if self.holders:
                pk = data.draw(st.sampled_from(sorted(self.holders)))
                n, fencing, _ = self.holders[pk]
                with pytest.raises(Refused, match="not under way"):
                    reports.report(self.workers[(n + 1) % 3], pk, fencing, reports.WorkerReport())

        @invariant()
        def what_is_done_stays_done(self) -> None:
            done = Job.objects.filter(phase=self.phase, state=JobState.DONE).values_list("pk", flat=True)
            assert set(done) == self.ended

    return Queue


def test_whatever_workers_do_each_job_is_done_once(home: object, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(reports._REPORTS, JobKind.INTAKE, lambda *_: None)
    run_state_machine_as_test(machine(clock), settings=settings(max_examples=12, stateful_step_count=25, deadline=None))
    assert log_problems() == []


def test_workers_at_once_never_claim_the_same_job(home: object) -> None:
    for n in range(24):
        queue("p", f"team-{n % 5}", datetime.now(UTC))
    made = [tokens.make_worker_token("system", f"w{n}", ["intake"])[0] for n in range(4)]

    def work(n: int) -> list[int]:
        claimed = []
        while (job := jobs.claim(made[n])) is not None:
            claimed.append(job.pk)
        return claimed

    claims = at_once(4, work)
    assert sorted(pk for one in claims for pk in one) == sorted(Job.objects.values_list("pk", flat=True)), claims
    assert (
        LogEntry.objects.filter(act="claim-job", subject__startswith="job-").exclude(subject="job-none").count() == 24
    )
    assert log_problems() == []


def test_duties_phases_and_gpus_decide_who_may_claim(service: Service) -> None:
    service.hand_in(service.team("a"))
    assert jobs.claim(service.worker("inference")) is None
    asking = WorkerToken.objects.get(name="inference")
    for duties in (["intake"], ["intake", "inference"], ["scoring", "board"]):
        assert jobs.claim(asking, duties=duties) is None, "who asks for more than the token has gets no more"
    assert jobs.claim(service.worker("intake", name="elsewhere", phases=("final",))) is None
    intake = service.worker("intake", "scoring", "board")
    assert jobs.claim(intake) is not None
    Job.objects.update(state="waiting", kind="inference", gpu_memory_mb=40_000, lease_until=None)
    inference = WorkerToken.objects.get(name="inference")
    Job.objects.update(submission=None)
    Job.objects.update(kind="intake")
    assert jobs.claim(intake, gpu_memory_mb=24_000) is None
    assert jobs.claim(intake, gpu_memory_mb=48_000) is not None
    assert jobs.claim(inference, gpu_memory_mb=48_000) is None


def test_no_token_runs_strangers_programs_and_scores(home: object) -> None:
    for duties in (["inference", "scoring"], ["inference", "intake"], ["board", "inference"], [], ["cooking"]):
        with pytest.raises(Refused):
            tokens.make_worker_token("system", "w", duties)


def test_a_revoked_token_is_nobodys(home: object) -> None:
    token, text = tokens.make_worker_token("system", "w", ["inference"])
    assert tokens.worker_of(text) == token
    assert text not in str(WorkerToken.objects.values())
    tokens.revoke_worker_token("user-1", token)
    assert tokens.worker_of(text) is None
    assert tokens.worker_of("") is None


def test_a_job_whose_workers_are_lost_too_often_fails_on_our_side(service: Service) -> None:
    submission, worker = service.hand_in(service.team("a")), service.worker("intake")
    for _ in range(3):
        assert jobs.claim(worker) is not None
        service.clock.forward(seconds=jobs.LEASE_S + 1)
    service.hand_in(service.team("b"))
    jobs.claim(worker)
    submission.refresh_from_db()
    assert (submission.stage, submission.codes) == ("failed_infra", ["worker-lost"])


def test_what_failed_on_our_side_at_intake_can_be_taken_up_again(service: Service) -> None:
    submission, worker = service.hand_in(service.team("a")), service.worker("intake")
    for _ in range(3):
        job = jobs.claim(worker)
        assert job is not None
        jobs.put_back(worker, job.pk, job.fencing, code="engine-failed")
    submission.refresh_from_db()
    assert submission.stage == "failed_infra"
    usage = usage_of(submission.team, current_challenge().phase(PRE))
    assert (usage.attempts, usage.scored, usage.under_way) == (0, 0, 0), "what failed on our side costs nothing"
    submissions.run_again("user-1", submission, reason="the disk was full")
    submission.refresh_from_db()
    assert submission.stage == "uploaded"
    assert submission.codes == []
    service.let_in(submission, worker)
    submission.refresh_from_db()
    assert submission.stage == "queued"


def test_what_was_scored_and_is_run_again_holds_one_place_and_not_two(service: Service) -> None:
    submission, worker = service.hand_in(service.team("a")), service.worker("intake")
    service.let_in(submission, worker)
    Submission.objects.update(stage="scored", values={"technical": 0.5})
    submissions.run_again("user-1", submission, reason="the machine was slow")
    usage = usage_of(submission.team, current_challenge().phase(PRE))
    assert (Submission.objects.get().stage, usage.scored, usage.under_way) == ("queued", 1, 0)


def test_a_cancelled_submission_takes_its_jobs_back(service: Service) -> None:
    submission, worker = service.hand_in(service.team("a")), service.worker("intake")
    job = jobs.claim(worker)
    assert job is not None
    submissions.cancel("user-1", submission, reason="wrong file")
    with pytest.raises(Refused, match="not under way"):
        jobs.beat(worker, job.pk, job.fencing)
    with pytest.raises(Refused, match="not under way"):
        reports.report(worker, job.pk, job.fencing, reports.WorkerReport())
    assert Submission.objects.get().stage == "cancelled"
    assert [one.stage for one in submission.history.all()] == ["uploaded", "cancelled"]
    submissions.reinstate("user-1", submission, reason="right file after all")
    assert Submission.objects.get().stage == "uploaded"
    assert jobs.claim(worker) is not None
    assert submission.phase == PRE


def test_whoever_has_least_under_way_is_next_and_then_the_oldest(home: object, clock: Clock) -> None:
    for owner in ("a", "a", "a", "b", "c"):
        queue("p", owner, clock.forward(seconds=1))
    worker = tokens.make_worker_token("system", "w", ["intake"])[0]
    order = [jobs.claim(worker) for _ in range(5)]
    assert [job.owner for job in order if job] == ["a", "b", "c", "a", "a"]
