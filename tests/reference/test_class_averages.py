"""Means over classes of 500 sets of label maps against what MONAI and nnU-Net gave (stored: both need torch)."""

from __future__ import annotations

import json

import numpy as np
import pytest

from reference.make_class_averages import CLASSES, SEEDS, VALUES, class_mean, maps_of
from surgvalid.metrics import open_metric
from surgvalid.metrics.metric import value_of
from surgvalid.metrics.segmentation.classes import ClassDistance
from surgvalid.metrics.segmentation.masks import MaskCases

STORED = json.loads(VALUES.read_text(encoding="utf-8"))["rows"]
OURS = {"nnunet": "dsc_classes", "monai": "dsc_classes_monai", "monai_batch": "dsc_classes_monai_batch"}
SINGLE = 2e-7
"""MONAI counts in single precision; so does it with distances, of up to the size of an image."""


@pytest.mark.parametrize("rule", OURS)
def test_dsc_over_classes_equals_its_namesake_on_every_set(rule: str) -> None:
    assert len(STORED) == len(SEEDS) == 500
    metric = open_metric(OURS[rule], classes=CLASSES)
    values = [value_of(metric, MaskCases(*maps_of(seed))) for seed in SEEDS]
    wanted = [np.nan if row[rule] is None else row[rule] for row in STORED]
    if rule == "nnunet":  # whose mean has no value where a class is in no map of the set; ours leaves that class out
        nowhere = [not all((np.array(maps_of(seed)) == label).any() for label in CLASSES) for seed in SEEDS]
        assert np.isnan(wanted).tolist() == nowhere
        values = [np.nan if lacking else value for value, lacking in zip(values, nowhere, strict=True)]
    assert values == pytest.approx(wanted, abs=SINGLE, nan_ok=True)


@pytest.mark.parametrize("measure", ["hd95", "assd"])
def test_distances_of_classes_that_both_maps_hold_equal_monai(measure: str) -> None:
    metric = ClassDistance(classes=CLASSES, measure=measure)
    values = []
    for seed in SEEDS:
        sides = maps_of(seed)
        held = np.array([[[(one == label).any() for label in CLASSES] for one in side] for side in sides])
        values.append(class_mean(np.where(held.all(axis=0), metric.class_scores(MaskCases(*sides)), np.nan)))
    wanted = [np.nan if row[measure] is None else row[measure] for row in STORED]
    assert values == pytest.approx(wanted, abs=1e-5, nan_ok=True)


def test_the_sets_hold_what_the_rules_differ_about() -> None:
    differ = [len({round(row[rule], 6) for rule in OURS}) == 3 for row in STORED if None not in row.values()]
    assert np.mean(differ) > 0.5
