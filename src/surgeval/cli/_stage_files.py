"""What the annotation stages read and write beside boxes: detections, films, tables with a manifest, procedures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from surgeval.cli._annotations import TABLES, Measures, read_plain_table
from surgeval.cli._console import emit_json, emit_table, talk
from surgeval.errors import FileUnreadable, Misuse
from surgeval.results.request import Request
from surgeval.results.result import Result
from surgeval.schema.documents import read_json
from surgeval.schema.procedure_problems import MEASURES

if TYPE_CHECKING:
    from surgeval.datasets import About
    from surgeval.schema.tracks import Procedure, Track


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
    request = Request(f"annotate {stage}", {**options, **seeds}, inputs={"inputs": inputs})
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
    from surgeval.datasets.coco import placed_images
    from surgeval.questions.stages.cross_check import predictions_from_coco

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


def films(options: Sequence[str], boxes: pl.DataFrame) -> dict[str, Path]:
    """The file of every video, from options [NAME=]FILE; without a name it is called as the file, or the only video.

    Raises:
        Misuse: A film of no video of the boxes.
    """
    from surgeval.schema.question_files import split_source

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
    from surgeval.schema.procedure_files import write_procedure

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
    from surgeval.datasets import UNKNOWN
    from surgeval.schema.tracks import Procedure as Made

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
    film = about.film_of(video)
    return {} if film is None else {name: value for name in MEASURES if (value := getattr(film, name))}


def _track(rows: pl.DataFrame) -> Track:
    from surgeval.schema.tracks import Track as Made

    rows = rows.sort("second")
    boxes = rows.select("x", "y", "width", "height").to_numpy()
    visible = np.zeros(rows.height, dtype=np.uint8)
    return Made(rows["instance"][0], rows["class_name"].mode().sort()[0], rows["second"].to_numpy(), boxes, visible)
