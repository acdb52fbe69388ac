"""`surgeval evaluate KIND`: predictions against references, with intervals over videos.

Each kind says only which options it adds; those of every kind (`_evaluate.SHARED`) are appended to its signature.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from surgeval.cli._evaluate import Given, command
from surgeval.cli._tables import names_in, read_columns
from surgeval.errors import Misuse

_TABLE = "CSV, TSV, Parquet, JSON or JSON Lines"
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
    for kind in (classification, cvs, detection, phases, segmentation, tracking, triplets):
        verb.command(kind.__name__)(command(kind))
    app.add_typer(verb, name="evaluate")


def classification(
    predictions: TablePredictions,
    references: TableReferences = None,
    classes: ClassesOption = "",
    labels: Annotated[
        str, typer.Option("--labels", help="Which classes averages count: supported, union or declared.")
    ] = "supported",
    columns: ColumnsOption = "",
    video_column: VideoOption = "video",
    by: ByOption = "",
) -> Given:
    """One label, several labels or scores per frame."""
    options = {"classes": names_in(classes), "columns": _columns(columns, video_column), "by": names_in(by)}
    return Given(predictions, references, {**options, "labels": labels})


def cvs(
    predictions: Annotated[
        Path | None, typer.Option("--predictions", help=f"Scores of C1, C2 and C3 per frame ({_TABLE}).")
    ] = None,
    references: Annotated[
        Path | None, typer.Option("--references", help="Folder of Endoscapes2023, or a table of rated frames.")
    ] = None,
    split: Annotated[str, typer.Option("--split", help="train, val or test.")] = "test",
    threshold: Annotated[
        float | None, typer.Option("--threshold", help="From which score on a criterion is achieved; 0.5 if left out.")
    ] = None,
    boxes: Annotated[Path | None, typer.Option("--boxes", help="COCO list of results for BBox201.")] = None,
    masks: Annotated[Path | None, typer.Option("--masks", help="COCO list of results for Seg50.")] = None,
    box_references: Annotated[
        Path | None, typer.Option("--box-references", help="COCO data set of the boxes, if not in the folder.")
    ] = None,
    mask_references: Annotated[
        Path | None, typer.Option("--mask-references", help="COCO data set of the masks, if not in the folder.")
    ] = None,
    columns: ColumnsOption = "",
    video_column: VideoOption = "video",
    by: ByOption = "",
) -> Given:
    """The benchmark of Endoscapes2023, beside its published rows."""
    options = {
        "split": split,
        "threshold": threshold,
        "boxes": boxes,
        "masks": masks,
        "box_references": box_references,
        "mask_references": mask_references,
        "columns": _columns(columns, video_column),
        "by": names_in(by),
    }
    return Given(predictions, references, options)


def phases(
    predictions: TablePredictions,
    references: TableReferences = None,
    fps: Annotated[float | None, typer.Option("--fps", help="How many frame numbers there are per second.")] = None,
    classes: ClassesOption = "",
    columns: ColumnsOption = "",
    video_column: VideoOption = "video",
    by: ByOption = "",
) -> Given:
    """A label sequence per video: frames, segments, transitions and stability."""
    options = {"classes": names_in(classes), "columns": _columns(columns, video_column), "by": names_in(by)}
    return Given(predictions, references, {**options, "fps": fps})


def detection(
    predictions: Annotated[Path, typer.Option("--predictions", help="COCO list of results (JSON).")],
    references: Annotated[Path, typer.Option("--references", help="COCO data set (JSON).")],
    overlap: Annotated[str, typer.Option("--overlap", help="Compare box or mask.")] = "box",
    video_column: VideoKeyOption = "",
    video_pattern: PatternOption = "",
    by: Annotated[str, typer.Option("--by", metavar="KEY,...", help="Report every value of these image keys.")] = "",
) -> Given:
    """Boxes or masks of objects in images, in COCO form."""
    options = {"overlap": overlap, "video_column": video_column, "video_pattern": video_pattern}
    return Given(predictions, references, {**options, "by": names_in(by)})


def segmentation(
    predictions: Annotated[
        Path, typer.Option("--predictions", help="Folder of PNG label maps, NPZ, or JSON with RLE or polygons.")
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
) -> Given:
    """Masks or label maps per image; the folder of a mask names its video."""
    options = {
        "classes": _whole_numbers(classes),
        "ignore": ignore,
        "tolerance_px": tolerance_px,
        "empty": empty,
        "video_pattern": video_pattern,
        "properties": properties,
        "by": names_in(by),
    }
    return Given(predictions, references, options)


def triplets(
    predictions: Annotated[Path, typer.Option("--predictions", help=f"{_TABLE}, or NPZ, with scores of 100 classes.")],
    references: TableReferences = None,
    null: Annotated[str, typer.Option("--null", help="keep or drop the null triplets.")] = "keep",
    columns: ColumnsOption = "",
    video_column: VideoOption = "video",
    by: ByOption = "",
) -> Given:
    """Instrument, verb and target triplets of CholecT45 and CholecT50."""
    options: dict[str, Any] = {"null": null, "columns": _columns(columns, video_column), "by": names_in(by)}
    return Given(predictions, references, options)


def tracking(
    predictions: Annotated[Path, typer.Option("--predictions", help="Folder of VIDEO.txt in MOT form, or one file.")],
    references: Annotated[Path, typer.Option("--references", help="Folder of VIDEO.txt or VIDEO/gt/gt.txt.")],
    use_classes: Annotated[
        bool, typer.Option("--use-classes", help="Boxes of different classes (eighth column) never match.")
    ] = False,
    properties: Annotated[
        Path | None, typer.Option("--properties", help="Table with 'video' and columns for --by.")
    ] = None,
    by: ByOption = "",
) -> Given:
    """Boxes with identities over time, in MOT form."""
    return Given(predictions, references, {"use_classes": use_classes, "properties": properties, "by": names_in(by)})


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
