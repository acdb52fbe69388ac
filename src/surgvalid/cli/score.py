"""`surgvalid score`: answers scored, linted, compared with trivial baselines and with each other; judges measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import typer

from surgvalid.cli._console import asking_line, deliver, emit, emit_json, emit_table, new_folder, talk
from surgvalid.schema.findings import Severity
from surgvalid.schema.shown_text import visible

if TYPE_CHECKING:
    from surgvalid.judges import CheckReport, Judge


def score(
    requests: list[str],
    references: list[str],
    responses: list[str],
    out: Path | None,
    json: bool,
    force: bool,
    judge: list[str],
    store: Path,
    **asked: Any,
) -> None:
    """Score the answers of one model against the references."""
    from surgvalid.scoring.run import score as run

    new_folder(out, force=force)
    try:
        with asking_line("judging") as meter:
            result = run(requests, references, responses, judges=judge, store=store, progress=meter, **asked)
    except KeyboardInterrupt:
        talk(f"interrupted, {meter.line() or 'nothing asked'}; verdicts are kept in {store}: run again to go on")
        raise typer.Exit(130) from None
    deliver(result, out=out, as_json=json, force=force)
    if result.lint.findings and not json:
        emit(f"{len(result.lint.findings)} findings about the files: see lint.json, or run surgvalid score lint")
    if any(finding.severity is Severity.ERROR for finding in result.findings):
        raise typer.Exit(1)


def lint_files(
    requests: list[str],
    responses: list[str],
    references: list[str] | None,
    definitions: Path | None,
    out: Path | None,
    json: bool,
    force: bool,
) -> None:
    """List everything that is wrong with an answer file. Never stops on what the file contains.

    Exit code 0: clean, or notes only. 1: errors or warnings. 2: misuse.
    """
    from surgvalid.scoring.lint import lint

    new_folder(out, force=force)
    report = lint(requests, responses, references, definitions=definitions)
    if out is not None:
        report.to_dir(out, force=force)
        talk(f"written to {out}")
    if json:
        emit_json(report.as_dict())
    else:
        emit(report.summary())
    raise typer.Exit(0 if report.clean else 1)


def baselines(
    requests: list[str],
    references: list[str],
    definitions: Path | None,
    out: Path | None,
    json: bool,
    force: bool,
    **asked: Any,
) -> None:
    """Score constant answers and a text-only prior, and the margin of your models over them."""
    from surgvalid.schema.procedures.foreign_objects import read_definitions
    from surgvalid.scoring.trivial_baselines import trivial_baselines

    names = tuple(kind.name for kind in read_definitions(definitions)) if definitions else None
    new_folder(out, force=force)
    result = trivial_baselines(requests, references, class_names=names, **asked)
    deliver(result, out=out, as_json=json, force=force)


def diff_verb(results_a: Path, results_b: Path, out: Path | None, json: bool, force: bool) -> None:
    """Show flipped verdicts, regrouped questions and what moved each number. Exit 1 if anything differs.

    Of two folders of questions: those that are no longer asked, corrected or new, by whom and why.
    """
    from surgvalid.questions.release import release_changes
    from surgvalid.results.result import Result
    from surgvalid.scoring.diff import diff

    new_folder(out, force=force)
    if all(any(folder.glob("*/*/requests.json")) for folder in (results_a, results_b)):
        changes = Result(tables={"changes": release_changes(results_a, results_b)})
        deliver(changes, out=out, as_json=json, force=force)
        raise typer.Exit(int(changes.table.height > 0))
    result = diff(results_a, results_b)
    if not json:
        emit(result.title)
    deliver(result, out=out, as_json=json, force=force)
    raise typer.Exit(0 if result.equal else 1)


_SHOWN_LETTERS = 60


def check(
    judge: list[str],
    min_accuracy: float,
    store: Path | None,
    judge_tokens: int | None,
    judge_timeout_s: float | None,
    json: bool,
) -> None:
    """Run gold pairs and canaries against judges; exit 1 if one is not fit for use."""
    from surgvalid.judges import check_size, open_judges, side_by_side

    reports = [_checked(one, store) for one in open_judges(judge, tokens=judge_tokens, timeout_s=judge_timeout_s)]
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
    from surgvalid.judges import CheckInterrupted, VerdictStore, check_judge, check_size

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


def calibrate(files: list[Path], gold: Path, json: bool) -> None:
    """Hold judges against people: sensitivity, specificity, and the share of right answers corrected for them."""
    from surgvalid.judges import calibrate as run

    deliver(run(gold, files), out=None, as_json=json)


def agreement(files: list[Path], json: bool, limit: int = 50) -> None:
    """Show how far judges agree: percent agreement, kappa, and the answers they disagree on."""
    from surgvalid.judges import agreement_of

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
