"""Questions as numbers, and what the heads say as text; needs numpy alone, in training and where the model answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import words
from .words import CLASSES, NOTHING, UNKNOWN, Asked

MOST_WORDS, MOST_OPTIONS, OPTION_WORDS = 40, 8, 8
LEAST_CHANCE = 0.35
"""A mark that is weaker is not listed."""


@dataclass
class Vocabulary:
    """The words of questions and the free-text answers that occur in training."""

    words: dict[str, int]
    answers: dict[str, int]

    @classmethod
    def of(cls, questions: list[dict[str, Any]]) -> Vocabulary:
        """Of training questions."""
        known: dict[str, int] = {NOTHING: 0, UNKNOWN: 1}
        answers: dict[str, int] = {}
        for question in questions:
            asked = words.read(question["text"], question["procedure"])
            for word in (*asked.words, *(w for option in asked.options for w in words.option_words(option))):
                known.setdefault(word, len(known))
            if asked.kind == "open":
                answers.setdefault(question["answer"], len(answers))
        return cls(known, answers or {"unknown": 0})

    def numbers(self, some: tuple[str, ...] | list[str], length: int) -> list[int]:
        """Words as numbers, cut or filled to a length."""
        return [self.words.get(word, 1) for word in some][:length] + [0] * (length - len(some))


def asked_arrays(
    asked: list[Asked], starts: list[float], ends: list[float], vocabulary: Vocabulary
) -> dict[str, np.ndarray]:
    """A batch of questions; times become seconds since the start of each window, -1 where none is named."""
    texts, times, options, option_times = [], [], [], []
    for one, start in zip(asked, starts, strict=True):
        texts.append(vocabulary.numbers(one.words, MOST_WORDS))
        spare = max(0, MOST_WORDS - len(one.times_s))
        times.append(([t - start if t >= 0 else -1.0 for t in one.times_s] + [-1.0] * spare)[:MOST_WORDS])
        rows, whens = [[0] * OPTION_WORDS] * MOST_OPTIONS, [-1.0] * MOST_OPTIONS
        for at, option in enumerate(one.options[:MOST_OPTIONS]):
            rows = [*rows[:at], vocabulary.numbers(words.option_words(option), OPTION_WORDS), *rows[at + 1 :]]
            if named := words.seconds_in(option):
                whens[at] = named[0] - start
        options.append(rows)
        option_times.append(whens)
    window = [[max(1.0, end - start)] for start, end in zip(starts, ends, strict=True)]
    return {
        "words": np.array(texts), "times": np.array(times, np.float32), "window_s": np.array(window, np.float32),
        "options": np.array(options), "option_times": np.array(option_times, np.float32),
    }  # fmt: skip


def answer_text(asked: Asked, heads: Any, row: int, *, start_s: float, window_s: float, answers: list[str],
                times: Any = None, marks: Any = None) -> str:  # fmt: skip
    """The answer to one question of a batch, in the format that it asks for.

    Args:
        asked: The question.
        heads: What every head says, by name: tensors or arrays, a row per question.
        row: Which of them.
        start_s: When the window that is asked about begins.
        window_s: How long it is.
        answers: Every free-text answer.
        times: When each image was seen, a row per question, in seconds since the start of the window.
        marks: What the eye marked (`kind`, `strength`, `place`), a row per question; None of videos.
    """
    kind = asked.kind
    if kind == "binary":
        return ("no", "yes")[int(heads.binary[row].argmax())]
    if kind == "number":
        return str(int(heads.number[row].argmax()))
    if kind == "percentage":
        return f"{round(100 * float(heads.share[row]))}%"
    if kind == "duration":
        return words.clock(float(heads.share[row]) * window_s)
    if kind in ("time", "times"):
        at = float(times[row, int(heads.pointed[row].argmax())]) if times is not None else 0.0
        return words.clock(start_s + at)
    if kind == "class":
        return CLASSES[int(heads.one_class[row].argmax())]
    if kind == "classes":
        named = [name for name, chance in zip(CLASSES, heads.classes[row].tolist(), strict=True) if chance > 0]
        return ", ".join(sorted(named)) or "none"
    if kind == "choice":
        return asked.options[int(heads.choice[row, : len(asked.options)].argmax())]
    if kind in ("list", "matching"):
        return _placed(asked, marks, row)
    return answers[int(heads.answer[row].argmax())]


def _placed(asked: Asked, marks: Any, row: int) -> str:
    """Objects with their quadrants: every one, or those that the question names."""
    rows: list[Any] = [] if marks is None else list(
        zip(marks.kind[row].tolist(), marks.strength[row].tolist(), marks.place[row].tolist(), strict=True)
    )  # fmt: skip
    if asked.kind == "list":
        return words.listed([(kind, place[0], place[1]) for kind, chance, place in rows if chance > LEAST_CHANCE])
    best = {CLASSES[kind]: words.quadrant(*place[:2]) for kind, _, place in reversed(rows)}
    return "; ".join(f"{name}: {best.get(name, words.QUADRANTS[0])}" for name in asked.each)
