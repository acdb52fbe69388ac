"""How often planted faults are named and sound studies alarmed, on seeds that no threshold saw."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from docs import validate_alignment as study

SEED, SOUND, PLANTED = 700_000, 500, 60


def outcomes(once: Callable[..., object], repetitions: int) -> np.ndarray:
    return np.array([once(SEED, repetition=place) for place in range(repetitions)], dtype=float)


def test_sound_studies_of_boxes_are_left_alone() -> None:
    assert outcomes(study.sound_boxes, SOUND).mean() < 0.02


def test_sound_studies_of_masks_are_left_alone_and_exchanged_ones_named() -> None:
    assert outcomes(study.sound_masks, SOUND).mean() < 0.02
    named = dict(zip(study.MASKS, outcomes(study.faulty_masks, PLANTED).mean(axis=0).tolist(), strict=True))
    assert min(named[name] for name in ("at random", "two classes swapped", "all called one")) > 0.9


def test_sound_studies_of_phases_are_left_alone_but_for_models_that_are_late() -> None:
    kind, alarmed = outcomes(study.sound_phases, SOUND).T
    assert alarmed[kind != study.PHASE_KINDS.index("late")].mean() < 0.02


@pytest.mark.parametrize(
    ("once", "of_prototype", "trials"),
    [
        (study.faulty_boxes, study.BOXES, study.OF_BOXES),
        (study.faulty_phases, study.PHASES, study.OF_PHASES),
    ],
)
def test_planted_faults_are_named_as_often_as_by_the_prototype(
    once: Callable[..., object], of_prototype: Mapping[str, int | None], trials: int
) -> None:
    seen = outcomes(once, PLANTED).sum(axis=0).astype(int)
    listed = zip(of_prototype.items(), seen.tolist(), strict=True)
    fewer = {
        name: n
        for (name, wanted), n in listed
        if (n < PLANTED / 2 if wanted is None else study.worse(n, PLANTED, wanted, trials) < 0.05)
    }
    assert fewer == {}
