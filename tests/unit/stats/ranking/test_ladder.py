from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from surgvalid.errors import SurgvalidError
from surgvalid.stats.ranking import RankOptions
from surgvalid.stats.ranking.ladder import LadderStep, blind_reach, ladder_step

ROUNDS = 400


def reached(questions: int, probes: int, *, ladder: bool, seed: int = 3) -> float:
    """What a vote of random answers, weighted by the values that were shown, gets right on average."""
    stream, right = np.random.default_rng(seed), []
    for _ in range(ROUNDS):
        truth, vote = stream.integers(0, 2, questions), np.zeros(questions)
        last, shown = None, 0.5
        for _ in range(probes):
            answers = stream.integers(0, 2, questions)
            scores = (answers == truth).astype(float)
            weight = scores.mean() - 0.5
            if ladder:
                rise = scores - last if last is not None else None
                climbs = rise is None or LadderStep(rise.mean(), math.sqrt(rise.var() / questions)).counts
                shown, last = (scores.mean(), scores) if climbs else (shown, last)
                weight = shown - 0.5 if climbs else 0.0
            vote += weight * (2 * answers - 1)
        guess = np.where(vote == 0, stream.integers(0, 2, questions), vote > 0)
        right.append((guess == truth).mean())
    return float(np.mean(right))


@pytest.mark.parametrize(("questions", "probes", "most"), [(64, 9, 0.58), (64, 29, 0.60), (500, 29, 0.535)])
def test_a_prober_gains_little_by_a_ladder(questions: int, probes: int, most: float) -> None:
    assert reached(questions, probes, ladder=True) < most


@pytest.mark.parametrize(("questions", "probes"), [(64, 9), (64, 29), (500, 9), (1660, 9)])
def test_what_exact_values_give_away_is_as_said(questions: int, probes: int) -> None:
    assert reached(questions, probes, ladder=False) == pytest.approx(blind_reach(questions, probes + 1), abs=0.012)


def scores(folder: Path, values: np.ndarray, *, videos: int = 5) -> Path:
    number = np.arange(len(values))
    group = np.where(number % 3 == 0, "aggregation", "object_recognition")
    names = {"model": "team-1", "case": [f"q{n}" for n in number], "video": [f"v{n % videos}" for n in number]}
    about = {"metric": "correct", "value": values, "status": "answered", "capability": group, "ood": number % 2 == 0}
    folder.mkdir()
    pl.DataFrame(names | about).write_parquet(folder / "scores.parquet")
    return folder


def test_a_step_is_of_the_mean_over_buckets(tmp_path: Path) -> None:
    stream = np.random.default_rng(1)
    before, after = stream.integers(0, 2, 50).astype(float), stream.integers(0, 2, 50).astype(float)
    step = ladder_step(scores(tmp_path / "a", before), scores(tmp_path / "b", after), RankOptions(board="technical"))
    number = np.arange(50)
    buckets = [(number % 3 == 0) * 2 + number % 2 == one for one in range(4)]
    rises = [(after - before)[one] for one in buckets]
    assert step.difference == pytest.approx(np.mean([one.mean() for one in rises]))
    assert step.standard_error == pytest.approx(math.sqrt(sum(one.var() / len(one) for one in rises)) / 4)


def test_the_same_answers_do_not_climb_and_better_ones_do(tmp_path: Path) -> None:
    half = np.arange(50) % 2.0
    same, better = scores(tmp_path / "a", half), scores(tmp_path / "b", np.ones(50))
    options = RankOptions(board="technical")
    assert not ladder_step(same, same, options).counts
    assert ladder_step(same, better, options).counts
    assert not ladder_step(better, same, options).counts


def test_one_video_cannot_be_compared(tmp_path: Path) -> None:
    one = scores(tmp_path / "a", np.ones(50), videos=1)
    with pytest.raises(SurgvalidError, match="one video"):
        ladder_step(one, one, RankOptions(board="technical"))
