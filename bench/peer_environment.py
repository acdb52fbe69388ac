"""Environments of peers that need other packages than ours: made once beside `.venv`, used by every later bench."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
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


def client_seconds(name: str, url: str, questions: Sequence[Sequence[dict[str, str]]]) -> tuple[str, float | None]:
    """A client of chat servers with its version, and its CPU seconds per question; None where it is not to be had.

    Args:
        name: One that `peer_clients.py` knows.
        url: Of the server.
        questions: The parts of each, texts and paths of images.
    """
    called = {"openai": "openai client", "inspect": "inspect_ai"}[name]
    python = peer_python("clients", "openai==3.49.0", "inspect-ai==0.3.285")
    if python is None:
        return f"{called} (not installed)", None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "questions.json")
        path.write_text(json.dumps([list(parts) for parts in questions]), encoding="utf-8")
        command = [str(python), str(Path(__file__).with_name("peer_clients.py")), name, url, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    return f"{called} {found['version']}, own environment", found["seconds"]
