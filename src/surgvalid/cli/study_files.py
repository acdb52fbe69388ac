"""What people fill in about a study: the analysis to come, the study file of an audit, the page that takes a table."""

from __future__ import annotations

from pathlib import Path

import typer

from surgvalid.cli._console import check_out, deliver, emit, emit_json, talk
from surgvalid.cli._waiting import held
from surgvalid.errors import Misuse


def serve(port: int) -> None:
    """Show a page on this machine that takes a table and shows how it is read."""
    from surgvalid.studies.local_page import LocalPage

    server = LocalPage(port=port)
    how = "Open this address in a browser on this machine; it works once, and nothing is sent anywhere. Ctrl-C ends it."
    try:
        emit(server.address_of())
        talk(how)
        with held():
            server.serve_forever()
    except KeyboardInterrupt:
        talk("ended")
    finally:
        server.server_close()


def register(
    plan: Path,
    new: bool,
    sign_ssh: Path | None,
    sign_gpg: str | None,
    out: Path | None,
    json: bool,
    force: bool,
) -> None:
    """Turn a plan into one hashed file with a page to read, signed where wanted."""
    if new:
        from surgvalid.studies.preregistration import write_example

        write_example(plan, force=force)
        emit(str(plan))
        return
    from surgvalid.results import signatures
    from surgvalid.results.registration import FILE
    from surgvalid.studies.preregistration import preregister

    signed = sign_ssh is not None or sign_gpg is not None
    if sign_ssh is not None and sign_gpg is not None:
        raise Misuse("--sign: give ssh or gpg, not both")
    if out is None and signed:
        raise Misuse("a signature lies beside the file; name a folder with --out")
    if out is not None and out.suffix.lower() in (".csv", ".parquet"):
        raise Misuse(f"--out {out}: name a folder; a registration is more than a table")
    check_out(out, force=force, inputs=[plan])
    deliver(preregister(plan), out=out, as_json=json, force=force)
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


def check(path: Path, json: bool) -> None:
    """Check hash and signature of a registration, and list what was run under it; its page then lists it too.

    Exit code 0: both are in order, or it is not signed. 1: its signature could not be checked. 2: one does not fit.
    """
    from surgvalid.results.registration import read_registration, registration_file
    from surgvalid.results.signatures import UNCHECKED
    from surgvalid.studies.preregistration import PAGE, registered_runs, run_sentences

    registration, made = read_registration(path), registered_runs(path)
    if made.runs:
        registration_file(path).with_name(PAGE).write_text(made.html(), encoding="utf-8", errors="replace")
    if json:
        emit_json(
            {
                "title": registration.title,
                "sha256": registration.sha256,
                "signature": registration.signature,
                "analyses": registration.analyses,
                "runs": list(made.runs),
            }
        )
    else:
        runs = [text for run in made.runs for text in run_sentences(run)]
        emit("\n".join([made.title, registration.signature or "not signed", *runs]))
    raise typer.Exit(int(registration.signature.startswith(UNCHECKED)))


def new(folder: Path, ask: bool, force: bool) -> None:
    """Write a study file to fill in; what the results in the folder answer is not asked."""
    from surgvalid.audit.new_study import new_study

    path = new_study(folder, ask=_prompt if ask else None, force=force)
    talk(f"written to {path}; fill it in, then: surgvalid audit {path}")


def _prompt(question: str) -> str:
    return str(typer.prompt(question, default="", show_default=False, err=True))
