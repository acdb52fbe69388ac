"""What a run would take, before anything is sent: requests, tokens, money, hours. A guess, on the high side."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from surgeval.asking.store import ContentStore
from surgeval.models._answers import StoredAnswers, key_of
from surgeval.models._model import Clip, Model, Picture, Prompt

LETTERS_PER_TOKEN = 3.0
TOKENS_PER_PICTURE = 1300
"""About what hosted models count for a picture of 1000 x 1000 pixels; small pictures take fewer."""
TOKENS_PER_S = 300
"""About what models count for a second of video."""
SECONDS_PER_REPLY = 3.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run would take."""

    requests: int
    reused: int
    """Answered by the store."""
    pictures: int
    tokens_in: int
    most_tokens_out: int
    most_cost: float | None
    """None where the price is not known."""
    hours: float
    """At 3 s for a reply and as many at once as are allowed."""

    def as_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    def lines(self) -> list[str]:
        """The numbers in words."""
        money = "not known, give price=IN/OUT" if self.most_cost is None else f"at most about {self.most_cost:,.2f}"
        return [
            f"requests: {self.requests:,} ({self.reused:,} more are answered by the store)",
            f"pictures: {self.pictures:,}",
            f"tokens: about {self.tokens_in:,} in, at most {self.most_tokens_out:,} out",
            f"money: {money}",
            f"time: about {_in_words(self.hours)} at {SECONDS_PER_REPLY:g} s for a reply",
        ]


def _in_words(hours: float) -> str:
    """A time in the unit that is read at a glance."""
    return f"{hours:.2g} h" if hours >= 1 else f"{hours * 60:.0f} min" if hours * 60 >= 1 else f"{hours * 3600:.0f} s"


def tokens_in_of(prompt: Prompt) -> float:
    """The tokens that a prompt may count for."""
    tokens = len(prompt.system) / LETTERS_PER_TOKEN + 20.0
    for piece in prompt.parts:
        if isinstance(piece, str):
            tokens += len(piece) / LETTERS_PER_TOKEN
        elif isinstance(piece, Picture):
            tokens += TOKENS_PER_PICTURE
        else:
            tokens += TOKENS_PER_S * _seconds(piece)
    return tokens


def _seconds(clip: Clip) -> float:
    return 60.0 if clip.end_s is None else max(0.0, clip.end_s - clip.start_s)


def estimate(
    model: Model, prompts: Iterable[Prompt], *, store: ContentStore | str | Path | None = None, at_once: int = 16
) -> Estimate:
    """What asking the prompts would take; nothing is sent and nothing written.

    Args:
        model: Who would be asked.
        prompts: What it would be asked.
        store: Answers that need not be asked for.
        at_once: Requests under way at the same time.
    """
    requests = reused = pictures = most_out = 0
    tokens_in = 0.0
    holder = ContentStore(store) if isinstance(store, str | Path) else nullcontext(store)
    with holder as opened:
        answers = StoredAnswers(opened) if opened is not None and model.stored else None
        keys: set[str] = set()
        for prompt in prompts:
            key = key_of(model, prompt) if answers is not None else ""
            if answers is not None and (key in keys or answers.get(key) is not None):
                reused += 1
                continue
            keys.add(key)
            requests, pictures, most_out = requests + 1, pictures + prompt.frames, most_out + prompt.max_tokens
            tokens_in += tokens_in_of(prompt)
    cost = None if model.price is None else model.price.of(tokens_in, most_out)
    hours = requests * SECONDS_PER_REPLY / max(1, at_once) / 3600
    return Estimate(requests, reused, pictures, round(tokens_in), most_out, cost, hours)
