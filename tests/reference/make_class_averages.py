"""Writes class_averages.json: what MONAI and nnU-Net make of 500 sets of label maps. In an environment of its own:

python -m venv peer && peer/bin/pip install monai==1.6.1 nnunetv2
peer/bin/python tests/reference/make_class_averages.py
"""

from __future__ import annotations

import json
import tempfile
import warnings
from pathlib import Path

import numpy as np

VALUES = Path(__file__).with_name("class_averages.json")
SEEDS, CLASSES = range(500), (1, 2, 3)


def maps_of(seed: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Discs of three classes in one to five small images; each may be missed, invented, moved or called otherwise."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[:32, :40]
    sides: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    for _ in range(int(rng.integers(1, 6))):
        ours, theirs = np.zeros((2, *rows.shape), np.uint8)
        for label in CLASSES:
            row, column, size = (int(rng.integers(low, high)) for low, high in ((6, 26), (6, 34), (3, 9)))
            if rng.random() < 0.75:
                ours[(rows - row) ** 2 + (columns - column) ** 2 <= size**2] = label
            if rng.random() < 0.75:
                dy, dx = rng.integers(-3, 4, 2)
                other = label if rng.random() < 0.9 else int(rng.choice(CLASSES))
                theirs[(rows - row - dy) ** 2 + (columns - column - dx) ** 2 <= size**2] = other
        sides[0].append(ours)
        sides[1].append(theirs)
    return sides


def main() -> None:
    import monai
    import torch
    from monai.metrics import DiceMetric, HausdorffDistanceMetric, SurfaceDistanceMetric

    def one_hot(maps: list[np.ndarray]) -> torch.Tensor:
        return torch.from_numpy(np.stack([[one == label for label in (0, *CLASSES)] for one in maps])).float()

    rows = []
    for seed in SEEDS:
        ours, theirs = maps_of(seed)
        pair = one_hot(theirs), one_hot(ours)
        row: dict[str, float | None] = {"nnunet": nnunet_mean(ours, theirs)}
        for name, reduction in (("monai", "mean"), ("monai_batch", "mean_batch")):
            metric = DiceMetric(include_background=False, reduction=reduction, ignore_empty=True)
            metric(*pair)
            row[name] = float(np.nanmean(known(metric.aggregate(), pair[1])))
        for name, metric in (
            ("hd95", HausdorffDistanceMetric(include_background=False, percentile=95)),
            ("assd", SurfaceDistanceMetric(include_background=False, symmetric=True)),
        ):
            values = metric(*pair).numpy()  # [image, class]; neither side, or one alone, has no distance
            held = np.stack([side[:, 1:].sum(dim=(2, 3)).numpy() > 0 for side in pair])
            row[name] = class_mean(np.where(held.all(axis=0), values, np.nan))
        rows.append({key: None if value is None or np.isnan(value) else round(value, 9) for key, value in row.items()})
    VALUES.write_text(json.dumps({"monai": monai.__version__, "nnunetv2": version(), "rows": rows}, indent=0) + "\n")


def known(values: object, reference: object) -> np.ndarray:
    """What MONAI aggregated; it gives 0 for a class, or a set, of which no reference holds anything: no value."""
    array = np.atleast_1d(np.asarray(values, dtype=np.float64))
    held = np.asarray(reference)[:, 1:].any(axis=(0, 2, 3))
    return np.where(held, array, np.nan) if array.size > 1 else np.where(held.any(), array, np.nan)


def class_mean(values: np.ndarray) -> float:
    means = [column[~np.isnan(column)].mean() for column in values.T if not np.isnan(column).all()]
    return float(np.mean(means)) if means else float("nan")


def nnunet_mean(ours: list[np.ndarray], theirs: list[np.ndarray]) -> float:
    """`foreground_mean` of the summary.json that nnU-Net writes for two folders of PNG files."""
    from multiprocessing import dummy

    from nnunetv2.evaluation import evaluate_predictions as nnunet
    from PIL import Image

    nnunet.multiprocessing.get_context = lambda _: dummy  # threads: a process for every set takes seconds

    with tempfile.TemporaryDirectory() as folder:
        for side, maps in (("ours", ours), ("theirs", theirs)):
            Path(folder, side).mkdir()
            for number, labels in enumerate(maps):
                Image.fromarray(labels).save(Path(folder, side, f"case_{number}.png"))
        summary = Path(folder, "summary.json")
        nnunet.compute_metrics_on_folder_simple(
            f"{folder}/ours", f"{folder}/theirs", CLASSES, str(summary), num_processes=1
        )
        return float(json.loads(summary.read_text())["foreground_mean"]["Dice"])


def version() -> str:
    from importlib.metadata import version as of

    return of("nnunetv2")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
