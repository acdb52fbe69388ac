"""`surgvalid submission` and `host phase`: make one, rehearse it, hand it in, run it as a phase says, score it."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from surgvalid.cli._console import asking_line, check_out, deliver, emit, emit_json, talk
from surgvalid.errors import Misuse, UnknownName


def new(folder: Path, kind: str, force: bool) -> None:
    """Write a starter pack: Dockerfile, app, requirements, README, example input."""
    from surgvalid.submissions.starter import new_pack

    for path in new_pack(folder, kind=kind, force=force):
        emit(str(path.relative_to(folder)))


def check(
    phase: Path,
    image: Path | None,
    weights: Path | None,
    description: Path | None,
    engine: str | None,
    out: Path | None,
    json: bool,
    force: bool,
) -> None:
    """Look at what a team hands in, without running or storing it."""
    check_out(out, force=force, inputs=[path for path in (phase, image, description) if path])
    from surgvalid.submissions.intake import check_submission

    result = check_submission(phase, image=image, weights=weights, description=description, engine=engine)
    deliver(result, out=out, as_json=json, force=force)
    if result.is_refused:
        raise typer.Exit(1)


def hand_in(phase: Path, folder: Path, json: bool, **handed: Any) -> None:
    """Store what a team hands in, whole or not at all, and look at it."""
    from surgvalid.submissions.handing_in import take_submission
    from surgvalid.submissions.phase import read_phase

    result = take_submission(read_phase(phase), folder, **handed)
    deliver(result, out=None, as_json=json)
    if result.is_refused:
        raise typer.Exit(1)


def push(
    url: str,
    token: str,
    image: Path | None,
    to: str,
    description: Path | None,
    baseline: str,
    json: bool,
) -> None:
    """Hand a submission in to a hosted challenge; goes on after a lost connection."""
    from surgvalid.cli._console import progress_bar
    from surgvalid.errors import Misuse
    from surgvalid.host.client import Host, push_submission

    if image is None:
        raise Misuse("give the archive of your image with --container, as `docker save` writes it")
    size = image.stat().st_size + (description.stat().st_size if description else 0)
    with progress_bar("sending", size) as step:
        made = push_submission(
            Host(url, token), image, phase=to, description=description, baseline=baseline, progress=step
        )
    if json:
        emit_json(made)
    else:
        emit(f"submission {made['submission']} is {made['stage']}")


def run(
    phase: Path,
    questions: Path,
    folder: Path,
    command: str | None,
    shard: str | None,
    compliance: int,
    json: bool,
    **asked: Any,
) -> None:
    """Ask a submission every question of a phase, or of one shard; never sees references."""
    from surgvalid.schema.shard import Shard
    from surgvalid.submissions.evidence import compliance_of
    from surgvalid.submissions.phase import read_phase
    from surgvalid.submissions.phase_run import run_submission
    from surgvalid.submissions.results import run_facts

    with asking_line("asking") as step:
        place = run_submission(
            read_phase(phase),
            questions,
            out=folder,
            command=shlex.split(command or ""),
            shard=Shard.read(shard or "1/1"),
            **asked,
            compliance=compliance,
            progress=step,
        )
    if step.reused == step.total and (answers_of := run_facts(place).answers_of) is not None:
        talk(f"nothing was run: answers of {answers_of}; another --run asks again")
    if compliance:
        record = compliance_of(place)
        emit_json(asdict(record) | {"verdict": record.verdict})
        return
    _show_status(phase, folder, as_json=json)


def score(phase: Path, folder: Path, judge: list[str], json: bool, **asked: Any) -> None:
    """Score a submission that was run; never runs anything of it."""
    from surgvalid.submissions.phase import read_phase
    from surgvalid.submissions.phase_scores import score_submission

    scored = score_submission(read_phase(phase), folder, judges=judge, **asked)
    deliver(scored, out=None, as_json=json)
    talk(f"written to {folder / 'scores'}")


def status(phase: Path, folder: Path, out: Path | None, json: bool, force: bool) -> None:
    """Say where a submission stands."""
    check_out(out, force=force, inputs=[phase])
    _show_status(phase, folder, out=out, as_json=json, force=force)


def mark(stage: str, reason: str, folder: Path, json: bool) -> None:
    """Publish, cancel, disqualify or reinstate a submission, with a reason."""
    from surgvalid.submissions.phase_status import mark_submission

    after: dict[str, Any] = mark_submission(folder, stage, reason=reason)
    if json:
        emit_json(after)
    else:
        emit(f"stage   {after['stage']}")


def _show_status(
    phase: Path, folder: Path, *, out: Path | None = None, as_json: bool = False, force: bool = False
) -> None:
    from surgvalid.submissions.phase import read_phase
    from surgvalid.submissions.phase_status import submission_status

    deliver(submission_status(folder, read_phase(phase)), out=out, as_json=as_json, force=force)


_MEMORY_MB = 8192
_LOCAL = ("clock", "judges", "store", "replicates")
"""Settings that no phase states."""


def rehearse(
    image: Path | None,
    command: str | None,
    phase: Path | None,
    input_folder: Path,
    out: Path | None,
    judge: list[str],
    memory_mb: int,
    json: bool,
    force: bool,
    code: Path | None,
    weights: Path | None,
    engine: str | None,
    runtime: str | None,
    gpu: str | None,
    **rules: Any,
) -> None:
    """Run a container or command on your own questions as the organisers would."""
    from surgvalid.asking.journal import forget_run
    from surgvalid.asking.plan import PlanState
    from surgvalid.sandbox import Limits
    from surgvalid.submissions.phase import read_phase
    from surgvalid.submissions.rehearsal import RehearsalSettings, phase_settings
    from surgvalid.submissions.rehearsal import rehearse as run

    out, state, protocol, layout = out or Path("rehearsal"), rules["state"], rules["protocol"], rules["layout"]
    if state not in set(PlanState):
        raise UnknownName("state policy", state, set(PlanState))
    if (image is None) == (command is None):
        raise Misuse("give either --container or --command")
    if layout is not None and protocol not in (None, "batch"):
        raise Misuse(f"--rules layout is about batches; protocol={protocol} has none")
    batched = layout is not None or rules["budget"] == "pooled"
    rules |= {
        "judges": judge,
        "protocol": protocol or ("batch" if batched else "server"),
        "layout": layout or "folder",
        "state": PlanState(state),
    }
    settings = RehearsalSettings(**rules)
    limits, image_limits = Limits(memory_mb=memory_mb), None
    if phase is not None:
        local = {name: value for name, value in rules.items() if name in _LOCAL}
        if settings != RehearsalSettings(**local) or memory_mb != _MEMORY_MB:
            raise Misuse("limits, budget and protocol come from --phase; leave out --rules, --track and --seed")
        organised = read_phase(phase)
        settings, limits, image_limits = phase_settings(organised, **local), organised.run, organised.image
    if force:
        forget_run(out)
    with asking_line("asking") as meter:
        rehearsal = run(
            input_folder,
            out=out,
            image=image,
            command=shlex.split(command or ""),
            code=code,
            weights=weights,
            engine=engine,
            gpu=gpu,
            runtime=runtime,
            limits=limits,
            image_limits=image_limits,
            settings=settings,
            progress=meter,
        )
    if json:
        emit_json(rehearsal.as_dict())
    else:
        emit(rehearsal.prose)
    talk(f"written to {out}")
    if rehearsal.is_worrying:
        raise typer.Exit(1)
