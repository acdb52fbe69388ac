"""What the annotation stages read and write beside boxes: detections, video files, tables, procedures, review tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from surgvalid.cli._annotations import TABLES, Boxes, Measures, read_plain_table
from surgvalid.cli._console import emit_json, emit_table, talk
from surgvalid.errors import FileUnreadable, Misuse, UnknownName
from surgvalid.results.request import VerbRequest
from surgvalid.results.result import Result
from surgvalid.schema.documents import read_json
from surgvalid.schema.procedures.procedure_problems import MEASURES

if TYPE_CHECKING:
    from surgvalid.datasets import About
    from surgvalid.schema.procedures.tracks import Procedure, Track


def write_stage(
    folder: Path,
    stage: str,
    tables: Mapping[str, pl.DataFrame],
    options: Mapping[str, Any],
    inputs: Sequence[Path],
    *,
    seed: int | None = None,
    measures: Measures | None = None,
) -> None:
    """Write the tables of a stage as CSV, and the manifest; tables of boxes carry what is known of their videos."""
    tables = {name: _with_measures(table, measures or {}) for name, table in tables.items()}
    seeds = {} if seed is None else {"seed": seed}
    request = VerbRequest(f"annotate {stage}", {**options, **seeds}, inputs={"inputs": inputs})
    Result(tables=tables, request=request).to_dir(folder, force=True)
    talk(f"written to {folder}: {', '.join(f'{name}.csv' for name in tables)}")


def _with_measures(table: pl.DataFrame, measures: Measures) -> pl.DataFrame:
    """A table of boxes with the duration and frame size of each video, where they are known."""
    if not {"video", "second", "x"} <= set(table.columns) or not any(measures.values()):
        return table
    rows = [{"video": video, **{name: known.get(name) for name in MEASURES}} for video, known in measures.items()]
    facts = pl.DataFrame(rows, schema={"video": pl.String, **dict.fromkeys(MEASURES, pl.Int64)})
    return table.drop(MEASURES, strict=False).join(facts, on="video", how="left", maintain_order="left")


def show(tables: Mapping[str, pl.DataFrame], as_json: bool, sentence: str) -> None:
    """Print small tables as a result, and one line of talk."""
    if sentence:
        talk(sentence)
    if as_json:
        emit_json({name: table.to_dicts() for name, table in tables.items()})
        return
    for name, table in tables.items():
        emit_table(table, title=name.capitalize())


def single(what: str, files: Sequence[str | Path]) -> Path:
    """The one file that a stage reads.

    Raises:
        Misuse: There are several.
    """
    if len(files) != 1:
        raise Misuse(f"{what} reads one file, got {len(files)}")
    return Path(files[0])


def now() -> str:
    """This moment, for the history (ISO 8601, UTC)."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def detections(path: Path, images: Path | None, about: About) -> pl.DataFrame:
    """The detector's boxes with their scores, from a table or from COCO results.

    Raises:
        FileUnreadable: No such file, or no list of results.
        Misuse: COCO results without the file that says which image is which.
    """
    if path.suffix.lower() in TABLES:
        return read_plain_table(path, "video", "class_name")
    if images is None:
        raise Misuse(f"{path}: COCO results name images by number; pass the COCO file of the images with --images")
    from surgvalid.datasets.tools.coco import placed_images
    from surgvalid.questions.stages.cross_check import predictions_from_coco

    placed, categories = placed_images(images, about)
    between = {image["id"] for image in placed if image["second"] is None}
    results = _results(path)
    kept = [row for row in results if not isinstance(row, dict) or row.get("image_id") not in between]
    if len(kept) < len(results):
        talk(f"{len(results) - len(kept)} detections at frames between two seconds are not used (1 fps)")
    return predictions_from_coco([image for image in placed if image["second"] is not None], categories, kept)


def _results(path: Path) -> list[Any]:
    rows = read_json(path)
    if not isinstance(rows, list):
        raise FileUnreadable(str(path), ["expected COCO results: a list of detections"])
    return rows


def video_files(options: Sequence[str], boxes: pl.DataFrame) -> dict[str, Path]:
    """The file of every video, from options [NAME=]FILE; without a name it is called as the file, or the only video.

    Raises:
        Misuse: A video file of no video of the boxes.
    """
    from surgvalid.schema.questions.question_files import split_source

    videos, paths = boxes["video"].unique().sort().to_list(), {}
    for option in options:
        name, path = split_source(option)
        video = name or (path.stem if path.stem in videos or len(videos) != 1 else videos[0])
        if video not in videos:
            raise Misuse(f"--video {option}: no box is of the video {video!r}; known: {', '.join(videos[:5])}")
        paths[video] = path
    return paths


def procedures_of(
    table: pl.DataFrame,
    procedures: Sequence[Procedure],
    about: About,
    folder: Path,
    *,
    renamed: bool,
    measures: Measures | None = None,
) -> None:
    """Write one procedure file per video with the instances of the table, for review and for questions.

    What the sources told beside the boxes is kept. Where instances were renamed, they are marked as proposed, events
    (which name the old ones) are left out and counted, and whether a box is occluded is not kept, since tables of boxes
    do not tell.
    """
    from surgvalid.schema.procedures.procedure_files import write_procedure

    folder.mkdir(parents=True, exist_ok=True)
    known = {one.video: one for one in procedures}
    for number, ((video,), boxes) in enumerate(table.sort("video").group_by("video", maintain_order=True), start=1):
        base = known.get(str(video))
        if base is None or renamed:
            base = _with_instances(base or _bare(str(video), boxes, about, measures or {}), boxes)
        write_procedure(base, folder / f"{number:04d}.json")


def procedures_from(table: pl.DataFrame, about: About, measures: Measures) -> list[Procedure]:
    """One procedure per video of a table of boxes, for tools that take procedures; a box without an instance is one."""
    if "instance" not in table.columns:
        table = table.with_columns(instance=pl.lit(None, dtype=pl.String))
    place = pl.int_range(1, pl.len() + 1).over("video", "class_name").cast(pl.String)
    named = table.with_columns(instance=pl.col("instance").fill_null(pl.col("class_name") + " box " + place))
    return [
        _with_instances(_bare(str(video), boxes, about, measures), boxes)
        for (video,), boxes in named.sort("video").group_by("video", maintain_order=True)
    ]


def _with_instances(base: Procedure, boxes: pl.DataFrame) -> Procedure:
    tracks = tuple(_track(rows) for _, rows in boxes.group_by("instance", maintain_order=True))
    # A new instance may bear the name of an old one and be another object: no event is kept, and none was looked for.
    if base.events:
        gone = f"{len(base.events)} events name instances that were renamed"
        talk(f"{base.video}: {gone}; tell them again for the new ones")
    declared = None if base.declared is None else replace(base.declared, events=())
    proposed = tuple(sorted(track.instance for track in tracks))
    return replace(base, tracks=tracks, events=(), declared=declared, proposed=proposed)


def _bare(video: str, boxes: pl.DataFrame, about: About, measures: Measures) -> Procedure:
    """A procedure of which nothing but boxes is known, and what the caller or the table's own columns tell."""
    from surgvalid.datasets import UNKNOWN
    from surgvalid.schema.procedures.tracks import Procedure as Made

    sides = boxes.select("x", "y", "width", "height").to_numpy()
    reach = np.ceil(np.maximum((sides[:, :2] + sides[:, 2:]).max(axis=0), 1)).astype(int).tolist()
    least = dict(zip(MEASURES, (int(boxes["second"].to_numpy().max()) + 1, *reach), strict=True))
    certain = {
        **_filmed(about, video),
        **measures.get(video, {}),
        **{n: v for n in MEASURES if (v := getattr(about, n))},
    }
    names = about.procedure_type or UNKNOWN, about.center or UNKNOWN
    made = Made(video, *names, **least | certain, assumed=tuple(name for name in MEASURES if name not in certain))
    return replace(made, declared=about.declared)


def _filmed(about: About, video: str) -> dict[str, int]:
    video_file = about.video_file_of(video)
    return {} if video_file is None else {name: value for name in MEASURES if (value := getattr(video_file, name))}


def _track(rows: pl.DataFrame) -> Track:
    from surgvalid.schema.procedures.tracks import Track as Made

    rows = rows.sort("second")
    boxes = rows.select("x", "y", "width", "height").to_numpy()
    visible = np.zeros(rows.height, dtype=np.uint8)
    return Made(rows["instance"][0], rows["class_name"].mode().sort()[0], rows["second"].to_numpy(), boxes, visible)


REVIEW_TOOLS = ("cvat", "label_studio")


class Reviewed(NamedTuple):
    """What came back of a review."""

    flags: pl.DataFrame
    boxes: pl.DataFrame
    """Those of `seconds`, as the reviewers left them."""
    seconds: pl.DataFrame
    """video, second: the whole video where a tool shows all of it."""
    elsewhere: int = 0
    """Boxes outside these seconds."""


def check_review_tool(name: str) -> None:
    """Refuse a tool for which no review task can be written.

    Raises:
        UnknownName: It is none.
    """
    if name not in REVIEW_TOOLS:
        raise UnknownName("review tool", name, REVIEW_TOOLS)


def write_review_task(flags: pl.DataFrame, boxes: Boxes, folder: Path, about: About, *, tool: str, fps: float) -> None:
    """Write the review task of the flags, with the current boxes in it."""
    if tool == "cvat":
        from surgvalid.datasets.tools.cvat_review import write_review

        write_review(flags, folder, boxes=boxes.table, sizes=boxes.sizes, fps=fps)
        return
    from surgvalid.datasets.tools.label_studio_review import write_review as write_tasks

    known = {one.video: one for one in boxes.procedures}
    made = procedures_from(boxes.table, about, boxes.measures)
    write_tasks([known.get(one.video, one) for one in made], folder, flags=flags)


def read_reviews(files: Sequence[Path], *, fps: float) -> Reviewed:
    """What reviewers said and changed, from exports of either tool.

    Raises:
        FileUnreadable: A file of neither.
        ProcedureInvalid: Something in it cannot be true; every problem is listed.
    """
    parts = [_studio(path) if path.suffix.lower() == ".json" else _cvat(path, fps) for path in files]
    flags = pl.concat([review.flags for review in parts], how="diagonal_relaxed")
    boxes = pl.concat([review.boxes for review in parts], how="diagonal_relaxed")
    seconds = pl.concat([review.seconds for review in parts]).unique(maintain_order=True)
    return Reviewed(flags, boxes, seconds, sum(review.elsewhere for review in parts))


def _cvat(path: Path, fps: float) -> Reviewed:
    from surgvalid.datasets.tools.cvat_review import read_corrected, read_review, seconds_under_review

    flags, corrected = read_review(path, fps=fps), read_corrected(path, fps=fps)
    return Reviewed(flags, corrected.boxes, seconds_under_review(flags), corrected.elsewhere)


def _studio(path: Path) -> Reviewed:
    from surgvalid.datasets.tools.label_studio_review import read_review
    from surgvalid.questions.stages.box_tables import boxes_of

    review = read_review(path)
    boxes = pl.concat([boxes_of(one) for one in review.procedures], how="diagonal_relaxed")
    spans = [pl.DataFrame({"video": one.video, "second": range(one.duration_s)}) for one in review.procedures]
    return Reviewed(review.flags, boxes, pl.concat(spans))
