"""A baseline: a draw for every label. Equal seeds draw the same for the same prompt, in whatever order it is asked."""

from __future__ import annotations

from surgeval.models._baseline import Baseline, answer_by_scores, without_labels
from surgeval.models._model import Outcome, Prompt
from surgeval.models._open import ModelOptions
from surgeval.stats.draws import stream

USAGE = "random"


class RandomModel(Baseline):
    """Draws a score between 0 and 1 for every label."""

    def __init__(self, seed: int) -> None:
        super().__init__("random", seed=seed)
        self.seed = seed

    def outcome_of(self, prompt: Prompt) -> Outcome:
        """The labels of the draw."""
        if not prompt.labels:
            return without_labels(self.name, prompt)
        draws = stream(self.seed, "random model", prompt.id).random(len(prompt.labels))
        return answer_by_scores(prompt, dict(zip(prompt.labels, draws.tolist(), strict=True)))


def build(argument: str, options: ModelOptions) -> RandomModel:  # noqa: ARG001
    """The baseline with the seed of the options."""
    return RandomModel(options.seed)
