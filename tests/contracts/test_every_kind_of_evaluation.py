"""What holds for every kind of `evaluate`: each number has its conventions, each class and metric its interval."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import surgvalid
from surgvalid.evaluation.run import KINDS
from surgvalid.metrics import METRICS
from surgvalid.metrics.phases.frames import CHOLEC80_PHASES

VIDEOS = ("u", "v", "w")
Input = tuple[Any, Any, dict[str, Any]]
"""Predictions, references and options."""


def labels(_: Path) -> Input:
    rng = np.random.default_rng(1)
    rows = {"video": np.repeat(VIDEOS, 20), "frame": np.tile(np.arange(20), 3)}
    rows |= {f"reference:{name}": (rng.random(60) < 0.5) * 1 for name in "ab"}
    rows |= {f"prediction:{name}": (rng.random(60) < 0.5) * 1 for name in "ab"}
    rows |= {f"score:{name}": rng.random(60) for name in "ab"}
    return rows, None, {"metrics": ["mean_ap", "macro_f1", "f1_max", "classwise_ece"]}


def boxes(_: Path) -> Input:
    images = [{"id": n, "video": VIDEOS[n % 3], "smoke": n % 2} for n in range(12)]
    categories = [{"id": 1, "name": "tool"}, {"id": 2, "name": "clip"}]
    found = [{"image_id": n, "category_id": 1 + n % 2, "bbox": [n, n, 10, 10]} for n in range(12)]
    results = [{**one, "score": 0.5 + 0.01 * place} for place, one in enumerate(found[:9])]
    return results, {"images": images, "categories": categories, "annotations": found}, {"by": ["smoke"]}


def sequences(_: Path) -> Input:
    rng, names = np.random.default_rng(2), [str(phase) for phase in CHOLEC80_PHASES]
    truth = np.repeat(names, 12)
    guess = [
        np.where(rng.random(84) < 0.1, rng.permutation(truth), np.roll(truth, 6 * (place - 1))) for place in range(3)
    ]
    rows = {"video": np.repeat(VIDEOS, 84), "second": np.tile(np.arange(84.0), 3), "reference": np.tile(truth, 3)}
    flawed = [name for name in METRICS if name.startswith("phase_") and name.endswith("_relaxed_matlab")]
    options = {"classes": names, "metrics": ["phase_accuracy", "segment_edit", *flawed]}
    return {**rows, "prediction": np.concatenate(guess)}, None, options


def masks(_: Path) -> Input:
    rng = np.random.default_rng(3)
    sides = [{f"{video}/{n}": rng.integers(0, 3, (6, 7)) for video in VIDEOS for n in range(2)} for _ in range(2)]
    return *sides, {"metrics": ["miou_pooled", "miou_per_image", "mi_dsc"]}


def tracks(folder: Path) -> Input:
    for side, shift in (("ours", 0), ("theirs", 3)):
        (folder / side).mkdir()
        for place, video in enumerate(VIDEOS):
            lines = [f"{f},{c},{10 * c + shift * place},5,20,20,1,{c},1" for f in range(1, 9) for c in (1, 2)]
            (folder / side / f"{video}.txt").write_text("\n".join(lines))
    return folder / "theirs", folder / "ours", {"use_classes": True}


def triplets(_: Path) -> Input:
    rng = np.random.default_rng(4)
    rows = {"video": np.repeat(VIDEOS, 10), "frame": np.tile(np.arange(10), 3)}
    rows |= {f"reference:{place}": (rng.random(30) < 0.05) * 1 for place in range(100)}
    rows |= {f"score:{place}": rng.random(30) for place in range(100)}
    flawed = [name for name in METRICS if "ivtmetrics" in name]
    return rows, None, {"metrics": ["triplet_map_ivt", *flawed]}


def criteria(_: Path) -> Input:
    rng = np.random.default_rng(5)
    rows = {"video": np.repeat(VIDEOS, 20), "frame": np.tile(np.arange(20) * 125, 3)}
    rated = {**rows, **{code: rng.integers(0, 4, 60) / 3 for code in ("C1", "C2", "C3")}, "smoke": [0, 1] * 30}
    results, dataset, _ = boxes(Path())
    for image in dataset["images"]:
        image["file_name"] = f"{image['id'] // 5}_{image['id']}.jpg"
    options = {"boxes": results, "box_references": dataset, "by": ["smoke"]}
    return {**rows, **{code: rng.random(60) for code in ("C1", "C2", "C3")}}, rated, options


INPUTS: dict[str, Callable[[Path], Input]] = {
    "classification": labels,
    "cvs": criteria,
    "detection": boxes,
    "phases": sequences,
    "segmentation": masks,
    "tracking": tracks,
    "triplets": triplets,
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def evaluated(kind: str, folder: Path) -> Any:
    predictions, references, options = INPUTS[kind](folder)
    return surgvalid.evaluate(kind, predictions, references, replicates=40, **options)


def test_every_kind_has_an_input_here() -> None:
    assert sorted(INPUTS) == sorted(KINDS)


@every_kind
def test_every_row_of_every_table_carries_its_conventions(kind: str, tmp_path: Path) -> None:
    result = evaluated(kind, tmp_path)
    assert {"metrics", "per_video", "per_class"} <= set(result.tables)
    for name, frame in result.tables.items():
        assert frame["conventions"].null_count() == 0, name
        assert frame["conventions"].str.len_chars().min() > 10, name
    classes = {f"per class: {name}" for name in result.per_class["metric"]}
    assert set(result.conventions) == {*result.metrics["metric"], *classes}


@every_kind
def test_every_defined_value_has_an_interval_around_it_or_says_why_not(kind: str, tmp_path: Path) -> None:
    result = evaluated(kind, tmp_path)
    for frame in (result.metrics, result.per_class):
        known = frame.filter(pl.col("value").is_not_null() & (pl.col("videos") > 1))
        assert known.height
        assert known.filter(pl.col("low").is_null() & pl.col("note").is_null()).is_empty()
        assert known.filter(pl.col("low") > pl.col("high")).is_empty()
        assert frame.filter(pl.col("value").is_null() & pl.col("note").is_null()).is_empty()


@every_kind
def test_progress_is_told_of_every_metric(kind: str, tmp_path: Path) -> None:
    predictions, references, options = INPUTS[kind](tmp_path)
    told: list[int] = []
    result = surgvalid.evaluate(kind, predictions, references, replicates=10, progress=told.append, **options)
    assert sum(told) == len(result.conventions) + result.per_stratum.height


FLAWED = sorted(name for name in METRICS if name.endswith(("relaxed_matlab", "ivtmetrics-0.1.5")))


def test_the_flawed_scorers_are_all_looked_at_here() -> None:
    assert len(FLAWED) == 6
    assert {name for name in FLAWED if METRICS[name]().corrected is None} == set()  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", FLAWED)
def test_a_reproduced_scorer_is_never_told_without_the_corrected_value(name: str, tmp_path: Path) -> None:
    kind = "phases" if name.startswith("phase") else "triplets"
    predictions, references, options = INPUTS[kind](tmp_path)
    options["metrics"] = [name]
    result = surgvalid.evaluate(kind, predictions, references, replicates=40, **options)
    row = result.tables["compat"].row(0, named=True)
    right = surgvalid.evaluate(
        kind, predictions, references, replicates=40, **{**options, "metrics": [row["corrected_metric"]]}
    )
    assert row["metric"] == name
    assert row["corrected_value"] == pytest.approx(right.value(row["corrected_metric"]), abs=1e-12)
    assert row["difference"] == pytest.approx(result.value(name) - row["corrected_value"], abs=1e-12)
    assert row["difference"] != 0
    assert row["low"] <= row["difference"] <= row["high"]
    assert any(note.startswith(f"{name} reproduces a flawed scorer") for note in result.notes)


def test_metrics_that_reproduce_nothing_have_no_such_table(tmp_path: Path) -> None:
    assert "compat" not in evaluated("classification", tmp_path).tables


def test_the_interval_of_a_class_is_that_of_the_mean_where_all_classes_are_alike() -> None:
    predictions, _, _ = labels(Path())
    for prefix in ("reference", "prediction", "score"):
        predictions[f"{prefix}:b"] = predictions[f"{prefix}:a"]
    result = surgvalid.evaluate("classification", predictions, metrics=["mean_ap", "macro_f1"], replicates=200)
    for mean, own in (("mean_ap", "ap"), ("macro_f1", "f1")):
        whole = result.metrics.filter(pl.col("metric") == mean).select("value", "low", "high", "sd").row(0)
        for row in result.per_class.filter(pl.col("metric") == own).select("value", "low", "high", "sd").rows():
            assert row == pytest.approx(whole, abs=1e-12)


def test_a_class_that_resamples_lack_says_how_many(tmp_path: Path) -> None:
    del tmp_path
    table = {
        "video": ["u", "u", "v", "v"],
        "frame": [0, 1, 0, 1],
        "reference:a": [1, 0, 0, 0],
        "reference:b": [1, 0] * 2,
    }
    table |= {"score:a": [0.9, 0.1, 0.2, 0.3], "score:b": [0.9, 0.1, 0.2, 0.3]}
    result = surgvalid.evaluate("classification", table, metrics=["mean_ap"], method="bootstrap", replicates=100)
    rows = result.per_class.filter(pl.col("metric") == "ap")
    assert "of 100 resamples" in rows["note"][0]
    assert rows["note"][1] is None
