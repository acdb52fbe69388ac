"""Make what the model learns from: simulated procedures, their questions, and the images the questions are about.

    python -m examples.sees.make_data OUT [--procedures 104] [--new-center 22] [--long 12] [--seed 22]

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
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from surgvalid.questions.benchmark import Benchmark, Question
from surgvalid.questions.catalogue import template_named
from surgvalid.questions.make import make_questions
from surgvalid.questions.object_recognition import NEAR
from surgvalid.questions.template import ENDINGS
from surgvalid.schema.procedures.foreign_objects import CLASS_NAMES
from surgvalid.schema.procedures.tracks import Procedure, Visibility
from surgvalid.simulation import Scene, true_procedure
from surgvalid.simulation.renderer import Renderer
from surgvalid.simulation.simulate import all_cores, simulate, worker_pool
from surgvalid.stats.draws import stream

from .pictures import HEIGHT, WIDTH, encoded

KNOWN_CENTERS = ("Center A", "Center B", "Center C", "Center D", "Center E")
NEW_CENTER = "Center F"
STEP_S = 5
"""Seconds between the images of a segment or a procedure."""
LONG_S = 600
"""Videos above this are long: more seconds than images that are looked at."""
MOST_FRAMES = 64
"""Images of a long procedure, evenly spread."""


def scenes_of(command: Mapping[str, Any]) -> Iterator[Scene]:
    """The procedures that the options of a command line draw: of the known centres, of the new one, and long ones."""
    for at, (count, minutes, centers) in enumerate((
        (command["procedures"], command["minutes"], KNOWN_CENTERS),
        (command["new_center"], command["minutes"], [NEW_CENTER]),
        (command["long"], command["long_minutes"], KNOWN_CENTERS),
    )):  # fmt: skip
        least, most = (float(bound) for bound in minutes.split("-"))
        if count:
            yield from simulate(
                count,
                seed=command["seed"] + at,
                centers=centers,
                minutes=(least, most),
                width_px=WIDTH,
                height_px=HEIGHT,
            ).scenes()


def kept(
    benchmark: Benchmark, per_test_video: int, film_videos: int, tracks: Iterable[str], long: set[str]
) -> list[Question]:
    """The questions that go along: all FRAME questions for training, fewer elsewhere, so that the images stay few.

    Of long videos, only those about the whole.
    """
    train = sorted({q.request.video for q in benchmark.questions if q.split == "train"} - long)
    film = set(train[:film_videos]) | long
    counted: dict[tuple[str, str], int] = defaultdict(int)
    chosen = []
    for question in sorted(benchmark.questions, key=lambda q: q.request.case):
        key = (question.request.video, question.track)
        counted[key] += 1
        if question.track not in tracks or (question.request.video in long and question.track != "procedure"):
            continue
        if question.split == "test" and counted[key] > per_test_video:
            continue
        if question.split == "train" and question.track != "frame" and question.request.video not in film:
            continue
        chosen.append(question)
    return chosen


def seconds_of(questions: Iterable[Question], duration_s: int) -> list[int]:
    """The seconds of one video whose images are wanted: those of its FRAME questions, and a grid for the others."""
    asked = list(questions)
    seconds = {int(q.request.end_s) for q in asked if q.track == "frame"}
    grid = range(0, duration_s, STEP_S)
    if any(q.track != "frame" for q in asked):
        seconds |= {grid[round(k)] for k in np.linspace(0, len(grid) - 1, min(len(grid), MOST_FRAMES))}
    return sorted(second for second in seconds if second < duration_s)


def _drawn(scene: Scene) -> Procedure:
    return true_procedure(scene, instruments=False)


def painted(scene: Scene, seconds: list[int]) -> list[bytes]:
    """One WebP file per second."""
    return [encoded(frame) for frame in Renderer(scene).frames(np.asarray(seconds, dtype=float))]


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


def relations(procedure: Procedure, seconds: Iterable[int]) -> Iterator[dict[str, Any]]:
    """Which of two objects lies further left, once per image that shows single ones of two classes: a benchmark asks it
    so rarely that nobody learns it from there. For training only.
    """
    wordings = template_named("left-of").phrasings
    for second in seconds:
        seen = objects_at(procedure, second)
        single = [row for row in seen if [other[0] for other in seen].count(row[0]) == 1]
        rng = stream(second, "left-of", procedure.video)
        pairs = [(a, b) for a in single for b in single if abs(a[1] - b[1]) > NEAR]
        if not pairs:
            continue
        one, other = pairs[int(rng.integers(len(pairs)))]
        named = {"object": CLASS_NAMES[one[0]].lower(), "other": CLASS_NAMES[other[0]].lower(), "here": "in this image"}
        text = wordings[int(rng.integers(len(wordings)))].format_map(named)
        yield {
            "id": f"{procedure.video}-{second}-left-of", "split": "train", "track": "frame", "video": procedure.video,
            "start": second, "end": second, "procedure": procedure.procedure_type,
            "text": f"{text} {ENDINGS['binary', False]}", "format": "binary",
            "answer": "yes" if one[1] < other[1] else "no", "parameters": {}, "template": "left-of",
            "capability": "", "ood": False,
        }  # fmt: skip


def main(arguments: list[str] | None = None) -> None:
    """Read the command line and write everything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--procedures", type=int, default=104, help="of the known centres; a fifth is for testing")
    parser.add_argument("--new-center", type=int, default=22, help="procedures of the centre that is never trained on")
    parser.add_argument("--minutes", default="4-5")
    parser.add_argument("--test-share", type=float, default=0.2)
    parser.add_argument("--per-video", type=int, default=100, help="questions per video and track, at most")
    parser.add_argument("--per-test-video", type=int, default=40, help="of them, how many are kept for testing")
    parser.add_argument("--film-videos", type=int, default=84, help="training videos with SEGMENT and PROCEDURE")
    parser.add_argument("--long", type=int, default=12, help="long procedures, asked about as a whole")
    parser.add_argument("--long-minutes", default="15-32")
    parser.add_argument("--tracks", default="frame,segment,procedure")
    parser.add_argument("--seed", type=int, default=22)
    parser.add_argument("--workers", type=int, default=all_cores())
    options = parser.parse_args(arguments)
    tracks = options.tracks.split(",")
    pool = worker_pool(options.workers)
    scenes = list(scenes_of(vars(options)))
    procedures = {procedure.video: procedure for procedure in pool.map(_drawn, scenes)}
    print(f"drawn: {len(procedures)}", flush=True)
    benchmark = make_questions(
        list(procedures.values()), tracks=tracks, per_video=options.per_video, test_share=options.test_share,
        ood_centers=[NEW_CENTER], seed=options.seed,
    )  # fmt: skip
    print(benchmark.title, flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    benchmark.to_dir(options.out / "questions", force=True)
    long = {name for name, procedure in procedures.items() if procedure.duration_s > LONG_S}
    chosen = kept(benchmark, options.per_test_video, options.film_videos, tracks, long)
    by_video = defaultdict(list)
    for question in chosen:
        by_video[question.request.video].append(question)
    pictures: list[list[Any]] = []
    seconds = [seconds_of(by_video[scene.video], procedures[scene.video].duration_s) for scene in scenes]
    with open(options.out / "pictures.bin", "wb") as store:
        for scene, there, files in zip(scenes, seconds, pool.map(painted, scenes, seconds), strict=True):
            for second, data in zip(there, files, strict=True):
                objects = objects_at(procedures[scene.video], second)
                pictures.append([scene.video, second, store.tell(), len(data), objects])
                store.write(data)
    print(f"painted: {len(pictures)} images", flush=True)
    pool.shutdown()
    known = sorted({q.request.video for q in benchmark.questions if q.split == "train"})
    more = [
        row
        for name in known
        for row in relations(procedures[name], [at for video, at, *_ in pictures if video == name])
    ]
    videos = {name: [p.center, p.procedure_type, p.duration_s] for name, p in procedures.items()}
    labels = {"classes": CLASS_NAMES, "size": [WIDTH, HEIGHT], "step_s": STEP_S, "videos": videos,
              "command": vars(options) | {"out": options.out.name}, "pictures": pictures,
              "questions": [*map(question_row, chosen), *more]}  # fmt: skip
    text = json.dumps(labels, separators=(",", ":"))
    (options.out / "labels.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main()
