"""The example that goes from found weaknesses to an algorithm, at its smallest: every kind of network on the CPU."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from examples.weakness_to_algorithm import endoscapes
from examples.weakness_to_algorithm.grouping import instances_of
from examples.weakness_to_algorithm.losses import centres_of, instance_masks, loss_of
from examples.weakness_to_algorithm.pack import Pack
from examples.weakness_to_algorithm.recipes import BASELINES, Recipe, write_recipes
from examples.weakness_to_algorithm.spoiling import SPOILERS, moved, pasted, spoiled
from examples.weakness_to_algorithm.train import ALL, Trainer, rows_of_fit, sampling_weights

import surgvalid
from data_set_files import endoscapes_image, put, put_json, put_png
from repository import REPOSITORY
from surgvalid.errors import InputInvalid
from surgvalid.metrics.segmentation.instances import mi_dsc

ROOT = REPOSITORY
SIZE = 32, 48
STRUCTURES = ("cystic_plate", "calot_triangle", "cystic_artery", "cystic_duct", "gallbladder", "tool")
torch.set_num_threads(1)


def squares(cases: int = 8) -> Pack:
    """Bright squares on a dark ground, the second one touching the first in every other image."""
    rng = np.random.default_rng(0)
    labels = np.zeros((cases, *SIZE), dtype=np.uint8)
    for case, one in enumerate(labels):
        top, left = rng.integers(2, 10, 2)
        one[top : top + 12, left : left + 12] = 1
        away = left + 12 + 8 * (case % 2)
        one[top : top + 12, away : away + 10] = 2
    frames = np.where(labels[:, None, ..., None] > 0, 220, 30) + rng.integers(0, 20, (cases, 3, *SIZE, 3))
    names = [f"v{case // 2}/{case}" for case in range(cases)]
    part = ["development"] * (cases - 2) + ["held-out"] * 2
    columns = {"case": np.array(names), "video": np.array([n[:2] for n in names]), "part": np.array(part)}
    return Pack(frames.astype(np.uint8), labels, columns)


def ideal(kind: str, labels: torch.Tensor) -> dict[str, torch.Tensor]:
    """What a network would say that knew the labels."""
    masks = instance_masks(labels)
    if kind == "queries":
        there = torch.where(masks.sum((2, 3)) > 0, 9.0, -9.0)
        return {"masks": 18 * masks - 9, "there": there}
    made = {"foreground": torch.where(labels > 0, 9.0, -9.0)}
    rows, columns = (torch.arange(side, dtype=torch.float32) for side in SIZE)
    middle = centres_of(masks)
    away = torch.stack([middle[..., 0, None, None] - rows[:, None] + 0 * columns,
                        middle[..., 1, None, None] - columns[None] + 0 * rows[:, None]], dim=2)  # fmt: skip
    heat = torch.full(labels.shape, -9.0)
    for case, row, column in ((c, *m.round().long()) for c, all_of in enumerate(middle) for m in all_of if m[0] >= 0):
        heat[case, row, column] = 9.0
    return made | {"heat": heat, "offset": (masks[:, :, None] * away).sum(1)}


@pytest.mark.parametrize("kind", ["centres", "queries"])
def test_ideal_outputs_are_grouped_into_the_references_and_cost_less_than_others(kind):
    labels = torch.from_numpy(squares().labels).long()
    made = ideal(kind, labels)
    for one, prediction in zip(labels.numpy(), instances_of(kind, made), strict=True):
        assert mi_dsc(one, prediction) == 1.0
    worse = {name: values.flip(-1) for name, values in made.items()}
    for small in (False, True):
        best = loss_of(kind, made, labels, small_weigh_more=small)
        assert best < 0.5 * loss_of(kind, worse, labels, small_weigh_more=small)


@pytest.mark.parametrize("merge", ["votes", "close"])
def test_two_centres_of_one_cloud_of_votes_are_merged_and_those_of_two_are_not(merge):
    labels = torch.from_numpy(squares().labels).long()
    made = ideal("centres", labels)
    torch.manual_seed(0)
    made["offset"] = made["offset"] + torch.randn_like(made["offset"])
    rows, columns = (instance_masks(labels)[:, 0].amax(axis).float().argmax(1) for axis in (2, 1))
    each = torch.arange(len(labels))
    made["heat"][labels == 1] = -9.0
    for away in (3, 8):  # two centres of the first square, on both sides of its middle
        made["heat"][each, rows + away, columns + 6] = 9.0
    assert [one.max() for one in instances_of("centres", made)] == [3] * len(labels)
    for one, prediction in zip(labels.numpy(), instances_of("centres", made, merge=merge), strict=True):
        assert mi_dsc(one, prediction) > 0.98


def test_touching_things_are_one_for_connected_components():
    labels = torch.from_numpy(squares().labels).long()
    counts = [one.max() for one in instances_of("components", ideal("components", labels))]
    assert counts == [1, 2] * 4


@pytest.mark.parametrize("kind", ["components", "centres", "queries"])
def test_a_few_steps_of_training_find_bright_squares(kind):
    pack = squares()
    trainer = Trainer(Recipe(kind, kind), pack, width=6, device="cpu")
    rows = np.arange(6)
    losses = trainer.fit(rows, np.full(6, 1 / 6), steps=61, seconds=600, size=4)["losses"]
    assert losses[-1] < 0.8 * losses[0]
    found = np.stack(trainer.predict(np.array([6, 7]))) > 0
    agree = 2 * (found & (pack.labels[6:] > 0)).sum() / (found.sum() + (pack.labels[6:] > 0).sum())
    assert agree > (0.8 if kind != "queries" else 0.3)


def test_folds_leave_whole_videos_out_and_the_last_fit_predicts_what_was_held_out():
    pack = squares()
    for fold in (0, 1):
        train, test = rows_of_fit(pack, fold, 2)
        assert not set(pack.columns["video"][train]) & set(pack.columns["video"][test])
        assert set(pack.columns["part"][[*train, *test]]) == {"development"}
    train, test = rows_of_fit(pack, ALL, 2)
    assert len(train) == 6
    assert set(pack.columns["part"][test]) == {"held-out"}


def test_shuffled_weights_are_the_same_weights_on_other_cases(tmp_path):
    pack, rows = squares(), np.arange(6)
    lines = [f"{case},{1 + number}" for number, case in enumerate(pack.columns["case"])]
    (tmp_path / "weights.csv").write_text("case,weight\n" + "\n".join(lines) + "\n")
    risk, sham = (
        sampling_weights(replace(BASELINES[0], sampling=how), pack, rows, tmp_path / "weights.csv")
        for how in ("risk", "shuffled")
    )
    assert risk.tolist() == pytest.approx((np.arange(1, 7) / 21).tolist())
    assert sorted(sham) == pytest.approx(sorted(risk))
    assert sham.tolist() != risk.tolist()


def test_spoilers_change_pictures_and_never_labels():
    torch.manual_seed(0)
    pack = squares()
    frames = torch.from_numpy(pack.frames).permute(0, 1, 4, 2, 3).float() / 255
    labels = torch.from_numpy(pack.labels).long()
    for name, spoiler in SPOILERS.items():
        assert (spoiler(frames, labels).clamp(0, 1) - frames).abs().mean() > 0.003, name
    assert spoiled(frames, labels, tuple(SPOILERS)).shape == frames.shape
    again, turned = moved(frames, labels)
    bright = again[:, 1].mean(1) > 0.5
    assert (bright == (turned > 0)).float().mean() > 0.95  # images and labels move together
    laid, more = pasted(frames, labels)
    assert (more.amax((1, 2)) > labels.amax((1, 2))).any()
    assert ((laid[:, 1].mean(1) > 0.5) == (more > 0)).float().mean() > 0.95


def test_the_script_trains_every_network_once_and_keeps_predictions_of_every_recipe_for_every_case(tmp_path):
    from examples.weakness_to_algorithm.paint import paint

    paint(tmp_path, development=4, held_out=1, new=1, count=2, minutes=(4, 4.5))
    more = replace(BASELINES[1], name="more", neighbours="real", paste=True, spoilers=("smoke",))
    recipes = [BASELINES[2], more, replace(more, name="more, joined", merge="close"), replace(more, name="b", seed=2)]
    write_recipes(recipes, tmp_path / "chosen.json")
    command = [sys.executable, "-m", "examples.weakness_to_algorithm.train", "--data", str(tmp_path), "--tiny"]
    options = ["--out", str(tmp_path / "out"), "--recipes", str(tmp_path / "chosen.json"), "--folds", "1"]
    subprocess.run([*command, *options], cwd=ROOT, check=True, timeout=250)
    with np.load(tmp_path / "out" / "predictions.npz") as made:
        for recipe in recipes:
            assert made[f"{recipe.name}|labels"].shape == (len(made[f"{recipe.name}|case"]), 108, 192)
            assert len(made[f"{recipe.name}|case"]) == 4
    records = json.loads((tmp_path / "out" / "training.json").read_text())
    networks = {one["recipe"]["name"]: one["network_of"] for one in records}
    assert networks == {"queries": "queries", "more": "more", "more, joined": "more", "b": "b"}


def endoscapes_to_learn(root: Path) -> None:
    """A folder of Endoscapes2023 whose images show what is marked: a green gallbladder and a blue tool.

    Criteria follow the side on which the gallbladder lies; half of the training frames have boxes alone.
    """
    rng = np.random.default_rng(3)
    categories = [{"id": n, "name": name} for n, name in enumerate(STRUCTURES, start=1)]
    for part, videos in (("train", (8, 9)), ("val", (121,)), ("test", (162, 163))):
        images, boxes = [], []
        for video, frame in ((video, 125 * n) for video in videos for n in range(1, 7)):
            labels, box_of = np.zeros((48, 64), dtype=np.uint8), {}
            for kind, top in ((5, rng.integers(0, 8)), (6, rng.integers(26, 34))):
                left, width = int(rng.integers(0, 40)), int(rng.integers(12, 24))
                labels[top : top + 12, left : left + width] = kind
                box_of[kind] = [left, int(top), width, 12]
            side = float(box_of[5][0] + box_of[5][2] / 2 < 32)
            image = endoscapes_image(video, frame, rated=True, boxed=True, ds=[side, 1 - side, side])
            images.append(image | {"width": 64, "height": 48})
            for kind, (left, top, width, height) in box_of.items():
                corners = [left, top, left + width, top, left + width, top + height, left, top + height]
                about = {"id": len(boxes) + 1, "image_id": image["id"], "category_id": kind, "iscrowd": 0}
                boxes.append({**about, "bbox": box_of[kind], "area": width * height, "segmentation": [corners]})
            colours = np.array([[150, 40, 30], *[[0, 0, 0]] * 4, [40, 200, 60], [60, 80, 220]], dtype=np.uint8)
            noisy = np.clip(colours[labels] + rng.integers(-15, 16, (48, 64, 3)), 0, 255).astype(np.uint8)
            put_png(root / part / f"{video}_{frame}.jpg", [row.tobytes() for row in noisy], width=64, colour=2)
            if part == "test" or frame % 250 == 0:
                name = f"{video}_{frame}"
                put_png(root / "semseg" / f"{name}.png", [row.tobytes() for row in labels])
                put(root / "insseg" / f"{name}.csv", "5\n6\n")
                np.save(root / "insseg" / f"{name}.npy", np.stack([labels == 5, labels == 6]).astype(np.uint8))
        content = {"categories": categories, "images": images}
        for kind in ("ds_coco", "coco_vid"):
            put_json(root / part / f"annotation_{kind}.json", {**content, "annotations": []})
        put_json(root / part / "annotation_coco.json", {**content, "annotations": boxes})
        if part == "test":
            put_json(root / "test_seg" / "annotation_coco.json", {**content, "annotations": boxes})


def test_a_folder_of_endoscapes_becomes_boxes_masks_and_criteria_that_are_evaluated(tmp_path):
    """As trained and written by the script, nothing put in by hand: what is plain to see is found."""
    root, out = tmp_path / "endoscapes", tmp_path / "out"
    endoscapes_to_learn(root)
    command = [sys.executable, "-m", "examples.weakness_to_algorithm.endoscapes", "--size", "48", "64", "--width", "8"]
    more = ["--steps", "240", "--batch", "6", "--device", "cpu", "--data", str(root), "--out", str(out)]
    alone = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run([*command, *more], cwd=ROOT, env=alone, check=True, timeout=500)
    kept = {"data_set": "endoscapes2023", "split": "test", "replicates": 10}
    maps = surgvalid.evaluate("segmentation", out / "maps.npz", root, task="masks", classes=range(1, 7), **kept)
    boxes = surgvalid.evaluate("detection", out / "boxes.json", root, task="boxes", **kept)
    files = {"boxes": out / "boxes.json", "masks": out / "masks.json"}
    cvs = surgvalid.evaluate("cvs", out / "criteria.csv", root, split="test", replicates=10)
    both = surgvalid.evaluate("cvs", None, root, **files, replicates=10)
    found = {(name, row["metric"]): row["value"]
             for name, one in (("maps", maps), ("boxes", boxes), ("cvs", cvs), ("both", both))
             for row in one.metrics.iter_rows(named=True)}  # fmt: skip
    assert found["maps", "miou_pooled"] > 0.7
    assert found["boxes", "coco_ap50"] > 0.6
    assert found["cvs", "cvs_map"] > 0.5
    assert 0 <= found["cvs", "cvs_bacc"] <= 1
    assert found["both", "bbox_map"] == pytest.approx(found["boxes", "coco_ap"])
    assert found["both", "segm_map"] > 0.6


@pytest.mark.parametrize(("without", "said"), [
    (["train/annotation_coco.json", "test/annotation_ds_coco.json"],
     ["train: no frame with boxes (train/annotation_coco.json)", "test: no frame with rated criteria"]),
    (["train/8_125.jpg", "test/162_250.jpg"], ["train/8_125.jpg: no such file", "test/162_250.jpg: no such file"]),
    (["test"], ["test: no frame with boxes", "test: no frame with rated criteria"]),
    (["semseg/8_250.png"], ["semseg/8_250.png: no such file"]),
    (["train", "val", "test"], ["annotation_ds_coco.json: no such file"]),
])  # fmt: skip
def test_what_a_partial_folder_of_endoscapes_lacks_is_listed_before_anything_is_trained(
    tmp_path, monkeypatch, without, said
):
    endoscapes_to_learn(tmp_path / "endoscapes")
    for name in without:
        path = tmp_path / "endoscapes" / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    given = ["endoscapes", "--tiny", "--data", str(tmp_path / "endoscapes"), "--out", str(tmp_path / "out")]
    monkeypatch.setattr(sys, "argv", given)
    with pytest.raises(InputInvalid) as refused:
        endoscapes.main()
    for words in said:
        assert any(words in problem for problem in refused.value.problems)
    assert not (tmp_path / "out").exists()
