"""Web and workers are killed at random points: nothing accepted is lost, nothing is scored twice, nothing stays.

SURGEVAL_FAULT_SUBMISSIONS=50 asks for as many; a few by default, since every one is really run.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from host_server import entrant, tiny_image
from host_service import PRE, Service
from surgeval.host.acts import tokens
from surgeval.host.backups import service_problems
from surgeval.host.client import Host, HostLost, HostRefused, push_submission
from surgeval.host.runs.models import Job, LogEntry, RunRecord, Submission

SUBMISSIONS = int(os.environ.get("SURGEVAL_FAULT_SUBMISSIONS", "4"))


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Cast:
    """Processes that can be killed, and are started again."""

    def __init__(self, commands: dict[str, list[str]], folder: Path) -> None:
        self.commands, self.folder = commands, folder
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        for name in commands:
            self.start(name)

    def start(self, name: str) -> None:
        with open(self.folder / f"{name}.log", "ab") as log:
            self.running[name] = subprocess.Popen(
                [sys.executable, "-m", "surgeval", *self.commands[name]], stdout=log, stderr=log
            )

    def kill(self, name: str) -> None:
        self.running[name].send_signal(signal.SIGKILL)
        self.running[name].wait()

    def end(self) -> None:
        for name in self.running:
            self.kill(name)


def still_there(mark: str) -> list[str]:
    """Programs of teams that somebody forgot."""
    lines = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = place.read_bytes().replace(b"\0", b" ").decode(errors="ignore")
        except OSError:
            continue
        if mark in text:
            lines.append(text)
    return lines


def test_killing_anything_at_any_time_loses_nothing(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from django.utils import timezone

    from host_service import Clock

    monkeypatch.setenv("SURGEVAL_HOST_LEASE_S", "8")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([*sys.path[:2], str(Path(__file__).parents[2] / "src")]))
    service = Service(home, Clock(), videos=2)
    path = home / "challenge.toml"
    opened = f"{timezone.now():%Y-%m}-01T00:00:00"
    text = path.read_text().replace("opens = 2026-07-15T02:00:00", "opens = 2020-01-01T00:00:00")
    text = text.replace("closes = 2026-08-29T02:00:00", f"closes = {opened.replace(opened[:4], '2099')}")
    path.write_text(text.replace('track = "frame"', 'track = "frame"\nbudget = { state = "free" }'))
    service.change("replicates = 1000", "replicates = 20")
    program = entrant(tmp_path / "programs", "one", 0.8)
    texts = {name: tokens.make_worker_token("system", name, duties)[1]
             for name, duties in (("gpu", ["inference"]), ("trusted", ["intake", "scoring", "board"]))}  # fmt: skip
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    at = ["--url", url, "--scratch"]
    cast = Cast({
        "web": ["host", "serve", "--folder", str(home), "--port", str(port)],
        "gpu": ["host", "worker", *at, str(tmp_path / "gpu"), "--token", texts["gpu"], "--engine", "process",
                "--program", " ".join(program)],
        "trusted": ["host", "worker", *at, str(tmp_path / "trusted"), "--token", texts["trusted"],
                    "--challenge", str(home)],
    }, tmp_path)  # fmt: skip
    accepted: list[int] = []
    people = [service.team(f"t{number}").leader for number in range(SUBMISSIONS)]
    hosts = [Host(url, tokens.make_access_token("system", one, "laptop")[1], patience_s=120) for one in people]

    def push() -> None:
        for number, host in enumerate(hosts):
            image = tiny_image(tmp_path / f"{number}.tar", f"image {number}")
            accepted.append(int(push_submission(host, image, phase=PRE)["submission"]))

    pushing = threading.Thread(target=push)
    draw = random.Random(7)
    try:
        pushing.start()
        for _ in range(2 * SUBMISSIONS):
            time.sleep(draw.uniform(1.0, 6.0))
            name = draw.choice(sorted(cast.commands))
            cast.kill(name)
            cast.start(name)
        pushing.join(200)
        end = time.monotonic() + 60 + 40 * SUBMISSIONS
        while time.monotonic() < end and Submission.objects.exclude(stage="scored").exists():
            time.sleep(1)
    finally:
        cast.end()
    logs = "\n".join(f"{one.name}: {one.read_text()[-1500:]}" for one in tmp_path.glob("*.log"))
    stages = {one.pk: (one.stage, one.codes) for one in Submission.objects.all()}
    assert sorted(accepted) == sorted(stages), logs
    left = list(Job.objects.exclude(state="done").values())
    assert {stage for stage, _ in stages.values()} == {"scored"}, (stages, left, logs)
    assert RunRecord.objects.count() == SUBMISSIONS
    for number in accepted:
        reports = [json.loads(one.facts) for one in LogEntry.objects.filter(act="report-job")]
        assert sum("scores" in one and one["submission"] == number for one in reports) == 1
        assert Job.objects.filter(submission=number, kind="scoring", state="done").count() == 1
        assert Job.objects.filter(submission=number, kind="inference", state="done").count() == 2  # one for each shard
    assert service_problems() == []
    deadline = time.monotonic() + 20
    while still_there(str(tmp_path / "programs")) and time.monotonic() < deadline:
        time.sleep(0.5)
    assert still_there(str(tmp_path / "programs")) == []


def test_a_client_gives_up_with_a_sentence_and_a_refusal_is_no_loss() -> None:
    host = Host(f"http://127.0.0.1:{free_port()}", "token", patience_s=0.3)
    with pytest.raises(HostLost, match="cannot be reached"):
        host.call("GET", "standing")
    assert not issubclass(HostRefused, HostLost)
