"""A program of this machine that speaks our protocol "1": any other environment, SurgVLP and its kin included.

`serve.py` of the starter pack is all it needs. It runs as you, unconfined: run only what you trust, the rest in
`container`.
"""

from __future__ import annotations

import shlex

from surgvalid.asking.fingerprint import command_marks, joint_mark
from surgvalid.asking.session import Participant
from surgvalid.errors import Misuse
from surgvalid.models._open import ModelOptions
from surgvalid.models._program import ProgramModel, command_participant
from surgvalid.sandbox import open_engine

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
    entrant = Participant(command=command, gpu=None)
    return ProgramModel(
        "program",
        f"program:{argument}",
        engine=open_engine("process"),
        entrant=lambda: command_participant(entrant),
        revision=revision,
        options=options,
    )
