"""A baseline: a model that sees one picture, the middle one. What it lacks against all of them is what time adds."""

from __future__ import annotations

from dataclasses import replace

from surgeval.models._model import Picture, Prompt
from surgeval.models._open import ModelOptions, open_model
from surgeval.models._wrapped import WrappedModel

USAGE = "middle-frame:SPEC"


def build(argument: str, options: ModelOptions) -> WrappedModel:
    """The model of `argument`, which sees the middle picture of each prompt."""
    return WrappedModel("middle-frame", open_model(argument, options), _middle_alone, most_frames=None)


def _middle_alone(prompt: Prompt) -> Prompt:
    pictures = [position for position, piece in enumerate(prompt.parts) if isinstance(piece, Picture)]
    middle = pictures[(len(pictures) - 1) // 2] if pictures else -1
    hidden = set(pictures) - {middle}
    return replace(prompt, parts=tuple(piece for position, piece in enumerate(prompt.parts) if position not in hidden))
