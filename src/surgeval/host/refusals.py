"""Why the service refuses something, with a code that programs and tests can read."""

from __future__ import annotations

from surgeval.errors import SurgevalError


class Refused(SurgevalError):
    """An act that the rules do not allow now; the sentence says why and what to do."""

    def __init__(self, code: str, sentence: str) -> None:
        self.code, self.sentence = code, sentence
        super().__init__(sentence)
