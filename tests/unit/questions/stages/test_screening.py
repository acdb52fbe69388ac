"""Presence screening recovers what clips show and who can be trusted, from workers whose errors are known."""

from math import exp, log

import numpy as np
import polars as pl
import pytest
from examples.erring_annotators import CrowdWorker, screen_presence

from small_truth import small_truth
from surgvalid.errors import Misuse, TableInvalid
from surgvalid.questions.stages.screening import screen

WORKERS = [
    CrowdWorker("expert", 0.97, 0.995),
    CrowdWorker("good", 0.95, 0.99),
    CrowdWorker("lazy", 0.5, 0.95),
    CrowdWorker("guesser", spam=1.0),
    CrowdWorker("half guesser", 0.7, 0.9, spam=0.5),
]


@pytest.fixture(scope="module")
def answers() -> pl.DataFrame:
    procedures = [small_truth(5, number, (6, 7)) for number in range(3)]
    return pl.concat([screen_presence(procedure, WORKERS, seed=1) for procedure in procedures])


def accuracy(frame: pl.DataFrame, column: str) -> tuple[float, float]:
    """Share of clips with a class that are found, and share of those without that stay clean."""
    shown = frame.filter("truth")[column].mean()
    return shown, 1 - frame.filter(~pl.col("truth"))[column].mean()


def with_truth(answers: pl.DataFrame, clips: pl.DataFrame) -> pl.DataFrame:
    return clips.join(
        answers.select("video", "clip", "class_name", "truth").unique(), on=["video", "clip", "class_name"]
    )


def test_weighing_workers_beats_the_majority_when_workers_are_uneven(answers):
    found = screen(answers.drop("truth"))
    clips = with_truth(answers, found.clips)
    wrong = {name: clips.filter(pl.col(name) != pl.col("truth")).height for name in ("majority", "present")}
    assert found.settled
    assert wrong["present"] < 0.6 * wrong["majority"]
    assert accuracy(clips, "present")[1] > 0.99


def test_worker_quality_is_recovered_without_knowing_the_truth(answers):
    found = screen(answers.drop("truth")).workers
    own = answers.group_by("worker").agg(
        true_sensitivity=pl.col("present").filter("truth").mean(),
        true_specificity=1 - pl.col("present").filter(~pl.col("truth")).mean(),
    )
    rows = found.join(own, on="worker")
    assert (rows["specificity"] - rows["true_specificity"]).abs().max() < 0.02
    assert (rows["sensitivity"] - rows["true_sensitivity"]).abs().max() < 0.15
    assert set(found.sort("informedness", descending=True)["worker"][:2]) == {"expert", "good"}
    assert found.sort("informedness")["worker"][0] == "guesser"


def test_the_queue_is_short_and_rich_in_errors_the_most_doubtful_first(answers):
    found = screen(answers.drop("truth"))
    clips = with_truth(answers, found.clips)
    queued = clips.filter("queued")
    errors = clips.filter(pl.col("present") != pl.col("truth"))
    density = errors.filter("queued").height / queued.height
    assert queued.height < 0.05 * clips.height
    assert density > 6 * errors.filter(~pl.col("queued")).height / (clips.height - queued.height)
    assert (found.queue["probability"] - 0.5).abs().is_sorted()


def plain_em(rows, prior, steps=400):
    """The same model written as loops over dictionaries, without logarithms of odds."""
    items = {(v, c, k) for v, c, k, _, _ in rows}
    workers, classes = {r[3] for r in rows}, {r[2] for r in rows}
    said = {item: [(w, yes) for v, c, k, w, yes in rows if (v, c, k) == item] for item in items}
    there = {item: sum(yes for _, yes in own) / len(own) for item, own in said.items()}
    for _ in range(steps):
        rate = {}
        for worker in workers:
            hit = weight = clean = rest = 0.0
            for item, own in said.items():
                for who, yes in own:
                    if who == worker:
                        hit, weight = hit + there[item] * yes, weight + there[item]
                        clean, rest = clean + (1 - there[item]) * (not yes), rest + 1 - there[item]
            rate[worker] = (hit + prior) / (weight + 2 * prior), (clean + prior) / (rest + 2 * prior)
        share = {}
        for name in classes:
            own = [p for item, p in there.items() if item[2] == name]
            share[name] = (sum(own) + prior) / (len(own) + 2 * prior)
        for item, own in said.items():
            yes_side, no_side = log(share[item[2]]), log(1 - share[item[2]])
            for who, yes in own:
                sensitivity, specificity = rate[who]
                yes_side += log(sensitivity if yes else 1 - sensitivity)
                no_side += log(1 - specificity if yes else specificity)
            there[item] = 1 / (1 + exp(no_side - yes_side))
    return there, rate


@pytest.mark.parametrize("seed", range(4))
def test_the_estimates_are_those_of_an_independent_plain_em(seed):
    rng = np.random.default_rng(seed)
    rows = []
    for clip in range(25):
        for name in ("Clip", "Needle"):
            truth = rng.random() < 0.4
            for worker, skill in zip("abcd", (0.95, 0.85, 0.7, 0.55), strict=True):
                if rng.random() < 0.8:
                    rows.append(("v", clip, name, worker, bool(truth if rng.random() < skill else not truth)))
    table = pl.DataFrame(rows, schema=["video", "clip", "class_name", "worker", "present"], orient="row")
    there, rate = plain_em(rows, prior=0.5)
    found = screen(table, prior=0.5)
    ours = {(r["video"], r["clip"], r["class_name"]): r["probability"] for r in found.clips.to_dicts()}
    assert ours.keys() == there.keys()
    assert all(ours[item] == pytest.approx(there[item], abs=1e-6) for item in there)
    for row in found.workers.to_dicts():
        assert (row["sensitivity"], row["specificity"]) == pytest.approx(rate[row["worker"]], abs=1e-6)


def test_the_order_of_the_answers_changes_nothing(answers):
    some = answers.drop("truth").filter(pl.col("clip") < 40)
    first, again = screen(some), screen(some.sample(fraction=1.0, shuffle=True, seed=3))
    assert first.clips.drop("probability").equals(again.clips.drop("probability"))
    np.testing.assert_allclose(first.clips["probability"], again.clips["probability"], atol=1e-9)


def test_one_answer_alone_is_always_queued():
    rows = [
        {"video": "v", "clip": c, "class_name": "Clip", "worker": w, "present": False} for c in range(50) for w in "ab"
    ]
    lonely = {"video": "v", "clip": 99, "class_name": "Clip", "worker": "a", "present": False}
    assert screen([*rows, lonely]).queue["clip"].to_list() == [99]


def test_every_problem_of_the_table_is_listed():
    row = {"video": "v", "clip": 1, "class_name": "Clip", "worker": "a", "present": "yes"}
    with pytest.raises(TableInvalid) as caught:
        screen([row, row])
    assert len(caught.value.problems) == 2
    with pytest.raises(TableInvalid, match="column 'worker' is missing"):
        screen([{k: v for k, v in row.items() if k != "worker"}])
    with pytest.raises(Misuse, match="certain"):
        screen([row | {"present": True}], certain=1.0)
