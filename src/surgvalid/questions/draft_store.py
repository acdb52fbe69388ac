"""Where drafts wait until they can be balanced: what balancing looks at in small rows, the rest in a temporary file.

Balancing has to see all drafts of a track, and there are hundreds for every procedure. What differs between them are a
few whole numbers; wordings, answers, videos and phases repeat and are held once. Words and proofs, by far the largest,
are looked at only when a question is written.
"""

from __future__ import annotations

import pickle
import tempfile
import weakref
from array import array
from collections.abc import Hashable, Iterable, Iterator
from threading import Lock
from typing import Generic, NamedTuple, TypeVar

from surgvalid.questions.drafts import Draft
from surgvalid.questions.template import Proof, QuestionTemplate, QuestionTrack, Slots
from surgvalid.schema.procedures.spans import Window

Thing = TypeVar("Thing")
_FIRST_TIME = 6
"""Where in a row the times of the slots begin: wording, answer, video, phase and both ends of the window go before."""


class _Wording(NamedTuple):
    """What drafts have in common that ask the same at other times."""

    template: QuestionTemplate
    track: QuestionTrack
    stem: tuple[str, ...]
    slots: Slots
    times: tuple[str, ...]
    """The slots that each draft has of its own."""


class _Answer(NamedTuple):
    text: str
    group: str


class _Words(NamedTuple):
    """What is read back from the file."""

    text: str
    proof: Proof
    facts: dict[str, float]


class _Numbered(Generic[Thing]):
    """Things that repeat, each held once."""

    def __init__(self) -> None:
        self.things: list[Thing] = []
        self._places: dict[Hashable, int] = {}

    def place(self, key: Hashable, thing: Thing) -> int:
        at = self._places.setdefault(key, len(self.things))
        if at == len(self.things):
            self.things.append(thing)
        return at


class DraftStore:
    """Drafts of many procedures; each is a small row, and its words lie in a temporary file."""

    def __init__(self) -> None:
        self._wordings: _Numbered[_Wording] = _Numbered()
        self._answers: _Numbered[_Answer] = _Numbered()
        self._videos: _Numbered[str] = _Numbered()
        self._phases: _Numbered[str | None] = _Numbered()
        self._numbers, self._starts = array("i"), array("Q")
        self._cases, self._places = array("Q"), array("Q")
        self._runs: dict[tuple[str, str], list[range]] = {}
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the store)
        self._lock, self._last = Lock(), (-1, _Words("", Proof(), {}))
        weakref.finalize(self, self._file.close)

    def __len__(self) -> int:
        return len(self._starts)

    def add(self, video: str, track: str, drafts: Iterable[Draft]) -> None:
        """Keep the drafts of one video and track."""
        first = len(self)
        for draft in drafts:
            self._add(draft)
        self._runs.setdefault((video, track), []).append(range(first, len(self)))

    def of(self, video: str, track: str) -> Iterator[StoredDraft]:
        """The drafts of one video and track, in the order in which they came."""
        return (StoredDraft(self, at) for run in self._runs.get((video, track), ()) for at in run)

    def _add(self, draft: Draft) -> None:
        slots, stem, answer = draft.slots, draft.stem, _Answer(draft.answer, draft.answer_group)
        times = tuple(name for name in slots if name.endswith("_s"))
        key = (draft.track, stem, *((name, "" if name in times else repr(value)) for name, value in slots.items()))
        self._starts.append(len(self._numbers))
        self._numbers.extend(
            (
                self._wordings.place(key, _Wording(draft.template, draft.track, stem, slots, times)),
                self._answers.place(answer, answer),
                self._videos.place(draft.video, draft.video),
                self._phases.place(draft.phase, draft.phase),
                *draft.window,
                *(slots[name] for name in times),
            )
        )
        self._cases.append(int(draft.case[1:], 16))
        self._places.append(self._file.tell())
        pickle.dump(_Words(draft.text, draft.proof, draft.facts), self._file, protocol=pickle.HIGHEST_PROTOCOL)

    def wording(self, at: int) -> _Wording:
        """What the draft has in common with others."""
        return self._wordings.things[self._numbers[self._starts[at]]]

    def answer(self, at: int) -> _Answer:
        """Its answer."""
        return self._answers.things[self._numbers[self._starts[at] + 1]]

    def video(self, at: int) -> str:
        """Its video."""
        return self._videos.things[self._numbers[self._starts[at] + 2]]

    def phase(self, at: int) -> str | None:
        """Its phase."""
        return self._phases.things[self._numbers[self._starts[at] + 3]]

    def window(self, at: int) -> Window:
        """Its window."""
        start = self._starts[at]
        return Window(self._numbers[start + 4], self._numbers[start + 5])

    def times(self, at: int, count: int) -> array[int]:
        """The times of its slots."""
        first = self._starts[at] + _FIRST_TIME
        return self._numbers[first : first + count]

    def case(self, at: int) -> str:
        """The digits of its identifier."""
        return f"{self._cases[at]:016x}"

    def words(self, at: int) -> _Words:
        """Its words and proof, from the file."""
        with self._lock:
            if self._last[0] != at:
                self._file.seek(self._places[at])
                self._last = at, pickle.load(self._file)
            return self._last[1]


class StoredDraft:
    """A draft in a store: a place to look it up."""

    __slots__ = ("_answer", "_at", "_store", "_wording")

    def __init__(self, store: DraftStore, at: int) -> None:
        self._store, self._at = store, at
        self._wording, self._answer = store.wording(at), store.answer(at)

    @property
    def template(self) -> QuestionTemplate:
        """The kind of question."""
        return self._wording.template

    @property
    def track(self) -> QuestionTrack:
        """The track it is asked in."""
        return self._wording.track

    @property
    def stem(self) -> tuple[str, ...]:
        """The question without its times."""
        return self._wording.stem

    @property
    def slots(self) -> Slots:
        """What its blanks hold."""
        slots, names = self._wording.slots, self._wording.times
        if not names:
            return slots
        return {**slots, **dict(zip(names, self._store.times(self._at, len(names)), strict=True))}

    @property
    def answer(self) -> str:
        """The reference answer."""
        return self._answer.text

    @property
    def answer_group(self) -> str:
        """Answers that count as the same when answers are balanced."""
        return self._answer.group

    @property
    def video(self) -> str:
        """The video it is about."""
        return self._store.video(self._at)

    @property
    def window(self) -> Window:
        """The stretch of it."""
        return self._store.window(self._at)

    @property
    def phase(self) -> str | None:
        """The phase at the end of the window."""
        return self._store.phase(self._at)

    @property
    def case(self) -> str:
        """An identifier that follows from what is asked alone."""
        return f"{self.track.value[0]}{self._store.case(self._at)}"

    @property
    def text(self) -> str:
        """The question in words."""
        return self._store.words(self._at).text

    @property
    def proof(self) -> Proof:
        """What the answer rests on."""
        return self._store.words(self._at).proof

    @property
    def facts(self) -> dict[str, float]:
        """What makes it hard."""
        return self._store.words(self._at).facts


AnyDraft = Draft | StoredDraft
"""A draft, wherever it is held."""
