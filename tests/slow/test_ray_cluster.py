"""Evaluation on a real Ray cluster of this machine gives what one process gives."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs
import pytest
from polars.testing import assert_frame_equal

import surgvalid
from repository import REPOSITORY
from shard_inputs import INPUTS
from shard_inputs import VIDEOS as SHARDED
from surgvalid.errors import ExtraNeeded, InputInvalid, Misuse, UnknownName
from surgvalid.evaluation.result import EvaluationResult
from surgvalid.evaluation.run import KINDS
from surgvalid.schema.shard import Shard

HAS_RAY = importlib.util.find_spec("ray") is not None
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
needs_ray = pytest.mark.skipif(not HAS_RAY, reason="ray is not installed (make test-cluster has it)")
VIDEOS = [f"video {number}" for number in range(9)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """A cluster of four workers in processes of their own."""
    import ray

    paths = os.pathsep.join(str(REPOSITORY / part) for part in ("src", ".", "tests/support"))
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


def assert_equal(one: EvaluationResult, other: EvaluationResult) -> None:
    """Every table but that of the checks, which look at samples of what each shard holds; scores and conventions."""
    assert set(one.tables) - {"sanity"} == set(other.tables) - {"sanity"}
    for name in set(one.tables) - {"sanity"}:
        assert_frame_equal(one.tables[name], other.tables[name], abs_tol=1e-12, rel_tol=0)
    tables = (side.scores.frame.sort("metric", "case") for side in (one, other))
    assert_frame_equal(*tables, abs_tol=1e-12, rel_tol=0)
    assert one.conventions == other.conventions


@needs_ray
@pytest.mark.parametrize("build", INPUTS, ids=lambda build: build.__name__)
def test_every_kind_is_equal_on_four_workers_in_shards_and_whole(build: Any, cluster: None, tmp_path: Path) -> None:
    kind, predictions, references, options = build(tmp_path / "input")
    sides = kind, predictions, references
    whole = surgvalid.evaluate(*sides, replicates=20, **options)
    spread = surgvalid.evaluate(*sides, replicates=20, executor="ray", **options)
    assert "Ray cluster" in spread.prose
    assert spread.request.options == whole.request.options
    assert_equal(spread, whole)
    parts = [str(Shard(number, 3)) for number in (1, 2, 3)]
    held = [part for part in parts if any(Shard.read(part).holds(video) for video in SHARDED)]
    made = [surgvalid.evaluate(*sides, replicates=20, shard=part, **options) for part in held]
    assert_equal(surgvalid.combine([one.to_dir(tmp_path / f"{at}") for at, one in enumerate(made)]), spread)


@needs_ray
def test_every_kind_that_is_cut_into_shards_is_among_these(tmp_path: Path) -> None:
    assert {build(tmp_path / build.__name__)[0] for build in INPUTS} == set(KINDS) - {"cvs"}


@needs_ray
def test_what_is_wrong_with_the_input_is_told_as_ever(cluster: None, tmp_path: Path) -> None:
    rows().drop("reference").write_csv(tmp_path / "rows.csv")
    with pytest.raises(InputInvalid, match="no column 'reference'"):
        surgvalid.evaluate("classification", tmp_path / "rows.csv", executor="ray")


@needs_ray
def test_misread_predictions_are_refused_as_ever(cluster: None) -> None:
    crossed = rows().drop(cs.starts_with("score:"))
    crossed = crossed.with_columns(prediction=pl.col("reference").replace({"a": "b", "b": "a"}))
    for executor in ("local", "ray"):
        with pytest.raises(InputInvalid, match="Classes are crossed"):
            surgvalid.evaluate("classification", crossed, executor=executor)
    meant = surgvalid.evaluate("classification", crossed, executor="ray", as_read=True)
    assert meant.value("accuracy") < 0.5


@pytest.mark.skipif(HAS_RAY, reason="ray is installed")
def test_without_ray_the_extra_is_named() -> None:
    with pytest.raises(ExtraNeeded, match=r"executor 'ray' needs ray; install surgvalid\[cluster\]"):
        surgvalid.evaluate("classification", rows(), executor="ray")


def test_an_unknown_executor_and_shards_of_shards_are_refused() -> None:
    with pytest.raises(UnknownName, match="unknown executor 'dask'"):
        surgvalid.evaluate("classification", rows(), executor="dask")
    with pytest.raises(Misuse, match="makes shards of its own"):
        surgvalid.evaluate("classification", rows(), executor="ray", shard="1/2")
