"""A model of the package open_clip: its architecture by name, its weights from a file; scores as those of `clip`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from surgvalid.errors import InputInvalid, Misuse, UnknownName
from surgvalid.models._local import ComparingModel, needed
from surgvalid.models._open import ModelOptions

USAGE = "open-clip:NAME@PATH"


class OpenClipModel(ComparingModel):
    """A model of open_clip."""

    def __init__(self, architecture: str, weights: Path, options: ModelOptions) -> None:
        super().__init__("open-clip", weights, options)
        self._open_clip = needed("open_clip", self.kind)
        if architecture not in (known := self._open_clip.list_models()):
            raise UnknownName("architecture of open_clip", architecture, known)
        self.architecture, self.name = architecture, f"open-clip:{architecture}@{weights.name}"

    def opened(self) -> tuple[Any, Any]:
        """The model, and what prepares an image and what texts."""
        try:
            model, _, prepare = self._open_clip.create_model_and_transforms(
                self.architecture, pretrained=str(self.weights), device=self.device
            )
        except (OSError, RuntimeError, ValueError, KeyError) as error:
            reason = " ".join(str(error).split())[:300]
            raise InputInvalid(str(self.weights), [f"cannot be loaded as {self.architecture} ({reason})"]) from None
        return model.eval(), (prepare, self._open_clip.get_tokenizer(self.architecture))

    def of_pictures(self, pictures: Sequence[Any]) -> Any:
        """A row per image."""
        model, (prepare, _) = self.parts
        return model.encode_image(self.torch.stack([prepare(picture) for picture in pictures]).to(self.device))

    def of_texts(self, texts: Sequence[str]) -> Any:
        """A row per text."""
        model, (_, tokenizer) = self.parts
        return model.encode_text(tokenizer(list(texts)).to(self.device))


def build(argument: str, options: ModelOptions) -> OpenClipModel:
    """The model of `NAME@PATH`.

    Raises:
        Misuse: Name or path is missing.
        InputInvalid: There is no such file.
    """
    architecture, at, path = argument.partition("@")
    if not (at and architecture and path):
        raise Misuse(f"model 'open-clip:{argument}' says too little; write {USAGE}")
    weights = Path(path).expanduser()
    if not weights.is_file():
        raise InputInvalid(f"model 'open-clip:{argument}'", [f"{weights} is no file; give that of the weights"])
    return OpenClipModel(architecture, weights, options)
