"""The model that names the label whose words stand in the question; it never looks at the image."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from surgvalid.models import Can, Done, ModelOptions, Outcome, Price, Prompt
from surgvalid.schema.outcomes import Status

USAGE = "echo"


class EchoModel:
    """Answers with a label that the question itself names, and with the first one where it names none."""

    name = kind = "echo"
    revision = "1"
    host: str | None = None
    price: Price | None = None
    stored = False
    can = Can(images=True)
    parameters: Mapping[str, Any] = {}

    def ask(self, prompts: Iterable[Prompt], done: Done) -> None:
        """Answer each prompt at once."""
        for position, prompt in enumerate(prompts):
            question = " ".join(part for part in prompt.parts if isinstance(part, str)).casefold()
            named = [label for label in prompt.labels if label.casefold() in question]
            done(position, Outcome(Status.ANSWERED, (named or list(prompt.labels) or [""])[0]))

    def close(self) -> None:
        """Nothing was started."""


def build(_argument: str, _options: ModelOptions) -> EchoModel:
    """The model; it takes no argument."""
    return EchoModel()
