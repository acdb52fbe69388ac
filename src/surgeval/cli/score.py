"""`surgeval score`: answers and references in, results with intervals out."""

from __future__ import annotations

from pathlib import Path

import typer

from surgeval.cli._console import emit, new_folder, progress_bar
from surgeval.cli._deliver import deliver


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("score", help="Score the answers of one model against the references.")(score)


def score(
    requests: list[str] = typer.Option(
        ..., "--requests", help="Questions: PATH or NAME=PATH (a namespace); repeatable."
    ),
    references: list[str] = typer.Option(..., "--references", help="Reference answers: PATH or NAME=PATH; repeatable."),
    responses: list[str] = typer.Option(..., "--responses", help="The model's answers: PATH or NAME=PATH; repeatable."),
    out: Path = typer.Option(..., "--out", help="Folder for results.csv, summary.csv, scores.parquet, lint.json, ..."),
    model: str = typer.Option("model", "--model", help="The model's name in tables."),
    profile: str = typer.Option("native", "--profile", help="native, orena-focus-0.4.0 or orena-focus-6302fca."),
    track: str | None = typer.Option(
        None, "--track", help="Apply the time limit of frame (5 s), segment (15 s), procedure (30 s)."
    ),
    max_latency: float | None = typer.Option(None, "--max-latency", help="Apply this time limit in seconds instead."),
    judge: list[str] = typer.Option([], "--judge", help="One of {judges}; up to three."),
    store: Path = typer.Option(
        Path(".surgeval"), "--store", help="Folder that keeps verdicts between runs; nothing is asked twice."
    ),
    definitions: Path | None = typer.Option(
        None, "--definitions", help="Foreign-object definitions; its classes become the legal ones."
    ),
    ood: str = typer.Option(
        "stated", "--ood", help="How OOD is decided: stated, procedure, template, either or center."
    ),
    train_requests: list[str] = typer.Option([], "--train-requests", help="Training questions, for a derived --ood."),
    train_references: list[str] = typer.Option([], "--train-references", help="Training references, for --ood center."),
    missing: str = typer.Option("wrong", "--missing", help="What a question without response is: wrong, or an error."),
    boot: int = typer.Option(1000, "--boot", min=1, help="Bootstrap resamples behind every interval."),
    seed: int = typer.Option(42, "--seed", help="Seed of the random streams."),
    as_json: bool = typer.Option(False, "--json", help="Print the summary as JSON."),
    force: bool = typer.Option(False, "--force", help="Overwrite an earlier result in --out."),
) -> None:
    """Score the answers of one model against the references."""
    from surgeval.scoring.run import score as run

    new_folder(out, force=force)
    with progress_bar("judging") as step:
        result = run(
            requests, references, responses, model=model, profile=profile, track=track, max_latency_s=max_latency,
            judges=judge, store=store, definitions=definitions, ood=ood,
            train_requests=train_requests or None, train_references=train_references or None,
            missing=missing, replicates=boot, seed=seed, progress=step,
        )  # fmt: skip
    deliver(result, out=out, as_json=as_json, force=force, data=result.summary.to_dicts())
    if result.lint.findings and not as_json:
        emit(f"{len(result.lint.findings)} findings about the files: see lint.json, or run surgeval lint")
