"""A task on a real Ray cluster of this machine gives what one process gives, also where a worker is killed."""

from __future__ import annotations

import importlib.util
import os
import signal
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from polars.testing import assert_frame_equal

from fake_server import Answer, completion, serving
from repository import REPOSITORY
from surgvalid.errors import ExtraNeeded, Misuse
from surgvalid.models import open_model
from surgvalid.tasks import run_task
from surgvalid.video import write_png

HAS_RAY = importlib.util.find_spec("ray") is not None
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
needs_ray = pytest.mark.skipif(not HAS_RAY, reason="ray is not installed (make test-cluster has it)")
MARK = f"SURGVALID_TEST_CLUSTER={uuid.uuid4().hex}"
CASES = 80


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """Two workers in processes of their own, which can be told from those of anybody else."""
    import ray

    paths = os.pathsep.join(str(REPOSITORY / part) for part in ("src", "."))
    env = {"PYTHONPATH": paths, MARK.partition("=")[0]: MARK.partition("=")[2]}
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": env})
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("clips")
    rows = ["case,video,file,object"]
    for number in range(CASES):
        write_png(np.full((6, 6, 3), number, dtype=np.uint8), home / f"{number}.png")
        rows.append(f"c{number},v{number % 8},{number}.png,{'clip' if number % 3 else 'nothing'}")
    (home / "cases.csv").write_text("\n".join(rows), encoding="utf-8")
    (home / "prompts.toml").write_text("[[prompt]]\nfamily = 'chat'\nversion = 'mended'\ntext = 'clip or nothing?'\n")
    (home / "clip.toml").write_text(
        'title = "Clip"\nsummary = "Whether a clip is there"\nprompts = "prompts.toml"\n[data]\nlayout = "cases"\n'
        '[media]\nkind = "image"\nfiles = ["{file}"]\n[answer]\nform = "choice"\nclasses = ["clip", "nothing"]\n'
        'column = "object"\n[metrics]\nnames = ["accuracy"]\nheadline = "accuracy"\n'
    )
    return home


def words(body: dict[str, Any]) -> str:
    return "clip" if len(str(body)) % 2 else "nothing"


def workers() -> list[int]:
    """Processes of this cluster that have a model open."""
    numbers = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            ours = MARK.encode() in (place / "environ").read_bytes().split(b"\0")
            busy = (place / "cmdline").read_bytes().startswith(b"ray::Worker")
        except OSError:
            continue
        numbers += [int(place.name)] if ours and busy else []
    return numbers


@needs_ray
def test_a_killed_worker_costs_its_batch_and_nothing_else(cluster: None, folder: Path, tmp_path: Path) -> None:
    killed: list[int] = []

    def deadly(number: int, body: dict[str, Any]) -> Answer:
        if number >= 20 and not killed and (pids := workers()):
            killed.append(pids[0])
            os.kill(pids[0], signal.SIGKILL)
        return completion(words(body))._replace(delay_s=0.01)

    with serving(deadly) as server:
        asked: dict[str, Any] = {"model": f"openai:m@{server.url}", "root": folder, "frames": tmp_path / "frames"}
        spread = run_task(folder / "clip.toml", executor="ray", store=tmp_path / "store", **asked)
        assert killed
        assert server.asked <= CASES + 2 * 16, "each worker had one batch"
        whole = run_task(folder / "clip.toml", store=tmp_path / "other", **asked)
        before = server.asked
        run_task(folder / "clip.toml", executor="ray", store=tmp_path / "store", **asked)
        assert server.asked == before, "the store holds all answers"
    assert spread.counts is not None
    assert spread.counts.answered == CASES
    for name in ("metrics", "readings", "per_video"):
        assert_frame_equal(spread.tables[name], whole.tables[name])


@needs_ray
def test_a_model_that_no_worker_can_open_is_said_so(
    cluster: None, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "only here")
    with pytest.raises(Misuse, match="cannot be opened on a worker"):
        run_task(
            folder / "clip.toml", model="anthropic:m", root=folder, frames=tmp_path, executor="ray",
            send_media_to=["api.anthropic.com"],
        )  # fmt: skip


def test_an_open_model_cannot_travel_and_ray_is_named_where_it_is_missing(folder: Path, tmp_path: Path) -> None:
    given: dict[str, Any] = {"root": folder, "frames": tmp_path, "executor": "ray"}
    with pytest.raises(Misuse if HAS_RAY else ExtraNeeded):
        run_task(folder / "clip.toml", model=open_model("prior"), **given)
