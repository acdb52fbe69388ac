"""A program called `nvidia-smi` that tells of GPUs which are not there."""

from __future__ import annotations

from pathlib import Path

import pytest

A100 = "0, GPU-0a0a0a0a-1111-2222-3333-444455556666, NVIDIA A100-SXM4-80GB, 81920"
T4 = "1, GPU-0b0b0b0b-1111-2222-3333-444455556666, Tesla T4, 15360"
_PROGRAM = """#!/bin/sh
case "$*" in
  *loop-ms*) while :; do echo "1024, 1980"; sleep 0.05; echo "2048, 345"; sleep 0.05; done ;;
  *index,uuid,name,memory.total*) cat <<'END'
{devices}
END
  ;;
  *) echo "a card" ;;
esac
"""


def stand_in_gpus(folder: Path, monkeypatch: pytest.MonkeyPatch, *devices: str) -> None:
    """Put such a program in front of the PATH; without devices it fails, as a driver that is broken does."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "nvidia-smi"
    text = _PROGRAM.format(devices="\n".join(devices)) if devices else "#!/bin/sh\necho broken >&2\nexit 9\n"
    program.write_text(text)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
