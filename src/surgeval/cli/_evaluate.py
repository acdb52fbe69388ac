"""What every kind of `surgeval evaluate` shares: its options, running, and telling the result."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_type_hints

import typer

from surgeval.cli._console import emit, emit_json, emit_table, new_folder, progress_bar, talk
from surgeval.cli._tables import BootOption, ForceOption, JsonOption, LevelOption, SeedOption

OutOption = Annotated[Path | None, typer.Option("--out", help="Folder for the tables, conventions and manifest.")]
ModelOption = Annotated[str, typer.Option("--model", help="What the model is called in the score table.")]
MetricsOption = Annotated[
    list[str] | None, typer.Option("--metric", help="A metric of 'surgeval list metrics'; may be repeated.")
]

SHARED: dict[str, tuple[Any, Any]] = {
    "metric": (MetricsOption, None),
    "model": (ModelOption, "model"),
    "boot": (BootOption, 1000),
    "level": (LevelOption, 0.95),
    "seed": (SeedOption, 42),
    "json": (JsonOption, False),
    "out": (OutOption, None),
    "force": (ForceOption, False),
}
"""The options of every kind: type and default."""


class Given(NamedTuple):
    """What one kind makes of its own options."""

    predictions: Path | None
    references: Path | None
    options: dict[str, Any]


def command(kind: Callable[..., Given]) -> Callable[..., None]:
    """A command with the options of a kind followed by those of every kind."""
    own = inspect.signature(kind)
    types = get_type_hints(kind, include_extras=True)
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [p.replace(annotation=types[name], kind=keyword) for name, p in own.parameters.items()]
    parameters += [inspect.Parameter(n, keyword, default=d, annotation=t) for n, (t, d) in SHARED.items()]

    @wraps(kind)
    def run(**given: Any) -> None:
        shared = {name: given.pop(name) for name in SHARED}
        _run(kind.__name__, kind(**given), **shared)

    del run.__dict__["__wrapped__"]  # Typer would look at the kind's own signature
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters} | {"return": None}
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def _run(
    kind: str,
    given: Given,
    *,
    metric: list[str] | None,
    model: str,
    boot: int,
    level: float,
    seed: int,
    json: bool,
    out: Path | None,
    force: bool,
) -> None:
    from surgeval.scoring.evaluate.result import FILES
    from surgeval.scoring.evaluate.run import evaluate

    if out is not None:
        new_folder(out, force=force, files=FILES)
    chosen: dict[str, Any] = {"metrics": metric or [], "model": model, "replicates": boot, "level": level, "seed": seed}
    with progress_bar(f"evaluating {kind}") as step:
        result = evaluate(kind, given.predictions, given.references, progress=step, **chosen, **given.options)
    if out is not None:
        result.to_dir(out)
        talk(f"wrote {', '.join(sorted(path.name for path in out.iterdir()))} to {out}")
    if json:
        emit_json(result.as_dict())
        return
    emit_table(result.shown)
    for name in result.boards:
        emit("")
        emit_table(result.extra_tables[name].drop("conventions"), title=name, digits=1)
    emit("")
    emit(result.prose)
    for note in result.notes:
        talk(f"note: {note}")
