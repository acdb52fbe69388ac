"""The folder of the demo: a challenge whose programs run as plain processes, so that no engine is needed."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from surgeval.host.challenge.example import new_challenge


def make_folder(folder: Path, *, start: datetime) -> Path:
    """The folder, made unless it is there; organisers need no second factor in it."""
    os.environ.setdefault("SURGEVAL_HOST_SECOND_FACTOR", "no")
    if not (folder / "challenge.toml").exists():
        new_challenge(folder, start=start, engines=("podman", "docker", "process"), videos=6)
    return folder
