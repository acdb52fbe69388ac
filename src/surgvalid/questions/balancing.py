"""Choosing among drafts, and cutting until the text of a question does not give its answer away.

Templates take turns, in random order. Within a template the rarest answer goes first, and of it the rarest
wording, so that rare events are kept and `yes` is as frequent as `no`; videos alternate. Near-duplicates are passed
over, but for a declared share. What was chosen is then cut.

The most frequent answer of each template is cut to a declared share, and a template with one possible answer is
dropped: it would ask nothing. The same holds for each wording, its times apart, that is asked more than once: if
`Is a sponge visible?` were always answered with yes, nobody would have to look. Of the questions that an input-blind
predictor gets right (see `blind_guesses`), no more than a stated share of a template stays, nor of all templates
together; a template of which nothing else is left is withheld. Of near-duplicates a declared share may stay.

One cut can undo another, so there are rounds until nothing is cut. With many procedures there are hundreds of them, and
most cut two questions of one template: a template that a round left as it was is not looked at again.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from surgvalid.questions.blind_guesses import WHOLE_LIMIT, limit_for
from surgvalid.questions.drafts import Draft
from surgvalid.questions.near_duplicates import Asked, Times, asked_by, is_near, places_of_doubles
from surgvalid.questions.template import Draw


@dataclass(slots=True)
class Selection:
    """What was chosen, and what was left out and why."""

    drafts: list[Draft] = field(default_factory=list)
    near_duplicates: int = 0
    """Near-duplicates among the chosen."""
    skipped_duplicates: int = 0
    cut_for_balance: Counter[str] = field(default_factory=Counter)
    single_answer: dict[str, str] = field(default_factory=dict)
    """Templates that were dropped, and the only answer they had."""
    guessable: Counter[str] = field(default_factory=Counter)
    """By template, how many were cut because an input-blind predictor gets too many right."""


Blind = Callable[[Sequence[Draft]], Mapping[str, Sequence[bool]]]
"""By input-blind predictor, which drafts of one template it gets right."""


def balance(
    result: Selection,
    *,
    most_common_share: float,
    duplicate_share: float,
    blind: Blind | None = None,
    blind_share: float = 1.0,
) -> None:
    """Cut what was chosen, and note what was cut and why.

    Args:
        result: What was chosen.
        most_common_share: Largest share of one answer in a template or wording.
        duplicate_share: Largest share of near-duplicates.
        blind: Tells which drafts of a template input-blind predictors get right.
        blind_share: What they may get right (see `limit_for`).
    """
    kept, size = [_Kept(group) for group in by_template(result.drafts)], -1
    while size != (left := sum(len(group.drafts) for group in kept)):
        size = left
        kept = [group for group in kept if _is_cut(group, most_common_share, result)]
        if blind is not None:
            kept = [group for group in kept if _is_left(group, blind, blind_share, result)]
            _hold_down(kept, result)
        _thin(kept, duplicate_share, result)
    result.drafts = [draft for group in kept for draft in group.drafts]


def by_template(drafts: Iterable[Draft]) -> list[list[Draft]]:
    """The drafts of each template, in the order in which they come."""
    groups: dict[str, list[Draft]] = defaultdict(list)
    for draft in drafts:
        groups[draft.template.name].append(draft)
    return list(groups.values())


def evened(drafts: Iterable[Draft], share: float) -> list[Draft]:
    """The drafts of a template, less those that make one answer of a wording too frequent."""
    wordings: dict[tuple[str, ...], list[Draft]] = defaultdict(list)
    for draft in drafts:
        wordings[draft.stem].append(draft)
    return [draft for wording in wordings.values() for draft in _without_surplus(wording, share)]


def asks_something(group: list[Draft], result: Selection) -> bool:
    """Whether the drafts of a template have more than one answer; if not, that is noted."""
    answers = {draft.answer_group for draft in group}
    if len(answers) == 1:
        result.single_answer[group[0].template.name] = answers.pop()
    return len(answers) > 1


def _without_surplus(group: list[Draft], share: float) -> list[Draft]:
    """The group with its most frequent answer cut to the share; one draft at least is left of it."""
    top, most = Counter(draft.answer_group for draft in group).most_common(1)[0]
    allowed = max(1, int((len(group) - most) * share / (1 - share)))
    same = [draft for draft in group if draft.answer_group == top][:allowed]
    return same + [draft for draft in group if draft.answer_group != top]


class _Kept:
    """The chosen drafts of one template. What follows from them is found out again only when they have changed."""

    __slots__ = ("_doubles", "drafts", "guessed", "is_even")

    def __init__(self, drafts: list[Draft]) -> None:
        self.drafts = drafts
        self.is_even = False
        """Whether cutting has left them as they were, in this order."""
        self.guessed: Sequence[bool] | None = None
        """Which of them the best predictor gets right, where they keep to the limit."""
        self._doubles: list[int] | None = None

    @property
    def name(self) -> str:
        """The template."""
        return self.drafts[0].template.name

    @property
    def doubles(self) -> list[int]:
        """Where the near-duplicates are among them; questions of different templates are none."""
        if self._doubles is None:
            self._doubles = places_of_doubles(self.drafts)
        return self._doubles

    def replace(self, drafts: list[Draft]) -> None:
        """Go on with these drafts; if they are others, or in another order, nothing is known of them."""
        if drafts != self.drafts:
            self.drafts, self.is_even, self._doubles, self.guessed = drafts, False, None, None

    def without_guessed(self, surplus: int, result: Selection) -> None:
        """Drop so many of those that the best predictor gets right, the last first."""
        right = [at for at, hit in enumerate(self.guessed or ()) if hit]
        drop = set(right[len(right) - surplus :])
        result.guessable[self.name] += len(drop)
        self.replace([draft for at, draft in enumerate(self.drafts) if at not in drop])


def _is_cut(group: _Kept, share: float, result: Selection) -> bool:
    """Cut the most frequent answer of every wording and of the template; False if one possible answer is left."""
    if group.is_even:
        return True
    even = evened(group.drafts, share)
    if not asks_something(even, result):
        return False
    left = _without_surplus(even, share)
    result.cut_for_balance[group.name] += len(group.drafts) - len(left)
    group.is_even = True
    group.replace(left)
    return True


def _is_left(group: _Kept, blind: Blind, blind_share: float, result: Selection) -> bool:
    """Cut questions that a predictor gets right until no more than the limit are; False if none is left."""
    while group.drafts and group.guessed is None:
        group.guessed = max(blind(group.drafts).values(), key=sum, default=())
        if surplus := _surplus(sum(group.guessed), len(group.guessed), limit_for(group.drafts, blind_share)):
            group.without_guessed(surplus, result)
    return bool(group.drafts)


def _surplus(right: int, size: int, limit: float) -> int:
    """How many right ones have to go so that they are no more than a share of what is left."""
    return max(right - int(limit / (1 - limit) * (size - right)), 0) if right > limit * size else 0


def _hold_down(groups: Sequence[_Kept], result: Selection) -> None:
    """Cut what the best predictors get right, of every template the same part, until it is `WHOLE_LIMIT` of all."""
    right = {group: sum(group.guessed or ()) for group in groups}
    total = sum(right.values())
    left = surplus = _surplus(total, sum(len(group.drafts) for group in groups), WHOLE_LIMIT)
    for group in sorted(groups, key=lambda one: -right[one] / len(one.drafts)):
        if drop := min(math.ceil(surplus * right[group] / max(total, 1)), left, len(group.drafts) - 1):
            group.without_guessed(drop, result)
            left -= drop


def _thin(groups: Sequence[_Kept], share: float, result: Selection) -> None:
    """Drop near-duplicates, the last of the last templates first, until they are at most the declared share.

    That makes no other draft one, nor frees it: near-duplicates are told by drafts that are none.
    """
    size, doubles = sum(len(group.drafts) for group in groups), sum(len(group.doubles) for group in groups)
    drop = 0
    while (surplus := doubles - drop - int(share * (size - drop))) > 0:
        drop += surplus
    result.skipped_duplicates += drop
    result.near_duplicates = doubles - drop
    for group in reversed(groups):
        last = set(group.doubles[max(len(group.doubles) - drop, 0) :])
        drop -= len(last)
        group.replace([draft for at, draft in enumerate(group.drafts) if at not in last] if last else group.drafts)


AT_A_TIME = 2
"""Drafts a template hands out per turn: two, so that it has two answers even when little is wanted."""


def select(
    drafts: Iterable[Draft],
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
        blind: Tells which drafts of a template input-blind predictors get right.
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


def _shuffled(group: list[Draft], share: float, draw: Draw, result: Selection) -> list[Draft]:
    """The drafts of a template in random order, less those that make one answer of a wording too frequent."""
    left = evened((group[at] for at in draw.permutation(len(group))), share)
    result.cut_for_balance[group[0].template.name] += len(group) - len(left)
    return left


class _Stem:
    """What is left of one wording with one answer, videos in turn from the end."""

    __slots__ = ("left", "words")

    def __init__(self, words: tuple[str, ...], drafts: list[Draft]) -> None:
        self.words, self.left = words, _videos_in_turn(drafts)[::-1]


class _Turns:
    """The drafts of one template, handed out rarest answer and wording first, videos in turn."""

    def __init__(self, drafts: list[Draft], draw: Draw) -> None:
        groups: dict[str, dict[tuple[str, ...], list[Draft]]] = defaultdict(lambda: defaultdict(list))
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

    def take(self) -> Draft | None:
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

    def _of(self, answer: str) -> Draft:
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

    def count(self, draft: Draft) -> None:
        """Note that the draft was chosen."""
        self.taken[*draft.stem, draft.answer_group] += 1
        self.answers[draft.answer_group] += 1


def _videos_in_turn(drafts: list[Draft]) -> list[Draft]:
    turn: Counter[str] = Counter()
    ranked = []
    for at, draft in enumerate(drafts):
        ranked.append((turn[draft.video], at))
        turn[draft.video] += 1
    return [drafts[at] for _, at in sorted(ranked)]


def _is_welcome(draft: Draft, known: dict[Asked, list[Times]], result: Selection, share: float) -> bool:
    if not is_near(draft, known[asked_by(draft)]):
        return True
    if result.near_duplicates + 1 <= share * (len(result.drafts) + 1):
        result.near_duplicates += 1
        return True
    return False
