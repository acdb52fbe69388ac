"""`surgeval questions`: a benchmark from annotated procedures."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import typer

from surgeval.cli._console import emit_json, emit_table, new_folder, progress_bar, talk


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("questions")(questions_verb)


def questions_verb(
    annotations: list[Path] = typer.Argument(..., help="Procedure files (JSON) or folders of them."),
    out: Path = typer.Option(..., help="Folder for SPLIT/TRACK/ with questions, and the data card."),
    track: list[str] | None = typer.Option(None, help="frame, segment or procedure; may be repeated. Default: all."),
    per_video: int = typer.Option(60, help="Questions wanted per video and track."),
    test_share: float = typer.Option(0.3, help="Share of the patients that are for testing."),
    ood_procedure: list[str] | None = typer.Option(None, help="Procedure type for testing only; may be repeated."),
    ood_center: list[str] | None = typer.Option(None, help="Centre for testing only; may be repeated."),
    ood_template: list[str] | None = typer.Option(None, help="Template for testing only; may be repeated."),
    most_common: float = typer.Option(0.5, help="Largest share of one answer within a template."),
    duplicates: float = typer.Option(0.02, help="Largest share of near-duplicates."),
    definitions: Path | None = typer.Option(None, help="Foreign-object definitions (text or JSON)."),
    seed: int = typer.Option(0, help="Equal seeds give equal questions."),
    as_json: bool = typer.Option(False, "--json", help="Print the data card as JSON."),
    force: bool = typer.Option(False, "--force", help="Overwrite what is in --out."),
) -> None:
    """Make questions with reference answers that can be proved from the annotations."""
    from surgeval.questions.make import make_questions
    from surgeval.schema.foreign_objects import FOREIGN_OBJECTS, read_definitions
    from surgeval.schema.procedure_files import procedure_paths

    paths = procedure_paths(annotations)
    new_folder(out, force=force, files=("manifest.json", "data_card.json"))
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
            objects=read_definitions(definitions) if definitions else FOREIGN_OBJECTS,
            seed=seed,
            progress=step,
        )
    made.to_dir(out)
    talk(f"written to {out}")
    for defect in made.card.defects:
        talk(f"note: {defect}")
    if as_json:
        emit_json(made.card.as_dict())
        return
    counted = made.card.counts.group_by("split", "track", maintain_order=True).agg(pl.col("questions").sum())
    emit_table(counted, title=f"{len(made.questions)} questions from {made.card.videos.height} videos")
    floors = pl.DataFrame({"floor": list(made.card.floors), "accuracy": list(made.card.floors.values())})
    emit_table(floors, title="\nWhat systems reach that never look")
