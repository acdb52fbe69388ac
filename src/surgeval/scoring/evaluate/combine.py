"""One evaluation from its shards: the result that all videos read at once would have given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from surgeval.errors import FileUnreadable, Misuse
from surgeval.results.request import Request, requested
from surgeval.schema.findings import Finding
from surgeval.scoring.evaluate.data_sets import Prepared
from surgeval.scoring.evaluate.measure import Material, Settings, Step
from surgeval.scoring.evaluate.result import EvaluationResult
from surgeval.scoring.evaluate.run import KINDS, result_of
from surgeval.scoring.evaluate.shards import HEAD, ShardFile, agreed, read_shard
from surgeval.scoring.evaluate.sites import SitesResult, combined_sites


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
        InputInvalid: Shards of different runs, videos that are there twice or in no shard; all are named.
    """
    listed = [folders] if isinstance(folders, str | Path) else list(folders)
    if not listed:
        raise Misuse("name the folders of the shards, or the files that sites shared")
    shared = [path for path in listed if Path(path).suffix.lower() == ".parquet"]
    if shared and len(shared) < len(listed):
        raise Misuse("name folders of shards or files that sites shared, not both")
    if shared:
        return combined_sites(shared)
    result = combined([read_shard(folder) for folder in listed], progress or (lambda _: None))
    files = [file for folder in listed for file in sorted(Path(folder).glob(f"{Path(HEAD).stem}*")) if file.is_file()]
    return replace(result, request=Request(inputs={"folders": files}))


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
    rejoined = import_module(f"surgeval.scoring.evaluate.{kind}").rejoined
    material: Material = rejoined([one.gathered for one in shards], metrics=head["metrics"], by=head["by"])
    settings = Settings(**head["settings"], clusters=head["clusters"])
    return result_of(kind, str(head["model"]), material, settings, _prepared(head, len(shards)), head["metrics"], step)


def _prepared(head: Mapping[str, Any], shards: int) -> Prepared:
    notes = [Finding.of_dict(one) if isinstance(one, Mapping) else str(one) for one in head["notes"]]
    prose = f"{head['prose']} It was put together from {shards} shards."
    lacking = head["lacking"]
    files = None if lacking is None else ()  # as for references of a data set, whose files the shards have read
    return Prepared(
        None, {}, head["conventions"], files, prose, tuple(notes), head["clusters"], lacking=tuple(lacking or ())
    )
