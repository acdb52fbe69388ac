"""Examples of every metric, one module per family."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from metric_examples.example import Example as Example


def all_examples() -> dict[str, Example]:
    """The example of every metric, from every family module in this folder."""
    found: dict[str, Example] = {}
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.stem not in ("__init__", "example"):
            found |= import_module(f"metric_examples.{path.stem}").EXAMPLES
    return found
