"""A program of this machine that speaks our protocol "1": any other environment, SurgVLP and its kin included.

`serve.py` of the starter pack is all it needs. It runs as you, unconfined: run only what you trust, the rest in
`container`.
"""

from __future__ import annotations

import shlex

from surgeval.asking.fingerprint import command_marks, joint_mark
from surgeval.asking.session import Entrant
from surgeval.errors import Misuse
from surgeval.models._open import ModelOptions
from surgeval.models._program import ProgramModel, command_entrant
from surgeval.sandbox import open_engine

USAGE = "program:COMMAND"
_DIGITS = 16


def build(argument: str, options: ModelOptions) -> ProgramModel:
    """The program that a command starts.

    Raises:
        Misuse: The command cannot be split into words.
    """
    try:
        command = tuple(shlex.split(argument))
    except ValueError as error:
        raise Misuse(f"the command {argument!r} cannot be read ({error})") from None
    revision = options.revision or joint_mark(command_marks(command))[:_DIGITS]
    entrant = Entrant(command=command, gpu=None)
    return ProgramModel(
        "program", f"program:{argument}", engine=open_engine("process"), entrant=lambda: command_entrant(entrant),
        revision=revision, options=options,
    )  # fmt: skip
