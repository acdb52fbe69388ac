"""Suspected label errors: planted label errors are seen, hard cases and shared errors are not mistaken for them."""

from __future__ import annotations

import numpy as np
import polars as pl

from surgvalid.audit.label_errors import suspected_label_errors

LABELS = np.array(["a", "b", "c", "d"])


def answers(*, seed: int = 0, wrong_references: int = 0, shared: float = 0.0, models: int = 7) -> pl.DataFrame:
    """Ten videos of thirty cases; `shared` is the chance that all models give the same wrong answer."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 4, 300)
    reference = truth.copy()
    reference[:wrong_references] = (truth[:wrong_references] + 1) % 4
    trap, lure = rng.random(300) < shared, (truth + rng.integers(1, 4, 300)) % 4
    rows = []
    for model in range(models):
        right = rng.random(300) < 0.85
        given = np.where(trap, lure, np.where(right, truth, (truth + rng.integers(1, 4, 300)) % 4))
        rows.append(
            {"model": [f"m{model}"] * 300, "case": [f"q{n:03d}" for n in range(300)],
             "video": [f"v{n % 10}" for n in range(300)], "reference": LABELS[reference], "prediction": LABELS[given]}
        )  # fmt: skip
    return pl.concat([pl.DataFrame(row) for row in rows])


def test_planted_label_errors_are_listed_first_with_the_right_label() -> None:
    doubts = suspected_label_errors(answers(wrong_references=12))
    planted = {f"q{n:03d}" for n in range(12)}
    assert len(planted & set(doubts["case"])) >= 11
    assert set(doubts["case"].head(11)) <= planted
    assert (doubts["suggested"] != doubts["reference"]).all()
    assert doubts["probability"].is_between(0.5, 1).all()


def test_sound_references_are_not_doubted() -> None:
    doubted = [suspected_label_errors(answers(seed=seed)).height for seed in range(10)]
    assert sum(doubted) <= 3, "of 3,000 sound references"


def test_models_that_err_together_are_no_independent_witnesses() -> None:
    alone = suspected_label_errors(answers(wrong_references=6)).filter(pl.col("case") == "q000")
    together = suspected_label_errors(answers(wrong_references=6, shared=0.15)).filter(pl.col("case") == "q000")
    assert together.is_empty() or together["evidence"][0] < 0.6 * alone["evidence"][0]


def test_two_models_or_one_video_are_too_few() -> None:
    rows = answers(wrong_references=12)
    assert suspected_label_errors(rows.filter(pl.col("model").is_in(["m0", "m1"]))).is_empty()
    assert suspected_label_errors(rows.filter(pl.col("video") == "v0")).is_empty()
    assert suspected_label_errors(None).is_empty()


def test_answers_may_be_missing() -> None:
    rows = answers(wrong_references=12)
    gone = pl.when((pl.col("model") == "m0") & (pl.col("video") != "v0")).then(None).otherwise(pl.col("prediction"))
    doubts = suspected_label_errors(rows.with_columns(prediction=gone))
    assert doubts["models"].max() == 7
    assert doubts["models"].min() == 6
