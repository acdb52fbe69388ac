"""Annotators and a detector who err as real ones do, with every error of the annotators written down.

Stage 1 of the benchmark's annotation shows five-second clips to crowd workers who say which classes occur;
stage 2 has boxes drawn at 1 fps; stage 4 links them to instances. The errors: clips overlooked (more often
when the object is small or glimpsed, and ever more often as the worker tires), guesses, jitter of boxes,
seconds skipped, boxes that stay behind, wrong classes, things that are none, and identities swapped when an
object comes back. The detector gives COCO results at 1 fps, for checking annotations against it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from surgvalid.schema.procedures.foreign_objects import CLASS_NAMES
from surgvalid.schema.procedures.tracks import Procedure, Track
from surgvalid.simulation.timelines import Draws, Flags, Floats
from surgvalid.stats.draws import stream


@dataclass(frozen=True, slots=True)
class Detector:
    """How good a detector is."""

    name: str = "detector"
    recall: float = 0.85
    jitter: float = 0.08
    false_per_minute: float = 1.0
    confusion: float = 0.05
    """Share of boxes that get another class."""


def detect(procedure: Procedure, detector: Detector, *, seed: int) -> pl.DataFrame:
    """Its boxes: video, second, class_name, x, y, width, height, score, real.

    `real` says whether an object of any class is there; drop it before anything that must not know it.
    Scores of real boxes tend to be higher, and overlap with those of false ones.
    """
    sloppy = BoxAnnotator(
        detector.name, detector.jitter, 1 - detector.recall, spurious_per_minute=detector.false_per_minute
    )
    drawn = annotate(procedure, sloppy, seed=seed).procedure
    rng = stream(seed, "detector", procedure.video, detector.name)
    frames = []
    for track in drawn.tracks:
        count, real = len(track), not track.instance.startswith("spurious_")
        names = np.where(
            rng.random(count) < detector.confusion,
            np.asarray(CLASS_NAMES)[rng.integers(0, len(CLASS_NAMES), count)],
            track.class_name,
        )
        scores = rng.beta(6, 2, count) if real else rng.beta(2, 4, count)
        columns = dict(zip(("x", "y", "width", "height"), track.boxes.T, strict=True))
        frames.append(
            pl.DataFrame(
                {"video": [procedure.video] * count, "second": track.seconds, "class_name": names.astype(str)}
                | columns
                | {"score": np.round(scores, 4), "real": [real] * count},
                schema_overrides={"class_name": pl.String, "video": pl.String, "real": pl.Boolean},
            )
        )
    return pl.concat(frames).sort("second", "class_name", "x") if frames else pl.DataFrame()


CLIP_S = 5
_EASY_SIZE = 0.02
"""Share of the image from which on an object is hardly ever too small to notice."""


@dataclass(frozen=True, slots=True)
class CrowdWorker:
    """Somebody who says which classes a short clip shows."""

    name: str
    sensitivity: float = 0.92
    """Chance to notice a class that is large and there for the whole clip."""
    specificity: float = 0.98
    """Chance not to name a class that is absent."""
    fatigue: float = 0.0
    """By how much the sensitivity has fallen after a thousand clips in a row."""
    spam: float = 0.0
    """Share of clips answered without looking."""


def screen_presence(
    procedure: Procedure,
    workers: Sequence[CrowdWorker],
    *,
    seed: int,
    class_names: Sequence[str] = CLASS_NAMES,
    clip_s: int = CLIP_S,
) -> pl.DataFrame:
    """What the workers say of every clip: video, clip, start_s, class_name, worker, present, truth.

    `truth` is what the clip really shows; drop the column before anything that must not know it.
    """
    clips = -(-procedure.duration_s // clip_s)
    seen, ease = _presence(procedure, class_names, clips, clip_s)
    frames = []
    for worker in workers:
        rng = stream(seed, "crowd", procedure.video, worker.name)
        tired = worker.fatigue * np.minimum(np.arange(clips) / 1000, 1.0)[None, :]
        noticing = np.clip(worker.sensitivity - tired, 0, 1) * ease
        says = rng.random(seen.shape) < np.where(seen, noticing, 1 - worker.specificity)
        guess = rng.random((1, clips)) < worker.spam
        says = np.where(guess, rng.random(seen.shape) < 0.5, says)
        index = np.indices(seen.shape)
        frames.append(
            pl.DataFrame(
                {
                    "video": procedure.video,
                    "clip": index[1].ravel(),
                    "start_s": index[1].ravel() * clip_s,
                    "class_name": np.asarray(class_names)[index[0].ravel()],
                    "worker": worker.name,
                    "present": says.ravel(),
                    "truth": seen.ravel(),
                }
            )
        )
    return pl.concat(frames)


def _presence(procedure: Procedure, class_names: Sequence[str], clips: int, clip_s: int) -> tuple[Flags, Floats]:
    """For each class and clip, whether it occurs, and how easily it is noticed if it does."""
    seen = np.zeros((len(class_names), clips), dtype=bool)
    ease = np.zeros((len(class_names), clips))
    picture = procedure.width_px * procedure.height_px
    for track in procedure.tracks:
        if track.class_name not in class_names or not track.in_view.any():
            continue
        row = list(class_names).index(track.class_name)
        at = track.seconds[track.in_view] // clip_s
        share = track.boxes[track.in_view][:, 2:].prod(axis=1) / picture
        seen[row, np.unique(at)] = True
        seconds = np.bincount(at, minlength=clips)
        largest = np.zeros(clips)
        np.maximum.at(largest, at, share)
        size = np.clip(largest / _EASY_SIZE, 0.35, 1.0)
        ease[row] = np.maximum(ease[row], size * np.clip(0.55 + 0.15 * seconds, 0, 1))
    return seen, ease


@dataclass(frozen=True, slots=True)
class BoxAnnotator:
    """Somebody who draws boxes and links them."""

    name: str
    jitter: float = 0.04
    """Standard deviation of each border, as a share of the box."""
    missed: float = 0.03
    """Share of seconds without the box that should be there."""
    fatigue: float = 0.0
    """By how much that share has grown at the end of the procedure."""
    lag: float = 0.0
    """Share of seconds in which the box of the second before is left standing."""
    confusion: float = 0.0
    """Share of objects that get another class."""
    spurious_per_minute: float = 0.0
    """Boxes around something that is no foreign object."""
    identity_switch: float = 0.0
    """Chance that two objects of a class swap identities after one was out of view."""


@dataclass(frozen=True, slots=True)
class AnnotationError:
    """One error that was made on purpose."""

    kind: str
    """`missed`, `lag`, `class`, `spurious` or `identity`."""
    instance: str
    second: int
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Annotation:
    """What an annotator wrote down, and every error in it (jitter apart, which is everywhere)."""

    procedure: Procedure
    errors: tuple[AnnotationError, ...]


def annotate(procedure: Procedure, annotator: BoxAnnotator, *, seed: int) -> Annotation:
    """The procedure as that annotator would write it down. Events are those of the truth.

    Args:
        procedure: The truth.
        annotator: Who annotates.
        seed: The same seed and name make the same errors.
    """
    rng = stream(seed, "annotator", procedure.video, annotator.name)
    errors: list[AnnotationError] = []
    shown = [track.at_points(track.in_view) for track in procedure.tracks]
    tracks = [_drawn(track, procedure, annotator, rng, errors) for track in shown]
    tracks = _switched(tracks, annotator, rng, errors)
    tracks += _spurious(procedure, annotator, rng, errors)
    errors.sort(key=lambda error: (error.second, error.instance, error.kind))
    return Annotation(replace(procedure, tracks=tuple(tracks), relations=()), tuple(errors))


def _drawn(
    track: Track, procedure: Procedure, annotator: BoxAnnotator, rng: Draws, errors: list[AnnotationError]
) -> Track:
    count = len(track)
    tired = annotator.missed + annotator.fatigue * track.seconds / procedure.duration_s
    kept = rng.random(count) >= tired
    errors += [AnnotationError("missed", track.instance, int(second)) for second in track.seconds[~kept]]
    boxes = track.boxes.copy()
    late = np.flatnonzero(rng.random(count) < annotator.lag)
    late = late[late > 0]
    boxes[late] = track.boxes[late - 1]
    errors += [AnnotationError("lag", track.instance, int(track.seconds[at])) for at in late if kept[at]]
    boxes = _jittered(boxes, annotator.jitter, procedure, rng)
    class_name = track.class_name
    if rng.random() < annotator.confusion:
        others = [name for name in CLASS_NAMES if name != class_name]
        class_name = others[int(rng.integers(len(others)))]
        first = int(track.seconds[0]) if count else 0
        errors.append(AnnotationError("class", track.instance, first, f"{track.class_name} written as {class_name}"))
    return replace(track.at_points(kept), class_name=class_name, boxes=np.round(boxes[kept], 1))


def _jittered(boxes: Floats, jitter: float, procedure: Procedure, rng: Draws) -> Floats:
    """Boxes whose borders are off a little, still within the image and at least a pixel wide."""
    size = np.tile(boxes[:, 2:], 2)
    borders = (
        np.column_stack([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]]) + rng.normal(0, 1, size.shape) * jitter * size
    )
    limit = np.array([procedure.width_px, procedure.height_px])
    low = np.clip(borders[:, :2], 0, limit - 1)
    high = np.clip(borders[:, 2:], low + 1, limit)
    return np.column_stack([low, high - low])


def _switched(tracks: list[Track], annotator: BoxAnnotator, rng: Draws, errors: list[AnnotationError]) -> list[Track]:
    """Tracks in which two objects of a class go on under each other's identity."""
    tracks = list(tracks)
    for first in range(len(tracks)):
        gaps = np.flatnonzero(np.diff(tracks[first].seconds) > CLIP_S)
        for gap in gaps[:20]:
            if rng.random() >= annotator.identity_switch:
                continue
            second = int(tracks[first].seconds[gap + 1])
            partners = [
                other
                for other in range(len(tracks))
                if other != first
                and tracks[other].class_name == tracks[first].class_name
                and len(tracks[other])
                and tracks[other].seconds[0] < second <= tracks[other].seconds[-1]
            ]
            if not partners:
                continue
            other = partners[int(rng.integers(len(partners)))]
            errors.append(AnnotationError("identity", tracks[first].instance, second, tracks[other].instance))
            tracks[first], tracks[other] = _swapped_from(tracks[first], tracks[other], second)
            break
    return tracks


def _swapped_from(first: Track, second: Track, from_s: int) -> tuple[Track, Track]:
    def joined(head: Track, tail: Track) -> Track:
        before, after = head.seconds < from_s, tail.seconds >= from_s
        return replace(
            head,
            seconds=np.concatenate([head.seconds[before], tail.seconds[after]]),
            boxes=np.concatenate([head.boxes[before], tail.boxes[after]]),
            visibility=np.concatenate([head.visibility[before], tail.visibility[after]]),
            doubtful=np.zeros(int(before.sum()) + int(after.sum()), dtype=bool),
            dials={},
        )

    return joined(first, second), joined(second, first)


def _spurious(procedure: Procedure, annotator: BoxAnnotator, rng: Draws, errors: list[AnnotationError]) -> list[Track]:
    tracks = []
    for number in range(int(rng.poisson(annotator.spurious_per_minute * procedure.duration_s / 60))):
        start = int(rng.integers(0, procedure.duration_s))
        seconds = np.arange(start, min(start + int(rng.integers(1, 6)), procedure.duration_s))
        size = rng.uniform(0.05, 0.25, 2) * (procedure.width_px, procedure.height_px)
        place = rng.uniform(0, 1, 2) * ((procedure.width_px, procedure.height_px) - size)
        boxes = np.tile(np.round(np.concatenate([place, size]), 1), (len(seconds), 1))
        name, class_name = f"spurious_{number + 1}", CLASS_NAMES[int(rng.integers(len(CLASS_NAMES)))]
        tracks.append(Track(name, class_name, seconds, boxes, np.zeros(len(seconds), dtype=np.uint8)))
        errors.append(AnnotationError("spurious", name, start, class_name))
    return tracks
