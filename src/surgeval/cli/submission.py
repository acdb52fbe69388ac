"""`surgeval submission`: make one, hand it in, check it, run it as a phase says, score it, and say where it stands."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from surgeval.cli import _options as o
from surgeval.cli._console import asking_line, emit, emit_json, talk
from surgeval.cli._deliver import check_out, deliver

_ABOUT = "Make a submission, or run one as an organiser: hand-in, check, run, score, status, mark."
Phase = Annotated[Path, typer.Option("--phase", help="Phase file (TOML) with every limit.", show_default=False)]
Run = Annotated[Path, typer.Option("--run", help="Folder of the submission: shards, stages and scores.")]
Description = Annotated[
    Path | None,
    typer.Option("--description", help="Method description: a PDF, text, picture, or a zip archive of some."),
]


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    group = typer.Typer(help=_ABOUT, no_args_is_help=True)
    group.callback()(_submission)
    group.command("new", help="Write a starter pack: Dockerfile, app, requirements, README, example input.")(new)
    group.command("check", help="Look at what a team hands in, without running or storing it.")(check)
    group.command("hand-in", help="Store what a team hands in, whole or not at all, and look at it.")(hand_in)
    group.command("run", help="Ask a submission every question of a phase, or of one shard; never sees references.")(
        run
    )
    group.command("score", help="Score a submission that was run; never runs anything of it.")(score)
    group.command("status", help="Say where a submission stands.")(status)
    group.command("mark", help="Publish, cancel, disqualify or reinstate a submission, with a reason.")(mark)
    group.command("push", help="Hand a submission in to a hosted challenge; goes on after a lost connection.")(push)
    app.add_typer(group, name="submission")


def _submission() -> None:
    """Make a submission, or run one as an organiser: hand-in, check, run, score, status, mark."""


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
    description: Description = None,
    engine: o.Engine = None,
    out: o.Out = None,
    as_json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Look at what a team hands in, without running or storing it."""
    from surgeval.submissions.intake import check_submission

    check_out(out, force=force, inputs=[path for path in (phase, image, description) if path])
    result = check_submission(phase, image=image, weights=weights, description=description, engine=engine)
    deliver(result, out=out, as_json=as_json, force=force)
    if result.is_refused:
        raise typer.Exit(1)


def hand_in(
    phase: Phase,
    folder: Run = Path("submission"),
    image: o.Image = None,
    weights: o.Weights = None,
    description: Description = None,
    team: str | None = typer.Option(
        None, "--team", help="Whose unfinished uploads are counted; the name of --run without one."
    ),
    as_json: o.Json = False,
) -> None:
    """Store what a team hands in, whole or not at all, and look at it."""
    from surgeval.submissions.handing_in import take_submission
    from surgeval.submissions.phase import read_phase

    result = take_submission(
        read_phase(phase), folder, team=team, image=image, weights=weights, description=description
    )
    deliver(result, out=None, as_json=as_json)
    if result.is_refused:
        raise typer.Exit(1)


def push(
    url: o.Url,
    token: o.Token,
    image: o.Image = None,
    to: str = typer.Option(..., "--to", help="The phase, as the challenge calls it.", show_default=False),
    description: Description = None,
    baseline: str = typer.Option("", "--as-baseline", help="Organisers: which baseline it is."),
    as_json: o.Json = False,
) -> None:
    """Hand a submission in to a hosted challenge; goes on after a lost connection."""
    from surgeval.cli._console import progress_bar
    from surgeval.errors import Misuse
    from surgeval.host.client import Host, push_submission

    if image is None:
        raise Misuse("give the archive of your image with --image, as `docker save` writes it")
    size = image.stat().st_size + (description.stat().st_size if description else 0)
    with progress_bar("sending", size) as step:
        made = push_submission(
            Host(url, token), image, phase=to, description=description, baseline=baseline, progress=step
        )
    if as_json:
        emit_json(made)
    else:
        emit(f"submission {made['submission']} is {made['stage']}")


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
    from surgeval.submissions.results import run_facts

    with asking_line("asking") as step:
        place = run_submission(
            read_phase(phase), questions, out=folder, image=image, command=shlex.split(command or ""), code=code,
            weights=weights, engine=engine, runtime=runtime, gpu=gpu, shard=Shard.read(shard),
            compliance=compliance, progress=step,
        )  # fmt: skip
    if step.reused == step.total and (answers_of := run_facts(place).answers_of) is not None:
        talk(f"nothing was run: answers of {answers_of}; another --run asks again")
    if compliance:
        record = compliance_of(place)
        emit_json(asdict(record) | {"verdict": record.verdict})
        return
    _show_status(phase, folder, as_json=as_json)


def score(
    phase: Phase,
    requests: o.Requests,
    references: o.References,
    folder: Run = Path("submission"),
    model: o.Model = None,
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
    deliver(scored, out=None, as_json=as_json)
    talk(f"written to {folder / 'scores'}")


def status(
    phase: Phase,
    folder: Run = Path("submission"),
    out: o.Out = None,
    as_json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Say where a submission stands."""
    check_out(out, force=force, inputs=[phase])
    _show_status(phase, folder, out=out, as_json=as_json, force=force)


def mark(
    stage: str = typer.Argument(..., metavar="STAGE", help="published, cancelled, disqualified or reinstated."),
    reason: str = typer.Option(..., "--reason", help="Why; it stays in the history.", show_default=False),
    folder: Run = Path("submission"),
    as_json: o.Json = False,
) -> None:
    """Publish, cancel, disqualify or reinstate a submission, with a reason."""
    from surgeval.submissions.decisions import mark_submission

    after: dict[str, Any] = mark_submission(folder, stage, reason=reason)
    if as_json:
        emit_json(after)
    else:
        emit(f"stage   {after['stage']}")


def _show_status(
    phase: Path, folder: Path, *, out: Path | None = None, as_json: bool = False, force: bool = False
) -> None:
    from surgeval.submissions.phase import read_phase
    from surgeval.submissions.phase_status import submission_status

    deliver(submission_status(folder, read_phase(phase)), out=out, as_json=as_json, force=force)
