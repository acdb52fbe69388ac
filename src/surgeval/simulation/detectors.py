"""A detector with known faults, in the shape of COCO results at 1 fps: for checking annotations against it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from surgeval.schema.foreign_objects import CLASS_NAMES
from surgeval.schema.tracks import Procedure
from surgeval.simulation.annotators import BoxAnnotator, annotate
from surgeval.stats.draws import stream


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
