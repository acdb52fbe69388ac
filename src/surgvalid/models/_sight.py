"""Whether a model sees: three probes before the first case, once per model, place and media plan.

Some servers drop images and answer all the same, as does a folder whose processor leaves them out, and nothing in the
replies says so.

    drawn      six images with one large shape and the word of its colour; "which colour?" is right by guessing in
               1 of 4, and 5 of 6 right in 0.5 % of guessers. Where a case shows several images, the shape is on the
               last: a server that keeps the first only has not seen it.
    tokens     the same question without a image: a image that is looked at is counted, as a rule.
    shuffled   cases asked again with the images of another one (with several, all but the first): replies that never
               change were not about them.

Images go out in the size and the encoding of those of the task. Probes are no cases, and no cost counts them.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surgvalid.asking.store import Asked, ContentStore
from surgvalid.errors import ExtraNeeded, Misuse
from surgvalid.models._answers import key_of
from surgvalid.models._cluster import ClusterModel
from surgvalid.models._local import LocalModel
from surgvalid.models._model import Model, ModelTrouble, Outcome, Prompt, PromptImage
from surgvalid.models._runner import ask_all
from surgvalid.models._server import ServerModel
from surgvalid.schema.findings import Finding, Severity
from surgvalid.video.images import image_size, jpeg_of, png_bytes

QUESTION = "Which colour is the shape? Answer with one word: red, green, blue or yellow."
COLOURS = {"red": (220, 30, 30), "green": (30, 170, 50), "blue": (40, 70, 220), "yellow": (240, 220, 40)}
_SIGHT = "sight"
_DRAWN, _ENOUGH, _SHUFFLED, _CHANGED = 6, 5, 12, 2
_COUNTED, _NOT_COUNTED = 16, 8
"""Tokens per image from which it was counted, and up to which it was not."""
_SIZE = (448, 336)
_GROUND = 180
"""How bright the ground of the first image is; no two images are the same, so each is asked about."""
_LETTERS = {
    "r": "11110/10001/11110/10100/10010",
    "e": "11111/10000/11110/10000/11111",
    "d": "11110/10001/10001/10001/11110",
    "g": "01111/10000/10011/10001/01111",
    "n": "10001/11001/10101/10011/10001",
    "b": "11110/10001/11110/10001/11110",
    "l": "10000/10000/10000/10000/11111",
    "u": "10001/10001/10001/10001/01110",
    "y": "10001/01010/00100/00100/00100",
    "o": "01110/10001/10001/10001/01110",
    "w": "10001/10001/10101/11011/10001",
}


class SightVerdict(StrEnum):
    """What the probes say."""

    SEES = "sees"
    UNCERTAIN = "uncertain"
    BLIND = "blind"


@dataclass(frozen=True)
class SightTest:
    """What was seen of a model's sight."""

    verdict: SightVerdict
    drawn: int
    """Of six images, how many colours were named."""
    tokens: str
    """Whether a image is counted: counted, not counted, or not told."""
    shuffled: str
    """Whether replies change with the images: changed, unchanged, uninformative, or not asked."""
    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    @property
    def sentence(self) -> str:
        """The verdict with its probes, in words."""
        words = {
            SightVerdict.SEES: "sees its images",
            SightVerdict.UNCERTAIN: "may not see its images",
            SightVerdict.BLIND: "does not see its images",
        }
        return (
            f"the model {words[self.verdict]}: {self.drawn} of {_DRAWN} drawn colours named, image tokens "
            f"{self.tokens}, shuffled images {self.shuffled}"
        )

    @property
    def findings(self) -> list[Finding]:
        """What a reader of the values must know; nothing where the model sees."""
        if self.verdict is SightVerdict.SEES:
            return []
        return [Finding("run-sight", Severity.WARNING, self.sentence)]

    def as_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    @classmethod
    def of_dict(cls, record: Mapping[str, Any]) -> SightTest:
        """The sight in plain data.

        Raises:
            KeyError, TypeError, ValueError: It holds none.
        """
        return cls(**{**record, "verdict": SightVerdict(record["verdict"])})


def check_sight(
    model: Model,
    prompts: Iterable[Prompt],
    *,
    store: str | Path | None = None,
    plan: str = "",
    seed: int = 0,
    accept_blind: bool = False,
) -> SightTest | None:
    """Whether a model sees what it will be shown; None where nobody is sent images, or nobody answers.

    Args:
        model: Who will be asked.
        prompts: What it will be asked; the first few are looked at.
        store: Keeps the outcome, so that it is found out once.
        plan: What the media of the task depend on.
        seed: Of the drawn images.
        accept_blind: Whether a model that does not see is asked all the same.

    Raises:
        Misuse: It does not see, and nobody accepts that.
    """
    asked = model.model if isinstance(model, ClusterModel) else model
    if not (isinstance(asked, ServerModel | LocalModel) and asked.can.images and asked.can.text):
        return None
    few = [prompt for prompt in islice(prompts, _SHUFFLED) if prompt.frames]
    if not few:
        return None
    key = Asked(_SIGHT, model.name, (QUESTION,), revision=model.revision, media=plan).key
    sight = None
    if store is not None:
        with ContentStore(store) as opened:
            sight = opened.get(key, _stored)
    if sight is None and (sight := _Probes(model, few, store, seed).sight()) is not None and store is not None:
        with ContentStore(store) as opened:
            opened.put(key, {"kind": _SIGHT, "asker": model.name, _SIGHT: sight.as_dict()}, _stored)
    if sight is not None and sight.verdict is SightVerdict.BLIND and not accept_blind:
        raise Misuse(
            f"{sight.sentence}; nothing was asked. Check that it was started with its vision part and takes "
            "images; --accept-blind (accept_blind=True) runs it all the same, and marks every value"
        )
    return sight


def _stored(row: Mapping[str, Any]) -> SightTest | None:
    try:
        return SightTest.of_dict(row[_SIGHT])
    except (KeyError, TypeError, ValueError):
        return None


class _ServerSilent(Exception):
    """The server did not answer a probe, so nothing is known of its sight."""


class _Probes:
    """The probes of one model."""

    def __init__(self, model: Model, few: Sequence[Prompt], store: str | Path | None, seed: int) -> None:
        self.model, self.few, self.store, self.random = model, few, store, random.Random(seed)
        self.requests = self.tokens_in = self.tokens_out = 0
        self.several = min(prompt.frames for prompt in few) > 1

    def sight(self) -> SightTest | None:
        """What the probes say; None where the server does not answer them."""
        try:
            drawn, tokens = self._drawn_and_tokens()
            shuffled = "not asked" if drawn >= _ENOUGH or tokens == "not counted" else self._shuffled()
        except _ServerSilent:
            return None
        verdict = verdict_of(drawn >= _ENOUGH, tokens, shuffled)
        return SightTest(verdict, drawn, tokens, shuffled, self.requests, self.tokens_in, self.tokens_out)

    def _drawn_and_tokens(self) -> tuple[int, str]:
        with TemporaryDirectory(prefix="sg-sight-") as folder:
            sample = next(piece for piece in self.few[0].parts if isinstance(piece, PromptImage))
            asked = [self._drawn(Path(folder), place, sample) for place in range(_DRAWN)]
            bare = replace(asked[0][1], id="bare", parts=(QUESTION,))
            replies = self._replies([*(prompt for _, prompt in asked), bare])
        right = sum(_names(replies[prompt.id].text, colour) for colour, prompt in asked)
        with_image, without = replies[asked[0][1].id].tokens_in, replies["bare"].tokens_in
        return right, _counted(with_image, without, asked[0][1].frames)

    def _drawn(self, folder: Path, place: int, sample: PromptImage) -> tuple[str, Prompt]:
        colour = self.random.choice(list(COLOURS))
        size = image_size(sample.path) or _SIZE
        shown = [None, colour] if self.several else [colour]
        images = []
        for number, one in enumerate(shown):
            data = _encoded(drawn_image(one, size, self.random, ground=_GROUND + 10 * place), sample.path)
            path = folder / f"{place}-{number}{sample.path.suffix}"
            path.write_bytes(data)
            images.append(PromptImage(path, hashlib.sha256(data).hexdigest()[:40]))
        return colour, Prompt(f"drawn-{place}", (*images, QUESTION), max_tokens=self.few[0].max_tokens)

    def _shuffled(self) -> str:
        distinct = list({key_of(self.model, prompt): prompt for prompt in self.few}.values())
        if len(distinct) < 2:
            return "uninformative"
        swapped = [
            replace(prompt, id=f"swapped {place}", parts=_swapped(prompt, distinct[place - 1], keep=int(self.several)))
            for place, prompt in enumerate(distinct)
        ]
        right = [one.text for one in self._replies(distinct).values()]
        other = [one.text for one in self._replies(swapped).values()]
        if sum(one != two for one, two in zip(right, other, strict=True)) >= _CHANGED:
            return "changed"
        return "uninformative" if len(set(right)) == 1 else "unchanged"

    def _replies(self, prompts: Sequence[Prompt]) -> dict[str, Outcome]:
        """The reply to each prompt, in their order.

        Raises:
            _ServerSilent: One was not answered because of the server.
        """
        heard: dict[str, Outcome] = {}
        counts = ask_all(
            self.model, prompts, done=lambda prompt, outcome: heard.update({prompt.id: outcome}), store=self.store
        )
        self.requests += counts.asked
        self.tokens_in += counts.tokens_in
        self.tokens_out += counts.tokens_out
        if any(one.trouble is ModelTrouble.TRANSIENT for one in heard.values()):
            raise _ServerSilent
        return {prompt.id: heard[prompt.id] for prompt in prompts}


def verdict_of(is_drawn_named: bool, tokens: str, shuffled: str) -> SightVerdict:
    """The verdict of three probes.

    Example:
        >>> str(verdict_of(True, "not told", "not asked")), str(verdict_of(False, "not counted", "changed"))
        ('sees', 'blind')
    """
    if is_drawn_named:
        return SightVerdict.SEES
    if tokens == "not counted":
        return SightVerdict.BLIND
    if tokens == "counted":
        return SightVerdict.SEES if shuffled == "changed" else SightVerdict.UNCERTAIN
    return SightVerdict.UNCERTAIN if shuffled == "changed" else SightVerdict.BLIND


def _counted(with_image: int, without: int, images: int) -> str:
    if not (with_image and without):
        return "not told"
    per_image = (with_image - without) / images
    return "counted" if per_image >= _COUNTED else "not counted" if per_image <= _NOT_COUNTED else "not told"


def _names(reply: str, colour: str) -> bool:
    """Whether a reply names this colour and no other; what is thought aloud before does not count.

    Example:
        >>> _names("It is colored Blue.", "blue"), _names("red or blue", "blue")
        (True, False)
        >>> _names("<think>Is it red?</think>blue", "blue")
        True
    """
    words = set(re.findall(r"[a-z]+", reply.rpartition("</think>")[2].casefold()))
    return words & set(COLOURS) == {colour}


def _swapped(prompt: Prompt, other: Prompt, *, keep: int) -> tuple[Any, ...]:
    """The parts of a prompt with the images of another one, all but the first `keep`."""
    images = [piece for piece in other.parts if isinstance(piece, PromptImage)]
    parts, number = [], 0
    for piece in prompt.parts:
        is_image = isinstance(piece, PromptImage)
        parts.append(images[number % len(images)] if is_image and number >= keep else piece)
        number += is_image
    return tuple(parts)


def drawn_image(colour: str | None, size: tuple[int, int], chance: random.Random, *, ground: int) -> NDArray[np.uint8]:
    """A plain ground with one filled shape and the word of its colour above it; without a colour, the ground alone."""
    width, height = size
    image = np.full((height, width, 3), ground, dtype=np.uint8)
    if colour is None:
        return image
    down, across = np.mgrid[0:height, 0:width]
    x, y = (down - height * 0.62) / (height * 0.3), (across - width * 0.5) / (width * 0.3)
    shapes = [x**2 + y**2 < 1, np.maximum(abs(x), abs(y)) < 0.9, abs(x) + abs(y) < 1]
    image[chance.choice(shapes)] = COLOURS[colour]
    word = word_mask(colour)
    scale = min(width // (word.shape[1] + 2), height // 20)
    if scale:
        large = np.kron(word, np.ones((scale, scale), dtype=bool))
        image[scale : scale + large.shape[0], scale : scale + large.shape[1]][large] = 0
    return image


def word_mask(word: str) -> NDArray[np.bool_]:
    """A word in letters of five by five pixels."""
    rows = [" ".join(_LETTERS[letter].split("/")[row] for letter in word) for row in range(5)]
    return np.array([[sign == "1" for sign in row] for row in rows])


def _encoded(image: NDArray[np.uint8], like: Path) -> bytes:
    """The image as a file of the kind of another one; PNG where JPEG cannot be written here."""
    try:
        return png_bytes(image) if like.suffix.lower() == ".png" else jpeg_of(image)
    except ExtraNeeded:
        return png_bytes(image)
