"""A model that compares images with texts, from a folder: CLIP or SigLIP.

Its scores are cosines between an image and the text of each label; of several images, the mean. They are not
probabilities: a threshold belongs to a model and a label. How images are scaled and normalised is the processor's
matter: a wrapper that left the rescaling out has published numbers that say nothing about the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from surgvalid.models._local import ComparingModel, folder_of, loaded, needed, precision_name
from surgvalid.models._open import ModelOptions

USAGE = "clip:PATH"


class ClipModel(ComparingModel):
    """CLIP or SigLIP."""

    def __init__(self, folder: Path, options: ModelOptions) -> None:
        super().__init__("clip", folder, options)
        self._transformers = needed("transformers", self.kind)

    def opened(self) -> tuple[Any, Any]:
        """The model and its processor."""
        precision = {precision_name(self._transformers): self.options.dtype}
        model = loaded(self._transformers.AutoModel.from_pretrained, self.weights, **precision)
        processor = loaded(self._transformers.AutoProcessor.from_pretrained, self.weights)
        return model.to(self.device).eval(), processor

    def of_pictures(self, pictures: Sequence[Any]) -> Any:
        """A row per image."""
        model, processor = self.parts
        inputs = processor(images=list(pictures), return_tensors="pt").to(self.device, model.dtype)
        return _features(model.get_image_features(**inputs))

    def of_texts(self, texts: Sequence[str]) -> Any:
        """A row per text."""
        model, processor = self.parts
        # SigLIP was trained on texts of one length.
        padding = "max_length" if model.config.model_type.startswith("siglip") else True
        inputs = processor(text=list(texts), return_tensors="pt", padding=padding, truncation=True).to(self.device)
        return _features(model.get_text_features(**inputs))


def build(argument: str, options: ModelOptions) -> ClipModel:
    """The model from the folder at `argument`.

    Raises:
        InputInvalid: There is no saved model.
    """
    return ClipModel(folder_of(argument, "clip"), options)


def _features(given: Any) -> Any:
    """The features, which some versions wrap."""
    return getattr(given, "pooler_output", given)
