"""`surgvalid host`: a challenge as a web service; make one, check it, serve it, work for it, look after it."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from surgvalid.cli._console import emit, emit_json, talk
from surgvalid.cli._waiting import held
from surgvalid.errors import Misuse, UnknownName, WouldOverwrite
from surgvalid.results.result import write_table

if TYPE_CHECKING:
    from surgvalid.host.challenge.challenge import Challenge

_SECURED = "0.0.0.0"
_FEW_QUESTIONS = 500
"""Below, exact values let a system that looks at nothing climb: 10 submissions reach .55 of 500, 30 reach .60."""


def new(folder: Path) -> None:
    """Write a first challenge to change: the file, its texts, and example questions."""
    from surgvalid.host.challenge.example import new_challenge

    today = datetime.now().replace(hour=0, minute=0, second=0, microsecond=0)
    for path in new_challenge(folder, start=today):
        emit(str(path.relative_to(folder)))
    talk(f"next: change {folder}/challenge.toml, then `surgvalid host check {folder}/challenge.toml`")


_STEPS = {
    "new": ("DIR",),
    "rehearse": ("PACK", "INPUT", "OUTPUT", "IMAGE"),
    "leaderboard": ("EVALUATIONS", "SCORES"),
    "codabench": ("PACK", "SUBMISSIONS", "SCORES"),
    "design": ("CHALLENGE",),
    "osf": ("REGISTRATION", "DIR"),
    "checklists": ("TABLE", "DIR"),
    "r": ("TABLE", "DIR"),
}


def bridge(step: str, places: list[str], force: bool) -> None:
    """For other platforms, registries and statisticians: packs, leaderboards, documents."""
    from surgvalid.bridges import checklists, codabench, grand_challenge

    if step not in _STEPS:
        raise UnknownName("step", step, _STEPS)
    if len(places) != len(_STEPS[step]):
        raise Misuse(f"host bridge {step} takes {' '.join(_STEPS[step])}, got {len(places)}: {' '.join(places)}")
    if step == "rehearse":
        seen = grand_challenge.rehearse(*places[:3], image=places[3])
        emit_json({"health": seen.health, "invoke": seen.invoke, "metrics": seen.metrics})
        if seen.invoke != 201:
            talk((seen.stderr.strip().splitlines() or ["it did not answer"])[-1])
            raise typer.Exit(1)
    elif step == "design":
        emit(checklists.design(places[0]))
    elif step in ("leaderboard", "codabench"):
        *given, scores = places
        if Path(scores).exists():
            raise WouldOverwrite(scores, by_force=False)
        leaderboard = grand_challenge.leaderboard(*given) if step == "leaderboard" else codabench.leaderboard(*given)
        write_table(leaderboard.scores, scores)
        for sentence in leaderboard.left_out:
            talk(f"left out: {sentence}")
        talk(f"next: `surgvalid rank {shlex.quote(scores)}` and `surgvalid study {shlex.quote(scores)}`")
    else:
        for path in _written(step, *places, force=force):
            emit(str(path))


def _written(step: str, source: str, folder: str = "", *, force: bool) -> list[Path]:
    """The files, or the folder, that a step writes."""
    from surgvalid.bridges import checklists, grand_challenge, osf, r_folder
    from surgvalid.studies.preregistration import registered_runs
    from surgvalid.studies.study import study
    from surgvalid.studies.study_audit import audit_study

    if step == "new":
        talk("next: put your references into ground_truth/references.csv, change scoring.py and evaluate.toml")
        return grand_challenge.new(source)
    if step == "osf":
        return osf.write(registered_runs(source), folder, force=force)
    if step == "r":
        return [r_folder.write(study(source), folder, force=force)]
    return checklists.write(folder, study=study(source), audit=audit_study(source), force=force)


def check(challenge: Path, json: bool) -> None:
    """Look at a challenge file as a whole, and list every problem."""
    read = _read(challenge)
    if json:
        emit_json({"name": read.name, "digest": read.digest, "phases": [phase.slug for phase in read.phases]})
        return
    emit(f"{read.name}: {len(read.phases)} phases, rule {read.ranking.rule}, digest {read.digest[:12]}")
    for phase in read.phases:
        emit(
            f"  {phase.slug}: {phase.opens:%Y-%m-%d %H:%M:%S} to {phase.closes:%Y-%m-%d %H:%M:%S} UTC, "
            f"{phase.quota} scored of {phase.attempts} attempts, {phase.visibility}"
        )
        if phase.probing:
            few = phase.counted != "ladder" and phase.question_count < _FEW_QUESTIONS
            emit(f"    {phase.probing}" + (' With so few, write counted = "ladder".' if few else ""))


def _read(path: Path) -> Challenge:
    from surgvalid.host.challenge.reading import read_challenge

    return read_challenge(path)


def serve(folder: Path, everywhere: bool, port: int = 8000, workers: int = 8) -> None:
    """Serve the challenge in a folder; in an empty one it is made on a page."""
    from surgvalid.host import service

    home = service.set_up(folder, first=True)
    service.migrate()
    if (home / "challenge.toml").exists():
        service.adopt("adopted when the service was started")

    def ready(url: str) -> None:
        emit(url)
        if address := service.first_address(url):
            talk(f"whoever opens {address} first, with an account, owns the challenge")

    with held():
        service.serve(_SECURED if everywhere else "127.0.0.1", port, threads=workers, ready=ready)


def worker(url: str, token: str, scratch: Path, program: str | None, limit: int | None = None, **asked: Any) -> None:
    """Do jobs of a hosted challenge: run submissions, or score them."""
    from surgvalid.host.client import Host
    from surgvalid.host.worker import WorkerOptions, clear_scratch, work

    clear_scratch(scratch)
    options = WorkerOptions(scratch=scratch, program=tuple(shlex.split(program or "")), **asked)
    with held():
        done = work(Host(url, token), options, most_jobs=limit, notice=talk)
    emit(f"{done} jobs")


def cost(challenge: Path, teams: int, json: bool) -> None:
    """Say what a phase can cost at most, before it opens."""
    from surgvalid.host.costs import cost_of

    costs = [cost_of(phase, challenge.parent, teams=teams) for phase in _read(challenge).phases]
    if json:
        emit_json([asdict(one) for one in costs])
        return
    for one in costs:
        emit(f"{one.phase}: {one.questions} questions on {one.videos} videos, {teams} teams")
        emit(f"  one submission     {one.answers_hours:10.1f} h of answers, {one.starts_hours:.1f} h of starts")
        emit(f"  every quota used   {one.quota_hours:10.1f} h")
        emit(f"  every attempt, at its worst {one.attempts_hours:.1f} h" + (f", {one.price:,.0f}" if one.price else ""))


def verify_log(folder: Path, witness: list[str], images: bool, replay: bool) -> None:
    """Check that nobody changed the log, a row that it tells of, or a file; exit 1 otherwise."""
    from surgvalid.host.service import set_up

    set_up(folder)
    from surgvalid.host.evidence import problems
    from surgvalid.host.replay import replays
    from surgvalid.host.runs.models import LogHead
    from surgvalid.host.seals import is_sealing

    pairs = [one.partition(":") for one in witness]
    differing = list(problems(witnesses={int(number): digest for number, _, digest in pairs}, images=images))
    for outcome, differences in replays() if replay else ():
        talk(outcome)
        differing += differences
    for one in differing:
        emit(one)
    if differing:
        raise typer.Exit(1)
    if not is_sealing():
        talk("rows of the tables are not under seal yet: serve the folder once with this version")

    head = LogHead.objects.first()
    emit("the log is empty" if head is None else f"the log is whole: {head.number}:{head.digest}")


def adopt(note: str, folder: Path) -> None:
    """Make the challenge file as it is now the one that holds; every change becomes a public note."""
    from surgvalid.host import service

    service.set_up(folder)
    service.migrate()
    emit(f"version {service.adopt(note)}")


def organiser(email: str, role: str, folder: Path) -> None:
    """Make somebody who has registered an organiser."""
    from surgvalid.host.service import set_up

    set_up(folder)
    from surgvalid.host.people.acts import give_role
    from surgvalid.host.people.models import MemberRole, User

    person = User.objects.filter(email=email.lower()).first()
    if person is None:
        raise UnknownName("person", email, User.objects.values_list("email", flat=True))
    if role not in MemberRole.values:
        raise UnknownName("role", role, MemberRole.values)
    give_role(person, MemberRole(role), by=None)
    emit(f"{email} is {role}")


def token(name: str, duties: list[str] | None, revoke: bool, folder: Path) -> None:
    """Make a token for a worker, which is shown once, or take one back."""
    if bool(duties) == revoke:
        raise Misuse("name the duties of the worker, or --revoke")
    from surgvalid.host.service import set_up

    set_up(folder)
    from surgvalid.host.acts.tokens import make_worker_token, revoke_worker_token
    from surgvalid.host.runs.models import WorkerToken

    if not revoke:
        emit(make_worker_token("system", name, duties or [])[1])
        return
    known = {one.name: one for one in WorkerToken.objects.filter(revoked_at=None)}
    if name not in known:
        raise UnknownName("worker", name, known)
    revoke_worker_token("system", known[name])
    emit(f"{name} is revoked")


def backup(target: Path, folder: Path, keep: int | None) -> None:
    """Copy the database and every file, while the service runs; with `keep`, older backups beside it go."""
    from surgvalid.host.service import set_up

    set_up(folder)
    from surgvalid.host.backups import back_up, prune

    emit(str(back_up(target)))
    for old in prune(target.resolve().parent, keep) if keep else ():
        talk(f"removed {old}")


def restore(source: Path, folder: Path) -> None:
    """Bring a service back from a backup, and check it; exit 1 if something is missing."""
    from surgvalid.host.service import migrate, set_up

    set_up(folder, backup=source)
    from surgvalid.host.backups import restore as bring_back
    from surgvalid.host.backups import restore_problems
    from surgvalid.host.evidence import problems

    differing = list(restore_problems(source, bring_back(source, folder)))
    migrate()
    differing += problems(images=True)
    for one in differing:
        emit(one)
    if differing:
        raise typer.Exit(1)
    emit(f"{folder} is as it was")


def export(target: Path, with_hidden: bool, folder: Path) -> None:
    """Write what the challenge came to, as far as it is published: tables, leaderboards, report, log and an archive."""
    from surgvalid.host.service import set_up

    set_up(folder)
    from surgvalid.host.exports import export as write_everything

    emit(str(write_everything(target, with_hidden=with_hidden)))


def demo(folder: Path, days: int, port: int = 0) -> None:
    """A whole challenge on this machine, with teams, scored submissions and leaderboards; ends with Ctrl-C."""
    from surgvalid.host.service import set_up

    start = datetime.now().replace(microsecond=0) - timedelta(days=days)
    from surgvalid.host.challenge.example import make_folder

    make_folder(folder, start=start)
    set_up(folder)
    from surgvalid.host.demo import run_demo

    with held():
        run_demo(folder, port=port, say=emit)
