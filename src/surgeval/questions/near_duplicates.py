"""Near-duplicates: questions of one video with the same wording and answer that differ by a few seconds only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from surgeval.questions.draft_store import AnyDraft

NEAR_S = 10
"""Windows whose borders and quoted times lie so close are near-duplicates."""
Asked = tuple[object, ...]
"""What near-duplicates have in common."""
Times = tuple[int, ...]
"""What they differ in."""


def near_duplicates(drafts: Iterable[AnyDraft]) -> int:
    """How many drafts ask almost the same as one before them."""
    return len(places_of_doubles(list(drafts)))


def places_of_doubles(drafts: Sequence[AnyDraft]) -> list[int]:
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


def asked_by(draft: AnyDraft) -> Asked:
    """The video, track, wording and answer of a draft."""
    return draft.video, draft.track, *draft.stem, draft.answer


def is_near(draft: AnyDraft, known: list[Times]) -> bool:
    """Whether one of the known lies within a few seconds of the draft; if not, the draft is known from now on."""
    times = (*draft.window, *(value for name, value in sorted(draft.slots.items()) if name.endswith("_s")))
    near = any(max(abs(a - b) for a, b in zip(times, other, strict=True)) <= NEAR_S for other in known)
    if not near:
        known.append(times)
    return near
