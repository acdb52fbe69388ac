"""A model that is shown less: everything else is that of the model behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from surgeval.models._model import Can, Done, Model, Prompt


class WrappedModel:
    """A model whose prompts are changed on their way.

    Args:
        kind: What it is called.
        model: Who answers.
        changed: The prompt that it is shown.
        can: What prompts may ask for, before they are changed.
    """

    def __init__(self, kind: str, model: Model, changed: Callable[[Prompt], Prompt], **can: Any) -> None:
        self.kind, self.model, self.changed = kind, model, changed
        self.name, self.revision = f"{kind}:{model.name}", model.revision
        self.host, self.price, self.stored = model.host, model.price, model.stored
        self.parameters: Mapping[str, Any] = model.parameters
        self.can: Can = replace(model.can, **can)

    def ask(self, prompts: Iterable[Prompt], done: Done) -> None:
        """Ask the model behind it."""
        self.model.ask(map(self.changed, prompts), done)

    def close(self) -> None:
        """Close the model behind it."""
        self.model.close()
