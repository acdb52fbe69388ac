"""One GPU by its CDI name, as far as that can be tried without one: podman with a description of devices made up here.

The made-up GPUs are nodes of the null device under other names. podman reads descriptions from two places of the
machine alone, so each try has one of them mounted over in a mount namespace of its own, and nobody else sees it.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_engines import docker_daemon, reason_not_to_run
from surgvalid.errors import Misuse
from surgvalid.sandbox import Launch, _machine, open_engine

PLACE = Path("/var/run/cdi")
NODES = (Path("/dev/fake-gpu0"), Path("/dev/fake-gpu1"))
"""With users mapped away, runtimes take devices from where they are on the host."""
CHILD = """
import sys
from pathlib import Path
from sandbox_engines import bench
from surgvalid.sandbox import _machine

_machine._GPU_DEVICE = Path("/dev/null")
with bench("podman", Path(sys.argv[1])) as made:
    for gpu in sys.argv[2:]:
        script = 'echo "gpu $FAKE_GPU $NVIDIA_VISIBLE_DEVICES"; /bin/busybox ls /dev /driver | /bin/busybox grep fake'
        print("<" + made.output_of(script, gpu=gpu).replace(chr(10), " ") + ">")
"""


def description(folder: Path) -> str:
    """Two GPUs of one kind with a file of a driver each, as the vendor's tool would describe them, and both at once."""
    (folder / "fake-driver").write_text("driver")

    def edits(*numbers: int) -> dict[str, object]:
        nodes = [{"path": f"/dev/fake-gpu{n}", "type": "c", "major": 1, "minor": 3} for n in numbers]
        return {"env": [f"FAKE_GPU={numbers}"], "deviceNodes": nodes}

    devices = [{"name": name, "containerEdits": edits(*numbers)} for name, numbers in
               {"0": (0,), "1": (1,), "all": (0, 1)}.items()]  # fmt: skip
    driver = {"hostPath": str(folder / "fake-driver"), "containerPath": "/driver/fake-driver",
              "options": ["ro", "nosuid", "nodev", "bind"]}  # fmt: skip
    whole = {
        "cdiVersion": "0.3.0",
        "kind": "nvidia.com/gpu",
        "devices": devices,
        "containerEdits": {"mounts": [driver]},
    }
    return json.dumps(whole, indent=2)


@pytest.fixture
def described(tmp_path: Path) -> Iterator[Path]:
    """A folder with the description, and a place of the machine to mount it over."""
    if reason := reason_not_to_run("podman"):
        pytest.skip(reason)
    if not shutil.which("unshare"):
        pytest.skip("there is no unshare to make a mount namespace with")
    folder, made = tmp_path / "cdi", not PLACE.exists()
    folder.mkdir()
    tmp_path.chmod(0o755)
    (folder / "nvidia-test.json").write_text(description(tmp_path))
    PLACE.mkdir(exist_ok=True)
    for node in NODES:
        os.mknod(node, 0o666 | stat.S_IFCHR, os.stat("/dev/null").st_rdev)
    yield folder
    for node in NODES:
        node.unlink()
    if made:
        PLACE.rmdir()


def test_29_exactly_the_one_gpu_that_is_named_is_given_and_its_driver_is_there(described: Path, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    inner = [sys.executable, "-c", CHILD, str(tmp_path / "home"), "0", "1"]
    script = f'mount --bind "{described}" {PLACE} && exec "$@"'
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    words = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", *inner]
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.split("\n")[:2] == [
        "<gpu (0,) void fake-gpu0 fake-driver >",
        "<gpu (1,) void fake-gpu1 fake-driver >",
    ]


def test_29_a_daemon_that_knows_no_names_is_refused_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if reason := reason_not_to_run("docker"):
        pytest.skip(reason)
    (tmp_path / "nvidia-test.json").write_text(description(tmp_path))
    monkeypatch.setattr(_machine, "_GPU_DEVICE", Path("/dev/null"))
    monkeypatch.setattr(_machine, "_CDI", (tmp_path,))
    with docker_daemon(tmp_path / "daemon"):
        version = subprocess.check_output(["docker", "version", "--format", "{{.Server.Version}}"], text=True)
        if int(version.partition(".")[0]) >= 25:
            pytest.skip(f"docker {version.strip()} knows devices by name")
        with pytest.raises(Misuse, match="gives no device by its CDI name; use podman"):
            open_engine("docker").check(Launch(image="0" * 64, gpu="0"))
