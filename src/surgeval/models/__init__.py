"""Systems that answer questions about surgery: one file per kind, found by its name; outcomes are data.

A kind is a public file here whose name is the kind; `open_model` finds it without importing the others. What the kinds
share (prompt, outcome, runner) lives in the private files.
"""

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

__all__ = ["BOXES", "Can", "Clip", "Done", "Model", "Outcome", "Part", "Picture", "Price", "Prompt", "Trouble"]
