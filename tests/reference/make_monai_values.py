"""Writes monai_values.json. Needs MONAI and torch, so it runs in an environment of its own:

python -m venv peer && peer/bin/pip install monai==1.6.1 scipy && peer/bin/python tests/reference/make_monai_values.py
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np

VALUES = Path(__file__).with_name("monai_values.json")
SEEDS = range(40)


def masks_of(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two overlapping unions of disks and boxes, now and then cut off by the frame, now and then empty."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[:48, :64]
    pair = []
    for _ in range(2):
        mask = np.zeros(rows.shape, dtype=bool)
        for _ in range(int(rng.integers(0 if seed % 7 == 0 else 1, 4))):
            row, column, size = (int(rng.integers(low, high)) for low, high in ((10, 40), (10, 50), (4, 16)))
            disk = (rows - row) ** 2 + (columns - column) ** 2 <= size**2
            box = (abs(rows - row) <= size) & (abs(columns - column) <= size // 2)
            mask |= disk if rng.integers(2) else box
        pair.append(mask)
    return pair[0], pair[1]


def main() -> None:
    import monai
    import torch
    from monai.metrics import compute_dice, compute_hausdorff_distance, compute_iou, compute_surface_dice

    rows = []
    for seed in SEEDS:
        reference, prediction = (torch.from_numpy(mask[None, None]) for mask in masks_of(seed))
        pair = {"y_pred": prediction.float(), "y": reference.float()}
        dice = {keep: float(compute_dice(**pair, ignore_empty=not keep)) for keep in (True, False)}
        both = bool(reference.any() and prediction.any())
        rows.append(
            {
                "seed": seed,
                "dice_keep_empty": dice[True],
                "dice_ignore_empty": dice[False],
                "iou_keep_empty": float(compute_iou(**pair, ignore_empty=False)),
                "nsd_border": {t: float(compute_surface_dice(**pair, class_thresholds=[t])) for t in (0, 1, 2.5, 5)},
                "nsd_contour": float(
                    compute_surface_dice(**pair, class_thresholds=[2.0], use_subvoxels=True, spacing=[1, 1])
                ),
                "hd95": float(compute_hausdorff_distance(**pair, percentile=95)) if both else None,
            }
        )
    text = json.dumps({"monai": monai.__version__, "rows": rows}, indent=0, allow_nan=True)
    VALUES.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
