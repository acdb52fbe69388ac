"""The kinds of models: every public file of this folder is one, and so is an entry point of `surgvalid.models`.

The file or module of a kind has `build(argument, options) -> Model` and `USAGE`, how its specification is written.
Adding a kind is adding a file; nothing is registered and no other kind is imported to find it. Trivial baselines, a
few lines each, share one file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, Protocol

from surgvalid.catalogue import Catalogue, Files, packages_named, with_attributes
from surgvalid.errors import Misuse, UnknownName
from surgvalid.models._model import BOXES, Model, Price


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """How a model is opened; a kind takes what concerns it."""

    boxes: str | None = None
    """The convention of its boxes (a name of `BOXES`), where the kind cannot know."""
    most_frames: int | None = None
    """Of one prompt, where the kind cannot know."""
    video: bool = False
    """A server that takes files of video."""
    text_only: bool = False
    """A server whose model sees no images."""
    logprobs: bool = False
    """Ask a server for log-probabilities: they become scores of labels."""
    concurrency: int = 16
    per_minute: float | None = None
    """Requests that a server allows."""
    timeout_s: float = 120.0
    """For one reply."""
    reasoning_tokens: int = 4096
    """Room for a model that was seen to reason before it answers."""
    price: Price | None = None
    revision: str = ""
    """Of the weights behind a server, where somebody knows."""
    batch: int = 8
    """Prompts at once, for models that run here."""
    device: str | None = None
    """Where models run here: cpu, cuda, cuda:1; by default a GPU where there is one."""
    dtype: str = "auto"
    """Precision of weights that run here, such as bfloat16."""
    seed: int = 0
    """Of baselines that draw."""

    def __post_init__(self) -> None:
        if self.boxes is not None and self.boxes not in BOXES:
            raise UnknownName("convention of boxes", self.boxes, BOXES)
        above_zero = ("most_frames", "concurrency", "per_minute", "timeout_s", "reasoning_tokens", "batch")
        for name in above_zero:
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise Misuse(f"{name} of a model must be more than 0, got {value}")
        if self.price is not None:
            object.__setattr__(self, "price", Price(*self.price))  # a stored request has it as a plain list
        if self.price is not None and not all(0 <= money < math.inf for money in self.price):
            raise Misuse(f"a price must not be negative, got {tuple(self.price)}")


class ModelKind(Protocol):
    """What the file of a kind holds."""

    USAGE: str

    def build(self, argument: str, options: ModelOptions, /) -> Model:
        """The model of that argument."""
        ...


_BASELINES = ("all_positive", "blind", "constant", "middle_frame", "prior", "random")
MODELS: Catalogue[ModelKind] = Catalogue(
    "model",
    "models",
    Files("surgvalid.models", shared=("_baselines", _BASELINES)),
    take=with_attributes(["USAGE", "build"]),
)
"""Every kind of model by name."""


def options_from(texts: Iterable[str]) -> dict[str, Any]:
    """Options of a model from `NAME=VALUE`, as a command line has them.

    Raises:
        UnknownName: No such option.
        Misuse: What stands after the sign is no value of it.

    Example:
        >>> options_from(["concurrency=4", "price=2.5/10", "video=yes"])
        {'concurrency': 4, 'price': Price(per_million_in=2.5, per_million_out=10.0), 'video': True}
    """
    kinds = {field.name: str(field.type) for field in fields(ModelOptions)}
    options: dict[str, Any] = {}
    for text in texts:
        name, _, value = text.partition("=")
        if name not in kinds:
            raise UnknownName("option of a model", name, kinds)
        try:
            options[name] = _value(kinds[name].partition(" ")[0], value.strip())
        except (ValueError, KeyError):
            raise Misuse(f"option {name!r} of a model cannot be {value!r}; it is {kinds[name]}") from None
    return options


def _value(kind: str, text: str) -> Any:
    if kind == "bool":
        return {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}[text.lower()]
    if kind == "Price":
        price_in, _, price_out = text.partition("/")
        return Price(float(price_in), float(price_out))
    return {"int": int, "float": float, "str": str}[kind](text)


@packages_named()
def open_model(spec: str, options: ModelOptions | None = None, **changes: Any) -> Model:
    """The model that a specification names: its kind, and after a colon what the kind needs.

    Args:
        spec: Such as `openai:MODEL@URL`, `file:PATH`, `prior`; see `surgvalid tools list models`.
        options: How it is opened.
        **changes: Single options, such as `concurrency=4`.

    Raises:
        UnknownName: No such kind, or no such option.
        Misuse: The part after the colon is missing, superfluous or unusable, or a key is not set.
        PluginBroken: An installed package offers that kind, and it cannot be used.
        ExtraNeeded: The kind needs a package that is not installed.
        InputInvalid: A file that the model reads cannot be used.

    Example:
        >>> open_model("constant:yes").can.text
        True
    """
    known = {field.name for field in fields(ModelOptions)}
    for name in changes:
        if name not in known:
            raise UnknownName("option of a model", name, known)
    whole = {name: getattr(options, name) for name in known} if options is not None else {}
    word, colon, argument = spec.strip().partition(":")
    kind = MODELS[word if word in MODELS else word.replace("-", "_")]
    wants = ":" in kind.USAGE
    if wants and not argument.strip():
        raise Misuse(f"model {spec!r} says too little; write {kind.USAGE}")
    if colon and not wants:
        raise Misuse(f"model {word!r} takes nothing after its name, got {spec!r}; write {kind.USAGE}")
    return kind.build(argument.strip(), ModelOptions(**(whole | changes)))
