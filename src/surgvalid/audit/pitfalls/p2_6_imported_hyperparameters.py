"""P2.6: thresholds and tolerances come from another field, and another choice would change who wins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from surgvalid.audit.evidence import (
    AuditEvidence,
    AuditNumber,
    Look,
    NotThere,
    Weight,
    declared,
    failed,
    passed,
    quoted,
)
from surgvalid.audit.measures import ALPHA, FEWEST_TESTED, grid_differences, grid_means, listed, video_sums
from surgvalid.audit.pitfall import Category, Pitfall, Seldom
from surgvalid.audit.study import AuditedStudy
from surgvalid.audit.timelines import forgiving, grid, timelines
from surgvalid.stats.comparing.corrections import adjusted

ABOUT = Pitfall(
    "P2.6",
    "Borrowed thresholds and tolerances",
    Category.METRICS,
    "Thresholds such as an IoU of 0.5 were made for photographs. In surgery a rough place may be enough, or a "
    "millimetre too much, and the choice can decide which model wins.",
    ("undetected", "waste"),
    (Seldom(56.5, "with metrics that have such settings did not justify them", 23),),
    "The order of models over a range of thresholds (0.05 to 0.95) or tolerances (0 to 30 s). Fails where another "
    "model is better than the winner at the study's setting, by more than chance, and nobody justified the setting.",
    "Choose thresholds with clinicians, show values over a range, and say why the chosen one fits.",
)
THRESHOLDS = tuple(round(0.05 * step, 2) for step in range(1, 20))
TOLERANCES_S = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0)


def over_thresholds(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """Shares of cases that reach a threshold, over thresholds."""
    matrix = study.rivals()
    given = study.stated.get(matrix.metric.name, {}).get("threshold")
    if not isinstance(given, int | float) or isinstance(given, bool):
        raise NotThere(f"a threshold of {matrix.metric.name!r} ([metrics.{matrix.metric.name}] threshold = ...)")
    if not 0 <= float(given) <= 1 or matrix.metric.sign < 0 or np.nanmax(matrix.values) > 1:
        raise NotThere("scores between 0 and 1 of which larger ones are better")
    if set(np.unique(matrix.values[np.isfinite(matrix.values)])) <= {0.0, 1.0}:
        raise NotThere("scores beside right and wrong: no threshold changes those")
    marks = sorted({*THRESHOLDS, float(given)})
    grids = []
    for mark in marks:
        reached = np.where(np.isfinite(matrix.values), matrix.values >= mark - 1e-12, np.nan)
        totals, sizes = video_sums(reached, matrix.videos)
        grids.append(np.divide(totals, sizes, out=np.full_like(totals, np.nan), where=sizes > 0))
    words = [f"{mark:g}" for mark in marks]
    yield from _ranged(study, grids, words, marks.index(float(given)), matrix.models, "share of cases at a threshold")


def over_tolerances(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """Frame-wise values that forgive the neighbourhood of transitions, over tolerances."""
    lines = timelines(study)
    chosen = float(study.answer("tolerance")) if study.has_answer("tolerance") else 0.0
    marks = sorted({*TOLERANCES_S, chosen})
    made = [grid(lines, forgiving(mark)) for mark in marks]
    if len(made[0][1]) < 2:
        raise NotThere("a second model to compare with")
    words = [f"{mark:g} s" for mark in marks]
    yield from _ranged(
        study, [one[0] for one in made], words, marks.index(chosen), made[0][1], "accuracy under a tolerance"
    )


def _ranged(
    study: AuditedStudy,
    grids: Sequence[np.ndarray],
    words: Sequence[str],
    chosen: int,
    models: Sequence[str],
    quantity: str,
) -> Iterator[AuditEvidence]:
    """Whether the winner at the chosen setting loses at another one by more than chance."""
    videos = len(grids[0])
    if videos < FEWEST_TESTED:
        raise NotThere(f"{FEWEST_TESTED} videos: with {videos} nothing can be told from chance")
    values = np.array([grid_means(one).value for one in grids])
    numbers = [
        AuditNumber(quantity, float(values[row, column]), subject=model, setting=word, n=videos)
        for row, word in enumerate(words)
        for column, model in enumerate(models)
    ]
    best = int(np.nanargmax(values[chosen]))
    gains = [np.delete(one, best, axis=1) - one[:, [best]] for one in grids]
    tested = [grid_differences(one) for one in gains]
    p_values = adjusted(np.concatenate([one.p_value for one in tested]), "holm").reshape(len(grids), -1)
    ahead = np.array([one.value for one in tested]) > 0
    rivals = [model for model in models if model != models[best]]
    lost = [f"{rivals[column]} at {words[row]}" for row, column in np.argwhere(ahead & (p_values < ALPHA))]
    text = f"{models[best]} is best at the study's setting ({words[chosen]})"
    if not lost:
        yield passed(f"{text}, and nowhere from {words[0]} to {words[-1]} worse by more than chance.", *numbers)
    elif study.has_answer("hyperparameters"):
        yield passed(
            f"{text}; better elsewhere: {listed(lost)}. {quoted(study.answer('hyperparameters'))}",
            *numbers,
        )
    else:
        yield failed(
            f"{text}; better by more than chance: {listed(lost)}. Nobody justified the setting.",
            *numbers,
            weight=Weight.HIGH,
        )


LOOKS = (
    declared("hyperparameters", "a reason for thresholds and tolerances"),
    Look("winners over thresholds", over_thresholds, needed=False),
    Look("winners over tolerances", over_tolerances, needed=False),
)
