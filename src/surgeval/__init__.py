"""surgeval: validation of surgical video AI that holds up.

Every name here is loaded on first use, so importing the package is fast and pulls in nothing heavy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from surgeval.errors import SurgevalError as SurgevalError
    from surgeval.schema.questions import Reference as Reference
    from surgeval.schema.questions import Request as Request
    from surgeval.schema.questions import Response as Response
    from surgeval.schema.score_table import ScoreTable as ScoreTable
    from surgeval.schema.score_table import read_score_table as read_score_table
    from surgeval.schema.taxonomy import Capability as Capability
    from surgeval.stats.mixed.failures import failures as failures

_HOME = {
    "Capability": "schema.taxonomy",
    "Reference": "schema.questions",
    "Request": "schema.questions",
    "Response": "schema.questions",
    "ScoreTable": "schema.score_table",
    "SurgevalError": "errors",
    "failures": "stats.mixed.failures",
    "read_score_table": "schema.score_table",
}

__version__ = "0.1.0"
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'surgeval' has no attribute {name!r}")
    return getattr(import_module(f"surgeval.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
