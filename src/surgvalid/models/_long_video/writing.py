"""Answers token by token, inside their forms and before their deadline."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ._torch import torch
from .decoder import Decoder, Fork, Prefix
from .forms import LONGEST, AnswerForm, States
from .plan import ReadingPace
from .words import Words

ANSWER_TOKENS = 96
_FEW = 4
"""Letters that are too few to record the steps of an answer."""


class Line:
    """An answer under way.

    Args:
        form: What it may be.
        words: The vocabulary.
        stops: Tokens that end it.
    """

    def __init__(self, form: AnswerForm, words: Words, stops: Iterable[int]) -> None:
        self.form, self.states, self.text, self.is_done = form, form.start, "", False
        self._words, self._stops = words, set(stops)
        self._next: dict[int, States] = {}

    def options(self, device: Any) -> Any:
        """Tokens that may come, as a tensor; none where the answer is done."""
        if self.is_done:
            return torch.empty(0, dtype=torch.long, device=device)
        stops = sorted(self._stops) if self.form.may_end(self.states) and self.text else []
        if self.form.is_free:
            return self._words.printable_or(stops, device)
        self._next = dict(self._words.allowed(self.form, self.states))
        return torch.tensor([*self._next, *stops], dtype=torch.long, device=device)

    def take(self, token: int | None) -> int:
        """Go on with a token; gives the one to feed, whatever it is where the answer is done."""
        if token is None or token in self._stops:
            self.is_done = True
            return min(self._stops)
        text = self._words.texts[token]
        self.text += text
        self.states = self.form.after(self.states, text) if self.form.is_free else self._next[token]
        if not self.states or (not self.form.is_free and not self.form.letters(self.states)):
            self.is_done = True
        return token

    def whole(self) -> tuple[str, bool]:
        """The text, and whether it was cut short and made whole here."""
        if self.is_done:
            return self.text.strip()[:LONGEST], False
        return (self.text + self.form.finished(self.states)).strip(), True


def written(
    decoder: Decoder,
    prefix: Prefix,
    suffixes: Sequence[tuple[Any, Any]],
    lines: Sequence[Line],
    *,
    pace: ReadingPace,
    clock: Callable[[], float],
    deadline: float,
) -> list[tuple[str, bool]]:
    """For each question its greedy text, and whether time cut it short.

    Args:
        decoder: Writes.
        prefix: What all questions share.
        suffixes: Rows and places of each question.
        lines: Their answers, empty.
        pace: What a token takes; learns.
        clock: Seconds that only grow.
        deadline: On that clock.
    """
    if clock() + pace.safety * pace.per_question > deadline:
        return [line.whole() for line in lines]
    steps, read_s, begin = 0, 0.0, clock()
    fork = decoder.fork(prefix, suffixes, steps=ANSWER_TOKENS)
    while True:
        tokens = [line.take(token) for line, token in zip(lines, _chosen(fork, lines), strict=True)]
        if steps == 0:
            read_s, begin = clock() - begin, clock()
        if steps + 1 >= ANSWER_TOKENS:
            for line in lines:
                line.is_done = line.is_done or line.form.is_free
        if all(line.is_done for line in lines) or steps + 1 >= ANSWER_TOKENS:
            break
        if clock() + pace.safety * pace.per_answer_token > deadline:
            break
        if steps == 0 and fork.graph is None and _is_long(lines) and clock() + pace.recorded_answer() <= deadline:
            decoder.record(fork)
            pace.recorded(clock() - begin)
            begin = clock()
        decoder.step(fork, torch.tensor(tokens, device=decoder.device))
        steps += 1
    pace.answered(read_s=read_s, steps=steps, steps_s=clock() - begin)
    return [line.whole() for line in lines]


def _is_long(lines: Sequence[Line]) -> bool:
    """Whether an answer may have so many steps that recording them pays."""
    return any(line.form.is_free or len(line.form.finished(line.form.start)) > _FEW for line in lines)


def _chosen(fork: Fork, lines: Sequence[Line]) -> list[int | None]:
    """For each question the likeliest token among those that its form admits, waiting for the GPU once."""
    logits, alike = fork.logits, _alike([line.options(fork.logits.device) for line in lines])
    if not alike:
        return [None] * len(lines)
    picked = [logits if len(rows) == len(lines) else logits[rows] for rows, _ in alike]
    best = [options[of[:, options].argmax(dim=-1)] for of, (_, options) in zip(picked, alike, strict=True)]
    chosen = dict(zip((row for rows, _ in alike for row in rows), torch.cat(best).tolist(), strict=True))
    return [chosen.get(row) for row in range(len(lines))]


def _alike(options: Sequence[Any]) -> list[tuple[list[int], Any]]:
    """Questions that may choose among the same tokens, and the tokens."""
    groups: dict[int, tuple[list[int], Any]] = {}
    for row, tensor in enumerate(options):
        if len(tensor):
            groups.setdefault(id(tensor), ([], tensor))[0].append(row)
    return list(groups.values())
