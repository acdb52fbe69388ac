"""A plain process that gives way to others, for rehearsals on a machine that somebody works at. It keeps nothing in."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from surgvalid.sandbox import Launch, Running
from surgvalid.sandbox.process import ProcessEngine


class NiceProcess(ProcessEngine):
    """Starts a command at the lowest priority."""

    name: ClassVar[str] = "nice-process"

    def start(self, launch: Launch) -> Running:
        """The command, running behind everything else."""
        polite = ("nice", "-n", "19", *launch.command) if launch.command else ()
        return super().start(replace(launch, command=polite))
