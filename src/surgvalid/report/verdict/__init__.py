"""The first page of a report in sentences: who leads, why models fail, what limits it, what to do next.

Facts come from tables that verbs wrote; a rule makes each sentence of them, and every rule has a test. No sentence
needs a word that a reader would have to look up, and where the data carry no claim it says so.
"""

__all__ = ()
