"""Evaluation on a real Ray cluster of this machine gives what one process gives."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import surgvalid
from repository import REPOSITORY
from surgvalid.errors import ExtraNeeded, InputInvalid, Misuse, UnknownName

HAS_RAY = importlib.util.find_spec("ray") is not None
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
needs_ray = pytest.mark.skipif(not HAS_RAY, reason="ray is not installed (make test-cluster has it)")
VIDEOS = [f"video {number}" for number in range(9)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """A cluster of four workers in processes of their own."""
    import ray

    paths = os.pathsep.join(str(REPOSITORY / part) for part in ("src", "."))
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": paths}})
    yield
    ray.shutdown()


def rows() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 900)
    scores = rng.dirichlet([1, 1, 1], 900) + 0.4 * np.eye(3)[truth]
    table = {
        "video": np.repeat(VIDEOS, 100),
        "frame": np.tile(np.arange(100), 9),
        "reference": np.array(list("abc"))[truth],
    }
    return pl.DataFrame({**table, **{f"score:{name}": scores[:, place] for place, name in enumerate("abc")}})


@needs_ray
def test_labels_and_scores_are_equal_on_four_workers(cluster: None, tmp_path: Path) -> None:
    rows().write_csv(tmp_path / "rows.csv")
    whole, spread = (
        surgvalid.evaluate("classification", tmp_path / "rows.csv", replicates=20, executor=executor)
        for executor in ("local", "ray")
    )
    assert "Ray cluster" in spread.prose
    for name in ("metrics", "per_video", "per_class"):
        assert_frame_equal(spread.tables[name], whole.tables[name], abs_tol=1e-12, rel_tol=0)
    assert spread.request.options == whole.request.options


@needs_ray
def test_masks_are_equal_on_four_workers(cluster: None, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    for side in ("ours", "theirs"):
        for video in VIDEOS:
            (tmp_path / side / video).mkdir(parents=True)
            for number in range(3):
                np.save(tmp_path / side / video / f"{number}.npy", rng.integers(0, 3, (20, 30)).astype(np.uint8))
    sides = tmp_path / "theirs", tmp_path / "ours"
    options = {"metrics": ["miou_pooled", "nsd_classes"], "tolerance_px": 1}
    whole, spread = (
        surgvalid.evaluate("segmentation", *sides, executor=executor, **options) for executor in ("local", "ray")
    )
    assert_frame_equal(spread.metrics, whole.metrics, abs_tol=1e-12, rel_tol=0)


@needs_ray
def test_what_is_wrong_with_the_input_is_told_as_ever(cluster: None, tmp_path: Path) -> None:
    rows().drop("reference").write_csv(tmp_path / "rows.csv")
    with pytest.raises(InputInvalid, match="no column 'reference'"):
        surgvalid.evaluate("classification", tmp_path / "rows.csv", executor="ray")


@pytest.mark.skipif(HAS_RAY, reason="ray is installed")
def test_without_ray_the_extra_is_named() -> None:
    with pytest.raises(ExtraNeeded, match=r"executor 'ray' needs ray; install surgvalid\[cluster\]"):
        surgvalid.evaluate("classification", rows(), executor="ray")


def test_an_unknown_executor_and_shards_of_shards_are_refused() -> None:
    with pytest.raises(UnknownName, match="unknown executor 'dask'"):
        surgvalid.evaluate("classification", rows(), executor="dask")
    with pytest.raises(Misuse, match="makes shards of its own"):
        surgvalid.evaluate("classification", rows(), executor="ray", shard="1/2")
