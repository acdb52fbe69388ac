"""`surgeval evaluate KIND`: predictions against references, with intervals over videos.

Each kind is a signature: the options that it adds to those of every kind (`_evaluate.SHARED`) and, where references may
lie in the folder of a public data set, to those that choose from it (`_evaluate.FROM_DATA_SET`).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from surgeval.cli._evaluate import FROM_DATA_SET, Options, command

_TABLE = "CSV, TSV, Parquet, JSON or JSON Lines"
_FOLDER = "or the folder of a --data-set"
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
TablePredictions = Annotated[
    Path, typer.Option("--predictions", help=f"Table ({_TABLE}), NPZ, or folder with a text or array file per video.")
]
PredictionLabelsOption = Annotated[
    str,
    typer.Option("--prediction-labels", metavar="A,B,...", help="Names of the numbers 0, 1, ... in the predictions."),
]
TableReferences = Annotated[
    Path | None,
    typer.Option("--references", help=f"Table of references, {_FOLDER}; left out where one table holds both."),
]
RateOption = Annotated[
    float | None, typer.Option("--rate-hz", help="Thin the references of a --data-set to so many per second.")
]


def register(app: typer.Typer) -> None:
    """Add the verb with one command per kind."""
    verb = typer.Typer(
        help="Evaluate predictions against references, with intervals over videos.", no_args_is_help=True
    )
    kinds: dict[Callable[..., None], Options] = {
        classification: FROM_DATA_SET,
        cvs: {},
        detection: FROM_DATA_SET,
        phases: FROM_DATA_SET,
        segmentation: FROM_DATA_SET,
        tracking: FROM_DATA_SET,
        triplets: FROM_DATA_SET,
    }
    for kind, more in kinds.items():
        verb.command(kind.__name__)(command(kind, more))
    app.add_typer(verb, name="evaluate")


def classification(
    predictions: TablePredictions,
    references: TableReferences = None,
    classes: ClassesOption = "",
    labels: Annotated[
        str, typer.Option("--labels", help="Which classes averages count: supported, union or declared.")
    ] = "supported",
    prediction_labels: PredictionLabelsOption = "",
    columns: ColumnsOption = "",
    video_column: VideoOption = "video",
    rate_hz: RateOption = None,
    by: ByOption = "",
) -> None:
    """One label, several labels or scores per frame."""


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
) -> None:
    """The benchmark of Endoscapes2023, beside its published rows."""


def phases(
    predictions: TablePredictions,
    references: TableReferences = None,
    fps: Annotated[float | None, typer.Option("--fps", help="How many frame numbers there are per second.")] = None,
    classes: ClassesOption = "",
    prediction_labels: PredictionLabelsOption = "",
    columns: ColumnsOption = "",
    video_column: VideoOption = "video",
    rate_hz: RateOption = None,
    by: ByOption = "",
) -> None:
    """A label sequence per video: frames, segments, transitions and stability."""


def detection(
    predictions: Annotated[
        Path, typer.Option("--predictions", help="COCO results, or boxes as a framework wrote them: file or folder.")
    ],
    references: Annotated[Path, typer.Option("--references", help=f"COCO data set (JSON), {_FOLDER}.")],
    overlap: Annotated[str, typer.Option("--overlap", help="Compare box or mask.")] = "box",
    box_format: Annotated[
        str, typer.Option("--box-format", help="xyxy, xywh or cxcywh; with n for shares of the image, as xyxyn.")
    ] = "",
    class_numbers: Annotated[
        str, typer.Option("--class-numbers", help="What class numbers are: ids, from-0 or from-1.")
    ] = "",
    prediction_labels: PredictionLabelsOption = "",
    columns: ColumnsOption = "",
    video_column: VideoKeyOption = "",
    video_pattern: PatternOption = "",
    by: Annotated[str, typer.Option("--by", metavar="KEY,...", help="Report every value of these image keys.")] = "",
) -> None:
    """Boxes or masks of objects in images; the form of predictions is found out and said."""


def segmentation(
    predictions: Annotated[
        Path,
        typer.Option(
            "--predictions", help="Folder of PNG, NPY or NIfTI label maps, NPZ, or JSON with RLE or polygons."
        ),
    ],
    references: Annotated[Path, typer.Option("--references", help=f"The same, with the same names, {_FOLDER}.")],
    classes: ClassesOption = "",
    instances: Annotated[
        bool | None, typer.Option("--instances", help="Labels are numbers of objects and not of classes.")
    ] = None,
    colours: Annotated[
        Path | None, typer.Option("--colours", help="What colours of PNG files stand for: labelmap.txt, JSON or CSV.")
    ] = None,
    nifti_axes: Annotated[
        str, typer.Option("--nifti-axes", help="xy or rows: what the first axis of square NIfTI files is.")
    ] = "",
    ignore: Annotated[int | None, typer.Option("--ignore", help="A reference label whose pixels do not count.")] = None,
    tolerance_px: Annotated[float | None, typer.Option("--tolerance-px", help="For NSD: how far is near.")] = None,
    empty: Annotated[str, typer.Option("--empty", help="Rule for empty masks, such as default or robust-mis.")] = "",
    video_pattern: PatternOption = "",
    properties: Annotated[
        Path | None, typer.Option("--properties", help="Table with 'case' and columns for --by.")
    ] = None,
    by: ByOption = "",
) -> None:
    """Masks or label maps per image; the folder of a mask names its video."""


def triplets(
    predictions: Annotated[Path, typer.Option("--predictions", help=f"{_TABLE}, or NPZ, with scores of 100 classes.")],
    references: TableReferences = None,
    null: Annotated[str, typer.Option("--null", help="keep or drop the null triplets.")] = "keep",
    columns: ColumnsOption = "",
    video_column: VideoOption = "video",
    by: ByOption = "",
) -> None:
    """Instrument, verb and target triplets of CholecT45 and CholecT50."""


def tracking(
    predictions: Annotated[Path, typer.Option("--predictions", help="Folder of VIDEO.txt in MOT form, or one file.")],
    references: Annotated[
        Path, typer.Option("--references", help=f"Folder of VIDEO.txt or VIDEO/gt/gt.txt, {_FOLDER}.")
    ],
    use_classes: Annotated[
        bool, typer.Option("--use-classes", help="Boxes of different classes (eighth column) never match.")
    ] = False,
    perspective: Annotated[
        str, typer.Option("--perspective", help="What an identity means, where a --data-set has several.")
    ] = "",
    properties: Annotated[
        Path | None, typer.Option("--properties", help="Table with 'video' and columns for --by.")
    ] = None,
    by: ByOption = "",
) -> None:
    """Boxes with identities over time, in MOT form."""
