"""Shards put together are the whole: every kind and every metric, to the last digit that counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import surgvalid
from data_set_files import BUILDERS
from shard_inputs import INPUTS, VIDEOS, Input, boxes, labels_from_the_data, rows
from surgvalid.datasets import open_data_set
from surgvalid.errors import EmptyShard, FileUnreadable, InputInvalid, Misuse
from surgvalid.metrics import CLASSIFICATION, DETECTION, METRICS, SEGMENTATION, TIME, TRACKING, TRIPLETS
from surgvalid.results.result import Result
from surgvalid.schema.shard import Shard

pytestmark = pytest.mark.long

SHARDS = 3


LEFT = ("sanity",)
"""Checks look at samples of what each shard holds."""


def _random_labels(rng: np.random.Generator, videos: int, _: Path) -> tuple[Any, Any, dict[str, Any]]:
    """Videos of different lengths; each may lack classes."""
    lengths = rng.integers(2, 12, videos)
    table = {
        "video": [f"v{video}" for video, count in enumerate(lengths) for _ in range(count)],
        "frame": [frame for count in lengths for frame in range(count)],
    }
    count = int(lengths.sum())
    table |= {side: rng.choice(["a", "b", "c", "d"], count).tolist() for side in ("reference", "prediction")}
    return table, None, {}


def _random_phases(rng: np.random.Generator, videos: int, folder: Path) -> tuple[Any, Any, dict[str, Any]]:
    return (*_random_labels(rng, videos, folder)[:2], {"fps": 1.0, "classes": ["a", "b", "c", "d"]})


def _random_boxes(rng: np.random.Generator, videos: int, _: Path) -> tuple[Any, Any, dict[str, Any]]:
    images = [{"id": n, "video": f"v{n % videos}", "width": 90, "height": 90} for n in range(3 * videos)]
    found: list[list[dict[str, Any]]] = [[], []]
    for side, one in ((side, one) for side in (0, 1) for one in images for _ in range(int(rng.integers(0, 4)))):
        box = [float(n) for n in (*rng.integers(0, 40, 2), *rng.integers(5, 40, 2))]
        record = {"image_id": one["id"], "category_id": int(rng.integers(1, 4)), "bbox": box}
        found[side].append({**record, "id": len(found[side]) + 1} if side == 0 else {**record, "score": rng.random()})
    categories = [{"id": n, "name": str(n)} for n in (1, 2, 3)]
    return found[1], {"images": images, "annotations": found[0], "categories": categories}, {}


def _random_masks(rng: np.random.Generator, videos: int, _: Path) -> tuple[Any, Any, dict[str, Any]]:
    sides = [{f"v{v}/{n}": rng.integers(0, 3, (7, 6)) for v in range(videos) for n in range(2)} for _ in range(2)]
    return sides[0], sides[1], {"classes": [1, 2]}


def _random_tracks(rng: np.random.Generator, videos: int, folder: Path) -> tuple[Any, Any, dict[str, Any]]:
    for side in ("ours", "theirs"):
        (folder / side).mkdir()
        for video in range(videos):
            lines = [
                f"{f},{c + 1},{30 * c + rng.integers(0, 9)},5,20,20,1,1,1"
                for f in range(1, 9) for c in range(3) if rng.random() < 0.8 or f == 1
            ]  # fmt: skip
            (folder / side / f"v{video}.txt").write_text("\n".join(lines))
    return folder / "theirs", folder / "ours", {}


RANDOM = {
    "classification": _random_labels,
    "detection": _random_boxes,
    "phases": _random_phases,
    "segmentation": _random_masks,
    "tracking": _random_tracks,
}
"""Random predictions and references of `v0`, `v1`, ... by kind."""


def in_shards(cut: Input, folder: Path) -> list[Path]:
    kind, predictions, references, options = cut
    places = []
    for number in range(1, SHARDS + 1):
        shard = str(Shard(number, SHARDS))
        try:
            result = surgvalid.evaluate(kind, predictions, references, replicates=20, shard=shard, **options)
        except EmptyShard:
            continue
        places.append(result.to_dir(folder / f"shard{number}"))
    return places


@pytest.mark.parametrize("build", INPUTS)
@pytest.mark.long
def test_shards_put_together_are_the_whole(build: Any, tmp_path: Path) -> None:
    made = build(tmp_path / "input")
    kind, predictions, references, options = made
    whole = surgvalid.evaluate(kind, predictions, references, replicates=20, **options)
    joined = surgvalid.combine(in_shards(made, tmp_path)[::-1])
    assert isinstance(joined, Result)
    assert set(joined.tables) == set(whole.tables)
    for name, table in whole.tables.items():
        if name not in LEFT:
            assert_frame_equal(joined.tables[name], table, abs_tol=1e-12, rel_tol=0, check_exact=False)
    key = ["metric", "case"]
    assert_frame_equal(joined.scores.frame.sort(key), whole.scores.frame.sort(key), abs_tol=1e-12, rel_tol=0)
    assert joined.conventions == whole.conventions
    assert joined.metrics["value"].is_not_null().any()


@pytest.mark.parametrize(
    ("name", "task", "split"), [("cholec80", "phase", "endonet 40/40:test"), ("jigsaws", "skill", None)]
)
def test_what_is_said_of_a_data_set_is_said_of_its_shards_together(
    name: str, task: str, split: str | None, tmp_path: Path
) -> None:
    """An incomplete split stays one, and cases that the data set groups by surgeon are not called independent."""
    BUILDERS[name](tmp_path / "data")
    loaded = open_data_set(name).references(tmp_path / "data", task=task).table
    moment = "frame" if task == "phase" else "case"
    guess = loaded.select("video", moment, pl.col(task).alias("prediction"))
    options = {"data_set": name, "task": task, "split": split}
    if split is not None:
        guess = guess.filter(video="video41")
    kind = "phases" if task == "phase" else "classification"
    whole = surgvalid.evaluate(kind, guess, tmp_path / "data", **options)
    joined = surgvalid.combine(in_shards((kind, guess, tmp_path / "data", options), tmp_path))
    assert ("incomplete-split" in {finding.code for finding in whole.findings}) == (split is not None)
    assert {(one.code, one.message) for one in joined.findings} == {(one.code, one.message) for one in whole.findings}
    assert_frame_equal(joined.metrics, whole.metrics, abs_tol=1e-12, rel_tol=0)


@pytest.mark.long
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 10**6), videos=st.integers(2, 9), of=st.integers(1, 12), kind=st.sampled_from(sorted(RANDOM))
)
def test_random_cases_in_any_number_of_shards_are_the_whole(
    seed: int, videos: int, of: int, kind: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("shards")
    predictions, references, options = RANDOM[kind](np.random.default_rng(seed), videos, folder)
    whole = surgvalid.evaluate(kind, predictions, references, as_read=True, **options)  # noise is no sound reading
    held = {Shard(n, of) for n in range(1, of + 1) if any(Shard(n, of).holds(f"v{v}") for v in range(videos))}
    places = [
        surgvalid.evaluate(kind, predictions, references, shard=str(one), as_read=True, **options).to_dir(
            folder / f"out{one.number}"
        )
        for one in held
    ]
    joined = surgvalid.combine(places)
    for name in ("metrics", "per_video", "per_class"):
        if name in whole.tables:
            assert_frame_equal(joined.tables[name], whole.tables[name], abs_tol=1e-12, rel_tol=0)


def test_every_metric_of_evaluate_is_among_these(tmp_path: Path) -> None:
    measured = {name for build in INPUTS for name in build(tmp_path / build.__name__)[3].get("metrics", ())}
    families = (*CLASSIFICATION, *DETECTION, *SEGMENTATION, *TIME, *TRIPLETS, *TRACKING)
    never = {name for name in families if not METRICS[name].takes or name not in measured}
    assert never <= {"latency_p50_s", "latency_p95_s", "mask_stability_gap"} | {
        name for name in never if not set(METRICS[name].takes) & {
            "labels", "scores", "sets", "objects", "masks", "label sequences", "triplet scores", "tracks"}
    }  # fmt: skip


def test_a_shard_that_is_not_there_or_there_twice_is_named(tmp_path: Path) -> None:
    places = in_shards(labels_from_the_data(tmp_path), tmp_path)
    with pytest.raises(InputInvalid, match=r"videos are in no shard .*give \d/3"):
        surgvalid.combine(places[1:])
    with pytest.raises(InputInvalid, match=r"is in .* and in"):
        surgvalid.combine([*places, places[0]])


def test_misread_predictions_give_no_number_in_shards_either(tmp_path: Path) -> None:
    """What one run over all videos refuses, its shards refuse together, unless all were asked to be taken as read."""
    _, table = rows()
    names = ["a", "b", "c"] * (len(table["video"]) // 3)
    crossed = {"a": "b", "b": "a", "c": "c"}
    table |= {"reference": names, "prediction": [crossed[name] for name in names]}
    places = in_shards(("classification", table, None, {}), tmp_path)
    with pytest.raises(InputInvalid, match="Classes are crossed"):
        surgvalid.evaluate("classification", table)
    with pytest.raises(InputInvalid, match="Classes are crossed"):
        surgvalid.combine(places)
    meant = in_shards(("classification", table, None, {"as_read": True}), tmp_path / "meant")
    assert surgvalid.combine(meant).value("accuracy") == 1 / 3
    with pytest.raises(InputInvalid, match="Classes are crossed"):
        surgvalid.combine([meant[0], *places[1:]])


def test_shards_of_different_runs_are_refused(tmp_path: Path) -> None:
    places = in_shards(labels_from_the_data(tmp_path), tmp_path)
    head = json.loads((places[1] / "shard.json").read_text())
    (places[1] / "shard.json").write_text(json.dumps({**head, "model": "another"}))
    with pytest.raises(InputInvalid, match='model is "another"'):
        surgvalid.combine(places)
    (places[1] / "shard.json").write_text(json.dumps({**head, "version": 99}))
    with pytest.raises(FileUnreadable, match="a shard of version 99"):
        surgvalid.combine(places)


def test_a_folder_that_is_no_shard_and_a_kind_without_shards_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileUnreadable, match="evaluate --shard"):
        surgvalid.combine([tmp_path])
    with pytest.raises(Misuse, match="cvs is not cut into shards"):
        surgvalid.evaluate("cvs", {"video": ["1"]}, shard="1/2")


def test_a_shard_without_videos_says_so_and_is_not_needed(tmp_path: Path) -> None:
    kind, predictions, references, options = labels_from_the_data(tmp_path)
    of, places = 40, []
    for number in range(1, of + 1):
        if any(Shard(number, of).holds(video) for video in VIDEOS):
            result = surgvalid.evaluate(kind, predictions, references, shard=f"{number}/{of}", **options)
            places.append(result.to_dir(tmp_path / str(number)))
        else:
            with pytest.raises(Misuse, match=f"shard {number}/40 holds none of the 7 videos"):
                surgvalid.evaluate(kind, predictions, references, shard=f"{number}/{of}", **options)
    whole = surgvalid.evaluate(kind, predictions, references, **options)
    assert_frame_equal(surgvalid.combine(places).metrics, whole.metrics, abs_tol=1e-12, rel_tol=0)


def test_sites_with_videos_of_their_own_are_put_together(tmp_path: Path) -> None:
    kind, results, dataset, options = boxes(tmp_path)
    whole = surgvalid.evaluate(kind, results, dataset, replicates=20, **options)
    places = []
    for site, videos in {"a": VIDEOS[:3], "b": VIDEOS[3:]}.items():
        images = [image for image in dataset["images"] if image["video"] in videos]
        ids = {image["id"] for image in images}
        part = {**dataset, "images": images, "annotations": [o for o in dataset["annotations"] if o["image_id"] in ids]}
        mine = [one for one in results if one["image_id"] in ids]
        result = surgvalid.evaluate(kind, mine, part, replicates=20, shard="1/1", **options)
        places.append(result.to_dir(tmp_path / site))
    joined = surgvalid.combine(places).metrics.sort("metric")
    expected = whole.metrics.sort("metric")
    assert joined["videos"].equals(expected["videos"])
    counted = pl.col("metric").is_in(["detection_f1", "false_alarms_per_image", "coco_ar"])
    assert_frame_equal(joined.filter(counted), expected.filter(counted), abs_tol=1e-12, rel_tol=0)


def test_a_table_of_scores_is_shown_where_to_go(tmp_path: Path) -> None:
    (tmp_path / "dice.csv").write_text("patient,unet\na,0.8\n")
    with pytest.raises(Misuse, match=r"dice\.csv: no folder of a shard.*surgvalid study"):
        surgvalid.combine([tmp_path / "dice.csv"])
