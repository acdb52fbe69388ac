"""A container that speaks our protocol "1", from an archive of its image: in the sandbox, without network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from surgvalid.asking.fingerprint import file_mark
from surgvalid.asking.session import Participant
from surgvalid.errors import InputInvalid, Misuse
from surgvalid.models._open import ModelOptions
from surgvalid.models._program import ProgramModel
from surgvalid.sandbox import Engine, held_image, open_engine

USAGE = "container:ARCHIVE"
_ENGINES = ("podman", "docker")
_DIGITS = 16


def build(argument: str, options: ModelOptions) -> ProgramModel:
    """The container from the archive (docker save, or OCI) at `argument`.

    Raises:
        InputInvalid: There is no such file.
        Misuse: No engine for images works here.
    """
    archive = Path(argument).expanduser()
    if not archive.is_file():
        raise InputInvalid(f"model 'container:{argument}'", ["is no file; give an archive from docker save"])
    engine = _engine()

    @contextmanager
    def entrant() -> Iterator[Participant]:
        with held_image(engine, archive) as image:
            yield Participant(image=image, gpu=options.device)

    return ProgramModel(
        "container",
        f"container:{archive.name}",
        engine=engine,
        entrant=entrant,
        revision=options.revision or file_mark(archive)[:_DIGITS],
        options=options,
    )


def _engine() -> Engine:
    problems = []
    for name in _ENGINES:
        engine = open_engine(name)
        if (problem := engine.available()) is None:
            return engine
        problems.append(f"{name}: {problem}")
    raise Misuse(f"no engine can be used here: {'; '.join(problems)}")
