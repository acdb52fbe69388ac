"""A predictor that has everything but the video: a conditional logit over what may be answered.

Every possible answer of a question gets a score, the sum of learnt weights of what is known of the two: the answer
itself and its place among the options, and the answer together with each word and each pair of words of the question,
the type of procedure, the phase, and the length of the window. The largest score is the guess (softmax regression,
ridge penalty, L-BFGS). Of questions without options, the most frequent answers of training may be answered.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from surgvalid.questions.drafts import Draft
from surgvalid.schema.questions.formats import choices_of

MOST_ANSWERS, MOST_QUESTIONS, STEPS = 12, 400, 40
RIDGE = 0.5
LEAST = 8
"""Fewer questions teach nothing."""


def possible_answers(draft: Draft) -> tuple[str, ...]:
    """What may be answered, where the question says so; empty where it does not."""
    return choices_of(draft.template.format, draft.slots)


def logit(drafts: Sequence[Draft], types: Mapping[str, str]) -> Callable[[Draft], str | None] | None:
    """A fitted predictor; None where there is too little to learn from."""
    open_set = [answer for answer, _ in Counter(draft.answer for draft in drafts).most_common(MOST_ANSWERS)]
    listed = drafts[:: max(1, math.ceil(len(drafts) / MOST_QUESTIONS))]
    asked = [(draft, possible_answers(draft) or open_set) for draft in listed]
    asked = [(draft, answers) for draft, answers in asked if draft.answer in answers and len(answers) > 1]
    if len(asked) < LEAST:
        return None
    names: dict[str, int] = {}
    rows = [
        [
            [names.setdefault(name, len(names)) for name in _known(draft, answers, at, types)]
            for at in range(len(answers))
        ]
        for draft, answers in asked
    ]
    most, widest = max(len(row) for row in rows), max(len(known) for row in rows for known in row)
    places = np.full((len(rows), most, widest), len(names), np.int64)
    closed = np.ones((len(rows), most), bool)
    for number, row in enumerate(rows):
        for at, known in enumerate(row):
            places[number, at, : len(known)] = known
            closed[number, at] = False
    right = np.array([answers.index(draft.answer) for draft, answers in asked])
    weights = _weights(places, closed, right, len(names))
    learnt = {name: float(weights[place]) for name, place in names.items()}

    def guess(draft: Draft) -> str | None:
        answers = possible_answers(draft) or open_set
        scores = [
            sum(learnt.get(name, 0.0) for name in _known(draft, answers, at, types)) for at in range(len(answers))
        ]
        return answers[int(np.argmax(scores))]

    return guess


def _weights(
    places: NDArray[np.int64], closed: NDArray[np.bool_], right: NDArray[np.int64], count: int
) -> NDArray[np.float64]:
    rows, flat = np.arange(len(right)), places.ravel()

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        scores = np.where(closed, -np.inf, np.append(weights, 0.0)[places].sum(axis=2))
        scores -= scores.max(axis=1, keepdims=True)
        shares = np.exp(scores)
        total = shares.sum(axis=1, keepdims=True)
        shares /= total
        value = float(np.log(total[:, 0]).sum() - scores[rows, right].sum() + RIDGE / 2 * weights @ weights)
        shares[rows, right] -= 1
        spread = np.repeat(shares.ravel(), places.shape[2])
        return value, np.bincount(flat, spread, count + 1)[:count] + RIDGE * weights

    fit = minimize(loss, np.zeros(count), jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
    return np.asarray(fit.x, np.float64)


def _known(draft: Draft, answers: Sequence[str], at: int, types: Mapping[str, str]) -> Iterator[str]:
    """What is known, without the video, of a question and one of its possible answers."""
    answer, words = answers[at], list(draft.stem[1:])
    yield f"answer {answer}"
    yield f"place {at} of {len(answers)}"
    context = [word for word in words if not word.startswith("options=")]
    context += [types[draft.video], f"long {_step(draft.window.length_s)}"]
    context += [] if draft.template.of_data_sets else [f"phase {draft.phase}"]
    context += [f"{one} & {other}" for one, other in combinations(context, 2)]
    yield from (f"{answer} | {one}" for one in context)


def _step(seconds: int) -> int:
    """Durations that look alike: steps of a factor of about one and a half."""
    return round(math.log1p(seconds) * 2.5)
