"""`surgeval floors`: how far systems come that never look at the video."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import typer

from surgeval.cli import _options as o
from surgeval.cli._console import emit_json, emit_table, new_folder, talk

SHORT = {
    "constant-per-format": "format",
    "constant-per-template": "template",
    "constant-per-template-and-procedure": "+procedure",
    "text-prior": "text",
    "oracle-constant-per-format": "oracle:format",
    "oracle-constant-per-template": "oracle:template",
    "oracle-constant-per-template-and-procedure": "oracle:+procedure",
}
"""Column headings that fit a terminal."""


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("floors")(floors_verb)


def floors_verb(
    requests: o.Requests,
    references: o.References,
    train_requests: o.TrainRequests = [],
    train_references: o.TrainReferences = [],
    results: list[Path] | None = typer.Option(None, help="Output of `surgeval score`: print margins. May be repeated."),
    definitions: o.Definitions = None,
    seed: o.Seed = 42,
    out: o.Out = None,
    as_json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Score constant answers and a text-only prior, and the margin of your models over them."""
    from surgeval.schema.foreign_objects import read_definitions
    from surgeval.schema.score_table import read_score_table
    from surgeval.scoring.floors import FILES, floors
    from surgeval.scoring.margins import margins

    names = tuple(kind.name for kind in read_definitions(definitions)) if definitions else None
    table = read_score_table(results) if results else None
    folder = new_folder(out, force=force, files=FILES) if out else None
    found = floors(
        requests,
        references,
        train_requests=train_requests or None,
        train_references=train_references or None,
        class_names=names,
        seed=seed,
    )
    margin_table = margins(found, table) if table else None
    if folder:
        found.to_dir(folder)
        if margin_table is not None:
            margin_table.write_csv(folder / "margins.csv")
        talk(f"written to {folder}")
    if as_json:
        emit_json(found.as_dict() | ({} if margin_table is None else {"margins": margin_table.to_dicts()}))
        return
    for note in found.notes:
        talk(f"note: {note}")
    emit_table(found.wide.rename(SHORT), title=f"Floors (fit: {found.fit}); oracle = fitted in hindsight, a bound")
    _print_templates(found.templates, found.unseen)
    if margin_table is not None:
        emit_table(margin_table, title="\nMargin of each model over the best floor of the slice")


def _print_templates(templates: pl.DataFrame, unseen: pl.DataFrame) -> None:
    single = templates.filter("single_answer")
    repeated = single.filter(pl.col("questions") > 1)
    facts = pl.DataFrame(
        {
            "templates": ["all", "single possible answer", "of these, asked more than once"],
            "count": [templates.height, single.height, repeated.height],
            "questions": [int(frame["questions"].sum()) for frame in (templates, single, repeated)],
        }
    )
    emit_table(facts, title="\nTemplates")
    if not unseen.is_empty():
        emit_table(unseen, title="\nQuestions whose template the training set never shows")
