"""What every model keeps: one outcome per prompt, an answer only where it answered, no prompt taken before its time."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from surgvalid.models import Model, Outcome, Prompt, PromptImage, open_model
from surgvalid.schema.outcomes import OF_A_RESPONSE
from surgvalid.testing._broken import Broken, refuse
from surgvalid.video.images import png_bytes

MOST_AHEAD = 256
"""Prompts that may be under way at once."""


def sample_prompts(count: int, folder: Path) -> list[Prompt]:
    """So many prompts with two labels and a small image each."""
    picture = folder / "picture.png"
    picture.write_bytes(png_bytes(np.full((32, 48, 3), 90, np.uint8)))
    shown = PromptImage(picture, "grey", 1.0)
    priors = {"clip": 0.2, "sponge": 0.8}
    return [
        Prompt(f"q{i}", (shown, f"Is there a clip? ({i})"), labels=tuple(priors), priors=priors, max_tokens=8)
        for i in range(count)
    ]


def check_model(model: Model | str) -> None:
    """Nothing, when a model keeps the rules of models.

    Args:
        model: The model, or how it is named on the command line, such as `prior`.

    Raises:
        ContractBroken: With every rule that it does not keep.

    Example:
        >>> check_model("prior")
    """
    opened = open_model(model) if isinstance(model, str) else model
    try:
        refuse("model", opened.name, (rule(opened) for rule in MODEL_RULES))
    finally:
        if isinstance(model, str):
            opened.close()


def heard(model: Model, prompts: Iterator[Prompt] | list[Prompt]) -> list[tuple[int, Outcome]]:
    """Every call of `done`, in the order in which they came."""
    calls: list[tuple[int, Outcome]] = []
    model.ask(prompts, lambda position, outcome: calls.append((position, outcome)))
    return calls


def there_is_one_outcome_per_prompt(model: Model) -> Broken:
    """Each prompt once, also for none."""
    with tempfile.TemporaryDirectory() as folder:
        for count in (0, 1, 7):
            positions = sorted(position for position, _ in heard(model, sample_prompts(count, Path(folder))))
            if positions != list(range(count)):
                yield f"gave outcomes of {positions} for {count} prompts"


def the_order_of_the_prompts_changes_no_answer(model: Model) -> Broken:
    """The same answers to the same prompts in another order."""
    with tempfile.TemporaryDirectory() as folder:
        prompts = sample_prompts(5, Path(folder))
        forwards, backwards = (dict(heard(model, order)) for order in (prompts, prompts[::-1]))
    again = {4 - position: outcome for position, outcome in backwards.items()}
    if any(forwards[i].status != again[i].status or forwards[i].text != again[i].text for i in range(5)):
        yield "gave other answers when the prompts came in another order"


def an_answer_exists_exactly_where_it_answered(model: Model) -> Broken:
    """Status, text, scores, times and tokens of an outcome fit together."""
    with tempfile.TemporaryDirectory() as folder:
        for _, outcome in heard(model, sample_prompts(3, Path(folder))):
            if outcome.status not in OF_A_RESPONSE:
                yield f"gave the status {outcome.status!r}, which no response can have"
            if not outcome.answered and (outcome.trouble is None or outcome.scores is not None):
                yield "gave no answer without a trouble, or with scores"
            if outcome.scores is not None and set(outcome.scores) != {"clip", "sponge"}:
                yield f"gave scores of {sorted(outcome.scores)} for the labels clip and sponge"
            if min(outcome.seconds, outcome.tokens_in, outcome.tokens_out) < 0 or not math.isfinite(outcome.seconds):
                yield "gave a time or a number of tokens that is none"


def prompts_are_taken_as_they_can_be_asked(model: Model) -> Broken:
    """A million prompts are never in memory at once."""
    taken, done, ahead = 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        many = sample_prompts(1, Path(folder)) * (2 * MOST_AHEAD)

        def prompts() -> Iterator[Prompt]:
            nonlocal taken, ahead
            for prompt in many:
                taken += 1
                ahead = max(ahead, taken - done)
                yield prompt

        def count(_position: int, _outcome: Outcome) -> None:
            nonlocal done
            done += 1

        model.ask(prompts(), count)
    if ahead > MOST_AHEAD:
        yield f"took {ahead} prompts before the first had an outcome"


MODEL_RULES = (
    there_is_one_outcome_per_prompt,
    the_order_of_the_prompts_changes_no_answer,
    an_answer_exists_exactly_where_it_answered,
    prompts_are_taken_as_they_can_be_asked,
)
