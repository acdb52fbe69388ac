"""What is nearly the same: questions that differ by a few seconds only, and recordings that were annotated twice.

Boxes of two annotators never agree to the pixel, and a rescaled copy of a video has other pixels altogether. What
stays is when things come into view and leave it. A *landmark* is a pair of such moments that follow each other closely:
who comes or leaves, who comes or leaves next, and how many seconds lie between. Two videos are near-identical when a
good part of their landmarks is the same and lies at the same distance in time, as songs are recognised by pairs of
peaks (Wang 2003, An industrial-strength audio search algorithm).

Holes and glimpses of up to two seconds are overlooked first: they are what annotators differ in.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from surgvalid.questions.drafts import Draft
from surgvalid.schema.procedures.tracks import Procedure

SHORT_S = 2
"""Holes and glimpses up to this length are overlooked."""
FOLLOWERS = 3
"""How many of the next moments each moment is paired with."""
LEAST = 8
"""Fewer different landmarks in common prove nothing."""
SHARE = 0.45
"""Part of the different landmarks of the video with fewer of them that must be shared at one distance in time.

Two erring annotators of one recording share 57 % and more (median 83 %, 30 simulated procedures), different recordings
11 % at most (1,770 pairs); objects that come and go by the clock, as in made-up examples, a third."""
_TOO_COMMON = 50
"""A landmark that more moments share says nothing."""


class Landmarks(NamedTuple):
    """The landmarks of one video, in order of time."""

    tokens: NDArray[np.uint64]
    seconds: NDArray[np.int64]


NO_LANDMARKS = Landmarks(np.empty(0, np.uint64), np.empty(0, np.int64))


def landmarks_of(procedure: Procedure) -> Landmarks:
    """The landmarks of an annotated procedure."""
    moments = sorted(
        (second, f"{name} {'comes' if comes else 'leaves'}")
        for name in {track.class_name for track in procedure.tracks}
        for second, comes in _borders(_seen(procedure, name), procedure.duration_s)
    )
    tokens, seconds = [], []
    for at, (second, what) in enumerate(moments):
        for later, other in moments[at + 1 : at + 1 + FOLLOWERS]:
            digest = hashlib.blake2b(f"{what}|{other}|{later - second}".encode(), digest_size=8).digest()
            tokens.append(int.from_bytes(digest, "little"))
            seconds.append(second)
    return Landmarks(np.array(tokens, np.uint64), np.array(seconds, np.int64))


def near_copies(videos: Sequence[Landmarks]) -> dict[tuple[int, int], int]:
    """Pairs of videos that are near-identical, as places in the list, with how many different landmarks they share."""
    kinds = [np.unique(tokens).size for tokens, _ in videos]
    shifts: dict[tuple[int, int], dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    for one, other, shift, token in _shared(videos, kinds):
        shifts[one, other][shift].add(token)
    copies = {}
    for (one, other), shared in shifts.items():
        near = (len(set().union(*(shared.get(shift + step, ()) for step in (-1, 0, 1)))) for shift in list(shared))
        most = max(near)
        if most >= LEAST and most >= SHARE * min(kinds[one], kinds[other]):
            copies[one, other] = most
    return copies


def _shared(videos: Sequence[Landmarks], kinds: Sequence[int]) -> Iterator[tuple[int, int, int, int]]:
    """Landmarks that two videos share: both videos, the distance in time, the landmark.

    Pairs with too few to be near-identical are left out, one video after the other: any two have some in common.
    """
    tokens = np.concatenate([NO_LANDMARKS.tokens, *(marks.tokens for marks in videos)])
    seconds = np.concatenate([NO_LANDMARKS.seconds, *(marks.seconds for marks in videos)])
    owners = np.repeat(np.arange(len(videos)), [marks.tokens.size for marks in videos])
    order = np.argsort(tokens, kind="stable")
    tokens, seconds, owners = tokens[order], seconds[order], owners[order]
    _, first, group, counts = np.unique(tokens, return_index=True, return_inverse=True, return_counts=True)
    followers = np.where(counts <= _TOO_COMMON, counts, 0)[group] - (np.arange(tokens.size) - first[group]) - 1
    sizes = np.array(kinds)
    for one in range(len(videos)):
        places = np.flatnonzero((owners == one) & (followers > 0))
        before = np.repeat(places, followers[places])
        after = before + 1 + _counted(followers[places])
        enough = np.bincount(owners[after], minlength=len(videos)) >= np.maximum(
            LEAST, SHARE * np.minimum(sizes, sizes[one])
        )
        enough[one] = False
        near = enough[owners[after]]
        before, after = before[near], after[near]
        shifts = seconds[after] - seconds[before]
        for other, shift, token in zip(owners[after].tolist(), shifts.tolist(), tokens[after].tolist(), strict=True):
            yield one, other, shift, token


def _counted(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each size the numbers below it, one after the other."""
    return np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)


def _seen(procedure: Procedure, class_name: str) -> NDArray[np.bool_]:
    """Per second, whether the class is in view."""
    seen = np.zeros(procedure.duration_s, dtype=bool)
    for track in procedure.tracks:
        if track.class_name == class_name:
            seen[track.seconds[track.in_view]] = True
    return seen


def _borders(seen: NDArray[np.bool_], duration_s: int) -> list[tuple[int, bool]]:
    """When the class comes into view and leaves it, short holes and glimpses overlooked."""
    for value in (False, True):
        edges = np.flatnonzero(np.diff(seen.astype(np.int8), prepend=-1, append=-1))
        seen = seen.copy()
        for start, stop in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            if stop - start <= SHORT_S and seen[start] == value and start > 0 and stop < duration_s:
                seen[start:stop] = not value
    changes = np.flatnonzero(np.diff(seen.astype(np.int8))) + 1
    return [(int(second), bool(seen[second])) for second in changes]


NEAR_S = 10
"""Windows whose borders and quoted times lie so close are near-duplicates."""
Asked = tuple[object, ...]
"""What near-duplicates have in common."""
Times = tuple[int, ...]
"""What they differ in."""


def near_duplicates(drafts: Iterable[Draft]) -> int:
    """How many drafts ask almost the same as one before them."""
    return len(places_of_doubles(list(drafts)))


def places_of_doubles(drafts: Sequence[Draft]) -> list[int]:
    """Which of the drafts are near-duplicates: one rule for every order in which they may come."""
    alike: dict[Asked, list[int]] = defaultdict(list)
    for at, draft in enumerate(drafts):
        alike[asked_by(draft)].append(at)
    doubles = []
    for places in alike.values():
        known: list[Times] = []
        in_order = sorted(places, key=lambda at: (*drafts[at].window, drafts[at].case)) if len(places) > 1 else []
        doubles += [at for at in in_order if is_near(drafts[at], known)]
    return sorted(doubles)


def asked_by(draft: Draft) -> Asked:
    """The video, track, wording and answer of a draft."""
    return draft.video, draft.track, *draft.stem, draft.answer


def is_near(draft: Draft, known: list[Times]) -> bool:
    """Whether one of the known lies within a few seconds of the draft; if not, the draft is known from now on."""
    times = (*draft.window, *(value for name, value in sorted(draft.slots.items()) if name.endswith("_s")))
    near = any(max(abs(a - b) for a, b in zip(times, other, strict=True)) <= NEAR_S for other in known)
    if not near:
        known.append(times)
    return near
