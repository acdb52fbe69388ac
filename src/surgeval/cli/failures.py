"""`surgeval failures`: which properties of images or questions make models fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from surgeval.cli import _mixed_options as m
from surgeval.cli import _options as o
from surgeval.cli._console import new_folder, talk
from surgeval.cli._deliver import deliver
from surgeval.cli._tables import names_in, read_better, read_columns, read_deviations
from surgeval.errors import Misuse


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(name="failures", help="Find which properties make models fail, with a mixed model.")(failures)


def failures(
    tables: m.OptionalTables = None,
    successes: str | None = typer.Option(None, help="Column of successes, such as true positive pixels."),
    trials: str | None = typer.Option(
        None, help="Column of trials: reference pixels (recall) or predicted (precision)."
    ),
    outcome: str | None = typer.Option(
        None, help="Column of a 0/1 or continuous outcome; with counts too, they step in where it is not normal."
    ),
    fixed: m.Fixed = "",
    random: m.Random = "",
    unit: m.Unit = None,
    spec: m.Spec = "default",
    inference: m.Inference = "auto",
    slopes: m.Slopes = "all",
    separation: m.Separation = "auto",
    per_model: bool = typer.Option(False, "--per-model", help="Fit each model by itself as well."),
    role: str = typer.Option("random", help="How models enter: random, fixed, removed or aggregated."),
    family: m.Family = "auto",
    transform: str = typer.Option("auto", help="Of a continuous outcome: auto, none, log or logit."),
    properties: m.Properties = None,
    cluster: str = typer.Option("", help="One or two columns for marginal odds ratios with cluster-robust errors."),
    leave_out: str = typer.Option("", help="Columns of which each level is left out in turn: patient,algorithm."),
    before: m.Before = None,
    after: m.After = None,
    target: str = typer.Option("", help="--after: properties that the new algorithm was built against."),
    recommend: bool = typer.Option(False, "--recommend", help="Say what to work on, ranked, with cases to look at."),
    improvement: float = typer.Option(0.1, help="--recommend: better mean outcome that a later study is to find."),
    picture: str | None = typer.Option(None, help="--recommend: column with the path of each case's picture."),
    strengths: bool = typer.Option(
        False, "--strengths", help="Test jointly whether properties harm models differently."
    ),
    risk: list[Path] | None = typer.Option(
        None, help="Cases with properties, as of a training set: give them risks and weights.", show_default=False
    ),
    metric: o.Metric = None,
    better: o.Better = None,
    missing: o.Missing = None,
    symmetric: m.Symmetric = False,
    level: o.Level = 0.95,
    columns: o.Columns = "",
    preregistration: o.Preregistration = None,
    deviation: o.Deviation = None,
    json: o.Json = False,
    out: o.Out = None,
    force: o.Force = False,
) -> None:
    """Fit the mixed model and show its effects.

    With --before and --after instead of tables: the paired change of every effect, on the same cases.
    """
    from surgeval.stats.mixed.failures import failures as analyse

    new_folder(out, force=force)
    if before or after:
        if tables or not (before and after):
            raise Misuse("--before and --after go together and instead of TABLE")
        _refuse_unused({
            "--spec": spec != "default", "--inference": inference != "auto", "--slopes": slopes != "all",
            "--separation": separation != "auto", "--per-model": per_model, "--role": role != "random",
            "--transform": transform != "auto", "--cluster": cluster, "--leave-out": leave_out,
            "--recommend": recommend, "--picture": picture, "--strengths": strengths, "--risk": risk,
            "--symmetric": symmetric, "--preregistration": preregistration, "--deviation": deviation,
        }, "with --before and --after")  # fmt: skip
        _changed(
            list(before), list(after), successes=successes, trials=trials, outcome=outcome, fixed=names_in(fixed),
            random=names_in(random), family=family, properties=list(properties or []) or None, metric=metric,
            better=read_better(better), missing=missing or None, unit=unit, level=level, columns=read_columns(columns),
            target=names_in(target), out=out, as_json=json, force=force,
        )  # fmt: skip
        return
    if not tables:
        raise Misuse("give one TABLE or more, or --before OLD --after NEW")
    _refuse_unused({"--target": target}, "without --before and --after")
    _refuse_unused({"--picture": picture and not recommend}, "without --recommend")
    result = analyse(
        list(tables), successes=successes, trials=trials, outcome=outcome, fixed=names_in(fixed),
        random=names_in(random), spec=spec, per_model=per_model, role=role, family=family, transform=transform,  # type: ignore[arg-type]
        properties=list(properties or []) or None, cluster=names_in(cluster), leave_out=names_in(leave_out),
        metric=metric, better=read_better(better), missing=missing or None, symmetric=symmetric, unit=unit,
        inference=inference, slopes=m.read_slopes(slopes), separation=separation,  # type: ignore[arg-type]
        recommend=recommend, improvement=improvement, picture=picture, strengths=strengths,
        risk=list(risk or []) or None,
        level=level, columns=read_columns(columns), where=", ".join(path.name for path in tables),
        preregistration=preregistration, deviations=read_deviations(deviation),
    )  # fmt: skip
    deliver(result, out=out, as_json=json, force=force)
    if not result.fit.convergence.converged:
        raise typer.Exit(1)


def _refuse_unused(given: dict[str, object], where: str) -> None:
    """Refuse options that would be left unused: who gave them would believe that they were followed."""
    if unused := [option for option, value in given.items() if value]:
        raise Misuse(f"{', '.join(unused)}: not used {where}; leave out what is not used")


def _changed(
    before: list[Path], after: list[Path], *, out: Path | None, as_json: bool, force: bool, **asked: Any
) -> None:
    """Show what changed between two rounds."""
    from surgeval.report.failure_change import PAGE, failure_change

    deliver(failure_change(before, after, **asked), out=out, as_json=as_json, force=force)
    if out is not None and (out / PAGE).is_file():
        talk(f"the page: {out / PAGE}")
