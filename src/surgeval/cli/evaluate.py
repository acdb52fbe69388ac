"""`surgeval evaluate KIND`: predictions against references, with intervals over videos."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from surgeval.cli._console import emit, emit_json, emit_table, new_folder, talk
from surgeval.cli._tables import BootOption, ForceOption, JsonOption, LevelOption, SeedOption, names_in, read_columns
from surgeval.errors import Misuse

_TABLE = "CSV, TSV, Parquet, JSON or JSON Lines"
OutOption = Annotated[Path | None, typer.Option("--out", help="Folder for the tables, conventions and manifest.")]
ModelOption = Annotated[str, typer.Option("--model", help="What the model is called in the score table.")]
MetricsOption = Annotated[
    list[str] | None, typer.Option("--metric", help="A metric of 'surgeval list metrics'; may be repeated.")
]
ByOption = Annotated[str, typer.Option("--by", metavar="COL,...", help="Report every value of these columns.")]
ClassesOption = Annotated[
    str, typer.Option("--classes", metavar="A,B,...", help="The declared classes; taken from the data if left out.")
]
ColumnsOption = Annotated[
    str, typer.Option("--columns", metavar="OURS=THEIRS,...", help="Your column names, such as reference=label.")
]
VideoOption = Annotated[str, typer.Option("--video-column", help="The column or key that names the video.")]
VideoKeyOption = Annotated[str, typer.Option("--video-column", help="The key of an image that names its video.")]
PatternOption = Annotated[
    str, typer.Option("--video-pattern", help="Pattern whose first group in a file name is the video, as '^([0-9]+)_'.")
]
TablePredictions = Annotated[Path, typer.Option("--predictions", help=f"Table of predictions ({_TABLE}).")]
TableReferences = Annotated[
    Path | None, typer.Option("--references", help="Table of references; left out where one table holds both.")
]


def register(app: typer.Typer) -> None:
    """Add the verb with one command per kind."""
    verb = typer.Typer(
        help="Evaluate predictions against references, with intervals over videos.", no_args_is_help=True
    )
    for command in (classification, detection, phases, segmentation, tracking, triplets):
        verb.command(command.__name__)(command)
    app.add_typer(verb, name="evaluate")


def classification(
    predictions: TablePredictions,
    references: TableReferences = None,
    classes: ClassesOption = "",
    columns: ColumnsOption = "",
    video_column: VideoOption = "video",
    by: ByOption = "",
    metric: MetricsOption = None,
    model: ModelOption = "model",
    boot: BootOption = 1000,
    level: LevelOption = 0.95,
    seed: SeedOption = 42,
    json: JsonOption = False,
    out: OutOption = None,
    force: ForceOption = False,
) -> None:
    """One label, several labels or scores per frame."""
    shared = _shared(metric, model, by, boot, level, seed)
    options = {"classes": names_in(classes), "columns": _columns(columns, video_column)}
    _run("classification", predictions, references, {**shared, **options}, out=out, force=force, json=json)


def phases(
    predictions: TablePredictions,
    references: TableReferences = None,
    fps: Annotated[float | None, typer.Option("--fps", help="How many frame numbers there are per second.")] = None,
    classes: ClassesOption = "",
    columns: ColumnsOption = "",
    video_column: VideoOption = "video",
    by: ByOption = "",
    metric: MetricsOption = None,
    model: ModelOption = "model",
    boot: BootOption = 1000,
    level: LevelOption = 0.95,
    seed: SeedOption = 42,
    json: JsonOption = False,
    out: OutOption = None,
    force: ForceOption = False,
) -> None:
    """A label sequence per video: frames, segments, transitions and stability."""
    shared = _shared(metric, model, by, boot, level, seed)
    options = {"classes": names_in(classes), "columns": _columns(columns, video_column), "fps": fps}
    _run("phases", predictions, references, {**shared, **options}, out=out, force=force, json=json)


def detection(
    predictions: Annotated[Path, typer.Option("--predictions", help="COCO list of results (JSON).")],
    references: Annotated[Path, typer.Option("--references", help="COCO data set (JSON).")],
    overlap: Annotated[str, typer.Option("--overlap", help="Compare box or mask.")] = "box",
    video_column: VideoKeyOption = "",
    video_pattern: PatternOption = "",
    by: Annotated[str, typer.Option("--by", metavar="KEY,...", help="Report every value of these image keys.")] = "",
    metric: MetricsOption = None,
    model: ModelOption = "model",
    boot: BootOption = 1000,
    level: LevelOption = 0.95,
    seed: SeedOption = 42,
    json: JsonOption = False,
    out: OutOption = None,
    force: ForceOption = False,
) -> None:
    """Boxes or masks of objects in images, in COCO form."""
    shared = _shared(metric, model, by, boot, level, seed)
    options = {"overlap": overlap, "video_column": video_column, "video_pattern": video_pattern}
    _run("detection", predictions, references, {**shared, **options}, out=out, force=force, json=json)


def segmentation(
    predictions: Annotated[
        Path, typer.Option("--predictions", help="Folder of PNG label maps, NPZ, or JSON with RLE.")
    ],
    references: Annotated[Path, typer.Option("--references", help="The same, with the same names.")],
    classes: ClassesOption = "",
    ignore: Annotated[int | None, typer.Option("--ignore", help="A reference label whose pixels do not count.")] = None,
    tolerance_px: Annotated[float | None, typer.Option("--tolerance-px", help="For NSD: how far is near.")] = None,
    empty: Annotated[str, typer.Option("--empty", help="Rule for empty masks, such as default or robust-mis.")] = "",
    video_pattern: PatternOption = "",
    properties: Annotated[
        Path | None, typer.Option("--properties", help="Table with 'case' and columns for --by.")
    ] = None,
    by: ByOption = "",
    metric: MetricsOption = None,
    model: ModelOption = "model",
    boot: BootOption = 1000,
    level: LevelOption = 0.95,
    seed: SeedOption = 42,
    json: JsonOption = False,
    out: OutOption = None,
    force: ForceOption = False,
) -> None:
    """Masks or label maps per image; the folder of a mask names its video."""
    shared = _shared(metric, model, by, boot, level, seed)
    options = {
        "classes": _whole_numbers(classes),
        "ignore": ignore,
        "tolerance_px": tolerance_px,
        "empty": empty,
        "video_pattern": video_pattern,
        "properties": properties,
    }
    _run("segmentation", predictions, references, {**shared, **options}, out=out, force=force, json=json)


def triplets(
    predictions: Annotated[Path, typer.Option("--predictions", help=f"{_TABLE}, or NPZ, with scores of 100 classes.")],
    references: TableReferences = None,
    null: Annotated[str, typer.Option("--null", help="keep or drop the null triplets.")] = "keep",
    columns: ColumnsOption = "",
    video_column: VideoOption = "video",
    by: ByOption = "",
    metric: MetricsOption = None,
    model: ModelOption = "model",
    boot: BootOption = 1000,
    level: LevelOption = 0.95,
    seed: SeedOption = 42,
    json: JsonOption = False,
    out: OutOption = None,
    force: ForceOption = False,
) -> None:
    """Instrument, verb and target triplets of CholecT45 and CholecT50."""
    shared = _shared(metric, model, by, boot, level, seed)
    options = {"null": null, "columns": _columns(columns, video_column)}
    _run("triplets", predictions, references, {**shared, **options}, out=out, force=force, json=json)


def tracking(
    predictions: Annotated[Path, typer.Option("--predictions", help="Folder of VIDEO.txt in MOT form, or one file.")],
    references: Annotated[Path, typer.Option("--references", help="Folder of VIDEO.txt or VIDEO/gt/gt.txt.")],
    use_classes: Annotated[
        bool, typer.Option("--use-classes", help="Boxes of different classes (eighth column) never match.")
    ] = False,
    metric: MetricsOption = None,
    model: ModelOption = "model",
    boot: BootOption = 1000,
    level: LevelOption = 0.95,
    seed: SeedOption = 42,
    json: JsonOption = False,
    out: OutOption = None,
    force: ForceOption = False,
) -> None:
    """Boxes with identities over time, in MOT form."""
    shared = _shared(metric, model, "", boot, level, seed)
    _run("tracking", predictions, references, {**shared, "use_classes": use_classes}, out=out, force=force, json=json)


def _shared(metric: list[str] | None, model: str, by: str, boot: int, level: float, seed: int) -> dict[str, Any]:
    return {
        "metrics": metric or [],
        "model": model,
        "by": names_in(by),
        "replicates": boot,
        "level": level,
        "seed": seed,
    }


def _whole_numbers(text: str) -> list[int]:
    listed = names_in(text)
    if bad := [name for name in listed if not name.isdecimal()]:
        raise Misuse(f"--classes of label maps are whole numbers, got {', '.join(bad)}")
    return [int(name) for name in listed]


def _columns(text: str, video_column: str) -> dict[str, str]:
    mapping = read_columns(text)
    if video_column != "video":
        if "video" in mapping:
            raise Misuse("--video-column and --columns both name the video; give one of them")
        mapping["video"] = video_column
    return mapping


def _run(
    kind: str,
    predictions: Path,
    references: Path | None,
    options: dict[str, Any],
    *,
    out: Path | None,
    force: bool,
    json: bool,
) -> None:
    from surgeval.scoring.evaluate.result import FILES
    from surgeval.scoring.evaluate.run import evaluate

    if out is not None:
        new_folder(out, force=force, files=FILES)
    result = evaluate(kind, predictions, references, **options)
    if out is not None:
        result.to_dir(out)
        talk(f"wrote {', '.join(sorted(path.name for path in out.iterdir()))} to {out}")
    if json:
        emit_json(result.as_dict())
        return
    emit_table(result.shown)
    emit("")
    emit(result.prose)
    for note in result.notes:
        talk(f"note: {note}")
