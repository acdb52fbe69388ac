"""DSC, IoU, NSD and HD95 against MONAI itself, on random masks; the main suite compares with stored values of it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from monai.metrics import compute_dice, compute_hausdorff_distance, compute_iou, compute_surface_dice

from surgvalid.metrics.segmentation.masks import pixel_counts
from surgvalid.metrics.segmentation.overlap import dsc_of, iou_of
from surgvalid.metrics.segmentation.surfaces import hausdorff_px, nsd

pytestmark = pytest.mark.filterwarnings("ignore")  # MONAI warns of its own arguments and of empty masks
SINGLE = {"abs": 2e-6, "nan_ok": True}
"""MONAI counts in single precision."""
tolerances = st.sampled_from([0.0, 1.0, 1.5, 2.5, 5.0])


def blobs(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two masks of disks, boxes and specks, often cut off by the frame, now and then empty."""
    rng = np.random.default_rng(seed)
    height, width = (int(side) for side in rng.integers(3, 50, 2))
    rows, columns = np.mgrid[:height, :width]
    pair = []
    for _ in range(2):
        mask = rng.random(rows.shape) < (0.01 if rng.integers(2) else 0.0)
        for _ in range(int(rng.integers(0, 4))):
            row, column, size = rng.uniform(0, height), rng.uniform(0, width), rng.uniform(1, 14)
            far = (
                np.maximum(abs(rows - row), abs(columns - column))
                if rng.integers(2)
                else np.hypot(rows - row, columns - column)
            )
            mask |= far <= size
        pair.append(mask)
    return pair[0], pair[1]


def tensors(seed: int) -> dict[str, torch.Tensor]:
    reference, prediction = (torch.from_numpy(mask[None, None]).float() for mask in blobs(seed))
    return {"y_pred": prediction, "y": reference}


@settings(max_examples=150, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1))
def test_overlap_is_monais(seed: int) -> None:
    counts = pixel_counts(*blobs(seed))
    for keep, rule in ((True, "monai-keep-empty"), (False, "monai-ignore-empty")):
        assert dsc_of(counts, empty=rule) == pytest.approx(
            float(compute_dice(**tensors(seed), ignore_empty=not keep)), **SINGLE
        )
    assert iou_of(counts, empty="monai-keep-empty") == pytest.approx(
        float(compute_iou(**tensors(seed), ignore_empty=False)), **SINGLE
    )


@settings(max_examples=200, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1), tolerance=tolerances)
def test_border_nsd_is_monais(seed: int, tolerance: float) -> None:
    theirs = float(compute_surface_dice(**tensors(seed), class_thresholds=[tolerance]))
    assert nsd(*blobs(seed), tolerance_px=tolerance, empty="monai-surface") == pytest.approx(theirs, **SINGLE)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1), tolerance=tolerances)
def test_contour_nsd_is_monais_with_subvoxels(seed: int, tolerance: float) -> None:
    theirs = compute_surface_dice(**tensors(seed), class_thresholds=[tolerance], use_subvoxels=True, spacing=[1, 1])
    ours = nsd(*blobs(seed), tolerance_px=tolerance, outline="contour", empty="monai-surface")
    assert ours == pytest.approx(float(theirs), **SINGLE)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1))
def test_hd95_is_monais(seed: int) -> None:
    if not all(mask.any() for mask in blobs(seed)):
        return
    theirs = float(compute_hausdorff_distance(**tensors(seed), percentile=95))
    assert hausdorff_px(*blobs(seed)) == pytest.approx(theirs, abs=1e-4)
