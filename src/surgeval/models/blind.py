"""A baseline: a model that is asked without its pictures. What it scores, the questions give away."""

from __future__ import annotations

from dataclasses import replace

from surgeval.models._model import Prompt
from surgeval.models._open import ModelOptions, open_model
from surgeval.models._wrapped import WrappedModel

USAGE = "blind:SPEC"


def build(argument: str, options: ModelOptions) -> WrappedModel:
    """The model of `argument`, which sees text only; so no media go anywhere."""
    everything = {"images": True, "video": True, "spans": True, "most_frames": None}
    model = WrappedModel("blind", open_model(argument, options), _text_alone, **everything)
    model.host = None
    return model


def _text_alone(prompt: Prompt) -> Prompt:
    return replace(prompt, parts=tuple(piece for piece in prompt.parts if isinstance(piece, str)))
