"""Predictions along a video: sequences by model and video, at any frame rate, and how restless they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import polars as pl

from surgvalid.audit.evidence import NotThere
from surgvalid.audit.study import AuditedStudy


class Timeline(NamedTuple):
    """One model on one video, in order of time; only moments with a reference."""

    model: str
    video: str
    unit: str
    """The patient of the video where it is named, else the video."""
    time_s: np.ndarray
    reference: np.ndarray
    prediction: np.ndarray
    """Empty text where the model predicted nothing."""

    def every(self, step: int) -> Timeline:
        """Every so many moments."""
        cut = slice(None, None, step)
        return self._replace(time_s=self.time_s[cut], reference=self.reference[cut], prediction=self.prediction[cut])


def timelines(study: AuditedStudy, reference: str = "reference") -> list[Timeline]:
    """Every model on every video; videos of one moment are left out.

    Raises:
        NotThere: No predictions over time, or none with a reference.
    """
    frames = study.table("frames", reference).filter(pl.col(reference).is_not_null()).sort("model", "video", "time_s")
    lines = [
        Timeline(
            str(model),
            str(video),
            study.patients.get(str(video), str(video)),
            rows["time_s"].to_numpy(),
            rows[reference].cast(pl.String).to_numpy().astype(str),
            rows["prediction"].cast(pl.String).fill_null("").to_numpy().astype(str),
        )
        for (model, video), rows in frames.group_by("model", "video", maintain_order=True)
        if rows.height > 1
    ]
    if not lines:
        raise NotThere("predictions over time with a reference, in videos of several moments")
    return lines


def models_of(lines: list[Timeline]) -> list[str]:
    """The models, in order."""
    return list(dict.fromkeys(line.model for line in lines))


def grid(lines: list[Timeline], measure: Callable[[Timeline], float]) -> tuple[np.ndarray, list[str], list[str]]:
    """A measure of every model on every video, `[unit, model]`; NaN where a model lacks a unit.

    Units weigh the same, and so do the videos of one, so a long procedure does not decide.
    """
    models, units = models_of(lines), list(dict.fromkeys(line.unit for line in lines))
    totals, counts = np.zeros((2, len(units), len(models)))
    for line in lines:
        place = units.index(line.unit), models.index(line.model)
        totals[place] += measure(line)
        counts[place] += 1
    return np.divide(totals, counts, out=np.full_like(totals, np.nan), where=counts > 0), models, units


def accuracy(line: Timeline) -> float:
    """The share of moments that are right."""
    return float((line.reference == line.prediction).mean())


def forgiving(tolerance_s: float) -> Callable[[Timeline], float]:
    """The share of moments that are right, or would be within so many seconds of a change of the reference."""

    def measure(line: Timeline) -> float:
        right = line.reference == line.prediction
        for place in changes(line.reference):
            near = np.abs(line.time_s - line.time_s[place]) <= tolerance_s
            beside = (line.prediction == line.reference[place - 1]) | (line.prediction == line.reference[place])
            right = right | (near & beside)
        return float(right.mean())

    return measure


def changes(labels: np.ndarray) -> np.ndarray:
    """The places at which a sequence changes."""
    return np.flatnonzero(labels[1:] != labels[:-1]) + 1


def restlessness(line: Timeline) -> float:
    """Changes of the prediction for each one of the reference; 1 is as restless as the procedure itself."""
    return float((len(changes(line.prediction)) + 1) / (len(changes(line.reference)) + 1))


def step_of(lines: list[Timeline]) -> float:
    """The usual time between two moments, in seconds."""
    return float(np.median(np.concatenate([np.diff(line.time_s) for line in lines])))


def fitting_steps(lines: list[Timeline], factors: tuple[int, ...]) -> Iterator[int]:
    """Factors by which every video can be thinned out and keep ten moments."""
    shortest = min(len(line.time_s) for line in lines)
    yield from (factor for factor in factors if shortest // factor >= 10)
