"""DSC, IoU, NSD and HD95 against values that MONAI gave (stored, because MONAI needs torch)."""

from __future__ import annotations

import json

import numpy as np
import pytest

from reference.make_monai_values import VALUES, masks_of
from surgvalid.metrics.segmentation.masks import pixel_counts
from surgvalid.metrics.segmentation.overlap import dsc_of, iou_of
from surgvalid.metrics.segmentation.surfaces import hausdorff_px, nsd

ROWS = json.loads(VALUES.read_text(encoding="utf-8"))["rows"]
SINGLE = {"abs": 2e-7, "nan_ok": True}
"""MONAI counts in single precision."""


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row["seed"]))
def test_overlap_and_outlines_equal_monai(row: dict) -> None:
    pair = masks_of(row["seed"])
    counts = pixel_counts(*pair)
    assert dsc_of(counts, empty="monai-keep-empty") == pytest.approx(row["dice_keep_empty"], **SINGLE)
    assert dsc_of(counts, empty="monai-ignore-empty") == pytest.approx(row["dice_ignore_empty"], **SINGLE)
    assert iou_of(counts, empty="monai-keep-empty") == pytest.approx(row["iou_keep_empty"], **SINGLE)
    for tolerance, value in row["nsd_border"].items():
        ours = nsd(*pair, tolerance_px=float(tolerance), empty="monai-surface")
        assert ours == pytest.approx(value, **SINGLE)
    ours = nsd(*pair, tolerance_px=2.0, outline="contour", empty="monai-surface")
    assert ours == pytest.approx(row["nsd_contour"], **SINGLE)
    if row["hd95"] is not None:
        assert hausdorff_px(*pair) == pytest.approx(row["hd95"], abs=1e-5)


def test_the_stored_cases_hold_empty_masks_and_two_definitions_that_differ() -> None:
    assert any(np.isnan(row["dice_ignore_empty"]) for row in ROWS)
    pairs = [masks_of(row["seed"]) for row in ROWS if row["hd95"] is not None]
    gaps = [nsd(*p, tolerance_px=2) - nsd(*p, tolerance_px=2, outline="contour") for p in pairs]
    assert max(map(abs, gaps)) > 0.01
