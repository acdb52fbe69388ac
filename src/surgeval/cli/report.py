"""`surgeval report`: one page of everything a folder of results holds."""

from __future__ import annotations

from pathlib import Path

import typer

from surgeval.cli import _options as o
from surgeval.cli._console import emit, emit_json, progress_bar, talk
from surgeval.cli._deliver import manifest_path
from surgeval.cli._tables import read_better, read_columns
from surgeval.errors import Misuse, WouldOverwrite
from surgeval.results.manifest import write_manifest
from surgeval.schema.findings import Severity


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("report", help="Make one page (HTML, and PDF where wanted) of everything a folder of results holds.")(
        report
    )


def report(
    source: Path = typer.Argument(
        ..., metavar="DIR", help="Folder with what score, rank, failures, ... wrote; or a score table (CSV, Parquet)."
    ),
    out: Path = typer.Option(Path("report.html"), "--out", help="The page to write; one file that needs nothing else."),
    pdf: o.Pdf = False,
    template: str | None = typer.Option(
        None, "--template", help="challenge, single or study; chosen by what DIR holds when left out."
    ),
    title: str | None = typer.Option(None, "--title", help="The heading; the folder's name when left out."),
    columns: o.Columns = "",
    better: o.Better = None,
    missing: o.Missing = None,
    as_json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Make one page of everything a folder of results holds."""
    from surgeval.report.report import make_report
    from surgeval.report.templates import TEMPLATES

    targets = [out, *([out.with_suffix(".pdf")] if pdf else [])]
    record = manifest_path(out)
    _check([*targets, record], force=force)
    steps = max(len(kind.sections) for kind in TEMPLATES.values()) + 1 + len(targets)
    with progress_bar("writing the report", steps) as step:
        made = make_report(
            source, template=template, title=title, columns=read_columns(columns) or None, better=read_better(better),
            missing=missing or None, progress=step,
        )  # fmt: skip
        made.to_html(out)
        step(1)
        if pdf:
            made.to_pdf(targets[1])
            step(1)
    write_manifest(record, made.manifest)
    for finding in made.inputs.findings:
        talk(f"{'note' if finding.severity is Severity.NOTE else 'left out'}: {finding.message}")
    if as_json:
        emit_json(
            {
                "written": [str(path) for path in targets],
                "manifest": str(record),
                "template": made.template.name,
                "title": made.title,
                "sections": [section.name for section in made.sections],
                "missing": made.missing,
                "limitations": made.limitations,
                "left_out": [f.message for f in made.inputs.findings if f.severity is not Severity.NOTE],
                "notes": [f.message for f in made.inputs.findings if f.severity is Severity.NOTE],
            }
        )
        return
    for text in made.missing:
        talk(f"not here: {text}")
    for path in targets:
        emit(str(path))


def _check(targets: list[Path], *, force: bool) -> None:
    if targets[0].suffix.lower() not in (".html", ".htm"):
        raise Misuse(f"--out {targets[0]}: a report is an .html file; --pdf writes a PDF beside it")
    if not targets[0].parent.is_dir():
        raise Misuse(f"--out {targets[0]}: folder {targets[0].parent} does not exist")
    for path in targets:
        if path.is_dir():
            raise Misuse(f"--out {path} is a folder; name a file in it")
        if path.exists() and not force:
            raise WouldOverwrite(path)
