"""Somebody else's classifier that reads wording and options, and never looks, stays at the limits and what is printed.

Words, pairs of words and the offered answers go into a logistic regression of scikit-learn, by template, fitted on the
questions for training; of the phrasings it knows all that training shows.
"""

from __future__ import annotations

import re
from collections import defaultdict
from math import sqrt

import polars as pl
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from surgvalid.questions.blind_guesses import limit_for
from surgvalid.questions.make import make_questions
from surgvalid.questions.text_only import possible_answers
from surgvalid.simulation import draw_scene, true_procedure


def guessed(train, test) -> list[bool]:
    """Which questions for testing the classifier gets right."""
    reader = CountVectorizer(ngram_range=(1, 2), token_pattern=r"[^\s;,?.]+", binary=True)
    words = [re.sub(r"\d\d:\d\d:\d\d", "TIME", q.request.question) for q in (*train, *test)]
    known = reader.fit_transform(words)
    answers = [q.draft.answer for q in train]
    if len(set(answers)) < 2:
        return [q.draft.answer == answers[0] for q in test]
    model = LogisticRegression(C=0.5, max_iter=300).fit(known[: len(train)], answers)
    right = []
    for question, chances in zip(test, model.predict_proba(known[len(train) :]), strict=True):
        offered = possible_answers(question.draft)
        ranked = sorted(zip(chances, model.classes_, strict=True), reverse=True)
        right.append(question.draft.answer == next((a for _, a in ranked if not offered or a in offered), None))
    return right


@pytest.mark.filterwarnings("ignore:The number of unique classes:UserWarning")
@pytest.mark.parametrize("seed", [5, 6])
def test_no_template_is_guessed_beyond_its_limit_and_its_noise(seed: int) -> None:
    procedures = [
        true_procedure(draw_scene(seed, number, minutes=(3, 5), width_px=160, height_px=90), instruments=False)
        for number in range(16)
    ]
    made = make_questions(procedures, per_video=50, seed=seed)
    groups: dict = defaultdict(lambda: ([], []))
    for question in made.questions:
        draft = question.draft
        groups[draft.track, draft.template.name][question.split == "test"].append(question)
    hits = {key: guessed(*pair) for key, pair in groups.items() if all(pair) and len(pair[0]) >= 8}
    closed = {key: one for key, one in hits.items() if groups[key][1][0].draft.template.format == "multiple_choice"}
    for key, right in closed.items():
        share, limit = sum(right) / len(right), limit_for([q.draft for q in groups[key][1]], 0.25)
        print(key, len(right), round(share, 3), limit)
        assert share - 2 * sqrt(limit * (1 - limit) / len(right)) <= limit, (key, share, limit)
    asked = sum(len(right) for right in hits.values())
    print("whole", sum(map(sum, hits.values())) / asked, made.card.floors)
    assert sum(map(sum, hits.values())) <= 0.30 * asked
    best = made.card.leaks.filter(split="test").group_by("track", "template").agg(pl.col("accuracy").max())
    printed = {(track, name): share for track, name, share in best.iter_rows()}
    for some in (hits, closed):
        known = {key: right for key, right in some.items() if key in printed}
        size = sum(len(right) for right in known.values())
        told = sum(printed[key] * len(right) for key, right in known.items()) / size
        assert told >= sum(map(sum, known.values())) / size - 0.04
