"""What CholecT45 and CholecT50 share: folds, fixed splits, sizes of the label spaces.

Videos keep their Cholec80 numbers, so gaps are normal; 92, 96, 103, 110 and 111 are outside Cholec80. Folds and
splits are those of `dataloader_pth.py` in CAMMA-public/cholect50; the published validation set of the challenge
(with boxes) has other videos than the loader's split `cholect50-challenge`, so both stand under their own names.
"""

from __future__ import annotations

from surgeval.datasets._data_set import listed, the_rest

_FOLDS = (
    (79, 2, 51, 6, 25, 14, 66, 23, 50, 111),
    (80, 32, 5, 15, 40, 47, 26, 48, 70, 96),
    (31, 57, 36, 18, 52, 68, 10, 8, 73, 103),
    (42, 29, 60, 27, 65, 75, 22, 49, 12, 110),
    (78, 43, 62, 35, 74, 1, 56, 4, 13, 92),
)
_VALIDATION_VIDEOS = 5
_LOADER_CHALLENGE = {"val": (5, 18, 36, 65, 74), "test": (92, 96, 103, 110, 111)}
_RENDEZVOUS = {"val": (8, 12, 29, 50, 78), "test": (6, 51, 10, 73, 14, 74, 32, 80, 42, 111)}
_CHALLENGE_BOXES = {"val": (68, 70, 73, 74, 75)}
_KIT = {"val": (8, 29, 50, 78), "test": (6, 51, 10, 73, 14, 74, 32, 80, 42)}
_NAME = "VID{:02}"

SIZES = {"triplet": 100, "instrument": 6, "verb": 10, "target": 15}
LAST_CHOLEC80_VIDEO = 80


def videos_of(*, outside_cholec80: bool) -> list[int]:
    """The video numbers of CholecT50, or of CholecT45 without those outside Cholec80."""
    return sorted(n for fold in _FOLDS for n in fold if outside_cholec80 or n <= LAST_CHOLEC80_VIDEO)


def cross_validation(*, outside_cholec80: bool) -> dict[str, dict[str, list[str]]]:
    """The five official folds; validation is the last five training videos in fold order."""
    folds = [[n for n in fold if outside_cholec80 or n <= LAST_CHOLEC80_VIDEO] for fold in _FOLDS]
    schemes = {}
    for index, test in enumerate(folds):
        rest = [n for other, fold in enumerate(folds) if other != index for n in fold]
        train, val = rest[:-_VALIDATION_VIDEOS], rest[-_VALIDATION_VIDEOS:]
        schemes[f"fold {index + 1}"] = listed(_NAME, {"train": train, "val": val, "test": test})
    return schemes


def fixed_splits() -> dict[str, dict[str, list[str]]]:
    """The fixed splits over the 50 videos: Rendezvous, the loader's challenge split, the challenge's validation set."""
    known = videos_of(outside_cholec80=True)
    return {
        "rendezvous": listed(_NAME, the_rest(known, **_RENDEZVOUS)),
        "challenge loader": listed(_NAME, the_rest(known, **_LOADER_CHALLENGE)),
        "challenge validation": listed(_NAME, _CHALLENGE_BOXES),
    }


def kit_split() -> dict[str, list[str]]:
    """The fixed lists of SurgBenchKit: the Rendezvous split without 12 and 111."""
    return listed(_NAME, _KIT)
