"""An engine that ignores a flag must not get away with it."""

from __future__ import annotations

import copy
import os
import subprocess
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from sandbox_engines import SMALL, bench, until
from submission_places import containers
from surgvalid.errors import EngineFailed, HiddenDataRefused, Misuse
from surgvalid.sandbox import Launch, Mount, docker, open_engine, trial_run
from surgvalid.sandbox import _container_checks as checks
from surgvalid.sandbox._container import LABEL
from surgvalid.sandbox._container_run import Cli
from surgvalid.sandbox._kernel import ProcessStatus, host_lives, host_mark, status_of
from surgvalid.sandbox._trial import _program
from surgvalid.sandbox.docker import DockerEngine
from surgvalid.sandbox.podman import PodmanEngine

IMAGE = "a" * 64
MOUNTS = (Mount.input(Path("/data/in")), Mount.output(Path("/data/out")), Mount.socket(Path("/data/socket")))
LAUNCH = Launch(image=IMAGE, mounts=MOUNTS, limits=SMALL, env={"SURG_PROTOCOL": "1"})
GOOD: dict[str, Any] = {
    "Image": f"sha256:{IMAGE}",
    "HostConfig": {
        "NetworkMode": "none",
        "ReadonlyRootfs": True,
        "Privileged": False,
        "Memory": 64 << 20,
        "MemorySwap": 64 << 20,
        "PidsLimit": 32,
        "NanoCpus": 1_000_000_000,
        "ShmSize": 3 << 20,
        "CapAdd": None,
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges", "seccomp={}"],
        "Devices": [],
        "DeviceRequests": None,
    },
    "Config": {"User": "65534:65534", "Env": ["PATH=/bin", "NVIDIA_VISIBLE_DEVICES=void", "SURG_PROTOCOL=1"]},
    "Mounts": [{"Type": "bind", "Destination": "/input", "RW": False}, {"Type": "tmpfs", "Destination": "/tmp"}],
}


def with_change(section: str, key: str, value: Any) -> dict[str, Any]:
    record = copy.deepcopy(GOOD)
    (record[section] if section else record)[key] = value
    return record


def test_a_record_as_asked_for_has_no_problems() -> None:
    assert checks.declared_problems(GOOD, LAUNCH) == []


@pytest.mark.parametrize(
    ("section", "key", "value", "said"),
    [
        ("HostConfig", "NetworkMode", "bridge", "NetworkMode"),
        ("HostConfig", "ReadonlyRootfs", False, "ReadonlyRootfs"),
        ("HostConfig", "Privileged", True, "Privileged"),
        ("HostConfig", "Memory", 0, "Memory"),
        ("HostConfig", "MemorySwap", -1, "MemorySwap"),
        ("HostConfig", "PidsLimit", 0, "PidsLimit"),
        ("HostConfig", "NanoCpus", 0, "NanoCpus"),
        ("HostConfig", "ShmSize", 64 << 20, "ShmSize"),
        ("HostConfig", "CapAdd", ["SYS_ADMIN"], "capabilities"),
        ("HostConfig", "CapDrop", [], "capabilities"),
        ("HostConfig", "SecurityOpt", ["seccomp={}"], "no-new-privileges"),
        ("HostConfig", "SecurityOpt", ["no-new-privileges", "seccomp=unconfined"], "filter is off"),
        ("HostConfig", "Devices", [{"PathOnHost": "/dev/nvidia1"}], "devices"),
        ("HostConfig", "DeviceRequests", [{"DeviceIDs": ["nvidia.com/gpu=all"]}], "devices"),
        ("Config", "User", "0:0", "the user is"),
        ("Config", "Env", ["PATH=/bin"], "not void"),
        ("Config", "Env", ["NVIDIA_VISIBLE_DEVICES=void", "LD_PRELOAD=/x"], "LD_PRELOAD got through"),
        ("", "Image", "sha256:" + "b" * 64, "another image"),
        ("", "Mounts", [{"Type": "volume", "Destination": "/data", "RW": True}], "nobody asked"),
        ("", "Mounts", [{"Type": "bind", "Destination": "/input", "RW": True}], "writable"),
    ],
)
def test_a_flag_that_did_not_take_is_noticed(section: str, key: str, value: Any, said: str) -> None:
    assert any(said in problem for problem in checks.declared_problems(with_change(section, key, value), LAUNCH))


def test_29_one_gpu_is_asked_for_by_its_name_and_another_one_is_noticed() -> None:
    launch = Launch(image=IMAGE, mounts=MOUNTS, limits=SMALL, gpu="GPU-1")
    for engine in (PodmanEngine(), DockerEngine()):
        flags = engine._create("name", Launch(image=IMAGE, gpu="GPU-1"), "profile")
        assert [flags[at + 1] for at, flag in enumerate(flags) if flag == "--device"] == ["nvidia.com/gpu=GPU-1"]
        assert "--device" not in engine._create("name", Launch(image=IMAGE), "profile")
        assert "--gpus" not in flags
        assert "NVIDIA_VISIBLE_DEVICES=void" in flags
    for named, count in ((["nvidia.com/gpu=GPU-1"], 0), (["nvidia.com/gpu=GPU-1", "nvidia.com/gpu=GPU-2"], 1)):
        record = with_change("HostConfig", "DeviceRequests", [{"DeviceIDs": named}])
        assert len(checks.declared_problems(record, launch)) == count


def test_rights_are_read_from_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    bad = ProcessStatus(uids=(0, 0, 0, 0), capabilities=(0, 1, 1, 1, 0), no_new_privileges=False, seccomp=False)
    monkeypatch.setattr(checks, "status_of", lambda pid: bad)
    assert len(checks.rights_problems(1)) == 4
    monkeypatch.setattr(checks, "status_of", lambda pid: None)
    assert checks.rights_problems(1) == []


def test_this_very_process_is_no_container() -> None:
    status = status_of(os.getpid())
    assert status is not None
    assert not status.no_new_privileges or not status.seccomp or any(status.capabilities)
    if os.geteuid() == 0:
        said = checks.world_problems(os.getpid(), LAUNCH)
        for part in (
            "net namespace",
            "mnt namespace",
            "/ is not mounted read-only",
            "/output is no folder",
            "memory limit",
        ):
            assert any(part in problem for problem in said), part
    assert checks.world_problems(2**22 + 1, LAUNCH) == []


@pytest.mark.parametrize("lacking", ["nosuid", "nodev", "noexec", "size=4k"])
def test_a_writable_folder_without_one_of_its_limits_is_noticed(lacking: str, monkeypatch: pytest.MonkeyPatch) -> None:
    full = frozenset({"rw", "nosuid", "nodev", "noexec", "size=4k"})
    mounts = dict.fromkeys(("/tmp", "/output", "/run/surgvalid"), (full, "tmpfs"))
    mounts |= {"/": (frozenset({"ro"}), "overlay"), "/input": (frozenset({"ro"}), "ext4")}
    monkeypatch.setattr(checks, "mounts_of", lambda pid: mounts)
    assert list(checks._kernel_mount_problems(1, LAUNCH)) == []
    mounts["/output"] = (full - {lacking}, "tmpfs")
    assert list(checks._kernel_mount_problems(1, LAUNCH)) == ["/output is no folder with a size limit"]


class _Forgetful(PodmanEngine):
    """Leaves one flag out, as a future podman might."""

    def __init__(self, flag: str, arguments: int) -> None:
        super().__init__()
        self._flag, self._arguments = flag, arguments

    def _create(self, name: str, launch: Launch, profile: str) -> list[str]:
        flags = super()._create(name, launch, profile)
        at = flags.index(self._flag)
        return flags[:at] + flags[at + 1 + self._arguments :]


@pytest.mark.parametrize(("flag", "arguments"), [("--cpus", 1), ("--pids-limit", 1), ("--tmpfs", 1)])
def test_a_container_that_is_not_as_asked_for_never_runs(flag: str, arguments: int, tmp_path: Path) -> None:
    with bench("podman", tmp_path) as made:
        ours = ["podman", "ps", "-aq", "--filter", f"label={LABEL}={host_mark()}"]
        before = subprocess.check_output(ours)
        with pytest.raises(EngineFailed, match="not as asked for"):
            _Forgetful(flag, arguments).start(made.launch("sleep 100"))
        assert subprocess.check_output(ours) == before


def test_a_trial_tells_of_a_limit_that_did_not_take_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bench("podman", tmp_path) as made:
        stored: list[str] = []
        store = PodmanEngine.store

        def noting(engine: PodmanEngine, archive: Path) -> str:
            stored.append(store(engine, archive))
            return stored[-1]

        monkeypatch.setattr(PodmanEngine, "store", noting)
        tried = trial_run(_Forgetful("--pids-limit", 1))
        assert tried.problem is not None
        assert "not as asked for" in tried.problem.message
        assert tried.evidence == ()
        assert trial_run(made.engine).problem is None
        left = made.engine.images()  # those of tests that run at the same time come and go
        assert made.image in left
        assert len(set(stored)) == 2
        assert not left & set(stored)


class _Disturbed(Cli):
    """A podman in whose store another process removes things, the first few times that it is called."""

    def __init__(self, times: int, said: bytes) -> None:
        super().__init__("podman", "podman")
        self.times, self.said, self.calls = times, said, 0

    def attempt(self, *arguments: str, timeout_s: float = 120.0, folder: str | None = None) -> tuple[int, bytes, bytes]:
        self.calls += 1
        return (125, b"", self.said) if self.calls <= self.times else (0, b"", b"")


@pytest.mark.parametrize(
    ("times", "said", "calls", "is_listed"),
    [
        (1, b'locating layer for blob "sha256:d63d": layer not known', 2, True),
        (2, b'locating image with ID "5c6a": image not known', 3, True),
        (9, b'locating image with ID "5c6a": image not known', 4, False),
        (1, b"no space left on device", 1, False),
    ],
)
def test_a_store_that_others_clean_meanwhile_is_asked_again(
    times: int, said: bytes, calls: int, is_listed: bool
) -> None:
    cli = _Disturbed(times, said)
    engine = PodmanEngine()
    engine._cli = cli
    with nullcontext() if is_listed else pytest.raises(EngineFailed, match=said.decode()[-15:]):
        assert engine.images() == frozenset()
    assert cli.calls == calls


def test_the_program_of_a_trial_is_an_elf_file_for_each_machine(tmp_path: Path) -> None:
    for machine, number in (("amd64", 62), ("arm64", 183)):
        program = _program(machine)
        assert program[:4] == b"\x7fELF"
        assert int.from_bytes(program[18:20], "little") == number
    with pytest.raises(EngineFailed, match="no trial program for riscv64"):
        _program("riscv64")


def test_the_image_of_an_engine_is_a_copy_under_its_digest_and_runs_of_dead_hosts_are_swept(tmp_path: Path) -> None:
    with bench("podman", tmp_path) as made:
        assert made.image is not None
        tags = subprocess.check_output(["podman", "image", "inspect", made.image, "--format", "{{.RepoTags}}"]).decode()
        assert tags.strip() == f"[localhost/surgvalid:{made.image}]"
        dead = ["podman", "create", "--label", f"{LABEL}=999999999.1.x", made.image]
        stray = subprocess.check_output(dead).decode().strip()
        with made.start("sleep 100") as running:
            made.engine.sweep()  # a neighbour may sweep it in the same moment, and then names it instead
            assert stray not in containers("podman")
            assert running.alive()


def test_25_a_run_dies_and_is_proved_dead_when_its_engine_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bench("docker", tmp_path) as made, made.start("sleep 100") as running:
        with monkeypatch.context() as patch:
            patch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody")
            death = running.kill()
        assert death.evidence == ("the first process ended", "its control group is empty or gone")
        assert death.exit_code is None


def test_where_the_daemon_would_not_see_our_mounts_it_makes_the_folders_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docker, "can_show_mounts", lambda: False)
    with bench("docker", tmp_path) as made:
        with made.start("echo done > /output/answer; exec /bin/busybox sleep 600") as running:
            until(lambda: "answer" in running.output_names(), 60, "it wrote nothing")
            running.kill()
            assert running.read_output("answer", max_bytes=10) == b"done\n"
        with made.start("exit 7") as brief:
            until(lambda: not brief.alive(), 60, "it did not end")
            assert brief.exit_code() == 7


def test_without_root_hidden_data_is_refused_and_folders_are_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    host_mark()  # of the true user, whose folder of locks it is
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    for name in ("podman", "docker"):
        engine = open_engine(name)
        with pytest.raises(HiddenDataRefused, match="output-quota"):
            engine.start(Launch(image=IMAGE, hidden=True))
    flags = DockerEngine()._create("name", Launch(image=IMAGE, mounts=MOUNTS[1:]), "profile")
    assert "/data/out:/output:rw,rprivate" in flags
    assert "--uidmap" not in PodmanEngine()._create("name", Launch(image=IMAGE), "profile")


def test_a_missing_input_folder_is_misuse(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="not there"):
        PodmanEngine()._create("name", Launch(image=IMAGE, mounts=(Mount.input(tmp_path / "no"),)), "profile")


def test_no_argument_passes_through_a_shell() -> None:
    launch = Launch(image=IMAGE, command=("/bin/a", "$(touch /tmp/x); `id`"), env={"A": "$HOME; rm"})
    flags = PodmanEngine()._create("name", launch, "profile")
    assert flags[-3:] == ["/bin/a", IMAGE, "$(touch /tmp/x); `id`"]
    assert "A=$HOME; rm" in flags
    assert Cli("x", "echo")("$(id)") == b"$(id)\n"


def test_a_command_line_that_fails_hangs_or_is_missing_is_an_engine_failure() -> None:
    with pytest.raises(EngineFailed, match="failed: cat: /nonexistent"):
        Cli("x", "cat")("/nonexistent")
    with pytest.raises(EngineFailed, match="within"):
        Cli("x", "sleep")("20", timeout_s=0.1)
    with pytest.raises(EngineFailed, match="cannot start"):
        Cli("x", "no-such-program")("a")


def test_only_named_variables_reach_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SURGVALID_TOKEN", "secret")
    assert b"secret" not in Cli("x", "env")("--null")


def test_a_host_is_known_by_more_than_its_number() -> None:
    mark = host_mark()
    assert host_lives(mark)
    assert not host_lives(mark.replace(".", ".9", 1))
    assert not host_lives("")
    assert not host_lives("999999999.1.x")
