"""What a model is called in tables where nobody said it: as the file of its answers or predictions."""

from __future__ import annotations

from os.path import commonpath
from pathlib import Path
from typing import Any

from surgvalid.schema.questions.question_files import split_source

UNNAMED = "model"
"""A model whose answers lie in no file."""


def model_name(model: str | None, *sources: Any) -> str:
    """The name given, or else that of the file or folder; of files of several names, that of the folder they share.

    Args:
        model: What the caller said; None where nothing was said.
        sources: Where the answers or predictions lie: paths, `NAME=PATH`, several of these, or other data.

    Example:
        >>> model_name(None, "runs/unet.json"), model_name("U-Net", "runs/unet.json"), model_name(None, [{"qID": "q"}])
        ('unet', 'U-Net', 'model')
    """
    if model is not None:
        return model
    paths = [path for source in sources for path in _paths(source)]
    names = {path.name if path.is_dir() else path.stem for path in paths}
    if len(names) > 1:
        return Path(commonpath([path.parent for path in paths])).name or UNNAMED
    return next(iter(names), "").strip() or UNNAMED


def _paths(source: Any) -> list[Path]:
    members = source if isinstance(source, list | tuple) else [source]
    return [split_source(member)[1].absolute() for member in members if isinstance(member, str | Path)]
