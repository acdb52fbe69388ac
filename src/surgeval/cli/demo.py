"""`surgeval demo`: the whole chain on a small bundled question set."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import typer

from surgeval.cli._console import emit, emit_table, new_folder, talk


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("demo", help="Score two models on a small bundled question set and print the board.")(demo)


def demo(
    out: Path = typer.Option(Path("demo-out"), "--out", help="Folder for everything the demo writes."),
    seed: int = typer.Option(42, "--seed", help="Seed of the simulated answers and of the random streams."),
    force: bool = typer.Option(False, "--force", help="Overwrite an earlier demo."),
) -> None:
    """Score two models on a small bundled question set and print the board."""
    from surgeval.cli._demo_questions import MODELS, answers, questions
    from surgeval.schema.rows import write_json_rows
    from surgeval.scoring.run import score

    new_folder(out, force=force, files=("requests.json",))
    requests, references = questions()
    write_json_rows((r.as_row() for r in requests), out / "requests.json")
    write_json_rows((r.as_row() for r in references), out / "references.json")
    boards = []
    for model in MODELS:
        path = out / f"{model}.json"
        write_json_rows((r.as_row() for r in answers(model, requests, references, seed=seed)), path)
        result = score(
            out / "requests.json",
            out / "references.json",
            path,
            model=model,
            track="segment",
            judges=["exact"],
            seed=seed,
        )
        result.to_dir(out / model)
        boards.append(result.summary.filter(pl.col("estimand") == "rows").with_columns(pl.lit(model).alias("model")))
        for warning in result.warnings:
            if warning.code not in ("tiny-bucket", "unpopulated-bucket"):
                talk(f"{model}: {warning.message}")
    _show(pl.concat(boards))
    talk(f"everything is in {out}: answer files, results, summaries, score tables")


def _show(board: pl.DataFrame) -> None:
    cells = board.filter(pl.col("level").is_in(["headline", "bucket", "overall"])).with_columns(
        pl.struct("accuracy", "ci_low", "ci_high").map_elements(_interval, return_dtype=pl.String).alias("cell")
    )
    wide = cells.pivot(on="model", index=["level", "name", "videos"], values="cell", aggregate_function="first")
    emit("Accuracy with 95 % intervals that resample whole videos (estimand: questions)")
    emit_table(wide)


def _interval(row: dict[str, float]) -> str:
    return f"{row['accuracy']:.2f} [{row['ci_low']:.2f}, {row['ci_high']:.2f}]"
