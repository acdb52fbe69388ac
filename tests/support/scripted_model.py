"""A model that answers by a function of the prompt, for tests that must know what was asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from surgvalid.models import Can, Done, Outcome, Price, Prompt
from surgvalid.schema.outcomes import Status


class ScriptedModel:
    """Answers at once, and remembers every prompt."""

    kind, revision, stored = "scripted", "1", False
    host: str | None = None
    price: Price | None = None

    def __init__(self, answer: Callable[[Prompt], str | Outcome], *, name: str = "scripted", **can: Any) -> None:
        self.name, self.answer = name, answer
        self.can = Can(**{"images": True, "boxes": "xyxy-pixels", **can})
        self.parameters: dict[str, Any] = {}
        self.asked: list[Prompt] = []

    def ask(self, prompts: Iterable[Prompt], done: Done) -> None:
        for position, prompt in enumerate(prompts):
            self.asked.append(prompt)
            given = self.answer(prompt)
            done(position, given if isinstance(given, Outcome) else Outcome(Status.ANSWERED, given))

    def close(self) -> None:
        """Nothing was started."""


def words_of(prompt: Prompt) -> str:
    """The text of a prompt."""
    return " ".join(piece for piece in prompt.parts if isinstance(piece, str))
