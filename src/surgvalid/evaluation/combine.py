"""One evaluation from its shards, whoever read them: the result that all videos read at once would have given.

Evaluation by the workers of a Ray cluster: each reads one shard, and all are put together and measured here.

A cluster that runs already is used (`RAY_ADDRESS`, as Ray reads it); otherwise one is started on this machine and ended
again. Workers must see the files under the same paths and have surgvalid installed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from surgvalid.asking.cluster import ray_cluster
from surgvalid.errors import EmptyShard, FileUnreadable, InputInvalid, Misuse, SurgvalidError
from surgvalid.evaluation.data_sets import PreparedReferences
from surgvalid.evaluation.measure import EvaluationMaterial, MeasureSettings, Step
from surgvalid.evaluation.result import EvaluationResult
from surgvalid.evaluation.run import KINDS, built_of, refuse_misread, result_of
from surgvalid.evaluation.shards import HEAD, ShardFile, agreed, read_shard
from surgvalid.evaluation.sites import SitesResult, combined_sites
from surgvalid.results.request import VerbRequest, requested
from surgvalid.schema.findings import Finding
from surgvalid.schema.shard import Shard


@requested("combine", files=("folders",))
def combine(folders: Sequence[str | Path], *, progress: Step | None = None) -> EvaluationResult | SitesResult:
    """The evaluation of all videos, from folders that `evaluate --shard` wrote or files that sites shared.

    Every value, interval and table is that of one run over all videos: shards hold what metrics are made from, and
    the metrics are measured here, once. Shards of one run must be there all; folders of several sites, each evaluated
    with `--shard 1/1`, may hold any videos, none of them twice.

    Args:
        folders: Of the shards, in any order; or `.parquet` files that `evaluate --share` wrote at several sites, of one
            model or more, which give pooled values, intervals and comparisons without any case.
        progress: Called with the number of further metrics that are done.

    Raises:
        FileUnreadable: A folder holds no shard, or a file nothing that was shared.
        InputInvalid: Shards of different runs, videos that are there twice or in no shard, all named; or misread
            predictions, unless every shard was evaluated `as_read`.
    """
    listed = [folders] if isinstance(folders, str | Path) else list(folders)
    if not listed:
        raise Misuse("name the folders of the shards, or the files that sites shared")
    shared = [path for path in listed if Path(path).suffix.lower() == ".parquet"]
    if shared and len(shared) < len(listed):
        raise Misuse("name folders of shards or files that sites shared, not both")
    if shared:
        return combined_sites(shared)
    if strangers := [str(path) for path in listed if Path(path).is_file()]:
        raise Misuse(
            f"{', '.join(strangers)}: no folder of a shard and no .parquet file that a site shared; score tables of "
            "several hospitals are read together by surgvalid study, compare and rank, which take several files"
        )
    result = combined([read_shard(folder) for folder in listed], progress or (lambda _: None))
    files = [file for folder in listed for file in sorted(Path(folder).glob(f"{Path(HEAD).stem}*")) if file.is_file()]
    return replace(result, request=VerbRequest(inputs={"folders": files}))


def combined(given: Sequence[ShardFile], step: Step) -> EvaluationResult:
    """The evaluation of all videos of some shards.

    Raises:
        InputInvalid: As for `combine`.
    """
    shards = sorted(given, key=lambda one: (one.shard.number, one.place))
    head = agreed(shards)
    kind = str(head["kind"])
    if kind not in KINDS:
        raise FileUnreadable(shards[0].place, [f"a shard of {kind!r}, which this version does not evaluate"])
    rejoined = import_module(f"surgvalid.evaluation.{kind}").rejoined
    material: EvaluationMaterial = rejoined([one.gathered for one in shards], head["metrics"], head["by"])
    if not head["as_read"]:
        refuse_misread(material.looked)
    settings = MeasureSettings(**head["settings"], clusters=head["clusters"] or material.patients)
    return result_of(kind, str(head["model"]), material, settings, _prepared(head, len(shards)), head["metrics"], step)


def _prepared(head: Mapping[str, Any], shards: int) -> PreparedReferences:
    notes = [Finding.of_dict(one) if isinstance(one, Mapping) else str(one) for one in head["notes"]]
    prose = f"{head['prose']} It was put together from {shards} shards."
    lacking = head["lacking"]
    files = None if lacking is None else ()  # as for references of a data set, whose files the shards have read
    return PreparedReferences(
        None, {}, head["conventions"], files, prose, tuple(notes), head["clusters"], lacking=tuple(lacking or ())
    )


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
        if isinstance(one, ShardRefused):
            raise InputInvalid(one.where, list(one.problems)) if one.problems else Misuse(one.text)
    shards = [one for one in made if isinstance(one, ShardFile)]
    if not shards:
        raise Misuse("there are no videos to evaluate")
    result = combined(shards, step)
    return replace(result, prose=f"{result.prose} They were read by the workers of a Ray cluster.")


class ShardRefused(NamedTuple):
    """What is wrong with the input, as it can travel between processes."""

    text: str
    where: str = ""
    problems: tuple[str, ...] = ()


def read_shard_of(
    kind: str, predictions: Any, references: Any, shard: str, options: Mapping[str, Any]
) -> ShardFile | ShardRefused | None:
    """One shard as its folder would hold it; None without videos, and what is wrong with its input where that is so."""
    try:
        built = built_of(kind, predictions, references, shard=shard, **options)
    except EmptyShard:
        return None
    except InputInvalid as error:
        return ShardRefused(str(error), error.where, tuple(error.problems))
    except SurgvalidError as error:
        return ShardRefused(str(error))
    if built.material.gathered is None:
        return ShardRefused(f"{kind} is not cut into shards; leave --executor out")
    return ShardFile(f"shard {shard}", built.head, built.material.gathered)
