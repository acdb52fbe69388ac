"""`surgeval score`: answers and references in, results with intervals out."""

from __future__ import annotations

import typer

from surgeval.cli import _options as o
from surgeval.cli._console import asking_line, emit, new_folder, talk
from surgeval.cli._deliver import deliver
from surgeval.cli._tables import read_numbers
from surgeval.schema.findings import Severity


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("score", help="Score the answers of one model against the references.")(score)


def score(
    requests: o.Requests,
    references: o.References,
    responses: o.Responses,
    out: o.Out = None,
    model: o.Model = None,
    profile: str = typer.Option("native", "--profile", help="native, orena-focus-0.4.0 or orena-focus-6302fca."),
    track: str | None = typer.Option(
        None, "--track", help="Apply the time limit of frame (5 s), segment (15 s), procedure (30 s)."
    ),
    max_latency: float | None = typer.Option(None, "--max-latency", help="Apply this time limit in seconds instead."),
    judge: list[str] = typer.Option([], "--judge", help="One of {judges}; up to three."),
    store: o.Store = o.STORE,
    quorum: int | None = typer.Option(
        None, "--quorum", min=1, help="Opinions that a decision on free text needs; by default more than half."
    ),
    max_judge_failures: float = typer.Option(
        0.05, "--max-judge-failures", min=0.0, max=1.0, help="Share of a judge's failures above which exit is 1."
    ),
    price: list[float] = typer.Option(
        [], "--price", help="Price per million tokens, one for each --judge in order; judges.csv says the cost."
    ),
    judge_tokens: o.JudgeTokens = None,
    judge_timeout: o.JudgeTimeout = None,
    definitions: o.Definitions = None,
    ood: str = typer.Option(
        "stated", "--ood", help="How OOD is decided: stated, procedure, template, either or center."
    ),
    train_requests: o.TrainRequests = [],
    train_references: o.TrainReferences = [],
    missing: list[str] = typer.Option(
        [],
        "--missing",
        help="STATUS=RULE for questions without a verdict, as in other verbs (not_judged=worst, "
        "judge_abstained=drop-score, ...); error refuses questions without response. May be repeated.",
    ),
    context: o.Context = "30,300",
    method: o.Method = "auto",
    boot: o.Boot = 1000,
    seed: o.Seed = 42,
    as_json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Score the answers of one model against the references."""
    from surgeval.scoring.run import score as run

    new_folder(out, force=force)
    try:
        with asking_line("judging") as meter:
            result = run(
                requests, references, responses, model=model, profile=profile, track=track, max_latency_s=max_latency,
                judges=judge, store=store, quorum=quorum, prices=price, judge_tokens=judge_tokens,
                judge_timeout_s=judge_timeout, max_judge_failures=max_judge_failures, definitions=definitions, ood=ood,
                train_requests=train_requests or None, train_references=train_references or None,
                missing=missing or None, context_s=read_numbers("--context", context), method=method, replicates=boot,
                seed=seed, progress=meter,
            )  # fmt: skip
    except KeyboardInterrupt:
        talk(f"interrupted, {meter.line() or 'nothing asked'}; verdicts are kept in {store}: run again to go on")
        raise typer.Exit(130) from None
    deliver(result, out=out, as_json=as_json, force=force)
    if result.lint.findings and not as_json:
        emit(f"{len(result.lint.findings)} findings about the files: see lint.json, or run surgeval lint")
    if any(finding.severity is Severity.ERROR for finding in result.findings):
        raise typer.Exit(1)
