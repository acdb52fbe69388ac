"""Choosing among drafts, so that all templates, answers, wordings and videos have their turn.

Templates take turns, in random order. Within a template the rarest answer goes first, and of it the rarest
wording, so that rare events are kept and `yes` is as frequent as `no`; videos alternate. Near-duplicates are passed
over, but for a declared share. What was chosen is then cut (see `balancing`).
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict, deque
from collections.abc import Iterable

from surgeval.questions.balancing import Blind, Selection, asks_something, balance, by_template, evened
from surgeval.questions.draft_store import AnyDraft
from surgeval.questions.near_duplicates import Asked, Times, asked_by, is_near
from surgeval.questions.template import Draw

AT_A_TIME = 2
"""Drafts a template hands out per turn: two, so that it has two answers even when little is wanted."""


def select(
    drafts: Iterable[AnyDraft],
    wanted: int,
    draw: Draw,
    *,
    most_common_share: float,
    duplicate_share: float,
    blind: Blind | None = None,
    blind_share: float = 1.0,
) -> Selection:
    """About `wanted` drafts, balanced.

    Args:
        drafts: What there is to choose from.
        wanted: How many.
        draw: The stream of randomness.
        most_common_share: Largest share of one answer in a template or wording.
        duplicate_share: Largest share of near-duplicates.
        blind: Tells which drafts of a template predictors get right that never look.
        blind_share: What they may get right (see `limit_for`).
    """
    result = Selection()
    groups = [_shuffled(group, most_common_share, draw, result) for group in by_template(drafts)]
    turns = deque(
        _Turns(groups[at], draw) for at in draw.permutation(len(groups)) if asks_something(groups[at], result)
    )
    known: dict[Asked, list[Times]] = defaultdict(list)
    cases: set[str] = set()
    while turns and len(result.drafts) < wanted:
        turn = turns.popleft()
        for _ in range(AT_A_TIME):
            draft = turn.take()
            if draft is None:
                break
            if draft.case in cases or not _is_welcome(draft, known, result, duplicate_share):
                result.skipped_duplicates += 1
                continue
            turn.count(draft)
            cases.add(draft.case)
            result.drafts.append(draft)
        else:
            turns.append(turn)
    balance(
        result,
        most_common_share=most_common_share,
        duplicate_share=duplicate_share,
        blind=blind,
        blind_share=blind_share,
    )
    return result


def _shuffled(group: list[AnyDraft], share: float, draw: Draw, result: Selection) -> list[AnyDraft]:
    """The drafts of a template in random order, less those that make one answer of a wording too frequent."""
    left = evened((group[at] for at in draw.permutation(len(group))), share)
    result.cut_for_balance[group[0].template.name] += len(group) - len(left)
    return left


class _Stem:
    """What is left of one wording with one answer, videos in turn from the end."""

    __slots__ = ("left", "words")

    def __init__(self, words: tuple[str, ...], drafts: list[AnyDraft]) -> None:
        self.words, self.left = words, _videos_in_turn(drafts)[::-1]


class _Turns:
    """The drafts of one template, handed out rarest answer and wording first, videos in turn."""

    def __init__(self, drafts: list[AnyDraft], draw: Draw) -> None:
        groups: dict[str, dict[tuple[str, ...], list[AnyDraft]]] = defaultdict(lambda: defaultdict(list))
        for at in draw.permutation(len(drafts)):
            groups[drafts[at].answer_group][drafts[at].stem].append(drafts[at])
        self.left = {a: [_Stem(s, g) for s, g in stems.items()] for a, stems in groups.items()}
        self.taken: Counter[tuple[str, ...]] = Counter()
        self.answers: Counter[str] = Counter()
        self.heap = [(0, len(stems), rank, answer) for rank, (answer, stems) in enumerate(self.left.items())]
        heapq.heapify(self.heap)
        self.stems = {a: [(0, len(s.left), at) for at, s in enumerate(stems)] for a, stems in self.left.items()}
        for stems in self.stems.values():
            heapq.heapify(stems)

    def take(self) -> AnyDraft | None:
        """The next draft, or None when all are gone."""
        while self.heap:
            known, size, rank, answer = heapq.heappop(self.heap)
            if known != self.answers[answer]:
                heapq.heappush(self.heap, (self.answers[answer], size, rank, answer))
                continue
            draft = self._of(answer)
            if self.stems[answer]:
                heapq.heappush(self.heap, (known, size, rank, answer))
            return draft
        return None

    def _of(self, answer: str) -> AnyDraft:
        """The next draft with that answer: of the wording that was taken least and has least left."""
        while True:
            taken, _, at = self.stems[answer][0]
            stem = self.left[answer][at]
            if taken == (now := self.taken[*stem.words, answer]):
                break
            heapq.heapreplace(self.stems[answer], (now, len(stem.left), at))
        draft = stem.left.pop()
        if stem.left:
            heapq.heapreplace(self.stems[answer], (taken, len(stem.left), at))
        else:
            heapq.heappop(self.stems[answer])
        return draft

    def count(self, draft: AnyDraft) -> None:
        """Note that the draft was chosen."""
        self.taken[*draft.stem, draft.answer_group] += 1
        self.answers[draft.answer_group] += 1


def _videos_in_turn(drafts: list[AnyDraft]) -> list[AnyDraft]:
    turn: Counter[str] = Counter()
    ranked = []
    for at, draft in enumerate(drafts):
        ranked.append((turn[draft.video], at))
        turn[draft.video] += 1
    return [drafts[at] for _, at in sorted(ranked)]


def _is_welcome(draft: AnyDraft, known: dict[Asked, list[Times]], result: Selection, share: float) -> bool:
    if not is_near(draft, known[asked_by(draft)]):
        return True
    if result.near_duplicates + 1 <= share * (len(result.drafts) + 1):
        result.near_duplicates += 1
        return True
    return False
