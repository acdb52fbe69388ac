"""The text-only prior: what the words of a question and its procedure say about the answer.

Multinomial naive Bayes (McCallum and Nigam 1998) per answer format over the words of the template and
the procedure, with one added to every word count (Laplace). The classes are the answers seen; a
percentage is learnt as its nearest multiple of 5, a single time as its distance from the start of
the question's window in steps of 5 s, which any system may read from the request.

Words and answers that only occur in what is left out are unknown to the model, so it cannot leak.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import sparse

from surgeval.scoring.blind_questions import BlindQuestion, canonical, clock

STEP_S = 5
"""Times are learnt in steps of this many seconds from the start of the window."""
STEP_PP = 5
"""Percentages are learnt in steps of this many points."""

Label = int | str
_WORD = re.compile(r"<\w+>|\w+")


class TextPrior:
    """A model of answers that reads questions only. Formats it was never shown stay unanswered."""

    def __init__(self, questions: Sequence[BlindQuestion]) -> None:
        by_format: dict[str, list[tuple[BlindQuestion, Label]]] = {}
        for question in questions:
            if (label := _label(question)) is not None:
                by_format.setdefault(question.format, []).append((question, label))
        self._models = {name: _NaiveBayes(pairs) for name, pairs in by_format.items()}

    def answers(self, questions: Sequence[BlindQuestion]) -> list[str | None]:
        """The most probable answer to each question; equal texts are looked at once."""
        texts: list[str | None] = [None] * len(questions)
        for name, model in self._models.items():
            rows = [row for row, question in enumerate(questions) if question.format == name]
            for row, label in zip(rows, model.labels_of([questions[row] for row in rows]), strict=True):
                texts[row] = _text(questions[row], label)
        return texts


class _NaiveBayes:
    def __init__(self, pairs: Sequence[tuple[BlindQuestion, Label]]) -> None:
        self.labels: list[Label] = sorted({label for _, label in pairs}, key=str)
        place = {label: index for index, label in enumerate(self.labels)}
        codes = [place[label] for _, label in pairs]
        documents = [_words(question.template, question.procedure) for question, _ in pairs]
        self.vocabulary = {word: i for i, word in enumerate(sorted({w for words in documents for w in words}))}
        members = sparse.csr_array(
            (np.ones(len(codes)), (codes, np.arange(len(codes)))), shape=(len(self.labels), len(codes))
        )
        counts = (members @ self._matrix(documents)).toarray() + 1.0
        self.word_logs = np.log(counts) - np.log(counts.sum(axis=1, keepdims=True))
        self.prior_logs = np.log(np.bincount(codes)) - np.log(len(codes))

    def labels_of(self, questions: Sequence[BlindQuestion]) -> list[Label]:
        if not questions:
            return []
        texts = [(question.template, question.procedure) for question in questions]
        known = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        scores = self._matrix([_words(*text) for text in known]) @ self.word_logs.T + self.prior_logs
        # Rounded, so that equal scores stay ties (which go to the first label) whatever the order of summation.
        best: npt.NDArray[np.intp] = np.round(np.asarray(scores), 9).argmax(axis=1)
        return [self.labels[best[known[text]]] for text in texts]

    def _matrix(self, documents: Sequence[Sequence[str]]) -> sparse.csr_array:
        ends = np.cumsum([0, *(sum(w in self.vocabulary for w in words) for words in documents)])
        columns = [self.vocabulary[w] for words in documents for w in words if w in self.vocabulary]
        shape = (len(documents), len(self.vocabulary))
        return sparse.csr_array((np.ones(len(columns)), columns, ends), shape=shape)


@lru_cache(maxsize=65_536)
def _words(template: str, procedure: str) -> tuple[str, ...]:
    return (*_WORD.findall(template), f"procedure={procedure}")


def _label(question: BlindQuestion) -> Label | None:
    value = question.value
    if value is None:
        return None
    if question.format == "time":
        return int((value[0] - question.start_s) // STEP_S) if len(value) == 1 else None
    if question.format == "percentage":
        return round(min(float(value), 1e6) / STEP_PP)
    return canonical(question.format, value)


def _text(question: BlindQuestion, label: Label) -> str:
    if question.format == "time":
        return clock([question.start_s + STEP_S * int(label) + STEP_S // 2])
    return f"{STEP_PP * int(label)}%" if question.format == "percentage" else str(label)
