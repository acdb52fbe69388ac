"""Colours of a simulated image hardly tell an answer: a linear probe on them does little better than not looking.

Both sides read the wording (template, named classes, type of procedure). The probe is also given the mean, the spread
and three quantiles of every colour channel of the image. Both are logistic regressions, one per template, fitted on
the training split and measured on the test split (`pytest -s` prints them).
"""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest

from surgvalid.questions.make import make_questions
from surgvalid.simulation import simulate, true_procedure
from surgvalid.simulation.renderer import Renderer

linear_model = pytest.importorskip("sklearn.linear_model")
pytestmark = pytest.mark.slow
LEAST_TRAINED = 20
"""Templates that are asked less often in training, or hardly ever have one answer twice, are left to their most
frequent answer on both sides."""


def colours_of(picture: np.ndarray) -> list[float]:
    pixels = picture.reshape(-1, 3) / 255
    return [*pixels.mean(axis=0), *pixels.std(axis=0), *np.quantile(pixels, (0.1, 0.5, 0.9), axis=0).reshape(-1)]


def wording(question) -> tuple[str, ...]:
    named = (str(question.draft.slots.get(key)) for key in ("object", "other", "event", "phase"))
    return question.request.procedure, *named


def right(train, test, features) -> int:
    """How many of the test questions of one template a logistic regression gets right."""
    answers = [question.reference.answer for question in train]
    common = Counter(answers).most_common(1)[0][0]
    if len(train) < LEAST_TRAINED or not 1 < len(set(answers)) <= len(train) / 2:
        return sum(question.reference.answer == common for question in test)
    known, asked = np.array([features(q) for q in train]), np.array([features(q) for q in test])
    middle, spread = known.mean(axis=0), known.std(axis=0) + 1e-9
    fitted = linear_model.LogisticRegression(C=0.3, max_iter=500).fit((known - middle) / spread, answers)
    said = fitted.predict((asked - middle) / spread)
    return sum(answer == question.reference.answer for answer, question in zip(said, test, strict=True))


def test_a_linear_probe_on_colours_stays_near_what_is_reached_without_looking() -> None:
    simulation = simulate(24, seed=13, minutes=(3, 4), width_px=240, height_px=136)
    scenes = {scene.video: scene for scene in simulation.scenes()}
    made = make_questions(
        [true_procedure(s, instruments=False) for s in scenes.values()], tracks=["frame"], per_video=60, test_share=0.4
    )
    seconds: dict[str, set[int]] = defaultdict(set)
    for question in made.questions:
        seconds[question.request.video].add(int(question.request.start_s))
    colours = {}
    for video, wanted in seconds.items():
        times = sorted(wanted)
        for second, picture in zip(times, Renderer(scenes[video]).frames([float(t) for t in times]), strict=True):
            colours[video, second] = colours_of(picture)
    words = sorted({word for question in made.questions for word in enumerate(wording(question))})

    def read(question) -> list[float]:
        return [float(word in enumerate(wording(question))) for word in words]

    def looked(question) -> list[float]:
        return [*read(question), *colours[question.request.video, int(question.request.start_s)]]

    groups = defaultdict(lambda: {"train": [], "test": []})
    for question in made.questions:
        groups[question.draft.template.name][question.split].append(question)
    pairs = [(group["train"], group["test"]) for group in groups.values() if group["train"] and group["test"]]
    asked = sum(len(test) for _, test in pairs)
    blind = sum(right(train, test, read) for train, test in pairs) / asked
    probe = sum(right(train, test, looked) for train, test in pairs) / asked
    print(f"\n{asked} questions of {len(pairs)} templates: without looking {blind:.3f}, with colours {probe:.3f}")
    assert asked > 300
    assert blind > 0.15, "the trivial baseline is no strawman"
    assert probe - blind < 0.05
