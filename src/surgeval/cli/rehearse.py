"""`surgeval rehearse`: run a container or command as the organisers would, and hear everything about it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import typer

from surgeval.cli import _options as o
from surgeval.cli._console import asking_line, emit, emit_json, talk
from surgeval.errors import Misuse, UnknownName

_MEMORY_MB = 8192


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("rehearse", help="Run a container or command on your own questions as the organisers would.")(rehearse)


def rehearse(
    image: o.Image = None,
    command: o.Command = None,
    code: o.Code = None,
    weights: o.Weights = None,
    phase: Path | None = typer.Option(
        None, "--phase", help="Phase file of the organisers: its limits, budget and rules instead of the options here."
    ),
    input_folder: Path = typer.Option(
        ..., "--input", help="Folder with request.json, media (folders or archives) and, for scores, references."
    ),
    out: Path = typer.Option(Path("rehearsal"), "--out", help="Folder for answers, events and scores."),
    protocol: str | None = typer.Option(
        None,
        "--protocol",
        help="server (default), server-tcp, batch (default with --layout or --budget pooled), gc-invoke.",
    ),
    layout: str | None = typer.Option(None, "--layout", help="Of a batch: folder, zip or nested-zip."),
    budget: str = typer.Option("per-question", "--budget", help="per-question, or pooled over a batch."),
    track: str | None = typer.Option(None, "--track", help="frame, segment or procedure; decides the budget."),
    budget_s: float | None = typer.Option(None, "--seconds", help="Seconds per question instead of the track's."),
    state: str = typer.Option(
        "per_video", "--state", help="What may be remembered: per_question, per_video (a new container each) or free."
    ),
    clock: bool = typer.Option(False, "--clock", help="Show videos with a burned-in clock where there are both."),
    engine: o.Engine = None,
    runtime: o.Runtime = None,
    gpu: o.Gpu = None,
    memory_mb: int = typer.Option(_MEMORY_MB, "--memory", min=16, help="Memory limit in MB."),
    start_up_s: float = typer.Option(600.0, "--start-up", help="Seconds until the container must report ready."),
    batch_size: int | None = typer.Option(None, "--batch-size", min=1, help="Questions per batch; all without it."),
    judge: list[str] = typer.Option([], "--judge", help="Judges of free text, as in surgeval score."),
    store: o.Store = o.STORE,
    boot: o.Boot = 1000,
    seed: o.Seed = 42,
    as_json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Run a container or command on your own questions as the organisers would."""
    from surgeval.asking.journal import forget_run
    from surgeval.asking.plan import State
    from surgeval.sandbox import Limits
    from surgeval.submissions.phase import read_phase
    from surgeval.submissions.rehearsal import Settings, phase_settings
    from surgeval.submissions.rehearsal import rehearse as run

    if state not in set(State):
        raise UnknownName("state policy", state, set(State))
    if (image is None) == (command is None):
        raise Misuse("give either --image or --command")
    if layout is not None and protocol not in (None, "batch"):
        raise Misuse(f"--layout is about batches; --protocol {protocol} has none")
    batched = layout is not None or budget == "pooled"
    settings = Settings(
        protocol=protocol or ("batch" if batched else "server"), layout=layout or "folder", budget=budget, track=track,
        budget_s=budget_s, state=State(state), seed=seed, start_up_s=start_up_s, batch_size=batch_size, clock=clock,
        replicates=boot, judges=judge, store=store,
    )  # fmt: skip
    limits, image_limits = Limits(memory_mb=memory_mb), None
    if phase is not None:
        local: dict[str, Any] = {"clock": clock, "replicates": boot, "judges": judge, "store": store}
        if settings != Settings(**local) or memory_mb != _MEMORY_MB:
            raise Misuse("limits, budget and protocol come from --phase; leave out the options that set them")
        organised = read_phase(phase)
        settings, limits, image_limits = phase_settings(organised, **local), organised.run, organised.image
    if force:
        forget_run(out)
    with asking_line("asking") as meter:
        rehearsal = run(
            input_folder, out=out, image=image, command=shlex.split(command or ""), code=code, weights=weights,
            engine=engine, gpu=gpu, runtime=runtime, limits=limits, image_limits=image_limits, settings=settings,
            progress=meter,
        )  # fmt: skip
    if as_json:
        emit_json(rehearsal.as_dict())
    else:
        emit(rehearsal.prose)
    talk(f"written to {out}")
    if rehearsal.is_worrying:
        raise typer.Exit(1)
