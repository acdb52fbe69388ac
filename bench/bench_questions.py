"""Ledger and questions: a three-hour procedure with 100 objects, and 10,000 questions from 20 procedures."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

import numpy as np

from bench.harness import Row, cpu_seconds
from surgvalid.questions.make import make_questions
from surgvalid.report.review.items import Item, ReviewMaterial
from surgvalid.report.review.log import ReviewLog
from surgvalid.report.review.server import ReviewServer
from surgvalid.schema.procedures.foreign_objects import CLASS_NAMES
from surgvalid.schema.procedures.ledger import Ledger
from surgvalid.schema.procedures.spans import Window
from surgvalid.schema.procedures.tracks import Event, EventKind, Phase, Procedure, Track

QUERIES = 200


def long_procedure(seed: int, *, hours: float, objects: int) -> Procedure:
    """A procedure whose objects come and go for minutes at a time, drift and are handled now and then."""
    draw = np.random.default_rng(seed)
    duration_s = int(hours * 3600)
    tracks, events = [], []
    for number in range(objects):
        name, kind = f"object {number}", CLASS_NAMES[int(draw.integers(0, len(CLASS_NAMES)))]
        start = int(draw.integers(0, duration_s // 2))
        stop = int(draw.integers(start + duration_s // 10, duration_s))
        switches = np.cumsum(draw.integers(2, 120, duration_s // 30))
        shown = np.searchsorted(switches, np.arange(stop - start), "right") % 2 == 0
        seconds = start + np.flatnonzero(shown)
        corner = np.cumsum(draw.normal(0, 2, (seconds.size, 2)), axis=0)
        boxes = np.column_stack([np.clip(corner + draw.uniform(50, 400, 2), 0, 440), np.full((seconds.size, 2), 40.0)])
        hidden = (draw.random(seconds.size) < 0.1).astype(np.uint8)
        tracks.append(Track(name, kind, seconds, np.round(boxes, 1), hidden))
        told = [(EventKind.INSERTED, start), (EventKind.PLACED, (start + stop) // 2), (EventKind.RETRIEVED, stop)]
        for what, second in told[: int(draw.integers(1, 4))]:
            events.append(Event(what, second, name, {"place": "pelvis"} if number % 2 else {"place": "liver bed"}))
    phases = tuple(Phase(f"phase {i}", i * duration_s // 4, (i + 1) * duration_s // 4) for i in range(4))
    return Procedure(f"v{seed}", "Cholecystectomy", "A", duration_s, 640, 480, tuple(tracks), tuple(events), phases)


def windows(duration_s: int) -> list[Window]:
    draw = np.random.default_rng(0)
    pairs = np.sort(draw.integers(0, duration_s, (QUERIES, 2)), axis=1)
    return [Window(int(a), int(b)) for a, b in pairs]


def ask_ledger(procedure: Procedure) -> list[int]:
    """Largest number of sponges at once in each window, from the ledger, which is built first."""
    ledger = Ledger(procedure)
    return [ledger.most_in_view(window, "Sponge").most for window in windows(procedure.duration_s)]


def ask_frames(procedure: Procedure) -> list[int]:
    """The same by writing out who is seen in every second and scanning the seconds of each window."""
    seen: list[list[str]] = [[] for _ in range(procedure.duration_s)]
    for track in procedure.tracks:
        for second, shown in zip(track.seconds.tolist(), track.in_view.tolist(), strict=True):
            if shown and track.class_name == "Sponge":
                seen[second].append(track.instance)
    return [max(len(seen[s]) for s in range(w.start_s, w.end_s + 1)) for w in windows(procedure.duration_s)]


def verdict_seconds() -> float:
    """CPU time of the server for an answer with its verdict among 50,000 items, once the history was read."""
    kinds = {"template": "t", "track": "frame", "split": "test", "capability": "1a"}
    about = ("Is a clip visible?", "yes", "binary", (3, 3), (3,), frozenset[str]())
    items = tuple(Item(f"q{number}", "v", *about, kinds=kinds) for number in range(50_000))
    with tempfile.TemporaryDirectory() as folder:
        log = ReviewLog(Path(folder) / "history.csv")
        server = ReviewServer(ReviewMaterial(items, {}, {}), log, raters=["anna", "ben"])
        said = [{"item": f"q{number}", "answer": "yes", "action": "approved"} for number in range(101)]
        bodies = [json.dumps(one).encode() for one in said]
        server.post("anna", "answer", bodies.pop())
        start = time.process_time()
        for body in bodies:
            replies = server.post("anna", "answer", body), server.post("anna", "verdict", body)
            assert [reply.code for reply in replies] == [200, 200]
        spent = (time.process_time() - start) / len(bodies)
        server.server_close()
        return spent


def rows() -> list[Row]:
    procedure = long_procedure(0, hours=3, objects=100)
    if ask_ledger(procedure) != ask_frames(procedure):
        raise AssertionError("the ledger and the scan of frames disagree")
    build_s = cpu_seconds(lambda: Ledger(procedure))
    ledger_s, frames_s = cpu_seconds(lambda: ask_ledger(procedure)), cpu_seconds(lambda: ask_frames(procedure))
    procedures = [long_procedure(seed, hours=1, objects=30) for seed in range(20)]
    made = make_questions(procedures, per_video=190)
    questions_s = cpu_seconds(lambda: make_questions(procedures, per_video=190), repeat=1, warm_up=False)
    points = sum(len(track) for track in procedure.tracks)
    return [
        Row("ledger of a 3 h procedure, 100 objects", build_s, "-", None, note=f"{points:,} boxes; promised under 1 s"),
        Row(f"ledger and {QUERIES} maxima in windows", ledger_s, "scan of frames", frames_s, goal=5.0),
        Row(
            "questions from 20 procedures of an hour",
            questions_s,
            "the goal itself: 10 s of CPU",
            10.0,
            goal=1.0,
            note=f"{len(made.questions):,} questions",
        ),
        Row(
            "an answer and a verdict in a review of 50,000 items",
            verdict_seconds(),
            "the goal itself: 5 ms",
            0.005,
            1.0,
        ),
    ]
