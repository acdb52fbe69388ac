"""Packs under podman with the mounts of the platforms (`make test-bridges`)."""

from __future__ import annotations

import json
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

import surgvalid
from surgvalid.bridges import codabench, grand_challenge
from unit.bridges.test_codabench import unpacked
from unit.bridges.test_grand_challenge import broken_jobs, mounted, pack

pytestmark = pytest.mark.skipif(shutil.which("podman") is None, reason="podman is not installed: nothing is rehearsed")


def root(folder: Path) -> tuple[Path, list[str]]:
    """A root folder without an image: this machine's programs and this environment, read only."""
    for name in ("usr", "tmp", "proc", "dev", "sys", "etc", "run", "input", "output", "opt/pack", "src"):
        (folder / name).mkdir(parents=True)
    (folder / "opt/ml/input/data/ground_truth").mkdir(parents=True)
    for name in ("bin", "lib", "lib64"):
        (folder / name).symlink_to(f"usr/{name}")
    (folder / "etc" / "passwd").write_text("nobody:x:65534:65534::/tmp:/bin/false\n")
    packages, source = sysconfig.get_paths()["purelib"], Path(surgvalid.__file__).parents[1]
    (folder / "packages").mkdir()
    return folder, ["/usr:/usr:ro", f"{packages}:/packages:ro", f"{source}:/src:ro"]


@pytest.fixture
def rehearsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    tmp_path.chmod(0o755)
    engine = [*grand_challenge._ENGINE, "--env", "PYTHONPATH=/src:/packages"]
    monkeypatch.setattr(grand_challenge, "_ENGINE", engine)
    place, mounts = root(tmp_path / "root")
    made, given, out = pack(tmp_path / "pack"), mounted(tmp_path / "in"), tmp_path / "out"
    out.mkdir()
    out.chmod(0o777)
    return lambda: grand_challenge.rehearse(made, given, out, root=place, mounts=mounts), given


@pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="no Python of the system to put into a root folder")
def test_a_pack_answers_as_the_platform_asks(rehearsed) -> None:  # type: ignore[no-untyped-def]
    run, given = rehearsed
    seen = run()
    assert (seen.health, seen.invoke) == (200, 201), seen.stderr
    assert seen.metrics["videos"] == 12
    assert 0 < seen.metrics["half_width"] < 1
    assert "difference" in seen.metrics["baselines"]["prior"]
    broken_jobs(given, "missing")
    refused = run()
    assert refused.invoke == 500
    assert refused.stderr.strip().splitlines()[-1] == "1 of 36 cases have no output, and 0 outputs are of no case"


def test_a_bundle_is_scored_with_the_mounts_of_codabench(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    program, given, out = unpacked(tmp_path)
    out.chmod(0o777)
    place, mounts = root(tmp_path / "root")
    (place / "app" / "program").mkdir(parents=True)
    binds = [*mounts, f"{program}:/app/program:ro", f"{given}:/app/input:ro", f"{out}:/app/output"]
    words = [*grand_challenge._ENGINE[1:], "--rm", "--env", "PYTHONPATH=/src:/packages", "--tmpfs", "/tmp"]
    volumes = [word for bind in binds for word in ("--volume", bind)]
    command = codabench._COMMAND.replace("$program", "/app/program").replace("$input", "/app/input")
    asked = command.replace("$output", "/app/output").split()
    for name in ("program", "input", "output"):
        (place / "app" / name).mkdir(exist_ok=True)
    done = subprocess.run(
        ["podman", "run", *words, *volumes, "--rootfs", str(place), *asked], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert list(json.loads((out / "scores.json").read_text())) == list(codabench.COLUMNS)
    assert (out / "detailed_results.html").is_file()
