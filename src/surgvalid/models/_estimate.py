"""What is said before anything is sent: what a run would take, what a model cannot do, where media may go.

Images of patients leave this machine only for a place that somebody has named.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from surgvalid.asking.store import ContentStore
from surgvalid.errors import InputInvalid, Misuse
from surgvalid.models._answers import StoredAnswers, key_of
from surgvalid.models._model import BOXES, Clip, Model, Prompt, PromptImage

LETTERS_PER_TOKEN = 3.0
TOKENS_PER_PICTURE = 1300
"""About what hosted models count for an image of 1000 x 1000 pixels; small images take fewer."""
TOKENS_PER_S = 300
"""About what models count for a second of video."""
SECONDS_PER_REPLY = 3.0


@dataclass(frozen=True, slots=True)
class CostEstimate:
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
        elif isinstance(piece, PromptImage):
            tokens += TOKENS_PER_PICTURE
        else:
            tokens += TOKENS_PER_S * _seconds(piece)
    return tokens


def _seconds(clip: Clip) -> float:
    return 60.0 if clip.end_s is None else max(0.0, clip.end_s - clip.start_s)


def estimate(
    model: Model, prompts: Iterable[Prompt], *, store: ContentStore | str | Path | None = None, at_once: int = 16
) -> CostEstimate:
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
    return CostEstimate(requests, reused, pictures, round(tokens_in), most_out, cost, hours)


def lacking(model: Model, prompt: Prompt) -> list[str]:
    """What the prompt asks that the model cannot do."""
    can, problems = model.can, []
    if prompt.frames and not can.images:
        problems.append("it takes no images")
    if can.most_frames is not None and prompt.frames > can.most_frames:
        problems.append(f"it takes at most {can.most_frames} images at once, {prompt.frames} are shown")
    clips = [piece for piece in prompt.parts if isinstance(piece, Clip)]
    if clips and not can.video:
        problems.append("it takes no video; show it frames")
    elif not can.spans and any(clip.start_s or clip.end_s is not None for clip in clips):
        problems.append("it takes whole files of video, and a span is asked for; cut it first")
    if not can.text and not prompt.labels:
        problems.append("it can only choose between labels, and there are none")
    if prompt.wants_boxes and can.boxes is None:
        problems.append(f"nobody has said how it writes boxes; give boxes= ({', '.join(BOXES)})")
    return problems


def check_prompts(model: Model, prompts: Iterable[Prompt]) -> None:
    """Refuse prompts that the model cannot take, all of them at once.

    Raises:
        InputInvalid: With every kind of problem and the first prompt that has it.
    """
    first: dict[str, str] = {}
    for prompt in prompts:
        for problem in lacking(model, prompt):
            first.setdefault(problem, prompt.id)
    if first:
        problems = [f"[{case}] {problem}" for problem, case in first.items()]
        raise InputInvalid(f"model {model.name!r} cannot be asked this", problems)


def is_here(host: str) -> bool:
    """Whether a host name is this machine.

    Example:
        >>> is_here("localhost"), is_here("127.0.0.2"), is_here("[::1]"), is_here("10.0.0.7"), is_here("localhost.org")
        (True, True, True, False, False)
    """
    name = host.strip("[]").lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def check_consent(
    models: Iterable[Model], send_media_to: Sequence[str] = (), *, ask: Callable[[str], bool] | None = None
) -> list[str]:
    """The hosts that media will go to, each agreed to.

    Args:
        models: Who will be shown media.
        send_media_to: Hosts that somebody has agreed to.
        ask: Asks a person about a host that nobody has named, once; without one it is refused.

    Raises:
        Misuse: Media would go to a host that nobody agreed to.
    """
    agreed = {host.strip().lower() for host in send_media_to}
    hosts = list(dict.fromkeys(model.host.lower() for model in models if model.host is not None))
    open_ones = [host for host in hosts if host not in agreed and not (ask is not None and ask(host))]
    if open_ones:
        named = ", ".join(open_ones)
        option = " ".join(f"--send-media-to {host}" for host in open_ones)
        raise Misuse(
            f"images or video would be sent to {named}, which is not this machine; if that is allowed for these data, "
            f"say so with {option} (send_media_to=)"
        )
    return hosts
