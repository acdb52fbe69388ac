"""Faults planted in simulated studies are named with what mends them, and sound studies are left alone."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from aligned_studies import PhaseStudy, box_faults, box_study, phase_faults, phase_study
from surgvalid.evaluation.alignment.boxes import box_alignment, lags_of
from surgvalid.evaluation.alignment.classes import class_checks
from surgvalid.evaluation.alignment.labels import LabelSequence, sequence_lag
from surgvalid.evaluation.run import check
from surgvalid.evaluation.sanity.sanity_finding import Looked


def looked_at(study: PhaseStudy) -> Looked:
    table = np.zeros((len(study.reference), study.classes, study.classes))
    for video, (ours, theirs) in enumerate(zip(study.reference, study.prediction, strict=True)):
        np.add.at(table[video], (ours, theirs), 1)
    looked = dict(class_checks(table, [str(c) for c in range(study.classes)]))
    videos = [LabelSequence(*sides, 1.0) for sides in zip(study.reference, study.prediction, strict=True)]
    return {**looked, "predictions-shifted": None if looked["labels-renamed"] else sequence_lag(videos)}


def alarms(looked: Looked) -> list[str]:
    return [code for code, doubt in looked.items() if doubt and doubt.severity.value != "note"]


@pytest.mark.parametrize("kind", ["usual", "fast"])
def test_every_planted_fault_of_boxes_is_named(kind: str) -> None:
    seen: Counter[str] = Counter()
    for seed in (11, 12):
        _, study = box_study(seed, kind)
        assert alarms(box_alignment(study, scored=True)) == []
        for name, (codes, wrong) in box_faults(study, seed).items():
            looked = box_alignment(wrong, scored=True)
            seen[name] += any(looked.get(code) for code in codes.split())
    missed = {name for name in box_faults(study, 0) if not seen[name]}
    assert missed <= {"one video 4 late"}, "one video carries little evidence"


@pytest.mark.parametrize("seed", [1, 2])
def test_a_steady_delay_of_phases_is_a_warning_and_crossed_phases_an_error(seed: int) -> None:
    study = phase_study(seed, "usual")
    assert alarms(looked_at(study)) == []
    faults = phase_faults(study)
    for name in ("25 s late", "two swapped", "another order"):
        code, wrong = faults[name]
        assert code in alarms(looked_at(wrong)), name
    doubt = looked_at(faults["25 s late"][1])["predictions-shifted"]
    assert doubt is not None
    assert "--format lag_s=-2" in doubt.hint


def test_what_a_lag_proposes_undoes_it() -> None:
    _, study = box_study(11, "fast")
    doubt = box_alignment(box_faults(study, 0)["3 frames early"][1], scored=True)["predictions-shifted"]
    assert doubt is not None
    assert "with --format lag=3." in doubt.evidence
    assert lags_of("3", ["a"]) == [3]
    assert lags_of("b:-2+a:1", ["a", "b", "c"]) == [1, -2, 0]


def test_check_gives_every_check_and_no_number() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 400)
    rows = {"video": np.repeat(list("abcdefgh"), 50), "frame": np.tile(np.arange(50), 8)}
    named = {side: [f"class {c}" for c in codes] for side, codes in (("reference", truth), ("prediction", 3 - truth))}
    result = check("classification", {**rows, **named})
    assert set(result.tables) == {"sanity"}
    outcomes = dict(result.tables["sanity"].select("check", "outcome").rows())
    assert outcomes["labels-renamed"] == "error"
    assert outcomes["constant-predictions"] == "ok"
