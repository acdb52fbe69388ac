"""`surgeval questions`: a benchmark from annotated procedures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surgeval.cli import _options as o
from surgeval.cli._annotations import about_files
from surgeval.cli._console import new_folder, progress_bar, talk
from surgeval.cli._deliver import deliver

if TYPE_CHECKING:
    from surgeval.datasets import About
    from surgeval.schema.tracks import Procedure


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("questions")(questions_verb)


def questions_verb(
    annotations: Annotated[
        list[Path], typer.Argument(help="Procedure files (JSON), folders of them, or files of annotation tools.")
    ],
    out: o.OutNeeded,
    track: list[str] | None = typer.Option(None, help="frame, segment or procedure; may be repeated. Default: all."),
    per_video: int = typer.Option(100, help="Questions wanted per video and track."),
    test_share: float = typer.Option(0.3, help="Share of the patients that are for testing."),
    ood_procedure: list[str] | None = typer.Option(None, help="Procedure type for testing only; may be repeated."),
    ood_center: list[str] | None = typer.Option(None, help="Centre for testing only; may be repeated."),
    ood_template: list[str] | None = typer.Option(None, help="Template for testing only; may be repeated."),
    most_common: float = typer.Option(0.5, help="Largest share of one answer within a template or wording."),
    duplicates: float = typer.Option(0.02, help="Largest share of near-duplicates."),
    blind: float = typer.Option(0.25, help="Largest share of times that are right without looking."),
    annotated: o.WhatAnnotated = None,
    history: o.ReviewHistory = None,
    unverified: bool = typer.Option(False, "--unverified", help="Use instances that nobody confirmed, and mark them."),
    definitions: o.Definitions = None,
    matching: bool = typer.Option(False, "--matching", help="Ask questions of the format 'matching' too."),
    procedure_type: o.ProcedureType = None,
    center: o.Center = None,
    fps: o.Fps = None,
    size: o.Size = None,
    video: o.Film = None,
    video_name: o.VideoName = None,
    stills: o.Stills = False,
    seed: o.Seed = 42,
    as_json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Make questions with reference answers that can be proved from the annotations."""
    from surgeval.questions.make import make_questions
    from surgeval.schema.procedure_files import procedure_paths

    about = about_files(
        annotations, fps=fps, size=size, video=video, video_name=video_name, stills=stills,
        procedure_type=procedure_type, center=center,
    )  # fmt: skip
    files, imported = _imported(annotations, about)
    paths = procedure_paths(files)
    new_folder(out, force=force)
    paths += _kept(imported, out / "annotations")
    with progress_bar("drafting questions", len(paths)) as step:
        made = make_questions(
            paths,
            tracks=track,
            per_video=per_video,
            test_share=test_share,
            ood_procedures=ood_procedure or (),
            ood_centers=ood_center or (),
            ood_templates=ood_template or (),
            most_common_share=most_common,
            duplicate_share=duplicates,
            blind_share=blind,
            annotated=annotated or (),
            history=history,
            unverified=unverified,
            objects=definitions,
            matching=matching,
            seed=seed,
            progress=step,
        )
    deliver(made, out=out, as_json=as_json, force=force)


def _imported(annotations: list[Path], about: About) -> tuple[list[Path], list[Procedure]]:
    """The sources that are procedure files already, and what files of annotation tools hold, joined by video."""
    from surgeval.datasets import join_procedures, read_annotations, recognised_tool

    files, imported = [], []
    for path in annotations:
        tool = recognised_tool(path) if path.exists() else None
        if tool is None:
            files.append(path)
            continue
        procedures, findings = read_annotations(path, tool=tool, about=about)
        imported += procedures
        for finding in findings:
            talk(str(finding))
    return files, join_procedures(imported)


def _kept(procedures: list[Procedure], folder: Path) -> list[Path]:
    """Paths of the procedures, written as files so that the manifest can name what the questions rest on."""
    from surgeval.schema.procedure_files import write_procedure

    if procedures:
        folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{number:04d}.json" for number, _ in enumerate(procedures, start=1)]
    for path, procedure in zip(paths, procedures, strict=True):
        write_procedure(procedure, path)
    return paths
