"""What baselines share: nobody is asked, nothing leaves the machine, and nothing is worth keeping."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from surgeval.models._model import FREE, Can, Done, Outcome, Price, Prompt, Trouble
from surgeval.schema.outcomes import Status

YES = 0.5
"""The share from which on a label is held to be there."""


class Baseline:
    """A model that answers without looking: a kind says how."""

    kind = "baseline"
    revision = ""
    host: str | None = None
    price: Price | None = FREE
    stored = False
    can = Can(images=True, video=True, spans=True, boxes="xyxy-pixels", scores=True, seeds=True, schema=True)

    def __init__(self, name: str, **parameters: Any) -> None:
        self.name = name
        self.kind = name.partition(":")[0]
        self.parameters: Mapping[str, Any] = parameters

    def ask(self, prompts: Iterable[Prompt], done: Done) -> None:
        """Answer each prompt at once."""
        for position, prompt in enumerate(prompts):
            done(position, self.outcome_of(prompt))

    def outcome_of(self, prompt: Prompt) -> Outcome:
        """What it answers."""
        raise NotImplementedError

    def close(self) -> None:
        """Nothing was started."""


def answer_by_scores(prompt: Prompt, scores: Mapping[str, float]) -> Outcome:
    """The labels that the scores hold for likely: the best one, or every one from a half on where several may hold."""
    if prompt.several:
        text = json.dumps({label: scores[label] >= YES for label in prompt.labels})
    else:
        text = max(prompt.labels, key=lambda label: scores[label])
    return Outcome(Status.ANSWERED, text, dict(scores))


def without_labels(name: str, prompt: Prompt) -> Outcome:
    """The outcome of a baseline that needs labels, or priors, where the prompt has none."""
    reason = f"{name} needs labels to choose from, and [{prompt.id}] has none"
    return Outcome(Status.FAILED, trouble=Trouble.PERMANENT, reason=reason)
