"""Answer formats: how a reference and a response become values, and when two values agree.

Each format has `parse` (text to value, or `Unreadable`), `compare` (reference value, response value)
and `why` (which rule a text breaks, and the nearest legal text). Judged formats have no `compare` of
their own: a text that passes `parse` goes to a judge.

The rules are those of the official toolkit 0.4.0; `Rules` names what older versions did differently.
"""

from surgvalid.schema.questions.formats._base import AnswerFormat, Rules, Unreadable, Why, normalize, shown
from surgvalid.schema.questions.formats._build import (
    FORMATS,
    JUDGED,
    BadParameters,
    build_format,
    choices_of,
    parameters_of,
    why_no_answer,
)
from surgvalid.schema.questions.formats.closed import Binary, FOClass, Number, Percentage, Time, time_tolerance_s
from surgvalid.schema.questions.formats.free_text import Matching, MultipleChoice, OpenEnded, tidied

__all__ = [
    "FORMATS",
    "JUDGED",
    "AnswerFormat",
    "BadParameters",
    "Binary",
    "FOClass",
    "Matching",
    "MultipleChoice",
    "Number",
    "OpenEnded",
    "Percentage",
    "Rules",
    "Time",
    "Unreadable",
    "Why",
    "build_format",
    "choices_of",
    "normalize",
    "parameters_of",
    "shown",
    "tidied",
    "time_tolerance_s",
    "why_no_answer",
]
