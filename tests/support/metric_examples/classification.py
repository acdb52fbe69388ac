"""Classification: random videos of labels, label sets, scores and probabilities; scikit-learn as the oracle."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn import metrics as oracle

from metric_examples.example import Example
from surgvalid.metrics.classification.cases import NO_ANSWER, LabelCases, ScoreCases, SetCases

CLASSES = 4


class Video(NamedTuple):
    """References and predictions of the frames of one video."""

    reference: np.ndarray
    prediction: np.ndarray


def joined(videos: list[Video]) -> Video:
    return Video(*(np.concatenate(parts) for parts in zip(*videos, strict=True)))


def units(videos: list[Video]) -> list[int]:
    return [place for place, video in enumerate(videos) for _ in video.reference]


def quiet(work: Callable[..., Any], *args: Any, **options: Any) -> float:
    """An oracle's value without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(work(*args, **options))


# One label per case ---------------------------------------------------------------------------------------


def label_video(rng: np.random.Generator) -> Video:
    """A few frames of a few of the classes; some are not answered."""
    size, some = rng.integers(1, 9), rng.permutation(CLASSES)[: rng.integers(1, CLASSES + 1)]
    return Video(rng.choice(some, size), rng.integers(NO_ANSWER, CLASSES, size))


def answered_video(rng: np.random.Generator) -> Video:
    video = label_video(rng)
    return Video(video.reference, np.where(video.prediction < 0, 0, video.prediction))


def stray_labels(rng: np.random.Generator) -> Video:
    """Two classes in the reference, a third in the prediction."""
    return Video(rng.permutation([0, 1, 1, 0]), np.array([0, 1, 2, 2]))


def perfect_labels(rng: np.random.Generator) -> Video:
    reference = np.concatenate([np.arange(CLASSES), rng.integers(0, CLASSES, 3)])
    return Video(reference, reference)


def label_cases(videos: list[Video]) -> LabelCases:
    reference, prediction = joined(videos) if videos else (np.zeros(0, int), np.zeros(0, int))
    return LabelCases(reference, prediction, CLASSES, unit=units(videos))


def over_classes(name: str, average: str, labels: str = "supported") -> Callable[[list[Video]], float]:
    score = getattr(oracle, f"{name}_score")

    def value(videos: list[Video]) -> float:
        reference, prediction = joined(videos)
        chosen = np.unique(reference) if labels == "supported" else np.arange(CLASSES)
        options = {"labels": chosen, "average": average, "zero_division": 0}
        return quiet(score, reference, prediction, **options)

    return value


def one_against_rest(kind: str) -> Callable[[list[Video]], float]:
    """Macro specificity or NPV over supported classes, by scikit-learn's 2 by 2 tables."""

    def value(videos: list[Video]) -> float:
        reference, prediction = joined(videos)
        found = []
        for label in np.unique(reference):
            (tn, fp), (fn, _) = oracle.confusion_matrix(reference == label, prediction == label, labels=[False, True])
            below = tn + (fp if kind == "specificity" else fn)
            if below:
                found.append(tn / below)
        return float(np.mean(found)) if found else math.nan

    return value


def label_cells(videos: list[Video]) -> float:
    reference, prediction = joined(videos)
    wide = [np.asarray(labels)[:, None] == np.arange(CLASSES) for labels in (reference, prediction)]
    return 1 - oracle.hamming_loss(*wide)


def mcc(videos: list[Video]) -> float:
    reference, prediction = joined(videos)
    return quiet(oracle.matthews_corrcoef, reference, prediction) if len(set(reference)) > 1 else math.nan


def kappa(weights: str | None) -> Callable[[list[Video]], float]:
    return lambda videos: quiet(oracle.cohen_kappa_score, *joined(videos), weights=weights, labels=np.arange(CLASSES))


def cost(videos: list[Video]) -> float:
    """The mean distance, an unanswered case at the farther end."""
    reference, prediction = joined(videos)
    farthest = np.maximum(reference, CLASSES - 1 - reference)
    return float(np.where(prediction < 0, farthest, np.abs(reference - prediction)).mean())


def normalised_cost(videos: list[Video]) -> float:
    reference = joined(videos).reference
    best = min(float(np.abs(reference - constant).mean()) for constant in range(CLASSES))
    return cost(videos) / best if best else math.nan


def of_labels(value: Callable[[list[Video]], float], *, answered: bool = False, **more: Any) -> Example:
    random = answered_video if answered else label_video
    return Example(random, perfect_labels, label_cases, value, "scikit-learn", absent=stray_labels, **more)


# Several labels per case -----------------------------------------------------------------------------------


def set_video(rng: np.random.Generator) -> Video:
    size = rng.integers(1, 9)
    return Video(*(rng.random((size, CLASSES)) < rng.choice([0.1, 0.5, 0.9], CLASSES) for _ in range(2)))


def stray_sets(rng: np.random.Generator) -> Video:
    reference, prediction = (rng.random((5, CLASSES)) < 0.5 for _ in range(2))
    reference[:, 2], prediction[:, 2] = False, True
    return Video(reference, prediction)


def perfect_sets(rng: np.random.Generator) -> Video:
    reference = np.concatenate([np.eye(CLASSES, dtype=bool), rng.random((3, CLASSES)) < 0.5])
    return Video(reference, reference)


def set_cases(videos: list[Video]) -> SetCases:
    empty = np.zeros((0, CLASSES), bool)
    reference, prediction = joined(videos) if videos else (empty, empty)
    return SetCases(reference, prediction, unit=units(videos))


def balanced_labels(videos: list[Video]) -> float:
    reference, prediction = joined(videos)
    both = [c for c in range(CLASSES) if len(set(reference[:, c])) == 2]
    found = [oracle.balanced_accuracy_score(reference[:, c], prediction[:, c]) for c in both]
    return float(np.mean(found)) if found else math.nan


# Scores and probabilities ----------------------------------------------------------------------------------


def score_video(rng: np.random.Generator) -> Video:
    """Label sets with scores that are often equal."""
    size = rng.integers(1, 9)
    reference = rng.random((size, CLASSES)) < rng.choice([0.0, 0.3, 0.8], CLASSES)
    return Video(reference, np.round(rng.normal(size=(size, CLASSES)) + reference, 1))


def stray_scores(rng: np.random.Generator) -> Video:
    reference, prediction = stray_sets(rng)
    return Video(reference, prediction + rng.random(prediction.shape).round(1))


def perfect_scores(rng: np.random.Generator) -> Video:
    reference = perfect_sets(rng).reference
    return Video(reference, reference + rng.random(reference.shape) / 2)


def spoilt_scores(rng: np.random.Generator) -> Video:
    reference, scores = perfect_scores(rng)
    return Video(reference, np.where(rng.permutation(scores.size).reshape(scores.shape) == 0, np.nan, scores))


def score_cases(videos: list[Video]) -> ScoreCases:
    empty = Video(np.zeros((0, CLASSES), bool), np.zeros((0, CLASSES)))
    reference, scores = joined(videos) if videos else empty
    return ScoreCases(reference, scores, unit=units(videos))


def ranked(score: Callable[..., float], average: str, *, both: bool = False) -> Callable[[list[Video]], float]:
    """The mean of an oracle over the classes that have a value."""

    def value(videos: list[Video]) -> float:
        reference, scores = joined(videos)
        if average == "micro":
            reference, scores = reference.reshape(-1, 1), scores.reshape(-1, 1)
        kept = [c for c in range(reference.shape[1]) if reference[:, c].any() and not (both and reference[:, c].all())]
        if not kept:
            return math.nan
        found = [score(reference[:, c], scores[:, c]) for c in kept]
        return float(np.average(found, weights=reference[:, kept].sum(axis=0) if average == "weighted" else None))

    return value


def f1_max(scope: str) -> Callable[[list[Video]], float]:
    def value(videos: list[Video]) -> float:
        reference, scores = joined(videos)
        kept = [c for c in range(CLASSES) if reference[:, c].any()]
        if not kept:
            return math.nan
        spans = [scores[:, c] if scope == "own" else scores for c in kept]
        grids = [np.linspace(span.min(), span.max(), 200) for span in spans]
        curves = [
            [f1(reference[:, c], scores[:, c] >= threshold) for threshold in grid]
            for c, grid in zip(kept, grids, strict=True)
        ]
        return float(np.max(curves, axis=1).mean() if scope == "own" else np.mean(curves, axis=0).max())

    return value


def f1(reference: np.ndarray, prediction: np.ndarray) -> float:
    return 2 * (reference & prediction).sum() / (reference.sum() + prediction.sum())


def top_sets(kind: str) -> Callable[[list[Video]], float]:
    """Top 2 by walking each case: ties against the reference."""

    def value(videos: list[Video]) -> float:
        hits, possible = 0, 0
        for member, scores in zip(*joined(videos), strict=True):
            best = sorted(range(CLASSES), key=lambda c: (-scores[c], member[c]))[:2]
            found = sum(bool(member[c]) for c in best)
            hits += found if kind == "recall" else int(found > 0)
            possible += int(member.sum()) if kind == "recall" else int(member.any())
        return hits / possible if possible else math.nan

    return value


def probability_video(rng: np.random.Generator) -> Video:
    """Probabilities that add up to 1, are never 0 and sometimes equal."""
    size = rng.integers(1, 9)
    given = rng.dirichlet(np.full(CLASSES, 0.8), size).round(1) + 0.01
    return Video(rng.integers(0, CLASSES, size), given / given.sum(axis=1, keepdims=True))


def stray_probabilities(rng: np.random.Generator) -> Video:
    video = probability_video(rng)
    return Video(video.reference % 2, video.prediction)


def certain_probabilities(rng: np.random.Generator) -> Video:
    reference = perfect_labels(rng).reference
    return Video(reference, np.eye(CLASSES)[reference])


def spoilt_probabilities(rng: np.random.Generator) -> Video:
    video = certain_probabilities(rng)
    return Video(video.reference, np.where(video.prediction == 1, np.nan, video.prediction))


def probability_cases(videos: list[Video]) -> ScoreCases:
    reference, given = joined(videos) if videos else (np.zeros(0, int), np.zeros((0, CLASSES)))
    return ScoreCases(reference, given, unit=units(videos))


def top_single(videos: list[Video]) -> float:
    reference, given = joined(videos)
    return quiet(oracle.top_k_accuracy_score, reference, given, k=2, labels=np.arange(CLASSES))


def calibration(bins: int = 15, *, classwise: bool = False, mass: bool = False, norm: str = "l1") -> Any:
    """Calibration errors by walking the cases."""

    def one(confidence: list[float], hit: list[bool]) -> float:
        members: dict[int, list[tuple[float, bool]]] = {}
        for given, right in zip(confidence, hit, strict=True):
            below = sum(other < given for other in confidence)
            equal = sum(other == given for other in confidence)
            place = int(bins * (below + equal / 2) / len(hit)) if mass else min(int(given * bins), bins - 1)
            members.setdefault(place, []).append((given, right))
        gaps = [abs(sum(r for _, r in m) - sum(c for c, _ in m)) / len(m) for m in members.values()]
        share = [len(m) / len(hit) for m in members.values()]
        if norm == "max":
            return max(gaps)
        power = 1 if norm == "l1" else 2
        return sum(s * g**power for s, g in zip(share, gaps, strict=True)) ** (1 / power)

    def value(videos: list[Video]) -> float:
        reference, given = joined(videos)
        if classwise:
            return float(np.mean([one(given[:, c].tolist(), (reference == c).tolist()) for c in range(CLASSES)]))
        return one(given.max(axis=1).tolist(), (given.argmax(axis=1) == reference).tolist())

    return value


def multiclass_brier(videos: list[Video]) -> float:
    reference, given = joined(videos)
    cells = [oracle.brier_score_loss(reference == c, given[:, c], pos_label=True) for c in range(CLASSES)]
    return float(np.sum(cells))


def log_loss(videos: list[Video]) -> float:
    reference, given = joined(videos)
    return quiet(oracle.log_loss, reference, given, labels=np.arange(CLASSES))


def of_sets(value: Callable[[list[Video]], float]) -> Example:
    return Example(set_video, perfect_sets, set_cases, value, "scikit-learn", absent=stray_sets)


def of_scores(value: Callable[[list[Video]], float], name: str = "scikit-learn", **more: Any) -> Example:
    return Example(
        score_video, perfect_scores, score_cases, value, name, spoilt=spoilt_scores, absent=stray_scores, **more
    )


def of_probabilities(value: Callable[[list[Video]], float], name: str = "scikit-learn", **more: Any) -> Example:
    wrong = {"spoilt": spoilt_probabilities, "absent": stray_probabilities}
    return Example(probability_video, certain_probabilities, probability_cases, value, name, **wrong, **more)


EXAMPLES: dict[str, Example] = {
    "accuracy": of_labels(lambda videos: oracle.accuracy_score(*joined(videos))),
    "label_accuracy": of_labels(label_cells),
    "balanced_accuracy": of_labels(lambda videos: quiet(oracle.balanced_accuracy_score, *joined(videos))),
    "label_balanced_accuracy": of_sets(balanced_labels),
    **{
        f"{average}_{name}": of_labels(over_classes(name, average, "declared" if average == "micro" else "supported"))
        for average in ("macro", "weighted", "micro")
        for name in ("precision", "recall", "f1", "jaccard")
    },
    "macro_specificity": of_labels(one_against_rest("specificity")),
    "macro_npv": of_labels(one_against_rest("npv")),
    "mcc": of_labels(mcc),
    "kappa": of_labels(kappa(None), answered=True),
    "linear_kappa": of_labels(kappa("linear"), answered=True),
    "quadratic_kappa": of_labels(kappa("quadratic"), answered=True),
    "expected_cost": of_labels(cost),
    "normalised_expected_cost": of_labels(normalised_cost),
    "mean_ap": of_scores(ranked(oracle.average_precision_score, "macro")),
    "weighted_ap": of_scores(ranked(oracle.average_precision_score, "weighted")),
    "micro_ap": of_scores(ranked(oracle.average_precision_score, "micro")),
    "macro_auroc": of_scores(ranked(oracle.roc_auc_score, "macro", both=True)),
    "weighted_auroc": of_scores(ranked(oracle.roc_auc_score, "weighted", both=True)),
    "micro_auroc": of_scores(ranked(oracle.roc_auc_score, "micro", both=True)),
    "top_k_accuracy": of_probabilities(top_single, options={"k": 2, "ties": "last"}),
    "top_k_any_hit": of_scores(top_sets("any hit"), "brute force", options={"k": 2}),
    "top_k_recall": replace(
        of_scores(top_sets("recall"), "brute force", options={"k": 2}),
        perfect=lambda rng: Video(np.eye(CLASSES, dtype=bool), np.eye(CLASSES) + rng.random((CLASSES, CLASSES)) / 2),
    ),
    "f1_max": of_scores(f1_max("own"), "brute force"),
    "f1_max_global": of_scores(f1_max("pooled"), "brute force"),
    "brier": of_probabilities(multiclass_brier),
    "label_brier": of_probabilities(lambda videos: multiclass_brier(videos) / CLASSES),
    "log_score": of_probabilities(log_loss),
    "ece": of_probabilities(calibration(), "brute force"),
    "ece_equal_mass": of_probabilities(calibration(mass=True), "brute force"),
    "classwise_ece": of_probabilities(calibration(classwise=True), "brute force"),
    "rms_calibration_error": of_probabilities(calibration(norm="l2"), "brute force"),
    "max_calibration_error": of_probabilities(calibration(norm="max"), "brute force"),
}
