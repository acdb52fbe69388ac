"""Simulated studies, and whether what their verdict says goes with its interval: title, sentence and numbers."""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.stats.verdict.sentences import sentences_of, title_of
from surgvalid.stats.verdict.who_is_better import ModelVerdict, VerdictQuestion, verdict

NUMBER = r"-?\d+\.\d+"


def simulated(seed: int) -> ModelVerdict:
    """Two to nine models on three to forty patients, equal or not, with and without a margin."""
    rng = np.random.default_rng(seed)
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
    scores = ScoreTable.of(frame.with_columns(case=pl.col("patient"), metric=pl.lit("dice")))
    margin = [None, 0.005, 0.02][int(rng.integers(3))]
    return verdict(scores, VerdictQuestion("dice", margin=margin))


def contradictions(found: ModelVerdict) -> list[str]:
    """What the words of a verdict say against its own numbers."""
    title, lead, pair = title_of(found), sentences_of(found)[0], found.deciding
    wrong = []
    if ("is better" in title) != (found.winner is not None):
        wrong.append(f"title {title!r}, winner {found.winner}")
    shown = re.search(rf"\(({NUMBER}) to ({NUMBER}); (\d+) patients", lead)
    if found.kind == "too_few" or "same scores" in lead:
        return [*wrong, *([f"an interval beside {found.kind}"] if shown else [])]
    if shown is None:
        return [*wrong, f"no interval in {lead!r}"]
    low, high, n = float(shown[1]), float(shown[2]), int(shown[3])
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
