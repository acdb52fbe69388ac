"""`surgeval judge`: measure a judge before believing it, and judges against each other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import typer

from surgeval.cli import _options as o
from surgeval.cli._console import asking_line, emit, emit_json, emit_table, talk
from surgeval.cli._deliver import deliver
from surgeval.schema.shown_text import visible

if TYPE_CHECKING:
    from surgeval.judges import CheckReport, Judge

_SHOWN_LETTERS = 60


def register(app: typer.Typer) -> None:
    """Add the verb."""
    judge = typer.Typer(help="Measure judges of free text.", no_args_is_help=True)
    judge.command("check")(check)
    judge.command("calibrate")(calibrate)
    judge.command("agreement")(agreement)
    app.add_typer(judge, name="judge")


def check(
    judge: list[str] = typer.Option(..., "--judge", help="One of {judges}. Several are laid side by side."),
    min_accuracy: float = typer.Option(
        0.9, "--min-accuracy", min=0.0, max=1.0, help="Least accuracy on the gold pairs."
    ),
    store: Path | None = typer.Option(
        None,
        "--store",
        help="Folder that keeps verdicts, so that an interrupted check goes on. Default: all is asked now.",
    ),
    judge_tokens: o.JudgeTokens = None,
    judge_timeout: o.JudgeTimeout = None,
    json: o.Json = False,
) -> None:
    """Run gold pairs and canaries against judges; exit 1 if one is not fit for use."""
    from surgeval.judges import check_size, open_judges, side_by_side

    reports = [_checked(one, store) for one in open_judges(judge, tokens=judge_tokens, timeout_s=judge_timeout)]
    data = [r.as_dict() | {"min_accuracy": min_accuracy, "fit": r.passes(min_accuracy)} for r in reports]
    if json:
        emit_json(data[0] if len(data) == 1 else data)
    else:
        for report in reports:
            _show(report, min_accuracy)
        emit("")
        emit_table(side_by_side(reports), title="rates with 95 % intervals")
    for report in reports:
        if failures := report.failures:
            talk(f"{report.judge}: {len(failures)} of {check_size()} cases got no answer (first: {failures[0]})")
        talk(f"{report.judge}: {'fit for use' if report.passes(min_accuracy) else 'NOT fit for use'}")
    if not all(report.passes(min_accuracy) for report in reports):
        raise typer.Exit(1)


def _checked(judge: Judge, store: Path | None) -> CheckReport:
    """The report on a judge; who interrupts it is shown what was answered."""
    from surgeval.judges import CheckInterrupted, VerdictStore, check_judge, check_size

    try:
        with asking_line(f"asking {judge.name}") as meter:
            report = check_judge(judge, store=None if store is None else VerdictStore(store), progress=meter)
    except CheckInterrupted as interrupted:
        heard = interrupted.report
        emit_table(
            heard.rates, title=f"judge {judge.name}, interrupted after {len(heard.checked)} of {check_size()} cases"
        )
        kept = "name --store to keep answers" if store is None else f"answers are kept in {store}: run again to go on"
        talk(f"interrupted, so nothing is said about its fitness; {kept}")
        raise typer.Exit(130) from None
    if meter.reused:
        talk(f"{judge.name}: {meter.reused} of {check_size()} verdicts are those of {store}, not of now")
    return report


def _show(report: CheckReport, min_accuracy: float) -> None:
    emit_table(report.table, title=f"judge {report.judge}")
    if report.surprises.height:
        emit("")
        emit_table(_shortened(report.surprises), title="went otherwise than it should")
    emit("")
    emit(f"gold accuracy {report.gold_accuracy:.3f} (at least {min_accuracy:g} wanted)")
    emit(f"canaries accepted {report.accepted_canaries} (none may be)")


def calibrate(
    files: list[Path] = typer.Argument(..., help="Verdict files (JSON Lines) or stores (folders) of judges."),
    gold: Path = typer.Option(..., "--people", help="Verdict file of people: the same fields, true or false."),
    json: o.Json = False,
) -> None:
    """Hold judges against people: sensitivity, specificity, and the share of right answers corrected for them."""
    from surgeval.judges import calibrate as run

    deliver(run(gold, files), out=None, as_json=json)


def agreement(
    files: list[Path] = typer.Argument(..., help="Verdict files (JSON Lines) or stores (folders)."),
    limit: int = typer.Option(50, "--limit", min=0, help="Disagreements printed; --json prints all."),
    json: o.Json = False,
) -> None:
    """Show how far judges agree: percent agreement, kappa, and the answers they disagree on."""
    from surgeval.judges import agreement_of

    result = agreement_of(files)
    for problem in result.problems:
        talk(f"set aside, {problem}")
    if json:
        emit_json(result.as_dict())
        return
    emit_table(result.table, title="agreement of each pair (answers with an opinion of both)")
    if len(result.judges) > 2:
        kappa = "undefined" if result.fleiss is None else f"{result.fleiss:.3f}"
        emit(f"\nFleiss' kappa of all {len(result.judges)} judges: {kappa} ({result.complete} answers)")
    count = result.disagreements.height
    emit("")
    emit_table(_shortened(result.disagreements.head(limit)), title=f"disagreements: {count}")
    if count > limit:
        talk(f"{count - limit} more disagreements; pass --limit or --json to see them")


def _shortened(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with long texts cut and invisible characters made visible, fit for a terminal."""
    texts = [
        pl.col(name).map_elements(_short, return_dtype=pl.String)
        for name, kind in frame.schema.items()
        if kind == pl.String
    ]
    return frame.with_columns(texts)


def _short(text: str) -> str:
    shown = visible(text).replace("\n", "\\n").replace("\t", "\\t")
    return shown if len(shown) <= _SHOWN_LETTERS else f"{shown[: _SHOWN_LETTERS - 3]}..."
