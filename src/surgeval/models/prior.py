"""A baseline: what was most frequent where examples may be taken from, without looking at what is shown.

Shares of labels come with the prompt (from the training split, never from what is scored); they are also its scores.
Where there are no labels, it gives the typical answer that the prompt carries.
"""

from __future__ import annotations

from surgeval.models._baseline import Baseline, answer_by_scores, without_labels
from surgeval.models._model import Outcome, Prompt
from surgeval.models._open import ModelOptions
from surgeval.schema.outcomes import Status

USAGE = "prior"


class PriorModel(Baseline):
    """Answers from shares alone."""

    def outcome_of(self, prompt: Prompt) -> Outcome:
        """The likeliest labels, or the typical answer."""
        if prompt.labels and prompt.priors:
            return answer_by_scores(prompt, {label: prompt.priors.get(label, 0.0) for label in prompt.labels})
        if prompt.typical:
            return Outcome(Status.ANSWERED, prompt.typical)
        return without_labels(self.name, prompt)


def build(argument: str, options: ModelOptions) -> PriorModel:  # noqa: ARG001
    """The baseline."""
    return PriorModel("prior")
