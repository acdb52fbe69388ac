"""The example that goes from found weaknesses to an algorithm, at its smallest: every kind of network on the CPU."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from examples.weakness_to_algorithm.grouping import instances_of
from examples.weakness_to_algorithm.losses import centres_of, instance_masks, loss_of
from examples.weakness_to_algorithm.pack import Pack
from examples.weakness_to_algorithm.recipes import BASELINES, Recipe, write_recipes
from examples.weakness_to_algorithm.spoiling import SPOILERS, moved, pasted, spoiled
from examples.weakness_to_algorithm.train import ALL, Trainer, rows_of_fit, sampling_weights

import surgeval
from data_set_files import put, put_json, put_png
from surgeval.metrics.segmentation import mi_dsc
from task_folders import endoscapes2023

ROOT = Path(__file__).parents[2]
SIZE = 32, 48
torch.set_num_threads(1)


def squares(cases: int = 8) -> Pack:
    """Bright squares on a dark ground, the second one touching the first in every other picture."""
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
    assert (bright == (turned > 0)).float().mean() > 0.95  # pictures and labels move together
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


def test_a_folder_of_endoscapes_becomes_boxes_masks_and_criteria_that_are_evaluated(tmp_path):
    root, out = tmp_path / "endoscapes", tmp_path / "out"
    endoscapes2023(root)
    (root / "insseg").mkdir()
    for case in ("8_125", "162_125", "162_250"):
        np.save(root / "insseg" / f"{case}.npy", np.ones((1, 6, 8), dtype=np.uint8))
        put(root / "insseg" / f"{case}.csv", "5\n")
        put_png(root / "semseg" / f"{case}.png", [bytes([0, 5, 5, 5, 5, 0, 6, 6])] * 6)
    command = [sys.executable, "-m", "examples.weakness_to_algorithm.endoscapes", "--tiny"]
    subprocess.run([*command, "--data", str(root), "--out", str(out)], cwd=ROOT, check=True, timeout=250)
    cvs = surgeval.evaluate("cvs", out / "criteria.csv", root, split="test")
    assert {"cvs_map", "cvs_bacc"} <= set(cvs.metrics["metric"])
    kept = {"data_set": "endoscapes2023", "split": "test"}
    maps = surgeval.evaluate("segmentation", out / "maps.npz", root, task="masks", classes=range(1, 7), **kept)
    assert maps.metrics["value"].is_between(0, 1).all()
    for kind in ("boxes", "masks"):
        listed = json.loads((out / f"{kind}.json").read_text())
        put_json(out / f"{kind}.json", listed or [{"image_id": 162_000_125, "category_id": 5, "bbox": [1, 1, 4, 3],
                                                   "score": 0.5}])  # fmt: skip
    boxes = surgeval.evaluate("detection", out / "boxes.json", root, task="boxes", **kept)
    assert "coco_ap" in boxes.metrics["metric"].to_list()
