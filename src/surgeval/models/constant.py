"""A baseline: the same answer to everything. What it scores, anybody can."""

from __future__ import annotations

from surgeval.models._baseline import Baseline
from surgeval.models._model import Outcome, Prompt
from surgeval.models._open import ModelOptions
from surgeval.schema.outcomes import Status

USAGE = "constant:ANSWER"


class ConstantModel(Baseline):
    """Answers with one text, whatever is asked."""

    def __init__(self, text: str) -> None:
        super().__init__(f"constant:{text}")
        self.text = text

    def outcome_of(self, prompt: Prompt) -> Outcome:
        """That text; where it is a label, that label alone has a score."""
        is_label = self.text in prompt.labels
        scores = {label: float(label == self.text) for label in prompt.labels} if is_label else None
        return Outcome(Status.ANSWERED, self.text, scores)


def build(argument: str, options: ModelOptions) -> ConstantModel:  # noqa: ARG001
    """The model that always says `argument`."""
    return ConstantModel(argument)
