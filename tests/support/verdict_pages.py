"""Simulated studies, and whether what their page says goes together: title, sentence, interval and figure."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest

from surgvalid.report.chart import Chart
from surgvalid.report.verdict_page import figure_of
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.stats.verdict.sentences import sentences_of, title_of
from surgvalid.stats.verdict.study import Study, study_of
from surgvalid.stats.verdict.who_is_better import NO_INTERVAL, ModelVerdict, VerdictQuestion

NUMBER = r"-?\d+\.\d+"


def simulated(seed: int) -> Study:
    """Two to nine models on three to forty patients, equal or not, with and without a margin; some right or wrong."""
    rng = np.random.default_rng(seed)
    if seed % 7 == 6:
        return _answered(rng)
    models, patients = int(rng.integers(2, 10)), int(rng.integers(3, 41))
    values = 0.7 + rng.normal(0, 0.05, (patients, 1)) + rng.normal(0, 0.02, (patients, models))
    values = values + rng.choice([0.0, 0.01, 0.03]) * rng.normal(0, 1, models)
    if seed % 4 == 0:
        values = np.round(values, 1)
    names = [f"m{place}" for place in range(models)]
    rows = pl.DataFrame(np.clip(values, 0, 1), schema=names).with_columns(
        patient=pl.Series([f"P{place:02d}" for place in range(patients)])
    )
    frame = rows.unpivot(index="patient", variable_name="model", value_name="value")
    if seed % 5 == 4:
        frame = _made_hard(frame, np.random.default_rng([seed, 1]))
    scores = ScoreTable.of(frame.with_columns(case=pl.col("patient"), metric=pl.lit("dice")))
    margin = [None, 0.005, 0.02][int(rng.integers(3))]
    return study_of(scores, VerdictQuestion("dice", margin=margin))


def _answered(rng: np.random.Generator) -> Study:
    """Two to five models that are right or wrong on questions of patients."""
    models, patients, each = int(rng.integers(2, 6)), int(rng.integers(3, 31)), int(rng.integers(1, 9))
    chance = 0.6 + rng.normal(0, 0.15, (patients, 1)) + rng.choice([0.0, 0.2]) * rng.normal(0, 1, models)
    right = (rng.random((each, patients, models)) < np.clip(chance, 0.05, 0.95)).astype(float)
    rows = [
        {"patient": f"P{patient:02d}", "case": f"P{patient:02d}q{place}", "model": f"m{model}", "value": value}
        for (place, patient, model), value in np.ndenumerate(right)
    ]
    scores = ScoreTable.of(pl.DataFrame(rows).with_columns(metric=pl.lit("correct")))
    return study_of(scores, VerdictQuestion("correct", margin=[None, 0.05, 0.3][int(rng.integers(3))]))


def _made_hard(frame: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """Two centres of which one likes the first model, and scores of it that are not there."""
    north = (pl.col("patient").str.slice(1).cast(pl.Int64) % 2) == 0
    first, liked = pl.col("model") == "m0", float(rng.choice([0.0, 0.1]))
    gone = pl.Series(rng.random(frame.height) < rng.choice([0.0, 0.2]))
    value = (pl.col("value") + liked * (2 * north.cast(pl.Float64) - 1) * first.cast(pl.Float64)).clip(0, 1)
    return frame.with_columns(
        center=pl.when(north).then(pl.lit("north")).otherwise(pl.lit("south")),
        value=pl.when(first & gone).then(None).otherwise(value),
    )


def contradictions(made: Study) -> list[str]:
    """What the words of a verdict and its figure say against its own numbers."""
    return [*_in_words(made.verdict), *_in_the_figure(made)]


def _in_the_figure(made: Study) -> list[str]:
    found, pair = made.verdict, made.verdict.deciding
    scale = 100 if found.metric.is_share else 1
    cases = made.scores.frame.select("model", "case", "value")
    charts = [one for one in figure_of(found, made.tables, cases) if isinstance(one, Chart)]
    if "same scores" in sentences_of(found)[0]:
        return ["a figure of nothing"] if charts else []
    [chart] = charts
    drawn = getattr(chart.image, "rows", chart.image).marks
    if found.statements[0].code == "depends_on_stratum":
        means = {mark.words.partition(" (")[0]: mark.x / scale for mark in drawn if mark.shape == "diamond"}
        true = {one.name: one.difference for one in found.strata[0].strata}
        return [f"groups: {means} beside {true}"] * (means != pytest.approx(true))
    if len(found.leading) > 1:
        clear = {mark.words.partition(":")[0] for mark in drawn if not mark.hollow}
        wrong = [] if clear == {one.other for one in found.leading if one.low > 0} else [f"full marks: {clear}"]
        said = f"is shown to be ahead of {len(found.against)} of {len(found.leading)} model"
        return wrong if said in chart.alt else [*wrong, f"{chart.alt!r} beside {found.against}"]
    ends = (None, None) if found.kind in NO_INTERVAL else (pair.low, pair.high)
    shown = [mark for mark in drawn if mark.shape == "diamond"]
    drawn_ends = (pair.difference, *ends)
    told = tuple(end and scale * end for end in drawn_ends)
    right = [(mark.x, mark.low, mark.high, mark.hollow) for mark in shown] == [(*told, None in ends)]
    ahead = f"{pair.model} is ahead in {pair.ahead} of {pair.units} patients"
    return [*([] if right else [f"{shown} beside {pair}"]), *([] if ahead in chart.alt else [chart.alt])]


def _in_words(found: ModelVerdict) -> list[str]:
    title, lead, pair = title_of(found), sentences_of(found)[0], found.deciding
    wrong = []
    if ("is better" in title) != (found.winner is not None):
        wrong.append(f"title {title!r}, winner {found.winner}")
    shown = re.search(rf"\(({NUMBER}) to ({NUMBER})( points)?; (\d+) patients", lead)
    if found.kind == "depends":
        return [*wrong, *(["a winner beside a dependence"] if "is better" in lead else [])]
    if found.kind == "too_few" or "same scores" in lead:
        return [*wrong, *([f"an interval beside {found.kind}"] if shown else [])]
    if shown is None:
        return [*wrong, f"no interval in {lead!r}"]
    low, high, n = float(shown[1]), float(shown[2]), int(shown[4])
    if (shown[3] is not None) != found.metric.is_share or found.metric.is_share != ("points" in title + lead):
        wrong.append(f"two units: {title!r}, {lead!r}")
    claims = lead.startswith(f"{pair.model} is better than")
    if claims != (low > 0) or (claims and not all(one.low > 0 for one in found.pairs)):
        wrong.append(f"{lead!r} beside {low} to {high}")
    if any((one.p_adjusted <= 0.05) != (one.low > 0 or one.high < 0) for one in found.pairs):
        wrong.append("an interval and its p-value disagree")
    if n != pair.units:
        wrong.append(f"{n} patients of {pair.units}")
    return wrong + _beside_margin(found, lead)


def _beside_margin(found: ModelVerdict, lead: str) -> list[str]:
    margin, pairs = found.margin, found.pairs
    if margin is None:
        return ["a margin that nobody gave"] if "margin" in lead else []
    true = {
        "more than the margin": all(one.low > margin for one in pairs),
        "equal for practice": all(one.low > 0 and one.high <= margin for one in pairs),
        "are equivalent": all(-margin < one.low and one.high < margin for one in pairs),
        "is not worse": all(one.low > -margin for one in pairs),
    }
    return [f"{words!r} in {lead!r}" for words, holds in true.items() if words in lead and not holds]
