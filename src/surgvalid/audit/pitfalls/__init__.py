"""The pitfalls, one file each: `ABOUT` is its entry of the catalogue, `LOOKS` is what its check looks at.

To add one: write the file. Its name begins with the code (`p1_6_...`), which gives the order. Other packages add theirs
as entry points of `surgvalid.pitfalls` that lead to such a module and are named by its code; these are checked when
they are asked for, so that what an audit says by default does not depend on what else is installed.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from surgvalid.catalogue import Catalogue, Files, with_attributes

__all__ = ["PITFALLS", "pitfall_modules"]


def _taken(code: str, module: Any) -> ModuleType:
    with_attributes(["ABOUT", "LOOKS"])(code, module)
    if module.ABOUT.code != code:
        raise TypeError(f"{code!r} leads to a pitfall with the code {module.ABOUT.code!r}")
    taken: ModuleType = module
    return taken


PITFALLS: Catalogue[ModuleType] = Catalogue("pitfall", "pitfalls", Files(__name__), take=_taken)
"""Every pitfall's module: ours by the name of the file, in the order of the list; those of other packages by code."""


def pitfall_modules() -> list[ModuleType]:
    """The modules of our pitfalls, in the order of the list."""
    return list(PITFALLS.ours.values())
