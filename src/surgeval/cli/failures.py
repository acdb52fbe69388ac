"""`surgeval failures`: which properties of images or questions make models fail."""

from __future__ import annotations

from pathlib import Path

import typer

from surgeval.cli import _options as o
from surgeval.cli._console import new_folder
from surgeval.cli._deliver import deliver
from surgeval.cli._tables import names_in, read_better, read_columns


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(name="failures", help="Find which properties make models fail, with a mixed model.")(failures)


def failures(
    tables: o.TableArgument,
    successes: str | None = typer.Option(None, help="Column of successes, such as true positive pixels."),
    trials: str | None = typer.Option(
        None, help="Column of trials: reference pixels (recall) or predicted (precision)."
    ),
    outcome: str | None = typer.Option(
        None, help="Column of a 0/1 or continuous outcome; with counts too, they step in where it is not normal."
    ),
    fixed: str = typer.Option("", help="Properties, separated by commas; a:b for an interaction."),
    random: str = typer.Option(
        "", help="Random effects, separated by commas, in any order; model (algorithm) and video (patient) by name."
    ),
    unit: str | None = typer.Option(None, help="The finest unit, where it is not the one with the most levels."),
    spec: str = typer.Option("default", help="default adds model:unit for counts; paper is exactly seed 001."),
    inference: str = typer.Option("auto", help="reml-t (t tests that count videos) or wald-z (that of paper)."),
    slopes: str = typer.Option("all", help="Effects that may differ between videos: all, none, or properties."),
    separation: str = typer.Option("auto", help="penalise what separates the outcome, or drop it (that of paper)."),
    per_model: bool = typer.Option(False, "--per-model", help="Fit each model by itself as well."),
    role: str = typer.Option("random", help="How models enter: random, fixed, removed or aggregated."),
    family: str = typer.Option("auto", help="auto, binomial, poisson or gaussian."),
    transform: str = typer.Option("auto", help="Of a continuous outcome: auto, none, log or logit."),
    properties: list[Path] = typer.Option([], help="Tables of properties, joined by the columns they share."),
    cluster: str = typer.Option("", help="One or two columns for marginal odds ratios with cluster-robust errors."),
    leave_out: str = typer.Option("", help="Columns of which each level is left out in turn: patient,algorithm."),
    metric: o.Metric = None,
    better: o.Better = None,
    missing: o.Missing = None,
    symmetric: bool = typer.Option(False, "--symmetric", help="Symbol bins that mirror each other on the log scale."),
    level: o.Level = 0.95,
    columns: o.Columns = "",
    json: o.Json = False,
    out: o.Out = None,
    force: o.Force = False,
) -> None:
    """Fit the mixed model and show its effects."""
    from surgeval.stats.mixed.failures import failures as analyse

    new_folder(out, force=force)
    result = analyse(
        list(tables), successes=successes, trials=trials, outcome=outcome, fixed=names_in(fixed),
        random=names_in(random),
        spec=spec, per_model=per_model, role=role, family=family, transform=transform,  # type: ignore[arg-type]
        properties=list(properties) or None, cluster=names_in(cluster), leave_out=names_in(leave_out), metric=metric,
        better=read_better(better), missing=missing or None,
        symmetric=symmetric, unit=unit, inference=inference, slopes=_slopes(slopes),  # type: ignore[arg-type]
        separation=separation, level=level, columns=read_columns(columns),  # type: ignore[arg-type]
        where=", ".join(path.name for path in tables),
    )  # fmt: skip
    deliver(result, out=out, as_json=json, force=force)
    if not result.fit.convergence.converged:
        raise typer.Exit(1)


def _slopes(text: str) -> bool | list[str]:
    return {"all": True, "none": False}.get(text.strip(), names_in(text))
