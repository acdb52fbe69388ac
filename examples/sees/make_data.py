"""Make what the model learns from: simulated procedures, their questions, and the images the questions are about.

    python -m examples.sees.make_data OUT [--procedures 104] [--new-center 22] [--minutes 4-5] [--seed 22]

OUT/questions is what `surgvalid data questions` writes (train and test, patients apart, Center F in the test set only).
OUT/pictures.bin and OUT/labels.json.gz hold all that `train.py` reads, so that it needs neither surgvalid nor a video
reader where it runs: small images (WebP) of the seconds that are asked about, what is in each of them, and the
questions in plain words. Equal arguments give equal files.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from surgvalid.questions.benchmark import Benchmark, Question
from surgvalid.questions.make import make_questions
from surgvalid.schema.procedures.foreign_objects import CLASS_NAMES
from surgvalid.schema.procedures.tracks import Procedure, Visibility
from surgvalid.simulation import Scene, true_procedure
from surgvalid.simulation.renderer import Renderer
from surgvalid.simulation.simulate import simulate

from .pictures import HEIGHT, WIDTH, encoded

KNOWN_CENTERS = ("Center A", "Center B", "Center C", "Center D", "Center E")
NEW_CENTER = "Center F"
STEP_S = 5
"""Seconds between the images of a segment or a procedure."""


def scenes_of(procedures: int, new_center: int, minutes: tuple[float, float], seed: int) -> Iterator[Scene]:
    """The procedures of the known centres, then those of the new one."""
    size: Any = {"minutes": minutes, "width_px": WIDTH, "height_px": HEIGHT}
    yield from simulate(procedures, seed=seed, centers=KNOWN_CENTERS, **size).scenes()
    if new_center:
        yield from simulate(new_center, seed=seed + 1, centers=[NEW_CENTER], **size).scenes()


def kept(benchmark: Benchmark, per_test_video: int, long_train_videos: int, tracks: Iterable[str]) -> list[Question]:
    """The questions that go along: all FRAME questions for training, fewer elsewhere, so that the images stay few."""
    train = sorted({q.request.video for q in benchmark.questions if q.split == "train"})
    long = set(train[:long_train_videos])
    counted: dict[tuple[str, str], int] = defaultdict(int)
    chosen = []
    for question in sorted(benchmark.questions, key=lambda q: q.request.case):
        key = (question.request.video, question.track)
        counted[key] += 1
        if question.track not in tracks:
            continue
        if question.split == "test" and counted[key] > per_test_video:
            continue
        if question.split == "train" and question.track != "frame" and question.request.video not in long:
            continue
        chosen.append(question)
    return chosen


def seconds_of(questions: Iterable[Question], duration_s: int) -> list[int]:
    """The seconds of one video whose images are wanted: those of its FRAME questions, and a grid for the others."""
    asked = list(questions)
    seconds = {int(q.request.end_s) for q in asked if q.track == "frame"}
    if any(q.track != "frame" for q in asked):
        seconds |= set(range(0, duration_s, STEP_S))
    return sorted(second for second in seconds if second < duration_s)


def painted(scene: Scene, seconds: list[int]) -> Iterator[bytes]:
    """One WebP file per second."""
    for frame in Renderer(scene).frames(np.asarray(seconds, dtype=float)):
        yield encoded(frame[..., :3])


def objects_at(procedure: Procedure, second: int) -> list[list[Any]]:
    """What is in view: class, middle and size as shares of the image, whether occluded, colour."""
    rows: list[list[Any]] = []
    for track in procedure.tracks:
        point = track.point_at(second)
        if point is None or point.visibility is Visibility.OUTSIDE or track.class_name not in CLASS_NAMES:
            continue
        x, y = point.box.center
        shares = (x / procedure.width_px, y / procedure.height_px,
                  point.box.width / procedure.width_px, point.box.height / procedure.height_px)  # fmt: skip
        occluded = int(point.visibility is Visibility.OCCLUDED)
        rows.append([CLASS_NAMES.index(track.class_name), *(round(share, 4) for share in shares), occluded,
                     track.attribute_at("colour", second) or ""])  # fmt: skip
    return rows


def question_row(question: Question) -> dict[str, Any]:
    """A question in plain words, as `train.py` reads it."""
    request, reference = question.request, question.reference
    return {
        "id": request.case, "split": question.split, "track": question.track, "video": request.video,
        "start": int(request.start_s), "end": int(request.end_s), "procedure": request.procedure,
        "text": request.question, "format": reference.format, "answer": reference.answer,
        "parameters": dict(reference.parameters), "template": question.draft.template.name,
        "capability": reference.capability.code, "ood": bool(reference.ood),
    }  # fmt: skip


def main(arguments: list[str] | None = None) -> None:
    """Read the command line and write everything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--procedures", type=int, default=104, help="of the known centres; a fifth is for testing")
    parser.add_argument("--new-center", type=int, default=22, help="procedures of the centre that is never trained on")
    parser.add_argument("--minutes", default="4-5")
    parser.add_argument("--per-video", type=int, default=100, help="questions per video and track, at most")
    parser.add_argument("--per-test-video", type=int, default=40, help="of them, how many are kept for testing")
    parser.add_argument("--long-videos", type=int, default=84, help="training videos with SEGMENT and PROCEDURE")
    parser.add_argument("--tracks", default="frame,segment,procedure")
    parser.add_argument("--seed", type=int, default=22)
    options = parser.parse_args(arguments)
    least, most = (float(bound) for bound in options.minutes.split("-"))
    drawn = (options.procedures, options.new_center, (least, most), options.seed)
    tracks = options.tracks.split(",")
    procedures = {}
    for scene in scenes_of(*drawn):
        procedures[scene.video] = true_procedure(scene)
        print(f"drawn {scene.video}", flush=True)
    benchmark = make_questions(
        list(procedures.values()), tracks=tracks, per_video=options.per_video, test_share=0.2,
        ood_centers=[NEW_CENTER], seed=options.seed,
    )  # fmt: skip
    print(benchmark.title, flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    benchmark.to_dir(options.out / "questions", force=True)
    chosen = kept(benchmark, options.per_test_video, options.long_videos, tracks)
    by_video = defaultdict(list)
    for question in chosen:
        by_video[question.request.video].append(question)
    pictures: list[list[Any]] = []
    with open(options.out / "pictures.bin", "wb") as store:
        for scene in scenes_of(*drawn):
            procedure = procedures[scene.video]
            seconds = seconds_of(by_video[scene.video], procedure.duration_s)
            for second, data in zip(seconds, painted(scene, seconds), strict=True):
                pictures.append([scene.video, second, store.tell(), len(data), objects_at(procedure, second)])
                store.write(data)
            print(f"painted {scene.video}: {len(pictures)} images, {store.tell() >> 20} MiB", flush=True)
    videos = {name: [p.center, p.procedure_type, p.duration_s] for name, p in procedures.items()}
    labels = {"classes": CLASS_NAMES, "size": [WIDTH, HEIGHT], "step_s": STEP_S, "videos": videos,
              "command": vars(options) | {"out": options.out.name}, "pictures": pictures,
              "questions": [question_row(question) for question in chosen]}  # fmt: skip
    text = json.dumps(labels, separators=(",", ":"))
    (options.out / "labels.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main()
