"""What doctor says on machines that are not this one."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from surgvalid.errors import HiddenDataRefused, Misuse, UnknownName
from surgvalid.sandbox import ENGINES, Launch, ProblemSeverity, open_engine
from surgvalid.sandbox import _machine as machine
from surgvalid.sandbox._kernel import OwnGroup
from surgvalid.sandbox.bubblewrap import BubblewrapEngine
from surgvalid.sandbox.docker import DockerEngine
from surgvalid.sandbox.podman import PodmanEngine


def test_engines_are_found_by_their_files() -> None:
    assert list(ENGINES) == ["bubblewrap", "docker", "podman", "process"]
    with pytest.raises(UnknownName, match="did you mean 'podman'"):
        open_engine("podmann")
    with pytest.raises(Misuse, match="no runtimes"):
        open_engine("process", runtime="runc")
    assert open_engine("podman", runtime="crun").name == "podman"


def test_a_missing_program_is_told_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *a, **k: None)
    for name, package in (("podman", "podman"), ("docker", r"docker\.io"), ("bubblewrap", "bubblewrap")):
        problem = open_engine(name).available()
        assert problem is not None
        assert "not installed" in problem.message
        assert package.replace("\\", "") in problem.fix


def test_crun_on_hybrid_control_groups_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(machine, "_GROUPS", tmp_path)
    assert machine.hybrid_needs_runc("crun") is None
    (tmp_path / "unified").mkdir()
    problem = machine.hybrid_needs_runc("crun")
    assert problem is not None
    assert "install runc" in problem.fix
    assert machine.hybrid_needs_runc("runc") is None


def test_a_runtime_that_cannot_be_used_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name, **_: None if name == "youki" else f"/usr/bin/{name}")
    problem = open_engine("podman", runtime="youki").available()
    assert str(problem) == (
        "runtime 'youki' is not installed; "
        "install it (as with `apt-get install youki`), or leave the runtime to the engine"
    )
    for runtime in ("runsc", "/usr/local/bin/runsc"):
        for engine in ("podman", "docker"):
            refused = open_engine(engine, runtime=runtime).available()
            assert refused is not None
            assert "no answer could be fetched; use runc" in str(refused)
    assert machine.runtime_problem("runc") is None
    assert machine.runtime_problem("youki", is_program=False) is None
    assert machine.runtime_problem(None) is None


def test_a_runtime_that_the_docker_daemon_does_not_know_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = DockerEngine("kata")
    known = '{"ServerVersion": "1", "Runtimes": {"runc": {}, "io.containerd.runc.v2": {}}, "SecurityOptions": []}'
    monkeypatch.setattr(engine, "_cli", lambda *a, **k: known.encode())
    (told,) = engine._answers()
    assert told.code == "no-runtime"
    assert "it knows io.containerd.runc.v2, runc" in told.message


CDI = """
cdiVersion: 0.5.0
kind: nvidia.com/gpu
devices:
  - name: "0"
    containerEdits: {deviceNodes: [{path: /dev/nvidia0}]}
  - name: GPU-1b2c
    containerEdits: {deviceNodes: [{path: /dev/nvidia0}]}
  - name: all
"""


@pytest.mark.parametrize("engine", [PodmanEngine(), DockerEngine()])
def test_29_a_gpu_that_cannot_be_given_is_refused_before_anything_starts(
    engine: PodmanEngine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    launch = Launch(image="a" * 64, gpu="1")
    monkeypatch.setattr(machine, "_GPU_DEVICE", tmp_path / "nvidiactl")
    monkeypatch.setattr(machine, "_CDI", (tmp_path / "cdi",))
    with pytest.raises(Misuse, match="GPU '1' was asked for, and no NVIDIA GPU is here"):
        engine.start(launch)
    (tmp_path / "nvidiactl").touch()
    with pytest.raises(Misuse, match="nvidia-ctk cdi generate"):
        engine.start(launch)
    (tmp_path / "cdi").mkdir()
    (tmp_path / "cdi" / "nvidia.yaml").write_text(CDI)
    with pytest.raises(Misuse, match="no GPU '1' here; name one of 0, GPU-1b2c"):
        engine.start(launch)
    assert machine.gpu_request_problem("0") is None
    assert machine.gpu_request_problem("GPU-1b2c") is None


def test_missing_controllers_are_told_in_both_layouts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(machine, "_GROUPS", tmp_path)
    (tmp_path / "memory").mkdir()
    old = machine.missing_controllers()
    assert old is not None
    assert "cpu, pids" in old.message
    (tmp_path / "cgroup.controllers").write_text("cpu pids")
    new = machine.missing_controllers()
    assert new is not None
    assert "lack memory" in new.message
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids io")
    assert machine.missing_controllers() is None


def test_limits_that_an_ordinary_user_cannot_set_are_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(machine, "_GROUPS", tmp_path)
    assert os.geteuid() != 0 or machine.rootless_limits() is None
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    old = machine.rootless_limits()
    assert old is not None
    assert old.code == "rootless-v1"
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids io")
    assert machine.rootless_limits() is None
    own = tmp_path / "user.slice" / "user-1000.slice" / "user@1000.service"
    own.mkdir(parents=True)
    (own / "cgroup.controllers").write_text("memory pids")
    new = machine.rootless_limits()
    assert new is not None
    assert "may not limit cpu" in new.message
    assert "Delegate=cpu memory pids" in new.fix
    (own / "cgroup.controllers").write_text("cpu memory pids")
    assert machine.rootless_limits() is None


def test_weaknesses_do_not_stop_an_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    weak = machine.not_root()
    assert weak is not None
    assert weak.severity is ProblemSeverity.WEAKENS
    assert machine.no_limits_capability() is None
    assert machine.first_blocking(iter([None, weak])) is None


def test_a_daemon_that_does_not_answer_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if not shutil.which("docker"):
        pytest.skip("docker is not installed; run scripts/install-system-packages.sh")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none")
    problem = DockerEngine().available()
    assert problem is not None
    assert "start the daemon" in problem.fix


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        ('{"ServerVersion": "1", "SecurityOptions": ["name=seccomp,profile=default"]}', "no-userns"),
        ('{"ServerVersion": "1", "SecurityOptions": []}', "no-seccomp"),
        ('{"ServerErrors": ["down"]}', "docker-fails"),
    ],
)
def test_what_the_docker_daemon_says_of_itself_is_judged(
    facts: str, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = DockerEngine()
    monkeypatch.setattr(engine, "_cli", lambda *a, **k: facts.encode())
    assert [problem.code for problem in engine._answers()] == [code]


def test_a_podman_without_filters_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = PodmanEngine()
    monkeypatch.setattr(engine, "_cli", lambda *a, **k: b'{"host": {"security": {"seccompEnabled": false}}}')
    problem = engine._answers()
    assert problem is not None
    assert problem.code == "no-seccomp"


def test_bubblewrap_without_control_groups_refuses_hidden_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OwnGroup, "possible", classmethod(lambda cls: False))
    with pytest.raises(HiddenDataRefused, match="memory, pids"):
        BubblewrapEngine().start(Launch(command=("true",), hidden=True))
    with pytest.raises(Misuse, match="no GPU"):
        BubblewrapEngine().start(Launch(command=("true",), gpu="0"))
    with pytest.raises(Misuse, match="not images"):
        BubblewrapEngine().store(Path("image.tar"))
