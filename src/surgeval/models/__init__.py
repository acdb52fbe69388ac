"""Systems that answer questions about surgery: one file per kind, found by its name; outcomes are data.

A kind is a public file here whose name is the kind; `open_model` finds it without importing the others. What the kinds
share (prompt, outcome, runner) lives in the private files.
"""

from surgeval.models._abilities import check_prompts as check_prompts
from surgeval.models._abilities import lacking as lacking
from surgeval.models._ask import AskResult as AskResult
from surgeval.models._ask import ask as ask
from surgeval.models._ask import estimate_ask as estimate_ask
from surgeval.models._cluster import ClusterModel as ClusterModel
from surgeval.models._consent import check_consent as check_consent
from surgeval.models._estimate import Estimate as Estimate
from surgeval.models._estimate import estimate as estimate
from surgeval.models._model import BOXES as BOXES
from surgeval.models._model import Can as Can
from surgeval.models._model import Clip as Clip
from surgeval.models._model import Done as Done
from surgeval.models._model import Model as Model
from surgeval.models._model import Outcome as Outcome
from surgeval.models._model import Part as Part
from surgeval.models._model import Picture as Picture
from surgeval.models._model import Price as Price
from surgeval.models._model import Prompt as Prompt
from surgeval.models._model import Trouble as Trouble
from surgeval.models._open import MODELS as MODELS
from surgeval.models._open import ModelOptions as ModelOptions
from surgeval.models._open import open_model as open_model
from surgeval.models._open import options_from as options_from
from surgeval.models._questions import QuestionMedia as QuestionMedia
from surgeval.models._runner import RunCounts as RunCounts
from surgeval.models._runner import ask_all as ask_all

__all__ = [
    "BOXES",
    "MODELS",
    "AskResult",
    "Can",
    "Clip",
    "ClusterModel",
    "Done",
    "Estimate",
    "Model",
    "ModelOptions",
    "Outcome",
    "Part",
    "Picture",
    "Price",
    "Prompt",
    "QuestionMedia",
    "RunCounts",
    "Trouble",
    "ask",
    "ask_all",
    "check_consent",
    "check_prompts",
    "estimate",
    "estimate_ask",
    "lacking",
    "long_video",
    "open_model",
    "options_from",
]
