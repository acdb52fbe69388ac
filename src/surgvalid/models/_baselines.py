"""Trivial baselines: what anybody scores without looking, or by looking at less.

Nobody new is asked, nothing more leaves the machine, and nothing is worth keeping. Each is a kind of model like those
that have a file of their own; they share this one because each is a few lines.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from surgvalid.models._model import FREE, Can, Done, Model, ModelTrouble, Outcome, Price, Prompt, PromptImage
from surgvalid.models._open import ModelOptions, open_model
from surgvalid.schema.outcomes import Status
from surgvalid.stats.draws import stream

YES = 0.5
"""The share from which on a label is held to be there."""
Answer = Callable[[Prompt], Outcome]


class Baseline:
    """A model that answers without looking.

    Args:
        name: Its specification.
        answer: What it says to a prompt.
        **parameters: What else decides its answers.
    """

    revision = ""
    host: str | None = None
    price: Price | None = FREE
    stored = False
    can = Can(images=True, video=True, spans=True, boxes="xyxy-pixels", scores=True, seeds=True, schema=True)

    def __init__(self, name: str, answer: Answer, **parameters: Any) -> None:
        self.name, self.answer = name, answer
        self.kind = name.partition(":")[0]
        self.parameters: Mapping[str, Any] = parameters

    def ask(self, prompts: Iterable[Prompt], done: Done) -> None:
        """Answer each prompt at once."""
        for position, prompt in enumerate(prompts):
            done(position, self.answer(prompt))

    def close(self) -> None:
        """Nothing was started."""


class ShownLess:
    """A model whose prompts are changed on their way; everything else is that of the model behind it.

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


def _by_scores(prompt: Prompt, scores: Mapping[str, float]) -> Outcome:
    """The labels that the scores hold for likely: the best one, or every one from a half on where several may hold."""
    if not prompt.labels:
        reason = f"the baseline needs labels to choose from, and [{prompt.id}] has none"
        return Outcome(Status.FAILED, trouble=ModelTrouble.PERMANENT, reason=reason)
    if prompt.several:
        text = json.dumps({label: scores[label] >= YES for label in prompt.labels})
    else:
        text = max(prompt.labels, key=lambda label: scores[label])
    return Outcome(Status.ANSWERED, text, dict(scores))


def _all_positive(argument: str, options: ModelOptions) -> Baseline:  # noqa: ARG001
    """Every label holds, always. F1 at the best threshold is no worse than this for any model that guesses."""
    return Baseline("all-positive", lambda prompt: _by_scores(prompt, dict.fromkeys(prompt.labels, 1.0)))


def _blind(argument: str, options: ModelOptions) -> ShownLess:
    """A model that is asked without its images, so no media go anywhere. What it scores, the questions give away."""

    def text_alone(prompt: Prompt) -> Prompt:
        return replace(prompt, parts=tuple(piece for piece in prompt.parts if isinstance(piece, str)))

    everything = {"images": True, "video": True, "spans": True, "most_frames": None}
    model = ShownLess("blind", open_model(argument, options), text_alone, **everything)
    model.host = None
    return model


def _constant(argument: str, options: ModelOptions) -> Baseline:  # noqa: ARG001
    """The same answer to everything; where it is a label, that label alone has a score."""

    def answer(prompt: Prompt) -> Outcome:
        is_label = argument in prompt.labels
        scores = {label: float(label == argument) for label in prompt.labels} if is_label else None
        return Outcome(Status.ANSWERED, argument, scores)

    return Baseline(f"constant:{argument}", answer)


def _middle_frame(argument: str, options: ModelOptions) -> ShownLess:
    """A model that sees one image, the middle one. What it lacks against all of them is what time adds."""

    def middle_alone(prompt: Prompt) -> Prompt:
        pictures = [position for position, piece in enumerate(prompt.parts) if isinstance(piece, PromptImage)]
        hidden = set(pictures) - set(pictures[(len(pictures) - 1) // 2 :][:1])
        shown = (piece for position, piece in enumerate(prompt.parts) if position not in hidden)
        return replace(prompt, parts=tuple(shown))

    return ShownLess("middle-frame", open_model(argument, options), middle_alone, most_frames=None)


def _prior(argument: str, options: ModelOptions) -> Baseline:  # noqa: ARG001
    """What was most frequent where examples may be taken from, without looking at what is shown.

    Shares of labels come with the prompt (from the training split, never from what is scored); they are also its
    scores. Where there are no labels, it gives the typical answer that the prompt carries.
    """

    def answer(prompt: Prompt) -> Outcome:
        if prompt.labels and prompt.priors:
            return _by_scores(prompt, {label: prompt.priors.get(label, 0.0) for label in prompt.labels})
        if prompt.typical:
            return Outcome(Status.ANSWERED, prompt.typical)
        return _by_scores(replace(prompt, labels=()), {})

    return Baseline("prior", answer)


def _random(argument: str, options: ModelOptions) -> Baseline:  # noqa: ARG001
    """A draw for every label. Equal seeds draw the same for the same prompt, in whatever order it is asked."""

    def answer(prompt: Prompt) -> Outcome:
        draws = stream(options.seed, "random model", prompt.id).random(len(prompt.labels))
        return _by_scores(prompt, dict(zip(prompt.labels, draws.tolist(), strict=True)))

    return Baseline("random", answer, seed=options.seed)


class BaselineKind:
    """How a baseline is written, and how it is opened; lists show what its opener says of it."""

    def __init__(self, usage: str, build: Callable[[str, ModelOptions], Model]) -> None:
        self.USAGE, self.build, self.__doc__ = usage, build, build.__doc__


all_positive = BaselineKind("all-positive", _all_positive)
blind = BaselineKind("blind:SPEC", _blind)
constant = BaselineKind("constant:ANSWER", _constant)
middle_frame = BaselineKind("middle-frame:SPEC", _middle_frame)
prior = BaselineKind("prior", _prior)
random = BaselineKind("random", _random)
