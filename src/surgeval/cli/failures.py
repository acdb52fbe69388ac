"""`surgeval failures`: which properties of images or questions make models fail."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from surgeval.cli._console import emit, emit_json, emit_table, new_folder, talk
from surgeval.errors import Misuse

if TYPE_CHECKING:
    from surgeval.stats.mixed.report import Failures

WRITTEN = ("effects.csv", "variance.csv", "fit.json", "manifest.json")


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(name="failures", help="Find which properties make models fail, with a mixed model.")(failures)


def failures(
    tables: list[Path] = typer.Argument(..., metavar="TABLE...", help="CSV or Parquet files, or `score` folders."),
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
    metric: str | None = typer.Option(None, help="The metric to analyse, where a score table has several."),
    symmetric: bool = typer.Option(False, "--symmetric", help="Symbol bins that mirror each other on the log scale."),
    level: float = typer.Option(0.95, help="Level of the intervals."),
    columns: str | None = typer.Option(None, help="Our column names to theirs: model=algorithm,video=patient."),
    json: bool = typer.Option(False, "--json", help="Print the result as JSON."),
    out: Path | None = typer.Option(None, help="Write effects.csv, variance.csv and fit.json into this folder."),
    force: bool = typer.Option(False, "--force", help="Overwrite an earlier result."),
) -> None:
    """Fit the mixed model and show its effects."""
    from surgeval.report.fit_files import write_fit_tables
    from surgeval.stats.mixed.failures import failures as analyse

    if out is not None:
        new_folder(out, force=force, files=WRITTEN)
    result = analyse(
        list(tables), successes=successes, trials=trials, outcome=outcome, fixed=_listed(fixed), random=_listed(random),
        spec=spec, per_model=per_model, role=role, family=family, transform=transform,  # type: ignore[arg-type]
        properties=list(properties) or None, cluster=_listed(cluster), leave_out=_listed(leave_out), metric=metric,
        symmetric=symmetric, unit=unit, inference=inference, slopes=_slopes(slopes),  # type: ignore[arg-type]
        separation=separation, level=level, columns=_mapping(columns),  # type: ignore[arg-type]
        where=", ".join(path.name for path in tables),
    )  # fmt: skip
    if out is not None:
        result.to_dir(out, inputs=[*tables, *properties], force=True)
        write_fit_tables(result, out)
    _show(result, json=json)
    if not result.fit.convergence.converged:
        raise typer.Exit(1)


def _show(result: Failures, *, json: bool) -> None:
    if json:
        emit_json({"effects": result.table.to_dicts(), "variance": result.variance.to_dicts(), **result.record()})
        return
    emit_table(result.table, title="Effects:")
    emit("")
    emit_table(result.variance, title="Random effects:")
    if result.marginal is not None:
        emit("")
        emit_table(result.marginal, title="Marginal odds ratios (cluster-robust; not comparable with those above):")
    talk(result.prose)
    for decision in result.decisions:
        talk(f"Decision: {decision}")
    for warning in result.warnings:
        talk(f"Warning: {warning}")
    for note in result.notes:
        talk(f"Note: {note}")


def _slopes(text: str) -> bool | list[str]:
    return {"all": True, "none": False}.get(text.strip(), _listed(text))


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _mapping(text: str | None) -> dict[str, str]:
    pairs = [pair.partition("=") for pair in _listed(text or "")]
    if bad := [left for left, sign, right in pairs if not (sign and left.strip() and right.strip())]:
        raise Misuse(f"--columns expects ours=theirs, got {', '.join(map(repr, bad))}")
    return {left.strip(): right.strip() for left, _, right in pairs}
