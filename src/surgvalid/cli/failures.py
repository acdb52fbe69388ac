"""`surgvalid analyse failures`: which properties of images or questions make models fail."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import typer

from surgvalid.cli._console import check_out, check_there, deliver, talk
from surgvalid.cli._listed import OPTIONS, arguments, paths_in
from surgvalid.cli._option import names_in, read_named
from surgvalid.errors import Misuse

_DRAWS = ("seed", "separator", "resamples")
"""Options whose default is no request, so that nobody is told to leave them out."""


def failures(_: str, given: dict[str, Any]) -> None:
    """Fit the mixed model and show its effects; --form says what is shown instead.

    With --before and --after instead of tables: the paired change of every effect, on the same cases.
    """
    out, as_json, force, form = (given.pop(name) for name in ("out", "json", "force", "form"))
    tables, before, after = (given.pop(name) for name in ("tables", "before", "after"))
    check_out(out, force=force, table=form in ("marginal", "symbols"))
    check_there(paths_in({**given, "tables": tables, "before": before, "after": after}))
    outcome = _outcome(given.pop("outcome"), several=form == "symbols")
    if before or after:
        if tables or not (before and after):
            raise Misuse("--before and --after go together and instead of TABLE")
        _changed(before, after, outcome, {**given, "form": form}, out=out, as_json=as_json, force=force)
        return
    if not tables:
        raise Misuse("give one TABLE or more, or --before OLD --after NEW")
    improvement = given.pop("recommend")
    _refuse_unused({"--target": given.pop("target")}, "without --before and --after")
    _refuse_unused({"--image-column": given["image_column"] and improvement is None}, "without --recommend")
    from surgvalid.stats.mixed.failures import failures as analyse

    asked = arguments(given) | outcome
    asked["form"], asked["marginal"] = ("effects", True) if form == "marginal" else (form, False)
    if improvement is not None:
        asked |= {"recommend": True, "improvement": improvement}
    result = analyse(tables, where=", ".join(path.name for path in tables), **asked)
    deliver(result, out=out, as_json=as_json, force=force)
    if any(finding.code == "not-converged" for finding in result.findings):
        raise typer.Exit(1)


def _outcome(text: str, *, several: bool) -> dict[str, Any]:
    """The arguments that an outcome stands for: a column, successes of trials, or both; several with names.

    Raises:
        Misuse: More than one of a kind, where names would be needed.
    """
    if several:
        return {"outcomes": read_named("--outcome", text) if text else None}
    outcome: dict[str, Any] = {}
    for piece in names_in(text):
        successes, divided, trials = (side.strip() for side in piece.partition("/"))
        pair = {"successes": successes, "trials": trials} if divided else {"outcome": piece}
        if "=" in piece or pair.keys() & outcome.keys():
            raise Misuse(f"--outcome {text}: several outcomes, or names of them, are for --form symbols")
        outcome |= pair
    return outcome


def _refuse_unused(given: dict[str, object], where: str) -> None:
    """Refuse options that would be left unused: who gave them would believe that they were followed."""
    if unused := [option for option, value in given.items() if value]:
        raise Misuse(f"{', '.join(unused)}: not used {where}; leave out what is not used")


def _changed(
    before: list[Path],
    after: list[Path],
    outcome: dict[str, Any],
    given: dict[str, Any],
    *,
    out: Path | None,
    as_json: bool,
    force: bool,
) -> None:
    """Show what changed between two rounds."""
    from surgvalid.studies.failure_change import PAGE, failure_change

    takes = inspect.signature(failure_change).parameters
    unused = {
        f"{OPTIONS[name].flag} {OPTIONS[name].component}".strip(): value != OPTIONS[name].default
        for name, value in given.items()
        if (OPTIONS[name].argument or name) not in takes and name not in _DRAWS and not OPTIONS[name].role
    }
    _refuse_unused(unused, "with --before and --after")
    asked = {name: value for name, value in arguments(given).items() if name in takes}
    deliver(failure_change(before, after, **asked, **outcome), out=out, as_json=as_json, force=force)
    if out is not None and (out / PAGE).is_file():
        talk(f"the page: {out / PAGE}")
