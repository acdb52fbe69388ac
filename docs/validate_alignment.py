"""How often planted faults of alignment are named, and sound studies alarmed.

`python -m docs.validate_alignment` rewrites the tables between the markers of `validation-alignment.md` (500 sound
studies of boxes, of phases and of masks, 100 with every fault; fifteen minutes of CPU time, `--processes` spreads
them).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from scipy.stats import fisher_exact

from docs.aligned_studies import (
    PHASE_KINDS,
    MaskStudy,
    PhaseStudy,
    box_faults,
    box_study,
    mask_faults,
    mask_study,
    phase_faults,
    phase_study,
)
from docs.studies import Study, asked, markdown, put_table, repeated
from surgvalid.evaluation.alignment.boxes import box_alignment
from surgvalid.evaluation.alignment.classes import class_checks
from surgvalid.evaluation.alignment.labels import LabelSequence, sequence_lag
from surgvalid.evaluation.alignment.masks import mask_alignment
from surgvalid.evaluation.sanity.sanity_finding import Looked
from surgvalid.stats.intervals.proportions import share

PAGE = Path(__file__).parent / "validation-alignment.md"
SOUND, PLANTED, SEED = 500, 100, 1_200_000
BOXES = {
    "1 frame late": 25, "3 frames early": 29, "one video 4 late": 7, "ids one on": 23, "text order": 30,
    "at random": 29, "two classes swapped": 23, "shifted, end lost": 30, "all called one": 30, "mirrored": 29,
    "offset 60 px": 28, "letterbox 640": 30, "corners as sizes": 29, "one video silent": 27, "scores cut at 0.6": 26,
}  # fmt: skip
"""In how many of 30 studies the prototype of these checks named a fault, which is what they have to reach."""
PHASES: dict[str, int | None] = {
    "3 s late": 3, "8 s late": 19, "8 s early": 13, "25 s late": 38, "one video 30 s late": None, "two swapped": 38,
    "another order": 37,
}  # fmt: skip
"""In how many of 40 studies it warned; None where it did not look."""
OF_BOXES, OF_PHASES = 30, 40
MASKS = (
    *("1 frame late", "3 frames early", "one video 4 late", "at random", "mirrored", "two classes swapped"),
    "all called one",
)
"""Faults of label maps; the prototype did not look at them."""


def looked_at(study: PhaseStudy) -> Looked:
    """The checks of phases, as an evaluation makes them."""
    table = np.zeros((len(study.reference), study.classes, study.classes))
    for video, (ours, theirs) in enumerate(zip(study.reference, study.prediction, strict=True)):
        np.add.at(table[video], (ours, theirs), 1)
    looked = dict(class_checks(table, [str(c) for c in range(study.classes)]))
    videos = [LabelSequence(*sides, 1.0) for sides in zip(study.reference, study.prediction, strict=True)]
    return {**looked, "predictions-shifted": None if looked["labels-renamed"] else sequence_lag(videos)}


def looked_at_masks(study: MaskStudy) -> Looked:
    """The checks of label maps, as an evaluation makes them."""
    names = [f"{video:02}/{place:05}" for place, video in enumerate(study.video.tolist())]
    ours, theirs = (dict(zip(names, maps, strict=True)) for maps in (study.reference, study.prediction))
    return mask_alignment(ours, theirs, [name[:2] for name in names], range(1, study.classes + 1))


def alarms(looked: Looked) -> list[str]:
    """The checks that speak; a note is no alarm."""
    return [code for code, doubt in looked.items() if doubt and doubt.severity.value != "note"]


def sound_boxes(first: int = SEED, *, repetition: int) -> float:
    """Whether any check accuses a sound study."""
    return float(bool(alarms(box_alignment(box_study(first + repetition)[1], scored=True))))


def faulty_boxes(first: int = SEED, *, repetition: int) -> list[float]:
    """Whether each fault, planted into a study of its own, is named."""
    study = box_study(first + repetition)[1]
    return [
        float(any(box_alignment(wrong, scored=True).get(code) for code in codes.split()))
        for codes, wrong in box_faults(study, first + repetition).values()
    ]


def sound_phases(first: int = SEED, *, repetition: int) -> list[float]:
    """The kind of a sound study, and whether any check accuses it."""
    study = phase_study(first + repetition)
    return [float(PHASE_KINDS.index(study.kind)), float(bool(alarms(looked_at(study))))]


def faulty_phases(first: int = SEED, *, repetition: int) -> list[float]:
    """Whether there is a warning of each fault."""
    return [
        float(code in alarms(looked_at(wrong)))
        for code, wrong in phase_faults(phase_study(first + repetition)).values()
    ]


def sound_masks(first: int = SEED, *, repetition: int) -> float:
    """Whether any check accuses a sound study of label maps."""
    return float(bool(alarms(looked_at_masks(mask_study(first + repetition)))))


def faulty_masks(first: int = SEED, *, repetition: int) -> list[float]:
    """Whether each fault of label maps is named."""
    named = []
    for codes, wrong in mask_faults(mask_study(first + repetition), first + repetition).values():
        spoken = alarms(looked_at_masks(wrong))
        named.append(float(any(code in spoken for code in codes.split())))
    return named


def worse(seen: int, trials: int, of_prototype: int, trials_of_prototype: int) -> float:
    """The chance of so few where the prototype is no better (Fisher's exact test, one-sided)."""
    table = [[seen, trials - seen], [of_prototype, trials_of_prototype - of_prototype]]
    return float(fisher_exact(table, alternative="less").pvalue)


def main() -> None:
    """Simulate and write the tables."""
    chosen = asked(__doc__ or "", repetitions=SOUND)
    planted = min(PLANTED, chosen.repetitions)
    studies = [Study(once, (), chosen.repetitions) for once in (sound_boxes, sound_phases, sound_masks)]
    studies += [Study(once, (), planted) for once in (faulty_boxes, faulty_phases, faulty_masks)]
    boxes, phases, masks, wrong_boxes, wrong_phases, wrong_masks = repeated(studies, processes=chosen.processes)
    late = phases[:, 0] == PHASE_KINDS.index("late")
    rows = [
        _alarmed("boxes", boxes),
        _alarmed("phases, models that are not late by nature", phases[~late, 1]),
        _alarmed("phases, models that are late by nature", phases[late, 1]),
        _alarmed("masks", masks),
    ]
    put_table(PAGE, "sound", markdown(["sound studies", "number", "with any alarm"], rows))
    put_table(PAGE, "boxes", _named(wrong_boxes, BOXES, OF_BOXES))
    put_table(PAGE, "phases", _named(wrong_phases, PHASES, OF_PHASES))
    seen = [[name, f"{int(one.sum())} of {len(one)}"] for name, one in zip(MASKS, wrong_masks.T, strict=True)]
    put_table(PAGE, "masks", markdown(["planted", "named here"], seen))


def _alarmed(what: str, outcomes: np.ndarray) -> list[object]:
    count = share(int(outcomes.sum()), len(outcomes))
    return [what, len(outcomes), f"{int(outcomes.sum())}: {count.value:.1%} [{count.low:.1%}, {count.high:.1%}]"]


def _named(outcomes: np.ndarray, of_prototype: Mapping[str, int | None], trials: int) -> str:
    rows = []
    for place, (name, wanted) in enumerate(of_prototype.items()):
        seen = int(outcomes[:, place].sum())
        chance: float | str = "" if wanted is None else worse(seen, len(outcomes), wanted, trials)
        stated = "not looked at" if wanted is None else f"{wanted} of {trials}"
        rows.append([name, stated, f"{seen} of {len(outcomes)}", chance])
    return markdown(["planted", "prototype", "named here", "p that fewer are named than by the prototype"], rows)


if __name__ == "__main__":
    main()
