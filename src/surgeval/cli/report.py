"""`surgeval report`: one page of everything a folder of results holds, written or served on this machine."""

from __future__ import annotations

from pathlib import Path

import typer

from surgeval.cli import _options as o
from surgeval.cli._console import emit, emit_json, progress_bar, talk
from surgeval.cli._default_verb import group_around
from surgeval.cli._deliver import manifest_path
from surgeval.cli._tables import read_better, read_columns
from surgeval.cli._waiting import held
from surgeval.errors import Misuse, WouldOverwrite
from surgeval.results.manifest import write_manifest
from surgeval.schema.findings import Severity

PAGE = "report.html"
_ABOUT = "Make one page (HTML, and PDF where wanted) of everything a folder of results holds."
_WARNING = "Warning: {folder} holds {count:,} frames of operations (patient images); pass it on only if you may"


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    group = typer.Typer(help=f"{_ABOUT} `make` may be left out.", no_args_is_help=True, cls=group_around("make"))
    group.callback()(_report)
    group.command("make", help=_ABOUT)(report)
    group.command("serve", help="Show the page with its frames in a browser on this machine; nothing leaves it.")(serve)
    app.add_typer(group, name="report")


def _report() -> None:
    """Make one page of everything a folder of results holds, or show it."""


_SOURCE = typer.Argument(
    ..., metavar="DIR", help="Folder with what score, rank, failures, ... wrote; or a score table (CSV, Parquet)."
)
_TEMPLATE = typer.Option(None, "--template", help="challenge, single or study; chosen by what DIR holds when left out.")
_IMAGES = typer.Option(
    None,
    "--images",
    help="Folder of the images that evaluated predictions are about, under the names that they have there.",
    show_default=False,
)
_TITLE = typer.Option(None, "--title", help="The heading; the folder's name when left out.")


def report(
    source: Path = _SOURCE,
    out: Path = typer.Option(Path(PAGE), "--out", help=f"The page to write (.html), or a folder for {PAGE}."),
    pdf: o.Pdf = False,
    short: bool | None = typer.Option(
        None,
        "--short/--full",
        help="What is left out: --short keeps to verdict, main figures, limitations and methods on the page too; --full"
        " prints everything. By default the page has all and the PDF is short.",
        show_default=False,
    ),
    frames: bool = typer.Option(
        False, "--with-frames", help="Write frames of wrong answers into a folder beside the page: patient images!"
    ),
    images: Path | None = _IMAGES,
    template: str | None = _TEMPLATE,
    title: str | None = _TITLE,
    columns: o.Columns = "",
    better: o.Better = None,
    missing: o.Missing = None,
    as_json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Make one page of everything a folder of results holds."""
    from surgeval.report.report import check_extras, make_report
    from surgeval.report.templates import TEMPLATES

    out = _page(out)
    targets = [out, *([out.with_suffix(".pdf")] if pdf else [])]
    record = manifest_path(out)
    _check([*targets, record], force=force)
    _check_images(images, frames=frames)
    check_extras(pdf=pdf)
    steps = max(len(kind.sections) for kind in TEMPLATES.values()) + 1 + len(targets)
    with progress_bar("writing the report", steps) as step:
        made = make_report(
            source, template=template, title=title, columns=read_columns(columns) or None, better=read_better(better),
            missing=missing or None, progress=step,
        )  # fmt: skip
        made = made.shortened() if short else made
        out.parent.mkdir(parents=True, exist_ok=True)
        written = made.to_html_with_frames(out, images=images) if frames else (made.to_html(out), None, 0)
        step(1)
        if pdf:
            made.to_pdf(targets[1], full=short is False)
            step(1)
    write_manifest(record, made.manifest)
    if written[1] is not None:
        talk(_WARNING.format(folder=written[1], count=written[2]))
    for finding in made.inputs.findings:
        talk(f"{'note' if finding.severity is Severity.NOTE else 'left out'}: {finding.message}")
    if as_json:
        emit_json(
            {
                "written": [str(path) for path in targets],
                "manifest": str(record),
                "template": made.template.name,
                "title": made.title,
                "verdict": made.sections[0].title,
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


def serve(
    source: Path = _SOURCE,
    port: int = typer.Option(0, "--port", help="Of 127.0.0.1; 0 takes a free one.", show_default=False),
    images: Path | None = _IMAGES,
    template: str | None = _TEMPLATE,
    title: str | None = _TITLE,
) -> None:
    """Show the page with its frames in a browser on this machine; nothing leaves it."""
    from surgeval.report.report import check_extras, make_report
    from surgeval.report.serving import ReportServer

    _check_images(images, frames=True)
    check_extras()
    with progress_bar("making the report") as step:
        report = make_report(source, template=template, title=title, progress=step)
        server = ReportServer(report, port=port, images=images)
    emit(server.address)
    talk("The page shows patient images; its address works on this machine alone. Ctrl-C ends it.")
    try:
        with held():
            server.serve_forever()
    except KeyboardInterrupt:
        talk("ended")
    finally:
        server.server_close()


def _check_images(images: Path | None, *, frames: bool) -> None:
    """Refuse a folder of images that is none, or that nothing would be shown of."""
    if images is None:
        return
    if not images.is_dir():
        raise Misuse(f"--images {images}: no such folder")
    if not frames:
        raise Misuse("--images: images are shown only where frames are asked for; add --with-frames")


def _page(out: Path) -> Path:
    """The page that `--out` asks for: the file, or `report.html` in a folder."""
    return out / PAGE if out.is_dir() or not out.suffix else out


def _check(targets: list[Path], *, force: bool) -> None:
    if targets[0].suffix.lower() not in (".html", ".htm"):
        raise Misuse(f"--out {targets[0]}: a report is an .html file; --pdf writes a PDF beside it")
    if targets[0].name != PAGE and not targets[0].parent.is_dir():
        raise Misuse(f"--out {targets[0]}: folder {targets[0].parent} does not exist")
    for path in targets:
        if path.is_dir():
            raise Misuse(f"--out {path} is a folder; name a file in it")
        if path.exists() and not force:
            raise WouldOverwrite(path)
