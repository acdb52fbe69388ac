"""Packs under podman with the mounts of the platforms (`make test-bridges`)."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sysconfig
import uuid
from functools import partial
from pathlib import Path

import pytest

import surgvalid
from surgvalid.bridges import codabench, grand_challenge
from surgvalid.errors import EngineFailed
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
    """A pack with `python3` of this machine, as the image that its own Containerfile makes."""
    tmp_path.chmod(0o755)
    engine = [*grand_challenge._ENGINE, "--env", "PYTHONPATH=/src:/packages"]
    monkeypatch.setattr(grand_challenge, "_ENGINE", engine)
    _, mounts = root(tmp_path / "root")
    made, given, out = pack(tmp_path / "pack", per_case=True), mounted(tmp_path / "in"), tmp_path / "out"
    out.mkdir()
    out.chmod(0o777)
    (tmp_path / "Containerfile").write_text("FROM scratch\nCOPY root /\n")
    base, image = (f"localhost/surgvalid-test-{uuid.uuid4().hex[:12]}-{name}" for name in ("base", "pack"))
    build = ["podman", "build", "--quiet", "--layers=false"]
    subprocess.run([*build, "--tag", base, tmp_path], check=True)
    subprocess.run([*build, "--build-arg", f"BASE={base}", "--tag", image, made], check=True)
    yield partial(grand_challenge.rehearse, made, given, out, image=image), mounts, given, made
    subprocess.run(["podman", "rmi", "--force", image, base], check=True)


@pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="no Python of the system to put into a root folder")
def test_a_pack_answers_as_the_platform_asks(rehearsed) -> None:  # type: ignore[no-untyped-def]
    run, mounts, given, made = rehearsed
    seen = run(mounts=mounts)
    assert (seen.health, seen.invoke) == (200, 201), seen.stderr
    assert seen.metrics["videos"] == 12
    assert 0 < seen.metrics["half_width"] < 1
    settings = json.loads((made / "phase_settings.json").read_text())
    assert settings["display_all_metrics"] is False, "as evaluate.toml is now, not as it was written first"
    (column,) = settings["extra_results_columns"]
    for path in (settings["score_jsonpath"], settings["score_error_jsonpath"], column["path"]):
        value = seen.metrics
        for key in path.split("."):
            value = value[key]
        assert math.isfinite(value)
    broken_jobs(given, "missing")
    refused = run(mounts=mounts)
    assert (refused.invoke, refused.metrics) == (500, {})
    assert refused.stderr.strip().splitlines()[-1] == "1 of 36 cases have no output, and 0 outputs are of no case"


def test_a_container_that_does_not_start_is_told_at_once(rehearsed) -> None:  # type: ignore[no-untyped-def]
    run, mounts, _, _ = rehearsed
    with pytest.raises(EngineFailed, match="python3"):
        run()
    with pytest.raises(EngineFailed, match=r"the container ended: .*No module named"):
        run(mounts=mounts[:1])


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
