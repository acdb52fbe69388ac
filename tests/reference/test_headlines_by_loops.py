"""Primary results, gap and slices of `score` against plain loops over random questions."""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean

import polars as pl
import pytest

from random_questions import random_set
from surgvalid import interval, score
from surgvalid.scoring.ood import SHARED
from surgvalid.scoring.summary import CLINICAL, HEADLINE

SEEDS = range(6)


def scored(seed: int, **sizes: int):
    requests, references, responses = random_set(seed, **sizes)
    said = {one.case: one.content for one in responses}
    right = {one.case: float(said.get(one.case) == one.answer) for one in references}
    return requests, references, right, score(requests, references, responses, model="m")


def mean_over_buckets(references, right, *, clinical: bool) -> float:
    buckets = defaultdict(list)
    for one in references:
        if one.clinical or not clinical:
            buckets[one.capability.group, bool(one.ood)].append(right[one.case])
    return fmean(fmean(bucket) for bucket in buckets.values())


def headline(result, name: str) -> dict:
    return result.summary.filter((pl.col("level") == "headline") & (pl.col("name") == name)).row(0, named=True)


@pytest.mark.parametrize("seed", SEEDS)
def test_both_headlines_are_means_over_buckets(seed: int) -> None:
    _, references, right, result = scored(seed)
    for name, clinical in ((HEADLINE[1], False), (CLINICAL[1], True)):
        row = headline(result, name)
        assert row["accuracy"] == pytest.approx(mean_over_buckets(references, right, clinical=clinical))
        assert row["count"] == sum(one.clinical or not clinical for one in references)
        assert row["low"] < row["accuracy"] < row["high"]
    assert result.headline["accuracy"] == headline(result, HEADLINE[1])["accuracy"]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_clinical_headline_is_the_headline_of_the_clinical_questions_alone(seed: int) -> None:
    requests, references, responses = random_set(seed)
    whole = score(requests, references, responses)
    kept = {one.case for one in references if one.clinical}
    parts = [[one for one in rows if one.case in kept] for rows in (requests, references, responses)]
    alone = score(*parts)
    ours, theirs = headline(whole, CLINICAL[1]), headline(alone, HEADLINE[1])
    assert [ours[key] for key in ("accuracy", "low", "high", "df")] == pytest.approx(
        [theirs[key] for key in ("accuracy", "low", "high", "df")]
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_the_gap_is_the_mean_of_the_gaps_of_shared_capabilities(seed: int) -> None:
    _, references, right, result = scored(seed, questions=40)
    sides = defaultdict(lambda: ([], []))
    for one in references:
        sides[one.capability.group][bool(one.ood)].append(right[one.case])
    gaps = [fmean(outside) - fmean(inside) for inside, outside in sides.values() if inside and outside]
    row = result.tables["ood_gap"].filter(pl.col("capability") == SHARED).row(0, named=True)
    assert row["gap"] == pytest.approx(fmean(gaps))


@pytest.mark.parametrize("seed", SEEDS)
def test_slices_by_secondary_capability_and_context_hold_the_right_questions(seed: int) -> None:
    requests, references, right, result = scored(seed)
    windows = {one.case: one.window_s for one in requests}
    expected = defaultdict(list)
    for one in references:
        for label in {leaf.value for leaf in one.secondaries} or {"(none)"}:
            expected["secondary", label].append(right[one.case])
        window = windows[one.case]
        word = "short (below 30 s)" if window < 30 else "medium (30 s to below 300 s)"
        expected["context", word if window < 300 else "long (300 s and more)"].append(right[one.case])
    rows = result.summary.filter(pl.col("level").is_in(["secondary", "context"]) & (pl.col("estimand") == "rows"))
    found = {(row["level"], row["name"]): row for row in rows.iter_rows(named=True)}
    assert set(found) == set(expected)
    for name, values in expected.items():
        assert found[name]["accuracy"] == pytest.approx(fmean(values))
        assert found[name]["count"] == len(values)


@pytest.mark.parametrize("estimand", ["rows", "videos"])
def test_targeted_metrics_have_the_interval_of_the_verb_interval(estimand: str) -> None:
    *_, result = scored(1)
    row = result.tables["targeted"].filter(metric="count_error", estimand=estimand).row(0, named=True)
    told = interval(result.scores, metric="count_error", estimand=estimand).table.row(0, named=True)
    assert [row[key] for key in ("value", "low", "high", "df")] == [told[key] for key in ("value", "low", "high", "df")]
