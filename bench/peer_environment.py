"""Environments of peers that need other packages than ours: made once beside `.venv`, used by every later bench."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
_TIMEOUT_S = 900


def peer_python(name: str, *requirements: str) -> Path | None:
    """The Python of the environment `.venv-peer-NAME` with these packages; None where they cannot be installed.

    Args:
        name: Of the environment.
        requirements: What pip is asked for. An environment made for others is made anew.
    """
    folder = ROOT / f".venv-peer-{name}"
    python, ready = folder / "bin" / "python", folder / "ready.txt"
    wanted = "\n".join(requirements)
    if ready.is_file() and ready.read_text(encoding="utf-8") == wanted:
        return python
    print(f"making {folder.name} for {', '.join(requirements)} ...", file=sys.stderr, flush=True)
    commands = (
        [sys.executable, "-m", "venv", "--clear", str(folder)],
        [str(python), "-m", "pip", "install", "--quiet", *requirements],
    )
    try:
        for command in commands:
            subprocess.run(command, check=True, capture_output=True, timeout=_TIMEOUT_S)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired, OSError) as error:
        print(f"{folder.name} could not be made: {error}", file=sys.stderr, flush=True)
        return None
    ready.write_text(wanted, encoding="utf-8")
    return python
