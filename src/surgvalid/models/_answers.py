"""Answers of models in the content store: what a model said is kept, no failure on the way to it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from surgvalid.asking.store import ANSWER, Asked, ContentStore
from surgvalid.models._model import Clip, Model, Outcome, Part, Prompt, PromptImage
from surgvalid.schema.outcomes import Status

_LOOK_EVERY_S = 1.0
_KEPT = frozenset({Status.ANSWERED, Status.REFUSED})


def key_of(model: Model, prompt: Prompt) -> str:
    """The key of an answer: model, revision, parameters, prompt, and the content of every medium.

    Names of prompts and files do not count, nor when an image was taken: the model sees neither.
    """
    content = (
        prompt.system,
        [_shown(piece) for piece in prompt.parts],
        prompt.labels,
        prompt.label_texts,
        prompt.several,
        prompt.schema,
        prompt.wants_boxes,
        prompt.max_tokens,
        prompt.seed,
    )
    return Asked(ANSWER, model.name, content, revision=model.revision, parameters=model.parameters).key


def _shown(piece: Part) -> Any:
    if isinstance(piece, PromptImage):
        return ["picture", piece.digest]
    return ["clip", piece.digest, piece.start_s, piece.end_s] if isinstance(piece, Clip) else piece


class StoredAnswers:
    """Answers that were given before, to this run or any other."""

    def __init__(self, store: ContentStore) -> None:
        self.store = store
        self._looked_at = 0.0

    def get(self, key: str) -> Outcome | None:
        """The stored answer, or None; what another run has added meanwhile is seen within a second."""
        if (now := time.monotonic()) - self._looked_at > _LOOK_EVERY_S:
            self.store.refresh()
            self._looked_at = now
        return self._stored(key)

    def claim(self, key: str) -> bool | Outcome:
        """Whether the question is this run's to ask, or the answer that another run has stored by now.

        What is claimed must be released, whatever became of it.

        Raises:
            RunInterrupted: Nothing can be written there.
        """
        if not self.store.claim(key):
            return False
        if (outcome := self._stored(key)) is None:
            return True
        self.store.release(key)
        return outcome

    def release(self, key: str) -> None:
        """Let other runs ask it, if there is no answer."""
        self.store.release(key)

    def _stored(self, key: str) -> Outcome | None:
        outcome = self.store.get(key, _outcome)
        return None if outcome is None else replace(outcome, reused=True)

    def put(self, key: str, model: Model, outcome: Outcome) -> None:
        """Keep an answer or a refusal, on disk when this returns; anything else is asked again.

        Raises:
            RunInterrupted: It cannot be written.
        """
        if outcome.status not in _KEPT:
            return
        row = {"kind": ANSWER, "asker": model.name, "revision": model.revision, "outcome": outcome.as_row()}
        self.store.put(key, row, _outcome)


def _outcome(row: Mapping[str, Any]) -> Outcome | None:
    """The outcome of a stored row, or None where it holds none."""
    stored = row.get("outcome")
    if not isinstance(stored, dict):
        return None
    try:
        return Outcome.of_row(stored)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        return None
