"""What models share that run here from a folder: nothing is downloaded, no code of strangers runs, nothing is sent."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from surgvalid.asking.fingerprint import folder_mark
from surgvalid.errors import ExtraNeeded, InputInvalid
from surgvalid.models._model import FREE, Can, Done, ModelTrouble, Outcome, Price, Prompt, PromptImage
from surgvalid.models._open import ModelOptions
from surgvalid.schema.outcomes import Status

EXTRA = "local-models"
_DIGITS = 16
_Item = TypeVar("_Item")


def needed(package: str, kind: str) -> Any:
    """An optional package.

    Raises:
        ExtraNeeded: It is not installed.
    """
    try:
        return import_module(package)
    except ImportError:
        raise ExtraNeeded(f"model {kind!r}", package, EXTRA) from None


class LocalModel(ABC):
    """A model whose weights lie in a folder or file here.

    Args:
        kind: Of its specification.
        weights: Folder or file.
        options: Batch, device and precision.
    """

    host: str | None = None
    price: Price | None = FREE
    stored = True
    can: Can

    def __init__(self, kind: str, weights: Path, options: ModelOptions) -> None:
        self.torch = needed("torch", kind)
        self.kind, self.weights, self.options = kind, weights, options
        self.name = f"{kind}:{weights.resolve().name}"
        self.revision = options.revision or folder_mark(weights if weights.is_dir() else weights.parent)[:_DIGITS]
        self.device = options.device or ("cuda" if self.torch.cuda.is_available() else "cpu")
        self.parameters: Mapping[str, Any] = {"dtype": options.dtype}

    def ask(self, prompts: Iterable[Prompt], done: Done) -> None:
        """Ask batch by batch; what cannot be answered together is asked alone."""
        for batch in _batches(enumerate(prompts), self.options.batch):
            for position, outcome in self._batch(batch):
                done(position, outcome)

    @abstractmethod
    def close(self) -> None:
        """Let go of the weights."""

    @abstractmethod
    def answers(self, prompts: Sequence[Prompt]) -> list[Outcome]:
        """What becomes of prompts that are asked together."""

    def _batch(self, batch: list[tuple[int, Prompt]]) -> Iterator[tuple[int, Outcome]]:
        start = time.monotonic()
        try:
            outcomes = self.answers([prompt for _, prompt in batch])
        except (self.torch.cuda.OutOfMemoryError, MemoryError, OSError, ValueError, RuntimeError, TypeError) as error:
            if len(batch) > 1:
                for item in batch:
                    yield from self._batch([item])
            else:
                yield batch[0][0], self._failure(error, time.monotonic() - start)
            return
        seconds = (time.monotonic() - start) / len(batch)
        for (position, _), outcome in zip(batch, outcomes, strict=True):
            yield position, replace(outcome, seconds=seconds)

    def _failure(self, error: Exception, seconds: float) -> Outcome:
        text = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        is_full = isinstance(error, (self.torch.cuda.OutOfMemoryError, MemoryError))
        trouble = ModelTrouble.OVERFLOW if is_full else ModelTrouble.PERMANENT
        return Outcome(Status.FAILED, seconds=seconds, trouble=trouble, reason=text)


def pictures_of(prompt: Prompt) -> list[Any]:
    """The images of a prompt, decoded, in three colours."""
    image = import_module("PIL.Image")
    opened = []
    for piece in prompt.parts:
        if isinstance(piece, PromptImage):
            with image.open(piece.path) as picture:
                opened.append(picture.convert("RGB"))
    return opened


def folder_of(argument: str, kind: str) -> Path:
    """The folder of a saved model.

    Raises:
        InputInvalid: There is none.
    """
    folder = Path(argument).expanduser()
    if not (folder / "config.json").is_file():
        raise InputInvalid(f"model '{kind}:{argument}'", ["holds no config.json; give the folder of a saved model"])
    return folder


def loaded(load: Any, where: Path, **options: Any) -> Any:
    """What a `from_pretrained` gives, from this machine alone.

    Raises:
        InputInvalid: It cannot be loaded.
    """
    try:
        return load(str(where), local_files_only=True, trust_remote_code=False, **options)
    except (OSError, ValueError, KeyError, RuntimeError, ImportError, TypeError, AttributeError) as error:
        reason = " ".join(str(error).split())[:300]
        raise InputInvalid(str(where), [f"cannot be loaded ({reason})"]) from None


def precision_name(transformers: Any) -> str:
    """The option for the precision of weights, whose name changed with version 5."""
    return "dtype" if int(transformers.__version__.split(".")[0]) >= 5 else "torch_dtype"


def _batches(items: Iterable[_Item], size: int) -> Iterator[list[_Item]]:
    waiting = iter(items)
    while batch := list(islice(waiting, size)):
        yield batch


class ComparingModel(LocalModel):
    """A model that compares images with texts."""

    def __init__(self, kind: str, weights: Path, options: ModelOptions) -> None:
        super().__init__(kind, weights, options)
        self.can = Can(text=False, images=True, most_frames=options.most_frames, scores=True)
        self._parts: tuple[Any, Any] | None = None
        self._texts: dict[tuple[str, ...], Any] = {}

    @abstractmethod
    def opened(self) -> tuple[Any, Any]:
        """The model, and what prepares images and texts for it."""

    @abstractmethod
    def of_pictures(self, pictures: Sequence[Any]) -> Any:
        """A row per image."""

    @abstractmethod
    def of_texts(self, texts: Sequence[str]) -> Any:
        """A row per text."""

    @property
    def parts(self) -> tuple[Any, Any]:
        """The model and what prepares its inputs, loaded once."""
        if self._parts is None:
            self._parts = self.opened()
        return self._parts

    def close(self) -> None:
        """Let go of the weights."""
        self._parts = None
        self._texts.clear()

    def answers(self, prompts: Sequence[Prompt]) -> list[Outcome]:
        """The cosines of the prompts."""
        pictures = [pictures_of(prompt) for prompt in prompts]
        flat = [picture for few in pictures for picture in few]
        with self.torch.inference_mode():
            rows = self._unit(self.of_pictures(flat)) if flat else None
            outcomes, start = [], 0
            for prompt, few in zip(prompts, pictures, strict=True):
                shown = None if rows is None else rows[start : start + len(few)]
                outcomes.append(self._outcome(prompt, shown))
                start += len(few)
        return outcomes

    def _outcome(self, prompt: Prompt, rows: Any) -> Outcome:
        if rows is None or not len(rows):
            return Outcome(Status.FAILED, trouble=ModelTrouble.PERMANENT, reason="there is no image to compare with")
        texts = prompt.label_texts or prompt.labels
        if texts not in self._texts:
            self._texts[texts] = self._unit(self.of_texts(texts))
        cosines = (rows @ self._texts[texts].T).mean(dim=0).float().tolist()
        return Outcome(Status.ANSWERED, scores=dict(zip(prompt.labels, cosines, strict=True)))

    def _unit(self, rows: Any) -> Any:
        return rows / rows.norm(dim=-1, keepdim=True)
