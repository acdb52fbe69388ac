"""A baseline: every label holds, always. F1 at the best threshold is no worse than this for any model that guesses."""

from __future__ import annotations

from surgeval.models._baseline import Baseline, answer_by_scores, without_labels
from surgeval.models._model import Outcome, Prompt
from surgeval.models._open import ModelOptions

USAGE = "all-positive"


class AllPositiveModel(Baseline):
    """Says yes to every label; where one is to be chosen, the first."""

    def outcome_of(self, prompt: Prompt) -> Outcome:
        """Every label with the score 1."""
        if not prompt.labels:
            return without_labels(self.name, prompt)
        return answer_by_scores(prompt, dict.fromkeys(prompt.labels, 1.0))


def build(argument: str, options: ModelOptions) -> AllPositiveModel:  # noqa: ARG001
    """The baseline."""
    return AllPositiveModel("all-positive")
