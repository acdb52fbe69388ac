"""Videos nested in patients: `evaluate` leaves out patients, and says the same of them as the verbs after it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import surgvalid
from surgvalid.errors import Misuse


def rows(skill: float) -> pl.DataFrame:
    """Right and wrong answers on eight patients with four videos each, which are alike."""
    rng, listed = np.random.default_rng(3), []
    for patient in range(8):
        ease = rng.normal(0, 1)
        for video in range(4):
            for case in range(10):
                right = rng.random() < 1 / (1 + np.exp(-(skill + ease)))
                listed.append(
                    {
                        "patient": f"p{patient}", "video": f"p{patient}v{video}", "case": f"p{patient}v{video}c{case}",
                        "reference": "ab"[case % 2], "prediction": "ab"[(case + (not right)) % 2],
                    }
                )  # fmt: skip
    return pl.DataFrame(listed)


def test_intervals_leave_out_patients_as_study_does(tmp_path: Path) -> None:
    made = {
        model: surgvalid.evaluate("classification", rows(skill), model=model, metrics=["accuracy"], classes=["a", "b"])
        for model, skill in (("A", 0.8), ("B", 1.5))
    }
    by_patient = surgvalid.evaluate(
        "classification",
        rows(0.8).drop("video"),
        metrics=["accuracy"],
        classes=["a", "b"],
        columns={"video": "patient"},
    )
    assert (
        made["A"].metrics.select("value", "low", "high").rows()
        == by_patient.metrics.select("value", "low", "high").rows()
    )
    assert any("leave out one patient" in one.message for one in made["A"].findings)
    folders = [result.to_dir(tmp_path / model) for model, result in made.items()]
    raw = [rows(skill).with_columns(model=pl.lit(model)) for model, skill in (("A", 0.8), ("B", 1.5))]
    right = (pl.col("reference") == pl.col("prediction")).cast(pl.Float64).alias("correct")
    pl.concat(raw).select("patient", "video", "case", "model", right).write_csv(tmp_path / "raw.csv")
    ours, theirs = (surgvalid.study(one, metric="correct").judged for one in (folders, tmp_path / "raw.csv"))
    assert (ours.n, ours.kind, ours.winner) == (theirs.n, theirs.kind, theirs.winner) == (8, theirs.kind, theirs.winner)


def test_what_combine_would_take_for_independent_is_not_shared(tmp_path: Path) -> None:
    asked = {"metrics": ["accuracy"], "classes": ["a", "b"], "share": True}
    made = surgvalid.evaluate("classification", rows(0.8), **asked)
    with pytest.raises(Misuse, match=r"not independent of each other.*with --unit"):
        surgvalid.share(made, tmp_path / "site.parquet", site="north")
    by_patient = surgvalid.evaluate("classification", rows(0.8), columns={"video": "patient"}, **asked)
    shared = surgvalid.share(by_patient, tmp_path / "site.parquet", site="north", cell_size=2)
    assert surgvalid.combine([shared]).table["videos"].item() <= 8


def test_shards_know_patients_of_several_shards(tmp_path: Path) -> None:
    asked = {"metrics": ["accuracy"], "classes": ["a", "b"]}
    whole = surgvalid.evaluate("classification", rows(0.8), **asked).metrics.select("value", "low", "high", "videos")
    parts = [surgvalid.evaluate("classification", rows(0.8), shard=f"{number}/6", **asked) for number in range(1, 7)]
    result = surgvalid.combine([one.to_dir(tmp_path / str(place)) for place, one in enumerate(parts)])
    assert result.metrics.select("value", "low", "high", "videos").rows() == whole.rows()
    assert set(result.scores.frame["video"]) == {f"p{patient}" for patient in range(8)}
