"""What a folder of scores says about scores that are not there: only where a scoring departed from the usual rules."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.scoring.stored_scores import recorded_missing


def scored(missing: object) -> Any:
    return SimpleNamespace(kind="score", options={"missing": missing})


@pytest.mark.parametrize(("given", "said"), [(None, {}), (["refused=0"], {"refused": 0.0}), ("not a rule", None)])
def test_only_departures_from_the_usual_rules_are_recorded(given: object, said: object) -> None:
    assert recorded_missing([scored(given), scored(given)]) == said


def test_a_model_of_one_track_is_compared_there_by_the_recorded_rules() -> None:
    rows = [
        {"case": f"{track}{n}", "video": f"v{n % 3}", "model": model, "metric": "correct", "value": 1.0, "track": track}
        for track in ("frame", "segment") for n in range(6) for model in ("a", "b")
        if (track, model) != ("segment", "b")
    ]  # fmt: skip
    table = ScoreTable.of(pl.DataFrame(rows))
    matrix = table.matrix("correct", missing=recorded_missing([scored(None)]))
    assert matrix.values.shape == (12, 2)
