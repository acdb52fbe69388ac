"""Choosing among drafts so that the text of a question does not give its answer away.

Templates take turns, in random order. Within a template the rarest answer goes first, and of it the rarest
wording, so that rare events are kept and `yes` is as frequent as `no`; videos alternate. Afterwards the
most frequent answer of each template is cut to a declared share, and a template with one possible answer
is dropped: it would ask nothing. The same holds for each wording, its times apart, that is asked more than
once: if `Is a sponge visible?` were always answered with yes, nobody would have to look. Questions that
differ by a few seconds only count as near-duplicates, of which a declared share may stay. Of the questions that a
predictor gets right which never looks (see `blind_guesses`), no more than a stated share of a template stays; a
template of which nothing else is left is withheld.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from surgeval.questions.blind_guesses import limit_for
from surgeval.questions.draft_store import AnyDraft
from surgeval.questions.template import Draw

NEAR_S = 10
"""Windows whose borders and quoted times lie so close are near-duplicates."""
_ROUNDS = 8
"""How often predictors are fitted anew to what is left of a template."""
AT_A_TIME = 2
"""Drafts a template hands out per turn: two, so that it has two answers even when little is wanted."""


@dataclass(slots=True)
class Selection:
    """What was chosen, and what was left out and why."""

    drafts: list[AnyDraft] = field(default_factory=list)
    near_duplicates: int = 0
    """Near-duplicates among the chosen."""
    skipped_duplicates: int = 0
    cut_for_balance: Counter[str] = field(default_factory=Counter)
    single_answer: dict[str, str] = field(default_factory=dict)
    """Templates that were dropped, and the only answer they had."""
    guessable: Counter[str] = field(default_factory=Counter)
    """By template, how many were cut because somebody who never looks gets too many right."""


Blind = Callable[[Sequence[AnyDraft]], Mapping[str, Sequence[bool]]]
"""By predictor that never looks, which drafts of one template it gets right."""


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
    """About `wanted` drafts, balanced as told above.

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
    groups = [_evened(group, most_common_share, draw, result) for group in _by_template(drafts)]
    turns = deque(_Turns(groups[at], draw) for at in draw.permutation(len(groups)) if _asks(groups[at], result))
    known: dict[tuple[object, ...], list[tuple[int, ...]]] = defaultdict(list)
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
    size, settled = -1, dict[str, int]()
    while size != len(result.drafts):
        size = len(result.drafts)
        _cut(result, most_common_share)
        if blind is not None:
            _less_guessable(result, blind, most_common_share, blind_share, settled)
        _thin(result, duplicate_share)
    return result


def near_duplicates(drafts: Iterable[AnyDraft]) -> int:
    """How many drafts ask almost the same as one before them."""
    return len(_doubles(list(drafts)))


def _doubles(drafts: Sequence[AnyDraft]) -> list[int]:
    """Which of the drafts are near-duplicates: one rule for every order in which they may come."""
    videos: dict[str, list[int]] = defaultdict(list)
    for at, draft in enumerate(drafts):
        videos[draft.video].append(at)
    doubles = []
    for places in videos.values():
        known: dict[tuple[object, ...], list[tuple[int, ...]]] = defaultdict(list)
        order = sorted(places, key=lambda at: (*drafts[at].window, drafts[at].case))
        doubles += [at for at in order if _seen_before(drafts[at], known)]
    return doubles


def _evened(group: list[AnyDraft], share: float, draw: Draw, result: Selection) -> list[AnyDraft]:
    """The drafts of a template in random order, less those that make one answer of a wording too frequent."""
    shuffled = [group[at] for at in draw.permutation(len(group))]
    left = [draft for wording in _by_wording(shuffled) for draft in _without_surplus(wording, share)]
    result.cut_for_balance[group[0].template.name] += len(group) - len(left)
    return left


def _by_wording(drafts: Iterable[AnyDraft]) -> list[list[AnyDraft]]:
    groups: dict[tuple[str, ...], list[AnyDraft]] = defaultdict(list)
    for draft in drafts:
        groups[draft.stem].append(draft)
    return list(groups.values())


def _without_surplus(group: list[AnyDraft], share: float) -> list[AnyDraft]:
    """The group with its most frequent answer cut to the share; one draft at least is left of it."""
    top, most = Counter(draft.answer_group for draft in group).most_common(1)[0]
    allowed = max(1, int((len(group) - most) * share / (1 - share)))
    same = [draft for draft in group if draft.answer_group == top][:allowed]
    return same + [draft for draft in group if draft.answer_group != top]


def _asks(group: list[AnyDraft], result: Selection) -> bool:
    """Whether the drafts of a template have more than one answer; if not, that is noted."""
    answers = {draft.answer_group for draft in group}
    if len(answers) == 1:
        result.single_answer[group[0].template.name] = answers.pop()
    return len(answers) > 1


def _by_template(drafts: Iterable[AnyDraft]) -> list[list[AnyDraft]]:
    groups: dict[str, list[AnyDraft]] = defaultdict(list)
    for draft in drafts:
        groups[draft.template.name].append(draft)
    return list(groups.values())


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


def _is_welcome(
    draft: AnyDraft, known: dict[tuple[object, ...], list[tuple[int, ...]]], result: Selection, share: float
) -> bool:
    if not _seen_before(draft, known):
        return True
    if result.near_duplicates + 1 <= share * (len(result.drafts) + 1):
        result.near_duplicates += 1
        return True
    return False


def _seen_before(draft: AnyDraft, known: dict[tuple[object, ...], list[tuple[int, ...]]]) -> bool:
    """Whether a question of the same video, wording and answer lies within a few seconds; it is noted either way."""
    key = (draft.video, draft.track, *draft.stem, draft.answer)
    times = (*draft.window, *(value for name, value in sorted(draft.slots.items()) if name.endswith("_s")))
    near = any(max(abs(a - b) for a, b in zip(times, other, strict=True)) <= NEAR_S for other in known[key])
    if not near:
        known[key].append(times)
    return near


def _thin(result: Selection, share: float) -> None:
    """Drop near-duplicates, those chosen last first, until they are at most the declared share."""
    while True:
        doubles = sorted(_doubles(result.drafts))
        surplus = len(doubles) - int(share * len(result.drafts))
        if surplus <= 0:
            break
        for at in reversed(doubles[-surplus:]):
            del result.drafts[at]
            result.skipped_duplicates += 1
    result.near_duplicates = len(doubles)


def _less_guessable(
    result: Selection, blind: Blind, most_common_share: float, blind_share: float, settled: dict[str, int]
) -> None:
    """Cut questions that a predictor gets right until no more than the limit of each template are.

    Templates that kept to it are `settled` for as long as nothing else is cut of them: drafts only become fewer.
    """
    keep: list[AnyDraft] = []
    for group in _by_template(result.drafts):
        limit = limit_for(group[0].template.format, most_common_share=most_common_share, blind_share=blind_share)
        left, name = group, group[0].template.name
        for _ in range(_ROUNDS if settled.get(name) != len(group) else 0):
            worst = max(blind(left).values(), key=sum, default=())
            if sum(worst) <= limit * len(worst):
                settled[name] = len(left)
                break
            surplus = sum(worst) - int(limit / (1 - limit) * (len(worst) - sum(worst)))
            right = [at for at, hit in enumerate(worst) if hit]
            drop = set(right[-surplus:])
            left = [draft for at, draft in enumerate(left) if at not in drop]
        result.guessable[name] += len(group) - len(left)
        keep += left
    result.drafts = keep


def _cut(result: Selection, share: float) -> None:
    """Cut the most frequent answer of every wording and template, and drop templates with one answer."""
    keep: list[AnyDraft] = []
    for group in _by_template(result.drafts):
        evened = [draft for wording in _by_wording(group) for draft in _without_surplus(wording, share)]
        if not _asks(evened, result):
            continue
        left = _without_surplus(evened, share)
        result.cut_for_balance[group[0].template.name] += len(group) - len(left)
        keep += left
    result.drafts = keep
