"""Engines for tests: which can run here, a docker daemon of our own, and small images from the machine's busybox."""

from __future__ import annotations

import os
import platform
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from image_archives import BUSYBOX, archive, busybox_layer, config_bytes, docker_members, entry, folder, layer
from surgvalid.sandbox import ENGINES as ENGINES
from surgvalid.sandbox import Engine, Launch, Limits, Mount, Running, open_engine
from syscall_probes import PROBES
from waiting import until as until

SMALL = Limits(memory_mb=64, pids=32, cpus=1.0, tmp_mb=4, shm_mb=3, output_mb=2, log_mb=1)


def reason_not_to_run(name: str) -> str | None:
    """Why an engine cannot be tested here, or None."""
    if name != "process" and not BUSYBOX.exists():
        return "busybox is not installed; run scripts/install-system-packages.sh"
    if name != "process" and (os.geteuid() != 0 or platform.machine() != "x86_64"):
        return "the probes of real engines need root on x86-64"
    if name == "docker":
        return None if shutil.which("dockerd") else "dockerd is not installed; run scripts/install-system-packages.sh"
    problem = open_engine(name).available()
    return f"{name}: {problem}" if problem else None


class DockerDaemon:
    """A docker daemon of our own with its own store, in a folder short enough for a socket's name."""

    def __init__(self, home: Path, log: Path) -> None:
        self.home, self.host, self.log = home, f"unix://{home}/s", log
        self.start()

    def start(self) -> None:
        places = ["--data-root", f"{self.home}/d", "--exec-root", f"{self.home}/e", "--pidfile", f"{self.home}/p"]
        flags = ["--bridge=none", "--iptables=false", "--ip6tables=false", "-H", self.host, *places]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(["dockerd", *flags], stdout=log, stderr=log, start_new_session=True)
        until(self._answers, 180, f"dockerd did not come up; see {self.log}")

    def _answers(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()[-2000:]
        return open_engine("docker").available() is None

    def kill(self) -> None:
        """End it and its own helpers at once, as a crash of the machine's services would; containers live on."""
        self.process.kill()
        self.process.wait()
        while found := [pid for pid in _naming(self.home) if pid != os.getpid()]:
            for pid in found:
                os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)

    def start_again(self) -> None:
        """Bring it up after `kill`, with its images and nothing else of before."""
        self._unmount()
        shutil.rmtree(self.home / "e")
        self.start()

    def stop(self) -> None:
        try:
            left = subprocess.check_output(["docker", "ps", "-aq"]).decode().split()
            if left:
                subprocess.run(["docker", "rm", "-f", *left], check=True, stdout=subprocess.DEVNULL)
        finally:
            self.process.terminate()
            self.process.wait(60)
            self._unmount()

    def _unmount(self) -> None:
        points = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
        for point in reversed([point for point in points if point.startswith(f"{self.home}/")]):
            subprocess.run(["umount", point], check=True)


def _naming(folder: Path) -> list[int]:
    """Live processes with the folder on their command line."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"{folder}/".encode() in (place / "cmdline").read_bytes():
                found.append(int(place.name))
    return found


@contextmanager
def docker_daemon(logs: Path) -> Iterator[DockerDaemon]:
    """A daemon, which DOCKER_HOST names meanwhile; its log stays in the folder given."""
    logs.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="sv", dir="/tmp") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOCKER_HOST", f"unix://{folder}/s")
        daemon = DockerDaemon(Path(folder), logs / "dockerd.log")
        try:
            yield daemon
        finally:
            daemon.stop()


class Bench:
    """An engine with an image in it, ready to run shell scripts."""

    def __init__(self, engine: Engine, home: Path) -> None:
        self.engine, self.home = engine, home
        self.image = engine.store(probe_image(home / "image.tar")) if engine.takes_images else None
        self.input = home / "input"
        self.input.mkdir()
        (self.input / "given").write_text("data")
        (self.input / "probe").mkdir()
        for name, code in PROBES.items():
            (self.input / "probe" / name).write_bytes(code)
            (self.input / "probe" / name).chmod(0o755)

    def launch(self, script: str, *, limits: Limits = SMALL, **options: Any) -> Launch:
        number = uuid.uuid4().hex[:8]
        folders = [self.home / f"{kind}-{number}" for kind in ("output", "socket")]
        for one in folders:
            one.mkdir()
        mounts = (Mount.input(self.input), Mount.output(folders[0]), Mount.socket(folders[1]))
        command = (str(BUSYBOX), "sh", "-c", script)
        return Launch(image=self.image, command=command, mounts=mounts, limits=limits, **options)

    def start(self, script: str, *, limits: Limits = SMALL, **options: Any) -> Running:
        return self.engine.start(self.launch(script, limits=limits, **options))

    def output_of(self, script: str, *, limits: Limits = SMALL, **options: Any) -> str:
        """What a script prints, run to its end."""
        with self.start(script, limits=limits, **options) as running:
            until(lambda: not running.alive(), 60, "the script did not end")
            return running.logs(1 << 20).decode("utf-8", "replace")


def probe_image(path: Path) -> Path:
    """An image with busybox and probes, settings of a hostile one, and folders of its own where ours are mounted."""
    tools = [entry(f"probe/{name}", code, mode=0o755) for name, code in PROBES.items()]
    closed = [folder("tmp", 0o700), folder("run", 0o700), folder("run/surgvalid", 0o500), entry("output/stale", b"old")]
    layers = [busybox_layer(), layer([folder("probe"), *tools, folder("data", 0o777), *closed])]

    def hostile(config: dict[str, Any]) -> None:
        config["config"]["Volumes"] = {"/data": {}}
        unique = f"UNIQUE={uuid.uuid4()}"  # workers of one test run must not remove each other's image
        config["config"]["Env"] += ["LD_PRELOAD=/evil.so", "NVIDIA_VISIBLE_DEVICES=all", unique]

    return archive(path, docker_members(layers, config=config_bytes(layers, hostile)))


@contextmanager
def bench(name: str, home: Path) -> Iterator[Bench]:
    """A ready engine; the test is skipped, with the reason, where it cannot run."""
    reason = reason_not_to_run(name)
    if reason:
        pytest.skip(reason)
    if name == "docker":
        with docker_daemon(home):
            yield from _with_image(name, home)
    else:
        yield from _with_image(name, home)


def _with_image(name: str, home: Path) -> Iterator[Bench]:
    made = Bench(open_engine(name), home)
    try:
        yield made
    finally:
        if made.image:
            made.engine.forget(made.image)


def processes_with(argument: str) -> list[int]:
    """Live processes of the machine that have this word on their command line."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes().split(b"\0")
            state = (place / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if argument.encode() in words and state != "Z":
            found.append(int(place.name))
    return found
