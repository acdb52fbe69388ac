"""What CholecT45 and CholecT50 share: folds, phases of the challenge split, sizes of the label spaces.

Videos keep their Cholec80 numbers, so gaps are normal; 92, 96, 103, 110 and 111 are outside Cholec80.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_FOLDS = (
    (79, 2, 51, 6, 25, 14, 66, 23, 50, 111),
    (80, 32, 5, 15, 40, 47, 26, 48, 70, 96),
    (31, 57, 36, 18, 52, 68, 10, 8, 73, 103),
    (42, 29, 60, 27, 65, 75, 22, 49, 12, 110),
    (78, 43, 62, 35, 74, 1, 56, 4, 13, 92),
)
_VALIDATION_VIDEOS = 5
_CHALLENGE = {"val": (5, 18, 36, 65, 74), "test": (92, 96, 103, 110, 111)}
_KIT = {"val": (8, 29, 50, 78), "test": (6, 51, 10, 73, 14, 74, 32, 80, 42)}

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
        parts: Mapping[str, Sequence[int]] = {
            "train": rest[:-_VALIDATION_VIDEOS],
            "val": rest[-_VALIDATION_VIDEOS:],
            "test": test,
        }
        schemes[f"fold {index + 1}"] = _named(parts)
    return schemes


def challenge_split() -> dict[str, list[str]]:
    """The split of the challenge over all 50 videos."""
    held = {n for part in _CHALLENGE.values() for n in part}
    train = [n for n in videos_of(outside_cholec80=True) if n not in held]
    return _named({"train": train, **_CHALLENGE})


def kit_split() -> dict[str, list[str]]:
    """The fixed lists of SurgBenchKit, which are not those of the data set."""
    return _named(_KIT)


def _named(parts: Mapping[str, Sequence[int]]) -> dict[str, list[str]]:
    return {part: [f"VID{n:02}" for n in numbers] for part, numbers in parts.items()}
