"""Systems that answer questions about surgery: one file per kind, found by its name; outcomes are data.

A kind is a public file here whose name is the kind; `open_model` finds it without importing the others. What the kinds
share (prompt, outcome, runner) lives in the private files.
"""

from surgvalid.models._ask import AskResult, ask, estimate_ask
from surgvalid.models._cluster import ClusterModel
from surgvalid.models._estimate import CostEstimate, check_consent, check_prompts, estimate, lacking
from surgvalid.models._model import (
    BOXES,
    Can,
    Clip,
    Done,
    Model,
    ModelTrouble,
    Outcome,
    Part,
    Price,
    Prompt,
    PromptImage,
)
from surgvalid.models._open import MODELS, ModelOptions, open_model, options_from
from surgvalid.models._questions import QuestionMedia
from surgvalid.models._runner import RunCounts, ask_all
from surgvalid.models._sight import SightTest, check_sight

__all__ = [
    "BOXES",
    "MODELS",
    "AskResult",
    "Can",
    "Clip",
    "ClusterModel",
    "CostEstimate",
    "Done",
    "Model",
    "ModelOptions",
    "ModelTrouble",
    "Outcome",
    "Part",
    "Price",
    "Prompt",
    "PromptImage",
    "QuestionMedia",
    "RunCounts",
    "SightTest",
    "ask",
    "ask_all",
    "check_consent",
    "check_prompts",
    "check_sight",
    "estimate",
    "estimate_ask",
    "lacking",
    "long_video",
    "open_model",
    "options_from",
]
