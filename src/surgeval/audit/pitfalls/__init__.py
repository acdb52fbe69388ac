"""The pitfalls, one file each: `ABOUT` is its entry of the catalogue, `LOOKS` is what its check looks at.

To add one: write the file. Its name begins with the code (`p1_6_...`), which gives the order.
"""

from __future__ import annotations

from types import ModuleType

from surgeval.catalogue import Files

__all__ = ["PITFALLS", "pitfall_modules"]

PITFALLS = Files(__name__)
"""Every pitfall's module by the name of its file, in the order of the catalogue."""


def pitfall_modules() -> list[ModuleType]:
    """The modules of all pitfalls, in the order of the catalogue."""
    return [PITFALLS[name] for name in PITFALLS]
