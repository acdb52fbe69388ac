"""The one reader of replies: what a model said, read by declared rules, with a measured error.

What cannot be read is `failed` and stays so: nothing here has a default class.
"""

from surgvalid.asking.reading.reader import PARSER_VERSION, read_reply
from surgvalid.asking.reading.reading import ReadingPolicy, ReplyRead, ReplyReading
from surgvalid.asking.reading.schema import KEY_RULES, ReplySchema

__all__ = [
    "KEY_RULES",
    "PARSER_VERSION",
    "ReadingPolicy",
    "ReplyRead",
    "ReplyReading",
    "ReplySchema",
    "cleaning",
    "measured",
    "places",
    "read_reply",
    "verdicts",
]
