"""A model that compares pictures with texts: a cosine for every label, no words."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from surgeval.models._local import LocalModel, pictures_of
from surgeval.models._model import Can, Outcome, Prompt, Trouble
from surgeval.models._open import ModelOptions
from surgeval.schema.outcomes import Status


class ComparingModel(LocalModel):
    """A model that compares pictures with texts."""

    def __init__(self, kind: str, weights: Path, options: ModelOptions) -> None:
        super().__init__(kind, weights, options)
        self.can = Can(text=False, images=True, most_frames=options.most_frames, scores=True)
        self._parts: tuple[Any, Any] | None = None
        self._texts: dict[tuple[str, ...], Any] = {}

    @abstractmethod
    def opened(self) -> tuple[Any, Any]:
        """The model, and what prepares pictures and texts for it."""

    @abstractmethod
    def of_pictures(self, pictures: Sequence[Any]) -> Any:
        """A row per picture."""

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
            return Outcome(Status.FAILED, trouble=Trouble.PERMANENT, reason="there is no picture to compare with")
        texts = prompt.label_texts or prompt.labels
        if texts not in self._texts:
            self._texts[texts] = self._unit(self.of_texts(texts))
        cosines = (rows @ self._texts[texts].T).mean(dim=0).float().tolist()
        return Outcome(Status.ANSWERED, scores=dict(zip(prompt.labels, cosines, strict=True)))

    def _unit(self, rows: Any) -> Any:
        return rows / rows.norm(dim=-1, keepdim=True)
