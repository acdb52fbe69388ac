"""Training and test videos: split by patient, with copies found and kept together.

Out of distribution is declared, never guessed: named procedure types, centres and templates appear in
the test set only. A video that shows the same frames as another (cut, renamed or copied) is found by
what its frames show, one that was annotated again or rescaled by when things come into view and leave it (see
`near_copies`), and both land on the same side.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from surgvalid.questions.near_duplicates import NO_LANDMARKS, Landmarks, near_copies
from surgvalid.schema.procedures.tracks import Procedure
from surgvalid.stats.draws import stream

SPLITS = ("train", "test")
COPY_SHARE, COPY_FRAMES = 0.2, 5
"""Two videos are copies when so many of their annotated frames show exactly the same."""


@dataclass(frozen=True, slots=True)
class VideoFacts:
    """What is needed of a video once its questions are drafted."""

    video: str
    patient: str
    procedure_type: str
    center: str
    duration_s: int
    signatures: NDArray[np.uint64]
    class_seconds: Mapping[str, int] = field(default_factory=dict)
    """For how long each class is in view."""
    masked_s: int = 0
    landmarks: Landmarks = NO_LANDMARKS
    proposed: int = 0
    """Instances that nobody has confirmed."""
    declared: bool = True
    """Whether somebody said what was annotated."""
    split: str = ""
    """Where the data set puts it; empty where that is to be dealt."""
    source: str = ""
    """The data set it is of."""


@dataclass(frozen=True, slots=True)
class Splits:
    """Which video belongs where."""

    of_video: Mapping[str, str]
    """`train` or `test`."""
    ood: Mapping[str, bool]
    copies: tuple[tuple[str, str, int], ...] = ()
    """Pairs of videos that share frames, with how many."""

    @property
    def names(self) -> tuple[str, ...]:
        """The splits that hold videos."""
        return tuple(name for name in SPLITS if name in set(self.of_video.values()))


def frame_signatures(procedure: Procedure) -> NDArray[np.uint64]:
    """One number per annotated frame that shows anything: equal frames give equal numbers.

    A frame is the set of its classes and boxes (in whole pixels), wherever in the video it lies.
    """
    total = np.zeros(procedure.duration_s, np.uint64)
    shown = np.zeros(procedure.duration_s, bool)
    for track in () if "boxes" in procedure.assumed else procedure.tracks:
        seconds, boxes = track.seconds[track.in_view], track.boxes[track.in_view]
        digest = hashlib.blake2b(track.class_name.encode(), digest_size=8).digest()
        mixed = np.full(len(seconds), int.from_bytes(digest, "little"), np.uint64)
        for column in np.rint(boxes).astype(np.int64).astype(np.uint64).T:
            mixed = _scrambled(mixed ^ column)
        np.add.at(total, seconds, mixed)
        shown[seconds] = True
    return np.unique(total[shown])


def _scrambled(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A bijective scrambling of 64 bits (the finaliser of SplitMix64)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def copies_among(videos: Sequence[VideoFacts]) -> list[tuple[str, str, int]]:
    """Pairs of videos that share a good part of their annotated frames, with how many (or how many landmarks)."""
    if not videos:
        return []
    signatures = np.concatenate([facts.signatures for facts in videos])
    owners = np.repeat(np.arange(len(videos)), [facts.signatures.size for facts in videos])
    order = np.argsort(signatures, kind="stable")
    signatures, owners = signatures[order], owners[order]
    borders = np.flatnonzero(np.diff(signatures)) + 1
    shared: Counter[tuple[int, int]] = Counter()
    for group in np.split(owners, borders) if signatures.size else []:
        if group.size > 1:
            shared.update(combinations(sorted(group.tolist()), 2))
    copies = near_copies([facts.landmarks for facts in videos]) | {
        (a, b): count
        for (a, b), count in shared.items()
        if count >= COPY_FRAMES and count >= COPY_SHARE * min(videos[a].signatures.size, videos[b].signatures.size)
    }
    return [(videos[a].video, videos[b].video, count) for (a, b), count in sorted(copies.items())]


def split_videos(
    videos: Sequence[VideoFacts],
    *,
    test_share: float,
    ood_procedures: Collection[str] = (),
    ood_centers: Collection[str] = (),
    seed: int = 0,
) -> Splits:
    """Which video is for training and which for testing.

    Patients are dealt within each procedure type, so that both sides see every type that is not held out.
    """
    copies = copies_among(videos)
    ood = {v.video: v.procedure_type in ood_procedures or v.center in ood_centers for v in videos}
    groups = _patients(videos, copies)
    held_out = [group for group in groups if any(ood[facts.video] for facts in group)]
    by_type: dict[str, list[list[VideoFacts]]] = defaultdict(list)
    for group in groups:
        if group not in held_out:
            by_type[group[0].procedure_type].append(group)
    of_video = {facts.video: "test" for group in held_out for facts in group}
    for name, members in sorted(by_type.items()):
        stated = [{facts.split for facts in group} - {""} for group in members]
        of_video |= {f.video: max(s, key=SPLITS.index) for g, s in zip(members, stated, strict=True) if s for f in g}
        dealt = [group for group, sides in zip(members, stated, strict=True) if not sides]
        order = stream(seed, "split", name).permutation(len(dealt))
        for rank, at in enumerate(order):
            side = "test" if rank < round(test_share * len(dealt)) else "train"
            of_video |= {facts.video: side for facts in dealt[at]}
    return Splits({v.video: of_video[v.video] for v in videos}, ood, tuple(copies))


def _patients(videos: Sequence[VideoFacts], copies: Sequence[tuple[str, str, int]]) -> list[list[VideoFacts]]:
    """Videos that must stay together: of one patient, or copies of each other."""
    leader = {facts.video: facts.video for facts in videos}

    def root(video: str) -> str:
        while leader[video] != video:
            video = leader[video]
        return video

    first_of: dict[str, str] = {}
    pairs = [(facts.video, first_of.setdefault(facts.patient, facts.video)) for facts in videos]
    for one, other in [*pairs, *((a, b) for a, b, _ in copies)]:
        leader[root(one)] = root(other)
    groups: dict[str, list[VideoFacts]] = defaultdict(list)
    for facts in videos:
        groups[root(facts.video)].append(facts)
    return list(groups.values())


def leaks(videos: Sequence[VideoFacts], splits: Splits) -> list[str]:
    """Every way in which the test set would be known from training; empty when there is none."""
    sides: dict[str, set[str]] = defaultdict(set)
    for facts in videos:
        sides[facts.patient].add(splits.of_video[facts.video])
    problems = [f"patient {patient!r} is in train and test" for patient, names in sides.items() if len(names) > 1]
    for one, other, count in copies_among(videos):
        if splits.of_video[one] != splits.of_video[other]:
            problems.append(
                f"videos {one!r} and {other!r} share {count} frames or landmarks and lie on different sides"
            )
    return problems
