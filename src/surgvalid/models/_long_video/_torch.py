"""The package torch, or None where the extra is not installed: reading these files must not need it."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

torch: Any = import_module("torch") if find_spec("torch") else None
