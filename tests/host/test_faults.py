"""Web, workers and database are killed at random points: nothing accepted is lost, nothing is scored twice, no
container stays. And a backup brings a service back.

SURGVALID_FAULT_SUBMISSIONS=50 asks for as many; a few by default, since every one is really run. Containers are
podman's where it runs here, plain programs elsewhere or with SURGVALID_FAULT_ENGINE=process.
"""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.db import connections
from django.db.models import F, Sum
from django.utils import timezone

from host_killing import Cast, Postmaster
from host_server import entrant, tiny_image
from host_service import PRE, Clock, Service
from python_image import python_archive, reason_not_to_build
from repository import REPOSITORY
from sandbox_engines import reason_not_to_run
from submission_places import containers
from surgvalid.host import places
from surgvalid.host.acts import submissions, tokens
from surgvalid.host.client import Host, HostLost, HostRefused, push_submission
from surgvalid.host.evidence import problems
from surgvalid.host.runs.models import Job, LogEntry, RunRecord, Submission

SUBMISSIONS = int(os.environ.get("SURGVALID_FAULT_SUBMISSIONS", "4"))
NO_PODMAN = reason_not_to_run("podman") or reason_not_to_build()
ENGINE = os.environ.get("SURGVALID_FAULT_ENGINE", "process" if NO_PODMAN else "podman")


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def still_there(mark: str) -> list[str]:
    """Programs and containers of this test's teams that somebody forgot."""
    lines = [one for one in containers("podman") if mark in _environment(one)] if ENGINE == "podman" else []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = place.read_bytes().replace(b"\0", b" ").decode(errors="ignore")
        except OSError:
            continue
        if mark in text:
            lines.append(text)
    return lines


def _environment(container: str) -> str:
    """What a container is started with; nothing for one that is gone meanwhile."""
    shown = ["podman", "inspect", "--format", "{{.Config.Env}}", container]
    return subprocess.run(shown, capture_output=True, text=True, check=False).stdout


def acts() -> int:
    """How far the log is; the connection may be of a database that is no more."""
    connections.close_all()
    return LogEntry.objects.count()


def further(number: int) -> None:
    """Return when the log is so far, or for once when nothing happens."""
    end = time.monotonic() + 30
    while acts() < number and time.monotonic() < end:
        time.sleep(0.1)


def unfinished() -> bool:
    """Whether something is under way; what was killed too often is run again, as the organisers would."""
    for one in Submission.objects.filter(stage="failed_infra"):
        submissions.run_again("user-1", one, reason="its workers were killed")
    return Submission.objects.exclude(stage="scored").exists()


def interrupted() -> int:
    """How often a job was begun anew."""
    return Job.objects.filter(attempts__gt=1).aggregate(again=Sum(F("attempts") - 1))["again"] or 0


def is_answering() -> bool:
    """Whether a program is asked at this moment."""
    return Job.objects.filter(kind="inference", state="claimed").exists()


@pytest.mark.database
def test_killing_anything_at_any_time_loses_nothing(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SURGVALID_HOST_LEASE_S", "8")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([*sys.path[:2], str(REPOSITORY / "src")]))
    service = Service(home, Clock(), videos=2)
    path = home / "challenge.toml"
    opened = f"{timezone.now():%Y-%m}-01T00:00:00"
    text = path.read_text().replace("opens = 2026-07-15T02:00:00", "opens = 2020-01-01T00:00:00")
    text = text.replace("closes = 2026-08-29T02:00:00", f"closes = {opened.replace(opened[:4], '2099')}")
    path.write_text(text.replace('track = "frame"', 'track = "frame"\nbudget = { state = "free" }'))
    service.change("replicates = 1000", "replicates = 20")
    mark = str(tmp_path / "programs")
    program = entrant(tmp_path / "programs", "one", 0.8)
    texts = {name: tokens.make_worker_token("system", name, duties)[1]
             for name, duties in (("gpu", ["inference"]), ("trusted", ["intake", "scoring", "board"]))}  # fmt: skip
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    at = ["--url", url, "--scratch"]
    people = [service.team(f"t{number}").leader for number in range(SUBMISSIONS)]
    hosts = [Host(url, tokens.make_access_token("system", one, "laptop")[1], patience_s=120) for one in people]
    database = None
    if places.DATABASE in os.environ:
        ours = urlsplit(os.environ[places.DATABASE])._replace(path="/" + connections.settings["default"]["NAME"])
        database = Postmaster(os.environ[places.DATABASE], tmp_path / "database.log")
        connections.close_all()
    with pytest.MonkeyPatch.context() as elsewhere:
        if database is not None:
            elsewhere.setenv(places.DATABASE, ours.geturl())
        cast = Cast({
            "web": ["host", "serve", "--challenge", str(home), "--port", str(port)],
            "gpu": ["host", "worker", *at, str(tmp_path / "gpu"), "--token", texts["gpu"], "--engine", ENGINE,
                    *(["--command", " ".join(program)] if ENGINE == "process" else [])],
            "trusted": ["host", "worker", *at, str(tmp_path / "trusted"), "--token", texts["trusted"],
                        "--challenge", str(home)],
        }, tmp_path, database=database)  # fmt: skip
        accepted: list[int] = []

        def push() -> None:
            for number, host in enumerate(hosts):
                image = tmp_path / f"{number}.tar"
                if ENGINE == "podman":
                    python_archive(image, tmp_path / "programs", unique=f"{mark}/{number}")
                else:
                    tiny_image(image, f"image {number}")
                accepted.append(int(push_submission(host, image, phase=PRE)["submission"]))
                image.unlink()

        pushing = threading.Thread(target=push)
        draw = random.Random(7)
        try:
            pushing.start()
            for number in range(2 * SUBMISSIONS):
                if number % len(cast.names) == 0:
                    draw.shuffle(cast.names)  # everybody has a turn, in any order
                further(acts() + draw.randint(1, 8))
                time.sleep(draw.uniform(0.0, 1.5))
                cast.kill(cast.names[number % len(cast.names)])
                if database is not None:
                    database.wait()
                cast.tend()
            end = time.monotonic() + 120 + 60 * SUBMISSIONS
            strike = 0.0
            while time.monotonic() < end and (pushing.is_alive() or unfinished()):
                time.sleep(1)
                if time.monotonic() > strike and not interrupted() and is_answering():  # a slow machine gets there late
                    cast.kill("gpu")
                    strike = time.monotonic() + 20
                cast.tend()
        finally:
            cast.end()
    assert not pushing.is_alive()
    logs = "\n".join(f"{one.name}: {one.read_text()[-1500:]}" for one in tmp_path.glob("*.log"))
    stages = {one.pk: (one.stage, one.codes) for one in Submission.objects.all()}
    assert len(set(accepted)) == SUBMISSIONS, logs
    assert sorted(accepted) == sorted(stages), logs
    left = list(Job.objects.exclude(state="done").values())
    assert {stage for stage, _ in stages.values()} == {"scored"}, (stages, left, logs)
    assert RunRecord.objects.exclude(scored_at=None).count() == SUBMISSIONS
    reports = [json.loads(one.facts) for one in LogEntry.objects.filter(act="report-job")]
    for number in accepted:
        assert sum("scores" in one and one["submission"] == number for one in reports) == 1
        assert Job.objects.filter(submission=number, kind="scoring", state="done").count() == 1
        last = RunRecord.objects.filter(submission=number).latest("number")
        assert last.jobs.filter(kind="inference", state="done").count() == 2  # one for each shard
    assert list(problems(images=True)) == []
    deadline = time.monotonic() + 20
    while still_there(mark) and time.monotonic() < deadline:
        time.sleep(0.5)
    assert still_there(mark) == []
    assert interrupted(), "nothing was ever interrupted"
    print(f"{SUBMISSIONS} submissions with {ENGINE}; killed: {dict(sorted(cast.killed.items()))}; "
          f"{Job.objects.count()} jobs, {interrupted()} of their claims were lost and made again, "
          f"{RunRecord.objects.count() - SUBMISSIONS} runs were made again by hand")  # fmt: skip


def test_a_client_gives_up_with_a_sentence_and_a_refusal_is_no_loss() -> None:
    host = Host(f"http://127.0.0.1:{free_port()}", "token", patience_s=0.3)
    with pytest.raises(HostLost, match="cannot be reached"):
        host.call("GET", "standing")
    assert not issubclass(HostRefused, HostLost)
