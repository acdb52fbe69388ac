"""Answers of models in the content store: what a model said is kept, no failure on the way to it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from surgeval.asking.store import ANSWER, Asked, ContentStore
from surgeval.models._model import Clip, Model, Outcome, Part, Picture, Prompt, Trouble
from surgeval.schema.outcomes import Status

_LOOK_EVERY_S = 1.0
_KEPT = frozenset({Status.ANSWERED, Status.REFUSED})


def key_of(model: Model, prompt: Prompt) -> str:
    """The key of an answer: model, revision, parameters, prompt, and the content of every medium.

    Names of prompts and files do not count, nor when a picture was taken: the model sees neither.
    """
    content = (
        prompt.system, [_shown(piece) for piece in prompt.parts], prompt.labels, prompt.label_texts, prompt.several,
        prompt.schema, prompt.wants_boxes, prompt.max_tokens, prompt.seed,
    )  # fmt: skip
    return Asked(ANSWER, model.name, content, revision=model.revision, parameters=model.parameters).key


def _shown(piece: Part) -> Any:
    if isinstance(piece, Picture):
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
        row = {"kind": ANSWER, "asker": model.name, "revision": model.revision, "outcome": _as_row(outcome)}
        self.store.put(key, row, _outcome)


def _as_row(outcome: Outcome) -> dict[str, Any]:
    fields = {
        "status": outcome.status.value, "text": outcome.text, "seconds": round(outcome.seconds, 4),
        "tokens_in": outcome.tokens_in, "tokens_out": outcome.tokens_out, "finish": outcome.finish,
        "reason": outcome.reason, "trouble": outcome.trouble, "shown_px": outcome.shown_px,
        "scores": None if outcome.scores is None else dict(outcome.scores),
    }  # fmt: skip
    return {name: value for name, value in fields.items() if value not in (None, "")}


def _outcome(row: Mapping[str, Any]) -> Outcome | None:
    """The outcome of a stored row, or None where it holds none."""
    stored = row.get("outcome")
    if not isinstance(stored, dict):
        return None
    try:
        shown, scores = stored.get("shown_px"), stored.get("scores")
        return Outcome(
            Status(stored["status"]), str(stored.get("text", "")),
            None if scores is None else {str(label): float(score) for label, score in scores.items()},
            float(stored.get("seconds", 0.0)), int(stored.get("tokens_in", 0)), int(stored.get("tokens_out", 0)),
            Trouble(stored["trouble"]) if "trouble" in stored else None, str(stored.get("reason", "")),
            str(stored.get("finish", "")), None if shown is None else (int(shown[0]), int(shown[1])),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        return None
