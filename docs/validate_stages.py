"""What the annotation stages find on simulated people: `python -m docs.validate_stages` rewrites the tables.

Every error of a simulated annotator is written down, so what a stage finds can be counted. All figures are from
procedures of seeds that played no part in choosing any threshold (`HELD_OUT`). Takes some minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from examples.erring_annotators import Annotation, AnnotationError, BoxAnnotator, Detector, annotate, detect
from numpy.typing import NDArray

from docs.studies import asked, mapped, put_table
from surgvalid.questions.near_duplicates import landmarks_of, near_copies
from surgvalid.questions.stages.appearance import colour_histogram
from surgvalid.questions.stages.box_tables import SIDES, boxes_of, overlap_matrix
from surgvalid.questions.stages.consistency import consistency_flags, strange_returns
from surgvalid.questions.stages.cross_check import Thresholds, cross_check
from surgvalid.questions.stages.linking import propose_instances
from surgvalid.schema.procedures.tracks import Procedure
from surgvalid.simulation import Renderer, draw_scene, true_procedure
from surgvalid.simulation.scene import Scene

PAGE = Path(__file__).parent / "concepts" / "annotation-stages.md"
HELD_OUT = {"flags": 401, "curve": 402, "links": 403, "exchanges": 404, "copies": 405}
STUDENT = BoxAnnotator("student", jitter=0.04, missed=0.04, lag=0.04, confusion=0.15, spurious_per_minute=0.7)
CAREFUL = BoxAnnotator("careful", jitter=0.04, missed=0.03)
SWITCHER = BoxAnnotator("switcher", jitter=0.04, missed=0.03, identity_switch=0.12)
DETECTORS = {"recall 0.85, jitter 8 %": Detector(), "recall 0.95, jitter 5 %": Detector(recall=0.95, jitter=0.05)}
SIZE = {"width_px": 240, "height_px": 136}
FAR = 0.35
"""A box left behind is far off when it overlaps the object by less."""
NEAR_S = 6
"""Seconds between an exchange of names and a flag that means it."""


class Rate(NamedTuple):
    """So many of so many."""

    hits: int
    of: int

    def __str__(self) -> str:
        return f"{self.hits} of {self.of}" + (f" ({100 * self.hits / self.of:.0f} %)" if self.of else "")


class Found(NamedTuple):
    """How many errors were found, and how many flags were right."""

    errors: Rate
    flags: Rate


# --- stage 3: flags ------------------------------------------------------------------------------


class Study(NamedTuple):
    """Truths, what a student made of them, and the flags."""

    truths: dict[str, Procedure]
    done: dict[str, Annotation]
    drawn: pl.DataFrame
    flags: pl.DataFrame

    def errors(self, kind: str) -> Iterator[tuple[str, AnnotationError]]:
        """The errors of a kind, with their video."""
        return ((video, e) for video, one in self.done.items() for e in one.errors if e.kind == kind)

    def flagged(self, kind: str) -> list[dict[str, Any]]:
        """The flags of a kind, each with the annotated track its box belongs to."""
        own = self.flags.filter(pl.col("kind") == kind)
        return own.join(self.drawn, on=["video", "second", "class_name", *SIDES], how="left").to_dicts()


@cache
def _truth(seed: int, number: int) -> Procedure:
    return true_procedure(draw_scene(seed, number, minutes=(10, 12), **SIZE), instruments=False)


def flag_study(seed: int, numbers: Iterable[int], detector: Detector, thresholds: Thresholds) -> Study:
    """Procedures of that seed, annotated and checked against a detector."""
    truths = {truth.video: truth for truth in (_truth(seed, number) for number in numbers)}
    done = {video: annotate(truth, STUDENT, seed=4) for video, truth in truths.items()}
    seen = pl.concat([detect(truth, detector, seed=9) for truth in truths.values()]).drop("real")
    boxes = pl.concat([boxes_of(one.procedure) for one in done.values()])
    return Study(truths, done, boxes, cross_check(boxes.drop("instance"), seen, thresholds=thresholds))


def missing_found(study: Study) -> Found:
    """Boxes that the student skipped, and flags where one of them is."""
    wanted: list[tuple[str, int, Sequence[float]]] = []
    for video, error in study.errors("missed"):
        point = study.truths[video].track(error.instance).point_at(error.second)
        wanted += [(video, error.second, point.box)] if point else []
    flags = [(f["video"], f["second"], [f[side] for side in SIDES]) for f in study.flagged("missing")]
    hits = [[one[:2] == other[:2] and _iou(one[2], other[2]) > 0.3 for other in flags] for one in wanted]
    met = np.array(hits, dtype=bool).reshape(len(wanted), len(flags))
    return Found(Rate(int(met.any(axis=1).sum()), len(wanted)), Rate(int(met.any(axis=0).sum()), len(flags)))


def spurious_found(study: Study) -> Found:
    """Runs of boxes around nothing, and runs that were flagged."""
    return _matched({(v, e.instance) for v, e in study.errors("spurious")}, study.flagged("spurious"))


def classes_found(study: Study) -> Found:
    """Tracks of the wrong class, and tracks that were flagged."""
    wrong = {(v, e.instance) for v, e in study.errors("class") if len(study.truths[v].track(e.instance))}
    return _matched(wrong, study.flagged("wrong_class"))


def drifts_found(study: Study) -> Found:
    """Boxes that stayed far behind, and flags on any box that stayed behind."""
    late = {(v, e.second, e.instance) for v, e in study.errors("lag")}
    wrong = {(v, e.instance) for v, e in study.errors("class")}
    far = set()
    for video, second, instance in late:
        real = study.truths[video].track(instance).point_at(second)
        point = study.done[video].procedure.track(instance).point_at(second)
        if real and point and (video, instance) not in wrong and _iou(point.box, real.box) < FAR:
            far.add((video, second, instance))
    found = {(f["video"], f["second"], f["instance"]) for f in study.flagged("drifted")}
    return Found(Rate(len(found & far), len(far)), Rate(len(found & late), len(found)))


def _matched(wanted: set[tuple[str, str]], flags: list[dict[str, Any]]) -> Found:
    found = {(f["video"], f["instance"]) for f in flags}
    return Found(Rate(len(found & wanted), len(wanted)), Rate(len(found & wanted), len(found)))


def _iou(first: Sequence[float], second: Sequence[float]) -> float:
    return float(overlap_matrix(np.array([first], float), np.array([second], float))[0, 0])


def flag_table(procedures: int = 8) -> str:
    """What the default thresholds find."""
    study = flag_study(HELD_OUT["flags"], range(procedures), Detector(), Thresholds())
    rows: dict[str, Callable[[Study], Found]] = {
        "missing (boxes)": missing_found, "spurious (runs)": spurious_found,
        "wrong_class (tracks)": classes_found, "drifted (boxes far off)": drifts_found,
    }  # fmt: skip
    return _table(["flag", "errors found", "flags that are right"], ((name, *of(study)) for name, of in rows.items()))


def curve_table(procedures: int = 12) -> str:
    """Drifted boxes, by detector and threshold."""
    scores = (0.3, 0.5, 0.7)
    rows = []
    for name, detector in DETECTORS.items():
        cells = []
        for score in scores:
            study = flag_study(HELD_OUT["curve"], range(procedures), detector, Thresholds(score=score))
            found = drifts_found(study)
            cells.append(f"{found.errors}; {found.flags}")
        rows.append((name, *cells))
    return _table(["detector", *(f"`score` {score}" for score in scores)], rows)


# --- stage 4: links and exchanges ----------------------------------------------------------------


def painted_boxes(scene: Scene, procedure: Procedure) -> tuple[pl.DataFrame, NDArray[np.float64]]:
    """Boxes of a procedure in order of time, with the histograms of the painted frames."""
    boxes = boxes_of(procedure).sort("video", "second", maintain_order=True)
    looks = []
    by_second = boxes.group_by("second", maintain_order=True)
    times = boxes["second"].unique(maintain_order=True).to_numpy().astype(float)
    for picture, (_, own) in zip(Renderer(scene).frames(times), by_second, strict=True):
        looks += [colour_histogram(picture, box) for box in own.select(SIDES).to_numpy()]
    return boxes, np.array(looks)


def link_errors(boxes: pl.DataFrame, looks: NDArray[np.float64] | None) -> tuple[int, int, int, int]:
    """Wrong links (an instance goes on as another object), breaks, boxes in the right instance, pieces."""
    both = propose_instances(boxes.drop("instance"), looks=looks).boxes.with_columns(truth=boxes["instance"])
    pieces = [group for _, group in both.group_by("instance", maintain_order=True)]
    objects = [group for _, group in both.group_by("truth", maintain_order=True)]
    wrong = sum(int((g["truth"][1:] != g["truth"][:-1]).sum()) for g in pieces)
    breaks = sum(int((g["instance"][1:] != g["instance"][:-1]).sum()) for g in objects)
    right = sum(int(g["truth"].unique_counts().to_numpy().max()) for g in pieces)
    return wrong, breaks, right, len(pieces)


def link_table(procedures: int = 6) -> str:
    """Links by motion, and by motion and appearance."""
    totals = {"motion": np.zeros(4, int), "motion and appearance": np.zeros(4, int)}
    boxes = objects = 0
    for number in range(procedures):
        scene = draw_scene(HELD_OUT["links"], number, minutes=(10, 12), **SIZE)
        own, looks = painted_boxes(scene, annotate(true_procedure(scene), CAREFUL, seed=4).procedure)
        boxes, objects = boxes + own.height, objects + own["instance"].n_unique()
        totals["motion"] += link_errors(own, None)
        totals["motion and appearance"] += link_errors(own, looks)
    heads = ["linked by", "goes on as another object", "breaks", "boxes in the right instance",
             f"pieces ({objects} objects)"]  # fmt: skip
    rows = ((name, f"{t[0]} times", t[1], Rate(int(t[2]), boxes), t[3]) for name, t in totals.items())
    return _table(heads, rows)


def exchange_table(procedures: int = 24) -> str:
    """Names exchanged out of view: what motion tells, and what the looks of returns tell."""
    counted = {name: np.zeros(4, int) for name in ("motion", "appearance of returns")}
    for number in range(procedures):
        scene = draw_scene(HELD_OUT["exchanges"], number, minutes=(8, 9), width_px=160, height_px=90)
        done = annotate(true_procedure(scene, instruments=False), SWITCHER, seed=4)
        boxes, looks = painted_boxes(scene, done.procedure)
        flags = consistency_flags(boxes).filter(pl.col("kind") == "identity_switch").to_dicts()
        counted["motion"] += exchanges_found(done, [(f["second"], {f["instance"], f["other"]}) for f in flags])
        returns = strange_returns(boxes, looks)
        counted["appearance of returns"] += exchanges_found(done, [(r.second, {r.instance, r.other}) for r in returns])
    rows = ((name, Rate(*map(int, c[:2])), Rate(*map(int, c[2:]))) for name, c in counted.items())
    return _table(["checked by", "exchanges found", "flags that are right"], rows)


def exchanges_found(done: Annotation, told: Sequence[tuple[int, set[str]]]) -> tuple[int, int, int, int]:
    """Exchanges found, exchanges made, flags that mean one of them, flags; a flag is a second and two names."""
    made = [(e.second, {e.instance, e.detail}) for e in done.errors if e.kind == "identity"]
    hits = [[abs(at - then) <= NEAR_S and bool(pair & names) for then, names in told] for at, pair in made]
    met = np.array(hits, dtype=bool).reshape(len(made), len(told))
    return int(met.any(axis=1).sum()), len(made), int(met.any(axis=0).sum()), len(told)


# --- near-identical videos -----------------------------------------------------------------------


def annotated_again(procedure: Procedure, name: str, *, cut_s: int = 0, scale: float = 1.0) -> Procedure:
    """The recording as another person annotates it, from `cut_s` on, at another resolution."""
    drawn = annotate(procedure, BoxAnnotator(name, jitter=0.06, missed=0.05), seed=3).procedure
    tracks = []
    for track in drawn.tracks:
        kept = track.at_points(track.seconds >= cut_s)
        tracks.append(replace(kept, seconds=kept.seconds - cut_s, boxes=kept.boxes * scale, changes=()))
    return replace(
        procedure, video=name, patient=name, tracks=tuple(tracks), events=(), phases=(), masked=(),
        duration_s=procedure.duration_s - cut_s, width_px=round(procedure.width_px * scale),
        height_px=round(procedure.height_px * scale),
    )  # fmt: skip


def copy_table(recordings: int = 60, copied: int = 15) -> str:
    """Copies that are recognised, and different recordings that are mistaken for one."""
    scenes = (draw_scene(HELD_OUT["copies"], number, minutes=(12, 20), **SIZE) for number in range(recordings))
    procedures = [true_procedure(scene, instruments=False) for scene in scenes]
    marks = [landmarks_of(procedure) for procedure in procedures]
    found = 0
    for at, (cut_s, scale) in product(range(copied), ((0, 1.0), (120, 1.0), (0, 1.6), (240, 0.5))):
        again = landmarks_of(annotated_again(procedures[at], "other", cut_s=cut_s, scale=scale))
        found += (0, 1) in near_copies([marks[at], again])
    pairs = recordings * (recordings - 1) // 2
    rows = (
        ("copies found", Rate(found, 4 * copied)),
        ("pairs of different recordings mistaken for one", Rate(len(near_copies(marks)), pairs)),
    )
    return _table(["videos", "number"], rows)


# --- page ----------------------------------------------------------------------------------------


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


TABLES: dict[str, Callable[[], str]] = {
    "flags": flag_table, "curve": curve_table, "links": link_table, "exchanges": exchange_table, "copies": copy_table,
}  # fmt: skip


def made(name: str) -> str:
    """One table by its name."""
    return TABLES[name]()


def main() -> None:
    """Put new tables between the markers of the page, and print them."""
    options = asked(__doc__ or "")
    tables = mapped(made, [(name,) for name in TABLES], processes=options.processes)
    for name, table in zip(TABLES, tables, strict=True):
        print(f"{name} (seed {HELD_OUT[name]})\n{table}\n", flush=True)
        put_table(PAGE, name, table)


if __name__ == "__main__":
    main()
