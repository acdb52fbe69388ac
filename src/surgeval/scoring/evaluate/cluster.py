"""Evaluation by the workers of a Ray cluster: each reads one shard, and all are put together and measured here.

A cluster that runs already is used (`RAY_ADDRESS`, as Ray reads it); otherwise one is started on this machine and ended
again. Workers must see the files under the same paths and have surgeval installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from surgeval.asking.cluster import ray_cluster
from surgeval.errors import EmptyShard, InputInvalid, Misuse, SurgevalError
from surgeval.schema.shard import Shard
from surgeval.scoring.evaluate.combine import combined
from surgeval.scoring.evaluate.measure import Step
from surgeval.scoring.evaluate.result import EvaluationResult
from surgeval.scoring.evaluate.run import built_of
from surgeval.scoring.evaluate.shards import ShardFile


def on_cluster(
    kind: str, predictions: Any, references: Any, options: Mapping[str, Any], step: Step
) -> EvaluationResult:
    """The evaluation of all videos, read by as many workers as the cluster has processors.

    Raises:
        InputInvalid: With every problem of the first shard that has some.
    """
    sides = tuple(Path(side).absolute() if isinstance(side, str | Path) else side for side in (predictions, references))
    with ray_cluster() as ray:
        parts = max(1, int(ray.cluster_resources().get("CPU", 1)))
        work = ray.remote(num_cpus=1)(read_shard_of)
        numbers = [str(Shard(number, parts)) for number in range(1, parts + 1)]
        pending = [work.remote(kind, *sides, number, dict(options)) for number in numbers]
        made = [ray.get(one) for one in pending]
    for one in made:
        if isinstance(one, Refused):
            raise InputInvalid(one.where, list(one.problems)) if one.problems else Misuse(one.text)
    shards = [one for one in made if isinstance(one, ShardFile)]
    if not shards:
        raise Misuse("there are no videos to evaluate")
    result = combined(shards, step)
    return replace(result, prose=f"{result.prose} They were read by the workers of a Ray cluster.")


class Refused(NamedTuple):
    """What is wrong with the input, as it can travel between processes."""

    text: str
    where: str = ""
    problems: tuple[str, ...] = ()


def read_shard_of(
    kind: str, predictions: Any, references: Any, shard: str, options: Mapping[str, Any]
) -> ShardFile | Refused | None:
    """One shard as its folder would hold it; None without videos, and what is wrong with its input where that is so."""
    try:
        built = built_of(kind, predictions, references, shard=shard, **options)
    except EmptyShard:
        return None
    except InputInvalid as error:
        return Refused(str(error), error.where, tuple(error.problems))
    except SurgevalError as error:
        return Refused(str(error))
    if built.material.gathered is None:
        return Refused(f"{kind} is not cut into shards; leave --executor out")
    return ShardFile(f"shard {shard}", built.head, built.material.gathered)
