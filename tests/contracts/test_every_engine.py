"""What every engine must hold, probed from inside a real run. A new engine is tested by its file's existence.

Each test asks only engines that promise the guarantee in question; `process` promises little and says so.
"""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from repository import REPOSITORY
from sandbox_engines import ENGINES, SMALL, Bench, bench, processes_with, until
from surgvalid.errors import EngineFailed, OutputRefused, ProgramMissing
from surgvalid.sandbox import (
    WEIGHTS_TARGET,
    Engine,
    Guarantee,
    Launch,
    Limits,
    Mount,
    MountKind,
    canary_run_s,
    open_engine,
    trial_run,
)
from surgvalid.sandbox._kernel import OwnGroup
from surgvalid.sandbox._leases import MARK, host_mark
from surgvalid.testing._engines import ENGINE_RULES
from syscall_probes import ABSTRACT_NAME, REFUSED_CALLS

pytestmark = pytest.mark.long

CLASSES = {name: import_module(f"surgvalid.sandbox.{name}").ENGINE for name in ENGINES}

SURVEY = """
b=/bin/busybox
p=/probe; [ -d $p ] || p=/input/probe
say() { echo "$1=$2"; }
can() { name=$1; shift; if "$@" >/dev/null 2>&1; then say $name yes; else say $name no; fi; }
say uid $($b id -u)
say capabilities "$($b grep ^Cap /proc/self/status | $b grep -vc '0000000000000000$')"
say privileges "$($b grep NoNewPrivs /proc/self/status | $b cut -f2)"
say seccomp "$($b grep ^Seccomp: /proc/self/status | $b cut -f2)"
can write_root $b touch /x
can keep_root_read_only $b grep -qE '^[^ ]+ / [^ ]+ ro[, ]' /proc/mounts
can write_bin $b touch /bin/x
can write_input $b touch /input/x
can write_proc $b sh -c "echo x > /proc/sys/kernel/domainname"
can write_sys $b touch /sys/fs/cgroup/x
can write_volume $b touch /data/x
say found_in_output "$($b ls -A /output | $b wc -l)"
can write_output $b touch /output/x
can write_sockets $b touch /run/surgvalid/x
can write_tmp $b touch /tmp/x
for place in /tmp /dev/shm /output; do
  $b cp /bin/busybox $place/busybox && $b chmod 755 $place/busybox
  can execute:$place $place/busybox true
  $b rm $place/busybox
done
can read_weights $b grep -q weights /opt/ml/model/w
can write_weights $b touch /opt/ml/model/x
say home "$HOME"
can read_input $b grep -q data /input/given
can read_host_file $b cat SECRET
can read_shadow $b cat /etc/shadow
can see_engine_socket $b ls /run/docker.sock /run/podman/podman.sock /var/run/docker.sock
can see_host_processes test -d /proc/HOSTPID/fd
say interfaces "$($b grep -c : /proc/net/dev)"
say devices "$($b ls /dev | $b grep -cE '^(vd|sd|nvme|nvidia|kvm|vsock|mem|kmsg)')"
for probe in $p/*; do $probe; say call-${probe##*/} $?; done
fill() { $b dd if=/dev/zero of=$2/full bs=1M count=10 2>/dev/null; say $1 $($b stat -c %s $2/full); $b rm $2/full; }
fill tmp_bytes /tmp
fill shm_bytes /dev/shm
fill output_bytes /output
$b env | $b sed s/^/env:/
"""


def promising(*needed: Guarantee) -> list[str]:
    return [name for name in ENGINES if set(needed) <= CLASSES[name].guarantees]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tests of a guarantee run on the engines that give it; `process` refuses hidden data instead."""
    if "any_engine" in metafunc.fixturenames:
        names = promising(*Guarantee) if "closed_engine" in metafunc.fixturenames else ENGINES
        metafunc.parametrize("any_engine", names, indirect=True, scope="module")


@pytest.fixture(scope="module")
def any_engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with bench(request.param, tmp_path_factory.mktemp(request.param)) as made:
        yield made


@pytest.fixture(scope="module")
def closed_engine(any_engine: Bench) -> Bench:
    """An engine that promises everything."""
    return any_engine


@pytest.fixture(scope="module")
def survey(closed_engine: Bench, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What one run finds out about its own prison."""
    secret = tmp_path_factory.mktemp("host") / "worker-token"
    secret.write_text("token")
    os.environ["SURGVALID_TEST_SECRET"] = "of the host"
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(b"\0" + ABSTRACT_NAME)
        listener.listen()
        script = SURVEY.replace("SECRET", str(secret)).replace("HOSTPID", str(os.getpid()))
        weights = tmp_path_factory.mktemp("weights")
        weights.chmod(0o755)
        (weights / "w").write_text("weights")
        launch = closed_engine.launch(script, env={"SURG_SOCKET": "/run/surgvalid/model.sock"})
        mounts = (*launch.mounts, Mount.input(weights, WEIGHTS_TARGET))
        with closed_engine.engine.start(replace(launch, mounts=mounts)) as running:
            until(lambda: not running.alive(), 60, "the survey did not end")
            printed = running.logs(1 << 20).decode("utf-8", "replace")
    finally:
        listener.close()
        del os.environ["SURGVALID_TEST_SECRET"]
    return dict(line.split("=", 1) for line in printed.splitlines() if "=" in line)


def test_every_engine_says_what_it_is() -> None:
    for name, kind in CLASSES.items():
        assert kind.name == name
        assert kind.guarantees <= frozenset(Guarantee)
        assert import_module(f"surgvalid.sandbox.{name}").__doc__
    assert promising(*Guarantee) == ["bubblewrap", "docker", "podman"]


@pytest.mark.parametrize("rule", ENGINE_RULES, ids=lambda rule: rule.__name__)
@pytest.mark.long
def test_an_engine_keeps_every_rule(any_engine: Bench, rule: Callable[[Engine], Iterator[str]]) -> None:
    assert list(rule(any_engine.engine)) == []


def test_an_engine_refuses_an_image_that_it_does_not_hold(any_engine: Bench) -> None:
    if any_engine.engine.takes_images:
        with pytest.raises(EngineFailed):
            any_engine.engine.start(Launch(image="0" * 64))


# 18: network


def test_18_nothing_outside_can_be_reached(survey: dict[str, str]) -> None:
    assert survey["interfaces"] == "1"  # loopback
    for probe in ("tcp", "udp-dns", "metadata"):
        assert int(survey[f"call-{probe}"]) == errno.ENETUNREACH


def test_18_abstract_sockets_of_the_host_cannot_be_reached(survey: dict[str, str]) -> None:
    assert int(survey["call-abstract-socket"]) == errno.ECONNREFUSED


# 19, 28, 31: files and environment


def test_19_nothing_but_its_own_folders_can_be_written(survey: dict[str, str]) -> None:
    wanted = dict.fromkeys(("write_output", "write_tmp", "read_input", "keep_root_read_only"), "yes")
    wanted |= dict.fromkeys(("write_root", "write_bin", "write_input", "write_proc", "write_sys", "write_volume"), "no")
    assert {key: survey[key] for key in wanted} == wanted


def test_its_own_folders_are_empty_and_open_to_it_whatever_the_image_has_in_their_place(survey: dict[str, str]) -> None:
    assert [survey[f"write_{place}"] for place in ("output", "sockets", "tmp")] == ["yes"] * 3
    assert survey["found_in_output"] == "0"


def test_scratch_alone_is_executable_and_weights_are_read_only_in_every_engine(survey: dict[str, str]) -> None:
    """Triton, torch.compile and vLLM compile into their home; engines must not differ in that."""
    wanted = {"execute:/tmp": "yes", "execute:/dev/shm": "no", "execute:/output": "no"}
    wanted |= {"read_weights": "yes", "write_weights": "no", "home": "/tmp"}
    assert {key: survey[key] for key in wanted} == wanted


def test_28_files_and_processes_of_the_host_are_not_there(survey: dict[str, str]) -> None:
    for key in ("read_host_file", "read_shadow", "see_engine_socket", "see_host_processes"):
        assert survey[key] == "no", key
    assert survey["devices"] == "0"


def test_13_31_the_environment_holds_what_was_given_and_nothing_of_image_or_host(survey: dict[str, str]) -> None:
    seen = {key.removeprefix("env:"): value for key, value in survey.items() if key.startswith("env:")}
    noise = {"PATH", "HOME", "HOSTNAME", "SHLVL", "PWD", "OLDPWD", "TERM", "container", "UNIQUE"}
    assert set(seen) - noise <= {"SURG_SOCKET", "NVIDIA_VISIBLE_DEVICES"}
    assert seen["SURG_SOCKET"] == "/run/surgvalid/model.sock"
    assert seen.get("NVIDIA_VISIBLE_DEVICES", "void") == "void"


def test_31_the_environment_of_the_host_stays_out_of_every_engine(
    any_engine: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SURGVALID_TEST_SECRET", "of the host")
    assert "of the host" not in any_engine.output_of("/bin/busybox env; echo")


# 20: rights


def test_20_it_has_no_rights_and_cannot_gain_any(survey: dict[str, str]) -> None:
    assert (survey["capabilities"], survey["privileges"], survey["seccomp"]) == ("0", "1", "2")
    assert survey["uid"] == "65534"


def test_20_dangerous_system_calls_are_refused_by_the_filter_itself(survey: dict[str, str]) -> None:
    answers = {name: int(survey[f"call-{name}"]) for name in REFUSED_CALLS}
    by_argument = {name for name in REFUSED_CALLS if name.startswith(("clone-", "socket-"))}
    # Refused by their arguments, older docker says "not permitted"; the kernel alone would let clone and vsock pass.
    assert {answers.pop(name) for name in by_argument} <= {errno.ENOSYS, errno.EPERM}
    assert answers == dict.fromkeys(answers, errno.ENOSYS)


def test_20_ordinary_system_calls_work(survey: dict[str, str]) -> None:
    assert [survey[f"call-{name}"] for name in ("getpid", "socket-unix", "fork")] == ["0", "0", "0"]


# 21, 22, 23: exhaustion


def test_21_a_fork_bomb_is_stopped(closed_engine: Bench) -> None:
    mark = f"{uuid.uuid4().int % 10**8 + 10**8}"
    script = f"i=0; while [ $i -lt 200 ]; do /bin/busybox sleep {mark} & i=$((i+1)); done; /bin/busybox sleep {mark}"
    with closed_engine.start(script) as running:
        until(lambda: b"fork" in running.logs(), 60, "nothing was refused")
        assert len(processes_with(mark)) <= SMALL.pids
    assert processes_with(mark) == []


def test_22_memory_beyond_the_limit_kills_and_leaves_nothing_where_the_host_works(
    closed_engine: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with closed_engine.start("exec /bin/busybox dd if=/dev/zero of=/dev/null bs=300M count=1") as running:
        until(lambda: not running.alive(), 60, "it was not killed")
        assert running.exit_code() == 137
        assert running.out_of_memory()
    assert list(tmp_path.iterdir()) == []


def test_22_memory_hidden_in_memory_file_systems_counts(closed_engine: Bench) -> None:
    roomy = Limits(memory_mb=64, pids=32, cpus=1.0, tmp_mb=1000, shm_mb=1000, output_mb=2)
    fill = "/bin/busybox dd if=/dev/zero of={} bs=1M count=200; echo {} ended with $?"
    script = "; ".join(fill.format(place, place) for place in ("/dev/shm/x", "/tmp/x"))
    printed = closed_engine.output_of(script, limits=roomy)
    assert "/dev/shm/x ended with 137" in printed
    assert "ended with 0" not in printed


def test_23_folders_stop_at_their_size(survey: dict[str, str]) -> None:
    assert 0 < int(survey["tmp_bytes"]) <= SMALL.tmp_mb << 20
    assert 0 < int(survey["shm_bytes"]) <= SMALL.shm_mb << 20
    assert 0 < int(survey["output_bytes"]) <= SMALL.output_mb << 20


def test_23_a_flood_of_log_lines_is_kept_small(any_engine: Bench) -> None:
    with any_engine.start("/bin/busybox yes 0123456789 | /bin/busybox head -c 5000000; echo; echo the-end") as running:
        until(lambda: not running.alive(), 60, "it did not end")
        assert running.logs(1 << 30).endswith(b"the-end\n")
        assert len(running.logs(1 << 30)) <= 2 * SMALL.log_mb << 20
        if any_engine.engine.takes_images:
            assert _log_file(any_engine.engine.name, running.id).stat().st_size <= 2 * SMALL.log_mb << 20


def _log_file(engine: str, container: str) -> Path:
    """Where the engine itself keeps the log: the disk that a flood would fill."""
    field = {"docker": "{{.LogPath}}", "podman": "{{.HostConfig.LogConfig.Path}}"}[engine]
    return Path(subprocess.check_output([engine, "inspect", container, "--format", field]).decode().strip())


# 24, 25: death


def test_24_a_run_that_ignores_signals_and_hides_its_children_dies(any_engine: Bench) -> None:
    mark = f"{uuid.uuid4().int % 10**8 + 10**8}"
    script = f'trap "" TERM; (/bin/busybox setsid /bin/busybox sleep {mark} &); /bin/busybox sleep {mark}; echo no'
    with any_engine.start(script) as running:
        until(lambda: len(processes_with(mark)) == 2, 60, "it did not start")
        death = running.kill(grace_s=0.2)
        assert processes_with(mark) == []
    assert death.exit_code in (137, 143)
    assert len(death.evidence) == (3 if any_engine.engine.guarantees == frozenset(Guarantee) else 2)
    assert running.kill() is death


def test_25_no_run_outlives_a_host_that_is_killed(any_engine: Bench) -> None:
    mark = f"{uuid.uuid4().int % 10**8 + 10**8}"
    host = (
        "import time; from surgvalid.sandbox import Launch, Limits, open_engine\n"
        f"command = ('/bin/busybox', 'sh', '-c', '/bin/busybox sleep {mark} & /bin/busybox sleep {mark}')\n"
        f"launch = Launch(image={any_engine.image!r}, command=command, limits=Limits(memory_mb=64))\n"
        f"running = open_engine({any_engine.engine.name!r}).start(launch)\n"
        "time.sleep(600)"
    )
    source = str(REPOSITORY / "src")
    child = subprocess.Popen([sys.executable, "-c", host], env={**os.environ, "PYTHONPATH": source})
    try:
        until(lambda: len(processes_with(mark)) == 2, 60, "it did not start")
    finally:
        child.kill()
        child.wait()
    until(lambda: not processes_with(mark), 60, "it lives on")
    any_engine.engine.sweep()


def test_25_no_run_outlives_host_and_watchdog_killed_together_beyond_the_next_sweep(any_engine: Bench) -> None:
    """A plain process is not promised to end; bubblewrap ends by itself, containers with the next sweep."""
    if any_engine.engine.guarantees != frozenset(Guarantee):
        pytest.skip("the process engine does not promise it")
    mark = f"{uuid.uuid4().int % 10**8 + 10**8}"
    child = _host_of_a_run(any_engine, f"/bin/busybox sleep {mark} & /bin/busybox sleep {mark}")
    try:
        until(lambda: len(processes_with(mark)) == 2, 60, "it did not start")
        watchdogs = subprocess.check_output(["pgrep", "-P", str(child.pid), "-f", "_watchdog"], text=True).split()
    finally:
        child.send_signal(signal.SIGSTOP)
        for number in watchdogs:
            os.kill(int(number), signal.SIGKILL)
        child.kill()
        child.communicate()
    assert watchdogs
    if any_engine.engine.takes_images:
        any_engine.engine.sweep()
    until(lambda: not processes_with(mark), 60, "it lives on")


def test_25_a_run_that_is_frozen_does_not_outlive_its_host_either(any_engine: Bench) -> None:
    mark = f"{uuid.uuid4().int % 10**8 + 10**8}"
    child = _host_of_a_run(any_engine, f"/bin/busybox sleep {mark} & /bin/busybox sleep {mark}", FROZEN)
    try:
        until(lambda: len(processes_with(mark)) == 2, 60, "it did not start")
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
    finally:
        child.kill()
        child.communicate()
    until(lambda: not processes_with(mark), 60, "it lives on")
    any_engine.engine.sweep()


FROZEN = "time.sleep(2)\nassert running.freeze()"
"""After it had time to start its children."""


def _host_of_a_run(engine: Bench, script: str, then: str = "") -> subprocess.Popen[bytes]:
    host = (
        "import time; from surgvalid.sandbox import Launch, Limits, open_engine\n"
        f"command = ('/bin/busybox', 'sh', '-c', {script!r})\n"
        f"launch = Launch(image={engine.image!r}, command=command, limits=Limits(memory_mb=64))\n"
        f"running = open_engine({engine.engine.name!r}).start(launch)\n"
        f"{then}\nprint('ready', flush=True)\ntime.sleep(600)"
    )
    source = str(REPOSITORY / "src")
    env = {**os.environ, "PYTHONPATH": source}
    return subprocess.Popen([sys.executable, "-c", host], env=env, stdout=subprocess.PIPE)


def test_36_a_run_can_be_frozen_goes_on_and_dies_frozen(any_engine: Bench) -> None:
    launch = any_engine.launch("true")
    output = any_engine.engine.inside(launch.mount(MountKind.OUTPUT))  # type: ignore[arg-type]
    script = f"i=0; while true; do i=$((i+1)); echo $i > {output}/count; done"
    with any_engine.engine.start(replace(launch, command=(*launch.command[:3], script))) as running:

        def count() -> str:
            return running.read_output("count", max_bytes=100).decode() if "count" in running.output_names() else ""

        until(lambda: bool(count()), 60, "it did not start")
        assert running.freeze()
        seen = count()
        time.sleep(0.5)
        assert count() == seen
        running.thaw()
        until(lambda: count() not in ("", seen), 60, "it does not go on")
        assert running.freeze()
        assert running.kill().evidence
        assert not running.alive()


def test_25_the_lifetime_ends_a_run_that_nobody_ends(any_engine: Bench) -> None:
    brief = Limits(memory_mb=64, pids=32, lifetime_s=2.5, output_mb=1)
    with any_engine.start("/bin/busybox sleep 600", limits=brief) as running:
        until(lambda: not running.alive(), 60, "it lives on")
        assert running.exit_code() == 137
        assert not running.out_of_memory()


# 26, 27: what it leaves behind


def test_26_planted_files_are_not_followed(closed_engine: Bench) -> None:
    script = (
        "cd /output; b=/bin/busybox; $b ln -s /etc/shadow answers.json; $b mkfifo pipe; $b mkdir folder; "
        "$b truncate -s 1099511627776 huge; $b ln -s / root; echo '{}' > good.json; $b touch ready; $b sleep 600"
    )
    with closed_engine.start(script) as running:
        until(lambda: "ready" in running.output_names(), 60, "it did not start")
        running.kill()
        for name in ("answers.json", "pipe", "folder", "huge", "root/etc/shadow"):
            with pytest.raises(OutputRefused):
                running.read_output(name, max_bytes=1000)
        assert running.read_output("good.json", max_bytes=1000) == b"{}\n"


def test_27_a_link_in_place_of_the_socket_is_not_followed(closed_engine: Bench, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(tmp_path / "engine.sock"))
        other.listen()
        planted = f"/bin/busybox ln -s {tmp_path}/engine.sock /run/surgvalid/model.sock; /bin/busybox sleep 600"
        with closed_engine.start(planted) as running:
            until(lambda: _refuses(running), 60, "the link did not appear")


def _refuses(running: object) -> bool:
    try:
        running.connect(timeout_s=1)  # type: ignore[attr-defined]
    except FileNotFoundError:
        return False
    except OutputRefused:
        return True
    raise AssertionError("it was connected to")


# what an honest run needs


def test_an_image_without_the_program_that_it_starts_is_its_own_fault(any_engine: Bench) -> None:
    if not any_engine.engine.takes_images:
        pytest.skip("a command that is not there is refused, or ends, in engines without images")
    for command in (("/no/such/program",), ("no-such-program",), ("/probe",)):
        with pytest.raises(ProgramMissing, match="cannot be started"):
            any_engine.engine.start(replace(any_engine.launch("true"), command=command))


def test_a_run_may_be_kept_on_some_processors(closed_engine: Bench) -> None:
    printed = closed_engine.output_of(
        "/bin/busybox grep Cpus_allowed_list /proc/self/status", limits=replace(SMALL, cpuset="0")
    )
    assert printed.split()[-1] == "0"


def test_limits_of_open_files_and_processors_hold_alike(closed_engine: Bench) -> None:
    limits = replace(SMALL, open_files=77, cpus=0.2)
    printed = closed_engine.output_of("/bin/busybox grep -E 'open files|core file' /proc/self/limits", limits=limits)
    fields = {line[:26].strip(): line[26:].split()[:2] for line in printed.splitlines()}
    assert fields == {"Max core file size": ["0", "0"], "Max open files": ["77", "77"]}
    with closed_engine.start("while :; do :; done", limits=limits) as running:
        until(lambda: (running.usage().throttled_s or 0) > 0.05, 60, "it is never held back")


def test_the_trial_proves_the_death_of_an_isolating_engine_threefold(any_engine: Bench) -> None:
    assert len(trial_run(any_engine.engine).evidence) == (
        3 if any_engine.engine.guarantees == frozenset(Guarantee) else 2
    )


def test_the_canary_is_timed_in_every_engine_and_leaves_nothing(
    any_engine: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, stored = any_engine.engine, set()
    held, store = engine.images(), engine.store
    monkeypatch.setattr(engine, "store", lambda *archive: stored.add(image := store(*archive)) or image)
    for _ in range(2):
        assert 0 < canary_run_s(engine, SMALL) < 60
    assert len(stored) == engine.takes_images
    # Others' images come and go meanwhile, and the canary's own stays while another host of this machine runs it.
    until(lambda: not (stored - held) & engine.images(), 60, "the image of the canary stays")


def test_a_canary_that_does_not_fit_into_the_limits_is_a_failure_of_ours(closed_engine: Bench) -> None:
    """It holds 8 MB, so a run that may have less is killed: the limits of the participant are those of the canary."""
    if closed_engine.engine.takes_images:
        pytest.skip("runtimes need more memory than that to start anything")
    with pytest.raises(EngineFailed, match="the canary left no times"):
        canary_run_s(closed_engine.engine, replace(SMALL, memory_mb=6))


def test_what_a_run_uses_is_counted(closed_engine: Bench) -> None:
    with closed_engine.start("i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; /bin/busybox sleep 600") as running:
        before = running.usage()
        until(lambda: running.usage().since(before).get("cpu_s", 0) > 0.05, 60, "no processor time is counted")
        assert set(running.usage().since(before)) >= {"cpu_s", "throttled_s"}


def test_a_file_that_comes_late_is_seen_and_goes_again(any_engine: Bench) -> None:
    engine, launch = any_engine.engine, any_engine.launch("true")
    given, output = (engine.inside(launch.mount(kind)) for kind in (MountKind.INPUT, MountKind.OUTPUT))  # type: ignore[arg-type]
    script = (
        f"b=/bin/busybox; cd {given}; until [ -s late ]; do $b sleep 0.02; done; "
        f"$b cat late > {output}/part; $b mv {output}/part {output}/seen; "
        f"while [ -f late ]; do $b sleep 0.02; done; $b touch {output}/gone; $b sleep 600"
    )
    fresh = Launch(image=launch.image, command=(*launch.command[:3], script), mounts=launch.mounts, limits=SMALL)
    with engine.start(fresh) as running:
        assert running.alive()
        (any_engine.input / "late").write_text("hello")
        until(lambda: "seen" in running.output_names(), 60, "the file was not seen")
        (any_engine.input / "late").unlink()
        until(lambda: "gone" in running.output_names(), 60, "the file did not go")
        assert running.read_output("seen", max_bytes=10) == b"hello"
        assert running.peak_memory_mb() is None or running.peak_memory_mb() > 0  # type: ignore[operator]


def test_what_a_run_leaves_that_is_over_at_once_can_be_read(any_engine: Bench) -> None:
    for _ in range(4):
        launch = any_engine.launch("true")
        output = any_engine.engine.inside(launch.mount(MountKind.OUTPUT))  # type: ignore[arg-type]
        command = (*launch.command[:3], f"echo done > {output}/answer")
        with any_engine.engine.start(replace(launch, command=command)) as running:
            until(lambda: not running.alive(), 60, "it did not end")
            assert running.read_output("answer", max_bytes=10) == b"done\n"
            running.kill()
            assert running.read_output("answer", max_bytes=10) == b"done\n"
            assert running.output_names() == ("answer",)


def test_exit_code_and_log_of_a_short_run_are_kept(any_engine: Bench) -> None:
    with any_engine.start("echo out; echo err >&2; exit 7") as running:
        until(lambda: not running.alive(), 60, "it did not end")
        assert running.exit_code() == 7
        assert sorted(running.logs().split()) == [b"err", b"out"]
        assert not running.out_of_memory()
    assert sorted(running.logs().split()) == [b"err", b"out"]
    assert running.exit_code() == 7


def test_the_host_can_prepare_and_remove_a_file_in_the_output_folder(closed_engine: Bench) -> None:
    script = (
        "b=/bin/busybox; until [ -s /output/request ]; do $b sleep 0.02; done; $b cat /output/request; "
        "while [ -e /output/request ]; do $b sleep 0.02; done; echo own > /output/request; $b sleep 600"
    )
    with closed_engine.start(script) as running:
        running.write_output("request", b"question\n")
        until(lambda: running.logs() == b"question\n", 60, "the file was not seen")
        running.remove_output("request")
        until(lambda: "request" in running.output_names(), 60, "the file did not go")
        until(lambda: running.read_output("request", max_bytes=10) == b"own\n", 60, "it could not write its own")


def test_nothing_is_left_of_an_engine_that_was_used(any_engine: Bench) -> None:
    swept = open_engine(any_engine.engine.name).sweep()
    # Hosts that other tests killed at the same time may have left control groups; those carry another mark.
    assert [name for name in swept if not _belongs_to_another_host(name)] == []
    assert [
        folder for root in set(OwnGroup._roots().values()) for folder in root.glob(f"surgvalid-{host_mark()}-*")
    ] == []


def _belongs_to_another_host(name: str) -> bool:
    mark = name.removeprefix(OwnGroup.PREFIX).rpartition("-")[0]
    return MARK.fullmatch(mark) is not None and mark != host_mark()
