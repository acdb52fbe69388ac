"""The official toolkit as an oracle, importable without torch and its other heavy dependencies.

Scoring text never calls those modules, so empty stand-ins take their place while it is imported.
"""

from __future__ import annotations

import logging
import sys
from types import ModuleType
from typing import Any

_HEAVY = {
    "datasets": ["Dataset", "load_dataset"],
    "transformers": ["AutoModelForCausalLM", "AutoTokenizer"],
    "huggingface_hub": ["snapshot_download", "hf_hub_download"],
    "torch": [],
    "torchvision": [],
    "cv2": [],
    "decord": ["VideoReader", "cpu"],
    "progiter": ["ProgIter"],
    "tiktoken": [],
    "matplotlib": [],
    "PIL": ["Image"],
}


def _stand_in(name: str, attributes: list[str]) -> ModuleType:
    module = ModuleType(name)
    for attribute in attributes:
        setattr(module, attribute, None)
    return module


def import_focus() -> Any:
    """The package `focus`, version 0.4.0."""
    absent = {name: attributes for name, attributes in _HEAVY.items() if name not in sys.modules}
    level = logging.getLogger().level
    for name, attributes in absent.items():
        sys.modules[name] = _stand_in(name, attributes)
    try:
        import focus
        import focus.evaluation.judges
    finally:
        for name in absent:
            sys.modules.pop(name, None)
    logging.getLogger().setLevel(level)
    logging.getLogger("focus").setLevel(logging.CRITICAL)
    return focus
