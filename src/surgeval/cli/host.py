"""`surgeval host`: a challenge as a web service; make one, check it, serve it, work for it, look after it."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from surgeval.cli import _options as o
from surgeval.cli._console import emit, emit_json, talk
from surgeval.cli._waiting import held

if TYPE_CHECKING:
    from surgeval.host.challenge.challenge import Challenge

_ABOUT = "Host a challenge: teams, phases, safe runs, boards, gate and prizes as a web service."
HERE = Path()
_SECURED = "0.0.0.0"


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    group = typer.Typer(help=_ABOUT, no_args_is_help=True)
    group.callback()(_host)
    group.command("demo", help="A whole challenge on this machine, with teams, scored submissions and boards.")(demo)
    group.command("new", help="Write a first challenge to change: the file, its texts, and example questions.")(new)
    group.command("check", help="Look at a challenge file as a whole, and list every problem.")(check)
    group.command("serve", help="Serve the challenge in a folder.")(serve)
    group.command("worker", help="Do jobs of a hosted challenge: run submissions, or score them.")(worker)
    group.command("cost", help="Say what a phase can cost at most, before it opens.")(cost)
    group.command("verify-log", help="Check that nobody changed the log, and that every file is as it was.")(verify_log)
    admin = typer.Typer(help="Look after a service: organisers, tokens, versions, backups, exports.")
    admin.callback()(_admin)
    admin.command("adopt")(adopt)
    admin.command("organiser")(organiser)
    admin.command("token")(token)
    admin.command("revoke")(revoke)
    admin.command("backup")(backup)
    admin.command("restore")(restore)
    admin.command("export")(export)
    group.add_typer(admin, name="admin")
    app.add_typer(group, name="host")


def _host() -> None:
    """Host a challenge: teams, phases, safe runs, boards, gate and prizes as a web service."""


def _admin() -> None:
    """Look after a service: organisers, tokens, versions, backups, exports."""


def new(
    folder: Path = typer.Argument(..., metavar="DIR", help="Where to write the challenge."),
) -> None:
    """Write a first challenge to change: the file, its texts, and example questions."""
    from surgeval.host.challenge.example import new_challenge

    today = datetime.now().replace(hour=0, minute=0, second=0, microsecond=0)
    for path in new_challenge(folder, start=today):
        emit(str(path.relative_to(folder)))
    talk(f"next: change {folder}/challenge.toml, then `surgeval host check {folder}/challenge.toml`")


def check(
    challenge: Path = typer.Argument(..., metavar="CHALLENGE.TOML", help="The challenge file."),
    as_json: o.Json = False,
) -> None:
    """Look at a challenge file as a whole, and list every problem."""
    read = _read(challenge)
    if as_json:
        emit_json({"name": read.name, "digest": read.digest, "phases": [phase.slug for phase in read.phases]})
        return
    emit(f"{read.name}: {len(read.phases)} phases, rule {read.ranking.rule}, digest {read.digest[:12]}")
    for phase in read.phases:
        emit(f"  {phase.slug}: {phase.opens:%Y-%m-%d %H:%M:%S} to {phase.closes:%Y-%m-%d %H:%M:%S} UTC, "
             f"{phase.quota} scored of {phase.attempts} attempts, {phase.visibility}")  # fmt: skip


def _read(path: Path) -> Challenge:
    from surgeval.host.challenge.reading import read_challenge

    return read_challenge(path)


def serve(
    folder: o.HostFolder = HERE,
    port: o.Port = 8000,
    everywhere: bool = typer.Option(
        False, "--everywhere", help="Listen on every address of this machine: behind a proxy that has TLS."
    ),
    threads: int = typer.Option(8, "--threads", min=1, help="Requests that are answered at once."),
) -> None:
    """Serve the challenge in a folder."""
    from surgeval.host import service

    service.set_up(folder)
    service.migrate()
    service.adopt("adopted when the service was started")
    with held():
        service.serve(_SECURED if everywhere else "127.0.0.1", port, threads=threads, ready=lambda url: emit(url))


def worker(
    url: o.Url,
    token: o.Token,
    scratch: Path = typer.Option(
        Path("worker"), "--scratch", help="Folder for images and whatever is under way; on a large disk."
    ),
    challenge: Path | None = typer.Option(
        None, "--challenge", help="Folder of the challenge with its references: for scoring alone."
    ),
    engine: o.Engine = None,
    runtime: o.Runtime = None,
    gpu: o.Gpu = None,
    program: str = typer.Option(
        "", "--program", help="Run this command instead of every image: to try a service without an engine."
    ),
    jobs: int | None = typer.Option(None, "--jobs", min=1, help="End after so many jobs, or when none waits."),
) -> None:
    """Do jobs of a hosted challenge: run submissions, or score them."""
    from surgeval.host.client import Host
    from surgeval.host.worker import Options, clear_scratch, work

    clear_scratch(scratch)
    options = Options(
        scratch=scratch, challenge=challenge, engine=engine, runtime=runtime, gpu=gpu,
        program=tuple(shlex.split(program)),
    )  # fmt: skip
    with held():
        done = work(Host(url, token), options, most_jobs=jobs, notice=talk)
    emit(f"{done} jobs")


def cost(
    challenge: Path = typer.Argument(..., metavar="CHALLENGE.TOML", help="The challenge file."),
    teams: int = typer.Option(50, "--teams", min=1, help="How many take part."),
    as_json: o.Json = False,
) -> None:
    """Say what a phase can cost at most, before it opens."""
    from surgeval.host.costs import cost_of

    costs = [cost_of(phase, challenge.parent, teams=teams) for phase in _read(challenge).phases]
    if as_json:
        emit_json([asdict(one) for one in costs])
        return
    for one in costs:
        emit(f"{one.phase}: {one.questions} questions on {one.videos} videos, {teams} teams")
        emit(f"  one submission     {one.answers_hours:10.1f} h of answers, {one.starts_hours:.1f} h of starts")
        emit(f"  every quota used   {one.quota_hours:10.1f} h")
        emit(f"  every attempt, at its worst {one.attempts_hours:.1f} h" + (f", {one.price:,.0f}" if one.price else ""))


def verify_log(
    folder: o.HostFolder = HERE,
    witness: list[str] = typer.Option(
        [], "--witness", metavar="NUMBER:DIGEST", help="An entry as a board or an export printed it; repeatable."
    ),
) -> None:
    """Check that nobody changed the log, and that every file is as it was; exit 1 otherwise."""
    from surgeval.host.service import set_up

    set_up(folder)
    from surgeval.host.backups import store_problems
    from surgeval.host.log.acting import log_problems

    pairs = [one.partition(":") for one in witness]
    problems = [*log_problems(witnesses={int(number): digest for number, _, digest in pairs}), *store_problems()]
    for problem in problems:
        emit(problem)
    if problems:
        raise typer.Exit(1)
    from surgeval.host.runs.models import LogHead

    head = LogHead.objects.first()
    emit("the log is empty" if head is None else f"the log is whole: {head.number}:{head.digest}")


def adopt(
    note: str = typer.Argument(..., metavar="NOTE", help="What was changed and why; everybody reads it."),
    folder: o.HostFolder = HERE,
) -> None:
    """Make the challenge file as it is now the one that holds; every change becomes a public note."""
    from surgeval.host import service

    service.set_up(folder)
    service.migrate()
    emit(f"version {service.adopt(note)}")


def organiser(
    email: str = typer.Argument(..., metavar="E-MAIL", help="Of somebody who has registered."),
    role: str = typer.Argument("owner", metavar="ROLE", help="owner, editor, judge or viewer."),
    folder: o.HostFolder = HERE,
) -> None:
    """Make somebody who has registered an organiser."""
    from surgeval.host.service import set_up

    set_up(folder)
    from surgeval.errors import UnknownName
    from surgeval.host.people.acts import give_role
    from surgeval.host.people.models import Role, User

    person = User.objects.filter(email=email.lower()).first()
    if person is None:
        raise UnknownName("person", email, User.objects.values_list("email", flat=True))
    if role not in Role.values:
        raise UnknownName("role", role, Role.values)
    give_role(person, Role(role), by=None)
    emit(f"{email} is {role}")


def token(
    name: str = typer.Argument(..., metavar="NAME", help="Of the worker, as the log shows it."),
    duties: list[str] = typer.Argument(..., metavar="DUTY...", help="inference; or some of intake, scoring, board."),
    folder: o.HostFolder = HERE,
) -> None:
    """Make a token for a worker; it is shown once."""
    from surgeval.host.service import set_up

    set_up(folder)
    from surgeval.host.acts.tokens import make_worker_token

    emit(make_worker_token("system", name, duties)[1])


def revoke(
    name: str = typer.Argument(..., metavar="NAME", help="Of the worker."),
    folder: o.HostFolder = HERE,
) -> None:
    """Take a worker's token back."""
    from surgeval.errors import UnknownName
    from surgeval.host.service import set_up

    set_up(folder)
    from surgeval.host.acts.tokens import revoke_worker_token
    from surgeval.host.runs.models import WorkerToken

    known = {one.name: one for one in WorkerToken.objects.filter(revoked_at=None)}
    if name not in known:
        raise UnknownName("worker", name, known)
    revoke_worker_token("system", known[name])
    emit(f"{name} is revoked")


def backup(
    target: Path = typer.Argument(..., metavar="DIR", help="Where to; must not exist."),
    folder: o.HostFolder = HERE,
) -> None:
    """Copy the database and every file, while the service runs."""
    from surgeval.host.service import set_up

    set_up(folder)
    from surgeval.host.backups import back_up

    emit(str(back_up(target)))


def restore(
    source: Path = typer.Argument(..., metavar="DIR", help="A backup."),
    folder: o.HostFolder = HERE,
) -> None:
    """Bring a service back from a backup, and check it; exit 1 if something is missing."""
    from surgeval.host.service import migrate, set_up

    set_up(folder, needs_challenge=False)
    from surgeval.host.backups import restore as bring_back
    from surgeval.host.backups import service_problems

    bring_back(source, folder)
    migrate()
    problems = service_problems()
    for problem in problems:
        emit(problem)
    if problems:
        raise typer.Exit(1)
    emit(f"{folder} is as it was")


def export(
    target: Path = typer.Argument(..., metavar="DIR", help="Where to; must not exist."),
    with_hidden: bool = typer.Option(
        False, "--with-hidden", help="Add what is not published, and the score of every question: not to give away."
    ),
    folder: o.HostFolder = HERE,
) -> None:
    """Write what the challenge came to, as far as it is published: tables, boards, report, log, and an archive."""
    from surgeval.host.service import set_up

    set_up(folder)
    from surgeval.host.exports import export as write_everything

    emit(str(write_everything(target, with_hidden=with_hidden)))


def demo(
    folder: Path = typer.Argument(Path("host-demo"), metavar="DIR", help="Folder of the demo; kept, and used again."),
    port: o.Port = 0,
    days: int = typer.Option(20, "--days", min=0, help="How long ago its first phase opened."),
) -> None:
    """A whole challenge on this machine, with teams, scored submissions and boards; ends with Ctrl-C."""
    from surgeval.host.service import set_up

    start = datetime.now().replace(microsecond=0) - timedelta(days=days)
    from surgeval.host.demo_folder import make_folder

    make_folder(folder, start=start)
    set_up(folder)
    from surgeval.host.demo import run_demo

    with held():
        run_demo(folder, port=port, say=emit)
