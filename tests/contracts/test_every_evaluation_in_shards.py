"""Shards put together are the whole: every kind and every metric, to the last digit that counts."""

from __future__ import annotations

import json
from collections.abc import Mapping
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
from surgvalid.datasets import open_data_set
from surgvalid.errors import EmptyShard, FileUnreadable, InputInvalid, Misuse
from surgvalid.evaluation.segmentation import OF_CLASSES
from surgvalid.metrics import CLASSIFICATION, DETECTION, METRICS, SEGMENTATION, TIME, TRACKING, TRIPLETS
from surgvalid.metrics.phases.frames import CHOLEC80_PHASES
from surgvalid.results.result import Result
from surgvalid.schema.shard import Shard

pytestmark = pytest.mark.long

VIDEOS = [f"case {letter}" for letter in "abcdefg"]
SHARDS = 3
Input = tuple[str, Any, Any, dict[str, Any]]


def rows(seed: int = 0, moments: int = 30) -> tuple[np.random.Generator, dict[str, Any]]:
    at = {"video": np.repeat(VIDEOS, moments), "frame": np.tile(np.arange(moments), len(VIDEOS))}
    return np.random.default_rng(seed), {**at, "center": np.repeat(["x", "y", "x", "y", "x", "y", "x"], moments)}


def one_label(_: Path) -> Input:
    rng, table = rows(1)
    names, count = np.array(["a", "b", "c"]), len(table["video"])
    truth = rng.integers(0, 3, count)
    scores = rng.dirichlet([1, 1, 1], count) + 0.3 * np.eye(3)[truth]
    table |= {"reference": names[truth]}
    table |= {f"score:{name}": scores[:, place] / scores.sum(axis=1) for place, name in enumerate(names)}
    return "classification", table, None, {"by": ["center"], "metrics": offered(CLASSIFICATION, "labels", "scores")}


def labels_from_the_data(_: Path) -> Input:
    """Classes that only some shards hold, and that nobody declares."""
    _, table = rows(2)
    table["reference"] = [f"only {video}" if frame % 9 == 0 else "usual" for video, frame in zip(
        table["video"], table["frame"], strict=True)]  # fmt: skip
    table["prediction"] = ["usual" if frame % 4 == 0 else label for frame, label in zip(
        table["frame"], table["reference"], strict=True)]  # fmt: skip
    return "classification", table, None, {}


def several_labels(_: Path) -> Input:
    rng, table = rows(3)
    count = len(table["video"])
    for name in "abc":
        table[f"reference:{name}"] = (rng.random(count) < 0.3) * 1
        table[f"prediction:{name}"] = (rng.random(count) < 0.3) * 1
    return "classification", table, None, {"metrics": offered(CLASSIFICATION, "sets")}


def sequences(_: Path) -> Input:
    rng, table = rows(4, 84)
    names = [str(phase) for phase in CHOLEC80_PHASES]
    truth = np.tile(np.repeat(names, 12), len(VIDEOS))
    guess = np.where(rng.random(truth.size) < 0.1, rng.permutation(truth), np.roll(truth, 3))
    metrics = [name for name in TIME if "label sequences" in METRICS[name].takes]
    options = {"classes": names, "fps": 1, "by": ["center"], "metrics": metrics}
    return "phases", {**table, "reference": truth, "prediction": guess}, None, options


def triplets(_: Path) -> Input:
    rng, table = rows(5, 10)
    count = len(table["video"])
    table |= {f"reference:{place}": (rng.random(count) < 0.05) * 1 for place in range(100)}
    table |= {f"score:{place}": rng.random(count).round(2) for place in range(100)}
    return "triplets", table, None, {"metrics": list(TRIPLETS), "by": ["center"]}


def boxes(_: Path, masks: bool = False) -> Input:
    rng = np.random.default_rng(6)
    images = [
        {"id": n, "video": VIDEOS[n % 7], "smoke": n % 2, "width": 60, "height": 50, "file_name": f"{n}.png"}
        for n in range(42)
    ]
    objects, results = [], []
    for n in range(90):
        x, y, w, h = (int(side) for side in (*rng.integers(0, 30, 2), *rng.integers(4, 20, 2)))
        one = {"image_id": int(rng.integers(42)), "category_id": int(rng.integers(1, 4)), "bbox": [x, y, w, h]}
        if masks:
            one["segmentation"] = [[x, y, x + w, y, x + w, y + h, x, y + h]]
        objects.append({**one, "id": n, "iscrowd": int(n % 30 == 7 and not masks), "area": w * h})
        moved = {**one, "bbox": [x + int(rng.integers(0, 3)), y, w, h]}
        results.append({**moved, "score": float(rng.integers(1, 6) / 5)})
    categories = [{"id": place, "name": name} for place, name in enumerate(("hook", "clip", "bag", "never"), 1)]
    dataset = {"images": images, "annotations": objects, "categories": categories}
    kind = "mask" if masks else "box"
    metrics = [name for name in DETECTION if METRICS[name].options.get("kind", kind) == kind]
    options = {"by": ["smoke"], "metrics": metrics, "overlap": kind}
    return "detection", results, dataset, options


def outlines(folder: Path) -> Input:
    return boxes(folder, masks=True)


def label_maps(_: Path) -> Input:
    rng = np.random.default_rng(7)
    sides = [{f"{video}/{n}": rng.integers(0, 4, (9, 8)) for video in VIDEOS for n in range(3)} for _ in range(2)]
    metrics = [name for name in SEGMENTATION if "masks" in METRICS[name].takes and name not in OF_CLASSES]
    return "segmentation", *sides, {"metrics": metrics, "tolerance_px": 1, "mm_per_px": 0.3}  # type: ignore[return-value]


def masks_of_one_class(folder: Path) -> Input:
    kind, ours, theirs, _ = label_maps(folder)
    sides = [{name: (labels > 1).astype(np.uint8) for name, labels in side.items()} for side in (ours, theirs)]
    return kind, *sides, {"metrics": list(OF_CLASSES), "tolerance_px": 1, "mm_per_px": 0.3}  # type: ignore[return-value]


def undeclared_label_maps(_: Path) -> Input:
    """Each video has a class of its own; one has none at all."""
    sides = [
        {f"{video}/{n}": np.eye(6, dtype=np.uint8) * place + np.eye(6, k=shift, dtype=np.uint8) * place
         for place, video in enumerate(VIDEOS) for n in range(2)}
        for shift in (1, 2)
    ]  # fmt: skip
    return "segmentation", *sides, {}  # type: ignore[return-value]


def tracks(folder: Path) -> Input:
    rng = np.random.default_rng(8)
    for side in ("ours", "theirs"):
        (folder / side).mkdir(parents=True)
        for video in VIDEOS:
            lines = [
                f"{f},{c + (side == 'theirs' and rng.random() < 0.1) * 5},{10 * c + rng.integers(0, 4)},5,20,20,1,{c},1"
                for f in range(1, 15) for c in (1, 2)
            ]  # fmt: skip
            (folder / side / f"{video}.txt").write_text("\n".join(lines))
    return "tracking", folder / "theirs", folder / "ours", {"use_classes": True, "metrics": list(TRACKING)}


def offered(family: Mapping[str, Any], *forms: str) -> list[str]:
    """The metrics of a family that take one of the forms, those that need an option left aside."""
    return [name for name in family if set(forms) & set(METRICS[name].takes)]


INPUTS = (
    one_label, labels_from_the_data, several_labels, sequences, triplets, boxes, outlines, label_maps,
    masks_of_one_class,
    undeclared_label_maps, tracks,
)  # fmt: skip
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
        surgvalid.evaluate(kind, predictions, references, shard=str(one), **options).to_dir(folder / f"out{one.number}")
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
