"""`surgeval score`: answers and references in, results with intervals out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from surgeval.cli import _options as o
from surgeval.cli._console import emit, new_folder, progress_bar, talk
from surgeval.cli._deliver import deliver
from surgeval.schema.findings import Severity


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("score", help="Score the answers of one model against the references.")(score)


def score(
    requests: o.Requests,
    references: o.References,
    responses: o.Responses,
    out: o.Out = None,
    model: o.Model = "model",
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
    method: o.Method = "auto",
    boot: o.Boot = 1000,
    seed: o.Seed = 42,
    as_json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Score the answers of one model against the references."""
    from surgeval.scoring.run import score as run

    new_folder(out, force=force)
    with progress_bar("judging") as step, _told_when_interrupted(step, store) as counted:
        result = run(
            requests, references, responses, model=model, profile=profile, track=track, max_latency_s=max_latency,
            judges=judge, store=store, quorum=quorum, prices=price, definitions=definitions, ood=ood,
            train_requests=train_requests or None, train_references=train_references or None,
            max_judge_failures=max_judge_failures, missing=missing or None, method=method, replicates=boot, seed=seed,
            progress=counted,
        )  # fmt: skip
    deliver(result, out=out, as_json=as_json, force=force)
    if result.lint.findings and not as_json:
        emit(f"{len(result.lint.findings)} findings about the files: see lint.json, or run surgeval lint")
    if any(finding.severity is Severity.ERROR for finding in result.findings):
        raise typer.Exit(1)


@contextmanager
def _told_when_interrupted(step: Callable[[int], None], store: Path) -> Iterator[Callable[[int], None]]:
    """The step with a count behind it: who interrupts the run is told what was judged and where it is kept."""
    judged = 0

    def counted(by: int) -> None:
        nonlocal judged
        judged += by
        step(by)

    try:
        yield counted
    except KeyboardInterrupt:
        talk(f"interrupted after {judged} judged answers; verdicts that came are kept in {store}, run again to go on")
        raise typer.Exit(130) from None
