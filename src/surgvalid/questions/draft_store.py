"""Where drafts wait until they can be balanced: what balancing looks at in memory, the rest in a temporary file.

Balancing has to see all drafts of a track, and there are hundreds for every procedure. Wordings and answers repeat and
are held once. Words and proofs, by far the largest, are looked at only when a question is written.
"""

from __future__ import annotations

import os
import pickle
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, NamedTuple, TypeVar

from surgvalid.questions.drafts import Draft
from surgvalid.questions.template import Proof, QuestionTemplate, QuestionTrack, Slots
from surgvalid.schema.procedures.spans import Window

_Thing = TypeVar("_Thing")


class _Words(NamedTuple):
    """What is read back from the file."""

    text: str
    held_out: str
    proof: Proof
    facts: dict[str, float]


class DraftStore:
    """Drafts of many procedures, without their words, which lie in a temporary file."""

    def __init__(self) -> None:
        self._drafts: dict[tuple[str, str], list[StoredDraft]] = {}
        self._same: dict[Any, Any] = {}
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the store)
        self._lock, self._last = Lock(), (-1, _Words("", "", Proof(), {}))
        weakref.finalize(self, self._file.close)

    def __len__(self) -> int:
        return sum(map(len, self._drafts.values()))

    def add(self, video: str, track: str, drafts: Iterable[Draft]) -> None:
        """Keep the drafts of one video and track."""
        self._drafts.setdefault((video, track), []).extend(map(self._stored, drafts))

    def of(self, video: str, track: str) -> Iterator[StoredDraft]:
        """The drafts of one video and track, in the order in which they came."""
        yield from self._drafts.get((video, track), ())

    def _stored(self, draft: Draft) -> StoredDraft:
        with self._lock:
            at = self._file.seek(0, os.SEEK_END)
            words = _Words(draft.text, draft.held_out, draft.proof, draft.facts)
            pickle.dump(words, self._file, protocol=pickle.HIGHEST_PROTOCOL)
        return StoredDraft(
            draft.template,
            draft.track,
            draft.video,
            draft.window,
            draft.slots,
            draft.phase,
            draft.case,
            self._once(draft.stem),
            self._once(draft.answer),
            self._once(draft.answer_group),
            self,
            at,
        )

    def _once(self, thing: _Thing) -> _Thing:
        """The thing, or the equal one that was there before."""
        kept: _Thing = self._same.setdefault(thing, thing)
        return kept

    def words(self, at: int) -> _Words:
        """Words and proof of a draft, from the file."""
        with self._lock:
            if self._last[0] != at:
                self._file.seek(at)
                self._last = at, pickle.load(self._file)
            return self._last[1]


@dataclass(frozen=True, slots=True, eq=False)
class StoredDraft:
    """A draft in a store; what a `Draft` has under the same names."""

    template: QuestionTemplate
    track: QuestionTrack
    video: str
    window: Window
    slots: Slots
    phase: str | None
    case: str
    stem: tuple[str, ...]
    answer: str
    answer_group: str
    _store: DraftStore = field(repr=False)
    _at: int = field(repr=False)

    @property
    def text(self) -> str:
        """The question in words."""
        return self._store.words(self._at).text

    @property
    def held_out(self) -> str:
        """The same in the phrasing that is held out."""
        return self._store.words(self._at).held_out

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
