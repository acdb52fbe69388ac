"""`surgeval preregister`: write the analysis to come down, hashed and signed, and check that it stayed so."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from surgeval.cli import _options as o
from surgeval.cli._console import emit, emit_json, talk
from surgeval.cli._deliver import check_out, deliver
from surgeval.errors import Misuse

_ABOUT = "Register an analysis before the data are seen: new, write, check."
Plan = Annotated[Path, typer.Argument(metavar="PLAN", help="TOML file with the study and its analyses.")]


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    group = typer.Typer(help=_ABOUT, no_args_is_help=True)
    group.callback()(_preregister)
    group.command("new", help="Write a commented plan (TOML) to start from.")(new)
    group.command("write", help="Turn a plan into one hashed file with a page to read, signed where wanted.")(write)
    group.command("check", help="Check hash and signature of a registration.")(check)
    app.add_typer(group, name="preregister")


def _preregister() -> None:
    """Register an analysis before the data are seen: new, write, check."""


def new(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write it, such as analysis.toml.")],
    force: o.Force = False,
) -> None:
    """Write a commented plan (TOML) to start from."""
    from surgeval.report.preregistration import write_example

    write_example(path, force=force)
    emit(str(path))


def write(
    plan: Plan,
    out: o.Out = None,
    sign_ssh: Annotated[
        Path | None, typer.Option("--sign-ssh", metavar="KEY", help="Sign with this SSH key, by ssh-keygen.")
    ] = None,
    sign_gpg: Annotated[
        str | None, typer.Option("--sign-gpg", metavar="KEY", help="Sign with this GPG key, by gpg.")
    ] = None,
    as_json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Turn a plan into one hashed file with a page to read, signed where wanted."""
    from surgeval.report.preregistration import preregister
    from surgeval.results import signatures
    from surgeval.results.registration import FILE

    signed = sign_ssh is not None or sign_gpg is not None
    if sign_ssh is not None and sign_gpg is not None:
        raise Misuse("give --sign-ssh or --sign-gpg, not both")
    if out is None and signed:
        raise Misuse("a signature lies beside the file; name a folder with --out")
    if out is not None and out.suffix.lower() in (".csv", ".parquet"):
        raise Misuse(f"--out {out}: name a folder; a registration is more than a table")
    check_out(out, force=force, inputs=[plan])
    deliver(preregister(plan), out=out, as_json=as_json, force=force)
    if out is None:
        return
    for ending in (signatures.SSH, signatures.GPG):  # of an earlier registration there
        (out / f"{FILE}{ending}").unlink(missing_ok=True)
    try:
        if sign_ssh is not None:
            talk(f"signed: {signatures.sign_ssh(out / FILE, sign_ssh)}")
        if sign_gpg is not None:
            talk(f"signed: {signatures.sign_gpg(out / FILE, sign_gpg)}")
    except Misuse as error:
        raise Misuse(f"{error}; {out / FILE} is written, and not signed") from None


def check(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="registration.json, or its folder.")],
    as_json: o.Json = False,
) -> None:
    """Check hash and signature of a registration.

    Exit code 0: both are in order, or it is not signed. 1: its signature could not be checked. 2: one does not fit.
    """
    from surgeval.results.registration import read_registration
    from surgeval.results.signatures import UNCHECKED

    registration = read_registration(path)
    if as_json:
        emit_json({"title": registration.title, "sha256": registration.sha256, "signature": registration.signature,
                   "analyses": registration.analyses})  # fmt: skip
    else:
        emit(f"{registration.title}\nsha256 {registration.sha256}\n{registration.signature or 'not signed'}")
    raise typer.Exit(int(registration.signature.startswith(UNCHECKED)))
