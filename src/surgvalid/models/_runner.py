"""Ask a model many prompts: nothing twice, nothing beyond the money, every outcome handed over as it comes.

Prompts are taken one by one as they can be asked, so memory does not grow with their number. Each answer is on disk
before the next is taken: a kill at any moment loses what was under way and nothing else. What another run with the
same store is asking is left to it, and its answer waited for.
"""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from surgvalid.asking.meter import Meter, Progress, advance
from surgvalid.asking.store import ContentStore
from surgvalid.errors import Misuse
from surgvalid.models._answers import StoredAnswers, key_of
from surgvalid.models._estimate import lacking, tokens_in_of
from surgvalid.models._model import Model, ModelTrouble, Outcome, Price, Prompt
from surgvalid.schema.findings import Finding, Severity
from surgvalid.schema.outcomes import Status

Hear = Callable[[Prompt, Outcome], None]
"""Called with a prompt and what became of it."""
_LOOK_AGAIN_S = 0.1
_LOOK_AT = 8
"""Prompts that other runs ask, looked at whenever one is wanted; so few runs at once do not make them pile up."""
Tokens = tuple[float, float]
"""In and out."""


@dataclass(slots=True)
class RunCounts:
    """What became of the prompts of a run, and what it took."""

    prompts: int = 0
    asked: int = 0
    reused: int = 0
    answered: int = 0
    cut: int = 0
    """Of those answered, how many reached the token limit."""
    refused: int = 0
    overflow: int = 0
    transient: int = 0
    permanent: int = 0
    not_asked: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = None
    """Money for what was asked now; None where the price is not known."""
    guessed: int = 0
    """Replies that do not say how many tokens they took, so that their money is guessed, on the high side."""
    first_reason: str = ""
    """Why the first of those without an answer has none."""
    model: str = ""
    """Who was to be asked, by the specification."""
    answered_by: dict[str, int] = field(default_factory=dict)
    """Who answered, by the word of the server, and how often."""
    damaged: list[str] = field(default_factory=list)
    """Lines of the store that could not be read; what they held was asked again where it was wanted."""

    @property
    def failed(self) -> int:
        """Prompts that were to be asked and have neither an answer nor a refusal."""
        return self.overflow + self.transient + self.permanent

    @property
    def unfinished(self) -> int:
        """Prompts that nobody looked at, because a server was not there or the money was spent; they can be asked."""
        return self.transient + self.not_asked

    def notices(self) -> Iterator[Finding]:
        """What a reader of any result of the run must know."""
        if self.damaged:
            text = f"{len(self.damaged)} lines of the store cannot be read (first: {self.damaged[0]}); "
            text += "what was wanted of them was asked again; surgvalid tools store verify shows all"
            yield Finding("damaged-answers", Severity.WARNING, text)
        if self.guessed:
            text = f"{self.guessed:,} replies do not say how many tokens they took; their money is guessed, rather high"
            yield Finding("money-guessed", Severity.NOTE, text)
        yield from _other_models(self.model, self.answered_by)
        if self.cut:
            text = f"{self.cut:,} answers reached the token limit and may have lost their end; give them more room "
            text += "(--max tokens= of ask, max_tokens under [answer] of a task)"
            yield Finding("cut-answers", Severity.WARNING, text)
        if self.unfinished:
            why = {"no reply that could be used": self.transient, "the money was spent before": self.not_asked}
            each = ", ".join(f"{number:,}: {reason}" for reason, number in why.items() if number)
            text = f"the run is not finished: {self.unfinished:,} of {self.prompts:,} requests have no answer ({each}; "
            text += f"first: {self.first_reason}); no value is given; run the same command again with --force to go on"
            yield Finding("run-unfinished", Severity.ERROR, text)

    @property
    def all_failed(self) -> bool:
        """Whether nothing at all came of the run."""
        return self.prompts > 0 and self.answered == 0

    @property
    def is_void(self) -> bool:
        """Whether the run gives no value: nothing came of it, or it is not finished."""
        return self.all_failed or self.unfinished > 0

    def as_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    def note(self, outcome: Outcome) -> None:
        """Count one outcome."""
        self.prompts += 1
        self.reused += outcome.reused
        if outcome.model:
            self.answered_by[outcome.model] = self.answered_by.get(outcome.model, 0) + 1
        self.answered += outcome.answered
        self.cut += outcome.answered and outcome.trouble is ModelTrouble.CUT
        self.refused += outcome.status is Status.REFUSED
        if outcome.answered or outcome.status is Status.REFUSED:
            return
        self.first_reason = self.first_reason or outcome.reason
        if outcome.status is Status.NOT_ASKED:
            self.not_asked += 1
        elif outcome.trouble is ModelTrouble.OVERFLOW:
            self.overflow += 1
        elif outcome.trouble is ModelTrouble.TRANSIENT:
            self.transient += 1
        else:
            self.permanent += 1


def _other_models(spec: str, answered_by: Mapping[str, int]) -> Iterator[Finding]:
    """Whether others answered than who was asked; an alias that stands for a dated name is one and the same."""
    wanted = spec.partition(":")[2].partition("@http")[0]
    others = {name: count for name, count in answered_by.items() if name != wanted}
    if not others:
        return
    listed = ", ".join(f"{name!r} ({count:,})" for name, count in answered_by.items())
    if len(answered_by) == 1 and _is_alias(wanted, *others):
        yield Finding("model-alias", Severity.NOTE, f"{wanted!r} was asked, and the replies name {listed}")
        return
    text = f"{wanted!r} was asked, and the replies name {listed}: find out which weights the values belong to"
    yield Finding("other-model", Severity.WARNING, text)


def _is_alias(wanted: str, name: str) -> bool:
    """Whether a longer or a shorter name of the same model: a date, a tag, or a folder before it.

    Example:
        >>> _is_alias("gpt-4o", "gpt-4o-2024-08-06"), _is_alias("Qwen/Qwen2-VL", "qwen2-vl"), _is_alias("a", "b")
        (True, True, False)
    """
    short, long = sorted((one.rpartition("/")[2].casefold() for one in (wanted, name)), key=len)
    return re.fullmatch(re.escape(short) + r"([-@:.]?\d[\d.-]*|:latest)?", long) is not None


def ask_all(
    model: Model,
    prompts: Iterable[Prompt],
    *,
    done: Hear,
    store: ContentStore | str | Path | None = None,
    max_cost: float | None = None,
    progress: Progress = None,
) -> RunCounts:
    """What became of all prompts, in numbers; each outcome goes to `done` as it comes.

    Args:
        model: Who is asked.
        prompts: With identifiers of their own; taken as they can be asked.
        done: Called once for every prompt, in any order.
        store: Answers that were given before are taken from here and new ones kept here; a folder, or an open store.
        max_cost: Money, in the currency of the model's price. No request is sent that could lead beyond it, by the
            guesses of `estimate` and by what replies took so far.
        progress: Hears of every outcome.

    Raises:
        Misuse: `max_cost` is negative or no number, or nobody knows the price of the model that it is to limit.
        RunInterrupted: An answer cannot be stored; what was stored before is there.
    """
    if max_cost is not None and not max_cost >= 0:  # what is no number is neither
        raise Misuse(f"a limit of {max_cost:g} is none; give money, 0 or more")
    if max_cost is not None and model.price is None:
        raise Misuse(
            f"model {model.name!r} has no known price, so a limit of {max_cost:g} cannot be kept; give price=IN/OUT"
        )
    holder = ContentStore(store) if isinstance(store, str | Path) else nullcontext(store)
    with holder as opened:
        keeps = opened is not None and model.stored
        answers = StoredAnswers(opened) if keeps and opened is not None else None
        run = _Run(model, prompts, done, answers, max_cost, progress)
        model.ask(_Todo(run), run.outcome)
        while run.has_more():
            model.ask(_Todo(run), run.outcome)
        run.counts.damaged = [] if opened is None else list(opened.problems)
    return run.counts


class _Todo:
    """The prompts that can be asked now, numbered from 0.

    It may end and go on later: money that is reserved for requests under way comes back when they end cheaper. Whoever
    asks for more by then gets it; for a model that took the end for the last one, another of these begins.
    """

    def __init__(self, run: _Run) -> None:
        self._run, self._number = run, 0

    def __iter__(self) -> _Todo:
        return self

    def __next__(self) -> Prompt:
        prompt = self._run.next_prompt(self._number)
        if prompt is None:
            raise StopIteration
        self._number += 1
        return prompt


class _Run:
    """What is under way."""

    def __init__(
        self,
        model: Model,
        prompts: Iterable[Prompt],
        done: Hear,
        answers: StoredAnswers | None,
        max_cost: float | None,
        progress: Progress,
    ) -> None:
        self.model, self.done, self.answers, self.max_cost, self.progress = model, done, answers, max_cost, progress
        self.counts = RunCounts(cost=0.0 if model.price is not None else None, model=model.name)
        self._prompts = iter(prompts)
        self._held: deque[Prompt] = deque()
        """Could be paid if those under way end cheaper than they might; one at most."""
        self._elsewhere: deque[Prompt] = deque()
        """Another run is asking them."""
        self._under_way: dict[int, tuple[Prompt, str]] = {}
        self._same: dict[str, list[Prompt]] = {}
        """Prompts that ask just what another one under way asks."""
        self._tokens = (0.0, 0.0)
        """In and out, guessed for what is under way."""
        self._per_guess = (1.0, 1.0)
        """The most tokens that came for each that was guessed."""

    def next_prompt(self, position: int) -> Prompt | None:
        """The next prompt that must be asked and can be paid, or None; the others are dealt with on the way."""
        for prompt in self._candidates():
            key = key_of(self.model, prompt) if self.answers is not None else ""
            if self._is_settled(prompt, key):
                continue
            if self._is_beyond(_most_tokens(prompt)):
                reason = f"not asked: it could cost more than is left of {self.max_cost:g}"
                self._tell(prompt, Outcome(Status.NOT_ASKED, trouble=ModelTrouble.BUDGET, reason=reason))
                continue
            if self._is_beyond(_sum(self._tokens, _most_tokens(prompt))):
                self._held.append(prompt)
                return None
            if not self._is_ours(prompt, key):
                continue
            self._tokens = _sum(self._tokens, _most_tokens(prompt))
            self._under_way[position] = (prompt, key)
            if key:
                self._same[key] = []
            return prompt
        return None

    def has_more(self) -> bool:
        """Whether something is left that nobody asks; waits for what another run asks."""
        while not self._held and self._elsewhere:
            for _ in range(len(self._elsewhere)):
                prompt = self._elsewhere.popleft()
                key = key_of(self.model, prompt)
                if self._is_ours(prompt, key) and self.answers is not None:
                    self.answers.release(key)
                    self._held.append(prompt)
                    return True
            if self._elsewhere:
                time.sleep(_LOOK_AGAIN_S)
        return bool(self._held)

    def _candidates(self) -> Iterator[Prompt]:
        """What waited longest first, but only some of it: most of that is still under way elsewhere."""
        if self._held:
            yield self._held.popleft()
        for _ in range(min(_LOOK_AT, len(self._elsewhere))):
            yield self._elsewhere.popleft()
        while (prompt := next(self._prompts, None)) is not None:  # not `yield from`, which would close them
            yield prompt
        for _ in range(len(self._elsewhere)):
            yield self._elsewhere.popleft()

    def _is_ours(self, prompt: Prompt, key: str) -> bool:
        """Whether no other run asks it or has answered it by now; if so, it is claimed."""
        claimed = self.answers.claim(key) if self.answers is not None else True
        if claimed is False:
            self._elsewhere.append(prompt)
        elif isinstance(claimed, Outcome):
            self._tell(prompt, claimed)
        if isinstance(self.progress, Meter):
            self.progress.elsewhere = len(self._elsewhere)
        return claimed is True

    def outcome(self, position: int, outcome: Outcome) -> None:
        """Keep, count and hand over what became of a prompt."""
        prompt, key = self._under_way.pop(position)
        less = _most_tokens(prompt)
        self._tokens = _sum(self._tokens, (-less[0], -less[1])) if self._under_way else (0.0, 0.0)
        self.counts.asked += 1
        self._pay(prompt, outcome)
        if self.answers is not None:
            self.answers.put(key, self.model, outcome)
            self.answers.release(key)
        self._tell(prompt, outcome)
        for other in self._same.pop(key, ()):
            self._tell(other, replace(outcome, reused=True))

    def _is_settled(self, prompt: Prompt, key: str) -> bool:
        if self.answers is not None:
            if key in self._same:
                self._same[key].append(prompt)
                return True
            if (known := self.answers.get(key)) is not None:
                self._tell(prompt, known)
                return True
        if problems := lacking(self.model, prompt):
            reason = f"not asked: {'; '.join(problems)}"
            self._tell(prompt, Outcome(Status.FAILED, trouble=ModelTrouble.PERMANENT, reason=reason))
            return True
        return False

    def _is_beyond(self, tokens: Tokens) -> bool:
        """Whether so many tokens more could lead beyond the money."""
        if self.max_cost is None or self.model.price is None:
            return False
        return (self.counts.cost or 0.0) + self._most_for(self.model.price, tokens) > self.max_cost

    def _most_for(self, price: Price, tokens: Tokens) -> float:
        return price.of(tokens[0] * self._per_guess[0], tokens[1] * self._per_guess[1])

    def _pay(self, prompt: Prompt, outcome: Outcome) -> None:
        self.counts.tokens_in += outcome.tokens_in
        self.counts.tokens_out += outcome.tokens_out
        guess = _most_tokens(prompt)
        if (price := self.model.price) is not None:
            cost = price.of(outcome.tokens_in, outcome.tokens_out)
            silent = not (outcome.tokens_in or outcome.tokens_out)
            if any(price) and silent and (outcome.answered or outcome.status is Status.REFUSED):
                self.counts.guessed += 1
                cost = self._most_for(price, guess)
            self.counts.cost = (self.counts.cost or 0.0) + cost
            if isinstance(self.progress, Meter):
                self.progress.money = self.counts.cost
        # Guesses only rise: what is reserved too much comes back, what is reserved too little is spent.
        more_in, more_out = outcome.tokens_in / max(1.0, guess[0]), outcome.tokens_out / max(1.0, guess[1])
        self._per_guess = (max(self._per_guess[0], more_in), max(self._per_guess[1], more_out))

    def _tell(self, prompt: Prompt, outcome: Outcome) -> None:
        outcome = _writable(outcome)
        self.counts.note(outcome)
        failed = not (outcome.answered or outcome.status in (Status.REFUSED, Status.NOT_ASKED))
        advance(self.progress, failed=int(failed), reused=outcome.reused)
        self.done(prompt, outcome)


def _most_tokens(prompt: Prompt) -> Tokens:
    return tokens_in_of(prompt), float(prompt.max_tokens)


def _sum(some: Tokens, more: Tokens) -> Tokens:
    return some[0] + more[0], some[1] + more[1]


def _writable(outcome: Outcome) -> Outcome:
    """The outcome; halves of letters, which no file can hold, are question marks."""
    if outcome.text.isascii():
        return outcome
    return replace(outcome, text=outcome.text.encode("utf-8", "replace").decode("utf-8"))
