"""The kinds of judges: every public file of this folder is one, and its name is the kind.

A kind's file has `build(argument) -> Judge` and `USAGE`, how its specification is written. Adding a
kind is adding a file; nothing is registered and no other kind is imported to find it.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from pathlib import Path
from typing import cast

from surgeval.errors import Misuse, UnknownName
from surgeval.judges._case import Judge

_HERE = Path(__file__).parent


def judge_kinds() -> tuple[str, ...]:
    """The names of all kinds, read from the file names.

    Example:
        >>> judge_kinds()
        ('cached', 'exact', 'local', 'none', 'openai')
    """
    return tuple(sorted(m.name for m in pkgutil.iter_modules([str(_HERE)]) if not m.name.startswith("_")))


def open_judge(spec: str) -> Judge:
    """The judge that a specification names: its kind, and after a colon what the kind needs.

    Args:
        spec: `none`, `exact`, `cached:FILE`, `openai:MODEL@URL` or `local:PATH`.

    Raises:
        UnknownName: No such kind.
        Misuse: The part after the colon is missing, superfluous or unusable.
        ExtraNeeded: The kind needs a package that is not installed.
        InputInvalid: A file that the judge reads cannot be used.
        JudgeFailed: The judge cannot be built from what is there.

    Example:
        >>> open_judge("exact").name
        'exact'
    """
    kind, colon, argument = spec.strip().partition(":")
    if kind not in judge_kinds():
        raise UnknownName("judge", kind, judge_kinds())
    module = import_module(f"surgeval.judges.{kind}")
    wants = ":" in module.USAGE
    if wants and not argument.strip():
        raise Misuse(f"judge {spec!r} says too little; write {module.USAGE}")
    if colon and not wants:
        raise Misuse(f"judge {kind!r} takes nothing after its name, got {spec!r}; write {module.USAGE}")
    return cast(Judge, module.build(argument.strip()))
