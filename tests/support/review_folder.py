"""A small folder under review: three questions on a video file of twenty seconds, with their proofs and annotations."""

from __future__ import annotations

import json
from pathlib import Path

from surgvalid.schema.procedures.procedure_files import write_procedure
from surgvalid.schema.procedures.tracks import Procedure, track_from_points
from timecode_videos import stamped_video

SPONGE = track_from_points("sponge_1", "Sponge", [(s, (20 + s, 30, 40, 30)) for s in range(3, 15)])
CLIP = track_from_points("clip_1", "Clip", [(s, (100, 10, 12, 20)) for s in range(5, 9)])
PROCEDURE = Procedure("case 1", "Cholecystectomy", "A", 20, 160, 120, (SPONGE, CLIP), proposed=("clip_1",))
QUESTIONS = (
    ("f1", 6, 6, "Is a sponge visible in this image? Answer with yes or no.", "binary", "yes", ["sponge_1"], [6]),
    ("s1", 0, 19, "How many clips can be seen? Answer with a number.", "number", "1", ["clip_1"], [5, 8]),
    ("s2", 0, 19, "When is the sponge seen last? Answer as hh:mm:ss.", "time", "00:00:14", ["sponge_1"], [3, 14, 15]),
)


def review_folder(home: Path, *, film: bool = True) -> Path:
    """The folder as `surgvalid data questions` writes it, with a video file beside the annotations."""
    place = home / "test" / "segment"
    place.mkdir(parents=True)
    keys = ("qID", "start_time", "end_time", "question", "format", "answer", "instances", "seconds")
    rows = [dict(zip(keys, row, strict=True)) for row in QUESTIONS]
    asked = ("qID", "start_time", "end_time", "question")
    more = {"videoID": "case 1", "procedure_type": "Cholecystectomy"}
    (place / "requests.json").write_text(json.dumps([{**{k: row[k] for k in asked}, **more} for row in rows]))
    kept = ("qID", "format", "answer")
    (place / "references.json").write_text(json.dumps([{k: row[k] for k in kept} | {"primary": "x"} for row in rows]))
    proofs = [
        {
            "qID": row["qID"],
            "template": "t",
            "proof": {"instances": row["instances"], "seconds": row["seconds"], "events": []},
        }
        for row in rows
    ]
    (place / "proofs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in proofs))
    (home / "annotations").mkdir()
    write_procedure(PROCEDURE, home / "annotations" / "0001.json")
    if film:
        stamped_video(home / "case 1.mp4", range(0, 20_000, 500), size=(160, 120))
    return home
