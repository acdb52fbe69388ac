"""Train one small network on a folder of Endoscapes2023: structures as boxes and masks, and the three criteria.

    python -m examples.weakness_to_algorithm.endoscapes --data path/to/endoscapes --out endoscapes-out

It shares body, images and changes of images with the other networks here. Frames with masks teach masks, frames
with boxes alone teach filled boxes, rated frames teach the criteria. Written for the test part: `boxes.json` (COCO
results), `masks.json` and `maps.npz` (COCO results and label maps of frames with masks) and `criteria.csv`, which
`surgvalid evaluate` reads (kinds cvs, detection and segmentation). A plain baseline to start from, not a contender.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import torch
from examples.weakness_to_algorithm.grouping import LEAST_PX, connected
from examples.weakness_to_algorithm.networks import UNet
from examples.weakness_to_algorithm.pack import decoded
from examples.weakness_to_algorithm.spoiling import coloured, moved
from torch import Tensor, nn
from torch.nn import functional as F

from surgvalid.datasets import open_data_set
from surgvalid.datasets.sets.endoscapes2023 import CRITERIA
from surgvalid.errors import InputInvalid
from surgvalid.evaluation.predictions.mask_files import png_folder
from surgvalid.metrics.detection.masks import coco_of_mask, mask_of_pixels

PARTS = ("train", "test")
UNKNOWN = 255
"""A label that teaches nothing: nobody marked structures in this frame."""


class Frame(NamedTuple):
    """One frame of the data set and what is known of it."""

    case: str
    part: str
    rgb: np.ndarray
    labels: np.ndarray
    """Category ids at the size of the image, or `UNKNOWN` all over."""
    criteria: np.ndarray
    """Mean of the raters per criterion, or NaN."""
    image_id: int | None
    """Of the COCO files, where structures were marked."""
    has_masks: bool


class Network(nn.Module):
    """A label per pixel and a logit per criterion."""

    def __init__(self, classes: int, width: int) -> None:
        super().__init__()
        self.body, self.head = UNet(3, width), nn.Conv2d(width, classes + 1, 1)
        self.criteria = nn.Linear(8 * width, len(CRITERIA))

    def forward(self, frames: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of both."""
        fine, coarse = self.body(frames)
        return self.head(fine), self.criteria(coarse.amax((2, 3)))


def read_frames(root: Path, parts: tuple[str, ...]) -> tuple[list[Frame], dict[int, str]]:
    """The frames of some parts that anything is known of, and the names of the categories."""
    data_set = open_data_set("endoscapes2023")
    tables = {task: data_set.references(root, task=task).table for task in ("cvs", "boxes")}
    masks = data_set.references(root, task="masks").table if (root / "insseg").is_dir() else None
    maps = png_folder(root / "semseg")
    files = {case for case in masks["case"] if case in maps} if masks is not None else set()
    boxes = tables["boxes"].drop_nulls("category_id")
    names = dict(boxes.select("category_id", "category").unique().sort("category_id").iter_rows())
    ids = dict(tables["boxes"].select("case", "image_id").iter_rows())
    rated = {row["case"]: row for row in tables["cvs"].iter_rows(named=True)}
    places = pl.concat([one.select("case", "split") for one in tables.values()]).unique().sort("case")
    frames = []
    wanted = places.filter(pl.col("split").is_in(parts)).rows()
    absent = [
        f"{part}/{case}.jpg: no such file" for case, part in wanted if not (root / part / f"{case}.jpg").is_file()
    ]
    if absent:
        raise InputInvalid(str(root), absent)
    for case, part in wanted:
        rgb = decoded((root / part / f"{case}.jpg").read_bytes())
        labels = np.full(rgb.shape[:2], UNKNOWN, dtype=np.uint8)
        if case in files:
            labels = np.asarray(maps[case], dtype=np.uint8)
        elif case in ids:
            labels = _filled(boxes.filter(case=case), rgb.shape[:2])
        means = [rated[case][f"{name}_mean"] if case in rated else np.nan for name in CRITERIA]
        frames.append(Frame(case, part, rgb, labels, np.array(means, dtype=np.float32), ids.get(case), case in files))
    return frames, names


def check_frames(root: Path, frames: list[Frame], parts: tuple[str, ...]) -> None:
    """Refuse a folder with which a part of the network would silently learn, or predict, nothing.

    Raises:
        InputInvalid: Lists every part without frames, structures or ratings.
    """
    problems = []
    for part in parts:
        here = [one for one in frames if one.part == part]
        if not any(one.image_id is not None for one in here):
            problems.append(f"{part}: no frame with boxes ({part}/annotation_coco.json)")
        if not any(np.isfinite(one.criteria).all() for one in here):
            problems.append(f"{part}: no frame with rated criteria ({part}/annotation_ds_coco.json)")
    if problems:
        raise InputInvalid(str(root), problems)


def _filled(boxes: pl.DataFrame, size: tuple[int, int]) -> np.ndarray:
    """Boxes as labels, the small ones over the large ones."""
    labels = np.zeros(size, dtype=np.uint8)
    ordered = boxes.sort(pl.col("width_px") * pl.col("height_px"), descending=True)
    for kind, *box in ordered.select("category_id", "x_px", "y_px", "width_px", "height_px").iter_rows():
        left, top, width, height = (round(side) for side in box)
        labels[top : top + height, left : left + width] = kind
    return labels


def batch_of(frames: list[Frame], size: tuple[int, int]) -> tuple[Tensor, Tensor, Tensor]:
    """Images in [0, 1], labels and criteria of some frames, at one size."""
    pictures = [torch.from_numpy(one.rgb.copy()).permute(2, 0, 1)[None].float() / 255 for one in frames]
    labels = [torch.from_numpy(one.labels.copy())[None, None].float() for one in frames]
    return (
        torch.cat([F.interpolate(one, size, mode="bilinear", antialias=True) for one in pictures]),
        torch.cat([F.interpolate(one, size)[:, 0] for one in labels]).long(),
        torch.from_numpy(np.stack([one.criteria for one in frames])),
    )


def train(frames: list[Frame], network: Network, given: argparse.Namespace) -> None:
    """Teach the network on the frames."""
    rng = np.random.default_rng(1)
    optimiser = torch.optim.AdamW(network.parameters(), lr=1e-3)
    network.train()
    for _ in range(given.steps):
        chosen = [frames[place] for place in rng.integers(len(frames), size=given.batch)]
        pictures, labels, criteria = (one.to(given.device) for one in batch_of(chosen, given.size))
        shown, labels = moved(coloured(pictures[:, None]), labels)
        dense, logits = network(shown[:, 0])
        known = labels != UNKNOWN
        pixels = F.cross_entropy(dense, labels.where(known, 0), reduction="none")
        rated = ~criteria.isnan()
        votes = F.binary_cross_entropy_with_logits(logits, criteria.nan_to_num(), reduction="none")
        loss = sum((each * use).sum() / use.sum().clamp(min=1) for each, use in ((pixels, known), (votes, rated)))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()


@torch.no_grad()
def predict(frames: list[Frame], network: Network, names: Mapping[int, str], given: argparse.Namespace) -> None:
    """Write what the network says of every frame."""
    network.eval()
    boxes: list[dict[str, Any]] = []
    masks: list[dict[str, Any]] = []
    maps: dict[str, np.ndarray] = {}
    rows: list[dict[str, Any]] = []
    for frame in frames:
        pictures, _, _ = batch_of([frame], given.size)
        dense, logits = network(pictures.to(given.device))
        shares = F.interpolate(dense.softmax(1), frame.rgb.shape[:2], mode="bilinear")[0].cpu().numpy()
        labels = shares.argmax(0).astype(np.uint8)
        if frame.has_masks:
            maps[frame.case] = labels
        video, number = frame.case.split("_")
        scores = logits.sigmoid()[0].tolist()
        rows.append({"video": video, "frame": int(number), **dict(zip(CRITERIA, scores, strict=True))})
        if frame.image_id is not None:
            for kind in names:
                for box, mask, score in _things(labels == kind, shares[kind]):
                    about = {"image_id": frame.image_id, "category_id": kind, "bbox": box, "score": score}
                    boxes.append(about)
                    if frame.has_masks:
                        masks.append({**about, "segmentation": coco_of_mask(mask_of_pixels(mask))})
    (given.out / "boxes.json").write_text(json.dumps(boxes) + "\n", encoding="utf-8")
    (given.out / "masks.json").write_text(json.dumps(masks) + "\n", encoding="utf-8")
    np.savez_compressed(given.out / "maps.npz", **maps)
    pl.DataFrame(rows).write_csv(given.out / "criteria.csv")


def _things(mask: np.ndarray, share: np.ndarray) -> list[tuple[list[float], np.ndarray, float]]:
    """Box, pixels and score of every connected part that is large enough."""
    labels = connected(mask)
    listed = []
    for label in range(1, int(labels.max()) + 1):
        pixels = labels == label
        if pixels.sum() >= LEAST_PX:
            down, across = np.nonzero(pixels)
            left, top = int(across.min()), int(down.min())
            box = [left, top, int(across.max()) + 1 - left, int(down.max()) + 1 - top]
            listed.append(([float(side) for side in box], pixels, float(share[pixels].mean())))
    return listed


def main() -> None:
    """Read the command line, train and predict."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="The folder of Endoscapes2023.")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--size", type=int, nargs=2, default=(240, 432), help="Height and width, both divide by 16.")
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--tiny", action="store_true", help="Three steps of a very small network.")
    given = parser.parse_args()
    given.size = tuple(given.size)
    if given.tiny:
        given.width, given.steps, given.batch, given.size = 4, 3, 2, (48, 64)
    frames, names = read_frames(given.data, PARTS)
    check_frames(given.data, frames, PARTS)
    given.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(1)
    network = Network(max(names), given.width).to(given.device)
    train([one for one in frames if one.part == "train"], network, given)
    predict([one for one in frames if one.part == "test"], network, names, given)


if __name__ == "__main__":
    main()
