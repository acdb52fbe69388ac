"""A small hosted challenge for tests: its clock, its people, and what they hand in."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from django.db import connections

from host_people import ready_person
from surgvalid.host import acting as log
from surgvalid.host.acts import challenge as challenge_acts
from surgvalid.host.acts import jobs, reports, submissions, tokens, uploads
from surgvalid.host.challenge.example import new_challenge
from surgvalid.host.people.models import Membership, Team, User
from surgvalid.host.people.rules import rules_now
from surgvalid.host.runs.models import Job, Submission, Upload, WorkerToken

START = datetime(2026, 7, 15, tzinfo=UTC)
PRE, FINAL = "pre-evaluation", "final"


class Clock:
    """The time of acts, which tests set."""

    def __init__(self) -> None:
        self.at = START + timedelta(days=1)

    def __call__(self) -> datetime:
        return self.at

    def forward(self, **span: float) -> datetime:
        self.at += timedelta(**span)
        return self.at


class Service:
    """An adopted challenge in `home`, and short ways to do things in it."""

    def __init__(self, home: Path, clock: Clock, **options: Any) -> None:
        self.home, self.clock, self.made = home, clock, 0
        new_challenge(home, start=datetime(2026, 7, 15, 2), **{"engines": ("podman", "process"), "videos": 4} | options)
        challenge_acts.adopt_challenge("system", "first version")

    def change(self, old: str, new: str, note: str = "a change") -> None:
        path = self.home / "challenge.toml"
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))
        challenge_acts.adopt_challenge("system", note)

    def team(self, name: str) -> Team:
        leader = ready_person(name, rules=rules_now())
        with log.acting("system", "found team"):
            team = Team.objects.create(name=name, leader=leader)
            Membership.objects.create(user=leader, team=team)
        return team

    def person(self, name: str) -> User:
        """Somebody whose address is verified, and who accepted the terms."""
        return ready_person(name, rules=rules_now())

    def worker(self, *duties: str, name: str = "", phases: tuple[str, ...] = ()) -> WorkerToken:
        return tokens.make_worker_token("system", name or "-".join(duties), duties, phases=phases)[0]

    def upload(
        self, team: Team | None, phase: str = PRE, *, data: bytes | None = None, name: str = "image.tar"
    ) -> Upload:
        self.made += 1
        data = data or f"image {self.made}".encode()
        digest = hashlib.sha256(data).hexdigest()
        upload = uploads.announce_upload("system", team, phase, name, size_bytes=len(data), digest=digest)
        if uploads.received_bytes(upload) < len(data):
            uploads.add_piece(upload, offset=0, piece=data)
        return upload

    def hand_in(self, team: Team | None, phase: str = PRE, **more: Any) -> Submission:
        return submissions.hand_in("system", team, phase, self.upload(team, phase), **more)

    def let_in(self, submission: Submission, worker: WorkerToken) -> None:
        """Intake says yes."""
        job = jobs.claim(worker, duties=["intake"])
        assert job is not None
        assert job.submission_id == submission.pk
        reports.report(
            worker, job.pk, job.fencing, reports.WorkerReport(facts={"image_digest": f"sha256:{submission.pk}"})
        )


def at_once(count: int, do: Callable[[int], Any]) -> list[Any]:
    """What came of doing something so many times at once; errors are results."""

    def one(number: int) -> Any:
        try:
            return do(number)
        except Exception as error:  # noqa: BLE001 - the test looks at it
            return error
        finally:
            connections.close_all()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


def let_stand() -> None:
    """Organisers let every run stand that a busy machine of the test was slow at."""
    for one in submissions.undecided(Submission.objects.all()):
        submissions.keep_run("user-1", one, reason="a busy machine")


def patch_clock(monkeypatch: Any, clock: Clock) -> None:
    """Give every act the time of this clock."""
    import sys

    real = log.now
    for name, module in list(sys.modules.items()):
        if name.startswith("surgvalid.host") and getattr(module, "now", None) is real:
            monkeypatch.setattr(module, "now", clock)


def waiting(**filters: Any) -> list[Job]:
    return list(Job.objects.filter(state="waiting", **filters))
