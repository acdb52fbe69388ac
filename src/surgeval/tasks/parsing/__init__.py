"""Answers in words, read by declared rules: a separate stage that can be run again on what was stored.

An answer is read by key and never by order, by whole words and never by substrings. What cannot be read is `failed`
and stays so: nothing here has a default class.
"""

from surgeval.tasks.parsing.reader import PARSER_VERSION as PARSER_VERSION
from surgeval.tasks.parsing.reader import Context as Context
from surgeval.tasks.parsing.reader import read_answer as read_answer
from surgeval.tasks.parsing.reading import Read as Read
from surgeval.tasks.parsing.reading import Reading as Reading

__all__ = ["PARSER_VERSION", "Context", "Read", "Reading", "read_answer"]
