"""Trivial predictors: what a model that ignores its input would reach on the same references.

    labels, label sequences   the most frequent class for every case
    sets                      every label, no label, each label as most cases have it
    scores                    the frequency of each class for every case
    boxes                     the median box of each class in every image, scored by how often the class is there
    tracks                    no box at all
The best of them under a metric is its trivial baseline. Frequencies come from the references that are scored, so a
trivial baseline is never too low.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from surgvalid.metrics.classification.cases import LabelCases, ScoreCases, SetCases
from surgvalid.metrics.detection.cases import DetectionCases, Objects
from surgvalid.metrics.phases.videos import PhaseVideo
from surgvalid.metrics.tracking.sequences import Overlaps, Side
from surgvalid.metrics.triplets import TripletCases
from surgvalid.schema.metric_facts import Metric

MOST_BOXES = 200_000
"""No more are made up: images times classes can be millions."""


class Trivial(NamedTuple):
    """An input-blind predictor."""

    predictor: str
    cases: Any


class TrivialBest(NamedTuple):
    """The best value of the trivial predictors."""

    value: float | None = None
    predictor: str | None = None


def trivial_best(metric: Metric, predictors: tuple[Trivial, ...]) -> TrivialBest:
    """The best value that a trivial predictor reaches under a metric; nothing where none has a value."""
    larger = metric.facts.better == "larger"
    best = TrivialBest()
    for one in predictors if metric.facts.better is not None else ():
        statistics = np.asarray(metric.prepare(one.cases))
        value = float(np.asarray(metric.combine(statistics, np.ones((1, len(statistics)))))[0])
        if np.isnan(value):
            continue
        if best.value is None or (value > best.value if larger else value < best.value):
            best = TrivialBest(value, one.predictor)
    return best


def trivial_predictors(cases: Any) -> tuple[Trivial, ...]:
    """The trivial predictors of some cases; none where their form is not known."""
    kind = type(cases[0]) if isinstance(cases, list) and cases else type(cases)
    make = _MAKERS.get(kind)
    return make(cases) if make is not None else ()


def _labels(cases: LabelCases) -> tuple[Trivial, ...]:
    if not len(cases.reference):
        return ()
    most = int(np.bincount(cases.reference, minlength=cases.classes).argmax())
    constant = np.full(len(cases.reference), most, dtype=np.intp)
    return (Trivial("the most frequent class for every case", replace(cases, prediction=constant)),)


def _sets(cases: SetCases) -> tuple[Trivial, ...]:
    shape = cases.reference.shape
    usual = cases.reference.mean(axis=0) >= 0.5 if shape[0] else np.zeros(shape[1], bool)
    rows = {
        "every label for every case": np.ones(shape[1], bool),
        "no label for any case": np.zeros(shape[1], bool),
        "each label as most cases have it": usual,
    }
    return tuple(
        Trivial(who, replace(cases, prediction=np.broadcast_to(row, shape).copy())) for who, row in rows.items()
    )


def _scores(cases: ScoreCases) -> tuple[Trivial, ...]:
    given = cases.reference.argmax(axis=1) if cases.single_label else cases.reference
    return (Trivial(_FREQUENCIES, ScoreCases(given, _frequencies(cases.reference), cases.unit)),)


_FREQUENCIES = "the frequency of each class for every case"


def _frequencies(reference: np.ndarray) -> np.ndarray:
    frequency = reference.mean(axis=0) if len(reference) else np.zeros(reference.shape[1])
    return np.broadcast_to(frequency, reference.shape).copy()


def _triplets(cases: TripletCases) -> tuple[Trivial, ...]:
    return (Trivial(_FREQUENCIES, replace(cases, scores=_frequencies(np.asarray(cases.reference)))),)


def _sequences(cases: list[PhaseVideo]) -> tuple[Trivial, ...]:
    counts = Counter(chain.from_iterable(np.asarray(video.reference).tolist() for video in cases))
    most = max(sorted(counts, key=str), key=lambda label: counts[label])
    made = [replace(video, prediction=np.full(len(video.reference), most, dtype=object)) for video in cases]
    return (Trivial("the most frequent class for every case", made),)


def _boxes(cases: DetectionCases) -> tuple[Trivial, ...]:
    nothing = cases.prediction.of(np.zeros(0, np.intp))
    predictors = [Trivial("no box at all", replace(cases, prediction=nothing))]
    reference = cases.reference
    present = np.unique(reference.category[~reference.crowds])
    if reference.box is not None and reference.mask is None and present.size * cases.images <= MOST_BOXES:
        typical = [np.median(reference.box[(reference.category == one) & ~reference.crowds], axis=0) for one in present]
        often = [len(np.unique(reference.image[reference.category == one])) / cases.images for one in present]
        made = Objects(
            np.repeat(np.arange(cases.images), present.size),
            np.tile(present, cases.images),
            box=np.tile(np.array(typical).reshape(-1, 4), (cases.images, 1)),
            score=None if cases.prediction.score is None else np.tile(often, cases.images),
        )
        predictors.append(Trivial("the median box of each class in every image", replace(cases, prediction=made)))
    return tuple(predictors)


def _tracks(cases: list[Overlaps]) -> tuple[Trivial, ...]:
    none = np.zeros(0, np.intp)
    made = [
        one._replace(
            prediction=Side(none, 0, np.zeros_like(one.prediction.starts)),
            pair_reference=none,
            pair_prediction=none,
            similarity=np.zeros(0),
            starts=np.zeros_like(one.starts),
        )
        for one in cases
    ]
    return (Trivial("no box at all", made),)


_MAKERS: dict[type, Callable[[Any], tuple[Trivial, ...]]] = {
    LabelCases: _labels,
    SetCases: _sets,
    ScoreCases: _scores,
    TripletCases: _triplets,
    PhaseVideo: _sequences,
    DetectionCases: _boxes,
    Overlaps: _tracks,
}
