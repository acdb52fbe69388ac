"""`surgvalid report`: one page of a folder of results, written or served here, and the supplement of a paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from surgvalid.cli._console import agreed, deliver, emit, emit_json, manifest_path, new_folder, progress_bar, talk
from surgvalid.cli._waiting import held
from surgvalid.errors import Misuse, WouldOverwrite
from surgvalid.results.manifest import write_manifest
from surgvalid.results.reading import folders_without_results
from surgvalid.schema.findings import Severity

PAGE = "report.html"
_WARNING = "Warning: {folder} holds {count:,} frames of operations (patient images); pass it on only if you may"


def report(
    source: Path,
    out: Path | None,
    pdf: bool,
    short: bool | None,
    frames: bool,
    images: Path | None,
    json: bool,
    force: bool,
    columns: dict[str, str],
    **asked: Any,
) -> None:
    """Make one page of everything a folder of results holds."""
    from surgvalid.report.pdf import printing_browser
    from surgvalid.report.report import make_report
    from surgvalid.report.templates import TEMPLATES

    out = _page(out or Path(PAGE))
    targets = [out, *([out.with_suffix(".pdf")] if pdf else [])]
    record = manifest_path(out)
    _check([*targets, record], force=force)
    _check_images(images, frames=frames)
    _check_tree(source)
    if pdf:
        printing_browser()
    steps = max(len(kind.sections) for kind in TEMPLATES.values()) + 1 + len(targets)
    with progress_bar("writing the report", steps) as step:
        made = make_report(source, columns=columns or None, progress=step, **asked)
        made = made.shortened() if short else made
        out.parent.mkdir(parents=True, exist_ok=True)
        written = made.to_html_with_frames(out, images=images) if frames else (made.to_html(out), None, 0)
        step(1)
        if pdf:
            made.to_pdf(targets[1], full=short is False)
            step(1)
    manifest = made.manifest
    write_manifest(record, manifest)
    interpreted = [line["sentence"] for line in manifest["interpreted"]]
    for sentence in interpreted:
        talk(f"interpreted: {sentence}")
    if written[1] is not None:
        talk(_WARNING.format(folder=written[1], count=written[2]))
    for finding in made.inputs.findings:
        talk(f"{'note' if finding.severity is Severity.NOTE else 'left out'}: {finding.message}")
    if json:
        emit_json(
            {
                "written": [str(path) for path in targets],
                "manifest": str(record),
                "template": made.template.name,
                "title": made.title,
                "interpreted": interpreted,
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


def serve(source: Path, images: Path | None, template: str | None, title: str | None, port: int = 0) -> None:
    """Show the page with its frames in a browser on this machine; nothing leaves it."""
    from surgvalid.report.report import make_report
    from surgvalid.report.serving import ReportServer

    _check_images(images, frames=True)
    _check_tree(source)
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
        raise Misuse("--images: images are shown only where frames are asked for; add --with frames")


def _check_tree(source: Path) -> None:
    """Ask before a tree is read that looks like no project's; refuse it where nobody agrees."""
    if source.is_dir() and (count := folders_without_results(source)):
        unrecognised = f"{source}: no result of surgvalid in its first {count} folders"
        if not agreed(f"{unrecognised}. Read everything below it?"):
            raise Misuse(f"{unrecognised}; name the folder that holds the results")


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


def supplement(folders: list[Path], out: Path, title: str | None, json: bool, force: bool, **asked: Any) -> None:
    """Everything that a paper's supplement says about scored models: tables, figures and one page."""
    from surgvalid.studies.supplement.supplement import SECTIONS
    from surgvalid.studies.supplement.supplement import supplement as work

    new_folder(out, force=force)
    with progress_bar("analysing", len(SECTIONS)) as step:
        result = work([str(folder) for folder in folders], title=title or "Supplement", progress=step, **asked)
    deliver(result, out=out, as_json=json, force=force)
