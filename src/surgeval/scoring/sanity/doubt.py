"""What a check says: the evidence, a hint, how much it matters, and by which rule it speaks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import polars as pl

from surgeval.results.tables.evaluation import SANITY
from surgeval.schema.findings import Finding, Severity

RULES: Mapping[str, str] = {
    "boxes-elsewhere": (
        "speaks where fewer than 2 % of the references are overlapped by half, or where another reading of the boxes "
        "covers at least 20 % and more than twice as many; classes are left aside; at most 400 images are looked at"
    ),
    "detections-doubled": (
        "speaks where at least 20 % of the detections repeat the box of another one of the same class and image, at an "
        "IoU of 0.95 or more; at most 400 images are looked at"
    ),
    "labels-renamed": (
        "speaks where one-to-one renaming, or for scores a shift, lifts the mean recall of the classes by 0.4 to 0.6 "
        "or more, or their mean AUROC from below 0.65 by 0.2 to 0.8 or more; classes with fewer than five cases are "
        "not looked at"
    ),
    "constant-predictions": (
        "speaks where every prediction is the same, or 99.5 % of them are and the references are not"
    ),
    "masks-elsewhere": (
        "speaks where the foreground overlaps by an IoU of 0.5 or more, and 0.3 more than as read, once mirrored, "
        "turned or swapped with the background; at most 30 images are looked at"
    ),
    "empty-masks-apart": "speaks where images with two empty masks count in one metric of the run and not in another",
    "one-case-per-video": "speaks where every video has a single case, and no data set says that this is so",
    "few-videos": "speaks below six independent videos (surgeons, patients), or where a method would be too narrow",
    "pooled-apart": (
        "speaks where a pooled value and the mean over videos differ by more than a tenth of the metric's range"
    ),
    "no-better-than-trivial": "speaks where a value is no better than that of the trivial predictor beside it",
    "sum-elsewhere": "speaks where other tools print the sum over videos of what is a mean over videos here",
    "incomplete-split": "speaks where videos or cases of an official split are not there",
}
"""Every check, with when it speaks."""


class Doubt(NamedTuple):
    """What one check saw."""

    code: str
    severity: Severity
    evidence: str
    hint: str = ""

    @property
    def finding(self) -> Finding:
        """The doubt as every result carries it."""
        return Finding(self.code, self.severity, f"{self.evidence} {self.hint}".strip())


Looked = Mapping[str, Doubt | None]
"""The checks that ran, each with what it saw."""


def both(first: Looked, second: Looked) -> dict[str, Doubt | None]:
    """The checks of either; where both ran one, the first that saw something."""
    return {code: first.get(code) or second.get(code) for code in (*first, *second)}


def sanity_table(looked: Looked) -> pl.DataFrame:
    """One row per check that ran, in the order of the rules."""
    return SANITY.frame(
        [
            {
                "check": code,
                "outcome": doubt.severity.value if (doubt := looked[code]) else "ok",
                "evidence": doubt.evidence if doubt else None,
                "hint": (doubt.hint or None) if doubt else None,
                "conventions": rule,
            }
            for code, rule in RULES.items()
            if code in looked
        ]
    )
