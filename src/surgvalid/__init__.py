"""surgvalid: validation of surgical video AI that holds up.

Every name is loaded on first use, so importing the package is fast and pulls in nothing heavy. The names and their
homes stand once, in `__init__.pyi`, where type checkers look for them too.
"""

from importlib import import_module
from pathlib import Path
from typing import Any

_STUB = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
_HOME = {line.split()[3]: line.split()[1] for line in _STUB.splitlines() if line.startswith("from ")}

__version__ = "0.2.0"
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'surgvalid' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
