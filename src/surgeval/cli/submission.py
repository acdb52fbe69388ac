"""`surgeval submission`: make one, check it, run it as a phase says, score it, and say where it stands."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from surgeval.cli import _options as o
from surgeval.cli._console import asking_line, emit, emit_json, talk

_ABOUT = "Make a submission, or run one as an organiser: check, run, score, status."
Phase = Annotated[Path, typer.Option("--phase", help="Phase file (TOML) with every limit.", show_default=False)]
Run = Annotated[Path, typer.Option("--run", help="Folder of the submission: shards, stages and scores.")]


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    group = typer.Typer(help=_ABOUT, no_args_is_help=True)
    group.callback()(_submission)
    group.command("new", help="Write a starter pack: Dockerfile, app, requirements, README, example input.")(new)
    group.command("check", help="Look at what a team hands in, without running it.")(check)
    group.command("run", help="Ask a submission every question of a phase, or of one shard; never sees references.")(
        run
    )
    group.command("score", help="Score a submission that was run; never runs anything of it.")(score)
    group.command("status", help="Say where a submission stands.")(status)
    app.add_typer(group, name="submission")


def _submission() -> None:
    """Make a submission, or run one as an organiser: check, run, score, status."""


def new(
    folder: Path = typer.Argument(..., metavar="DIR", help="Where to write the pack."),
    kind: str = typer.Option("python", "--kind", help="python (standard library only) or pytorch."),
    force: o.Force = False,
) -> None:
    """Write a starter pack: Dockerfile, app, requirements, README, example input."""
    from surgeval.submissions.starter import new_pack

    for path in new_pack(folder, kind=kind, force=force):
        emit(str(path.relative_to(folder)))


def check(
    phase: Phase,
    image: o.Image = None,
    weights: o.Weights = None,
    description: Path | None = typer.Option(
        None, "--description", help="Method description: a PDF, text, picture, or a zip archive of some."
    ),
    engine: o.Engine = None,
    as_json: o.Json = False,
) -> None:
    """Look at what a team hands in, without running it."""
    from surgeval.schema.findings import Severity
    from surgeval.submissions.phase import read_phase
    from surgeval.submissions.phase_run import check_submission

    findings = check_submission(read_phase(phase), image=image, weights=weights, description=description, engine=engine)
    refused = any(finding.severity is Severity.ERROR for finding in findings)
    stage = "intake_refused" if refused else "intake_ok"
    if as_json:
        emit_json({"stage": stage, "findings": [finding.as_dict() for finding in findings]})
    else:
        emit("\n".join([stage, *map(str, findings)]))
    if refused:
        raise typer.Exit(1)


def run(
    phase: Phase,
    questions: Path = typer.Option(..., "--questions", help="Folder with request.json and media, without references."),
    folder: Run = Path("submission"),
    image: o.Image = None,
    command: o.Command = None,
    code: o.Code = None,
    weights: o.Weights = None,
    engine: o.Engine = None,
    runtime: o.Runtime = None,
    gpu: o.Gpu = None,
    shard: str = typer.Option("1/1", "--shard", metavar="I/N", help="Only the videos of part I of N."),
    compliance: int = typer.Option(
        0, "--compliance", min=0, help="Instead: ask so many questions twice under other names, and compare."
    ),
    as_json: o.Json = False,
) -> None:
    """Ask a submission every question of a phase, or of one shard; never sees references."""
    from surgeval.schema.shard import Shard
    from surgeval.submissions.compliance import compliance_of
    from surgeval.submissions.phase import read_phase
    from surgeval.submissions.phase_run import run_submission

    with asking_line("asking") as step:
        place = run_submission(
            read_phase(phase), questions, out=folder, image=image, command=shlex.split(command or ""), code=code,
            weights=weights, engine=engine, runtime=runtime, gpu=gpu, shard=Shard.read(shard),
            compliance=compliance, progress=step,
        )  # fmt: skip
    if compliance:
        record = compliance_of(place)
        emit_json(asdict(record) | {"verdict": record.verdict})
        return
    _tell(phase, folder, as_json)


def score(
    phase: Phase,
    requests: o.Requests,
    references: o.References,
    folder: Run = Path("submission"),
    model: o.Model = "model",
    judge: list[str] = typer.Option([], "--judge", help="Judges of free text, as in surgeval score."),
    store: o.Store = o.STORE,
    boot: o.Boot = 1000,
    as_json: o.Json = False,
) -> None:
    """Score a submission that was run; never runs anything of it."""
    from surgeval.submissions.phase import read_phase
    from surgeval.submissions.phase_scores import score_submission

    scored = score_submission(
        read_phase(phase), folder, requests=requests, references=references, judges=judge, store=store, model=model,
        replicates=boot,
    )  # fmt: skip
    if as_json:
        emit_json(scored.headline)
    else:
        emit(f"{scored.headline['accuracy']:.4f}")
    talk(f"written to {folder / 'scores'}")


def status(phase: Phase, folder: Run = Path("submission"), as_json: o.Json = False) -> None:
    """Say where a submission stands."""
    _tell(phase, folder, as_json)


def _tell(phase: Path, folder: Path, as_json: bool) -> None:
    from surgeval.submissions.phase import read_phase
    from surgeval.submissions.phase_status import status_of

    status = status_of(folder, read_phase(phase))
    if as_json:
        emit_json(status)
        return
    emit("\n".join([f"stage   {status['stage']}", f"codes   {', '.join(status['codes']) or 'none'}", *_lines(status)]))


def _lines(status: dict[str, Any]) -> list[str]:
    return [
        f"shard   {shard['shard']} {shard['stage']}: "
        + (", ".join(f"{name} {count}" for name, count in shard.get("outcomes", {}).items()) or "nothing yet")
        for shard in status["shards"]
    ]
