"""What every kind of `surgeval evaluate` shares: its options, running, and telling the result."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from surgeval.cli import _options as o
from surgeval.cli._console import new_folder, progress_bar, talk
from surgeval.cli._deliver import deliver
from surgeval.cli._table_verbs import with_options
from surgeval.cli._tables import names_in, read_columns, read_deviations
from surgeval.errors import Misuse

MetricsOption = Annotated[
    list[str] | None, typer.Option("--metric", help="A metric of 'surgeval list metrics'; may be repeated.")
]

ShardOption = Annotated[
    str,
    typer.Option("--shard", metavar="I/N", help="Only the videos of part I of N, for surgeval combine."),
]

ShareOption = Annotated[
    Path | None,
    typer.Option("--share", metavar="FILE", help="Write sums per video (.parquet) that may leave, for combine."),
]
SiteOption = Annotated[str, typer.Option("--site", help="With --share: what this hospital is called there.")]
MinimumOption = Annotated[
    int, typer.Option("--minimum-cases", help="With --share: videos with fewer cases are left out.")
]
ExecutorOption = Annotated[
    str, typer.Option("--executor", help="local, or ray: the workers of a Ray cluster read files or have models open.")
]

SHARED: dict[str, tuple[Any, Any]] = {
    "metric": (MetricsOption, None),
    "model": (o.Model, None),
    "boot": (o.Boot, 1000),
    "level": (o.Level, 0.95),
    "method": (o.Method, "auto"),
    "seed": (o.Seed, 42),
    "shard": (ShardOption, ""),
    "share": (ShareOption, None),
    "site": (SiteOption, ""),
    "minimum_cases": (MinimumOption, 10),
    "executor": (ExecutorOption, "local"),
    "preregistration": (o.Preregistration, None),
    "deviation": (o.Deviation, None),
    "json": (o.Json, False),
    "out": (o.Out, None),
    "force": (o.Force, False),
}
"""The options of every kind: type and default."""


DataSetOption = Annotated[
    str, typer.Option("--data-set", help="A name of 'surgeval list datasets'; --references is then its folder.")
]
TaskOption = Annotated[str, typer.Option("--task", help="Which of its tasks, where several are of this kind.")]
SplitOption = Annotated[
    str, typer.Option("--split", metavar="[SCHEME:]PART", help="Which of its videos: a part such as test.")
]
VideosOption = Annotated[str, typer.Option("--videos", metavar="A,B,...", help="Which of its videos, by name.")]

FROM_DATA_SET: dict[str, tuple[Any, Any]] = {
    "data_set": (DataSetOption, ""),
    "task": (TaskOption, ""),
    "split": (SplitOption, ""),
    "videos": (VideosOption, ""),
}
"""The options of kinds whose references may lie in the folder of a data set."""

Options = Mapping[str, tuple[Any, Any]]
_LISTS = ("by", "classes", "prediction_labels", "videos")


def command(kind: Callable[..., None], more: Options) -> Callable[..., None]:
    """A command with the options in the signature of a kind, then `more`, then those of every kind."""
    types = get_type_hints(kind, include_extras=True)
    its = {name: (types[name], one.default) for name, one in inspect.signature(kind).parameters.items()}

    def run(**given: Any) -> None:
        shared = {name: given.pop(name) for name in SHARED}
        _run(kind.__name__, given.pop("predictions"), given.pop("references"), _options(given), **shared)

    return with_options(run, {**its, **more, **SHARED}, kind.__name__, kind.__doc__)


def _options(given: dict[str, Any]) -> dict[str, Any]:
    """The options of a kind as `evaluate` takes them: lists as lists, names of columns as one mapping."""
    listed = {name: names_in(given[name]) for name in _LISTS if given.get(name)}
    options = {name: value for name, value in given.items() if name not in _LISTS} | listed
    if "columns" in options and "video_pattern" in options:  # images name their video, not rows
        options["columns"] = read_columns(options["columns"])
    elif "columns" in options:
        options["columns"] = _columns(options["columns"], options.pop("video_column"))
    return options


def _columns(text: str, video_column: str) -> dict[str, str]:
    mapping = read_columns(text)
    if video_column != "video":
        if "video" in mapping:
            raise Misuse("--video-column and --columns both name the video; give one of them")
        mapping["video"] = video_column
    return mapping


def _run(
    kind: str,
    predictions: Path | None,
    references: Path | None,
    options: dict[str, Any],
    *,
    metric: list[str] | None,
    model: str | None,
    boot: int,
    level: float,
    method: str,
    seed: int,
    shard: str,
    share: Path | None,
    site: str,
    minimum_cases: int,
    executor: str,
    preregistration: Path | None,
    deviation: list[str] | None,
    json: bool,
    out: Path | None,
    force: bool,
) -> None:
    from surgeval.scoring.evaluate.run import evaluate

    new_folder(out, force=force)
    if share is None and site:
        raise Misuse("--site names what --share writes; give --share FILE")
    if share is not None:
        from surgeval.scoring.evaluate.sharing import check_share

        check_share(share, site=site, minimum_cases=minimum_cases, force=force)
    chosen: dict[str, Any] = {
        "metrics": metric or [], "model": model, "replicates": boot, "level": level, "method": method, "seed": seed,
        "shard": shard or None, "share": share is not None, "executor": executor, "preregistration": preregistration,
        "deviations": read_deviations(deviation),
    }  # fmt: skip
    with progress_bar(f"evaluating {kind}") as step:
        result = evaluate(kind, predictions, references, progress=step, **chosen, **options)
    deliver(result, out=out, as_json=json, force=force)
    if share is not None:
        from surgeval.report.sharing import share as give

        written = give(result, share, site=site, minimum_cases=minimum_cases, force=force)
        talk(f"to share: {written}; what leaves: {written.with_suffix('.html')}; the key beside it stays here")
